"""Ask a language model at an address, within the limits of one night."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NoReturn, TypeVar

import msgspec

from lamina.errors import InvalidInput, ModelFailed
from lamina.home.http_client import Service, strict_json
from lamina.memory.sleep.usage import Tokens, counted
from lamina.model.clock import Clock, system_clock
from lamina.text import words as text

MAX_ANSWER = 1024 * 1024  # bytes; normal answers have a few thousand
PATIENCE = 3  # failures in a row
CHARACTERS_PER_TOKEN = 4
UNASKED = "unasked"  # the detail of a failure without a request
ADVICE = {
    401: "check its key, in the variable that sleep.key_variable names",
    403: "check its key, in the variable that sleep.key_variable names",
    404: "check its address (sleep.endpoint), and that it has the model {model}",
    429: "it takes no more requests now",
}
Shape = TypeVar("Shape")


class Message(msgspec.Struct):
    """A message of the model."""

    content: str


class Choice(msgspec.Struct):
    """One of the answers that a model may give."""

    message: Message
    finish_reason: str | None = None


class Reply(msgspec.Struct):
    """The parts of an endpoint's answer that we use."""

    choices: list[Choice]
    usage: Any = None


class Chat:
    """A model at an address, for one night.

    It may use `budget` tokens. After three failures in a row it is not asked again, nor for as
    long as the server asks. Each request has `timeout` seconds in total.
    """

    def __init__(
        self,
        endpoint: str,
        model: str,
        key: str | None,
        timeout: float,
        budget: int,
        clock: Clock = system_clock,
    ) -> None:
        if not text.is_visible(model) or not text.is_one_line(model):
            raise InvalidInput(f"model {text.shown(model)} is not the name of a model")
        self._service = Service(endpoint, key, timeout, MAX_ANSWER, ModelFailed)
        self.model, self.budget = model, budget
        self.tokens = Tokens()  # as counted by the server, or estimated from characters
        self._clock = clock
        self._failures = 0
        self._not_before: datetime | None = None

    def tell(self, system: str, question: str) -> str:
        """Ask for a text, within the limits of the night."""
        self.check_patience()
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        with self.counted_failures():
            return self.content({"model": self.model, "messages": messages})

    @contextmanager
    def counted_failures(self) -> Iterator[None]:
        """Count failures in a row, except those without a request."""
        try:
            yield
        except ModelFailed as error:
            self._failures += UNASKED not in error.details
            raise
        self._failures = 0

    def check_patience(self) -> None:
        """Raise if the server has failed too often, or has asked for a pause."""
        if self._failures >= PATIENCE:
            told = f"failed {PATIENCE} times in a row, and is not asked again tonight"
            raise self._service.failed(told, **{UNASKED: True})
        if self._not_before is not None and self._clock() < self._not_before:
            told = "asked to wait, and is not asked again before then"
            raise self._service.failed(told, **{UNASKED: True})

    def content(self, asked: Mapping[str, Any]) -> str:
        """Ask, count the tokens, and return the text of the answer."""
        before, estimate = self.tokens, Tokens(_tokens(json.dumps(asked, ensure_ascii=False)))
        if before.total + estimate.sent > self.budget:
            told = f"{before.total} are used and the next request needs about {estimate.sent}"
            raise ModelFailed(
                f"the budget of {self.budget} tokens is used up: {told}",
                budget=self.budget,
                used=before.total,
                **{UNASKED: True},
            )
        self.tokens = before.plus(estimate)  # a server may have worked on it without answering
        reply = self.read(self._post(asked, before), Reply)
        content = reply.choices[0].message.content if reply.choices else ""
        estimate = estimate.plus(Tokens(0, _tokens(content)))
        self.tokens = before.plus(counted(reply.usage, estimate))
        if not reply.choices or reply.choices[0].finish_reason == "length":
            self.nonsense("an answer that was cut off")
        return content

    def _post(self, asked: Mapping[str, Any], before: Tokens) -> bytes:
        """Post a question; if it fails, say what to do about it."""
        try:
            # ASCII throughout, since a lone surrogate cannot be encoded otherwise.
            return self._service.post("chat/completions", json.dumps(asked).encode("ascii"))
        except ModelFailed as error:
            if error.details.get("unreached"):
                self.tokens = before
            told = [error.message]
            status, seconds = (error.details.get(name) for name in ("status", "retry_after"))
            if isinstance(status, int) and status in ADVICE:
                told.append(ADVICE[status].format(model=text.shown(self.model)))
            if isinstance(seconds, int):
                self._not_before = self._clock() + timedelta(seconds=seconds)
                told.append(f"it wants to be asked again in {seconds} seconds")
            raise ModelFailed("; ".join(told), **error.details) from None

    def read(self, data: bytes | str, shape: type[Shape]) -> Shape:
        """Decode JSON of a given shape."""
        try:
            return msgspec.convert(strict_json(data), type=shape)
        except (ValueError, RecursionError) as error:
            self.nonsense(f"something other than claims in JSON ({text.one_line(str(error), 100)})")

    def nonsense(self, what: str) -> NoReturn:
        """Fail because of an answer that makes no sense."""
        raise self._service.failed(f"answered with {what}") from None


def _tokens(said: str) -> int:
    return math.ceil(len(said) / CHARACTERS_PER_TOKEN)
