"""Read what a note says of somebody as they would say it themselves. Pure.

"Olu's manager is Femi Ade" says of Olu what "My manager is Femi Ade" does when Olu says it, and
"Olu drives a Fiat" what "I drive a Fiat" does. Each such sentence is read by itself, and only if it
speaks of nobody else: who "I" and "her sister" are in a note is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, attributes, open_verbs, open_words, statements, values
from lamina.engines.claims.open_phrases import DOES
from lamina.engines.claims.open_words import (
    ARTICLE,
    COMMA,
    JOINT,
    MY,
    NAME,
    NUMBER,
    OTHER,
    PREPOSITION,
    SELF,
    THEIR,
    THEY,
    YOUR,
)
from lamina.engines.claims.projects import ALONE, HABIT
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.engines.claims.values import Span
from lamina.text.patterns import bounded

OURS, ME = "My", "I"
USER = "User"  # whom an agent's notes are about
CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w-]*"
# A name, what belongs to it, and a verb; "Ana's moved", "Ana's a nurse" say what Ana has or is.
OWNED = bounded(
    rf"\s*(?P<owner>(?P<who>{CAPITAL}(?: {CAPITAL}){{0,2}})'s) (?!\w+(?:ed|ing)\b)[\w-]+"
    r"(?: [\w-]+){0,4} (?:is|are|was|were|[a-z]+s)\b"
)
# A name and its verb, with what may stand between: "Olu no longer drives", "Ana doesn't eat".
ACTING = bounded(
    rf"\s*(?P<who>{CAPITAL}(?: {CAPITAL}){{0,2}})"
    r"(?P<between>(?: (?:also|now|always|never|usually|often|really|still|just|only|currently"
    r"|recently|no longer)){0,2} )(?P<verb>[a-z]+(?:n't)?)\b"
)
OWN_VERBS = {
    "is": "am", "isn't": "am not", "has": "have", "hasn't": "haven't", "does": "do",
    "doesn't": "don't",
}  # fmt: skip
SAME_VERBS = frozenset(
    "was wasn't had hadn't didn't will won't can can't could would wouldn't used".split()
)
# Behind a word that may be a noun as well, these say that it is a verb: "backups go", "bakes a".
OBJECTS = frozenset({ARTICLE, OTHER, PREPOSITION, NUMBER, NAME})
ANYBODY = frozenset({SELF, MY, YOUR, THEY, THEIR})
LEAST = 4  # letters of a verb that ends as those of others do
# What only a person can be, have or do. One capitalised word may as well be a thing: "Rent is 900".
PERSONAL = frozenset(
    "likes dislikes favourite hobby diet avoids allergy job studies skill religion language"
    " habit nationality partner child parent sibling relative friend colleague pet birthday".split()
)
# What a project can have, do or decide.
SHARED = frozenset({attributes.HAS, attributes.DOES, HABIT, "decision"})
US = bounded(r"\b(?:we|our|ours|us|we're|we've|we'll|we'd)\b", re.I)
DRIVEN = "owns"  # the rule of what somebody owns or drives; things have things, too


class Voice(NamedTuple):
    """A sentence of a note in the words of whom it is about."""

    said: Said
    clauses: list[Clause]
    begins: int  # where in the note
    named: Span  # where in the sentence the person stands
    is_person: bool = True  # or may it be a thing?

    def told(self, claims: Iterable[Claim]) -> Iterator[Claim]:
        """Put what was claimed into its place in the note."""
        who = self.said.speaker
        for claim in claims:
            if self.is_person or _is_personal(claim):
                whose = f"{who}'s {claim.subject}" if claim.subject[:1].islower() else claim.subject
                first, last = self.named
                start = first if first <= claim.start < last else claim.start
                place = {"start": start + self.begins, "end": claim.end + self.begins}
                yield structs.replace(claim, subject=whose, **place)


def owned(said: Said, clauses: Sequence[Clause]) -> tuple[list[Voice], list[Clause]]:
    """Split off the sentences about somebody's things."""
    voices, rest = [], list[Clause]()
    for sentence in by_sentence(clauses):
        found = OWNED.match(said.plain, sentence[0].start, sentence[-1].end)
        if found and values.is_name(found["who"]) and not _is_of_others(said, found, sentence):
            voices.append(_voice(said, sentence, found["who"], found.span("owner"), OURS))
        else:
            rest += sentence
    return voices, rest


def shared(said: Said, clauses: Sequence[Clause]) -> tuple[Said, list[Clause], list[Clause]] | None:
    """Split off what a note of a project says of "us": it is about the project.

    Return it as said by the project, and the rest; None if there is nothing.
    """
    project = said.turn.project
    if not project:
        return None
    ours, rest = list[Clause](), list[Clause]()
    for sentence in by_sentence(clauses):
        text = said.plain[sentence[0].start : sentence[-1].end]
        (ours if US.search(text) and not ALONE.search(text) else rest).extend(sentence)
    return (said._replace(speaker=project), ours, rest) if ours else None


def is_shared(claim: Claim, project: str) -> bool:
    """Tell if a claim can be true of a project."""
    kind, colon, _ = claim.attribute.partition(":")
    return claim.subject == project and f"{kind}{colon}" in SHARED


def acting(
    said: Said, clauses: Sequence[Clause], claims: Sequence[Claim], knows: Callable[[str], bool]
) -> Iterator[Voice]:
    """List the sentences about what somebody does of which nothing has been claimed."""
    for sentence in by_sentence(clauses):
        start, end = sentence[0].start, sentence[-1].end
        found = ACTING.match(said.plain, start, end)
        if not found or not values.is_name(found["who"]):
            continue
        is_read = any(start <= claim.start < end for claim in claims)
        if is_read or _is_of_others(said, found, sentence):
            continue
        who, verb = found["who"], _own_verb(found["verb"], said.plain[found.end() : end])
        own = f"{ME}{found['between']}{verb}"
        if verb and len(own) <= found.end() - found.start("who"):
            span = found.start("who"), found.end()
            voice = _voice(said, sentence, who, span, own)
            yield voice._replace(is_person=" " in who or who == USER or knows(who))


def _voice(said: Said, sentence: Sequence[Clause], who: str, named: Span, own: str) -> Voice:
    """Let somebody say a sentence: their own words stand in the place of the note's."""
    begins, ends = sentence[0].start, sentence[-1].end
    start, end = named[0] - begins, named[1] - begins

    def told(text: str) -> str:
        part = text[begins:ends]
        behind = part[end:] if own == OURS else _joined(part[end:])
        return f"{part[:start]}{own.rjust(end - start)}{behind}"

    turn = structs.replace(said.turn, text=told(said.turn.text))
    clauses = [one._replace(start=one.start - begins, end=one.end - begins) for one in sentence]
    retold = said._replace(turn=turn, plain=told(said.plain), speaker=who)
    return Voice(retold, clauses, begins, (start, end))


def _is_of_others(said: Said, found: re.Match[str], sentence: Sequence[Clause]) -> bool:
    """Tell if a sentence speaks of anybody whose name it does not say."""
    behind = said.plain[found.end("who") + len("'s") : sentence[-1].end]
    return any(word.kind in ANYBODY for word in open_words.split(behind))


def _joined(behind: str) -> str:
    """Turn the verbs that are joined to the first one into somebody's own, too."""
    words, told, place = open_words.split(behind), list[str](), 0
    for before, word in pairwise(words):
        if before.kind not in (JOINT, COMMA):
            continue
        verb = _own_verb(word.text, behind[word.end :])
        if verb and len(verb) <= word.end - word.start:
            told += [behind[place : word.start], verb.rjust(word.end - word.start)]
            place = word.end
    return "".join([*told, behind[place:]])


def _own_verb(verb: str, behind: str) -> str:
    """Turn the verb of another into one's own: "drives" into "drive"; empty if it is none."""
    if verb in OWN_VERBS:
        return OWN_VERBS[verb]
    if verb in SAME_VERBS:
        return verb
    if not verb.endswith("s") or verb.endswith("ss") or len(verb) < LEAST:
        return ""
    follows = open_words.split(behind)[:1]
    is_verb = verb in DOES or bool(follows and follows[0].kind in OBJECTS)
    return open_verbs.lemma(verb) if is_verb else ""


def _is_personal(claim: Claim) -> bool:
    """Tell if a claim can be true of a person alone."""
    kind = claim.attribute.partition(":")[0]
    return kind in PERSONAL or claim.rule in (DRIVEN, *statements.PERSONAL)
