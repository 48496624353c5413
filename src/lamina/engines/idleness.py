"""Tell when long work causes little disturbance: after a pause, shorter in quiet hours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

QUIET = timedelta(minutes=10)
# An hour of the day is quiet if it has less than this part of an even share of all writes.
LITTLE = 0.25
SHORT = timedelta(minutes=1)
# The minimal number of writes for judging the hours of the day.
ENOUGH = 200


def is_idle(now: datetime, last: datetime | None, by_hour: Sequence[int]) -> bool:
    """Tell if nothing was written for a while. `by_hour` counts writes by the hour in UTC."""
    if last is None or now < last:  # nothing was ever written, or the clock was set back
        return True
    silence = now - last
    return silence >= QUIET or (silence >= SHORT and is_quiet_hour(now.hour, by_hour))


def is_quiet_hour(hour: int, by_hour: Sequence[int]) -> bool:
    """Tell if little is written at this hour of the day, judging by the counts."""
    total = sum(by_hour)
    return total >= ENOUGH and by_hour[hour] < LITTLE * total / len(by_hour)
