"""The attributes of claims: how many values each can have, and how to phrase a fact about it.

Attributes that are not in the table are open: `favourite:tea`, `has:dentist` for a noun that
somebody has, `does:use` for a verb, `instruction:language` for what the assistant should always
do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from lamina.model import slots


class Attribute(msgspec.Struct, frozen=True):
    """One property of a person."""

    name: str
    many: bool  # whether several values can hold at once
    reads: str  # the sentence for a fact; {s} is the subject, {v} the value
    denied: str  # the sentence for its denial
    family: str  # attributes of one family are easily confused


def _one(name: str, reads: str, denied: str, family: str = "") -> Attribute:
    return Attribute(name, False, reads, denied, family or name)


def _many(name: str, reads: str, denied: str, family: str = "") -> Attribute:
    return Attribute(name, True, reads, denied, family or name)


ALL = (
    _one("name", "{s}'s name is {v}", "{s}'s name is not {v}"),
    _many("nickname", "{s} is called {v}", "{s} is not called {v}", "name"),
    _one("age", "{s} is {v}", "{s} is not {v}"),
    _one("birthday", "{s}'s birthday is {v}", "{s}'s birthday is not {v}"),
    _one("gender", "{s} is {v}", "{s} is not {v}"),
    _one("nationality", "{s} is {v}", "{s} is not {v}", "origin"),
    _one("origin", "{s} comes from {v}", "{s} does not come from {v}"),
    _one("religion", "{s}'s religion: {v}", "{s}'s religion is not {v}"),
    _many("language", "{s} speaks {v}", "{s} does not speak {v}"),
    _one("job", "{s} works as {v}", "{s} does not work as {v} any more", "work"),
    _one("employer", "{s} works at {v}", "{s} does not work at {v} any more", "work"),
    _one("studies", "{s} studies {v}", "{s} does not study {v} any more", "work"),
    _many("skill", "{s} is good at {v}", "{s} is not good at {v}"),
    _one("lives_in", "{s} lives in {v}", "{s} does not live in {v} any more"),
    _many("visited", "{s} has been to {v}", "{s} has not been to {v}", "event"),
    _one("relationship_status", "{s} is {v}", "{s} is not {v} any more", "love"),
    _one("partner", "{s}'s partner: {v}", "{s} and {v} are no longer together", "love"),
    _many("child", "{s}'s child: {v}", "{s} has no child {v}", "people"),
    _many("parent", "{s}'s parent: {v}", "{s} has no parent {v}", "people"),
    _many("sibling", "{s}'s sibling: {v}", "{s} has no sibling {v}", "people"),
    _many("relative", "{s}'s relative: {v}", "{s} has no relative {v}", "people"),
    _many("friend", "{s}'s friend: {v}", "{s} is no longer a friend of {v}", "people"),
    _many("colleague", "{s}'s colleague: {v}", "{s} no longer works with {v}", "people"),
    _many("pet", "{s} has a pet: {v}", "{s} no longer has the pet {v}"),
    _many("likes", "{s} likes {v}", "{s} does not like {v}", "taste"),
    _many("dislikes", "{s} dislikes {v}", "{s} does not mind {v}", "taste"),
    _many("hobby", "{s}'s hobby: {v}", "{s} no longer does {v}", "taste"),
    _many("habit", "{s} regularly: {v}", "{s} no longer: {v}"),
    _many("owns", "{s} has {v}", "{s} no longer has {v}"),
    _many("health", "{s}'s health: {v}", "{s} no longer has {v}"),
    _many("allergy", "{s} is allergic to {v}", "{s} is not allergic to {v}", "health"),
    _one("diet", "{s}'s diet: {v}", "{s}'s diet is no longer {v}"),
    _many("avoids", "{s}'s diet: {v}", "{s}'s diet is no longer {v}", "diet"),
    _many("did", "{s}: {v}", "{s} did not: {v}", "event"),
    _many("plan", "{s}'s plan: {v}", "{s} no longer plans: {v}", "aim"),
    _many("decision", "{s} decided: {v}", "{s} decided against: {v}", "aim"),
    _many("goal", "{s} wants: {v}", "{s} no longer wants: {v}", "aim"),
    _many("other", "{s}: {v}", "{s}, not: {v}"),
)
TABLE: Mapping[str, Attribute] = {attribute.name: attribute for attribute in ALL}
FAVOURITE = "favourite:"
HAS, DOES, INSTRUCTION = "has:", "does:", slots.INSTRUCTION
GAP = "…"  # the place of the value in a verb: `does:use … for carts`
IRREGULAR = {"be": "is", "have": "has", "can": "can", "got": "got"}
# Nouns of which people have several: another one does not replace the first.
SEVERAL = frozenset(
    "sister brother son daughter child kid friend colleague coworker neighbour neighbor dog cat pet"
    " client customer cousin aunt uncle niece nephew student employee intern teammate labmate"
    " supplier team project account competitor investor flatmate roommate grandson granddaughter"
    " babysitter bandmate drummer".split()
)
VOWELS = frozenset("aeiouy")
PLACEHOLDER = re.compile(r"\{[sv]\}")
BRITISH = {"color": "colour", "flavor": "flavour"}
# Tastes become proposals for the profile.
PREFERENCES = frozenset({"likes", "dislikes", "hobby", "diet", "avoids", "allergy", "language"})


def known(name: str) -> bool:
    return name in TABLE or bool(_open(name)[1])


@lru_cache(10_000)  # called for every claim
def of(name: str) -> Attribute:
    """Return an attribute by name. A person has one favourite of each sort of thing."""
    if name in TABLE:
        return TABLE[name]
    kind, thing = _open(name)
    thing = thing.replace("{", "(").replace("}", ")")
    if kind == FAVOURITE:
        reads = f"{{s}}'s favourite {thing} is"
        return _one(name, f"{reads} {{v}}", f"{reads} not {{v}} any more", "taste")
    if kind == HAS and GAP in thing:
        reads = f"{{s}}'s {thing.replace(GAP, '{v}')}"
        return _one(name, reads, f"not so: {reads}", "has")
    if kind == HAS:
        reads = f"{{s}}'s {thing} is"
        if thing.split()[-1] in SEVERAL:
            return _many(name, f"{reads} {{v}}", f"{reads} not {{v}}", "has")
        return _one(name, f"{reads} {{v}}", f"{reads} not {{v}}", "has")
    if kind == DOES:
        first = thing.partition(" ")[0]
        if first.endswith("ing") and not VOWELS.isdisjoint(first[:-3]):
            first, thing = "be", f"be {thing}"  # "doing", unlike "bring"
        verb = thing.replace(GAP, "{v}") if GAP in thing else f"{thing} {{v}}"
        denied = f"is not{verb[2:]}" if first == "be" else f"cannot{verb[3:]}"
        if first not in ("be", "can"):
            denied = f"does not {verb}"
        return _many(name, f"{{s}} {_third(verb)}", f"{{s}} {denied}", "does")
    if kind == INSTRUCTION:
        # The value may be a whole sentence: "You can swear with me".
        return _one(name, "{s}'s instruction: {v}", "{s} no longer wants: {v}", "instruction")
    raise KeyError(name)


def _open(name: str) -> tuple[str, str]:
    """Split the name of an open attribute into kind and word; both are empty for other names."""
    for kind in (FAVOURITE, HAS, DOES, INSTRUCTION):
        if name.startswith(kind):
            return kind, name.removeprefix(kind)
    return "", ""


def _third(verb: str) -> str:
    """Put a verb into the third person: use for -> uses for."""
    first, space, rest = verb.partition(" ")
    if first in IRREGULAR:
        return f"{IRREGULAR[first]}{space}{rest}"
    if first.endswith(("s", "sh", "ch", "x", "z", "o")):
        first += "es"
    elif first.endswith("y") and first[-2:-1] not in "aeiou":
        first = f"{first[:-1]}ies"
    else:
        first += "s"
    return f"{first}{space}{rest}"


def favourite(thing: str) -> str:
    """Return the normalised name of the attribute for a favourite thing."""
    return FAVOURITE + BRITISH.get(thing.lower(), thing.lower())


def is_preference(name: str) -> bool:
    """Tell if an attribute is a preference or a standing instruction, which belong in a profile."""
    return name in PREFERENCES or name.startswith((FAVOURITE, INSTRUCTION))


def sentence(subject: str, name: str, value: str, *, negated: bool = False) -> str:
    """Write a fact as a sentence."""
    attribute = of(name)
    template = attribute.denied if negated else attribute.reads
    filled = {"{s}": subject, "{v}": value or "anything"}
    return PLACEHOLDER.sub(lambda found: filled[found.group()], template)
