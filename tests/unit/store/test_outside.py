"""What comes from outside is looked at before it is used: the names in a backup, and the blocks of the catalogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamina.errors import Corrupt
from lamina.store.tables import blocks
from lamina.store.upkeep import backup


@pytest.mark.parametrize("name", ["../stolen/x.jsonl", "archive/../../x.jsonl", "ABSOLUTE/x.jsonl"])
def test_a_backup_writes_nothing_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    """B7: a manifest that is whole but names a file elsewhere is refused before anything is written."""
    source, folder, outside = (
        tmp_path / "home" / "backup",
        tmp_path / "home" / "agent",
        tmp_path / "outside",
    )
    for path in (source, folder, outside):
        path.mkdir(parents=True)
    name = name.replace("ABSOLUTE", str(outside))
    manifest = {
        "files": {name: "00"},
        "format": "lamina",
        "made_at": "2026-05-01T08:00:00Z",
        "version": 1,
    }
    (source / "manifest.json").write_text(json.dumps(manifest))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Corrupt, match="lies outside the backup"):
        backup.copy_archives(source, folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_block_is_opened_only_as_it_was_sealed() -> None:
    """B7, Q7: of the right size and with the right checksum; one of the two is not enough."""
    sealed = blocks.sealed(b"block")
    assert blocks.opened(sealed, 5) == b"block"
    assert blocks.opened(sealed, 6) is None
    for place in range(len(sealed)):
        damaged = bytearray(sealed)
        damaged[place] ^= 1
        assert blocks.opened(bytes(damaged), 5) is None
