"""Take claims from turns: with a model if there is one, else and on failure by rules."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lamina.engines.claims import Claim, Turn, sentences
from lamina.engines.claims.extraction import LONG_TURNS, MOST_CLAIMS, STRETCHES, TALKATIVE, extract
from lamina.errors import ModelFailed
from lamina.home.settings import Settings
from lamina.text.patterns import LONGEST

if TYPE_CHECKING:
    from lamina.memory.sleep.llm import ChatExtractor


# What was too long to be read, and what is said about it.
UNREAD = {
    LONG_TURNS: f"turns that were read up to {sentences.LONGEST:,} characters",
    STRETCHES: f"stretches of more than {LONGEST} characters without an end that were not read",
    TALKATIVE: f"turns of which {MOST_CLAIMS} claims were taken and no more",
}


class Listener:
    """Read the sessions of one night. `notes` say where the model could not be used."""

    def __init__(self, model: ChatExtractor | None = None) -> None:
        self._model = model
        self._problems: dict[str, int] = {}
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

        Rules alone read external text: it may be written to mislead a model. `check` is called
        between texts, and may raise to end the reading.
        """
        check()
        if self._model is not None and trusted:
            try:
                return self._model.extract(turns)
            except ModelFailed as error:
                self._problems[error.message] = self._problems.get(error.message, 0) + 1
        return extract(turns, known, check, self._unread)

    @property
    def notes(self) -> list[str]:
        """What a person should know about this night's reading."""
        told = [
            f"rules have read {number} sessions: {problem}"
            for problem, number in self._problems.items()
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


def listener(settings: Settings) -> Listener:
    """Make the listener that the settings name."""
    name = settings["sleep.model"]
    if not name:
        return Listener()
    from lamina.memory.sleep.llm import ChatExtractor

    variable = settings["sleep.key_variable"]
    key = os.environ.get(variable) if variable else None
    return Listener(
        ChatExtractor(
            settings["sleep.endpoint"],
            name,
            key,
            settings["sleep.timeout_ms"] / 1000,
            settings["sleep.token_budget"],
        )
    )
