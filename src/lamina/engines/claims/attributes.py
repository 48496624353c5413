"""The attributes of claims: how many values each holds, and how a fact about it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec


class Attribute(msgspec.Struct, frozen=True):
    """One property of a person."""

    name: str
    many: bool  # whether several values can hold at once
    reads: str  # how a fact reads; {s} is the subject, {v} the value
    denied: str  # how it reads when it is denied
    family: str  # attributes of one family are hard to tell apart


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
    _many("did", "{s}: {v}", "{s} did not: {v}", "event"),
    _many("plan", "{s} plans: {v}", "{s} no longer plans: {v}", "aim"),
    _many("goal", "{s} wants: {v}", "{s} no longer wants: {v}", "aim"),
    _many("other", "{s}: {v}", "{s}, not: {v}"),
)
TABLE: Mapping[str, Attribute] = {attribute.name: attribute for attribute in ALL}
FAVOURITE = "favourite:"
PLACEHOLDER = re.compile(r"\{[sv]\}")
BRITISH = {"color": "colour", "flavor": "flavour"}
# Tastes become proposals for the profile.
PREFERENCES = frozenset({"likes", "dislikes", "hobby", "diet", "allergy", "language"})


def known(name: str) -> bool:
    return name in TABLE or (name.startswith(FAVOURITE) and len(name) > len(FAVOURITE))


def of(name: str) -> Attribute:
    """Find an attribute by its name; a person has one favourite of each thing."""
    if name.startswith(FAVOURITE):
        thing = name.removeprefix(FAVOURITE)
        thing = thing.replace("{", "(").replace("}", ")")
        reads = f"{{s}}'s favourite {thing} is"
        return _one(name, f"{reads} {{v}}", f"{reads} not {{v}} any more", "taste")
    return TABLE[name]


def favourite(thing: str) -> str:
    """Name the attribute for a favourite thing, in one spelling."""
    return FAVOURITE + BRITISH.get(thing.lower(), thing.lower())


def is_preference(name: str) -> bool:
    """Tell if an attribute is a taste, which belongs in a profile."""
    return name in PREFERENCES or name.startswith(FAVOURITE)


def sentence(subject: str, name: str, value: str, *, negated: bool = False) -> str:
    """Write a fact as a sentence."""
    attribute = of(name)
    template = attribute.denied if negated else attribute.reads
    filled = {"{s}": subject, "{v}": value or "anything"}
    return PLACEHOLDER.sub(lambda found: filled[found.group()], template)
