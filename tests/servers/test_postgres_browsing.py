"""Promises of leafing through a memory that is on a real PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import lamina
from tests.conftest import START


def test_pages_find_the_same_there(postgres_url: str, tmp_path: Path) -> None:
    """H2: conversations, open items, moves and the archive are counted as in a file."""
    settings = tmp_path / "config.toml"
    settings.write_text(f'[store]\nurl = "{postgres_url}"\n', "utf-8")
    settings.chmod(0o600)
    said = [{"speaker": "Ana", "text": "I live in Lisbon."}, {"speaker": "Ben", "text": "I see."}]
    with lamina.operator("sky", home=tmp_path, clock=lambda: START) as op:
        op.remember_conversation(said, session="s1", project="house")
        asked = op.remember("Please call the baker", kind="request", speaker="Ana", tags=["old"])
        liked = op.remember("Ana likes tea", kind="preference")
        waiting = op.propose_profile("drink", "tea", "she said so", [asked.id])
        op.promote(liked.id)
        op.confirm(waiting.id)
        moves = [(one.promoted, one.waiting) for one in op.browsing.moves(START)]
        assert [one for one in moves if any(one)] == [(0, -1), (1, 0), (0, 1)]
        assert [one["id"] for one in op.browsing.open_items(speaker="Ana")] == [asked.id]
        assert op.browsing.conversations()[0].opening == "I live in Lisbon."
        op.prune(tags=["old"])
        assert op.browsing.archived() == 1
        status = op.status()
        assert (status["groundless"], status["archived"]) == (0, 1)
