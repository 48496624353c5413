"""Tell which memories in a context were used, and which were ignored (S4). Pure.

A memory in a context is used if, later in the session, somebody asks for it, marks it as helpful,
or says the same in words that the prompt did not have. Without a session, the following hour
counts. A memory that was included repeatedly and not used since is ignored.
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
# The number of a memory's own words that make a quotation, or half of them, if that is less.
QUOTED = 4


class Verdict(StrEnum):
    """An agent's feedback on a memory."""

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
    """A turn, which may quote a memory."""

    at: datetime
    record: str
    text: str
    user: str | None = None
    session: str | None = None


class Served(msgspec.Struct, frozen=True, gc=False):
    """How often a memory was included in contexts, and used."""

    given: int = 0
    used: int = 0
    ignored: int = 0  # how often it was included since its last use
    last: datetime | None = None  # when it was included before its last use


def verdict(value: object) -> Verdict:
    """Check an agent's feedback on a memory."""
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
    """Count for each memory in `texts`, by id, how often it was included and how often used."""
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
    """Tell if a text says the same as a memory, in words that the prompt did not have."""
    own = _words(memory) - _words(prompt)
    needed = min(QUOTED, (len(own) + 1) // 2)
    return bool(own) and len(own & _words(text)) >= needed


def rate(served: Collection[Served]) -> tuple[int, int]:
    """Count how often memories were included, and how often they were used."""
    return sum(one.given for one in served), sum(one.used for one in served)


def _counted(served: Served, at: datetime, *, is_used: bool) -> Served:
    """Count one more inclusion of a memory."""
    if not is_used:
        return Served(served.given + 1, served.used, served.ignored + 1, served.last)
    return Served(served.given + 1, served.used + 1, 0, at)


class _Talks:
    """Turns in order, by user and session, and all turns of each user."""

    def __init__(self, said: Iterable[Said]) -> None:
        self._turns: dict[tuple[str | None, str | None], list[Said]] = {}
        for turn in sorted(said, key=lambda turn: (turn.at, turn.record)):
            for session in {None, turn.session}:
                self._turns.setdefault((turn.user, session), []).append(turn)

    def after(self, given: Given) -> Sequence[Said]:
        """List the turns that may have used a context: those of its session, or soon after it."""
        turns = self._turns.get((given.user, given.session), [])
        first, last = (
            bisect_right(turns, at, key=lambda turn: turn.at) for at in (given.at, _end(given))
        )
        return turns[first:last]


def _end(given: Given) -> datetime:
    """Return the time until which a context may have been used."""
    return given.at + (UNNAMED_SESSION if given.session is None else NAMED_SESSION)


def _by_record(asked: Iterable[Asked]) -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {}
    for one in asked:
        found.setdefault(one.record, []).append(one)
    return found


def _is_asked(given: Given, asked: Iterable[Asked]) -> bool:
    end = _end(given)
    return any(given.at < one.at <= end and one.user == given.user for one in asked)


@lru_cache(4096)  # a turn is compared with every memory that was included before it
def _words(text: str) -> frozenset[str]:
    return frozenset(terms(text))
