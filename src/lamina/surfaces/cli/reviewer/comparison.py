"""Two texts beside each other, with the words marked that differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice, zip_longest

from rich.text import Text

from lamina.surfaces.cli.reviewer.texts import indented, padded, safe, wrapped
from lamina.text import words as text

REMOVED, ADDED = "red strike", "bold green"
GONE, NEW = "red", "green"  # a whole line of it
# Below this width two columns are too narrow to read.
SIDE_BY_SIDE = 72
BETWEEN = " │ "
# So many of their words make two lines versions of each other.
ALIKE = 0.3
# What would take long to compare is shown as it is: texts may be made to take very long.
MOST, MOST_IN_ALL = 1_000, 4_000
WORDS = re.compile(rf"(?:{text.PICTURE}[\ufe0f\u200d]*)+|\w+|\s+|.", re.S)

Pair = tuple[Text | None, Text | None]


def aligned(before: Sequence[str], after: Sequence[str]) -> list[Pair]:
    """The lines of two versions of a text, with the words marked that differ."""
    if max(len(before), len(after)) > MOST:
        return [_unlike(*lines) for lines in zip_longest(before, after)]
    rows: list[Pair] = []
    room = MOST_IN_ALL
    for tag, start, end, other_start, other_end in SequenceMatcher(
        None, before, after
    ).get_opcodes():
        for old, new in zip_longest(before[start:end], after[other_start:other_end]):
            if tag == "equal":
                rows.append((safe(old), safe(new)))
                continue
            words = [list(islice(_words(one or ""), min(room, MOST) + 1)) for one in (old, new)]
            most = max(map(len, words))
            rows.append(
                _unlike(old, new)
                if most > min(room, MOST)
                else _versions(*words) or _unlike(old, new)
            )
            room = max(0, room - most)
    return rows


def _unlike(before: str | None, after: str | None) -> Pair:
    """Two lines that have nothing to do with each other; either may be missing."""
    return (None if before is None else safe(before, GONE)), (
        None if after is None else safe(after, NEW)
    )


def _versions(before: Sequence[str], after: Sequence[str]) -> Pair | None:
    """Two versions of a line, word by word; nothing when they are not that."""
    compared = SequenceMatcher(None, before, after)
    if not before or not after or compared.ratio() < ALIKE:
        return None
    left, right = Text(), Text()
    for tag, start, end, other_start, other_end in compared.get_opcodes():
        same = tag == "equal"
        left.append_text(safe("".join(before[start:end]), "" if same else REMOVED))
        right.append_text(safe("".join(after[other_start:other_end]), "" if same else ADDED))
    return left, right


def gathered(sources: Sequence[Sequence[str]], summary: Sequence[str]) -> Pair:
    """What several texts say beside the one in their stead: words that would be lost, and words that none of them has."""
    kept, known = _known(summary), _known(one for source in sources for one in source)
    left = [
        _marked(one, kept, REMOVED, "  " if place else "• ")
        for source in sources
        for place, one in enumerate(source)
    ]
    return Text("\n").join(left), Text("\n").join(_marked(one, known, ADDED) for one in summary)


def _known(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(text.normalise(word) for one in lines for word in _words(one))


def _marked(given: str, known: frozenset[str], style: str, lead: str = "") -> Text:
    made = Text(lead)
    for new, run in groupby(
        _words(given), lambda word: text.is_visible(word) and text.normalise(word) not in known
    ):
        made.append_text(safe("".join(run), style if new else ""))
    return made


def _words(given: str) -> Iterator[str]:
    """Words, spaces and signs; scripts without spaces are compared letter by letter."""
    for found in WORDS.finditer(given):
        if text.UNSPACED.search(found.group()):
            yield from found.group()
        else:
            yield found.group()


def side_by_side(rows: Iterable[Pair], width: int) -> list[Text]:
    """Two columns of one width, with a line between them."""
    half = column(width)
    lines = []
    for pair in rows:
        columns = [wrapped(one, half) if one is not None else [] for one in pair]
        for left, right in zip_longest(*columns):
            lines.append(Text.assemble(padded(left, half), (BETWEEN, "dim"), right or Text()))
    return lines


def column(width: int) -> int:
    return (width - len(BETWEEN)) // 2


def stacked(rows: Iterable[Pair], width: int) -> list[Text]:
    """The same below each other: what goes behind a minus, what comes behind a plus."""
    lines: list[Text] = []
    coming: list[Text] = []
    for left, right in rows:
        if left is not None and right is not None and left.plain == right.plain:
            lines, coming = [*lines, *coming, *indented(left, width)], []
            continue
        lines += _signed(left, "- ", GONE, width)
        coming += _signed(right, "+ ", NEW, width)
    return [*lines, *coming]


def _signed(made: Text | None, sign: str, style: str, width: int) -> list[Text]:
    given = made.split("\n", allow_blank=True) if made is not None else ()
    return [one for entry in given for one in indented(entry, width, sign, style)]
