"""Records and other small things that the tests of several engines are made of."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from lamina.engines.facts import Fact
from lamina.model.record import Layer, Record, State, Trust
from tests.conftest import START


def record(seq: int, metadata: Mapping[str, Any], **fields: Any) -> Record:
    """An active profile record as the store would give it."""
    when = START + timedelta(hours=seq)
    values: dict[str, Any] = {
        "id": f"{seq:026d}",
        "seq": seq,
        "agent": "sky",
        "user": None,
        "layer": Layer.PROFILE,
        "state": State.ACTIVE,
        "kind": "preference",
        "content": "text",
        "importance": 0.5,
        "confidence": 1.0,
        "trust": Trust.AGENT,
        "source": None,
        "tags": (),
        "metadata": metadata,
        "evidence": (),
        "speaker": None,
        "session": None,
        "run_id": None,
        "occurred_at": when,
        "created_at": when,
        "updated_at": when,
    }
    return Record(**values | fields)


def told(seq: int, key: str, value: Any, **fields: Any) -> Record:
    return record(seq, {"profile_key": key, "value": value, "reason": "said so"}, **fields)


MIDNIGHT = datetime(2026, 5, 1, tzinfo=UTC)


def one_id(number: int) -> str:
    return f"{number:026d}"


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(map(one_id, numbers))


def hour(number: int) -> datetime:
    return START + timedelta(hours=number)


def fact(number: int, attribute: str = "likes", value: str = "tea", **fields: Any) -> Fact:
    """Something that Ana said, a day later than what she said before."""
    when = START + timedelta(days=number)
    made = Fact(
        *(
            f"fact{number}",
            "ana",
            "Ana",
            attribute,
            value,
            False,
            State.ACTIVE,
            when,
            None,
            when,
            0.8,
            Trust.AGENT,
        ),
        *((f"turn{number}",), ("ana",), (when,)),
    )
    return msgspec.structs.replace(made, **fields)


LATER = MIDNIGHT + timedelta(days=100)
