"""Any store, out and in again; any walk of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.model.record import State
from tests.conftest import CONTRACTS, FULL, Desk, Ticking, move, verified
from tests.unit.strategies import JSON, TEXTS

LABELS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC))
ITEMS = st.fixed_dictionaries(
    {"content": TEXTS.map(lambda text: f"x{text}")},
    optional={
        "kind": st.sampled_from(["fact", "crumb", "data"]),
        "tags": st.lists(LABELS, max_size=3),
        "importance": st.floats(0, 1),
        "confidence": st.floats(0, 1),
        "metadata": st.dictionaries(TEXTS, JSON, max_size=3),
        "source": LABELS,
        "speaker": LABELS,
        "session": LABELS,
        "at": MOMENTS,
        "evidence": st.just(["https://example.org"]),
    },
)
LAYERS = st.sampled_from([layer for layer in CONTRACTS if layer != "short_term"])
USERS = st.sampled_from([None, "ana", "ben"])


@given(st.lists(st.tuples(ITEMS, USERS, st.booleans()), max_size=8), LAYERS)
@settings(max_examples=300 if FULL else 20)
def test_any_store_comes_back_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[tuple[dict[str, Any], str | None, bool]],
    layer: str,
) -> None:
    """H5, R6: export → import → export gives the same bytes whatever was stored, and
    both stores verify."""
    with Desk(tmp_path_factory.mktemp("a")) as here, Desk(tmp_path_factory.mktemp("b")) as there:
        op = here.operator()
        op.remember("layered", layer=layer, metadata=CONTRACTS[layer])
        for item, user, hidden in items:
            record = here.operator(user=user).remember(**item)
            assert op.get(record.id) == record
            if hidden:
                move(op, record.id, state=State.TOMBSTONED)
        path = op.export()
        twin = there.operator(store_id=None)
        twin.import_(path, trust=True)
        assert twin.export().read_bytes() == path.read_bytes()
        assert twin.list(states=None, limit=100) == op.list(states=None, limit=100)
        assert verified(twin)


@given(st.lists(MOMENTS | st.just(None), min_size=1, max_size=12))
@settings(max_examples=1000 if FULL else 30)
def test_any_walk_of_the_clock(
    tmp_path_factory: pytest.TempPathFactory, walk: list[datetime | None]
) -> None:
    """R1, Q6: however the clock jumps or stands still, numbers rise, ids differ, no age is
    negative, all verifies."""
    clock = Ticking(step=timedelta())
    with Desk(tmp_path_factory.mktemp("home"), clock) as desk:
        op = desk.operator()
        made = []
        for when in walk:
            if when is not None:
                clock.set(when)
            made.append(op.remember("tea"))
            hits = op.search("tea", limit=100)
            assert len(hits) == len(made)
            assert all(0 <= hit.parts["recency"] <= 0.1 for hit in hits)
        assert [record.seq for record in made] == list(range(1, len(made) + 1))
        assert len({record.id for record in made}) == len(made)
        assert verified(op)
