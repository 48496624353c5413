"""What a clause does to what is known: it ends something, puts another in its place, or goes back to what was. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import lru_cache

from lamina.engines.claims import Claim, answers, attributes, changes, predicates, rule, values
from lamina.engines.claims.changes import Ending, Switch
from lamina.engines.claims.memory import Memory
from lamina.engines.claims.predicates import Predicate
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.words import ANIMALS, either

LATELY = timedelta(hours=1)
UNSURE = 0.15  # less, when nothing known confirms it
ANIMAL = re.compile(rf"\b{either(ANIMALS)}\b", re.I)
RETURNS = (
    ("back_to", changes.BACK_TO),
    ("again", changes.AGAIN),
    ("taken_back", changes.TAKEN_BACK),
)


def updated(
    said: Said, clause: Clause, about: str, memory: Memory, endings: Iterable[Ending]
) -> Iterator[Claim]:
    """Everything that a clause changes. `about` is whom it is about, or empty; of the `endings` some cue is in the turn."""
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
        yield from _named(said, clause, memory)
        yield from _new_favourite(said, clause, about, memory)


def outcomes(said: Said) -> Iterator[Claim]:
    """What a turn comes to, though it does not say so: who said yes is engaged."""
    for name, pattern, value in changes.OUTCOMES:
        if found := pattern.search(said.plain):
            yield said.claim(said.speaker, "relationship_status", value, found.span(), 0.8, name)


def denied(said: Said, predicate: Predicate, about: str, memory: Memory) -> Iterator[Claim]:
    """ "I don't play chess any more": whatever is known of it ends."""
    is_past = predicate.kind == "former" and _tells_of_ends(said.plain)
    is_off = predicate.negated and predicate.kind == "will"
    if predicate.ended or is_past or is_off:
        kinds = changes.ALL if predicate.ended or is_past else changes.AIMS
        if before := memory.find(about, kinds, said.plain[predicate.at : predicate.end]):
            words = (predicate.subject.start, predicate.end)
            yield said.claim(
                about, before.attribute, before.value, words, 0.8, "denied", negated=True
            )


def instead(said: Said, clause: Clause, claims: Sequence[Claim]) -> list[Claim]:
    """What takes the place of something that ended in the same turn: "it's psychology now"."""
    last = next((claim for claim in reversed(claims) if claim.negated), None)
    found = changes.INSTEAD.search(said.part(clause)) if last else None
    if not last or not found:
        return []
    begin = clause.start + (found.start("value") if found["value"] else found.start("other"))
    return [
        said.claim(
            last.subject,
            last.attribute,
            span,
            said.words(clause, found, span),
            0.7,
            "instead",
            replaces=last.value,
        )
        for span in answers.spans(last.attribute, said.plain, begin, clause.end)[:1]
    ]


def over(said: Said, heard: str, memory: Memory) -> Iterator[Claim]:
    """ "That's over": what the turn before spoke of."""
    found = changes.THAT_OVER.search(said.plain)
    before = memory.find(said.speaker, changes.SPOKEN_OF, heard) if found else None
    if found and before:
        yield said.claim(
            said.speaker,
            before.attribute,
            before.value,
            found.span(),
            0.75,
            "that_over",
            negated=True,
        )


def _ended(
    said: Said, clause: Clause, about: str, one: Ending, found: re.Match[str], memory: Memory
) -> Iterator[Claim]:
    if not found.groupdict().get("value"):
        if about and one.default:
            doubt = 0 if memory.last(about, [one.default]) else 3 * UNSURE
            words = said.words(clause, found)
            yield said.claim(
                about, one.default, "", words, one.confidence - doubt, one.name, negated=True
            )
        return
    begin = clause.start + found.start("value")
    thing = next(iter(values.cut("thing", said.plain, begin, clause.end)), (begin, begin))
    is_whole = len(found["value"]) > 1  # else the pattern ends where the value begins
    meant = found["value"] if is_whole else said.plain[slice(*thing)].split(" and ")[0]
    words = said.words(clause, found, (begin, begin) if is_whole else (begin, begin + len(meant)))
    if before := _known(one, (about, said.speaker) if one.is_first else (about,), meant, memory):
        yield said.claim(
            before.subject,
            before.attribute,
            before.value,
            words,
            one.confidence,
            one.name,
            negated=True,
        )
    elif about and one.default:
        for span in answers.spans(one.default, said.plain, begin, clause.end)[:1]:
            words = said.words(clause, found, span)
            yield said.claim(
                about, one.default, span, words, one.confidence - UNSURE, one.name, negated=True
            )


def _known(one: Ending, persons: Sequence[str], meant: str, memory: Memory) -> Claim | None:
    """What some words end: of one of some persons, or anybody's pet."""
    own = (memory.find(who, one.attributes, meant) for who in persons if who)
    found = next((claim for claim in own if claim), None)
    return found or (
        memory.find("", ["pet"], meant) if one.is_first and "pet" in one.attributes else None
    )


def _switched(
    said: Said, clause: Clause, about: str, one: Switch, found: re.Match[str], memory: Memory
) -> Iterator[Claim]:
    old = found.groupdict().get("old") or ""
    before = memory.find(about, changes.ALL, old) if old else memory.last(about, changes.SWITCHED)
    attribute = before.attribute if before else one.default
    for span in answers.spans(attribute, said.plain, clause.start + found.end(), clause.end)[:1]:
        confidence = one.confidence - (0 if before and old else UNSURE)
        replaced = before.value if before else old
        yield said.claim(
            about,
            attribute,
            span,
            said.words(clause, found, span),
            confidence,
            one.name,
            replaces=replaced,
        )


def _returned(said: Said, clause: Clause, about: str, memory: Memory) -> Iterator[Claim]:
    """ "Went back to Acme", "vegan again": what somebody once was."""
    for name, pattern in RETURNS:
        if found := pattern.search(said.part(clause)):
            once = (
                memory.find(who, changes.BACK, found["value"])
                for who in (about, said.speaker)
                if who
            )
            if before := next((claim for claim in once if claim), None):
                words = said.words(clause, found)
                yield said.claim(before.subject, before.attribute, before.value, words, 0.8, name)


def _with(said: Said, clause: Clause, about: str, memory: Memory) -> Iterator[Claim]:
    """ "I'm with Carla now", "I'm with Wayne Enterprises": whom or what, the name and what is known tell."""
    found = changes.WITH.search(said.part(clause))
    for span in (
        values.cut("org", said.plain, clause.start + found.end(), clause.end) if found else ()
    ):
        is_firm = memory.last(about, ["employer"]) and not memory.last(about, ["partner"])
        is_firm = is_firm or " " in said.plain[slice(*span)]
        if found and (is_firm or rule.TIMES["now"].search(said.part(clause))):
            attribute = "employer" if is_firm else "partner"
            yield said.claim(about, attribute, span, said.words(clause, found, span), 0.7, "with")


def _named(said: Said, clause: Clause, memory: Memory) -> Iterator[Claim]:
    """ "I got a puppy. Her name's Coco." """
    found = changes.NAMING.search(said.part(clause))
    before = memory.last(said.speaker, changes.NAMED) if found else None
    if found and before and said.turn.at - before.at <= LATELY and not before.value[:1].isupper():
        attribute = "pet" if _end_of_animal(said.plain) <= clause.start else before.attribute
        for span in values.cut("name", said.plain, clause.start + found.end(), clause.end):
            yield said.claim(
                said.speaker, attribute, span, said.words(clause, found, span), 0.8, "naming"
            )


@lru_cache(1)
def _tells_of_ends(plain: str) -> bool:
    """Whether a turn says "any more". Asked for many clauses of one turn."""
    return bool(predicates.ANYMORE.search(plain))


@lru_cache(1)
def _end_of_animal(plain: str) -> float:
    """Where the first animal of a turn ends. Asked for many clauses of one turn."""
    found = ANIMAL.search(plain)
    return found.end() if found else math.inf


def _new_favourite(said: Said, clause: Clause, about: str, memory: Memory) -> Iterator[Claim]:
    """ "Watched Heat. New favourite film.": what was last spoken of."""
    found = answers.FAVOURITE_NOW.search(said.part(clause))
    if not found:
        return
    liked = memory.last(about, ["likes"])
    named = answers.antecedent(said.plain, clause.start)
    value = (
        said.turn.text[slice(*named)]
        if named
        else liked.value
        if liked and liked.at == said.turn.at
        else ""
    )
    if value:
        attribute = attributes.favourite(found["thing"])
        yield said.claim(about, attribute, value, said.words(clause, found), 0.75, "favourite_now")
