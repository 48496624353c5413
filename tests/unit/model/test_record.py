"""The values: records, hits, events, errors, as they are shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina import errors
from lamina.model.record import LONG_TERM, Actor, Hit, Hits, Layer, Role, State, Trust, iso
from tests.conftest import CONTRACTS, Desk

FIELDS = (
    "id seq agent user layer state kind content importance confidence trust source tags "
    "metadata evidence speaker session"
    " run_id occurred_at created_at updated_at promoted_at valid_from valid_to "
    "last_verified supersedes superseded_by"
).split()
MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC))


def test_a_record_has_the_promised_fields(mem: lamina.Memory) -> None:
    """R1: exactly these names, in Python and as JSON, with the score beside them."""
    record = mem.remember("x")
    assert list(record.__struct_fields__) == [
        *FIELDS,
        "archived",
    ]  # the last one is said of archived records alone
    assert set(record.to_dict()) == {*FIELDS, "score"}


def test_layers_states_and_trust() -> None:
    """R2, R3, V8: seven layers, the last five long-term; four states; three kinds of trust."""
    assert [*Layer] == [
        "working",
        "short_term",
        "episodic",
        "semantic",
        "procedural",
        "profile",
        "world",
    ]
    assert tuple(Layer)[2:] == LONG_TERM
    assert [*State] == ["active", "constrained", "superseded", "tombstoned"]
    assert [*Trust] == ["operator", "agent", "external"]


@pytest.mark.parametrize("layer", list(CONTRACTS))
def test_a_record_is_plain_json(desk: Desk, layer: str) -> None:
    """R1, I: as JSON a record has plain values, times end with Z and have microseconds."""
    record = desk.operator(user="ana").remember(
        "x",
        layer=layer,
        metadata=CONTRACTS[layer],
        tags=["a"],
        importance=0.75,
        source="chat",
        speaker="Ana",
        session="s1",
    )
    shown = json.loads(json.dumps(record.to_dict()))
    assert shown == record.to_dict()
    assert shown["score"] == 7
    assert shown["tags"] == ["a"]
    assert shown["created_at"] == iso(record.created_at)
    assert shown["promoted_at"] is None


def test_a_record_cannot_be_changed(mem: lamina.Memory) -> None:
    """L11: values are frozen; only the store makes new ones."""
    record = mem.remember("x")
    with pytest.raises(AttributeError):
        record.content = "y"  # type: ignore[misc]


@given(MOMENTS, MOMENTS)
def test_times_sort_as_text(first: datetime, second: datetime) -> None:
    """R1: one length and a Z, so that text sorts as time does; and any reader of ISO-8601 gets the
    same time back."""
    assert (iso(first) < iso(second)) == (first < second)
    assert len(iso(first)) == 27
    assert iso(first).endswith("Z")
    assert datetime.fromisoformat(iso(first)) == first


def test_hits_are_a_sequence_with_an_outcome(mem: lamina.Memory) -> None:
    """Q7, I: hits are a sequence; an empty one says that nothing is relevant."""
    one = Hit(mem.remember("x"), 1.0, {"relevance": 1.0})
    hits = Hits([one, one])
    assert (len(hits), hits[0], hits[-1:], list(hits), hits.outcome) == (
        2,
        one,
        (one,),
        [one, one],
        "found",
    )
    assert repr(hits) == "<Hits found 2>"
    assert not Hits([])
    assert Hits([]).to_dict() == {"outcome": "nothing_relevant", "hits": []}
    assert set(hits.to_dict()["hits"][0]) == {"score", "parts", "record"}


def test_an_event_is_plain_json(mem: lamina.Memory) -> None:
    """P4: an event shows when, who, through which surface, and what changed, as plain values."""
    (event,) = mem.history(mem.remember("x").id)
    shown = json.loads(json.dumps(event.to_dict()))
    assert shown == event.to_dict()
    assert (shown["actor"], shown["surface"], shown["action"]) == (
        "agent:sky",
        "python",
        "remember",
    )
    assert shown["changes"][0]["after"]["state"] == "active"
    assert event.reason is None


def test_an_actor_shows_role_and_name() -> None:
    """P4: who did it, in one word."""
    assert str(Actor(Role.OPERATOR, "ana", "cli")) == "operator:ana"


CODES = {"invalid_input", "not_found", "refused", "conflict", "store_unavailable", "corrupt"}


def test_errors_have_one_shape() -> None:
    """I: six errors under one, each with a code of its own and the one shape that surfaces show."""
    kinds = errors.LaminaError.__subclasses__()
    assert {kind.code for kind in kinds} == CODES
    for kind in kinds:
        assert kind.__doc__
        assert getattr(lamina, kind.__name__) is kind
        assert kind("no", item=3).to_dict() == {
            "error": {"code": kind.code, "message": "no", "item": 3}
        }
        assert str(kind("no")) == "no"


def test_the_public_names_exist() -> None:
    """I: everything that is promised can be imported from the package."""
    assert all(hasattr(lamina, name) for name in lamina.__all__)
    assert {"open", "operator", "LaminaError", "Record", "Hits"} <= set(lamina.__all__)
