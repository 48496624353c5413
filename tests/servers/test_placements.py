"""Agents on several servers, and moves between them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import lamina
from lamina.errors import LaminaError, Refused
from lamina.home.folder import Home
from lamina.memory.agents import list_agents
from lamina.memory.migrate import move
from tests.conftest import contents, verified
from tests.servers.everywhere import Copied


def configure(home: Path, url: str, *placements: str) -> None:
    home.mkdir(exist_ok=True)
    listed = ", ".join(f'"{one}"' for one in placements)
    (home / "config.toml").write_text(f'[store]\nurl = "{url}"\nplacements = [{listed}]\n', "utf-8")


def test_agents_are_where_they_are_placed(tmp_path: Path, quick_postgres: Copied) -> None:
    """B3: one home has agents on two servers and in a file; each finds its own memory, and what
    lists all agents asks each place."""
    one, other = (quick_postgres.copy() for _ in range(2))
    home = tmp_path / "home"
    configure(home, quick_postgres.url(one), f"eu-* {quick_postgres.url(other)}", "sky file")
    for agent in ("milton", "eu-ada", "sky"):
        with lamina.operator(agent, home=home) as op:
            op.remember(f"tea of {agent}")
            assert verified(op)
    count = "SELECT owner, count(*) FROM lamina.records GROUP BY owner"
    assert quick_postgres.execute(count, one) == [("milton", 1)]
    assert quick_postgres.execute(count, other) == [("eu-ada", 1)]
    assert (home / "agents" / "sky" / "memory.db").exists()
    assert {one.name: one.memories for one in list_agents(Home(home))} == {
        "eu-ada": 1,
        "milton": 1,
        "sky": 1,
    }


def test_an_agent_moves_while_it_is_read(tmp_path: Path, quick_postgres: Copied) -> None:
    """B3: during a move from one server to another, readers are served without a gap and without a
    wrong answer; afterwards the old place takes no write, and the new one has all."""
    one, other = (quick_postgres.url(quick_postgres.copy()) for _ in range(2))
    home = tmp_path / "home"
    configure(home, one)
    over, wrong, reads = threading.Event(), list[object](), list[int]()
    with lamina.open("sky", home=home) as before:
        before.remember_many({"content": f"memory {number} of tea"} for number in range(300))

        def read() -> None:
            try:
                while not over.is_set():
                    reads.append(len(before.list(limit=1000)))
                    assert before.search("memory 7 of tea")
            except (LaminaError, AssertionError) as error:
                wrong.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            report = move(Home(home), "sky", other)
        finally:
            over.set()
            reader.join()
        assert wrong == []
        assert set(reads) == {300}
        assert report["records"] == 300
        with pytest.raises(Refused, match="was moved to"):
            before.remember("too late")
        assert len(before.list(limit=1000)) == 300
    configure(home, one, f"sky {other}")
    with lamina.operator("sky", home=home) as op:
        assert len(op.list(limit=1000)) == 300
        assert op.remember("in the new place").stored_in == "store"
        assert "in the new place" in contents(op.list())
        assert verified(op)
