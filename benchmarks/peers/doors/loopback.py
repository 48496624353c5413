"""Serve looked-up vectors on the loopback, for a peer that gets its vectors from an endpoint."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.peers.doors.base import Vectors

NAMED = re.compile(r"^memory-(\d+)\n")


class Endpoint:
    """The embedding part of OpenAI's API; a chunk of a note has the vector of its memory."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._texts: dict[int, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def learn(self, number: int, text: str) -> None:
        self._texts[number] = text

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def vector(self, text: str) -> list[float]:
        """Recognise a question by its words, a note by its title, a later chunk as part of it."""
        named = NAMED.match(text)
        if named:
            text = self._texts[int(named[1])]
        elif not self._vectors.knows(text):
            chunk = text.strip()
            text = next(whole for whole in self._texts.values() if chunk in whole)
        row: list[float] = self._vectors.of(text).tolist()
        return row

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            """One request for vectors."""

            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                texts = asked if isinstance(asked, list) else [asked]
                rows = [
                    {"object": "embedding", "index": n, "embedding": endpoint.vector(t)}
                    for n, t in enumerate(texts)
                ]
                told: dict[str, Any] = {"object": "list", "model": "looked-up", "data": rows}
                body = json.dumps(
                    {**told, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing: errors are in the answer."""

        return Handler
