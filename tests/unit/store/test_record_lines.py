"""Records as lines: the same record out and in again, and nobody's changes to the files that hold
them unnoticed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Operator
from lamina.errors import Corrupt, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.formats import entries
from lamina.model import hashing
from lamina.model.record import Layer, Record, State, Trust
from lamina.store.tables import record_lines, records
from tests.conftest import Desk, contents, quietly, size, verified
from tests.unit.store.archives import LOW, archived, files, kept, problems
from tests.unit.strategies import JSON, TEXTS

TIMES = st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC))
IDS = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=26, max_size=26)
RECORDS = st.builds(
    Record,
    id=IDS,
    seq=st.integers(1, 2**62),
    agent=st.just("sky"),
    user=st.none() | TEXTS,
    layer=st.sampled_from(Layer),
    state=st.sampled_from(State),
    kind=st.sampled_from(["fact", "crumb"]),
    content=TEXTS,
    importance=st.floats(0, 1).map(lambda value: value + 0.0),
    confidence=st.floats(0, 1).map(lambda value: value + 0.0),
    trust=st.sampled_from(Trust),
    source=st.none() | TEXTS,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    metadata=st.dictionaries(TEXTS, JSON, max_size=3),
    evidence=st.lists(IDS, max_size=2).map(tuple),
    speaker=st.none() | TEXTS,
    session=st.none() | TEXTS,
    run_id=st.none() | IDS,
    occurred_at=TIMES,
    created_at=TIMES,
    updated_at=TIMES,
    promoted_at=st.none() | TIMES,
    valid_from=st.none() | TIMES,
    valid_to=st.none() | TIMES,
    last_verified=st.none() | TIMES,
    supersedes=st.lists(IDS, max_size=2).map(tuple),
    superseded_by=st.none() | IDS,
)


def outcome(verb: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a verb returns, or the typed error that it raises."""
    try:
        return verb(*given, **named)
    except LaminaError as error:
        return error


def is_named(result: Any, name: str) -> bool:
    """Whether this is an error about a file that says which."""
    return isinstance(result, (Corrupt, StoreUnavailable)) and name in result.message


# One line


@given(RECORDS, st.none() | TEXTS, st.integers(1, 2**62), st.binary(min_size=16, max_size=16))
def test_a_line_is_the_whole_record(
    record: Record, key: str | None, event: int, salt: bytes
) -> None:
    """L3, L4, H5: one line of unescaped JSON with the names of R1, from which the very row comes
    back, hash and all."""
    row = (*records.fields_of(record, key), event, salt)
    line = record_lines.line(row, "sky")
    assert line.count(b"\n") == 0
    assert json.loads(line) == json.loads(
        hashing.encode({**record.to_dict(), "key": key, "event": event, "salt": salt.hex()})
    )
    found = record_lines.read(line)
    assert record_lines.row_of(found) == row
    assert records.row_hash(record_lines.row_of(found)[:-2], salt) == records.row_hash(
        row[:-2], salt
    )
    assert record_lines.record_of(found) == record
    assert record_lines.record_of(found, "a:1").archived == "a:1"


@given(RECORDS)
def test_a_line_of_an_archive_tells_its_time_and_tier_as_sky_does(record: Record) -> None:
    """L3, B5: `ts` and `type` stand beside the record, so that a reader of Sky's files can use the
    line; the very row comes back, and a line that says otherwise is no line of ours."""
    row = (*records.fields_of(record, None), 1, bytes(16))
    line = json.loads(record_lines.archive_line(row, "sky"))
    short = record.layer is Layer.SHORT_TERM
    assert (line.pop("ts"), line.pop("type")) == (
        entries.epoch(record.occurred_at),
        "short" if short else "long",
    )
    assert line == json.loads(record_lines.line(row, "sky"))
    assert record_lines.row_of(record_lines.read(record_lines.archive_line(row, "sky"))) == row
    for other in ({"ts": 7.5}, {"type": "long" if short else "short"}, {"type": None}):
        told = {"ts": entries.epoch(record.occurred_at), "type": "short" if short else "long"}
        altered = hashing.encode({**line, **told, **other})
        with pytest.raises(Corrupt):
            record_lines.row_of(record_lines.read(altered))


def test_an_archive_is_a_file_of_sky(desk: Desk, op: Operator) -> None:
    """L3, B5: every line has what both documents of Sky ask for, and another store imports it."""
    archived(op, "tea", "coffee", tags=["drink"])
    (file,) = files(desk)
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert all(
        line.keys() >= {"ts", "type", "content", "tags", "importance", "score", "metadata"}
        for line in found
    )
    assert {line["type"] for line in found} == {"short"}
    assert desk.operator("hobbs").import_(file)["taken"] == 2


def test_old_archives_are_read_and_verified(
    desk: Desk, op: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L3, P4: lines without `ts` and `type`, as earlier versions wrote them, verify, come back, stay
    as they are beside those that do, and pass through an export to the byte."""
    with monkeypatch.context() as before:
        before.setattr(record_lines, "archive_line", record_lines.line)
        tea, _ = archived(op, "tea", "coffee")
    archived(op, "water")
    assert verified(op)
    assert op.get(tea.id).content == "tea"
    assert contents(op.search_archive("coffee")) == ["coffee"]
    op.restore_archived(tea.id)
    old = [line for file in files(desk) for line in file.read_bytes().splitlines()]
    assert ["ts" in json.loads(line) for line in old] == [False, True]
    assert verified(op)
    op.export(tmp_path / "all.json")
    with Desk(tmp_path / "new") as other:
        again = other.operator()
        again.import_(tmp_path / "all.json", trust=True)
        assert verified(again)
        again.export(tmp_path / "again.json")
        assert [line for file in files(other) for line in file.read_bytes().splitlines()] == old
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "all.json").read_bytes()


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode) | JSON.map(hashing.encode))
def test_what_is_no_line_is_corrupt(text: bytes) -> None:
    """P4: whatever stands in a file, reading it gives a record or a typed error."""
    with pytest.raises(Corrupt, match="not a record"):
        record_lines.read(text)


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"metadata":' * 100_000], ids=["lists", "mappings"]
)
def test_a_deep_line_is_corrupt(text: bytes) -> None:
    """P4: no depth makes the reader fall over."""
    with pytest.raises(Corrupt):
        record_lines.read(text)


# Lost and altered


def changed(old: bytes, new: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(file.read_bytes().replace(old, new))


def lines(chosen: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(
        b"".join(chosen(file.read_bytes().splitlines(keepends=True)))
    )


def become_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


ALTERED: dict[str, Callable[[Path], object]] = {
    "gone": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "a folder": become_folder,
    "other text": changed(b"tea", b"tee"),
    "other user": changed(b'"user":null', b'"user":"ben"'),
    "other event": changed(b'"event":1', b'"event":2'),
    "other agent": changed(b'"agent":"sky"', b'"agent":"spy"'),
    "cut off": lambda file: file.write_bytes(file.read_bytes()[:-9]),
    "no JSON": changed(b"{", b"["),
    "no UTF-8": changed(b"tea", b"te\xff"),
    "no time zone": changed(b"Z", b""),
    "other ts": changed(b'"ts":', b'"ts":1'),
    "other type": changed(b'"type":"short"', b'"type":"long"'),
    "odd salt": changed(b'"salt":"', b'"salt":"z'),
    "field added": changed(b'"tags":', b'"x":1,"tags":'),
    "line added": lines(lambda all_of_them: [*all_of_them, all_of_them[0]]),
    "first line removed": lines(lambda all_of_them: all_of_them[1:]),
    "last line removed": lines(lambda all_of_them: all_of_them[:-1]),
    "lines swapped": lines(lambda all_of_them: all_of_them[::-1]),
}


@contextmanager
def altered(file: Path, how: str) -> Iterator[None]:
    """A file as somebody has left it, and afterwards as it was."""
    good = file.read_bytes()
    ALTERED[how](file)
    yield
    if file.is_dir():
        file.rmdir()
    file.write_bytes(good)


def test_altered_files_are_named_by_verification(desk: Desk, op: Operator) -> None:
    """P4: whatever was done to a file of the archive, `audit_verify` says which file it is, and
    nothing else."""
    archived(op, "green tea", "black tea")
    (file,) = files(desk)
    for how in ALTERED:
        with altered(file, how):
            assert [file.name in place for place in problems(op)] == [True], how
    assert verified(op)


def test_reads_give_what_was_archived_or_an_error(desk: Desk, op: Operator) -> None:
    """P4, L4: `get`, a key and `search_archive` give the text as it was, or an error that
    names the file."""
    made = archived(op, "green tea", "black tea", tags=["x"])
    (file,) = files(desk)
    for how in ALTERED:
        with altered(file, how):
            for record in made:
                found = outcome(op.get, record.id)
                assert is_named(found, file.name) or found.content == record.content, how
            for span in ({}, {"since": "2020-01-01T00:00:00Z"}):
                found = outcome(op.search_archive, "tea", **span)
                assert is_named(found, file.name) or set(contents(found)) <= {
                    "green tea",
                    "black tea",
                }, how


def test_nothing_is_restored_from_an_altered_file(desk: Desk, op: Operator) -> None:
    """P4, L4: the error names the file; nothing changes by trying, so that nothing is lost and
    nothing made to look right."""
    made = archived(op, "green tea", "black tea")
    (file,) = files(desk)
    before = size(op)
    for how in ALTERED:
        for record in made:
            with altered(file, how):
                assert is_named(outcome(op.restore_archived, record.id), file.name), how
                assert (size(op), files(desk)) == (before, [] if how == "gone" else [file]), how
    assert verified(op)


def test_an_altered_file_is_not_exported(desk: Desk, op: Operator) -> None:
    """P4, H5: an export holds what was archived; where that is not there any more it is an error,
    not another text."""
    archived(op, "green tea", "black tea")
    (file,) = files(desk)
    for how in ALTERED:
        with altered(file, how):
            assert is_named(outcome(op.export), file.name), how
    assert list((desk.folder() / "exports").iterdir()) == []


def test_any_flipped_bit_is_noticed(desk: Desk, op: Operator) -> None:
    """P4: whichever bit of a file flips, a read gives what was archived, or an error that
    names the file."""
    (record,) = archived(op, "tea", tags=["drink"], metadata={"place": "kitchen"})
    (file,) = files(desk)
    good = file.read_bytes()
    for place in range(0, len(good), 2):
        data = bytearray(good)
        data[place] ^= 1 << place // 2 % 7
        file.write_bytes(data)
        found = outcome(op.get, record.id)
        assert is_named(found, file.name) or (found.content, found.tags) == ("tea", ("drink",))
        found = outcome(op.search_archive, "t", since="2020-01-01T00:00:00Z")
        assert is_named(found, file.name) or all(
            (one.id, one.content) == (record.id, "tea") for one in found
        )
    file.write_bytes(good)
    assert verified(op)


TAMPERED = {
    "user": "UPDATE archived SET user = 'ben' WHERE line = 1",
    "key": "UPDATE archived SET key = 'other' WHERE line = 1",
    "line": "UPDATE archived SET line = 7 WHERE line = 1",
    "start": "UPDATE archived SET start = 1 WHERE line = 1",
    "bytes": "UPDATE archived SET bytes = 1 WHERE line = 1",
    "hash": "UPDATE archived SET hash = zeroblob(32) WHERE line = 1",
    "event": "UPDATE archived SET event = 1 WHERE line = 1",
    "id": "UPDATE archived SET id = 'x' WHERE line = 1",
    "archive": "UPDATE archived SET archive = 9 WHERE line = 1",
    "deleted": "DELETE FROM archived WHERE line = 1",
    "forged": (
        "INSERT INTO archived SELECT 'x', user, NULL, archive, 3, start, bytes, hash, event "
        "FROM archived WHERE line = 1"
    ),
    "why": "UPDATE archives SET why = 'x'",
    "when": "UPDATE archives SET made_at = 1",
    "lines": "UPDATE archives SET lines = 9",
    "digest": "UPDATE archives SET sha256 = zeroblob(32)",
    "file": "UPDATE archives SET file = 'archive/other.jsonl'",
    "file outside": "UPDATE archives SET file = '../../x.jsonl'",
    "file elsewhere": "UPDATE archives SET file = '/etc/passwd'",
    "file that is bytes": "UPDATE archives SET file = CAST(x'ff61' AS TEXT)",
    "id that is bytes": "UPDATE archived SET id = CAST(x'ff61' AS TEXT) WHERE line = 1",
    "number": "UPDATE archives SET number = 9",
    "no archives": "DELETE FROM archives",
    "archive added": (
        "INSERT INTO archives SELECT 2, 'archive/y.jsonl', why, lines, sha256, made_at FROM "
        "archives"
    ),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with two archived records, and the id of the first."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    with Desk(home) as desk:
        record, _ = archived(desk.operator(), "green tea", "black tea")
    return home, record.id


@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_index_is_noticed(prepared: tuple[Path, str], desk: Desk, how: str) -> None:
    """P4: a change of any column of the archive's index behind our back is reported, and no verb
    fails without a type."""
    home, record_id = prepared
    shutil.copytree(home, desk.home)
    quietly(desk.folder() / "memory.db", TAMPERED[how])
    op = desk.operator()
    assert problems(op)
    found = outcome(op.get, record_id)
    assert isinstance(found, (Corrupt, NotFound)) or found.content == "green tea"
    for verb in (op.status, op.archives, op.export):
        outcome(verb)
    outcome(op.search_archive, "tea")


def test_links_are_not_followed(desk: Desk, op: Operator, tmp_path: Path) -> None:
    """P3: a link in the place of a file or of the folder is refused by every read, and
    reported by `audit_verify`."""
    (record,) = archived(op, "tea")
    (file,) = files(desk)
    for place in (file, file.parent):
        outside = tmp_path / place.name
        place.rename(outside)
        place.symlink_to(outside)
        verbs: list[tuple[Callable[..., Any], str]] = [
            (op.get, record.id),
            (op.search_archive, "tea"),
        ]
        for verb, argument in (*verbs, (op.restore_archived, record.id)):
            assert isinstance(outcome(verb, argument), Refused)
        assert isinstance(outcome(op.export), Refused)
        assert problems(op), place
        place.unlink()
        outside.rename(place)
    assert verified(op)


def test_nothing_is_archived_through_a_link(desk: Desk, op: Operator, tmp_path: Path) -> None:
    """P3: memories do not leave for where a link leads."""
    (tmp_path / "elsewhere").mkdir()
    (desk.folder() / "archive").symlink_to(tmp_path / "elsewhere")
    op.remember("tea", importance=LOW)
    with pytest.raises(Refused, match="symbolic link"):
        op.prune(importance_below=0.2)
    assert contents(op.list()) == ["tea"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


# Backups


def test_a_backup_holds_the_archive(desk: Desk, op: Operator) -> None:
    """B7: the files of the archive are in it, and come back with it, whatever became of them."""
    record, other = archived(op, "green tea", "black tea")
    (file,) = files(desk)
    made = op.backup()
    assert (made / "archive" / file.name).read_bytes() == file.read_bytes()
    assert f"archive/{file.name}" in json.loads((made / "manifest.json").read_bytes())["files"]
    op.restore_archived(record.id)
    op.restore(made)
    assert contents(op.search_archive("tea")) == ["black tea", "green tea"]
    assert op.get(other.id).archived == f"archive/{file.name}:2"
    assert verified(op)


@pytest.mark.parametrize("how", ["gone", "other text", "empty"])
def test_a_backup_brings_lost_files_back(desk: Desk, op: Operator, how: str) -> None:
    """B7: this is what the error about a lost file advises."""
    (record,) = archived(op, "tea")
    (file,) = files(desk)
    made = op.backup()
    ALTERED[how](file)
    op.restore(made)
    assert op.get(record.id).content == "tea"
    assert verified(op)


def test_a_restored_backup_leaves_no_memory_twice(desk: Desk, op: Operator) -> None:
    """B7, L3: what was archived after the backup is in the store again, so it lies in no file of
    the archive any more."""
    op.remember("tea", importance=LOW)
    made = op.backup()
    op.prune(importance_below=0.2)
    kept_aside = Path(op.restore(made)["kept"])
    assert contents(op.list()) == ["tea"]
    assert kept(desk) == []
    op.restore(kept_aside)
    assert (contents(op.list()), kept(desk)) == ([], ["tea"])
    assert verified(op)


def test_what_a_restore_keeps_is_whole(desk: Desk, op: Operator) -> None:
    """B7: also when both stores have a file of the same name, as while the clock stands still, each
    comes back with its own."""
    desk.clock.step *= 0
    (record,) = archived(op, "tea")
    made = op.backup()
    op.restore_archived(record.id)
    op.remember("coffee", importance=LOW)
    op.prune(importance_below=0.2)
    assert kept(desk) == ["tea", "coffee"]
    kept_aside = Path(op.restore(made)["kept"])
    assert kept(desk) == ["tea"]
    op.restore(kept_aside)
    assert kept(desk) == ["tea", "coffee"]
    assert verified(op)


def test_a_lost_file_is_no_obstacle_to_a_restore(desk: Desk, op: Operator) -> None:
    """B7: a file that is gone and newer than the backup does not keep anybody from going
    back to that."""
    op.remember("tea", importance=LOW)
    made = op.backup()
    op.prune(importance_below=0.2)
    files(desk)[0].unlink()
    op.restore(made)
    assert contents(op.list()) == ["tea"]
    assert verified(op)


def test_a_backup_without_a_file_says_which(desk: Desk, op: Operator) -> None:
    """B7: a backup that would be incomplete is an error that names what is missing, and leaves
    nothing behind."""
    archived(op, "tea")
    (file,) = files(desk)
    file.unlink()
    assert is_named(outcome(op.backup), file.name)
    assert list((desk.folder() / "backups").iterdir()) == []


def test_a_backup_is_not_put_back_through_a_link(desk: Desk, op: Operator, tmp_path: Path) -> None:
    """P3, B7: the archive of a backup does not go to where a link leads."""
    archived(op, "tea")
    made = op.backup()
    (desk.folder() / "archive").rename(tmp_path / "old")
    (tmp_path / "elsewhere").mkdir()
    (desk.folder() / "archive").symlink_to(tmp_path / "elsewhere")
    assert isinstance(outcome(op.restore, made), Refused)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["../../x.jsonl", "/tmp/x.jsonl", "archive/../../../x.jsonl"])
def test_a_forged_backup_leads_nowhere(desk: Desk, op: Operator, name: str) -> None:
    """P3, B7: a manifest that names files elsewhere is refused, and nothing is written there."""
    archived(op, "tea")
    made = op.backup()
    manifest = json.loads((made / "manifest.json").read_bytes())
    manifest["files"][name] = "00" * 32
    (made / "manifest.json").write_text(json.dumps(manifest))
    assert isinstance(outcome(op.restore, made), Corrupt)
    assert not (desk.folder() / name).exists()
