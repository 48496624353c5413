"""Taking claims from what was said: by a model if there is one, and by rules where there is none or it fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.config import Settings
from lamina.engines.claims import Claim, Turn
from lamina.engines.claims.extraction import extract
from lamina.errors import ModelFailed

if TYPE_CHECKING:
    from lamina.chat import ChatExtractor


class Listener:
    """Reads the sessions of one night. `notes` say where the model could not be used."""

    def __init__(self, model: ChatExtractor | None = None) -> None:
        self._model = model
        self._problems: dict[str, int] = {}

    def claims(self, turns: Sequence[Turn], known: Sequence[Claim], *, trusted: bool) -> list[list[Claim]]:
        """The claims of each turn of one session. Rules alone read what comes from outside: it may be written for a model."""
        if self._model is not None and trusted:
            try:
                return self._model.extract(turns)
            except ModelFailed as error:
                self._problems[error.message] = self._problems.get(error.message, 0) + 1
        return extract(turns, known)

    @property
    def notes(self) -> list[str]:
        """What a person should know about this night's reading."""
        told = [f"rules have read {number} sessions: {problem}" for problem, number in self._problems.items()]
        if self._model is not None:
            flaws = sorted(self._model.dropped.items())
            told += [f"{number} claims of {self._model.model} were dropped: each {flaw.value}" for flaw, number in flaws]
        return told


def listener(settings: Settings) -> Listener:
    """The one that the settings name."""
    name = settings["sleep.model"]
    if not name:
        return Listener()
    from lamina.chat import ChatExtractor

    variable = settings["sleep.key_variable"]
    key = os.environ.get(variable) if variable else None
    return Listener(
        ChatExtractor(
            settings["sleep.endpoint"], name, key, settings["sleep.timeout_ms"] / 1000, settings["sleep.token_budget"]
        )
    )
