"""Stored text as a screen may show it: nothing in it is hidden, and nothing steers the terminal. Pure."""

from __future__ import annotations

import io
import re
from itertools import groupby

from rich.console import Console
from rich.text import Text

from lamina.text import words

HIDDEN = "bold reverse magenta"
JOINERS = frozenset("\u200d\ufe0f")  # which belong to pictures, and are hidden elsewhere
BREAKS = re.compile(r"[ \n]+")


def safe(given: str, style: str = "") -> Text:
    """A text as it is, with what is invisible spelled out and marked."""
    if not _unseen(given):
        return Text(given, style)
    made = Text(style=style)
    pieces = ((found.group(), words.reveal(found.group())) for found in words.PARTS.finditer(given))
    for spelled, run in groupby(pieces, lambda piece: piece[0] != piece[1]):
        made.append("".join(shown for _, shown in run), HIDDEN if spelled else None)
    return made


def line(given: str, style: str = "", width: int = 0) -> Text:
    """The same on one line, cut with an ellipsis where a width is given."""
    if not width:
        return safe(BREAKS.sub(" ", given).strip(), style)
    start = BREAKS.sub(" ", given[: 100 * width]).strip()  # enough of it, whatever takes no room
    return cut(safe(start if len(start) <= 8 * width else start[: 8 * width] + "…", style), width)


def hidden(given: str) -> int:
    """How many characters of a text nobody would see."""
    unseen = _unseen(given)
    if not unseen & JOINERS:
        return sum(map(given.count, unseen))
    return sum(
        found.group() != words.reveal(found.group()) for found in words.PARTS.finditer(given)
    )


def _unseen(given: str) -> set[str]:
    """The characters of a text that would have to be spelled out where they stand alone."""
    return {one for one in set(given) if words.reveal(one) != one}


def cut(made: Text, width: int) -> Text:
    """The same line, shortened until it fits."""
    made.truncate(max(1, width), overflow="ellipsis")
    return made


def padded(made: Text | None, width: int) -> Text:
    """A line filled up with spaces, which carry none of its style."""
    shown = made if made is not None else Text()
    return Text.assemble(shown, " " * max(0, width - shown.cell_len))


def wrapped(made: Text, width: int) -> list[Text]:
    """Lines of a width, broken between words where that is possible."""
    return list(made.wrap(Console(file=io.StringIO()), max(2, width), overflow="fold"))


def indented(made: Text, width: int, lead: str = "  ", style: str = "") -> list[Text]:
    """Lines of a width behind a lead, which stands in the first of them alone."""
    lines = wrapped(made, width - len(lead))
    return [
        Text.assemble((" " * len(lead) if number else lead, style), one)
        for number, one in enumerate(lines)
    ]


def rule(name: str, width: int) -> Text:
    """A line across the screen with a name in it."""
    return cut(
        Text.assemble((f"── {name} ", "bold"), ("─" * max(0, width - len(name) - 4), "dim")), width
    )
