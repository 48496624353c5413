"""Real HTTP servers on the loopback that answer as a test says, and are over when it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "sk-very-secret-0123456789"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: FakeServer

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def drip(self, head: bytes, drop: bytes) -> None:
        """Be never silent for long and never done, until the client has gone or the
        test is over."""
        self.wfile.write(head)
        while not self.server.over.wait(0.02):
            self.wfile.write(drop)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class FakeServer(ThreadingHTTPServer):
    """A server that listens from the beginning of a `with` block to its end."""

    daemon_threads = True

    def __init__(self, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.over = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, *_: object) -> None:
        """Expect clients that have gone: some tests are about them."""


class ModelHandler(Handler):
    """One question to a model: noted, and then answered as the test says."""

    server: ModelServer

    def do_POST(self) -> None:
        question = json.loads(self.body())
        self.server.seen.append((self.path, dict(self.headers), question))
        self.server.play(self, question)


Play = Callable[[ModelHandler, dict[str, Any]], None]


class ModelServer(FakeServer):
    """An endpoint of the OpenAI protocol that plays what a test wants."""

    def __init__(self, play: Play) -> None:
        super().__init__(ModelHandler)
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.play = play

    @property
    def address(self) -> str:
        return f"{self.url}/v1"


def says(body: bytes | str, status: int = 200, headers: dict[str, str] | None = None) -> Play:
    """Answer every question with the same words."""
    content = body.encode() if isinstance(body, str) else body
    return lambda handler, _: handler.answer(content, status, headers)


def completion(content: object, **rest: object) -> str:
    """What an endpoint answers when a model says something."""
    return json.dumps(
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}], **rest}
    )


def claiming(*claims: object, **rest: object) -> Play:
    """Answer every question with the same claims; `rest` stands beside them in the answer."""
    return says(completion(json.dumps({"claims": claims}), **rest))


def dripping(head: bytes, drop: bytes) -> Play:
    """Answer drop by drop, without an end."""
    return lambda handler, _: handler.drip(head, drop)


def pouring(handler: ModelHandler, _: object) -> None:
    """Answer as fast as possible, without an end."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.is_set():
        handler.wfile.write(b" " * 2**20)


def picky(refused: tuple[str, ...], play: Play, status: int = 400) -> Play:
    """Refuse questions with one of these fields or types of format, and answer the others."""

    def answer(handler: ModelHandler, question: dict[str, Any]) -> None:
        asked = {*question, question.get("response_format", {}).get("type")}
        unknown = asked.intersection(refused)
        (says('{"error": "unsupported"}', status) if unknown else play)(handler, question)

    return answer
