"""Read what a clause ends, replaces or restores among the known claims. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import lru_cache

from lamina.engines.claims import Claim, answers, attributes, changes, predicates, rule, values
from lamina.engines.claims.changes import Ending, Switch
from lamina.engines.claims.memory import ANYBODY, DOING, PET, Memory
from lamina.engines.claims.predicates import Predicate
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.words import ANIMALS, either

LATELY = timedelta(hours=1)
UNSURE = 0.15  # subtracted from the confidence if no known claim confirms it
ANIMAL = re.compile(rf"\b{either(ANIMALS)}\b", re.I)
RETURNS = (
    ("back_to", changes.BACK_TO),
    ("again", changes.AGAIN),
    ("taken_back", changes.TAKEN_BACK),
)


def updated(
    said: Said, clause: Clause, about: str, memory: Memory, endings: Iterable[Ending]
) -> Iterator[Claim]:
    """Yield claims for everything that a clause changes.

    `about` is the subject, or empty; the turn contains a cue of each of the `endings`.
    """
    part = said.part(clause)
    lowered = part.lower()
    for one in endings:
        if one.cue.search(lowered) and (found := one.pattern.search(part)):
            yield from _ended(said, clause, about, one, found, memory)
    if about:
        for switch in changes.SWITCHES:
            if switch.cue.search(lowered) and (found := switch.pattern.search(part)):
                yield from _switched(said, clause, about, switch, found, memory)
        yield from _returned(said, clause, about, memory)
        yield from _with(said, clause, about, memory)
        yield from _naming(said, clause, memory)
        yield from _new_favourite(said, clause, about, memory)


def outcomes(said: Said) -> Iterator[Claim]:
    """Claim what a turn implies without stating it: who said yes is engaged."""
    for name, pattern, value in changes.OUTCOMES:
        if found := pattern.search(said.plain):
            yield said.claim(said.speaker, "relationship_status", value, found.span(), 0.8, name)


def denied(said: Said, predicate: Predicate, about: str, memory: Memory) -> Iterator[Claim]:
    """End the claim to which a denial refers: "I don't play chess any more"."""
    is_past = predicate.kind == "former" and bool(predicates.ANYMORE.search(said.plain))
    is_off = predicate.negated and predicate.kind == "will"
    if predicate.ended or is_past or is_off:
        kinds = changes.ALL if predicate.ended or is_past else changes.AIMS
        if before := memory.find(about, kinds, said.plain[predicate.at : predicate.end]):
            where = (predicate.subject.start, predicate.end)
            yield said.claim(
                about, before.attribute, before.value, where, 0.8, "denied", negated=True
            )


def instead(said: Said, clause: Clause, claims: Sequence[Claim]) -> list[Claim]:
    """Claim the replacement of something that ended in the same turn: "it's psychology now"."""
    last = next((claim for claim in reversed(claims) if claim.negated), None)
    found = said.search(changes.INSTEAD, clause) if last else None
    if not last or not found:
        return []
    begin = clause.start + found.start("value" if found["value"] else "other")
    about = last.subject, last.attribute
    spans = answers.alike(last, said.plain, begin, clause.end)
    if last.attribute == "decision":
        spans = values.cut("thing", said.plain, begin, clause.end)
    return [
        said.claim(
            *about, span, said.words(clause, found, span), 0.7, "instead", replaces=last.value
        )
        for span in spans[:1]
    ]


def over(said: Said, heard: str, memory: Memory) -> Iterator[Claim]:
    """End what the previous turn was about: "That's over"."""
    found = changes.THAT_OVER.search(said.plain)
    before = memory.find(said.speaker, changes.SPOKEN_OF, heard) if found else None
    if found and before:
        ended, where = (before.attribute, before.value), found.span()
        yield said.claim(said.speaker, *ended, where, 0.75, "that_over", negated=True)


def _ended(
    said: Said, clause: Clause, about: str, one: Ending, found: re.Match[str], memory: Memory
) -> Iterator[Claim]:
    """End the known claim or the default attribute of an ending."""
    if not found.groupdict().get("value"):
        if about and one.default:
            doubt = 0 if memory.last(about, [one.default]) else 3 * UNSURE
            sure, where = one.confidence - doubt, said.words(clause, found)
            yield said.claim(about, one.default, "", where, sure, one.name, negated=True)
        return
    begin = clause.start + found.start("value")
    thing = next(iter(values.cut("thing", said.plain, begin, clause.end)), (begin, begin))
    is_whole = len(found["value"]) > 1  # otherwise the pattern ends where the value begins
    meant = found["value"] if is_whole else said.plain[slice(*thing)].split(" and ")[0]
    persons = (about, said.speaker) if one.is_first else (about,)
    if before := _known(one, persons, meant, memory):
        where = said.words(clause, found, (begin, begin if is_whole else begin + len(meant)))
        others = memory.beside(before, meant) if _is_deed(before) else []
        for known in (before, *others):
            ended = known.subject, known.attribute, known.value
            yield said.claim(*ended, where, one.confidence, one.name, negated=True)
    elif about and one.default:
        for span in answers.spans(one.default, said.plain, begin, clause.end)[:1]:
            sure, where = one.confidence - UNSURE, said.words(clause, found, span)
            yield said.claim(about, one.default, span, where, sure, one.name, negated=True)


def _is_deed(claim: Claim) -> bool:
    return claim.attribute.partition(":")[0] in DOING


def _known(one: Ending, persons: Sequence[str], meant: str, memory: Memory) -> Claim | None:
    """Find the claim that some words end: about one of the persons, or about anybody's pet."""
    own = (memory.find(who, one.attributes, meant) for who in persons if who)
    if known := next(filter(None, own), None):
        return known
    may_be_pet = one.is_first and PET in one.attributes
    return memory.find(ANYBODY, [PET], meant) if may_be_pet else None


def _switched(
    said: Said, clause: Clause, about: str, one: Switch, found: re.Match[str], memory: Memory
) -> Iterator[Claim]:
    """Claim what a switch leads to, and what it replaces."""
    old = found.groupdict().get("old") or ""
    before = memory.find(about, changes.ALL, old) if old else memory.last(about, changes.SWITCHED)
    attribute = before.attribute if before else one.default
    for span in answers.spans(attribute, said.plain, clause.start + found.end(), clause.end)[:1]:
        sure = one.confidence - (0 if before and old else UNSURE)
        replaced, where = before.value if before else old, said.words(clause, found, span)
        yield said.claim(about, attribute, span, where, sure, one.name, replaces=replaced)


def _returned(said: Said, clause: Clause, about: str, memory: Memory) -> Iterator[Claim]:
    """Restore what held before: "Went back to Acme", "vegan again"."""
    persons = [who for who in (about, said.speaker) if who]
    for name, pattern in RETURNS:
        if found := said.search(pattern, clause):
            once = (memory.find(who, changes.BACK, found["value"]) for who in persons)
            if before := next(filter(None, once), None):
                where = said.words(clause, found)
                yield said.claim(before.subject, before.attribute, before.value, where, 0.8, name)


def _with(said: Said, clause: Clause, about: str, memory: Memory) -> Iterator[Claim]:
    """Claim a partner or an employer: "I'm with Carla now", "I'm with Wayne Enterprises"."""
    found = said.search(changes.WITH, clause)
    if not found:
        return
    for span in values.cut("org", said.plain, clause.start + found.end(), clause.end):
        is_employed = memory.last(about, ["employer"]) and not memory.last(about, ["partner"])
        is_firm = is_employed or " " in said.plain[slice(*span)]
        if is_firm or rule.TIMES["now"].search(said.part(clause)):
            attribute = "employer" if is_firm else "partner"
            yield said.claim(about, attribute, span, said.words(clause, found, span), 0.7, "with")


def _naming(said: Said, clause: Clause, memory: Memory) -> Iterator[Claim]:
    """Claim the name of somebody just mentioned: "I got a puppy. Her name's Coco." """
    found = said.search(changes.NAMING, clause)
    before = memory.last(said.speaker, changes.NAMED) if found else None
    if found and before and said.turn.at - before.at <= LATELY and not before.value[:1].isupper():
        if before.attribute == changes.SEEING and before.value not in changes.SOMEONE:
            return
        about = "partner" if before.attribute == changes.SEEING else before.attribute
        attribute = "pet" if _end_of_animal(said.plain) <= clause.start else about
        for span in values.cut("name", said.plain, clause.start + found.end(), clause.end):
            where = said.words(clause, found, span)
            yield said.claim(said.speaker, attribute, span, where, 0.8, "naming")


@lru_cache(1)
def _end_of_animal(plain: str) -> float:
    """Find where the first animal of a turn ends; cached for the clauses of one turn."""
    found = ANIMAL.search(plain)
    return found.end() if found else math.inf


def _new_favourite(said: Said, clause: Clause, about: str, memory: Memory) -> Iterator[Claim]:
    """Claim what was mentioned last as a favourite: "Watched Heat. New favourite film." """
    found = said.search(answers.FAVOURITE_NOW, clause)
    if not found:
        return
    liked, value = memory.last(about, ["likes"]), ""
    if named := answers.antecedent(said.plain, clause.start):
        value = said.turn.text[slice(*named)]
    elif liked and liked.at == said.turn.at:
        value = liked.value
    if value:
        attribute = attributes.favourite(found["thing"])
        yield said.claim(about, attribute, value, said.words(clause, found), 0.75, "favourite_now")
