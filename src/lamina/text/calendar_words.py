"""Months, weekdays and small numbers as English words: one table for all parsers. Pure."""

from __future__ import annotations

MONTHS = tuple(
    "january february march april may june july august september october november december".split()
)
WEEKDAYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
NUMBERS = tuple("zero one two three four five six seven eight nine ten eleven twelve".split())

# The first three letters are unambiguous.
SHORT_MONTHS = tuple(name[:3] for name in MONTHS)
SHORT_WEEKDAYS = tuple(name[:3] for name in WEEKDAYS)

# Parts of patterns, for texts in lower case or patterns that ignore it.
MONTH = f"(?:{'|'.join(MONTHS)})"
MONTH_OR_SHORT = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAY = f"(?:{'|'.join(name.removesuffix('day') for name in WEEKDAYS)})day"
