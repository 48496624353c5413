"""Tell what belongs to a project from what belongs to the person who works on it. Pure.

"Our database is Postgres" is about the project in which it was said, and another project has
another one; "my dog is Rex" is about who said it. So are tastes, places and all else that a person
has wherever they work. What tool to use is an order for that project alone, and so is what "in
this repo" is said of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from lamina.engines.claims import Claim, Turn
from lamina.engines.claims.attributes import DOES, HAS, INSTRUCTION
from lamina.engines.claims.imperatives import WORKPLACE
from lamina.engines.claims.topics import TOOL_TOPIC, slug
from lamina.text.words import normalise

HABIT = "habit"
# The words by which a speaker means themselves alone, in the languages that are read.
ALONE = re.compile(
    r"\b(?:i|my|me|mine|myself|ich|mich|mir|mein\w{0,2}|yo|mis|je|mon|mes|meus?|minhas?|mio|mia"
    r"|miei)\b",
    re.IGNORECASE,
)
HERE = re.compile(rf"\b(?:this|our|the) (?:{WORKPLACE})\b", re.IGNORECASE)
ENDS = ".!?\n"


def scoped(claims: Sequence[Claim], turn: Turn) -> list[Claim]:
    """Make the project of a turn the subject of what was said about it."""
    return [_scoped(claim, turn, turn.project) if turn.project else claim for claim in claims]


def _scoped(claim: Claim, turn: Turn, project: str) -> Claim:
    topic = claim.attribute.removeprefix(INSTRUCTION)
    if topic != claim.attribute:
        is_local = topic.startswith(TOOL_TOPIC) or bool(HERE.search(_words(claim, turn.text)))
        if not is_local or not slug(project):
            return claim
        named = f"{INSTRUCTION}{slug(project)}/{topic}"
        return structs.replace(claim, attribute=named, project=project)
    if normalise(claim.subject) == normalise(project):
        return structs.replace(claim, project=project)
    is_open = claim.attribute.startswith((HAS, DOES)) or claim.attribute == HABIT
    is_own = turn.speaker is not None and normalise(claim.subject) == normalise(turn.speaker)
    if is_open and is_own and not ALONE.search(_sentence(claim, turn.text)):
        return structs.replace(claim, subject=project, project=project)
    return claim


def _words(claim: Claim, text: str) -> str:
    return text[claim.start : claim.end]


def _sentence(claim: Claim, text: str) -> str:
    """Find the sentence in which a claim stands."""
    start = max(text.rfind(end, 0, claim.start) for end in ENDS) + 1
    return text[start : claim.end]
