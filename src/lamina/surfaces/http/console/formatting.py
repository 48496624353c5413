"""Format times, numbers, names, addresses and commands for pages."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lamina.memory import opening
from lamina.model.clock import is_id
from lamina.surfaces.cli.reviewer.wording import ago, because
from lamina.surfaces.http.console.charts import amount
from lamina.text.words import counted, one_line

SCHEMES = ("http", "https")
# No quotes, spaces or letters of other scripts.
ADDRESS = re.compile(r"https?://[\w.~:/?#\[\]@!$&()*+,;=%-]+", re.ASCII)
UNNAMED = "default"
LONGEST = 20  # characters that one visible character may need


def when(moment: datetime | str | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """Format a time in UTC, to the minute."""
    if moment is None:
        return ""
    return (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).strftime(form)


def day(moment: datetime) -> str:
    """Format a day as people write it."""
    return f"{moment:%A}, {moment.day} {moment:%B %Y}"


def since(moment: datetime | str | None, now: datetime) -> str:
    """Describe how long ago a moment was."""
    if moment is None:
        return "never"
    return ago(now, datetime.fromisoformat(moment) if isinstance(moment, str) else moment)


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def spoken(name: str) -> str:
    """Format an internal name for people."""
    return name.replace("_", " ").replace(":", ": ")


def brief(value: str, width: int = 120) -> str:
    """Shorten a text to its beginning on one line, reading no more of it than needed."""
    return one_line(value[: LONGEST * width], width) or ("…" if value else "")


def plain(value: Any) -> str:
    """Format any value of metadata as it would be typed."""
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def fitted(value: str, room: int) -> str:
    """Cut a text to a number of columns, where wide characters take two."""
    line, used = brief(value, room * 2), 0
    for index, letter in enumerate(line):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > room - (index < len(line) - 1):
            return line[:index] + "…"
    return line


def wrapped(value: str, room: int) -> tuple[str, ...]:
    """Format a text as two lines of a given width, broken between words if possible."""
    line = brief(value, room * 4)
    first = fitted(line, room)
    if first == line:
        return (line,)
    head, space, _ = first[:-1].rpartition(" ")
    if space:
        return head, fitted(line[len(head) :].strip(), room)
    return first[:-1], fitted(line[len(first) - 1 :], room)


def link_of(reference: str) -> str | None:
    """Link a piece of evidence: to a record here, or to a web address that hides nothing."""
    if is_id(reference):
        return f"/records/{reference}"
    if not ADDRESS.fullmatch(reference):
        return None
    try:
        parts = urlsplit(reference)
        is_plain = parts.scheme in SCHEMES and parts.hostname and parts.username is None
    except ValueError:
        return None
    return reference if is_plain else None


def command(home: Path, agent: str, user: str | None, *verb: str) -> str:
    """Build the command for a verb on this memory, with its home, agent and user if needed."""
    arguments = ["lamina"]
    if home != opening.home_path():
        arguments += ["--home", str(home)]
    if agent != UNNAMED:
        arguments += ["--agent", agent]
    if user is not None:
        arguments += ["--user", user]
    return shlex.join([*arguments, *verb])


def named(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, plain(item)) for name, item in value.items()]


FILTERS = {
    "amount": amount,
    "when": when,
    "day": day,
    "since": since,
    "number": number,
    "spoken": spoken,
    "counted": counted,
    "brief": brief,
    "plain": plain,
    "because": because,
    "named": named,
}
