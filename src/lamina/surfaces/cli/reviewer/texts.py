"""Draw stored text so that nothing in it is hidden or controls the terminal. Pure."""

from __future__ import annotations

import io
import re
from itertools import groupby

from rich.console import Console
from rich.text import Text

from lamina.text import words

HIDDEN = "bold reverse magenta"
JOINERS = frozenset("\u200d\ufe0f")  # they belong to emoji, and are hidden elsewhere
BREAKS = re.compile(r"[ \n]+")


def safe(text: str, style: str = "") -> Text:
    """Show a text unchanged, but with invisible characters spelled out and marked."""
    if not _unseen(text):
        return Text(text, style)
    made = Text(style=style)
    pieces = ((found.group(), words.reveal(found.group())) for found in words.PARTS.finditer(text))
    for spelled, run in groupby(pieces, lambda piece: piece[0] != piece[1]):
        made.append("".join(shown for _, shown in run), HIDDEN if spelled else None)
    return made


def line(text: str, style: str = "", width: int = 0) -> Text:
    """Show a text on one line, cut with an ellipsis if a width is given."""
    if not width:
        return safe(BREAKS.sub(" ", text).strip(), style)
    start = BREAKS.sub(" ", text[: 100 * width]).strip()  # enough, whatever takes no space
    return cut(safe(start if len(start) <= 8 * width else start[: 8 * width] + "…", style), width)


def hidden(text: str) -> int:
    """Count the characters of a text that no reader would see."""
    unseen = _unseen(text)
    if not unseen & JOINERS:
        return sum(map(text.count, unseen))
    parts = (found.group() for found in words.PARTS.finditer(text))
    return sum(part != words.reveal(part) for part in parts)


def _unseen(text: str) -> set[str]:
    """Find the characters of a text that would have to be spelled out on their own."""
    return {one for one in set(text) if words.reveal(one) != one}


def cut(made: Text, width: int) -> Text:
    """Shorten a line until it fits."""
    made.truncate(max(1, width), overflow="ellipsis")
    return made


def padded(made: Text | None, width: int) -> Text:
    """Pad a line with spaces that have none of its style."""
    shown = made if made is not None else Text()
    return Text.assemble(shown, " " * max(0, width - shown.cell_len))


def wrapped(made: Text, width: int) -> list[Text]:
    """Break a text into lines of a given width, between words if possible."""
    return list(made.wrap(Console(file=io.StringIO()), max(2, width), overflow="fold"))


def indented(made: Text, width: int, lead: str = "  ", style: str = "") -> list[Text]:
    """Break a text into lines behind a lead, which appears only in the first one."""
    lines = wrapped(made, width - len(lead))
    return [
        Text.assemble((" " * len(lead) if number else lead, style), one)
        for number, one in enumerate(lines)
    ]


def rule(name: str, width: int) -> Text:
    """Draw a line across the screen with a name in it."""
    rest = "─" * max(0, width - len(name) - 4)
    return cut(Text.assemble((f"── {name} ", "bold"), (rest, "dim")), width)
