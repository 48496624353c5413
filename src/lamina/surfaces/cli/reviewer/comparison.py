"""Show two texts side by side, with the differing words marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby, islice, zip_longest

from rich.text import Text

from lamina.surfaces.cli.reviewer.texts import indented, padded, safe, wrapped
from lamina.text import words

REMOVED, ADDED = "red strike", "bold green"
GONE, NEW = "red", "green"  # for a whole line
# Below this width two columns are too narrow to read.
SIDE_BY_SIDE = 72
BETWEEN = " │ "
# Lines with this share of common words are versions of each other.
ALIKE = 0.3
# Longer texts are shown without a comparison, which could be made to take very long.
MOST, MOST_IN_ALL = 1_000, 4_000
WORDS = re.compile(rf"(?:{words.PICTURE}[\ufe0f\u200d]*)+|\w+|\s+|.", re.S)

Pair = tuple[Text | None, Text | None]


def aligned(before: Sequence[str], after: Sequence[str]) -> list[Pair]:
    """Align the lines of two versions of a text, with the differing words marked."""
    if max(len(before), len(after)) > MOST:
        return [_unlike(*lines) for lines in zip_longest(before, after)]
    rows: list[Pair] = []
    room = MOST_IN_ALL
    compared = SequenceMatcher(None, before, after)
    for tag, start, end, other_start, other_end in compared.get_opcodes():
        for old, new in zip_longest(before[start:end], after[other_start:other_end]):
            if tag == "equal":
                rows.append((safe(old), safe(new)))
                continue
            limit = min(room, MOST)
            split = [list(islice(_words(one or ""), limit + 1)) for one in (old, new)]
            most = max(map(len, split))
            versions = _versions(*split) if most <= limit else None
            rows.append(versions or _unlike(old, new))
            room = max(0, room - most)
    return rows


def _unlike(before: str | None, after: str | None) -> Pair:
    """Pair two unrelated lines; either may be missing."""
    left = None if before is None else safe(before, GONE)
    right = None if after is None else safe(after, NEW)
    return left, right


def _versions(before: Sequence[str], after: Sequence[str]) -> Pair | None:
    """Compare two versions of a line word by word; None if they are unrelated."""
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
    """Show several texts beside the one that would replace them.

    Mark words that would be lost, and words that none of the texts has.
    """
    kept, known = _known(summary), _known(one for source in sources for one in source)
    left = [
        _marked(one, kept, REMOVED, "  " if number else "• ")
        for source in sources
        for number, one in enumerate(source)
    ]
    return Text("\n").join(left), Text("\n").join(_marked(one, known, ADDED) for one in summary)


def _known(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(words.normalise(word) for one in lines for word in _words(one))


def _marked(text: str, known: frozenset[str], style: str, lead: str = "") -> Text:
    """Mark the words of a text that are not among the known ones."""

    def is_new(word: str) -> bool:
        return words.is_visible(word) and words.normalise(word) not in known

    made = Text(lead)
    for new, run in groupby(_words(text), is_new):
        made.append_text(safe("".join(run), style if new else ""))
    return made


def _words(text: str) -> Iterator[str]:
    """Split a text into words, spaces and signs; and scripts without spaces into letters."""
    for found in WORDS.finditer(text):
        if words.UNSPACED.search(found.group()):
            yield from found.group()
        else:
            yield found.group()


def side_by_side(rows: Iterable[Pair], width: int) -> list[Text]:
    """Lay out pairs in two columns of equal width, with a line between them."""
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
    """Lay out pairs one below the other: the old line after a minus, the new one after a plus."""
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
    entries = made.split("\n", allow_blank=True) if made is not None else ()
    return [one for entry in entries for one in indented(entry, width, sign, style)]
