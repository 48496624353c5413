"""What became of the memories that a context gave: used, or ignored (S4). Pure.

A memory that was given is used when, afterwards in the session, somebody asks for it, marks it as
helpful, or says what it says in words that the prompt did not have. Where no session is named, the
hour after it counts. A memory that was given again and again and never used since is ignored.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache

import msgspec

from lamina.errors import InvalidInput
from lamina.text.words import shown, terms

UNNAMED_SESSION = timedelta(hours=1)
NAMED_SESSION = timedelta(days=1)
# So many of a memory's own words are a quotation of it, or half of them, if that is less.
QUOTED = 4


class Verdict(StrEnum):
    """What an agent says of a memory."""

    HELPFUL = "helpful"
    WRONG = "wrong"
    OUTDATED = "outdated"


class Given(msgspec.Struct, frozen=True, gc=False):
    """The memories of one context, and the prompt that it was for."""

    at: datetime
    records: tuple[str, ...]
    user: str | None = None
    session: str | None = None
    prompt: str = ""


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A memory that somebody asked for, or marked as helpful."""

    at: datetime
    record: str
    user: str | None = None


class Said(msgspec.Struct, frozen=True, gc=False):
    """A turn, which may say what a memory says."""

    at: datetime
    record: str
    text: str
    user: str | None = None
    session: str | None = None


class Served(msgspec.Struct, frozen=True, gc=False):
    """How often a memory was given, and used."""

    given: int = 0
    used: int = 0
    ignored: int = 0  # how often it was given since it was last used
    last: datetime | None = None  # when it was given and then used, the last time


def verdict(value: object) -> Verdict:
    """Check what an agent says of a memory."""
    known = [one.value for one in Verdict]
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(
            f"verdict {shown(value)} is not known; say one of {', '.join(known)}", known=known
        )
    return Verdict(value)


def tally(
    given: Iterable[Given],
    asked: Iterable[Asked],
    said: Iterable[Said],
    texts: Mapping[str, str],
) -> dict[str, Served]:
    """Count for each memory of `texts`, by its id, how often it was given and how often used."""
    asking, talks = _by_record(asked), _Talks(said)
    served: dict[str, Served] = {}
    for one in sorted(given, key=lambda one: one.at):
        later = talks.after(one)
        for record in dict.fromkeys(one.records):
            if record not in texts:
                continue
            is_used = _is_asked(one, asking.get(record, ())) or any(
                turn.record != record and quotes(turn.text, texts[record], one.prompt)
                for turn in later
            )
            served[record] = _counted(served.get(record, Served()), one.at, is_used=is_used)
    return served


def quotes(text: str, memory: str, prompt: str = "") -> bool:
    """Tell if a text says what a memory says, in words that the prompt did not have."""
    own = _words(memory) - _words(prompt)
    needed = min(QUOTED, (len(own) + 1) // 2)
    return bool(own) and len(own & _words(text)) >= needed


def rate(served: Collection[Served]) -> tuple[int, int]:
    """Count how often memories were given, and how often they were used."""
    return sum(one.given for one in served), sum(one.used for one in served)


def _counted(served: Served, at: datetime, *, is_used: bool) -> Served:
    """Count one more time that a memory was given."""
    if not is_used:
        return Served(served.given + 1, served.used, served.ignored + 1, served.last)
    return Served(served.given + 1, served.used + 1, 0, at)


class _Talks:
    """Turns in their order, by user and session, and all of a user."""

    def __init__(self, said: Iterable[Said]) -> None:
        self._turns: dict[tuple[str | None, str | None], list[Said]] = {}
        for turn in sorted(said, key=lambda turn: (turn.at, turn.record)):
            for session in {None, turn.session}:
                self._turns.setdefault((turn.user, session), []).append(turn)

    def after(self, given: Given) -> Sequence[Said]:
        """List the turns that may have used a context: of its session, or soon after it."""
        turns = self._turns.get((given.user, given.session), [])
        first, last = (
            bisect_right(turns, at, key=lambda turn: turn.at) for at in (given.at, _end(given))
        )
        return turns[first:last]


def _end(given: Given) -> datetime:
    """Find until when a context may have been used."""
    return given.at + (UNNAMED_SESSION if given.session is None else NAMED_SESSION)


def _by_record(asked: Iterable[Asked]) -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {}
    for one in asked:
        found.setdefault(one.record, []).append(one)
    return found


def _is_asked(given: Given, asked: Iterable[Asked]) -> bool:
    end = _end(given)
    return any(given.at < one.at <= end and one.user == given.user for one in asked)


@lru_cache(4096)  # a turn is compared with every memory that was given before it
def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))
