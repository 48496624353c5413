"""Extract claims from turns: with a model if there is one, otherwise or on failure by rules."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines.claims import Claim, Turn, projects, sentences
from lamina.engines.claims.extraction import LONG_TURNS, MOST_CLAIMS, STRETCHES, TALKATIVE, extract
from lamina.errors import InvalidInput, ModelFailed
from lamina.home.settings import Settings
from lamina.memory.sleep import usage
from lamina.model.clock import Clock, system_clock, to_micros
from lamina.store.tables.model_use import MODEL, NightUse
from lamina.text.patterns import LONGEST
from lamina.text.words import counted

if TYPE_CHECKING:
    from lamina.memory.sleep.llm import ChatExtractor


# What was too long to read, and how it is reported.
UNREAD = {
    LONG_TURNS: f"turns that were read up to {sentences.LONGEST:,} characters",
    STRETCHES: f"stretches of more than {LONGEST} characters without an end that were not read",
    TALKATIVE: f"turns of which {MOST_CLAIMS} claims were taken and no more",
}


class Listener:
    """Read the sessions of one night. `notes` say where the model could not be used.

    With `alone` the model works without the help of rules, so that the two can be compared.
    """

    def __init__(
        self,
        model: ChatExtractor | None = None,
        prices: usage.Prices = usage.UNKNOWN,
        night: int = 0,
        *,
        alone: bool = False,
    ) -> None:
        self._model, self._alone = model, alone
        self._prices, self._night = prices, night
        self._problems: dict[str, int] = {}
        self._untold: dict[str, int] = {}
        self._unread: Counter[str] = Counter()

    def claims(
        self,
        turns: Sequence[Turn],
        known: Sequence[Claim],
        *,
        trusted: bool,
        check: Callable[[], None] = lambda: None,
    ) -> list[list[Claim]]:
        """Extract the claims of each turn of one session.

        Only rules read external text, which may be written to mislead a model. `check` is called
        between texts, and may raise to end the reading.
        """
        read = self._read(turns, known, trusted, check)
        return [projects.scoped(found, turn) for found, turn in zip(read, turns, strict=True)]

    def _read(
        self,
        turns: Sequence[Turn],
        known: Sequence[Claim],
        trusted: bool,
        check: Callable[[], None],
    ) -> list[list[Claim]]:
        check()
        if self._model is not None and trusted:
            try:
                return self._model.extract(turns)
            except ModelFailed as error:
                self._problems[error.message] = self._problems.get(error.message, 0) + 1
        if self._alone:
            return [[] for _ in turns]
        return extract(turns, known, check, self._unread)

    @property
    def has_model(self) -> bool:
        return self._model is not None and not self._alone

    def told(self, system: str, question: str) -> str | None:
        """Ask the model for a text; None if it fails, as noted in `notes`."""
        if self._model is None:
            return None
        try:
            return self._model.tell(system, question)
        except ModelFailed as error:
            self._untold[error.message] = self._untold.get(error.message, 0) + 1
            return None

    @property
    def used(self) -> dict[str, Any]:
        """What the model has used so far tonight, for a report; empty without a model."""
        if self._model is None:
            return {}
        tokens = self._model.tokens
        return {MODEL: usage.told(self._model.model, tokens, self._prices.of(tokens))}

    @property
    def spent(self) -> dict[str, Any]:
        """What the model has used so far, for an event; empty if nothing was used."""
        if self._model is None or not self._model.tokens.total:
            return {}
        tokens = self._model.tokens
        cost = self._prices.of(tokens)
        use = NightUse(self._night, self._model.model, tokens.sent, tokens.received, cost)
        return {MODEL: structs.asdict(use)}

    @property
    def notes(self) -> list[str]:
        """What a person should know about this night's reading."""
        unread = "the model has not read" if self._alone else "rules have read"
        told = [
            f"{unread} {counted(number, 'session')}: {problem}"
            for problem, number in self._problems.items()
        ]
        told += [
            f"rules sum up {counted(number, 'session')}: {problem}"
            for problem, number in self._untold.items()
        ]
        told += [
            f"{note}: {self._unread[kind]:,}" for kind, note in UNREAD.items() if self._unread[kind]
        ]
        if self._model is not None:
            flaws = sorted(self._model.dropped.items())
            told += [
                f"{number} claims of {self._model.model} were dropped: each {flaw.value}"
                for flaw, number in flaws
            ]
        return told


def listener(settings: Settings, clock: Clock = system_clock) -> Listener:
    """Create the listener that the settings name."""
    if not settings["sleep.model"]:
        return Listener()
    prices = usage.prices(settings)
    return Listener(model(settings, clock=clock), prices, to_micros(clock()))


def model_alone(settings: Settings, name: str, clock: Clock) -> Listener:
    """Create a listener for a preview: a model without the help of rules."""
    return Listener(model(settings, name, clock), usage.prices(settings), alone=True)


def model(settings: Settings, name: str = "", clock: Clock = system_clock) -> ChatExtractor:
    """Create the reader with a model: the one in the settings, or another at the same endpoint."""
    from lamina.memory.sleep.llm import ChatExtractor

    name = name or settings["sleep.model"]
    if not name:
        raise InvalidInput("no language model is set; name one, or set sleep.model")
    variable = settings["sleep.key_variable"]
    return ChatExtractor(
        settings["sleep.endpoint"],
        name,
        os.environ.get(variable) if variable else None,
        settings["sleep.timeout_ms"] / 1000,
        settings["sleep.token_budget"],
        clock,
    )
