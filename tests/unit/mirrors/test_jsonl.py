"""The live JSONL files: private, in order, appended where that is enough, and repaired when
somebody touched them."""

from __future__ import annotations

import json
import os
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.mirrors import Damaged, Position
from lamina.mirrors.jsonl import LONG, POSITION, SHORT, JsonlMirror
from lamina.mirrors.sync import sync
from lamina.model.clock import moment
from lamina.model.record import Layer, State
from tests.cases import every
from tests.conftest import move
from tests.contract.mirrors import FIRST, SECOND, made
from tests.unit.formats.samples import AFTER_LONG, AFTER_SHORT, BEFORE_PROMOTION
from tests.unit.mirrors.files import files, rebuilt

FAR = "2023-11-14T22:15:00Z"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def told(path: Path, document: str) -> bool:
    """Whether a file says what a file of the document says, line by line, beside whatever
    else it says."""
    expected = [json.loads(line) for line in document.splitlines()]
    found = lines(path)
    return len(found) == len(expected) and all(
        line.items() >= part.items() for line, part in zip(found, expected, strict=True)
    )


def test_the_flow_of_the_document(op: Operator, tmp_path: Path) -> None:
    """B5, L2: both files before and after the promotion hold what the document
    shows, `promoted_at` included."""
    for line in BEFORE_PROMOTION.splitlines():
        op.remember(
            **{
                name: value
                for name, value in json.loads(line).items()
                if name in ("ts", "content", "importance")
            }
        )
    sync(op._scope.store, JsonlMirror(tmp_path))
    assert told(tmp_path / SHORT, BEFORE_PROMOTION)
    assert files(tmp_path)[1] == b""
    for record in op.list(limit=10):
        if record.importance >= 0.7:
            move(op, record.id, layer=Layer.EPISODIC, promoted_at=moment(FAR))
    sync(op._scope.store, JsonlMirror(tmp_path))
    assert told(tmp_path / SHORT, AFTER_SHORT)
    assert told(tmp_path / LONG, AFTER_LONG)


def test_files_are_private(tmp_path: Path) -> None:
    """B6: the folder, both files and the position are for their owner only, appended or written
    anew, whatever the mask."""
    before = os.umask(0)
    try:
        mirror = JsonlMirror(tmp_path / "a" / "jsonl")
        for number, position in enumerate((FIRST, SECOND), 1):
            mirror.put([made(number), made(10 + number, layer=Layer.WORLD)])
            mirror.drop([made(1).id] if position is SECOND else [])
            mirror.commit(position)
    finally:
        os.umask(before)
    folder = tmp_path / "a" / "jsonl"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
        SHORT: 0o600,
        LONG: 0o600,
        POSITION: 0o600,
    }


def test_new_lines_are_appended(tmp_path: Path) -> None:
    """B5: a file that only grows stays the same file, so that `tail -f` goes on; one that loses a
    line is another."""
    mirror = JsonlMirror(tmp_path)
    mirror.put([made(1), made(2, layer=Layer.EPISODIC)])
    mirror.commit(FIRST)
    before = [(tmp_path / name).stat().st_ino for name in (SHORT, LONG)]
    mirror.put([made(4), made(3)])
    mirror.commit(SECOND)
    assert [(tmp_path / name).stat().st_ino for name in (SHORT, LONG)] == before
    assert [line["seq"] for line in lines(tmp_path / SHORT)] == [1, 3, 4]
    with (tmp_path / SHORT).open(
        "rb"
    ) as reader:  # whoever has the old file open still reads all of it
        mirror.drop([made(3).id])
        mirror.commit(FIRST)
        assert len(reader.read().splitlines()) == 3
    assert [line["seq"] for line in lines(tmp_path / SHORT)] == [1, 4]
    assert (tmp_path / LONG).stat().st_ino == before[1]


def test_lines_keep_their_order(tmp_path: Path) -> None:
    """B5: whatever comes late or moves, each file is in the order of `seq`."""
    mirror = JsonlMirror(tmp_path)
    mirror.put([made(n) for n in (5, 1, 3)])
    mirror.commit(FIRST)
    mirror.put([made(2), made(6), made(3, layer=Layer.EPISODIC)])
    mirror.commit(SECOND)
    assert [line["seq"] for line in lines(tmp_path / SHORT)] == [1, 2, 5, 6]
    assert [line["seq"] for line in lines(tmp_path / LONG)] == [3]


def test_what_a_crash_left_is_cut_off(op: Operator, tmp_path: Path) -> None:
    """B7: bytes behind the last commit were never acknowledged; the next sync removes them."""
    op.remember("tea")
    sync(op._scope.store, JsonlMirror(tmp_path / "m"))
    with (tmp_path / "m" / SHORT).open("ab") as file:
        file.write(b'{"content": "half a li')
    op.remember("coffee")
    assert not sync(op._scope.store, JsonlMirror(tmp_path / "m")).rebuilt
    assert files(tmp_path / "m") == rebuilt(op, tmp_path / "new")


@every(
    "harm",
    [
        lambda folder: (folder / SHORT).unlink(),
        lambda folder: (folder / LONG).unlink(),
        lambda folder: os.truncate(folder / SHORT, 10),
        lambda folder: (folder / POSITION).unlink(),
        lambda folder: (folder / POSITION).write_bytes(b"{"),
        lambda folder: (folder / POSITION).write_bytes(
            b'{"position": {"store": "x"}, "form": "sky", "sizes": {}}'
        ),
        lambda folder: (folder / SHORT).write_bytes(b"x" * (folder / SHORT).stat().st_size),
        lambda folder: (folder / SHORT).write_bytes(b"{}\n" * (folder / SHORT).stat().st_size),
        lambda folder: [path.unlink() for path in folder.iterdir()],
    ],
)
@every("hidden", [True, False])
def test_what_somebody_did_is_repaired(
    op: Operator, tmp_path: Path, harm: Any, hidden: bool
) -> None:
    """B7: a file that was deleted, cut or overwritten is made anew with the next change, from the
    store alone."""
    tea, _ = op.remember("tea"), op.remember("coffee", layer="world")
    sync(op._scope.store, JsonlMirror(tmp_path / "m"))
    harm(tmp_path / "m")
    if hidden:
        move(op, tea.id, state=State.TOMBSTONED)
    else:
        op.remember("juice")
    assert sync(op._scope.store, JsonlMirror(tmp_path / "m")).rebuilt
    assert files(tmp_path / "m") == rebuilt(op, tmp_path / "new")
    assert not sync(op._scope.store, JsonlMirror(tmp_path / "m")).rebuilt


def test_another_form_is_another_mirror(op: Operator, tmp_path: Path) -> None:
    """B5: when the setting changes the form, the files are written anew in it."""
    op.remember("tea")
    sync(op._scope.store, JsonlMirror(tmp_path, "sky"))
    assert sync(op._scope.store, JsonlMirror(tmp_path, "milton")).rebuilt
    assert [line["record_type"] for line in lines(tmp_path / SHORT)] == ["memory_item"]


def test_milton_lines_are_for_readers_of_either_wrapper(op: Operator, tmp_path: Path) -> None:
    """B5, H7: a line has `payload` and `data`; files of an earlier version, which have only
    `payload`, are written anew once."""
    op.remember("tea")
    sync(op._scope.store, JsonlMirror(tmp_path, "milton"))
    whole = (tmp_path / SHORT).read_bytes()
    line = json.loads(whole)
    assert line["data"] == line["payload"]
    del line["data"]
    old = json.dumps(line).encode() + b"\n"
    (tmp_path / SHORT).write_bytes(old)
    position = json.loads((tmp_path / POSITION).read_bytes())
    position["sizes"][SHORT], position["form"] = len(old), "milton"
    (tmp_path / POSITION).write_text(json.dumps(position))
    assert sync(op._scope.store, JsonlMirror(tmp_path, "milton")).rebuilt
    assert (tmp_path / SHORT).read_bytes() == whole
    assert not sync(op._scope.store, JsonlMirror(tmp_path, "milton")).rebuilt


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    """H5: the error lists the forms that there are."""
    with pytest.raises(InvalidInput, match="unknown form 'csv' of JSONL; known are sky, milton"):
        JsonlMirror(tmp_path, "csv")


@pytest.mark.parametrize("name", [SHORT, LONG, POSITION])
def test_links_are_refused(tmp_path: Path, name: str) -> None:
    """P2: nothing is written through a link, neither at a file nor at the folder."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "m"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / name).write_bytes(b"")
    (folder / name).symlink_to(elsewhere / name)
    (tmp_path / "link").symlink_to(elsewhere)
    for place in (folder, tmp_path / "link"):
        with pytest.raises(Refused, match="symbolic link"):
            JsonlMirror(place).put([made(1)])
    assert (elsewhere / name).read_bytes() == b""
    assert [path.name for path in elsewhere.iterdir()] == [name]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """B7: a mirror that has no place is a typed error, and the old files stay."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable):
        JsonlMirror(tmp_path / "file" / "m").put([made(1)])
    mirror = JsonlMirror(tmp_path / "m")
    mirror.put([made(1)])
    mirror.commit(FIRST)
    (tmp_path / "m" / f".{SHORT}.tmp").mkdir()
    mirror.drop([made(1).id])
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        mirror.commit(SECOND)
    assert JsonlMirror(tmp_path / "m").position() == FIRST
    assert len(lines(tmp_path / "m" / SHORT)) == 1


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    """B7: a mirror that another process has written to meanwhile is called damaged,
    not guessed about."""
    one, other = JsonlMirror(tmp_path), JsonlMirror(tmp_path)
    one.put([made(1)])
    one.commit(FIRST)
    assert one.position() == other.position() == FIRST
    other.put([made(2)])
    other.commit(SECOND)
    one.put([made(3)])
    with pytest.raises(Damaged):
        one.commit(SECOND)
    assert [line["seq"] for line in lines(tmp_path / SHORT)] == [1, 2]


def test_memory_is_bounded(tmp_path: Path) -> None:
    """B7: large texts are not held while they wait, nor when a file is written anew."""
    mirror, text = JsonlMirror(tmp_path), "x" * 500_000
    tracemalloc.start()
    for number in range(60):
        mirror.put([made(number, text)])
    mirror.commit(FIRST)
    mirror.drop([made(3).id])
    mirror.commit(SECOND)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / SHORT).stat().st_size > 59 * 500_000
    assert peak < 10_000_000


def test_positions_are_plain(tmp_path: Path) -> None:
    """B7: beside the files lies what they hold: store, event, form and sizes."""
    mirror = JsonlMirror(tmp_path)
    mirror.put([made(1)])
    mirror.commit(Position("store", 7, "ab"))
    assert json.loads((tmp_path / POSITION).read_bytes()) == {
        "position": {"store": "store", "event": 7, "hash": "ab"},
        "form": "sky",
        "sizes": {SHORT: (tmp_path / SHORT).stat().st_size, LONG: 0},
    }
