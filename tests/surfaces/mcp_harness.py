"""Clients and servers of the Model Context Protocol for tests: in this process, over real pipes,
over a real port."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from lamina import Memory
from lamina.home.tokens import Tokens
from lamina.model.record import Trust
from lamina.surfaces.mcp import server, tools
from lamina.surfaces.mcp.worker import HandleWorker

PROGRAM = [sys.executable, "-P", "-m", "lamina.surfaces.cli.main"]
PATIENCE = 60.0
LEGACY, MODERN = "legacy", "2026-07-28"
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def command(home: Path, *options: str, agent: str = "sky", user: str | None = None) -> list[str]:
    whose = ["--home", str(home), "--agent", agent, *(["--user", user] if user else [])]
    return [*PROGRAM, *whose, "mcp", *options]


def environment() -> dict[str, str]:
    """Nothing of the settings of whoever runs the tests, and no jobs behind them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    return {**kept, "LAMINA_MAINTENANCE": "off"}


Talk = Callable[[Client], Awaitable[Any]]


def in_process(
    opened: Callable[[], Memory],
    talk: Talk,
    mode: str = MODERN,
    trust: Trust | None = None,
    seconds: float = PATIENCE,
) -> Any:
    """Let a client talk to a server in this process."""

    async def run() -> Any:
        with closing(HandleWorker(opened, seconds)) as keeper:
            async with Client(
                server.make_server(keeper, tools.tools(trust)),
                mode=mode,
                read_timeout_seconds=PATIENCE,
            ) as client:
                return await talk(client)

    return asyncio.run(run())


def over_pipes(home: Path, talk: Talk, *options: str, mode: str = "auto", **whose: Any) -> Any:
    """Let a client talk to a server that it starts, as clients do."""
    program, *arguments = command(home, *options, **whose)
    started = StdioServerParameters(command=program, args=arguments, env=environment())

    async def run() -> Any:
        async with Client(started, mode=mode, read_timeout_seconds=PATIENCE) as client:
            return await talk(client)

    return asyncio.run(run())


class Served(NamedTuple):
    """A server on a port, and a token that opens it."""

    home: Path
    url: str
    secret: str
    ending: list[tuple[int, str]]  # when it has ended: its exit code and its complaints

    def talk(self, talk: Talk, mode: str = "auto", **more: Any) -> Any:
        async def run() -> Any:
            async with self._client(mode, **more) as client:
                return await talk(client)

        return asyncio.run(run())

    @asynccontextmanager
    async def _client(self, mode: str, **more: Any) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self.secret}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http,
            Client(
                streamable_http_client(self.url, http_client=http),
                mode=mode,
                read_timeout_seconds=PATIENCE,
                **more,
            ) as client,
        ):
            yield client


@contextmanager
def over_http(
    home: Path, *options: str, agent: str = "sky", token: str | None = None
) -> Iterator[Served]:
    """A server on a free port, until the block ends."""
    ending: list[tuple[int, str]] = []
    _, secret = Tokens(home).create(agent, None, datetime.now(UTC), name=token, tools=True)
    with subprocess.Popen(
        command(home, "--http", "--port", "0", *options, agent=agent),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert " at http://" in line, line + process.stderr.read()
            yield Served(home, line.split(" at ")[1].strip(), secret, ending)
        finally:
            process.terminate()
            _, complaints = process.communicate(timeout=PATIENCE)
            ending.append((process.returncode, complaints))


class Raw:
    """A server on pipes, and lines that need not be what a client would send."""

    def __init__(self, home: Path, *options: str, env: Mapping[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command(home, *options),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={**environment(), **(env or {})},
        )
        self._patience = threading.Timer(
            PATIENCE, self.process.kill
        )  # a test that waits in vain fails, and does not hang
        self._patience.start()

    def send(self, *lines: bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for line in lines:
            self.process.stdin.write(
                line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
            )
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def greet(self, capabilities: Mapping[str, Any] | None = None) -> None:
        """The handshake that comes before all else, of a client that can do these things."""
        greeting = {**GREETING, "capabilities": dict(capabilities or {})}
        self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting})
        assert self.receive()["result"]["serverInfo"]["name"] == "lamina"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def end(self) -> tuple[int, bytes, bytes]:
        """Close the pipe, and wait for the end: the exit code, what was still said,
        and the complaints."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._patience.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool as it is on the wire."""
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def said(result: types.CallToolResult) -> str:
    """What the model reads."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def read(client: Client, uri: str) -> str:
    """What a resource holds."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.TextResourceContents)
    return contents.text


async def prompted(client: Client, name: str, **arguments: str) -> str:
    """What a prompt says."""
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


def codes(answers: Sequence[dict[str, Any]]) -> list[tuple[Any, int]]:
    """The ids and codes of answers that are errors."""
    return [(answer["id"], answer["error"]["code"]) for answer in answers]


async def ask(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a call that went well."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, said(result)
    answer: dict[str, Any] = result.structured_content
    assert said(result) == answer["text"]
    return answer


async def complaint(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The error of a call that was refused, which the model reads as JSON."""
    return failure(await client.call_tool(name, arguments))


def failure(result: types.CallToolResult) -> dict[str, Any]:
    """The error of an answer: text alone, since clients check what is structured against the
    schema of the tool's answer."""
    assert result.is_error, said(result)
    assert result.structured_content is None
    error: dict[str, Any] = json.loads(said(result))["error"]
    return error
