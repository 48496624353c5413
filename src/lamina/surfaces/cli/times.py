"""Read times as people type them: a day, a time, or a span from now."""

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


def past(context: click.Context, parameter: click.Parameter, value: str | None) -> datetime | None:
    """Read a day, a time, or how long ago it was: 12h, 7d, 4w, today, yesterday."""
    if value is None:
        return None
    if value in DAYS_AGO:
        midnight = system_clock().replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight - timedelta(days=DAYS_AGO[value])
    hint = "or give a day, or say how long ago, such as 12h, 7d, 4w or yesterday"
    return _from_now(parameter, value, -1) or _moment(parameter, value, hint)


def end_of(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> datetime | str | None:
    """Read when something ends: in hours, days or weeks, or at a day or time."""
    if not value:
        return value
    hint = "or say after how long, such as 12h, 30d or 4w, or give a day"
    return _from_now(parameter, value, 1) or _moment(parameter, value, hint)


def _moment(parameter: click.Parameter, value: str, hint: str) -> datetime:
    """Read a time; a bare date is the start of that day in UTC, as times are shown."""
    name = parameter.opts[0]
    if DAY.fullmatch(value):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{name} {shown(value)} is not a day of the calendar") from None
        value = f"{value}T00:00:00Z"
    try:
        return moment(value, name)
    except InvalidInput as error:
        raise InvalidInput(f"{error.message}; {hint}") from None


def _from_now(parameter: click.Parameter, value: str, direction: int) -> datetime | None:
    """Read a span from now, backwards for a negative direction; None if it is no span."""
    span = SPAN.fullmatch(value)
    if span is None:
        return None
    name, distance = parameter.opts[0], int(span[1]) * UNITS[span[2]]
    try:
        return moment(system_clock() + direction * distance, name)
    except (OverflowError, InvalidInput):
        raise InvalidInput(f"{name} {shown(value)} is too far away") from None
