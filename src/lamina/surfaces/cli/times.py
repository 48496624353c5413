"""Times as people type them: a day, a time, or how long from now."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import click

from lamina.errors import InvalidInput
from lamina.model.clock import moment, system_clock
from lamina.text.words import shown

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
SPAN = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII)
UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
DAYS_AGO = {"today": 0, "yesterday": 1}


def day(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A bare date means the start of that day in UTC, as times are shown."""
    if not value or not DAY.fullmatch(value):
        return value
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(
            f"{parameter.opts[0]} {shown(value)} is no day of the calendar"
        ) from None
    return f"{value}T00:00:00Z"


def past(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> datetime | str | None:
    """A day or a time, or how long ago it was: 12h, 7d, 4w, today, yesterday."""
    if value is None:
        return None
    if value in DAYS_AGO:
        return system_clock().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(
            days=DAYS_AGO[value]
        )
    if SPAN.fullmatch(value):
        return _away(parameter, value, -1)
    given = day(context, parameter, value)
    try:
        return moment(given, parameter.opts[0])
    except InvalidInput as error:
        raise InvalidInput(
            f"{error.message}; or give a day, or say how long ago, such as 12h, 7d, 4w or yesterday"
        ) from None


def end_of(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> datetime | str | None:
    """When something ends: after hours, days or weeks, or at a time or day."""
    if value and SPAN.fullmatch(value):
        return _away(parameter, value, 1)
    given = day(context, parameter, value)
    try:
        return moment(given, parameter.opts[0]) if given else given
    except InvalidInput as error:
        raise InvalidInput(
            f"{error.message}; or say after how long, such as 12h, 30d or 4w, or give a day"
        ) from None


def _away(parameter: click.Parameter, value: str, direction: int) -> datetime:
    """So far from now as a span says, which is back for a negative direction."""
    found = SPAN.fullmatch(value)
    assert found is not None, "whoever calls has looked"
    try:
        return moment(
            system_clock() + direction * int(found[1]) * UNITS[found[2]], parameter.opts[0]
        )
    except (OverflowError, InvalidInput):
        raise InvalidInput(f"{parameter.opts[0]} {shown(value)} is too far away") from None
