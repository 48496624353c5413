"""The mirrors that need no server, each held to the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from lamina.embedders import Embedder
from lamina.mirrors import Mirror
from lamina.mirrors.chroma import ChromaMirror
from lamina.mirrors.chroma_embedded import ChromaFolder
from lamina.mirrors.jsonl import JsonlMirror
from lamina.model.record import Layer
from tests.contract.mirrors import (
    STEPS,
    MirrorContract,
    SearchContract,
    check_any_history,
    lines_of,
)

Steps = list[tuple[str, int, Layer | None]]


class TestSky(MirrorContract):
    """B5: two JSONL files in the form of Sky."""

    def open(self, folder: Path) -> Mirror:
        return JsonlMirror(folder, "sky")

    def held(self, folder: Path) -> dict[str, str]:
        return {line["id"]: line["content"] for line in lines_of(folder)}


class TestMilton(MirrorContract):
    """B5: two JSONL files in the form of Milton."""

    def open(self, folder: Path) -> Mirror:
        return JsonlMirror(folder, "milton")

    def held(self, folder: Path) -> dict[str, str]:
        return {line["payload"]["id"]: line["payload"]["content"] for line in lines_of(folder)}


class TestChromaEmbedded(SearchContract):
    """B2: a collection of ChromaDB in a folder of ours."""

    def open_with(self, folder: Path, embedder: Embedder | None) -> Mirror:
        return ChromaMirror(ChromaFolder(folder / "chroma_store", "sky_memory"), "store", embedder)

    def held(self, folder: Path) -> dict[str, str]:
        import chromadb

        if not (folder / "chroma_store").exists():
            return {}
        client: Any = chromadb.PersistentClient(str(folder / "chroma_store"))
        found = client.get_collection("sky_memory", embedding_function=None).get()
        client.close()
        return dict(zip(found["ids"], found["documents"] or [], strict=True))


@pytest.mark.parametrize("kind", [TestSky, TestMilton])
@given(steps=STEPS)
def test_any_history(
    kind: type[MirrorContract], tmp_path_factory: pytest.TempPathFactory, steps: Steps
) -> None:
    """B7: whatever is put, dropped, cleared, committed and lost, a mirror holds what was committed
    and knows where it is."""
    check_any_history(kind(), tmp_path_factory.mktemp("mirror"), steps)


@settings(max_examples=5)
@given(steps=STEPS)
def test_any_history_of_chroma(tmp_path_factory: pytest.TempPathFactory, steps: Steps) -> None:
    """B2: the same, with fewer histories: each step of Chroma takes some hundredths of a second."""
    check_any_history(TestChromaEmbedded(), tmp_path_factory.mktemp("mirror"), steps)
