"""ChromaDB in a folder of ours: it takes nothing that is not its own, survives crashes, and keeps
nothing that was erased."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.embedders import VectorsOnly, wordllama
from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.mirrors import MirrorRequest, Position, chroma, chroma_embedded
from lamina.mirrors.chroma import Batch, ChromaMirror
from lamina.mirrors.chroma_embedded import DATABASE, OURS, ChromaFolder
from lamina.mirrors.sync import sync
from tests.conftest import Desk
from tests.contract.mirrors import FIRST, SECOND, made

CHROMA = {"mirrors.chroma": "embedded", "recall.via": "chroma"}
THIRD = Position("store", 3, "cc")
MARKER = "zebraquark"
WORDS = (
    "apple bridge candle desert engine forest guitar hammer island jacket kitchen ladder "
    "mountain needle orange pencil queen"
    " river saddle table umbrella valley window yacht zebra anchor bottle carpet dragon elbow"
).split()


def opened(folder: Path) -> ChromaMirror:
    return ChromaMirror(ChromaFolder(folder, "sky_memory"), "store", wordllama.shared())


def client(folder: Path) -> Any:
    import chromadb

    return chromadb.PersistentClient(str(folder))


def texts(folder: Path) -> dict[str, str]:
    """What another program reads in the collection."""
    other = client(folder)
    found = other.get_collection("sky_memory", embedding_function=None).get()
    other.close()
    return dict(zip(found["ids"], found["documents"], strict=True))


def refuses(mirror: ChromaMirror, why: str) -> None:
    """Neither looked into nor written to, whatever is tried."""
    with pytest.raises(Refused, match=why):
        mirror.position()
    mirror.clear()
    mirror.put([made(1)])
    with pytest.raises(Refused, match=why):
        mirror.commit(FIRST)


def test_a_folder_of_somebody_else(tmp_path: Path) -> None:
    """B2: a folder that another program has made is left as it is, and the error says
    what to do."""
    other = client(tmp_path)
    other.create_collection("sky_memory", embedding_function=None).add(
        ids=["1"], embeddings=[[1.0]], documents=["theirs"]
    )
    other.close()
    refuses(opened(tmp_path), "move them elsewhere")
    assert texts(tmp_path) == {"1": "theirs"}


def test_a_collection_of_somebody_else(tmp_path: Path) -> None:
    """B2: so is a collection of our name in our own folder that another program has made."""
    mirror = opened(tmp_path)
    mirror.put([made(1)])
    mirror.commit(FIRST)
    mirror.close()
    other = client(tmp_path)
    other.delete_collection("sky_memory")
    other.create_collection("sky_memory", embedding_function=None, metadata={"owner": "me"})
    other.close()
    refuses(opened(tmp_path), "Lamina has not made")


def test_collections_beside_ours(tmp_path: Path) -> None:
    """B2: making ours anew would take all files, so it is refused while others lie beside it."""
    mirror = opened(tmp_path)
    mirror.commit(FIRST)
    mirror.close()
    other = client(tmp_path)
    other.create_collection("recipes", embedding_function=None)
    other.close()
    mirror.clear()
    with pytest.raises(Refused, match="recipes"):
        mirror.commit(SECOND)


def test_one_of_a_newer_version(tmp_path: Path) -> None:
    """B2: what a newer Lamina has made is not made anew by an older one."""
    mirror = opened(tmp_path)
    mirror.commit(FIRST)
    mirror.close()
    other = client(tmp_path)
    other.get_collection("sky_memory", embedding_function=None).modify(metadata={"lamina": 99})
    other.close()
    refuses(opened(tmp_path), "newer Lamina")


@pytest.mark.parametrize("damage", [b"this is not a database, not at all" * 100, b""])
def test_a_damaged_one_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    """B7: a mirror is derived; one that is damaged asks to be filled."""
    mirror = opened(tmp_path)
    mirror.put([made(1)])
    mirror.commit(FIRST)
    mirror.close()
    (tmp_path / DATABASE).write_bytes(damage)
    again = opened(tmp_path)
    assert again.position() is None
    again.put([made(2)])
    again.commit(SECOND)
    assert (again.position(), list(texts(tmp_path))) == (SECOND, [made(2).id])


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """B6: memory is only kept in real folders."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="symbolic link"):
        opened(tmp_path / "link").commit(FIRST)


def test_files_are_private(tmp_path: Path) -> None:
    """B6: whatever Chroma makes, only its owner can read."""
    mirror = opened(tmp_path / "rag" / "chroma_store")
    mirror.put([made(number) for number in range(1, 5)])
    mirror.commit(FIRST)
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "rag").rglob("*")}
    assert len(modes) > 3
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items())


class Crashing(ChromaFolder):
    """A folder whose process dies at some of its steps."""

    left = -1

    def _step(self) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt

    def upsert(self, collection: str, batch: Batch) -> None:
        self._step()
        super().upsert(collection, batch)
        self._step()

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._step()
        super().delete(collection, ids)

    def describe(self, collection: str, metadata: Mapping[str, Any]) -> None:
        self._step()
        super().describe(collection, metadata)

    def create(self, metadata: Mapping[str, Any]) -> str:
        self._step()
        return super().create(metadata)

    def remove(self) -> None:
        super().remove()
        self._step()


@pytest.mark.parametrize("steps", range(1, 7))
@pytest.mark.parametrize("anew", [False, True])
def test_a_crash_is_only_repeated_work(
    tmp_path: Path, op: Operator, monkeypatch: pytest.MonkeyPatch, steps: int, anew: bool
) -> None:
    """B7: wherever a process dies in a commit, the position never says more than is there, and the
    next one ends it."""
    monkeypatch.setattr(chroma, "BATCH", 2)
    items = [{"content": f"tea {number}"} for number in range(3)]
    first = op.remember_many(items)
    whole = ChromaMirror(
        ChromaFolder(tmp_path / "c", "sky_memory"), op._scope.store.id, wordllama.shared()
    )
    sync(op._scope.store, whole)
    whole.close()
    op.forget(first[0].id)
    op.remember_many(items)
    folder = Crashing(tmp_path / "c", "sky_memory")
    folder.left = steps
    mirror = ChromaMirror(folder, op._scope.store.id, wordllama.shared())
    if anew:
        mirror.clear()
    with pytest.raises(KeyboardInterrupt):
        sync(op._scope.store, mirror)
    folder.close()
    sync(op._scope.store, whole)
    assert set(dict(whole.entries())) == {record.id for record in op.list(limit=1000)}
    assert all(whole.digest(op.get(record_id)) == digest for record_id, digest in whole.entries())


def test_another_process_has_written(tmp_path: Path) -> None:
    """B2: what another process has put or made anew is searched, though Chroma itself would
    not see it."""
    vector = wordllama.shared().embed(["tea"])[0].tolist()
    writer, reader = opened(tmp_path), opened(tmp_path)
    writer.put([made(1, "the car")])
    writer.commit(FIRST)
    assert reader.candidates(MirrorRequest("tea", vector, 1)) == [made(1).id]
    writer.put([made(2, "tea")])
    writer.commit(SECOND)
    assert reader.candidates(MirrorRequest("tea", vector, 1)) == [made(2).id]
    writer.clear()
    writer.put([made(3, "the car")])
    writer.commit(THIRD)
    assert reader.position() == THIRD
    assert reader.candidates(MirrorRequest("tea", vector, 5)) == [made(3).id]


def test_two_who_write_by_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: a process that has an old index in memory does not write it over the newer one
    of another process."""
    small = {"hnsw": {"space": "cosine", "ef_search": 500, "sync_threshold": 20, "batch_size": 10}}
    monkeypatch.setattr(chroma_embedded, "CONFIGURATION", small)
    words = [f"{first} {second}" for first in ("red", "tall", "quiet", "wet") for second in WORDS]
    records = [made(number, text) for number, text in enumerate(words, 1)]
    writers = [opened(tmp_path), opened(tmp_path)]
    for turn, start in enumerate(range(0, len(records), 25)):
        mirror = writers[turn % 2]
        mirror.position()
        mirror.put(records[start : start + 25])
        mirror.commit(Position("store", turn + 1, "aa"))
        mirror.candidates(MirrorRequest("", wordllama.shared().embed(["tea"])[0].tolist(), 1))
    reader = opened(tmp_path)
    vectors = wordllama.shared().embed(words)
    found = [reader.candidates(MirrorRequest("", vector.tolist(), 1)) for vector in vectors]
    assert found == [[record.id] for record in records]


def test_two_who_write_at_once(tmp_path: Path) -> None:
    """B3: of two who follow the same history from one place, the position falls back to what both
    are sure of."""
    first, second = opened(tmp_path), opened(tmp_path)
    first.commit(FIRST)
    assert second.position() == FIRST
    first.put([made(1, "new")])
    first.commit(THIRD)
    second.put([made(1, "old")])
    second.commit(SECOND)
    assert first.position() == FIRST


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_is_told(tmp_path: Path) -> None:
    """B2: Chroma would hang in a child of a process that uses it, so it is not used there; the
    store answers."""
    mirror = opened(tmp_path)
    mirror.commit(FIRST)
    child = os.fork()
    if not child:
        code = 1
        try:
            mirror.position()
        except StoreUnavailable:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert mirror.position() == FIRST


def test_without_chroma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: who has not installed it is told what to install."""
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(
        InvalidInput, match=r'in a clone of Lamina, run `pip install "\.\[chroma\]"`'
    ):
        opened(tmp_path).commit(FIRST)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_an_erasure_leaves_no_bytes(desk: Desk) -> None:
    """P5: after an erasure no file of the mirror holds the text, and the
    certificate is complete."""
    op = desk.operator(settings=CHROMA)
    kept = op.remember("The kettle is on the stove")
    record = op.remember(f"The {MARKER} is under floorplank seventeen")
    op.sync_mirrors()
    folder = desk.folder() / "rag" / "chroma_store"
    assert MARKER.encode() in bytes_of(folder)
    done = op.erase(record.id)
    assert (done.is_complete, done.unreached, done.mirrors) == (True, [], {"chroma": "told"})
    assert MARKER.encode() not in bytes_of(desk.home)
    assert [hit.record.id for hit in op.search("where is the kettle?")] == [kept.id]
    assert op.verify_mirrors()["chroma"].ok


def test_one_that_was_turned_off(desk: Desk) -> None:
    """P5: a folder that nobody keeps up to date goes with the next erasure."""
    op = desk.operator(settings=CHROMA)
    record = op.remember(f"The {MARKER} is under floorplank seventeen")
    op.sync_mirrors()
    op.close()
    done = desk.operator().erase(record.id)
    assert (done.is_complete, done.removed) == (True, ["agents/sky/rag/chroma_store"])
    assert MARKER.encode() not in bytes_of(desk.home)


def test_memory_of_the_process_is_not_in_the_index(tmp_path: Path) -> None:
    """P5: hnswlib writes memory that it has not filled; what lies behind the vectors becomes zeros,
    they stay."""
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "header.bin").write_bytes(struct.pack("<iQQQQ", 1, 0, 3, 1, 8) + b"rest")
    (tmp_path / "i" / "data_level0.bin").write_bytes(b"vector 1" + MARKER.encode()[:8] * 2)
    (tmp_path / "i" / "length.bin").write_bytes(b"long" + b"lost" * 2)
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / "header.bin").write_bytes(struct.pack("<iQQQQ", 2, 0, 3, 1, 8))
    (tmp_path / "j" / "data_level0.bin").write_bytes(b"of another form than we know")
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "header.bin").write_bytes(b"torn")
    chroma_embedded.scrub_indexes(tmp_path)
    assert (tmp_path / "i" / "data_level0.bin").read_bytes() == b"vector 1" + bytes(16)
    assert (tmp_path / "i" / "length.bin").read_bytes() == b"long" + bytes(8)
    assert (tmp_path / "j" / "data_level0.bin").read_bytes() == b"of another form than we know"


def test_it_says_that_the_folder_is_ours(tmp_path: Path) -> None:
    """B2: by a file in it, from the beginning."""
    opened(tmp_path).commit(FIRST)
    assert (tmp_path / OURS).exists()


def test_without_an_embedder(desk: Desk) -> None:
    """B2: texts are held without vectors, and searches go on in the store."""
    op = desk.operator(settings={**CHROMA, "recall.embedders": ["none"]})
    record = op.remember("The kettle is on the stove")
    assert op.sync_mirrors()["chroma"]["put"] <= 1
    assert texts(desk.folder() / "rag" / "chroma_store") == {record.id: record.content}
    found = op.search("kettle")
    assert [hit.record.id for hit in found] == [record.id]
    assert "there is no embedder" in found.notes[0]


class Counting(VectorsOnly):
    """The usual embedder, which counts the texts."""

    def __init__(self) -> None:
        self.inner = wordllama.shared()
        self.name, self.dimensions = self.inner.name, self.inner.dimensions
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += len(texts)
        return self.inner.embed(texts)


def test_vectors_of_the_store_are_not_made_again(tmp_path: Path, op: Operator) -> None:
    """Q4: what the index has is taken from there, so that a model has to look at each text once;
    the rest is made."""
    op.remember_many([{"content": f"tea {number}"} for number in range(5)])
    op.index()
    op.remember("coffee, which nobody has indexed yet")
    counting = Counting()
    taken = ChromaMirror(
        ChromaFolder(tmp_path / "a", "sky_memory"),
        op._scope.store.id,
        counting,
        op._scope.store.database,
    )
    plain = ChromaMirror(ChromaFolder(tmp_path / "b", "sky_memory"), op._scope.store.id, counting)
    sync(op._scope.store, taken)
    assert counting.texts <= 1
    sync(op._scope.store, plain)
    asked = MirrorRequest("tea", wordllama.shared().embed(["number 3 of tea"])[0].tolist(), 6)
    assert taken.candidates(asked) == plain.candidates(asked)
