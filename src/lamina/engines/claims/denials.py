"""Resolve denials and retractions: find the statement that they take back. Pure.

"We're not using Redis" denies "our cache is Redis" as well as "we use Redis": a denial gets the
attribute and the value of an earlier statement about the same person in the same words.
"Scrap that" takes back the previous turn.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from msgspec import structs

from lamina.engines.claims import Claim, attributes, values
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.text.hints import hinted
from lamina.text.patterns import bounded

MOST = 50  # latest statements that share a word with a denial
# Verbs that mean no more than having or using something.
HAVING = frozenset(map(values.stem, "have has had own owns got use uses using run running".split()))
HAD = ("owns", "pet")
EXPECTED = 0.7  # minimal confidence of a claim about something known
UNSAID = r"(?:scrap|scratch|strike|ignore|disregard|forget|cancel|delete)"
# Words that retract what was said without a replacement.
RETRACTS = hinted(
    rf"\b(?:misspoke|correction|{UNSAID} (?:that|my last|what I)|my mistake|that'?s wrong"
    r"|that was wrong|I was wrong|I lied|got (?:that|it) wrong|no,? wait|wait,? no|not true"
    r"|that was a (?:joke|typo|mistake))\b",
    re.I,
)
BARE = bounded(
    rf"\W*(?:(?:no|sorry|oh|ah|oops|wait|actually|please|ok|okay|hm+)\W+)*{UNSAID}"
    r" (?:that|all that|what I (?:just )?(?:said|wrote)|my last (?:message|sentence))"
    r"(?:,? (?:please|sorry|thanks))?\W*",
    re.I,
)
# "Forget what I said about Berlin."
ABOUT = bounded(
    rf"\b{UNSAID} (?:what I (?:just )?(?:said|told you|wrote)|the (?:bit|part|thing)|that"
    r" (?:bit|part|thing)) (?:about|on|with) (?P<value>[^.,;:!?]+)",
    re.I,
)


# "It's not true that": the following clause is denied.
FALSE = bounded(
    r"\b(?:(?:not|isn't|wasn't|never|no longer)(?: been)? (?:true|right|correct|the case)|untrue"
    r"|false|wrong|a lie|never said|didn't say|did not say)\s*\Z",
    re.I,
)


class _About:
    """The claims about one person, in order: all, by attribute, by stem, and by possession."""

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.last: dict[str, Claim] = {}
        self.by_stem: defaultdict[str, list[Claim]] = defaultdict(list)
        self.by_noun: defaultdict[str, list[Claim]] = defaultdict(list)
        self.nouns: set[str] = set()


class Affirmed:
    """The claims that still hold, indexed by the words of their values."""

    def __init__(self, known: Iterable[Claim]) -> None:
        self._about: dict[str, _About] = {}
        self._called: dict[str, list[str]] = {}  # people by the first word of their names
        self._over: set[int] = set()  # ids of claims that no longer hold
        for claim in known:
            self.note(claim)

    def note(self, claim: Claim) -> None:
        """Record a claim and what it ends."""
        subject, attribute = claim.subject, claim.attribute
        about = self._about.get(subject)
        if about:
            self._end(claim, about)
        if claim.negated or claim.until is not None:
            return
        if about is None:
            about = self._about[subject] = _About()
            self._called.setdefault(subject.lower().partition(" ")[0], []).append(subject)
        about.claims.append(claim)
        about.last[attribute] = claim
        for stem in values.stems(claim.value):
            about.by_stem[stem].append(claim)
        if attribute.startswith(attributes.HAS):
            about.nouns.add(attribute.removeprefix(attributes.HAS))
            for stem in _own_words(attribute):
                about.by_noun[stem].append(claim)

    def _end(self, claim: Claim, about: _About) -> None:
        """Mark the claims that a claim ends: what it denies or replaces, or the former value."""
        is_end = claim.negated or claim.until is not None
        last = about.last.get(claim.attribute)
        if last and (not claim.value or not (is_end or attributes.of(claim.attribute).many)):
            self._over.add(id(last))
        if not (is_end or claim.replaces):
            return
        stems = values.stems(claim.value if is_end else claim.replaces or "")
        for known in self._sharing(claim.subject, stems):
            if known.attribute == claim.attribute and stems <= values.stems(known.value):
                self._over.add(id(known))

    def _holding(self, claims: Sequence[Claim]) -> list[Claim]:
        """Return those of the latest claims that still hold."""
        return [claim for claim in claims[-MOST:] if id(claim) not in self._over]

    def named(self, words: Iterable[str]) -> list[str]:
        """List the subjects of claims whose names begin with one of the words."""
        called = (self._called.get(word, ()) for word in dict.fromkeys(words))
        return [person for persons in called for person in persons]

    def of(self, subject: str) -> list[Claim]:
        """List the claims about a person, the latest last."""
        return self._holding(self._of(subject).claims)

    def last(self, subject: str, attribute: str) -> Claim | None:
        """Return the latest claim about an attribute of a person."""
        found = self._of(subject).last.get(attribute)
        return found if found and id(found) not in self._over else None

    def nouns(self, subject: str) -> Set[str]:
        """Return the nouns of things that a person has or had."""
        return self._of(subject).nouns

    def things(self, subject: str, stems: Iterable[str]) -> Iterator[Claim]:
        """Yield claims about possessions whose noun has a given stem, the latest of each first."""
        by_noun = self._of(subject).by_noun
        for stem in sorted(by_noun.keys() & stems):
            yield from reversed(self._holding(by_noun[stem]))

    def sharing_any(self, subject: str, words: str) -> list[Claim]:
        """List the claims about a person that share any of these words, latest first by word."""
        by_stem = self._of(subject).by_stem
        shared = sorted(values.stems(words) & by_stem.keys())
        listed = [claim for stem in shared for claim in reversed(self._holding(by_stem[stem]))]
        return list({id(claim): claim for claim in listed}.values())

    def sharing(self, subject: str, words: str) -> Iterator[Claim]:
        """Yield the claims about a person that share all of these words, the latest first."""
        yield from self.holding(subject, values.stems(words))

    def holding(self, subject: str, stems: frozenset[str]) -> Iterator[Claim]:
        """Yield the claims about a person that have all of the stems, the latest first."""
        for claim in reversed(self._holding(self._sharing(subject, stems))):
            if stems <= values.stems(claim.value):
                yield claim

    def _sharing(self, subject: str, stems: frozenset[str]) -> Sequence[Claim]:
        """Return the latest claims about a person that have the first of the stems."""
        return self._of(subject).by_stem.get(min(stems), ())[-MOST:] if stems else ()

    def _of(self, subject: str) -> _About:
        return self._about.get(subject, NOBODY)


NOBODY = _About()  # of whom nothing is known


def is_denied(said: Said, clause: Clause, before: Clause | None) -> bool:
    """Tell if the preceding clause denies this one."""
    return clause.link == "that" and before is not None and bool(FALSE.search(said.part(before)))


def turned(claims: Iterable[Claim]) -> list[Claim]:
    """Negate claims; drop those that were negated already."""
    return [structs.replace(one, negated=True, replaces=None) for one in claims if not one.negated]


def settled(claims: Sequence[Claim], affirmed: Affirmed) -> list[Claim]:
    """Let denials with any verb deny earlier claims, whatever their attribute."""
    return [_settled(claim, affirmed) if claim.negated else claim for claim in claims]


def _settled(claim: Claim, affirmed: Affirmed) -> Claim:
    if claim.attribute in attributes.TABLE or not claim.value:
        return claim
    for known in affirmed.sharing(claim.subject, claim.value):
        if known.attribute == claim.attribute:
            return claim
        if _is_same_verb(claim, known):
            return _denied(claim, known)
    for known in affirmed.sharing_any(claim.subject, claim.value):
        if _names(claim, known):
            return _denied(claim, known)
    return claim


def _denied(claim: Claim, known: Claim) -> Claim:
    sure = max(claim.confidence, EXPECTED)
    return structs.replace(claim, attribute=known.attribute, value=known.value, confidence=sure)


def _names(claim: Claim, known: Claim) -> bool:
    """Tell if a value includes both the attribute and the value: "allergic to latex"."""
    mine, others = values.stems(claim.value), values.stems(known.value)
    named = values.stems(known.attribute.replace("_", " "))
    rest = mine - others
    is_named = all(any(_is_form(one, other) for other in named) for one in rest)
    return others < mine and is_named


def _is_same_verb(claim: Claim, known: Claim) -> bool:
    """Tell if a denial uses the verb of a known claim."""
    verb = _own_words(claim.attribute)
    if HAVING & verb and (known.attribute in HAD or known.attribute.startswith(attributes.HAS)):
        return True
    said = _own_words(known.attribute) | values.stems(known.value)
    return bool(verb) and all(any(_is_form(one, other) for other in said) for one in verb)


def _is_form(one: str, other: str) -> bool:
    """Tell if two stems belong to one word: those of "use" and "using" differ in length."""
    return one.startswith(other) or other.startswith(one)


def _own_words(attribute: str) -> frozenset[str]:
    """Return the stems of an open attribute's words: for `does:be using`, that of "using"."""
    return values.stems(attribute.partition(":")[2])


def retracted(
    said: Said, claims: Sequence[Claim], lately: Sequence[Claim], affirmed: Affirmed
) -> list[Claim]:
    """Mark denials that take something back, and add the claims that a bare retraction ends."""
    if BARE.fullmatch(said.plain):
        return [_taken_back(said, one) for one in lately if not one.negated and one.value]
    cue = RETRACTS.search(said.plain)
    if cue is None:
        return list(claims)
    if (found := ABOUT.search(said.plain)) and not any(claim.negated for claim in claims):
        meant = next(affirmed.sharing(said.speaker, found["value"]), None)
        return [*claims, *([_taken_back(said, meant)] if meant else [])]
    return [
        structs.replace(claim, corrects=True)
        if claim.negated and claim.start >= cue.start()
        else claim
        for claim in claims
        if claim.negated or not claim.start <= cue.start() < claim.end
    ]


def _taken_back(said: Said, claim: Claim) -> Claim:
    whole = (0, len(said.plain))
    about = claim.subject, claim.attribute, claim.value
    made = said.claim(*about, whole, claim.confidence, "taken_back", negated=True)
    return structs.replace(made, corrects=True)
