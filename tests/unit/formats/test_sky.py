"""Sky's lines: every one of its two documents is read as it stands, and what is written says the
same in both spellings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, LaminaError
from lamina.formats import entries, sky
from lamina.formats.entries import Entry
from lamina.model import rules
from lamina.model.record import Draft, Layer, iso, score_of
from tests.cases import every, golden
from tests.conftest import TESTER, Desk
from tests.unit.formats.samples import (
    AFTER_LONG,
    AFTER_SHORT,
    BEFORE_PROMOTION,
    ESCALATION,
    LABELS,
    MOMENTS,
    MORNING_REPORT,
    NOW,
    entry_of,
    record,
)
from tests.unit.strategies import JSON, TEXTS

# The documents, word for word.
SHORT_ENTRY = """{
  "timestamp": "2025-11-08T12:34:56.789Z",
  "content": "Generated morning report for 2025-11-08",
  "metadata": {
    "type": "action",
    "tool": "morning_reporter",
    "status": "success"
  },
  "score": 0
}"""
LONG_ENTRY = """{
  "timestamp": "2025-11-08T12:34:56.789Z",
  "content": "User reported improved sleep quality after new bedtime routine",
  "score": 8,
  "metadata": {
    "type": "insight",
    "category": "health",
    "tags": ["sleep", "routine", "improvement"]
  },
  "committed": true
}"""
PIPELINE_ENTRY = """{
     "ts": 1699999999.123,
     "type": "short",
     "content": "User asked about Garmin sleep data",
     "tags": ["garmin", "sleep"],
     "importance": 0.85
   }"""
BLOCKS = (MORNING_REPORT, ESCALATION, BEFORE_PROMOTION, AFTER_SHORT, AFTER_LONG)
DOCUMENTS = [
    *map(json.loads, (SHORT_ENTRY, LONG_ENTRY, PIPELINE_ENTRY)),
    *(json.loads(line) for block in BLOCKS for line in block.splitlines()),
]

draft = rules.Drafter(TESTER).draft


def stored(entry: Entry) -> Draft:
    return draft(entry.item)


@every("line", DOCUMENTS)
def test_every_line_of_the_documents_is_read(line: dict[str, Any]) -> None:
    """B5, R4, R5, R6: content, time, score, kind, tags and tier of every line as the
    documents mean them."""
    entry = entry_of(line)
    made = stored(entry)
    assert made.content == line["content"]
    assert made.importance == (line["importance"] if "importance" in line else line["score"] / 10)
    assert made.kind == line.get("metadata", {}).get("type", "crumb")
    assert made.metadata == line.get("metadata", {})
    assert made.tags == tuple(line.get("tags", line.get("metadata", {}).get("tags", [])))
    assert made.occurred_at is not None
    assert made.occurred_at == entries.moment(line.get("timestamp", line.get("ts")), "time")
    assert entry.long == (line.get("type") == "long" or line.get("committed", False))
    assert (entry.promoted_at is None) == ("promoted_at" not in line)


def test_times_are_exact() -> None:
    """R4: both spellings of the documents, to the microsecond."""
    short, pipeline = DOCUMENTS[0], DOCUMENTS[2]
    assert stored(sky.entry_of(short)).occurred_at == datetime(
        2025, 11, 8, 12, 34, 56, 789_000, UTC
    )
    assert stored(sky.entry_of(pipeline)).occurred_at == datetime(
        2023, 11, 14, 22, 13, 19, 123_000, UTC
    )
    promoted = sky.entry_of(json.loads(AFTER_LONG.splitlines()[0])).promoted_at
    assert promoted == datetime(2023, 11, 14, 22, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"type": "short"}, False),
        ({"type": "long"}, True),
        ({}, False),
        ({"committed": True}, True),
        ({"committed": False}, False),
        ({"promoted_at": 1.5}, True),
        ({"promoted_at": "2025-11-08T07:00:00Z", "committed": True, "type": "long"}, True),
        ({"promoted_at": None, "committed": None, "type": None}, False),
    ],
)
def test_the_tier(more: dict[str, Any], expected: bool) -> None:
    """B5: `type` is the tier; without it a line is short-term unless it was
    committed or promoted."""
    assert sky.entry_of({"content": "x", **more}).long is expected


@every(
    ("more", "message"),
    golden("formats/sky_refused.jsonl"),
)
def test_what_makes_no_sense_is_refused(more: dict[str, Any], message: str) -> None:
    """R4, R5, B5: a line that contradicts itself or says what nobody knows is an error that names
    the value."""
    with pytest.raises(LaminaError) as caught:
        stored(sky.entry_of({"content": "x", **more}))
    assert message in caught.value.message


@every("importance", [0.0, 0.05, 0.1, 0.29, 0.3, 0.57, 0.58, 0.7, 0.699, 0.85, 1.0])
def test_both_spellings_of_importance(importance: float) -> None:
    """R4: score 0–10 and importance 0–1 are one number; both are accepted when they agree."""
    entry = sky.entry_of({"content": "x", "score": score_of(importance), "importance": importance})
    assert stored(entry).importance == importance
    assert stored(
        sky.entry_of({"content": "x", "score": importance * 10})
    ).importance == pytest.approx(importance)
    assert (
        stored(sky.entry_of({"content": "x", "score": 8.5, "importance": 0.85})).importance == 0.85
    )


def test_a_time_without_a_zone_is_in_utc() -> None:
    """R4: the document says that times are UTC, so one without a zone is too; another
    zone is honoured."""
    for text in ("2025-11-08T12:00:00", "2025-11-08T12:00:00Z", "2025-11-08 13:00:00+01:00"):
        assert stored(sky.entry_of({"content": "x", "timestamp": text})).occurred_at == datetime(
            2025, 11, 8, 12, tzinfo=UTC
        )


def test_two_spellings_of_time_may_be_rounded() -> None:
    """R4: `timestamp` and `ts` may differ by less than a second; the text counts."""
    line = {"content": "x", "timestamp": "2025-11-08T12:00:00.789Z", "ts": 1762603200}
    assert stored(sky.entry_of(line)).occurred_at == datetime(2025, 11, 8, 12, 0, 0, 789_000, UTC)


def test_tags_of_both_places_are_joined() -> None:
    """R6, R8: tags at the top and in the metadata are the tags; metadata stays as it was given."""
    line = {"content": "x", "tags": ["A", "b"], "metadata": {"tags": ["B", "c"], "type": "fact"}}
    made = stored(sky.entry_of(line))
    assert made.tags == ("a", "b", "c")
    assert made.metadata == {"tags": ["B", "c"], "type": "fact"}
    odd = {"content": "x", "tags": ["a"], "metadata": {"tags": {"a": 1}}}
    assert (stored(sky.entry_of(odd)).tags, stored(sky.entry_of(odd)).metadata) == (
        ("a",),
        {"tags": {"a": 1}},
    )


def test_a_written_line() -> None:
    """B5, R4: what is written has every name of both documents, and its own id and number."""
    at = datetime(2025, 11, 8, 12, 34, 56, 789_001, UTC)
    fields = {
        "occurred_at": at,
        "kind": "insight",
        "importance": 0.85,
        "tags": ("sleep",),
        "metadata": {"category": "health"},
    }
    common = {
        "timestamp": "2025-11-08T12:34:56.789001Z",
        "ts": 1762605296.789001,
        "content": "tea",
        "tags": ["sleep"],
        "importance": 0.85,
        "score": 8,
        "metadata": {"category": "health", "type": "insight"},
        "id": "0" * 26,
        "seq": 1,
    }
    assert sky.line_of(record(**fields)) == {**common, "type": "short"}
    long = record(**fields, layer=Layer.SEMANTIC, promoted_at=at + timedelta(seconds=1))
    assert sky.line_of(long) == {
        **common,
        "type": "long",
        "committed": True,
        "promoted_at": 1762605297.789001,
    }
    episodic = sky.line_of(record(layer=Layer.EPISODIC, user="ana"))
    assert (episodic["type"], episodic["committed"], episodic["user"]) == ("long", True, "ana")
    assert "promoted_at" not in episodic
    assert list(sky.line_of(record()))[:4] == ["timestamp", "ts", "type", "content"]


RECORDS = st.fixed_dictionaries(
    {"content": TEXTS.map(lambda text: f"x{text}")},
    optional={
        "kind": st.sampled_from(rules.KINDS),
        "importance": st.floats(0, 1),
        "tags": st.lists(LABELS, max_size=3, unique=True).map(lambda tags: rules.tags(tags)),
        "metadata": st.dictionaries(TEXTS.filter(lambda name: name != "tags"), JSON, max_size=3),
        "occurred_at": MOMENTS,
        # Seconds are a number of double precision, which is exact to the microsecond until the year
        # 2242.
        "promoted_at": st.datetimes(
            datetime(1800, 1, 1), datetime(2242, 1, 1), timezones=st.just(UTC)
        ),
        "layer": st.sampled_from([layer for layer in Layer if layer is not Layer.WORKING]),
        "user": st.sampled_from([None, "ana"]),
    },
)


@given(RECORDS)
def test_any_record_comes_back(fields: Mapping[str, Any]) -> None:
    """B5, R4, R6: whatever is written is read as the same memory, to the microsecond and
    the last digit."""
    original = record(**fields)
    line = json.loads(json.dumps(sky.line_of(original)))
    assert entry_of(line) == sky.entry_of(line)
    entry = sky.entry_of(line)
    made = stored(entry)
    for name in ("content", "kind", "importance", "tags", "occurred_at"):
        assert getattr(made, name) == getattr(original, name), name
    assert made.metadata == {**original.metadata, "type": original.kind}
    is_long = original.layer is not Layer.SHORT_TERM
    assert (entry.id, entry.user, entry.long) == (original.id, original.user, is_long)
    assert entry.promoted_at == (original.promoted_at if is_long else None)


LINES = st.fixed_dictionaries(
    {
        "content": TEXTS.map(lambda text: f"x{text}"),
        "metadata": st.fixed_dictionaries({"type": st.sampled_from(rules.KINDS)}),
    },
    optional={
        "timestamp": MOMENTS.map(iso),
        "score": st.integers(0, 10),
        "tags": st.lists(LABELS, max_size=3),
        "committed": st.booleans(),
    },
)


@given(LINES)
def test_any_line_comes_back(line: Mapping[str, Any]) -> None:
    """B5, R6: what a line of Sky says, a line that is written for it says too; its metadata
    to the letter."""
    made = stored(sky.entry_of(line))
    layer = Layer.EPISODIC if sky.entry_of(line).long else Layer.SHORT_TERM
    names = ("content", "kind", "importance", "tags", "metadata")
    again = sky.line_of(
        record(
            **{name: getattr(made, name) for name in names},
            layer=layer,
            occurred_at=made.occurred_at or NOW,
        )
    )
    for name in line.keys() - {"tags", "committed"}:
        assert again[name] == line[name], name
    assert again.get("committed", False) == line.get("committed", False)
    assert again["tags"] == list(rules.tags(line.get("tags", [])))


def test_no_line_is_dropped_for_its_type() -> None:
    """R5: an unknown kind is an error that lists the known ones."""
    with pytest.raises(InvalidInput, match="known are fact, preference, project, decision, crumb"):
        stored(sky.entry_of({"content": "x", "metadata": {"type": "actions"}}))


def test_a_type_that_is_no_kind_is_told_as_lost(desk: Desk, tmp_path: Path) -> None:
    """R5, H5: a kind from `metadata.type` travels in Sky's form and back; another type has no place
    on a line, and the report says so."""
    op = desk.operator()
    op.remember("the kettle leaks", metadata={"type": "error"})
    op.remember("it rains", metadata={"type": "weather"})
    report = op.export_as("sky", tmp_path / "sky.jsonl")
    assert report["lost"]["metadata.type"] == 1
    other = desk.operator("hobbs")
    other.import_(tmp_path / "sky.jsonl", trust=True)
    assert {one.content: one.kind for one in other.list()} == {
        "the kettle leaks": "error",
        "it rains": "crumb",
    }
