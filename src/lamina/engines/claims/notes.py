"""Read what a note says of somebody as they would say it themselves. Pure.

"Olu's manager is Femi Ade" says of Olu what "My manager is Femi Ade" does when Olu says it, and
"Olu drives a Fiat" what "I drive a Fiat" does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, open_words, values
from lamina.engines.claims.open_phrases import DOES
from lamina.engines.claims.open_words import (
    ARTICLE,
    MY,
    NAME,
    NUMBER,
    OTHER,
    PREPOSITION,
    THEIR,
)
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.engines.claims.values import Span
from lamina.text.patterns import bounded
from lamina.text.words import first_name

OURS, ME = "My", "I"
BEING = "does:be"  # what no rule for persons reads: an age, a job and a diet have rules
CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w-]*"
# A name, what belongs to it, and a verb; "Ana's moved", "Ana's a nurse" say what Ana has or is.
OWNED = bounded(
    rf"\s*(?P<owner>(?P<who>{CAPITAL}(?: {CAPITAL}){{0,2}})'s) (?!(?:an?|the|not|been|so|very)\b"
    r"|\w+(?:ed|ing)\b)(?:(?!and\b)[\w-]+ ){1,5}?(?:is|are|was|were|has|have|will|[a-z]{2,}s)\b"
)

# A name and its verb, with what may stand between: "Olu no longer drives", "Ana doesn't eat".
ACTING = bounded(
    rf"\s*(?P<owner>(?P<who>{CAPITAL}(?: {CAPITAL}){{0,2}})"
    r"(?P<between>(?: (?:also|now|always|never|usually|often|really|still|just|only|currently"
    r"|recently|no longer)){0,2}) (?P<verb>[a-z]+(?:n't)?))\b"
)
# What is said of somebody, as they say it of themselves.
OWN_VERBS = {
    "is": "am", "isn't": "am not", "has": "have", "hasn't": "haven't", "does": "do",
    "doesn't": "don't", "goes": "go",
}  # fmt: skip
SAME_VERBS = frozenset(
    "was wasn't had hadn't didn't will won't can can't could would wouldn't used".split()
)
# Behind a word that may be a noun as well, these say that it is a verb: "backups go", "bakes a".
OBJECTS = frozenset({ARTICLE, MY, THEIR, OTHER, PREPOSITION, NUMBER, NAME})
LEAST = 4  # letters of a verb that ends as those of others do


class Voice(NamedTuple):
    """What one person says, and where a note names them instead."""

    said: Said
    clauses: list[Clause]
    named: Span = (0, 0)

    @property
    def is_retold(self) -> bool:
        return self.named != (0, 0)

    def told(self, claims: Iterable[Claim]) -> Iterator[Claim]:
        """Let what was claimed begin with the name, without what may be said of a thing."""
        start, end = self.named
        who = self.said.speaker
        for claim in claims:
            if not self.is_retold:
                yield claim
            elif claim.attribute != BEING or " " in who:
                # "Rent is 900 euros": one capitalised word may be a thing.
                begins = start if start < claim.start < end else claim.start
                whose = f"{who}'s {claim.subject}" if claim.subject[:1].islower() else claim.subject
                yield structs.replace(claim, subject=whose, start=begins)


def voices(said: Said, clauses: Sequence[Clause]) -> Iterator[Voice]:
    """Split a turn into what it says itself, and what is said in the place of whom it is about.

    In a note that is anybody who is named first; who speaks may name themselves, too.
    """
    own: list[Clause] = []
    for sentence in by_sentence(clauses):
        start, end = sentence[0].start, sentence[-1].end
        if found := _owned(said, start, end) or _acting(said, start, end):
            match, own_words = found
            retold = _retold(said, match, own_words, end)
            yield Voice(retold, sentence, match.span("owner"))
        else:
            own += sentence
    yield Voice(said, own)


Found = tuple[re.Match[str], str]  # the words for a person, and what they would say instead


def _owned(said: Said, start: int, end: int) -> Found | None:
    found = OWNED.match(said.plain, start, end)
    return (found, OURS) if found and _is_meant(said, found["who"]) else None


def _acting(said: Said, start: int, end: int) -> Found | None:
    found = ACTING.match(said.plain, start, end)
    verb = _own_verb(found["verb"], said.plain[found.end() : end]) if found else ""
    if not found or not verb or not _is_meant(said, found["who"]):
        return None
    return found, f"{ME}{found['between']} {verb}"


def _is_meant(said: Said, who: str) -> bool:
    if not said.speaker:
        return values.is_name(who)
    return who.lower() in (said.speaker.lower(), (first_name(said.speaker) or "").lower())


def _own_verb(verb: str, behind: str) -> str:
    """Turn the verb of another into one's own: "drives" into "drive"; empty if it is none."""
    if verb in OWN_VERBS:
        return OWN_VERBS[verb]
    if verb in SAME_VERBS:
        return verb
    if not verb.endswith("s") or verb.endswith("ss") or len(verb) < LEAST:
        return ""
    follows = open_words.split(behind)[:1]
    if verb not in DOES and not (follows and follows[0].kind in OBJECTS):
        return ""
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[: -2 if verb.endswith(("sses", "shes", "ches", "xes")) else -1]


def _retold(said: Said, found: re.Match[str], own: str, end: int) -> Said:
    """Let the owner say a sentence, and nothing else; what is behind it stays in its place."""

    def told(text: str) -> str:
        begin, behind = found.start("owner"), found.end("owner")
        return f"{' ' * begin}{own.rjust(behind - begin)}{text[behind:end]}".ljust(len(text))

    turn = structs.replace(said.turn, text=told(said.turn.text))
    return said._replace(turn=turn, plain=told(said.plain), speaker=found["who"])
