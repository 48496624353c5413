"""Claims of known days, which tests of facts are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.engines.claims import Claim

DAY = timedelta(days=1)


START = datetime(2026, 5, 1, tzinfo=UTC)


def claim(attribute: str, value: str, day: float = 0, **more: Any) -> Claim:
    return Claim("Ana", attribute, value, 0, 5, START + day * DAY, 0.8, "test", **more)
