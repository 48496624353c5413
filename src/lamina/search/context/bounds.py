"""The limits of a context: characters, and memories of each layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from lamina.errors import InvalidInput
from lamina.model.record import Layer
from lamina.model.rules import one_of
from lamina.text import words

LIMITS = {Layer.PROFILE: 3, Layer.PROCEDURAL: 3, Layer.SEMANTIC: 3}
LEAST = 200  # fewer characters have no room for a fence with anything in it
MOST = 1_000_000
CHARACTERS = 4  # per English token
LEAST_TOKENS, MOST_TOKENS = LEAST // CHARACTERS, MOST // CHARACTERS


def limits(given: object) -> dict[Layer, int]:
    """Check the maximum number of memories of each layer; None means the defaults."""
    if given is None:
        return LIMITS
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"limits {words.shown(given)} is not a mapping of layers to numbers,"
            " such as {'profile': 3}"
        )
    wanted = {one_of(Layer, layer, "layer"): number for layer, number in given.items()}
    for layer, number in wanted.items():
        if not _is_whole_number(number, 0, 100):
            raise InvalidInput(
                f"the limit {words.shown(number)} of {layer} is not a whole number from 0 to 100"
            )
        if layer is Layer.WORKING:
            raise InvalidInput("working memory is seen within its run only; it is in no context")
    return wanted


def room(characters: object, name: str = "max_chars") -> int:
    """Check the maximum length of the text, including its fence."""
    if not _is_whole_number(characters, LEAST, MOST):
        raise InvalidInput(
            f"{name} {words.shown(characters)} is not a whole number from {LEAST} to {MOST:,}"
        )
    return characters


def tokens(number: object) -> int | None:
    """Check the maximum number of tokens; None if only characters are counted."""
    if number is None:
        return None
    if not _is_whole_number(number, LEAST_TOKENS, MOST_TOKENS):
        raise InvalidInput(
            f"tokens {words.shown(number)} is not a whole number"
            f" from {LEAST_TOKENS} to {MOST_TOKENS:,}"
        )
    return number


def _is_whole_number(value: object, least: int, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
