"""What a few turns say, for tables of sentences: told by Ann, a day after another, and what holds
in the end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from benchmarks.claims import held, is_met

from lamina.engines.claims import Claim, Turn
from lamina.engines.claims.extraction import extract

START = datetime(2026, 1, 5, 9, tzinfo=UTC)  # a Monday


def turns(*told: str, speaker: str | None = "Ann") -> list[Turn]:
    """Turns a day apart; "Otto: hello" is said by Otto."""
    listed = []
    for day, words in enumerate(told):
        name, colon, rest = words.partition(": ")
        is_named = bool(colon) and name in ("Otto", "Assistant")
        listed.append(
            Turn(
                rest if is_named else words,
                name if is_named else speaker,
                START + timedelta(days=day),
            )
        )
    return listed


def claims(*told: str, speaker: str | None = "Ann") -> list[Claim]:
    return [claim for found in extract(turns(*told, speaker=speaker)) for claim in found]


def said(words: str) -> set[tuple[str, str, str]]:
    """Subject, attribute and value of what one turn claims; a dash before what it denies."""
    return {
        (claim.subject, claim.attribute, "-" * claim.negated + claim.value)
        for claim in claims(words)
    }


def holds(told: str, subject: str, attribute: str, wanted: str) -> bool:
    """Whether some turns, parted by slashes, leave these values, parted by commas."""
    left = held(claims(*told.split(" / ")), subject, attribute)
    return is_met(left, [one for one in wanted.split(", ") if one])
