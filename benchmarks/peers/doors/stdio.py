"""The small part of MCP over pipes that a benchmark needs: start a server, call its tools."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

VERSION = "2025-06-18"


class ServerError(Exception):
    """A server that answered with an error, or not at all."""


class Server:
    """A server in a separate process, which gets one request after the other."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        client = {"name": "benchmark", "version": "1"}
        self._ask(
            "initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
        )
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its structured content, or its text."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            raise ServerError(answer["content"][0]["text"])
        return answer.get("structuredContent") or answer["content"][0]["text"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, method: str, parameters: Mapping[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if told.get("id") == self._number:
                if "error" in told:
                    raise ServerError(told["error"].get("message", "no message"))
                return told["result"]
        raise ServerError(f"the server ended with {self._process.wait()}")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()
