"""The meanings of the reviewer's keys and signs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from lamina.surfaces.cli.reviewer.texts import indented
from lamina.surfaces.cli.reviewer.wording import MARKS

KEYS = (
    ("c", "confirm; forget what a request asks to forget; all that is marked after a preview"),
    ("e", "edit the text, then confirm it"),
    ("r", "reject with a reason from a list, a typed one, or none; refuse to forget"),
    ("u", "undo the last decision, whatever it was, and the one before, and so on"),
    ("space", "mark the row, or its whole group"),
    ("a", "mark all that is shown"),
    ("/", "search; Esc shows everything again and unmarks"),
    ("g", "group by person, key, source, or who asked"),
    ("o", "order by effect, newest, oldest, or least trusted"),
    ("h", "history of the proposal"),
    ("↑ ↓ j k", "move; the mouse works, too"),
    ("Ctrl+D Ctrl+U", "scroll what is shown about the proposal; Tab goes there"),
    ("Ctrl+R", "read the queue anew"),
    ("q", "quit; every decision is stored already"),
)
NAMES = 15


def lines(width: int) -> Sequence[Text]:
    """List the keys, then the signs in front of rows."""
    made = [one for key, what in KEYS for one in indented(Text(what), width, key.ljust(NAMES))]
    for sign, style, what in MARKS:
        made += indented(Text(what), width, sign.ljust(NAMES), style)
    return made
