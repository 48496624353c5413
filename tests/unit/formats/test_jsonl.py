"""Import of JSONL: what is a memory is taken once, and what is not is reported and kept."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Operator
from lamina.errors import NotFound, Refused, StoreUnavailable
from lamina.formats import jsonl, lines, sky
from lamina.formats.importing import Arrivals
from lamina.formats.rejects import Rejects
from lamina.model.record import Layer, State, Trust
from lamina.store.tables import events
from tests.cases import every
from tests.conftest import FULL, Desk, contents, move, size, verified
from tests.unit.formats.samples import (
    AFTER_LONG,
    AFTER_SHORT,
    BEFORE_PROMOTION,
    ESCALATION,
    MORNING_REPORT,
)
from tests.unit.mirrors.files import archive

GOOD = '{"ts": 1, "content": "good", "importance": 0.5}\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "memories.jsonl"


def read(
    op: Operator, source: Path, content: str | bytes | None = None, *, trusted: bool = False
) -> dict[str, Any]:
    if content is not None:
        source.write_bytes(content.encode() if isinstance(content, str) else content)
    return jsonl.read(
        op._scope.store, source, op._scope.draft, trusted, op.actor, op._scope.clock()
    )


def everything(op: Operator) -> list[Any]:
    """All records, oldest first."""
    return sorted(op.list(states=None, limit=10_000), key=lambda record: record.seq)


def rejected(source: Path) -> bytes:
    return source.with_name(source.name + ".rejected").read_bytes()


def test_the_documents_are_taken_in(op: Operator, source: Path) -> None:
    """B5, R4, R6: both workflows of the schema and both files of the promotion, with kinds, scores,
    times and metadata."""
    report = read(op, source, MORNING_REPORT + ESCALATION + AFTER_SHORT + AFTER_LONG)
    assert report == {
        "mode": "lines",
        "format": "lines",
        "taken": 10,
        "skipped": 0,
        "rejected": [],
        "rejected_count": 0,
        "rejected_file": None,
        "pending": 0,
        "external": 10,
    }
    made = everything(op)
    given_lines = [
        json.loads(line)
        for line in (MORNING_REPORT + ESCALATION + AFTER_SHORT + AFTER_LONG).splitlines()
    ]
    assert [record.content for record in made] == [line["content"] for line in given_lines]
    assert [record.metadata for record in made] == [
        line.get("metadata", {}) for line in given_lines
    ]
    assert [record.layer for record in made] == [Layer.SHORT_TERM] * 8 + [Layer.EPISODIC] * 2
    assert [record.kind for record in made[:7]] == [
        "action",
        "data",
        "action",
        "action",
        "error",
        "error",
        "escalation",
    ]
    assert [record.importance for record in made[4:7]] == [0.6, 0.7, 0.9]
    assert {record.trust for record in made} == {Trust.EXTERNAL}
    assert {record.state for record in made} == {State.ACTIVE}
    assert [record.promoted_at.timestamp() for record in made[8:]] == [1700000100] * 2
    assert made[8].occurred_at.timestamp() == 1699999995
    assert verified(op)


def test_what_was_promoted_keeps_its_place(desk: Desk, source: Path) -> None:
    """L2, V8: long-term lines go where their kind leads; external text never becomes semantic
    memory by itself."""
    line = (
        '{"ts": 1, "content": "likes tea", "score": 9, "committed": true, "tags": ["tea"], '
        '"metadata": {"type": "preference"}}'
    )
    op = desk.operator()
    read(op, source, line)
    read(other := desk.operator("other"), source, line, trusted=True)
    (external,), (trusted,) = everything(op), everything(other)
    assert (external.layer, external.trust, external.metadata) == (
        Layer.EPISODIC,
        Trust.EXTERNAL,
        {"type": "preference"},
    )
    assert (trusted.layer, trusted.trust) == (Layer.SEMANTIC, Trust.OPERATOR)
    assert trusted.metadata == {"type": "preference", "origin": "import", "topic_tags": ["tea"]}
    assert trusted.promoted_at is None


def test_the_flow_of_the_document_goes_on_here(op: Operator, source: Path) -> None:
    """B5: the file before the promotion is short-term memory with its importance and its time."""
    read(op, source, BEFORE_PROMOTION)
    assert [(r.layer, r.importance, r.occurred_at.timestamp()) for r in everything(op)] == [
        (Layer.SHORT_TERM, 0.3, 1699999990),
        (Layer.SHORT_TERM, 0.85, 1699999995),
        (Layer.SHORT_TERM, 0.92, 1700000000),
    ]


def test_what_is_wrong_is_reported_and_kept(op: Operator, source: Path) -> None:
    """B5: malformed, foreign, duplicated and torn lines are named and kept raw beside the file; the
    rest is loaded."""
    bad = [
        b"not json",
        b'{"content": "x", "mood": 1}\r',
        b'{"content": "\xff"}',
        b'{"record_type": "user_profile", "payload": {}}',
    ]
    torn = b'{"content": "to'
    content = b"\n".join(
        [GOOD.encode().strip(), *bad, GOOD.encode().strip(), b'{"content": "better"}', torn]
    )
    report = read(op, source, content)
    assert contents(everything(op)) == ["good", "better"]
    assert (report["taken"], report["skipped"], report["rejected_count"]) == (2, 0, 6)
    assert {entry["file"] for entry in report["rejected"]} == {str(source)}
    told = {entry["line"]: entry["message"] for entry in report["rejected"]}
    assert list(told) == [2, 3, 4, 5, 6, 8]
    for line, message in (
        (2, "not JSON"),
        (3, "no field 'mood'"),
        (4, "not UTF-8"),
        (5, "this profile is empty"),
        (6, "the same as line 1"),
        (8, "the file ends in the middle"),
    ):
        assert message in told[line]
    kept = [line.rstrip(b"\r") for line in (*bad, GOOD.encode().strip(), torn)]
    assert rejected(source) == b"\n".join(kept) + b"\n"
    assert report["rejected_file"] == f"{source}.rejected"
    assert source.read_bytes() == content
    assert verified(op)


def test_rejects_are_private(op: Operator, source: Path) -> None:
    """B6: what was kept aside is for its owner only, whatever the mask of the process."""
    before = os.umask(0)
    try:
        read(op, source, "x\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path(f"{source}.rejected").stat().st_mode) == 0o600


def test_a_second_import_adds_nothing(desk: Desk, op: Operator, source: Path) -> None:
    """B5, L1: importing a file twice stores nothing twice, and keeps nothing aside twice; new lines
    are taken."""
    first = read(op, source, GOOD + "bad\n" + MORNING_REPORT)
    before = size(op), rejected(source)
    again = read(desk.operator(), source)
    assert (first["taken"], first["skipped"]) == (5, 0)
    assert (again["taken"], again["skipped"], again["rejected_count"]) == (0, 5, 1)
    assert (size(op), rejected(source)) == before
    grown = read(op, source, GOOD + "bad\n" + MORNING_REPORT + ESCALATION + "worse\n")
    assert (grown["taken"], grown["skipped"], grown["rejected_count"]) == (3, 5, 2)
    assert rejected(source) == b"bad\nworse\n"


def test_a_line_is_the_same_however_it_is_spelled(op: Operator, source: Path) -> None:
    """B5: the order of names and spaces make no other line; another value does."""
    report = read(
        op, source, '{"content": "x", "ts": 1}\n{"ts":1,"content":"x"}\n{"ts":2,"content":"x"}\n'
    )
    assert (report["taken"], report["rejected"][0]["message"]) == (2, "this is the same as line 1")


def test_duplicates_are_found_across_batches(op: Operator, source: Path) -> None:
    """B5: the first of two equal lines is named, however far back it is."""
    many = [json.dumps({"content": f"memory {n}", "ts": n}) for n in range(3 * jsonl.BATCH)]
    report = read(op, source, "\n".join(["bad", *many, many[3], many[-1]]))
    assert (report["taken"], report["rejected_count"]) == (len(many), 3)
    assert [entry["message"] for entry in report["rejected"][1:]] == [
        "this is the same as line 5",
        f"this is the same as line {len(many) + 1}",
    ]
    assert [record.content for record in everything(op)] == [
        f"memory {n}" for n in range(len(many))
    ]


def test_what_was_forgotten_stays_forgotten(op: Operator, source: Path) -> None:
    """B5: a memory that was set aside after an import is not brought back by the next one."""
    read(op, source, GOOD)
    move(op, everything(op)[0].id, state=State.TOMBSTONED)
    assert read(op, source)["skipped"] == 1
    assert op.list() == []


def test_what_was_archived_does_not_come_twice(op: Operator, source: Path) -> None:
    """B5, L3: a memory that left for the archive is here; importing its file again adds nothing."""
    read(op, source, GOOD + GOOD.replace("good", "better"))
    archive(op, everything(op)[0])
    assert (again := read(op, source))["skipped"] == 2, again
    assert contents(everything(op)) == ["better"]


def test_a_death_before_the_end_of_an_import(
    desk: Desk, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B5: killed after keeping rejects and before the commit, the next import takes everything and
    keeps nothing twice."""
    source.write_text(GOOD + "bad\n")
    child = os.fork()
    if not child:
        try:
            monkeypatch.setattr(Rejects, "make_durable", dying(Rejects.make_durable))
            with Desk(desk.home) as other:
                read(other.operator(), source)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert rejected(source) == b"bad\n"
    op = desk.operator()
    assert size(op) == (0, 0)
    assert read(op, source)["taken"] == 1
    assert rejected(source) == b"bad\n"


def dying(method: Callable[[Rejects], None]) -> Callable[[Rejects], None]:
    """The method, after which the process ends without any cleaning up."""

    def last(rejects: Rejects) -> None:
        method(rejects)
        os._exit(9)

    return last


def test_at_most_a_thousand_are_listed(op: Operator, source: Path) -> None:
    """B5: a file that is wrong all through is reported in bounds, and kept whole."""
    report = read(op, source, "".join(f"bad {n}\n" for n in range(1200)) + GOOD)
    assert (len(report["rejected"]), report["rejected_count"], report["taken"]) == (1000, 1200, 1)
    assert rejected(source) == b"".join(b"bad %d\n" % n for n in range(1200))


def test_a_line_that_is_too_long_is_kept_whole(op: Operator, source: Path) -> None:
    """B5: even a line that no memory could hold is kept to the byte."""
    long = b"x" * (lines.MAX_LINE * 2 + 17)
    report = read(op, source, long + b"\r\n" + GOOD.encode())
    assert (report["taken"], report["rejected_count"]) == (1, 1)
    assert rejected(source) == long + b"\n"
    assert read(op, source)["rejected_count"] == 1
    assert rejected(source) == long + b"\n"


def test_rejects_are_appended_never_overwritten(op: Operator, source: Path) -> None:
    """B5: what somebody else has in that file stays, and a line that was left without an
    end gets one."""
    Path(f"{source}.rejected").write_bytes(b"theirs\nhalf")
    read(op, source, "bad\n")
    assert rejected(source) == b"theirs\nhalf\nbad\n"


def test_without_a_place_for_rejects_nothing_is_imported(op: Operator, source: Path) -> None:
    """B5: when what is wrong cannot be kept, nothing is taken, and the file is as it was."""
    place = Path(f"{source}.rejected")
    place.mkdir()  # a folder, where nothing can be written whoever we are
    with pytest.raises(StoreUnavailable, match="nothing was imported"):
        read(op, source, GOOD + "bad\n")
    assert size(op) == (0, 0)
    place.rmdir()
    assert read(op, source)["taken"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_keeps_everything_as_it_was(
    op: Operator, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B5: rejects that do not get to the disk are an error, and nothing is imported."""
    opened = os.open

    def full(path: Any, flags: int, mode: int = 0o777) -> int:
        return (
            opened("/dev/full", os.O_RDWR)
            if str(path).endswith(".rejected")
            else opened(path, flags, mode)
        )

    source.write_text(GOOD + "bad\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", full)
        with pytest.raises(StoreUnavailable, match="nothing was imported"):
            read(op, source)
    assert size(op) == (0, 0)


def test_a_failed_import_leaves_no_rejects(
    op: Operator, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B5: when the store takes nothing, the file of rejects is as before: gone, or as long
    as it was."""

    def fail(*_: object) -> None:
        raise StoreUnavailable("full")

    for before in (None, b"theirs\n"):
        if before is not None:
            Path(f"{source}.rejected").write_bytes(before)
        with monkeypatch.context() as patch:
            patch.setattr(Arrivals, "flush", fail)
            with pytest.raises(StoreUnavailable):
                read(op, source, "bad\n" + GOOD)
        assert Path(f"{source}.rejected").exists() == (before is not None)
    assert rejected(source) == b"theirs\n"
    assert size(op) == (0, 0)


def test_a_link_in_the_place_of_rejects_is_refused(
    op: Operator, source: Path, tmp_path: Path
) -> None:
    """P2: nothing is written through a link, and nothing imported."""
    (tmp_path / "elsewhere").write_text("")
    Path(f"{source}.rejected").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        read(op, source, GOOD + "bad\n")
    assert (tmp_path / "elsewhere").read_text() == ""
    assert size(op) == (0, 0)


def test_our_own_mirror_brings_nothing_new(op: Operator, source: Path) -> None:
    """B5: a line of a record that is here is skipped; one with another text is reported, and the
    record stays."""
    record = op.remember("tea", kind="fact")
    line = sky.line_of(record)
    assert read(op, source, json.dumps(line))["skipped"] == 1
    report = read(op, source, json.dumps({**line, "content": "coffee"}))
    assert "is here with another text" in report["rejected"][0]["message"]
    assert contents(everything(op)) == ["tea"]


def test_another_store_keeps_where_it_came_from(desk: Desk, source: Path) -> None:
    """B5, P1: a record of elsewhere gets an id of its own, and says which one it had; unknown
    evidence stays as words."""
    op, there = desk.operator(), desk.operator("other")
    first = there.remember("tea")
    second = there.remember("why", evidence=[first.id, "./notes.md"])
    read(op, source, "\n".join(json.dumps(record.to_dict()) for record in (first, second)))
    tea, why = everything(op)
    assert tea.id != first.id
    assert tea.evidence == (f"record:{first.id}",)
    assert why.evidence == (f"record:{first.id}", "./notes.md", f"record:{second.id}")
    known = op.remember("known")
    read(op, source, json.dumps({**second.to_dict(), "evidence": [known.id], "id": "mem-1"}))
    assert everything(op)[-1].evidence == (known.id, "record:mem-1")


def test_whose_memory_it_is_stays(desk: Desk, source: Path) -> None:
    """R12: a line that belongs to a user is that user's after the import, not everybody's."""
    op = desk.operator()
    report = read(
        op, source, '{"content": "secret", "user": "ana"}\n{"content": "x", "user": " "}\n'
    )
    assert (report["taken"], report["rejected"][0]["line"]) == (1, 2)
    assert contents(desk.agent(user="ana").list()) == ["secret"]
    assert desk.agent(user="ben").list() == []


def test_own_layers_need_trust(desk: Desk, source: Path) -> None:
    """V8, R7: an operator who believes a file gets its layers; else everything long-term
    is what happened."""
    there = desk.operator("other")
    made = there.remember(
        "how", layer="procedural", metadata={"workflow": "tea", "canonical": True}
    )
    line = json.dumps(made.to_dict())
    read(op := desk.operator(), source, line)
    read(trusting := desk.operator("third"), source, line, trusted=True)
    assert [everything(handle)[0].layer for handle in (op, trusting)] == [
        Layer.EPISODIC,
        Layer.PROCEDURAL,
    ]
    broken = json.dumps({**made.to_dict(), "metadata": {}})
    assert (
        "needs metadata workflow"
        in read(trusting, source, broken, trusted=True)["rejected"][0]["message"]
    )


def test_trust_is_never_raised(op: Operator, source: Path) -> None:
    """V8: `--trust` believes the operator's file, but a line from the web stays external, and a
    lower trust stays lower."""
    web = {"record_type": "memory_item", "payload": {"content": "a", "source": "web"}}
    own = {"kind": "fact", "content": "b", "trust": "agent"}
    read(op, source, f"{json.dumps(web)}\n{json.dumps(own)}\n", trusted=True)
    assert [record.trust for record in everything(op)] == [Trust.EXTERNAL, Trust.AGENT]


def test_one_action_in_the_trail(op: Operator, source: Path) -> None:
    """P4: the import is in the trail under its name, with the file; one that takes
    nothing leaves nothing."""
    read(op, source, MORNING_REPORT)
    (event,) = events.latest(op._scope.store.database.reader(), 10)
    assert (event.action, event.note, len(event.changes)) == ("import", {"file": str(source)}, 4)
    read(op, source)
    assert len(events.latest(op._scope.store.database.reader(), 10)) == 1


def test_progress_is_shown(op: Operator, source: Path) -> None:
    """B5: who imports is told how far it is, up to the end."""
    source.write_text("".join(json.dumps({"content": f"memory {n}"}) + "\n" for n in range(1200)))
    steps: list[tuple[int, int]] = []
    jsonl.read(
        op._scope.store,
        source,
        op._scope.draft,
        False,
        op.actor,
        op._scope.clock(),
        lambda done, total: steps.append((done, total)),
    )
    assert steps == sorted(steps)
    assert steps[-1] == (source.stat().st_size, source.stat().st_size)
    assert len(steps) == 3


def test_a_missing_file(op: Operator, source: Path) -> None:
    """B5: the error names the file, and nothing is left behind."""
    with pytest.raises(NotFound, match=r"there is no file .*memories\.jsonl"):
        read(op, source)
    assert list(source.parent.glob("*.rejected")) == []


def ours(_: Path, op: Operator) -> bytes:
    op.remember("x", metadata={"format": "lamina-export"})
    return op.export().read_bytes()


@every(
    ("make", "name", "expected"),
    [
        (ours, "export.json", "ours"),
        (
            lambda path, op: json.dumps(json.loads(ours(path, op)), indent=2).encode(),
            "pretty.json",
            "ours",
        ),
        (lambda path, op: json.dumps(json.loads(ours(path, op))).encode(), "one-line.json", "ours"),
        (
            lambda path, op: json.dumps(
                json.loads(ours(path, op)), sort_keys=True, indent=1
            ).encode(),
            "sorted.json",
            "ours",
        ),
        (lambda *_: MORNING_REPORT.encode(), "lines.json", "lines"),
        (lambda *_: b"\xef\xbb\xbf\n\n" + MORNING_REPORT.encode(), "mark.txt", "lines"),
        (lambda *_: b"torn\n" + MORNING_REPORT.encode(), "torn.txt", "lines"),
        (
            lambda *_: b'{"content": "{\\"format\\": \\"lamina-export\\"}"}\n',
            "quoted.json",
            "lines",
        ),
        (
            lambda *_: b'{"content": "x", "metadata": {"format": "lamina-export"}}\n',
            "inside.json",
            "lines",
        ),
        (lambda *_: b"garbage", "torn.jsonl", "lines"),
        (lambda *_: b"garbage", "garbage.json", "ours"),
        (lambda *_: b"", "empty.jsonl", "lines"),
        (lambda *_: b"", "empty.json", "ours"),
    ],
)
def test_forms_are_told_apart(
    op: Operator, tmp_path: Path, make: Callable[..., bytes], name: str, expected: str
) -> None:
    """H5, B5: an export of ours is one however it is laid out; a file of lines is one by its lines,
    or at least its name."""
    path = tmp_path / name
    path.write_bytes(make(path, op))
    assert jsonl.detect(path) == expected


PIECES = st.one_of(
    st.sampled_from(
        [
            *MORNING_REPORT.splitlines(),
            *AFTER_LONG.splitlines(),
            "",
            "{",
            "[]",
            "null",
            '{"content": 5}',
        ]
    ).map(str.encode),
    st.binary(max_size=40).filter(lambda raw: b"\n" not in raw),
    st.dictionaries(
        st.sampled_from(
            [
                "content",
                "ts",
                "type",
                "kind",
                "layer",
                "record_type",
                "payload",
                "tags",
                "metadata",
                "id",
                "user",
            ]
        ),
        st.sampled_from(
            [
                "x",
                5,
                None,
                [],
                ["a"],
                {},
                {"type": "fact"},
                {"content": "y"},
                "long",
                "fact",
                True,
                -1e9,
            ]
        ),
    ).map(lambda line: json.dumps(line).encode()),
)


@given(st.lists(PIECES, max_size=12), st.booleans(), st.sampled_from([b"\n", b"\r\n"]))
@settings(max_examples=300 if FULL else 15)
def test_no_line_is_ever_lost(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], trusted: bool, end: bytes
) -> None:
    """B5: whatever a file holds, each line is a record, was here, or is reported and kept; a second
    time nothing changes."""
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        op, source = desk.operator(), desk.home.with_name("any.jsonl")
        source.unlink(missing_ok=True)
        Path(f"{source}.rejected").unlink(missing_ok=True)
        report = read(op, source, end.join(pieces), trusted=trusted)
        found = list(lines.read(source))
        assert report["taken"] + report["skipped"] + report["rejected_count"] == len(found)
        assert report["taken"] == len(everything(op))
        bad = {entry["line"] for entry in report["rejected"]}
        kept = rejected(source).split(b"\n") if bad else []
        assert all(line.raw in kept for line in found if line.number in bad)
        before = size(op), kept
        again = read(op, source, trusted=trusted)
        assert again["taken"] == 0
        assert (size(op), rejected(source).split(b"\n") if bad else []) == before
        assert verified(op)
