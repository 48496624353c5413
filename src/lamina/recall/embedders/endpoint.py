"""An endpoint that speaks the protocol of OpenAI for embeddings: a server of one's own, or a service."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import msgspec

from lamina.errors import EmbedderFailed, InvalidInput
from lamina.recall.embedders import sound, unit
from lamina.text import one_line, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
MAX_CHARACTERS = 8_192  # of a text; servers take some thousand tokens, and refuse or cut what is longer
MAX_ANSWER = 32 * 1024 * 1024  # bytes; 64 vectors of 4096 numbers are 6 MB
EXCERPT = 200
KEY = re.compile("[!-~]+")


class Item(msgspec.Struct):
    """One vector of an answer, and the place of its text in the question."""

    embedding: list[float]
    index: int | None = None


class Answer(msgspec.Struct):
    """What an endpoint answers; the rest of it is of no interest."""

    data: list[Item]


REFUSALS = (400, 413, 422)  # it is the text that is wrong


class Endpoint:
    """A model behind an address. Each request has `timeout` seconds from beginning to end."""

    def __init__(self, endpoint: str, model: str, key: str | None, timeout: float) -> None:
        self.url = _address(endpoint)
        if key and not KEY.fullmatch(key):
            raise InvalidInput("the key of the endpoint holds spaces, line ends or other characters that no key has")
        self.model, self.timeout = model, timeout
        self._key = key
        self._width = 0

    @property
    def name(self) -> str:
        return f"openai:{self.url.geturl()}:{self.model}"

    @property
    def dimensions(self) -> int:
        if not self._width:
            self.embed(["dimensions"])
        return self._width

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # An empty text means nothing, and most servers refuse it.
        asked = [(place, text[:MAX_CHARACTERS]) for place, text in enumerate(texts) if text[:MAX_CHARACTERS].strip()]
        found: dict[int, NDArray[np.float32]] = {}
        for start in range(0, len(asked), BATCH):
            batch = asked[start : start + BATCH]
            found.update(zip((place for place, _ in batch), self._vectors([text for _, text in batch]), strict=True))
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, vector in found.items():
            rows[place] = vector
        return unit(rows)

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """The vectors of a batch as the server gave them, checked and in order."""
        question = {"model": self.model, "input": texts, "encoding_format": "float"}
        items = self._ordered(self._answer(msgspec.json.encode(question)), len(texts))
        widths = {len(item.embedding) for item in items} | ({self._width} if self._width else set())
        if len(widths) != 1 or 0 in widths:
            raise self._failed(f"answered with vectors of different dimensions: {', '.join(map(str, sorted(widths)))}")
        rows = sound([item.embedding for item in items], self.name)
        self._width = widths.pop()
        return rows

    def _ordered(self, data: bytes, count: int) -> list[Item]:
        try:
            items = msgspec.json.decode(data, type=Answer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._failed(f"answered with something else than vectors ({error})") from None
        if len(items) != count:
            raise self._failed(f"answered with {len(items)} vectors for {count} texts")
        if all(item.index is None for item in items):
            return items
        places = {item.index: item for item in items}
        if set(places) != set(range(count)):
            raise self._failed(f"numbered the vectors of {count} texts as {shown([item.index for item in items])}")
        return [places[place] for place in range(count)]

    def _answer(self, question: bytes) -> bytes:
        exchange = _Exchange(self.url, self.timeout)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if not exchange.within(self.timeout, question, headers):
            raise self._failed(f"did not answer within {self.timeout:g} seconds")
        if exchange.error is not None:
            raise self._failed(f"cannot be reached ({self._excerpt(str(exchange.error).encode())}); is the server running?")
        if 300 <= exchange.status < 400:
            raise self._failed(f"redirects to {self._excerpt(exchange.location.encode())}; set the endpoint to where it is")
        if exchange.status != 200:
            # What it says is not repeated: a server may quote a text, and that may be somebody else's.
            meaning = http.client.responses.get(exchange.status, "unknown")
            refused = {"refused": True} if exchange.status in REFUSALS else {}
            raise self._failed(f"answered with HTTP {exchange.status} ({meaning})", **refused)
        if len(exchange.body) > MAX_ANSWER:
            raise self._failed(f"answered with more than {MAX_ANSWER} bytes")
        return exchange.body

    def _failed(self, what: str, **details: object) -> EmbedderFailed:
        return EmbedderFailed(f"the endpoint {self.url.geturl()} {what}", **details)

    def _excerpt(self, body: bytes) -> str:
        """The beginning of an address or an error. It may repeat the key, which belongs in no message."""
        text = body[: 100 * EXCERPT].decode("utf-8", "replace")
        return one_line(text.replace(self._key, "***") if self._key else text, EXCERPT) or "nothing"


class _Exchange:
    """One question and its answer, in a thread: no other way limits looking up the name, connecting, the handshake and
    an answer that drips byte by byte, all together. Redirects are not followed: texts go where the user said.
    """

    def __init__(self, url: SplitResult, timeout: float) -> None:
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(url.hostname or "", url.port, timeout=timeout)
        self.path = f"{url.path}/embeddings"
        self.socket: socket.socket | None = None  # our own, because the connection lets go of it early
        self.given_up = False
        self.error: Exception | None = None
        self.status, self.location, self.body = 0, "", b""

    def within(self, seconds: float, question: bytes, headers: dict[str, str]) -> bool:
        """Whether it came to an end in time, good or bad."""
        thread = threading.Thread(target=self._run, args=(question, headers), name="lamina-endpoint", daemon=True)
        thread.start()
        thread.join(seconds)
        if not thread.is_alive():
            return not isinstance(self.error, TimeoutError)
        self.given_up = True
        if self.socket is not None:
            with suppress(OSError):  # it may have ended just now
                self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread, which then ends
        return False

    def _run(self, question: bytes, headers: dict[str, str]) -> None:
        try:
            self.connection.connect()
            self.socket = self.connection.sock
            if self.given_up:  # while connecting, when there was nothing to shut down
                return
            self.connection.request("POST", self.path, question, headers)
            response = self.connection.getresponse()
            self.status, self.location = response.status, response.headers.get("Location", "")
            self.body = response.read(MAX_ANSWER + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = error
        finally:
            self.connection.close()


def _address(endpoint: str) -> SplitResult:
    example = "such as http://localhost:11434/v1"
    if not endpoint:
        raise InvalidInput(f"an embedder openai:<model> needs the address of an endpoint, {example}")
    try:
        url = urlsplit(endpoint.rstrip("/"))
        port = url.port
    except ValueError:
        raise InvalidInput(f"endpoint {shown(endpoint)} is not an address, {example}") from None
    if url.username is not None or url.password is not None:  # and not shown, because it is a secret
        raise InvalidInput("the address of the endpoint holds a user or password; a key belongs in its own setting")
    plain = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
    if url.scheme not in ("http", "https") or not url.hostname or port == 0 or url.query or url.fragment or not plain:
        raise InvalidInput(f"endpoint {shown(endpoint)} is not a plain http or https address, {example}")
    return url
