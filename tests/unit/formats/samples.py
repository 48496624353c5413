"""Lines of the documents of users, and a record to write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from msgspec import structs

from lamina.formats import jsonl
from lamina.formats.entries import Entry
from lamina.model.record import Layer, Record, State, Trust

MORNING_REPORT = """\
{"timestamp": "2025-11-08T07:00:00Z", "content": "Morning report workflow initiated", "score": 2, "metadata": {"type": "action", "workflow": "morning_briefing"}}
{"timestamp": "2025-11-08T07:00:05Z", "content": "Garmin sleep data retrieved: 7h 23m", "score": 4, "metadata": {"type": "data", "source": "garmin"}}
{"timestamp": "2025-11-08T07:00:10Z", "content": "Morning report generated successfully", "score": 3, "metadata": {"type": "action", "tool": "morning_reporter"}}
{"timestamp": "2025-11-08T07:00:15Z", "content": "TTS audio rendered", "score": 2, "metadata": {"type": "action", "tool": "tts_morning_cli"}}
"""
ESCALATION = """\
{"timestamp": "2025-11-08T07:00:00Z", "content": "Garmin downloader failed: connection timeout", "score": 6, "metadata": {"type": "error", "tool": "garmin_sleep_downloader"}}
{"timestamp": "2025-11-08T07:00:05Z", "content": "Retry attempt 1 failed", "score": 7, "metadata": {"type": "error", "retry": 1}}
{"timestamp": "2025-11-08T07:00:10Z", "content": "Escalated Garmin failure to Aegis", "score": 9, "metadata": {"type": "escalation", "escalated_to": "Aegis"}}
"""
BEFORE_PROMOTION = """\
{"ts": 1699999990, "type": "short", "content": "trivial note", "importance": 0.3}
{"ts": 1699999995, "type": "short", "content": "important insight", "importance": 0.85}
{"ts": 1700000000, "type": "short", "content": "critical decision", "importance": 0.92}
"""
AFTER_SHORT = """\
{"ts": 1699999990, "type": "short", "content": "trivial note", "importance": 0.3}
"""
AFTER_LONG = """\
{"ts": 1699999995, "type": "long", "content": "important insight", "importance": 0.85, "promoted_at": 1700000100}
{"ts": 1700000000, "type": "long", "content": "critical decision", "importance": 0.92, "promoted_at": 1700000100}
"""
MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC))
LABELS = st.text(st.characters(categories=("Ll", "N")), min_size=1, max_size=8)
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def entry_of(line: Mapping[str, Any]) -> Entry:
    """The only memory of a line of Sky, Milton or Lamina."""
    (entry,) = jsonl.entries_of(line)
    return entry


# A record with everything at its default that a line does not tell.
PLAIN = Record(
    id="0" * 26,
    seq=1,
    agent="sky",
    user=None,
    layer=Layer.SHORT_TERM,
    state=State.ACTIVE,
    kind="crumb",
    content="tea",
    importance=0.5,
    confidence=1.0,
    trust=Trust.AGENT,
    source=None,
    tags=(),
    metadata={},
    evidence=(),
    speaker=None,
    session=None,
    run_id=None,
    occurred_at=NOW,
    created_at=NOW,
    updated_at=NOW,
)


def record(**fields: Any) -> Record:
    return structs.replace(PLAIN, **fields)
