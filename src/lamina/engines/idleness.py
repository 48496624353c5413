"""Tell when long work disturbs little: after a silence, shorter in quiet hours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

QUIET = timedelta(minutes=10)
# In an hour of the day with so little of an even share of all writes, a short silence is enough.
LITTLE = 0.25
SHORT = timedelta(minutes=1)
# From so many writes on, the hours of the day tell something.
ENOUGH = 200


def is_idle(now: datetime, last: datetime | None, by_hour: Sequence[int]) -> bool:
    """Tell if nothing was written for a while. `by_hour` counts writes by the hour in UTC."""
    if last is None or now < last:  # nothing was ever written, or the clock was set back
        return True
    silence = now - last
    return silence >= QUIET or (silence >= SHORT and is_quiet_hour(now.hour, by_hour))


def is_quiet_hour(hour: int, by_hour: Sequence[int]) -> bool:
    """Tell if little is written at this hour of the day, as far as the counts show."""
    total = sum(by_hour)
    return total >= ENOUGH and by_hour[hour] < LITTLE * total / len(by_hour)
