"""Tell which of the things that are known a turn says to be over. Pure.

"Came off sertraline", "deleted my GitLab account", "Lisbon is cancelled": no list has all the words
in which something ends. But what is known is known, and the network says of every word with which
status it is a value. So where a known value is mentioned again, the network is asked whether it is
one that has ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, attributes, open_verbs, open_words, tagged, values
from lamina.engines.claims.denials import HAD, Affirmed
from lamina.engines.claims.open_phrases import is_of_another, is_person
from lamina.engines.claims.open_words import MY, NAME, NUMBER, PLAIN, SELF, Word
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.tagger import Network, Tags

if TYPE_CHECKING:
    from lamina.engines.claims.tagger import Floats

RULE = "over"
# Cannot end, or is ended by what is said of it alone.
LASTING = frozenset("did visited birthday age origin nationality name allergy".split())
NAMES = re.compile(r"\b[^\W\d_a-zß-öø-ÿ]\w+")
LEAST, CLEARLY = 0.5, 0.7
KIN = frozenset({"child", "sibling", "parent", "relative", "partner"})
OWN = 0.3  # how likely a value must be the speaker's, for its end to be theirs
EVEN = 0.7  # how sure the end of a value is that is as likely over as not
SHORT = 2  # letters of a word that names nothing


class Heard(NamedTuple):
    """Where a clause has words with a stem: all places of names and others, the last of any."""

    names: dict[str, list[int]]
    plain: dict[str, list[int]]
    content: dict[str, int]  # names and others
    every: dict[str, int]


class Mention(NamedTuple):
    """A known value, where a clause mentions it, and how likely the clause says that it is over."""

    known: Claim
    start: int
    end: int
    likely: float

    @property
    def is_over(self) -> bool:
        """Tell if the clause says that the value is over; of kin, it has to be clearer."""
        return self.likely > (CLEARLY if self.known.attribute in KIN else LEAST)


def over(
    said: Said,
    clauses: Sequence[Clause],
    claims: Sequence[Claim],
    affirmed: Affirmed,
    tags: Callable[[], Tags],
) -> list[Claim]:
    """Add the ends of known values that a turn mentions as over; no note repeats these values."""
    ended: dict[int, Mention] = {}
    for one in _mentions(said, clauses, affirmed, tags):
        best = ended.get(id(one.known))
        is_surer = one.is_over and (best is None or one.likely > best.likely)
        if is_surer and not _is_told(said, one, claims):
            ended[id(one.known)] = one
    ends = [_end(said, one) for one in ended.values()]
    ends += _echoes(said, [*claims, *ends], affirmed)
    return [*(one for one in claims if not _repeats(one, ends)), *ends]


def _echoes(said: Said, claims: Sequence[Claim], affirmed: Affirmed) -> list[Claim]:
    """End the notes that say what has ended, and more: "smoke a pipe on the porch"."""
    ended: dict[int, Claim] = {}
    for claim in claims:
        stale = _stale(claim, affirmed)
        if not _is_telling(stale):
            continue
        for known in affirmed.sharing(claim.subject, stale):
            if known.attribute == tagged.NOTE and known.value != claim.value:
                about = known.subject, known.attribute, known.value
                made = said.claim(*about, (claim.start, claim.end), claim.confidence, RULE)
                ended[id(known)] = structs.replace(made, until=said.turn.at)
    return list(ended.values())


def _is_telling(value: str) -> bool:
    """Tell if notes that have a value are about it: it is a name, or more than a word."""
    return len(values.stems(value)) > 1 or any(map(_is_name, value.split()))


def _stale(claim: Claim, affirmed: Affirmed) -> str:
    """Return the value that a claim ends; empty if it ends none."""
    if claim.negated or claim.until:
        return claim.value
    if claim.replaces or attributes.of(claim.attribute).many:
        return claim.replaces or ""
    before = affirmed.last(claim.subject, claim.attribute)
    return before.value if before and before.value != claim.value else ""


def _mentions(
    said: Said, clauses: Sequence[Clause], affirmed: Affirmed, tags: Callable[[], Tags]
) -> Iterator[Mention]:
    """List the known values of the speaker, and of others who are named, that clauses mention."""
    persons = [said.speaker, *_persons(said.plain, affirmed)]
    own: list[int] = []  # the places of the speaker, and how likely each word names what is over:
    estimates: list[Floats] = []  # made once, and only if a value is mentioned
    for clause in clauses:
        if clause.asks or clause.doubted:
            continue
        part, heard = said.part(clause), None
        found = (known for person in persons for known in affirmed.sharing_any(person, part))
        for known in filter(_may_end, found):
            read = tags()
            if heard is None:
                around = open_words.within(read.words, clause.start, clause.end)
                heard = _heard(read.words, range(*around))
            span = _named(known.value, heard, read.network)
            if span is None or _is_time(read.words[slice(*span)]):
                continue
            own = own or own_places(read)
            if is_about(read, span, known.subject, own if known.subject == said.speaker else ()):
                estimates = estimates or [read.over()]
                start, end = read.words[span[0]].start, read.words[span[1] - 1].end
                yield Mention(known, start, end, float(estimates[0][slice(*span)].mean()))


def _persons(plain: str, affirmed: Affirmed) -> list[str]:
    """List the known persons whom a turn names; two of one name are not told apart."""
    called = (affirmed.named([name.lower()]) for name in sorted(set(NAMES.findall(plain))))
    return [persons[0] for persons in called if len(persons) == 1]


def _is_time(words: Sequence[Word]) -> bool:
    """Tell if words are only days or numbers, which many things may have in common."""
    return all(
        word.kind == NUMBER or word.text.removesuffix("s") in open_verbs.LATER for word in words
    )


def likely(tags: Tags, span: tuple[int, int]) -> float:
    """Compute how likely what some words name is over."""
    return float(tags.over()[slice(*span)].mean())


def own_places(tags: Tags) -> list[int]:
    """List the places that stand for the speaker among those whom a value may be about."""
    return [0, *(n for n, word in enumerate(tags.words, 1) if _is_own(word))]


def is_about(tags: Tags, span: tuple[int, int], subject: str, own: Sequence[int]) -> bool:
    """Tell if the network may take what some words name for somebody's.

    "Dr. Lind took me off aspirin" speaks of the speaker, "my brother quit Siemens" does not. `own`
    are the places that stand for the speaker, if it is them.
    """
    likely = tags.about(span[0])
    if own:
        return float(likely[own].sum()) >= OWN and not is_of_another(tags.words, span[0])
    word = tags.words[max(0, int(likely.argmax()) - 1)]
    return bool(likely.argmax()) and word.text in subject.lower().split()


def _is_own(word: Word) -> bool:
    """Tell if a word stands for the speaker, or for a thing, which is taken for the speaker's."""
    is_thing = word.kind == PLAIN and not is_person(word)
    return is_thing or word.kind in (SELF, MY)


def _end(said: Said, one: Mention) -> Claim:
    about = one.known.subject, one.known.attribute, one.known.value
    # Of values that are as likely over as not, seven of ten are: labels have many more that hold.
    sure = EVEN + (1 - EVEN) * (one.likely - LEAST) / (1 - LEAST)
    ended = said.claim(*about, (one.start, one.end), sure, RULE)
    return structs.replace(ended, until=said.turn.at)


def _repeats(claim: Claim, ends: Sequence[Claim]) -> bool:
    """Tell if a note is made of a clause in which something ends."""
    return claim.rule == tagged.RULE and any(
        claim.start <= end.start and end.end <= claim.end for end in ends
    )


def _may_end(known: Claim) -> bool:
    return known.attribute not in LASTING and not known.attribute.startswith(attributes.INSTRUCTION)


def _heard(words: Sequence[Word], places: range) -> Heard:
    """Index the words of a clause, once for all values that it may mention."""
    heard = Heard({}, {}, {}, {})
    for n in places:
        stem, kind = values.stem(words[n].text), words[n].kind
        heard.every[stem] = n
        if kind in (NAME, PLAIN):
            heard.content[stem] = n
            (heard.names if kind == NAME else heard.plain).setdefault(stem, []).append(n)
    return heard


def _named(value: str, heard: Heard, network: Network) -> tuple[int, int] | None:
    """Find the words of a clause that name a known value: all of them, or a name among them.

    A name is written as one, or all names of the value are there; a word that the network does not
    know is as good as a name.
    """
    names = _names(value)
    named = [n for stem in names for n in heard.names.get(stem, ())]
    if heard.plain:
        named += [n for stem in _rare(value, network) for n in heard.plain.get(stem, ())]
    if not named:
        found = heard.content
        wanted = names if names and found.keys() >= names else values.stems(value)
        every = heard.every if wanted != names else found
        named = [every[stem] for stem in wanted] if every.keys() >= wanted else []
    return (min(named), max(named) + 1) if named else None


@lru_cache(10_000)  # known values are looked for in every clause
def _names(value: str) -> frozenset[str]:
    return values.stems(" ".join(filter(_is_name, value.split())))


@lru_cache(10_000)
def _rare(value: str, network: Network) -> frozenset[str]:
    listed = (word.removesuffix("'s") for word in value.split())
    return values.stems(" ".join(word for word in listed if not network.knows(word)))


def _is_name(word: str) -> bool:
    return word[:1].isupper() and len(word) > SHORT and word.isalpha()


def _is_told(said: Said, one: Mention, claims: Sequence[Claim]) -> bool:
    """Tell if a turn says by itself whether a value holds: of the value, or of what it is.

    What somebody else does, is, or has no longer, ends nothing either.
    """
    mention, known = values.stems(said.plain[one.start : one.end]), one.known
    for claim in claims:
        if claim.rule == tagged.RULE:
            continue
        is_there = claim.start <= one.start and one.end <= claim.end
        if mention & values.stems(claim.subject) or (is_there and claim.subject != known.subject):
            return True
        if claim.subject != known.subject:
            continue
        is_same, is_end = claim.attribute == known.attribute, claim.until is not None
        if claim.negated and claim.attribute in HAD and known.attribute.startswith(attributes.HAS):
            continue  # what is sold is no longer "my car" either
        if is_same and not attributes.of(claim.attribute).many:
            return True
        if mention & values.stems(f"{claim.value} {claim.replaces or ''}") and (
            is_same or claim.negated or is_end
        ):
            return True
    return False
