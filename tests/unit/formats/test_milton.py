"""Milton's lines: a record type and its payload, written as promised, read in every spelling."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, LaminaError
from lamina.formats import entries, milton
from lamina.model import rules
from lamina.model.record import Layer
from tests.cases import every
from tests.conftest import TESTER
from tests.unit.formats.samples import LABELS, MOMENTS, entry_of, record
from tests.unit.strategies import TEXTS

draft = rules.Drafter(TESTER).draft
ITEM = {
    "id": "mem-17",
    "ts": "2026-01-02T03:04:05Z",
    "agent": "milton",
    "type": "preference",
    "content": "prefers tea",
    "tags": ["drink"],
    "importance": 0.6,
    "source": "chat",
    "request_id": "req-9",
    "evidence": ["logs/a.txt", "https://example.org", "mem-16"],
}


def test_a_written_line() -> None:
    """B5, R10: a memory is a `memory_item` with exactly the fields of a MemoryItem."""
    at = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    line = milton.line_of(
        record(
            kind="request",
            occurred_at=at,
            tags=("a",),
            metadata={"request_id": "r"},
            evidence=("./x",),
        )
    )
    assert line["record_type"] == "memory_item"
    assert line["payload"] == {
        "id": "0" * 26,
        "ts": "2026-01-02T03:04:05.000006Z",
        "agent": "sky",
        "type": "request",
        "content": "tea",
        "tags": ["a"],
        "importance": 0.5,
        "source": None,
        "request_id": "r",
        "evidence": ["./x"],
    }
    assert tuple(line["payload"]) == milton.PAYLOADS[milton.ITEM]
    assert line["data"] == line["payload"]
    assert milton.line_of(record(user="ana"))["payload"]["user"] == "ana"


@every(
    "name",
    ["memory_item", "MemoryItem", "memory-item", "short_term", "SHORT_TERM", "long_term", "item"],
)
@every("wrapper", [None, "payload", "data"])
def test_every_spelling_is_read(name: str, wrapper: str | None) -> None:
    """B5: the names that files have for a memory, its payload wrapped or inline; `type`
    is the kind."""
    line = {"record_type": name, **({wrapper: ITEM} if wrapper else ITEM)}
    entry = entry_of(line)
    made = draft(entry.item)
    assert (made.content, made.kind, made.tags, made.importance, made.source) == (
        "prefers tea",
        "preference",
        ("drink",),
        0.6,
        "chat",
    )
    assert made.occurred_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert made.evidence == ("logs/a.txt", "https://example.org", "record:mem-16")
    assert made.metadata == {"agent": "milton", "request_id": "req-9"}
    assert (entry.id, entry.long) == ("mem-17", name == "long_term")


def test_an_item_without_a_record_type_is_read() -> None:
    """B5: the payload alone, as a program may have written it."""
    assert draft(entry_of(ITEM).item).kind == "preference"
    assert entry_of({"payload": ITEM}).id == "mem-17"
    assert draft(entry_of({"record_type": "memory_item", "content": "x"}).item).kind == "crumb"


def test_what_it_was_beside_a_memory() -> None:
    """B5, R4: promotion, score, epoch seconds and metadata are read where they are given."""
    more = {"promoted_at": 1700000100, "score": 9, "ts": 1699999999.5, "metadata": {"tool": "x"}}
    entry = entry_of({"record_type": "memory_item", "payload": {"content": "x", **more}})
    made = draft(entry.item)
    assert (entry.long, made.importance, made.metadata) == (True, 0.9, {"tool": "x"})
    assert entry.promoted_at == datetime(2023, 11, 14, 22, 15, tzinfo=UTC)


@every(
    ("line", "message"),
    [
        (
            {"record_type": "dream", "payload": ITEM},
            "unknown record_type 'dream'; known are memory_item, user_profile",
        ),
        ({"record_type": 5}, "unknown record_type 5"),
        ({"record_type": None, "payload": ITEM}, "unknown record_type None"),
        ({"record_type": "memory_item", "payload": "tea"}, "payload 'tea' is not an object"),
        (
            {"record_type": "memory_item", "payload": ITEM, "content": "tea"},
            "content is both beside the payload and in it",
        ),
        (
            {"record_type": "memory_item", "payload": {**ITEM, "mood": 1}},
            "a memory_item has no field 'mood'",
        ),
        (
            {"record_type": "memory_item", "payload": {**ITEM, "type": "dream"}},
            "unknown kind 'dream'",
        ),
        (
            {"record_type": "memory_item", "payload": {**ITEM, "importance": 6}},
            "importance 6 is not between",
        ),
        (
            {"record_type": "memory_item", "payload": {**ITEM, "evidence": "logs"}},
            "evidence 'logs' is not a list",
        ),
        (
            {"record_type": "memory_item", "payload": {**ITEM, "evidence": [5]}},
            "evidence 5 is a int",
        ),
        (
            {"record_type": "memory_item", "payload": {**ITEM, "metadata": 5}},
            "metadata 5 is not an object",
        ),
        ({"record_type": "memory_item", "payload": {}}, "content is missing"),
        ({"record_type": "memory_item", "data": 5}, "data 5 is not an object"),
        (
            {"record_type": "memory_item", "data": ITEM, "payload": {**ITEM, "content": "cola"}},
            "payload and data say different things",
        ),
        (
            {"record_type": "user_profile", "data": {"preferences": [5]}},
            "preferences[0] 5 is not a text",
        ),
        ({"record_type": "project_memory", "data": {"goals": ["sail"]}}, "project_name"),
        (
            {"record_type": "user_profile", "payload": {"nickname": "x"}},
            "a user_profile has no field 'nickname'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(line: dict[str, Any], message: str) -> None:
    """B5, R4, R5: an error that names the value."""
    with pytest.raises(LaminaError) as caught:
        draft(entry_of(line).item)
    assert message in caught.value.message


@every("name", ["user_profile", "UserProfile", "profile"])
@every("wrapper", milton.WRAPPERS)
def test_a_profile_is_a_memory_for_each_key(name: str, wrapper: str) -> None:
    """V1, B5: a profile comes in key by key, with its evidence and its time, as memory that waits
    for a person; preferences may be texts or have names."""
    told = {"name": "Ana", "preferences": ["tea first"], "stable_facts": [], "schedule": None}
    more = {"evidence_ids": ["mem-1"], "last_updated": "2026-01-02T03:04:05"}
    found = milton.entries_of({"record_type": name, wrapper: {**told, **more}})
    assert [entry.item["metadata"]["profile_key"] for entry in found] == ["name", "tea-first"]
    assert [entry.item["metadata"]["value"] for entry in found] == ["Ana", "tea first"]
    for entry in found:
        assert (entry.layer, entry.item["evidence"]) == (Layer.PROFILE, ["record:mem-1"])
        assert entry.item["at"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    (named,) = milton.entries_of({"record_type": name, wrapper: {"preferences": {"drink": "tea"}}})
    assert named.item["metadata"]["profile_key"] == "drink"


@every("name", ["project_memory", "ProjectMemory", "project"])
def test_a_project_is_one_memory(name: str) -> None:
    """P1, B5: the state of a project comes in whole, with its evidence."""
    told = {"project_name": "boat", "goals": ["sail"], "blockers": [], "evidence_ids": ["mem-1"]}
    (entry,) = milton.entries_of({"record_type": name, "payload": told})
    assert entry.item["content"] == "Project boat. Goals: sail."
    assert entry.item["metadata"]["project"] == {
        "project_name": "boat",
        "goals": ["sail"],
        "blockers": [],
        "next_steps": [],
    }
    assert (entry.layer, entry.item["evidence"]) == (Layer.SEMANTIC, ["record:mem-1"])


def test_profiles_and_projects_are_written_whole() -> None:
    """R10, B5: both summaries have all of their fields, and come back as they were written."""
    profile = {"name": "Ana", "preferences": {"drink": "tea"}, "evidence_ids": ["a"]}
    project = {
        "project_name": "boat",
        "goals": ["sail"],
        "blockers": [],
        "next_steps": [],
        "evidence_ids": ["a"],
    }
    for made, given_fields, record_type in (
        (milton.profile_line(profile), profile, "user_profile"),
        (milton.project_line(project), project, "project_memory"),
    ):
        assert made["record_type"] == record_type
        assert tuple(made["payload"]) == milton.PAYLOADS[record_type]
        assert milton.payload_of(made) == (record_type, given_fields)
    with pytest.raises(InvalidInput, match="a project_memory has no field 'name'"):
        milton.project_line({"name": "boat"})


RECORDS = st.fixed_dictionaries(
    {"content": TEXTS.map(lambda text: f"x{text}")},
    optional={
        "kind": st.sampled_from(rules.KINDS),
        "importance": st.floats(0, 1),
        "tags": st.lists(LABELS, max_size=3).map(rules.tags),
        "occurred_at": MOMENTS,
        "source": LABELS,
        "evidence": st.lists(
            st.sampled_from(["./a", "https://x.y", "record:7", "0" * 26]), unique=True
        ).map(tuple),
        "metadata": st.fixed_dictionaries({"request_id": LABELS}),
        "layer": st.sampled_from([Layer.SHORT_TERM, Layer.EPISODIC]),
        "user": st.sampled_from([None, "ana"]),
    },
)


@given(RECORDS)
def test_any_record_comes_back(fields: Mapping[str, Any]) -> None:
    """B5: whatever is written is read as the same memory, as far as a MemoryItem tells it."""
    original = record(**fields)
    line = json.loads(json.dumps(milton.line_of(original)))
    entry = entry_of(line)
    made = draft(entry.item)
    for name in ("content", "kind", "importance", "tags", "occurred_at", "source", "evidence"):
        assert getattr(made, name) == getattr(original, name), name
    assert made.metadata == {"agent": original.agent, **original.metadata}
    assert (entry.id, entry.user) == (original.id, original.user)


def test_our_own_lines_are_read_too() -> None:
    """B5, R1: a line with the names of a record, as an archive has it, needs no form of others."""
    original = record(
        kind="fact",
        tags=("a",),
        metadata={"x": 1},
        speaker="Ana",
        session="s",
        confidence=0.7,
        user="ana",
    )
    entry = entry_of(
        json.loads(json.dumps({**original.to_dict(), "key": None, "event": 3, "salt": "00"}))
    )
    made = draft(entry.item)
    names = (
        "content",
        "kind",
        "importance",
        "tags",
        "metadata",
        "occurred_at",
        "speaker",
        "session",
        "confidence",
        "trust",
    )
    for name in names:
        assert getattr(made, name) == getattr(original, name), name
    assert (entry.id, entry.user, entry.long, entry.layer) == (
        original.id,
        "ana",
        False,
        Layer.SHORT_TERM,
    )
    long = entries.record_entry(
        {**original.to_dict(), "layer": "semantic", "promoted_at": "2026-01-01T00:00:00Z"}
    )
    assert (long.long, long.layer, long.promoted_at) == (
        True,
        Layer.SEMANTIC,
        datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"state": "tombstoned"}, "this record is tombstoned; only active ones are read"),
        ({"state": "constrained"}, "this record is constrained"),
        ({"state": "asleep"}, "unknown state 'asleep'"),
        ({"layer": "working"}, "working memory"),
        ({"layer": "deep"}, "unknown layer 'deep'"),
        ({"score": 9}, "score 9 and importance 0.5 disagree"),
        ({"mood": 1}, "a record has no field 'mood'"),
    ],
)
def test_our_own_lines_that_cannot_come_in(more: dict[str, Any], message: str) -> None:
    """R3, B5: what is not active in its own store does not become active here."""
    with pytest.raises(LaminaError) as caught:
        entries.record_entry({**record().to_dict(), **more})
    assert message in caught.value.message
