"""Draw what every screen has: a title, a part of a text, a message, and the keys. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from lamina.surfaces.cli.reviewer import terminal
from lamina.surfaces.cli.reviewer.texts import cut, indented, padded
from lamina.surfaces.cli.reviewer.wording import MARKS

Hints = Sequence[tuple[str, str]]
Size = tuple[int, int]

HELP = (
    ("↑ ↓  j k", "move; PgUp and PgDn by pages, g and G to the ends"),
    ("12", "go to row 12"),
    ("Enter", "open a proposal; q or Esc goes back"),
    ("← →  p n", "the proposal before and the one after"),
    ("c", "confirm: it becomes active, and what it replaces is superseded"),
    ("r", "reject, with a reason: what it says is kept out from now on"),
    ("s", "skip: decide later"),
    ("u", "undo the last confirmation of this session"),
    ("e", "the evidence in full"),
    ("h", "the history: who did what, when and why"),
    ("Space", "mark a row; c and r then decide about all that are marked, after a preview"),
    ("a", "mark many: all from one source, of one key, or all that are shown"),
    ("/", "show only what has some words"),
    ("R", "read the queue anew"),
    ("q", "leave, as Ctrl-C does; what was decided stays decided"),
)


def framed(
    title: Text, body: Sequence[Text], message: Text, hints: Hints, size: Size
) -> list[Text]:
    """Put the lines of a whole screen together."""
    width, height = size
    shown = [cut(one.copy(), width) for one in body[: room(height)]]
    shown += [Text()] * (room(height) - len(shown))
    head = padded(cut(title.copy(), width), width)
    head.stylize("reverse")
    return [head, *shown, cut(message.copy(), width), _keys(hints, width)][:height]


def room(height: int) -> int:
    """Count the lines of a screen that are left for its body."""
    return max(1, height - 3)


def _keys(hints: Hints, width: int) -> Text:
    """Name as many keys as fit: the first and the last two of them matter most."""
    shown = list(hints)
    while len(shown) > 2 and sum(len(key) + len(what) + 3 for key, what in shown) > width + 2:
        del shown[-3]
    parts = [Text.assemble((key, "bold"), (f" {what}", "dim")) for key, what in shown]
    return cut(Text("  ").join(parts), width)


class Pager:
    """A long text, of which a screen shows a part; it knows how much was never shown."""

    def __init__(self) -> None:
        self._top = 0
        self._room = 1
        self._length = 0
        self._seen = 0

    def part(self, lines: Sequence[Text], height: int) -> list[Text]:
        """Return what fits on a screen; its last line says how much follows."""
        self._room, self._length = room(height), len(lines)
        self._top = max(0, min(self._top, self._length - self._room))
        end = self._top + self._room
        below = self._length - end
        if self._top <= self._seen:  # who jumps to the end has not seen what lies between
            self._seen = max(self._seen, self._length if below <= 0 else end - 1)
        shown = list(lines[self._top : end])
        if below > 0:
            shown[-1] = Text(f"↓ {below + 1} more lines; space shows them", "bold yellow")
        return shown

    @property
    def unread(self) -> int:
        """The number of lines that were never on the screen."""
        return max(0, self._length - self._seen)

    def moved(self, key: str) -> bool:
        """Move through the text if the key does that, and tell if it does."""
        page = max(1, self._room - 2)
        steps = {
            terminal.DOWN: 1,
            "j": 1,
            terminal.UP: -1,
            "k": -1,
            " ": page,
            terminal.PAGE_DOWN: page,
            "b": -page,
            terminal.PAGE_UP: -page,
            terminal.HOME: -self._length,
            "g": -self._length,
            terminal.END: self._length,
            "G": self._length,
        }
        self._top += steps.get(key, 0)
        return key in steps


def helping(width: int) -> list[Text]:
    """Explain every key and every mark."""
    lines = [
        one for key, what in HELP for one in indented(Text(what), width, f"  {key:<11}", "bold")
    ]
    for sign, style, what in MARKS:
        lines += indented(Text(what), width, f"  {sign:<11}", style)
    return lines
