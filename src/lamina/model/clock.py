"""Read times and make ids. Time comes from one injected clock; ids follow from store, agent and
sequence number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lamina.errors import InvalidInput
from lamina.text.words import shown

Clock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
LATEST = datetime(3000, 1, 1, tzinfo=UTC)
OUTSIDE = "lies outside the years 1000 to 2999"

# Crockford's alphabet: no letter that could be mistaken for a digit.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
ID = re.compile(f"[{ALPHABET}]{{26}}")
# With fewer characters, it could be something else, and would be mistyped too easily.
PART = re.compile(f"[{ALPHABET}]{{6,25}}")
SPREAD = 0x9E3779B97F4A7C15


def system_clock() -> datetime:
    """Read the time of this machine, in UTC. Nothing else in Lamina does."""
    return datetime.now(UTC)


def checked(clock: Clock) -> Clock:
    """Wrap a clock so that it returns UTC; refuse what is not a clock."""
    if not callable(clock):
        raise InvalidInput(f"clock {shown(clock)} is not a function that returns the time")

    def now() -> datetime:
        return moment(clock(), "clock")

    return now


def moment(value: object, name: str = "at") -> datetime:
    """Read a time from an aware datetime, ISO-8601 text with an offset, or epoch seconds."""
    when = _parse(value, name)
    if when.tzinfo is not UTC:
        if when.utcoffset() is None:
            problem = f"has no time zone; in UTC write {when.replace(tzinfo=UTC).isoformat()}"
            raise InvalidInput(f"{name} {shown(value)} {problem}")
        try:
            when = when.astimezone(UTC)
        except OverflowError:
            raise InvalidInput(f"{name} {shown(value)} {OUTSIDE}") from None
    if not EARLIEST <= when < LATEST:
        raise InvalidInput(f"{name} {shown(value)} {OUTSIDE}")
    return when


def _parse(value: object, name: str) -> datetime:
    problem = "is neither a datetime, an ISO-8601 text nor epoch seconds"
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            problem = "is not an ISO-8601 time such as 2026-05-01T08:30:00Z"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return EPOCH + timedelta(seconds=value)
        except (OverflowError, ValueError):  # too far away, or not a number at all
            problem = f"{OUTSIDE}; seconds are meant"
    raise InvalidInput(f"{name} {shown(value)} {problem}")


def to_micros(when: datetime) -> int:
    """Return the microseconds since 1970, the form in which times are stored."""
    return (when - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


class Ids:
    """Ids of one agent in one store: 10 characters of time, 4 of agent, 12 of store and sequence.

    The same store id, agent, sequence and clock give the same ids, so a rebuilt store is the same
    store. No two sequence numbers of a store share their last 12 characters, whatever the clock
    does. The agent's part tells an id that was made for another agent from one that never existed,
    without looking anywhere.
    """

    def __init__(self, store_id: str, agent: str) -> None:
        digest = hashlib.blake2b(f"{store_id}\0{agent}".encode(), digest_size=8).digest()
        self._offset = int.from_bytes(digest, "big")
        self._tag = agent_tag(agent)

    def prefix(self, when: datetime) -> str:
        """Return the beginning of all ids with this time."""
        n = max(0, to_micros(when) // 1000)
        return (
            f"{PAIRS[n >> 40 & 1023]}{PAIRS[n >> 30 & 1023]}{PAIRS[n >> 20 & 1023]}"
            f"{PAIRS[n >> 10 & 1023]}{PAIRS[n & 1023]}{self._tag}"
        )

    def make(self, prefix: str, seq: int) -> str:
        """Return the id of the record with this sequence number."""
        # An odd factor permutes the 60-bit numbers: neighbours look unrelated, and none coincide.
        n = seq * SPREAD + self._offset
        return (
            f"{prefix}{PAIRS[n >> 50 & 1023]}{PAIRS[n >> 40 & 1023]}{PAIRS[n >> 30 & 1023]}"
            f"{PAIRS[n >> 20 & 1023]}{PAIRS[n >> 10 & 1023]}{PAIRS[n & 1023]}"
        )


def agent_tag(agent: str) -> str:
    """Return the four characters that every id of this agent contains."""
    n = int.from_bytes(hashlib.blake2b(agent.encode(), digest_size=4).digest(), "big")
    return PAIRS[n >> 10 & 1023] + PAIRS[n & 1023]


def is_id(text: str) -> bool:
    """Tell if a text has the form of a record id."""
    return ID.fullmatch(text) is not None


def is_part(text: str) -> bool:
    """Tell if a text could be the beginning or the end of a record id.

    Ends are distinct with fewer characters, because they come from the sequence.
    """
    return PART.fullmatch(text) is not None


def tag_of(record_id: str) -> str:
    return record_id[10:14]
