"""The worked examples of the users' documents, as they stand there."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina import Memory
from lamina.formats import sky
from lamina.mirrors.jsonl import JsonlMirror
from lamina.mirrors.sync import sync
from lamina.model.record import Layer
from tests.conftest import START, Desk, contents, verified
from tests.unit.formats.samples import (
    AFTER_LONG,
    AFTER_SHORT,
    BEFORE_PROMOTION,
    ESCALATION,
    MORNING_REPORT,
)

LONG_TERM = ("episodic", "semantic", "procedural", "profile", "world")
STATUS = """{
  "ts": 1700000100.456,
  "action": "memory_rotate_check",
  "detail": {
    "ok": true,
    "promoted": 12,
    "rotated": false,
    "remaining": 247,
    "threshold": 0.7
  }
}"""
# Of the same document: what a memory is worth, and whether that is promoted.
SCORING = (
    ("User said hello", ["greeting"], 0.3),
    ("User wants daily Garmin reports at 7am with TTS", ["garmin"], 0.9),
)
GREP = shutil.which("grep")


def take(mem: Memory, block: str) -> None:
    """Remember the lines of a document."""
    mem.remember_many([sky.entry_of(json.loads(line)).item for line in block.splitlines()])


def lines(block: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in block.splitlines()]


def written(desk: Desk, mem: Memory, like: str) -> dict[str, list[dict[str, Any]]]:
    """What the live files hold, as far as the document speaks of it."""
    folder = desk.folder() / "jsonl"
    sync(mem._scope.store, JsonlMirror(folder, "sky"))
    fields = {name for line in lines(like) for name in line} | {"promoted_at"}
    found = {}
    for name in ("short_term", "long_term"):
        whole = lines((folder / f"{name}.jsonl").read_text("utf-8"))
        found[name] = [
            {field: value for field, value in line.items() if field in fields} for line in whole
        ]
    return found


def test_the_example_promotion_flow(desk: Desk) -> None:
    """L2, L5: the three entries of the document at 0.70: what both files hold before and
    after, and `promoted_at`."""
    desk.clock.step *= 0
    desk.clock.set(datetime.fromtimestamp(1700000050, UTC))
    mem = desk.agent()
    take(mem, BEFORE_PROMOTION)
    assert written(desk, mem, BEFORE_PROMOTION) == {
        "short_term": lines(BEFORE_PROMOTION),
        "long_term": [],
    }
    desk.clock.set(datetime.fromtimestamp(1700000100, UTC))
    assert mem.run_once() == {
        "ok": True,
        "promoted": 2,
        "rotated": False,
        "remaining": 1,
        "threshold": 0.7,
    }
    assert written(desk, mem, BEFORE_PROMOTION) == {
        "short_term": lines(AFTER_SHORT),
        "long_term": lines(AFTER_LONG),
    }
    assert contents(mem.list(layers=["short_term"])) == ["trivial note"]
    assert contents(mem.list(layers=LONG_TERM)) == ["critical decision", "important insight"]
    assert {record.promoted_at for record in mem.list(layers=LONG_TERM)} == {
        datetime.fromtimestamp(1700000100, UTC)
    }


def test_what_was_promoted_is_embedded(mem: Memory) -> None:
    """L2, Q4: the document's RAG store holds both promoted entries, and not the trivial one."""
    take(mem, BEFORE_PROMOTION)
    mem.run_once()
    assert contents(mem.recall_similar("insight", 5))[0] == "important insight"
    assert contents(mem.recall_similar("decision", 5))[0] == "critical decision"
    assert "trivial note" not in contents(mem.recall_similar("note", 5))


def test_the_status_file_of_the_document(desk: Desk) -> None:
    """L5: `status/sky_last_action.json` has exactly the document's fields, with values of
    the same types."""
    mem = desk.agent()
    take(mem, BEFORE_PROMOTION)
    desk.clock.step *= 0
    desk.clock.set(datetime.fromtimestamp(1700000100.456, UTC))
    done = mem.run_once()
    told = json.loads((desk.home / "status" / "sky_last_action.json").read_text("utf-8"))
    document = json.loads(STATUS)
    assert told == {**document, "detail": {**document["detail"], "promoted": 2, "remaining": 1}}
    assert told["detail"] == done
    assert list(done) == list(document["detail"])


def test_the_example_usage(mem: Memory) -> None:
    """L1, L2: of the document's two calls of `remember_short` the important one is promoted."""
    for content, tags, importance in SCORING:
        mem.remember_short(content, tags=tags, importance=importance)
    assert mem.run_once()["promoted"] == 1
    assert contents(mem.list(layers=LONG_TERM)) == [
        "User wants daily Garmin reports at 7am with TTS"
    ]


def test_the_morning_report_workflow(desk: Desk) -> None:
    """L2, R4: none of the first workflow's entries reaches a score of 7, so all of them stay."""
    mem = desk.agent(settings={"preset": "sky"})
    take(mem, MORNING_REPORT)
    assert mem.run_once()["promoted"] == 0
    assert [record.score for record in mem.list(layers=["short_term"])] == [2, 3, 4, 2]


def test_the_escalation_workflow(desk: Desk) -> None:
    """L2, R4, R6: of the second workflow 7 and 9 are promoted, 6 is not; what metadata says stays
    as it was."""
    mem = desk.agent(settings={"preset": "sky"})
    take(mem, ESCALATION)
    assert mem.run_once()["promoted"] == 2
    promoted = mem.list(layers=LONG_TERM)
    assert contents(promoted) == ["Escalated Garmin failure to Aegis", "Retry attempt 1 failed"]
    assert [(record.kind, record.layer, record.score) for record in promoted] == [
        ("escalation", Layer.EPISODIC, 9),
        ("error", Layer.EPISODIC, 7),
    ]
    assert [dict(record.metadata) for record in promoted] == [
        line["metadata"] for line in lines(ESCALATION)[:0:-1]
    ]
    assert contents(mem.list(layers=["short_term"])) == [
        "Garmin downloader failed: connection timeout"
    ]


@pytest.mark.parametrize("place", [0, 50, 100])
def test_101_entries_under_the_preset_sky(desk: Desk, place: int) -> None:
    """L2, L3: the one entry of score 7 is promoted before pruning, wherever it stands; then a
    hundred remain, none pruned."""
    mem = desk.agent(settings={"preset": "sky"})
    mem.remember_many(
        [{"content": f"entry {n}", "score": 7 if n == place else 6} for n in range(101)]
    )
    assert mem.run_once() == {
        "ok": True,
        "promoted": 1,
        "rotated": False,
        "remaining": 100,
        "threshold": 0.7,
    }
    assert contents(mem.list(layers=LONG_TERM)) == [f"entry {place}"]
    assert not (desk.folder() / "memory").exists()


def test_above_a_hundred_the_oldest_are_pruned(desk: Desk) -> None:
    """L3: under the preset `sky`, first in first out into
    `memory/short_term_archive_{timestamp}.jsonl`, and not away."""
    op = desk.operator(settings={"preset": "sky"})
    op.remember_many([{"content": f"entry {n}", "score": 7 if n == 1 else 2} for n in range(104)])
    assert op.run_once() == {
        "ok": True,
        "promoted": 1,
        "rotated": True,
        "remaining": 100,
        "threshold": 0.7,
    }
    (file,) = (desk.folder() / "memory").iterdir()
    assert file.name.startswith("short_term_archive_")
    assert [line["content"] for line in lines(file.read_text("utf-8"))] == [
        "entry 0",
        "entry 2",
        "entry 3",
    ]
    assert contents(op.list(layers=["short_term"], limit=200))[::99] == ["entry 103", "entry 4"]
    assert verified(op)


@pytest.mark.skipif(GREP is None, reason="there is no grep here")
def test_grep_and_archive_search_find_the_same_lines(desk: Desk) -> None:
    """L4: `grep -i garmin` over the archives finds what `search_archive("garmin")` finds, file by
    file, line by line."""
    op = desk.operator(settings={"preset": "sky"})
    words = (
        "Garmin sleep data",
        "nothing of note",
        "GARMIN",
        "ask garmin's support",
        "gar min",
        "日本 garmin 😀",
    )
    for start in range(3):
        op.remember_many(
            [{"content": f"{words[n % 6]} {n}", "score": 1} for n in range(start, 60 + start)]
        )
        op.remember_many(
            [
                {"content": f"tagged {n}", "score": 1, "tags": ["Garmin"] * (n % 3)}
                for n in range(60)
            ]
        )
        op.remember(
            "in metadata",
            score=1,
            metadata={"tool": "garmin_sleep_downloader", "deep": [{"x": "a"}]},
        )
        desk.clock.jump(timedelta(minutes=10))
        op.run_once()
    folder = desk.folder() / "memory"
    assert len(list(folder.iterdir())) == 3
    command = [
        str(GREP),
        "-r",
        "-i",
        "-n",
        "--include=short_term_archive_*.jsonl",
        "garmin",
        str(folder),
    ]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    grepped = {":".join(line.split(":", 2)[:2]) for line in answer.stdout.splitlines()}
    found = op.search_archive("garmin", limit=10_000)
    assert {f"{desk.folder()}/{record.archived}" for record in found} == grepped
    assert len(found) == len(grepped) > 100


def test_an_archive_is_searched_by_time(desk: Desk) -> None:
    """L4: the archive search that the document promises for later versions also takes a
    span of time."""
    op = desk.operator()
    take(op, MORNING_REPORT)
    op.remember("Garmin again", score=1, at=START)
    op.prune(layers=["short_term"])
    assert contents(op.search_archive("garmin", until="2026-01-01T00:00:00Z")) == [
        "Garmin sleep data retrieved: 7h 23m"
    ]
    assert contents(op.search_archive("garmin", since="2026-01-01T00:00:00Z")) == ["Garmin again"]
