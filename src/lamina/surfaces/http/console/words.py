"""How things are said on pages: times, numbers, names, addresses and commands."""

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
from lamina.text.words import one_line

SCHEMES = ("http", "https")
ADDRESS = re.compile(
    r"https?://[\w.~:/?#\[\]@!$&()*+,;=%-]+", re.ASCII
)  # no quotes, no spaces, no letters of other scripts
UNNAMED = "default"
LONGEST = 20  # characters of which one is seen


def when(moment: datetime | str | None, form: str = "%Y-%m-%d %H:%M") -> str:
    """A time in UTC, to the minute."""
    if moment is None:
        return ""
    return (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).strftime(form)


def since(moment: datetime | str | None, now: datetime) -> str:
    """How long ago that was."""
    if moment is None:
        return "never"
    return ago(now, datetime.fromisoformat(moment) if isinstance(moment, str) else moment)


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def spoken(name: str) -> str:
    """A name in code as people write it."""
    return name.replace("_", " ").replace(":", ": ")


def counted(value: int, one: str, many: str | None = None) -> str:
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def brief(value: str, width: int = 120) -> str:
    """The beginning of a text, on one line; of a long one only so much is looked at as may be needed."""
    return one_line(value[: LONGEST * width], width) or ("…" if value else "")


def plain(value: Any) -> str:
    """Any value of metadata, as it would be typed."""
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def fitted(value: str, room: int) -> str:
    """As much of a text as fits into so many columns, where wide letters take two."""
    line, used = brief(value, room * 2), 0
    for place, letter in enumerate(line):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > room - (place < len(line) - 1):
            return line[:place] + "…"
    return line


def link_of(reference: str) -> str | None:
    """Where a piece of evidence can be looked at: a record here, or an address of the web that hides nothing."""
    if is_id(reference):
        return f"/records/{reference}"
    if not ADDRESS.fullmatch(reference):
        return None
    try:
        parts = urlsplit(reference)
        return (
            reference
            if parts.scheme in SCHEMES and parts.hostname and parts.username is None
            else None
        )
    except ValueError:
        return None


def command(home: Path, agent: str, user: str | None, *verb: str) -> str:
    """What to type for a verb that is meant for this memory, wherever it lies."""
    said = ["lamina"]
    if home != opening.home_path():
        said += ["--home", str(home)]
    if agent != UNNAMED:
        said += ["--agent", agent]
    if user is not None:
        said += ["--user", user]
    return shlex.join([*said, *verb])


def named(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, plain(item)) for name, item in value.items()]


FILTERS = {
    "amount": amount,
    "when": when,
    "since": since,
    "number": number,
    "spoken": spoken,
    "counted": counted,
    "brief": brief,
    "plain": plain,
    "because": because,
    "named": named,
}
