"""Propose what the network alone reads in a message, where no shape fits. Pure.

"dad had his hip done, still on crutches" has no shape that the open form knows, but the network
sees that "crutches" are a value of dad's. What such a value is called cannot be known, so the claim
is kept in the speaker's words, as a note about a person that replaces nothing. A note is read by
itself later, so it has as much of the clause as it needs: "got it at 29", not "29".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from lamina.engines.claims import Claim, values
from lamina.engines.claims.open_phrases import DENIED, ENDED, PLANNED, means_person
from lamina.engines.claims.open_words import (
    ARTICLE,
    ASIDES,
    BE,
    COMMA,
    CUT,
    HAVE,
    JOINT,
    MARK,
    MY,
    NAME,
    NOT,
    OTHER,
    PLAIN,
    PREPOSITION,
    SELF,
    THEIR,
    THEY,
    UNSEEN,
    YOUR,
    Word,
    within,
)
from lamina.engines.claims.said import UNQUOTED, Said
from lamina.engines.claims.sentences import MASK, Clause
from lamina.engines.claims.tagger import STATUSES, Tags
from lamina.text import dates
from lamina.text.words import STOP_WORDS, tokens

RULE = "tagged"
NOTE, PLAN = "other", "plan"
LIKELY = 0.35  # how likely a word must be part of a value for one to begin there
INSIDE = 0.5  # and for one to go on
MOST_WORDS = 9  # of a value: more is a sentence
NOTE_WORDS = 12  # of a note
UNTOLD = 3  # words up to which a value is not understood by itself
NAMES = frozenset({PLAIN, NAME})  # a name may be written small
PERSONS = frozenset({SELF, MY, THEY, THEIR, OTHER, YOUR})
OTHERS = frozenset({THEY, THEIR, YOUR})
OPENERS = frozenset({SELF, BE, HAVE, JOINT})  # a note about somebody does not begin with "I'm"
# What ends a note: behind these, and before, something else is said.
BEFORE = frozenset({COMMA, MARK, CUT, UNSEEN})
BEHIND = BEFORE | {JOINT}
LEADING = frozenset({PREPOSITION, ARTICLE, MY, THEIR, BE, HAVE})  # of something that is left out

ANY_MORE = frozenset({"any", "more", "longer", "anymore", "now"})
Places = tuple[int, int]  # the first word, and the one behind the last
IsNew = Callable[[str, int, int], bool]  # of whom, and where in the turn it is said


class Tagged(NamedTuple):
    """Values that the network sees together: their words, their status, and whom they are about."""

    values: tuple[Places, ...]
    status: str
    about: int  # 0 for the speaker, else the number of a word, counted from 1
    clause: Clause
    near: str  # the kind of the last word before it in its sentence that stands for a person

    @property
    def first(self) -> int:
        return self.values[0][0]

    @property
    def last(self) -> int:
        return self.values[-1][1]

    @property
    def size(self) -> int:
        """How many words the values have."""
        return sum(last - first for first, last in self.values)


def proposals(
    tags: Tags, said: Said, clauses: Sequence[Clause], claims: Sequence[Claim], is_new: IsNew
) -> Iterator[tuple[Tagged, Claim]]:
    """Make a note of the values that the network sees in a clause, in the speaker's words."""
    words = tags.words
    taken = {within(words, claim.start, claim.end): claim.subject for claim in claims}
    read = (_owned(words, one) for one in _values(tags, clauses))
    seen = [one for one in read if _is_said(tags, one, said, is_new)]
    joined = list(_joined(words, seen, taken))
    taken |= {span: _subject(tags, one, said) for one in joined for span in one.values}
    for one in joined:
        if _is_time(words, one, taken, said):
            continue
        subject = _subject(tags, one, said)
        others = {span for span, whose in taken.items() if whose != subject}
        place, end = _readable(words, one, taken, others)
        if one.status == ENDED:
            place, end = _affirmed(words, place, end)
            if place >= end:
                continue
        span = words[place].start, words[end - 1].end
        if MASK in said.plain[slice(*span)] or _is_bare(words, one):
            continue
        yield (
            one,
            said.claim(
                subject,
                PLAN if one.status == PLANNED else NOTE,
                said.turn.text[slice(*span)].translate(UNQUOTED),
                span,
                LIKELY,
                RULE,
                within=one.clause,
                is_over=one.status == ENDED,
            ),
        )


def _affirmed(words: Sequence[Word], place: int, end: int) -> Places:
    """Leave out that something is over: "not head of department any more" was head of it.

    Only the value of a past state may lose its "not": any other would be turned into its contrary.
    """
    if words[place].kind != NOT:
        return place, end
    while place < end and words[place].kind in (NOT, ARTICLE):
        place += 1
    while end > place and words[end - 1].text in ANY_MORE:
        end -= 1
    return place, end


def _is_said(tags: Tags, one: Tagged, said: Said, is_new: IsNew) -> bool:
    """Tell if a value is stated of somebody whom one can name, and not known yet."""
    subject = _subject(tags, one, said)
    start, end = tags.words[one.first].start, tags.words[one.last - 1].end
    value = said.plain[start:end]
    if not subject or one.clause.doubted or MASK in value or values.is_empty(value):
        return False
    if one.status == DENIED or (not one.about and one.near in OTHERS):
        return False  # a note denies nothing; "his name is Kyle" is of somebody who was not named
    return is_new(subject, start, end)


def _values(tags: Tags, clauses: Sequence[Clause]) -> Iterator[Tagged]:
    """List the values that the network sees, each with the clause that it begins in."""
    likely, count = tags.statuses.sum(axis=1), len(tags.statuses)
    place = 0
    while place < count:
        first, place = place, place + 1
        if likely[first] < LIKELY:
            continue
        while place < count and likely[place] >= INSIDE and tags.begins[place] < INSIDE:
            place += 1
        start = tags.words[first].start
        clause = next((one for one in clauses if one.start <= start < one.end), None)
        if clause and place - first <= MOST_WORDS:
            status = STATUSES[int(tags.statuses[first:place].mean(axis=0).argmax())]
            about = int(tags.about(first).argmax())
            near = _near(tags.words[:first], clause, clauses)
            yield Tagged(((first, place),), status, about, clause, near)


def _owned(words: Sequence[Word], one: Tagged) -> Tagged:
    """Take what is said of a thing for said of the speaker, who has it, if it is named just before.

    A person is not always told from a thing by the noun. So the note has to name it.
    """
    place = one.about - 1
    if place < 0 or words[place].kind != PLAIN or means_person(words[place].text):
        return one
    is_near = words[place].start >= one.clause.start and 0 <= one.first - place < NOTE_WORDS
    between = (words[n].kind for n in range(place, one.first))
    return one._replace(about=0) if is_near and BEFORE.isdisjoint(between) else one


def _near(before: Sequence[Word], clause: Clause, clauses: Sequence[Clause]) -> str:
    sentence = next(one.start for one in clauses if one.sentence == clause.sentence)
    said = (word for word in reversed(before) if word.start >= sentence)
    return next((word.kind for word in said if word.kind in PERSONS), "nobody")


def _joined(
    words: Sequence[Word], listed: Sequence[Tagged], taken: Collection[Places]
) -> Iterator[Tagged]:
    """Join values of one clause that say the same kind of thing of the same person."""
    joined: list[Tagged] = []
    for one in listed:
        before = joined[-1] if joined else None
        if before and _are_one_note(words, before, one, taken):
            joined[-1] = before._replace(values=before.values + one.values)
        else:
            joined.append(one)
    return iter(joined)


def _are_one_note(
    words: Sequence[Word], one: Tagged, other: Tagged, taken: Collection[Places]
) -> bool:
    is_same = (one.clause, one.status, one.about) == (other.clause, other.status, other.about)
    is_short = other.last - one.first <= NOTE_WORDS
    if not (is_same and is_short):
        return False
    is_apart = any(words[n].kind == UNSEEN for n in range(one.last, other.first))
    return not is_apart and not any(
        first < other.first and last > one.last for first, last in taken
    )


def _readable(
    words: Sequence[Word], one: Tagged, taken: Collection[Places], others: Collection[Places]
) -> Places:
    """Find the words around values that make them understood: their part of the clause.

    What other claims say behind it is left out, and what they say of others, and the person whom
    the note is about.
    """
    if one.clause.asks:
        return one.first, one.last
    low, high = within(words, one.clause.start, one.clause.end)
    left_out = [*others, *([_name(words, one.about)] if one.about else [])]
    before = (n for n in range(one.first, low, -1) if words[n - 1].kind in BEFORE)
    low = max([next(before, low), *(last for _, last in left_out if last <= one.first)])
    # "I'm 71 and take aspirin": what another claim says before "and" is left out.
    told = (last + 1 for _, last in taken if last < one.first and words[last].kind == JOINT)
    low = max([low, *told])
    behind = (n for n in range(one.last, high) if words[n].kind in BEHIND)
    starts = (first for first, _ in [*taken, *left_out] if first >= one.last)
    high = min([next(behind, high), *starts])
    if one.last - low > NOTE_WORDS:
        low = max([low, *(last for _, last in taken if last <= one.first)])
    while low < one.first and (words[low].kind in OPENERS or words[low].text in ASIDES):
        low += 1
    while high > one.last and words[high - 1].kind in LEADING:
        high -= 1
    if one.last - low > NOTE_WORDS:
        low = one.first
    if high - low > NOTE_WORDS:
        high = one.last
    return low, high


def _is_time(words: Sequence[Word], one: Tagged, taken: Collection[Places], said: Said) -> bool:
    """Tell if a value is only when something is that another claim of the clause says."""
    low, _ = within(words, one.clause.start, one.clause.end)
    if not any(low <= first < one.first for first, _ in taken):
        return False
    start = one.first - (words[one.first - 1].kind == PREPOSITION)  # "in 2019"
    value = said.plain[words[start].start : words[one.last - 1].end]
    for mention in dates.find(value, said.turn.at):
        value = value.replace(mention.phrase, " ")
    return all(word in STOP_WORDS for word in tokens(value))


def _is_bare(words: Sequence[Word], one: Tagged) -> bool:
    """Tell if a short value is all that its clause says: "tea, please" states nothing."""
    low, high = within(words, one.clause.start, one.clause.end)
    around = [*words[low : one.first], *words[one.last : high]]
    is_told = any(word.text not in ASIDES for word in around if word.text[0].isalnum())
    return len(one.values) == 1 and one.size <= UNTOLD and not is_told


def _subject(tags: Tags, one: Tagged, said: Said) -> str:
    """Name whom a value is about; empty where the network points at no name."""
    if not one.about:
        return said.speaker
    if tags.words[one.about - 1].kind not in NAMES:
        return ""
    first, last = _name(tags.words, one.about)
    return said.plain[tags.words[first].start : tags.words[last - 1].end]


def _name(words: Sequence[Word], about: int) -> Places:
    """Find the whole name of which the network points at a word."""
    first, last = about - 1, about
    while words[first].kind == NAME and first and words[first - 1].kind == NAME:
        first -= 1
    while words[first].kind == NAME and last < len(words) and words[last].kind == NAME:
        last += 1
    return first, last
