"""Add claims of the open form to those of the rules, and judge both by learned weights. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cached_property, partial

import msgspec

from lamina.engines.claims import (
    Claim,
    attributes,
    judge,
    open_form,
    open_verbs,
    spoken,
    tagged,
    values,
    words,
)
from lamina.engines.claims.judge import Features
from lamina.engines.claims.open_phrases import DENIED, ENDED, Candidate
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause
from lamina.engines.claims.tagger import Tags

# From the features of a claim, all features, and its prior confidence to its confidence.
Judge = Callable[[Sequence[str], Callable[[], Features], float], float]
FLOOR = 0.5  # less certain claims are not even worth a question
EVEN = 0.5  # the prior confidence of a claim
RULE = "open"  # the name of the rule, followed by the shape
CHANGE = f"{RULE} {open_verbs.CHANGE}"
FAVOURITE = re.compile(r"(?:favou?rite|fave?) (?P<thing>.+)")
# Nouns that have an attribute of their own: "my name after the wedding".
NOUNS = {"name": "name", "job": "job", "age": "age", "employer": "employer", "birthday": "birthday"}
HEAD = re.compile(
    r"(?:full |own |legal |day |current )?(?P<noun>\w+)(?: (?:after|since|at|from|now)\b.*)?"
)
DEEDS = frozenset({"did", "plan", "goal"})
BE = f"{attributes.DOES}be"
RELATIVES = frozenset({"partner", "child", "parent", "sibling", "relative"})
# Shapes of "my landlord Mr. Okafor", which may be part of a request.
A_NAMED = "a_named"  # "a goldfish called Bubbles"
NAMING = frozenset({"my_named", "the_named", A_NAMED, "their_named", "apposed"})


class Opening:
    """Judges the claims of a person's turn, and reads the turn with the open form."""

    def __init__(
        self,
        said: Said,
        clauses: Sequence[Clause],
        judged: Judge,
        tags: Callable[[], Tags],
        *,
        is_talk: bool,
        things: Set[str] = frozenset(),
    ) -> None:
        self.said, self.clauses, self.judged, self.is_talk = said, clauses, judged, is_talk
        self.things = things
        self._tags = tags  # called only if there is a claim to judge

    @cached_property
    def _read(self) -> list[Candidate]:
        said = self.said.plain, self.clauses, self.is_talk
        return list(open_form.candidates(*said, self.things))

    def widened(self, found: Sequence[Claim], hearsay: Set[int]) -> list[Claim]:
        """Judge the claims that rules found, and add others; rules take precedence."""
        found, plain = self._without_names(found), self.said.plain
        claims = self._ruled(found)
        if spoken.is_foreign(plain):
            return claims
        more = [
            self._judged(claim, judge.of_candidate(one, claim.value), EVEN)
            for one, claim in self._candidates(found, hearsay)
        ]
        for claim in _surest(more):
            # A change tells more than a rule does, unless it leads to the same: "moved to Rome".
            is_more = claim.rule == CHANGE and all(claim.value != one.value for one in claims)
            if is_more or not any(_says_same(claim, other) for other in claims):
                claims.append(claim)
        return claims + self.noted(claims, hearsay)

    def _without_names(self, found: Sequence[Claim]) -> list[Claim]:
        """Drop "owns" claims about people who are named there: "I've a new GP, Dr. Lind"."""
        if not any(claim.attribute == "owns" for claim in found):
            return list(found)
        named = [self.said.plain[slice(*one.value)] for one in self._read if one.shape in NAMING]
        return [
            claim
            for claim in found
            if claim.attribute != "owns" or not any(name in claim.value for name in named)
        ]

    def _ruled(self, found: Sequence[Claim]) -> list[Claim]:
        """Judge the claims of rules; denials are unchanged, since labelled data has too few."""
        return [
            claim if claim.negated else self._judged(claim, judge.of_claim(claim), claim.confidence)
            for claim in found
        ]

    def noted(
        self, claims: Sequence[Claim], hearsay: Set[int] = frozenset(), *, is_foreign: bool = False
    ) -> list[Claim]:
        """List claims that only the network finds in a message; in talk it finds too few."""
        if self.is_talk:
            return []
        more = [
            self._judged(
                claim,
                judge.of_tagged(one, claim, is_foreign=is_foreign),
                EVEN,
                one.values,
            )
            for one, claim in tagged.proposals(
                self._tags(), self.said, self.clauses, claims, partial(self._is_new, claims)
            )
            if one.clause.start not in hearsay
        ]
        return list(_surest(more))

    def _is_new(self, claims: Sequence[Claim], subject: str, start: int, end: int) -> bool:
        """Tell if a value that the network found is in no claim yet, here or elsewhere."""
        mine = values.stems(self.said.plain[start:end])
        return not any(
            (one.start < end and start < one.end)
            or (one.subject == subject and not one.negated and _is_in(mine, one.value))
            for one in claims
        )

    def _candidates(
        self, found: Sequence[Claim], hearsay: Set[int]
    ) -> Iterator[tuple[Candidate, Claim]]:
        """Yield what the open form reads, except what a rule has read already."""
        plain, speaker = self.said.plain, self.said.speaker
        for one in self._read:
            value = plain[slice(*one.value)]
            if MASK in value or one.clause.start in hearsay or _is_unsaid(one):
                continue
            if _is_junk(one, value):
                continue
            is_change = one.shape == open_verbs.CHANGE
            if is_change or not any(_covers(claim, one, speaker) for claim in found):
                yield one, _claim(self.said, one, self.is_talk)

    def _judged(
        self,
        claim: Claim,
        named: list[str],
        before: float,
        value: Sequence[tuple[int, int]] = (),
    ) -> Claim:
        features = partial(self._features, claim, named, value)
        return msgspec.structs.replace(claim, confidence=self.judged(named, features, before))

    def _features(
        self, claim: Claim, named: Sequence[str], value: Sequence[tuple[int, int]]
    ) -> Features:
        """Return all features of a claim: its own, and those from the network."""
        said = self.said
        # In "Mia is not my sister" the denied person is no value, so the network has no say.
        likely: Features = {}
        if not claim.negated:
            likely = judge.of_tags(self._tags(), claim, said.speaker, said.turn.at, value)
        return judge.features(named, likely, is_talk=self.is_talk)


def _is_unsaid(one: Candidate) -> bool:
    """Tell if a candidate is only asked or hypothetical; names may be given in a question."""
    is_named = one.shape in NAMING
    return one.clause.doubted or (one.clause.asks and not is_named)


def _is_junk(one: Candidate, value: str) -> bool:
    """Tell if a value has no content: a pronoun, a filler, a verb without an object."""
    if one.attribute.startswith(BE) and _is_time(value):
        return True  # "got divorced in June": nobody is in June
    if one.attribute not in DEEDS:
        return values.is_empty(value)
    verb, _, rest = value.lower().partition(" ")
    return values.is_vague(rest) and verb not in words.ALONE


def _is_time(value: str) -> bool:
    return all(word in open_verbs.LATER for word in value.lower().split())


def _covers(claim: Claim, one: Candidate, speaker: str) -> bool:
    """Tell if a claim already covers the words of a candidate."""
    is_inside = claim.start <= one.value[0] and one.value[1] <= claim.end
    is_anyones = one.shape == A_NAMED  # whose it is, the rule knows
    # "Ana is 40" does not say that the speaker has an "ana".
    is_person = one.attribute == attributes.HAS + claim.subject.lower()
    return is_inside and (is_anyones or is_person or claim.subject == (one.subject or speaker))


def _claim(said: Said, one: Candidate, is_talk: bool) -> Claim:
    subject = one.subject
    if is_talk and subject[:1].islower():
        subject = f"{said.speaker}'s {subject}"  # whose mother is meant
    topic, status = one.shape.partition(":")[0], one.status
    return said.claim(
        subject or said.speaker,
        _related(one.attribute),
        one.value,
        one.where,
        EVEN,
        f"{RULE} {topic}",
        negated=status == DENIED,
        within=one.clause,
        replaces=said.turn.text[slice(*one.replaces)] if one.replaces else None,
        is_over=status == ENDED,
    )


def _related(attribute: str) -> str:
    """Return the attribute that the rules use: a sister is a sibling, and "full name" a name."""
    if not attribute.startswith(attributes.HAS):
        return attribute
    noun = attribute.removeprefix(attributes.HAS).removeprefix("new ")
    if thing := FAVOURITE.fullmatch(noun):
        return attributes.favourite(thing["thing"])
    if (related := words.RELATION.get(noun, "")) in RELATIVES:
        return related
    head = HEAD.match(noun)
    return NOUNS.get(head["noun"], attribute) if head else attribute


def _surest(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Drop uncertain claims, but keep denials, which become no facts; the most certain first."""
    sure = (claim for claim in claims if claim.confidence >= FLOOR or claim.negated)
    return iter(sorted(sure, key=lambda claim: -claim.confidence))


def _says_same(claim: Claim, other: Claim) -> bool:
    """Tell if half of the words of the shorter value are in the longer one.

    For two things, all must be: the staging server hel-04 is not the production server hel-09.
    """
    is_contrary = claim.negated != other.negated  # "he is not my brother, he is my cousin"
    may_differ = claim.negated or other.rule.startswith(RULE)  # the denial of a rule is final
    if claim.subject != other.subject or (is_contrary and may_differ):
        return False
    mine, theirs = values.stems(claim.value), values.stems(other.value)
    are_things = {claim.attribute[:4], other.attribute[:4]} == {attributes.HAS}
    if are_things and claim.attribute != other.attribute:
        return mine <= theirs or theirs <= mine
    return _share_half(mine, theirs)


def _is_in(mine: Set[str], value: str) -> bool:
    """Tell if a value shares half of the given words, or half of its own."""
    theirs = values.stems(value)
    return bool(theirs) and _share_half(mine, theirs)


def _share_half(mine: Set[str], theirs: Set[str]) -> bool:
    return 2 * len(mine & theirs) >= min(len(mine), len(theirs))
