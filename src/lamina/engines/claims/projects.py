"""Separate claims about a project from those about the person who works on it. Pure.

"Our database is Postgres" is about the project in which it was said, and another project may have
another one; "my dog is Rex" is about the speaker. So are tastes, places and everything else that
does not depend on where people work. Instructions about tools, and those with "in this repo", hold
only in that project.
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
# Words by which speakers mean only themselves, in all supported languages.
ALONE = re.compile(
    r"\b(?:i|my|me|mine|myself|ich|mich|mir|mein\w{0,2}|yo|mis|je|mon|mes|meus?|minhas?|mio|mia"
    r"|miei)\b",
    re.IGNORECASE,
)
HERE = re.compile(rf"\b(?:this|our|the) (?:{WORKPLACE})\b", re.IGNORECASE)
ENDS = ".!?\n"


def scoped(claims: Sequence[Claim], turn: Turn) -> list[Claim]:
    """Make the project of a turn the subject of claims about the project."""
    return [_scoped(claim, turn, turn.project) if turn.project else claim for claim in claims]


def _scoped(claim: Claim, turn: Turn, project: str) -> Claim:
    topic = claim.attribute.removeprefix(INSTRUCTION)
    if topic != claim.attribute:
        if claim.negated:  # it ends a certain instruction, wherever that one was given
            return claim
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
        named = _unnamed(claim.attribute, project)
        return structs.replace(claim, subject=project, attribute=named, project=project)
    return claim


def _unnamed(attribute: str, project: str) -> str:
    """Leave a project's name out of what it has: `deadline of project falcon`."""
    name = rf" (?:of|for|in) (?:the )?(?:project )?{re.escape(project)}(?: project)?\Z"
    return re.sub(name, "", attribute, flags=re.IGNORECASE)


def _words(claim: Claim, text: str) -> str:
    return text[claim.start : claim.end]


def _sentence(claim: Claim, text: str) -> str:
    """Return the sentence that contains a claim."""
    start = max(text.rfind(end, 0, claim.start) for end in ENDS) + 1
    return text[start : claim.end]
