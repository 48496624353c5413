"""Promises of the MCP server on pipes: bad lines, closed pipes, signals, calls at once, and calls
that take too long."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import apsw
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from lamina import Memory, Operator, StoreUnavailable
from lamina.surfaces.mcp import frames
from lamina.surfaces.mcp.worker import HandleWorker
from tests.conftest import Desk
from tests.surfaces.mcp_harness import (
    PATIENCE,
    Raw,
    ask,
    call,
    codes,
    command,
    environment,
    over_pipes,
)


def test_a_slow_call_has_a_limit(desk: Desk) -> None:
    """H3: a call that takes too long is answered; one that had not begun by then is never done."""
    memory, gate = desk.agent(), threading.Event()

    async def talk() -> list[str]:
        keeper = HandleWorker(lambda: memory, 0.05)
        told = []
        for work in (
            lambda handle: gate.wait(PATIENCE),
            lambda handle: handle.remember("too late"),
        ):
            with pytest.raises(StoreUnavailable) as caught:
                await keeper.do(work)
            told.append(caught.value.message)
        gate.set()
        keeper._pool.shutdown()
        return told

    running, waiting = asyncio.run(talk())
    assert "may still be done" in running
    assert "nothing was done" in waiting
    assert memory.list() == []


def test_a_call_that_is_cancelled_before_it_began_is_not_done(desk: Desk) -> None:
    """H3: whoever cancels in time leaves no trace, and the next call is served."""
    memory, begun, gate = desk.agent(), threading.Event(), threading.Event()

    def block(handle: Memory) -> None:
        begun.set()
        gate.wait(PATIENCE)

    async def talk() -> str:
        keeper = HandleWorker(lambda: memory, PATIENCE)
        async with anyio.create_task_group() as group:
            group.start_soon(keeper.do, block)
            await asyncio.to_thread(begun.wait, PATIENCE)
            with anyio.CancelScope() as scope:
                scope.cancel()
                await keeper.do(lambda handle: handle.remember("never"))
            gate.set()
        return str(await keeper.do(lambda handle: handle.agent))

    assert asyncio.run(talk()) == "sky"
    assert memory.list() == []


def test_parallel_calls_while_another_process_writes(tmp_path: Path) -> None:
    """H3, B1: calls that do not wait for each other are all answered, in one store with somebody
    else's writes."""
    home = tmp_path / "home"
    code = (
        "import lamina, sys\nwith lamina.open('sky', home=sys.argv[1]) as m:\n for n in "
        "range(60): m.remember(f'other {n}')"
    )

    async def talk(client: Client) -> list[Any]:
        await ask(client, "remember", content="the first")
        other = await asyncio.create_subprocess_exec(
            command(home)[0], "-P", "-c", code, str(home), env=environment()
        )
        writes = [ask(client, "remember", content=f"mine {number}") for number in range(40)]
        reads = [ask(client, "search", query="mine") for _ in range(20)]
        answers = await asyncio.gather(*writes, *reads)
        assert await other.wait() == 0
        return [answer["id"] for answer in answers[:40]]

    ids = over_pipes(home, talk)
    assert len(set(ids)) == 40
    with Desk(home) as desk:
        kept = [record.content for record in desk.agent(clock=None, store_id=None).list(limit=1000)]
    assert sorted(kept) == sorted(
        ["the first", *(f"mine {n}" for n in range(40)), *(f"other {n}" for n in range(60))]
    )


def test_malformed_frames_are_answered_and_survived(tmp_path: Path) -> None:
    """H3: what is not JSON, or no message, gets the protocol's errors; the next call is served as
    if nothing was."""
    with Raw(tmp_path / "home") as raw:
        raw.greet()
        raw.send(
            b"{nonsense\n",
            b"\n",
            b"\xff\xfe\n",
            b"[]\n",
            b'{"jsonrpc":"1.0","id":7,"method":"ping"}\n',
        )
        raw.send(
            b'{"id":"x"}\n',
            b"5\n",
            b"[" * 100_000 + b"\n",
            b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
        )
        answers = [raw.receive() for _ in range(8)]
        invalid, unparsed = types.INVALID_REQUEST, types.PARSE_ERROR
        assert codes(answers) == [
            *((None, unparsed), (None, unparsed), (None, invalid), (7, invalid)),
            *(("x", invalid), (None, invalid), (None, unparsed), (None, invalid)),
        ]
        raw.send(
            {"jsonrpc": "2.0", "id": 8, "method": "no/such"},
            {"jsonrpc": "2.0", "id": 9, "method": "tools/call"},
        )
        answered = sorted(codes([raw.receive(), raw.receive()]))
        assert answered == [(8, types.METHOD_NOT_FOUND), (9, types.INVALID_PARAMS)]
        raw.send(call(10, "status"))
        assert raw.receive()["result"]["structuredContent"]["agent"] == "sky"
        code, rest, complaints = raw.end()
    assert (code, rest) == (0, b"")
    assert b"Traceback" not in complaints


def test_what_was_sent_before_the_pipe_closed_is_answered(tmp_path: Path) -> None:
    """H3: a closed pipe ends the server cleanly, after the calls that came before, even in an
    unfinished last line."""
    with Raw(tmp_path / "home") as raw:
        raw.greet()
        last = json.dumps(call(3, "search", query="one")).encode()
        raw.send(call(1, "remember", content="one"), call(2, "remember", content="two"), last)
        code, rest, complaints = raw.end()
    answers = [json.loads(line) for line in rest.splitlines()]
    assert [(answer["id"], answer["result"]["isError"]) for answer in answers] == [
        (1, False),
        (2, False),
        (3, False),
    ]
    assert answers[2]["result"]["structuredContent"]["outcome"] == "found"
    assert (code, complaints) == (0, b"")


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Nobody else can write to the store of sky, as if another process took its time."""
    with closing(apsw.Connection(str(home / "agents" / "sky" / "memory.db"))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_a_call_can_be_cancelled_on_the_wire(tmp_path: Path) -> None:
    """H3: while a write waits for another process, pings are answered, and a call that is cancelled
    is never done."""
    with Raw(tmp_path / "home") as raw:
        raw.greet()
        raw.send(call(1, "remember", content="one"))
        assert raw.receive()["id"] == 1
        with locked(tmp_path / "home"):
            raw.send(call(2, "remember", content="two"), call(3, "remember", content="never"))
            raw.send(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
            )
            raw.send({"jsonrpc": "2.0", "id": 4, "method": "ping"})
            assert raw.receive()["id"] == 4
        raw.send(call(5, "status"))
        answers = [raw.receive(), raw.receive()]
        assert [answer["id"] for answer in answers] == [2, 5]
        assert answers[1]["result"]["structuredContent"]["memories"] == {"short_term": 2}
        assert raw.end() == (0, b"", b"")


def test_a_store_that_is_busy_is_told_in_time(tmp_path: Path) -> None:
    """H3, B1: a call that waits longer for another process than it may is answered with what is
    known about it."""
    with Desk(tmp_path / "home") as desk:
        desk.agent(clock=None, store_id=None).remember("one")
    with Raw(tmp_path / "home", "--timeout", "0.5") as raw:
        raw.greet()
        with locked(tmp_path / "home"):
            raw.send(call(2, "remember", content="two"))
            answer = raw.receive()
        assert (answer["id"], answer["result"]["isError"]) == (2, True)
        error = json.loads(answer["result"]["content"][0]["text"])["error"]
        assert (error["code"], "within 0.5 seconds" in error["message"]) == (
            "store_unavailable",
            True,
        )
        assert raw.end() == (0, b"", b"")


def test_a_client_that_goes_away_ends_the_server(tmp_path: Path) -> None:
    """H3: when nobody reads the answers any more, the process ends by itself and without a word."""
    with Raw(tmp_path / "home") as raw:
        raw.greet()
        assert raw.process.stdout is not None
        raw.process.stdout.close()
        raw.process.stdout = None
        raw.send(call(1, "status"))
        assert raw.process.wait(PATIENCE) == 0
        assert raw.process.stderr is not None
        assert raw.process.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server(tmp_path: Path, number: signal.Signals) -> None:
    """H3: SIGTERM and SIGINT end a server that waits for its client, at once and cleanly."""
    with Raw(tmp_path / "home") as raw:
        raw.greet()
        raw.process.send_signal(number)
        assert raw.process.wait(PATIENCE) == 0
        assert raw.process.stderr is not None
        assert raw.process.stderr.read() == b""


@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 12))
def test_lines_are_the_same_however_they_arrive(lines: list[bytes], step: int) -> None:
    """H3: a pipe may cut a line anywhere; what is too long is told once, and never kept."""
    whole = b"\n".join(line.replace(b"\n", b"") for line in lines)
    splitter = frames.Splitter(20)
    cut = [
        piece
        for start in range(0, len(whole), step)
        for piece in splitter.feed(whole[start : start + step])
    ]
    cut += splitter.rest()
    expected = [(line, True) if len(line) <= 20 else (None, False) for line in whole.split(b"\n")]
    if expected[-1] == (b"", True):
        expected.pop()  # nothing stands behind the last line end
    assert [(line if is_whole else None, is_whole) for line, is_whole in cut] == expected


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_line_is_a_message_or_an_answer(line: bytes) -> None:
    """H3: reading a line never fails; it says something, needs an answer, or is empty."""
    frame = frames.read(line)
    assert (frame.message is None) or (frame.answer is None)
    assert (frame == frames.Frame()) == (not line.strip())
    assert frames.read(line, is_whole=False).answer is not None


def test_the_keeper_follows_up_on_writes_alone(op: Operator, mem: Memory) -> None:
    """L6: jobs are looked for behind calls that have written, and what is wrong with that
    hurts no caller."""
    seen: list[str] = []

    def follow(memory: Memory) -> None:
        seen.append(memory.agent)
        raise StoreUnavailable("no process can be started")

    async def talk() -> None:
        keeper = HandleWorker(lambda: mem, PATIENCE, follow)
        await keeper.do(lambda memory: memory.status())
        await keeper.do(lambda memory: memory.remember("one"))
        await keeper.do(lambda memory: memory.status())
        keeper._pool.shutdown()

    asyncio.run(talk())
    assert seen == ["sky"]
