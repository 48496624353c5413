"""Choose later turns about what was found that say that something changed. Pure.

"Who supervises me?" finds "my supervisor is Prof. Moser", and not "Prof. Moser is on sabbatical, so
Dr. Kainz is it from now on", which shares no word with the question. Both share a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from lamina.model.record import Hit, Record
from lamina.search import content
from lamina.search.renewal import CHANGE
from lamina.text import cues, words

FIRST = 3  # hits whose sequels are searched
WORDS = 6  # of such a hit, by which its sequels are found
TELLING = 0.6  # a word with less content is too unspecific
SHARED = 0.85  # the content of the words that a hit and its sequel share
LONGEST = 2000  # characters of a turn that are compared


def sources(found: Iterable[Hit]) -> list[Record]:
    """Return what people said among the first hits; an assistant's words have no sequel."""
    said = (hit.record for hit in found if hit.record.speaker is not None)
    own = (one for one in said if not cues.of(one.content[:LONGEST], one.speaker) & cues.ASSISTANT)
    return [one for one, _ in zip(own, range(FIRST), strict=False)]


def telling(source: Record, goal: str) -> list[str]:
    """List the most informative words of a turn, without those of the prompt."""
    asked = frozenset(words.terms(goal))
    terms = dict.fromkeys(words.terms(source.content[:LONGEST]))
    known = [one for one in terms if one not in asked and content.weight(one) >= TELLING]
    return sorted(known, key=lambda word: -content.weight(word))[:WORDS]


def sequel(source: Record, wanted: Sequence[str], later: Iterable[Hit]) -> Hit | None:
    """Choose the later hit that shares most with a turn and says that something changed."""
    best, most = None, SHARED
    for hit in later:
        one = hit.record
        if one.speaker != source.speaker or one.id == source.id or not _is_after(one, source):
            continue
        text = one.content[:LONGEST]
        held = frozenset(words.terms(text))
        shared = sum(content.weight(word) for word in wanted if word in held)
        if shared > most and CHANGE.search(text):
            best, most = hit, shared
    return best


def placed(hits: Sequence[Hit], later: Mapping[str, Hit]) -> tuple[Hit, ...]:
    """Put each sequel after the hit that it follows, even if it was found itself."""
    moved = {hit.record.id for hit in later.values()}
    every: list[Hit] = []
    for hit in hits:
        if hit.record.id not in moved:
            every.append(hit)
        if next_ := later.get(hit.record.id):
            every.append(structs.replace(next_, score=hit.score, parts={"sequel": hit.score}))
    return tuple(every)


def _is_after(later: Record, earlier: Record) -> bool:
    return (later.occurred_at, later.seq) > (earlier.occurred_at, earlier.seq)
