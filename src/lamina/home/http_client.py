"""Query a server with JSON over HTTP, with a deadline for everything and a limit on the answer."""

from __future__ import annotations

import http.client
import json
import math
import re
import socket
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

from lamina.errors import InvalidInput, LaminaError
from lamina.text.words import one_line, shown

EXCERPT = 200
KEY = re.compile("[!-~]+")
SECONDS = re.compile("[0-9]{1,6}")
REFUSALS = (400, 413, 422)  # the request itself is wrong
EXAMPLE = "such as http://localhost:11434/v1"


class Service:
    """A server at an address, and the key that it requires.

    Each request has `timeout` seconds from beginning to end. Any error is raised as a `failure`
    that describes the response. It contains neither the key nor what a server says about an error.
    """

    def __init__(
        self, endpoint: str, key: str | None, timeout: float, limit: int, failure: type[LaminaError]
    ) -> None:
        if not endpoint:
            raise InvalidInput(f"a model behind an endpoint needs the address of it, {EXAMPLE}")
        self.url = address(endpoint, "endpoint", EXAMPLE)
        if key and not KEY.fullmatch(key):
            raise InvalidInput(
                "the key of the endpoint holds spaces, line ends or other characters that no key"
                " has"
            )
        self.timeout, self.limit = timeout, limit
        self._key, self._failure = key, failure

    def post(self, path: str, question: bytes) -> bytes:
        """Post a request in JSON, and return the answer."""
        return self.ask("POST", path, question)

    def ask(
        self, method: str, path: str, question: bytes | None = None, limit: int | None = None
    ) -> bytes:
        """Return the answer to a request.

        Any status but 200 or 201 is a failure, which has the status among its details, and the
        number of seconds after which the server wants to be asked again.
        """
        limit = self.limit if limit is None else limit
        exchange = Exchange(self.url, path, self.timeout, limit, method)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if not exchange.within(self.timeout, question, headers):
            raise self.failed(f"did not answer within {self.timeout:g} seconds")
        if exchange.error is not None:
            why = self._excerpt(str(exchange.error))
            advice = "start the server, or correct its address"
            raise self.failed(
                f"cannot be reached ({why}); {advice}", unreached=exchange.socket is None
            )
        if 300 <= exchange.status < 400:
            target = self._excerpt(exchange.location)
            raise self.failed(f"redirects to {target}; set the endpoint to where it is")
        if exchange.status not in (200, 201):
            # The answer is not repeated: a server may quote a text, perhaps of another user.
            answer = f"HTTP {exchange.status}"
            meaning = http.client.responses.get(exchange.status, "unknown")
            details: dict[str, object] = {"status": exchange.status}
            if exchange.status in REFUSALS:
                details["refused"] = True
            if SECONDS.fullmatch(exchange.retry_after):
                details["retry_after"] = int(exchange.retry_after)
            raise self.failed(f"answered with {answer} ({meaning})", **details)
        if len(exchange.body) > limit:
            raise self.failed(f"answered with more than {limit} bytes")
        return exchange.body

    def failed(self, what: str, **details: object) -> LaminaError:
        return self._failure(f"the endpoint {self.url.geturl()} {what}", **details)

    def _excerpt(self, text: str) -> str:
        """Truncate an address or an error, and remove the key, which belongs in no message."""
        text = text[: 100 * EXCERPT]
        return one_line(text.replace(self._key, "***") if self._key else text, EXCERPT) or "nothing"


class Exchange:
    """One request and its answer, in a thread of its own.

    There is no other way to limit the total time of looking up the name, connecting, the handshake
    and an answer that arrives byte by byte. Redirects are not followed: texts go only where the
    user said.
    """

    def __init__(
        self, url: SplitResult, path: str, timeout: float, limit: int, method: str
    ) -> None:
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(url.hostname or "", url.port, timeout=timeout)
        self.method, self.path, self.limit = method, f"{url.path}/{path}", limit
        # A reference of our own, because the connection drops its own early.
        self.socket: socket.socket | None = None
        self.given_up = False
        self.error: Exception | None = None
        self.status, self.location, self.retry_after, self.body = 0, "", "", b""

    def within(self, seconds: float, question: bytes | None, headers: dict[str, str]) -> bool:
        """Send the request; return whether it ended in time, with success or not."""
        thread = threading.Thread(
            target=self._run, args=(question, headers), name="lamina-endpoint", daemon=True
        )
        thread.start()
        thread.join(seconds)
        if not thread.is_alive():
            return not isinstance(self.error, TimeoutError)
        self.given_up = True
        if self.socket is not None:
            with suppress(OSError):  # it may have ended just now
                self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread, which then ends
        return False

    def _run(self, question: bytes | None, headers: dict[str, str]) -> None:
        try:
            self.connection.connect()
            self.socket = self.connection.sock
            if self.given_up:  # while connecting, when there was nothing to shut down
                return
            self.connection.request(self.method, self.path, question, headers)
            response = self.connection.getresponse()
            self.status, self.location = response.status, response.headers.get("Location", "")
            self.retry_after = response.headers.get("Retry-After", "")
            self.body = response.read(self.limit + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = error
        finally:
            self.connection.close()


def address(given: str, name: str, example: str) -> SplitResult:
    """Parse the address of a server, which must name nothing else."""
    if "@" in given:  # and do not show it, because it contains a secret
        advice = "a key belongs in its own setting"
        raise InvalidInput(f"the address of the {name} holds a user or password; {advice}")
    try:
        url = urlsplit(given.rstrip("/"))
        port = url.port
    except ValueError:
        raise InvalidInput(f"{name} {shown(given)} is not an address, {example}") from None
    is_clean = given.isascii() and given.isprintable() and " " not in given
    is_server = url.scheme in ("http", "https") and url.hostname and port != 0
    if not is_server or not is_clean or url.query or url.fragment:
        raise InvalidInput(f"{name} {shown(given)} is not a plain http or https address, {example}")
    return url


def strict_json(data: bytes | str) -> Any:
    """Parse JSON that has only one reading: no duplicate names, no NaN, no infinity.

    Anything else is a ValueError, or a RecursionError if it is nested too deeply.
    """
    text = data.decode() if isinstance(data, bytes) else data
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name occurs twice in an object")
    return fields


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is infinite or not a number")
    return number
