"""What a language model has used: tokens in both directions, and their cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from lamina.home.settings import Settings
from lamina.store.tables.model_use import NightUse

MANY_TOKENS = 10**9
MILLION = 1_000_000


class Tokens(msgspec.Struct, frozen=True):
    """The tokens that a model was sent, and those that it answered with."""

    sent: int = 0
    received: int = 0

    @property
    def total(self) -> int:
        return self.sent + self.received

    def plus(self, more: Tokens) -> Tokens:
        return Tokens(self.sent + more.sent, self.received + more.received)


class Prices(msgspec.Struct, frozen=True):
    """What a million tokens cost, in any currency; nothing where nobody has said."""

    sent: float = 0
    received: float = 0

    def of(self, tokens: Tokens) -> int | None:
        """Compute a cost in millionths, rounded up; None without a price."""
        if not (self.sent or self.received):
            return None
        return math.ceil(tokens.sent * self.sent + tokens.received * self.received)


UNKNOWN = Prices()


def prices(settings: Settings) -> Prices:
    """Read the prices that the settings name."""
    return Prices(settings["sleep.price_in"], settings["sleep.price_out"])


def counted(usage: object, estimate: Tokens) -> Tokens:
    """Count the tokens as the server reports them, or estimate them if it does not.

    If a total exceeds the sum of its parts, it counts: some servers omit hidden reasoning.
    """
    told = usage if isinstance(usage, dict) else {}
    sent, received, total = (
        _number(told.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    if not total:
        return Tokens(sent or estimate.sent, received or estimate.received)
    sent = sent or min(estimate.sent, max(0, total - received))
    return Tokens(sent, max(received, total - sent))


def told(name: str, tokens: Tokens, cost: int | None) -> dict[str, Any]:
    """Describe what a model has used, for people and programs."""
    money = {} if cost is None else {"cost": cost / MILLION}
    return {"name": name, "tokens_in": tokens.sent, "tokens_out": tokens.received, **money}


def summed(nights: Sequence[NightUse]) -> dict[str, Any]:
    """Sum up the usage of several nights; with a cost if any of them has one."""
    costs = [night.cost for night in nights if night.cost is not None]
    return {
        "nights": len(nights),
        "tokens_in": sum(night.tokens_in for night in nights),
        "tokens_out": sum(night.tokens_out for night in nights),
        **({"cost": sum(costs) / MILLION} if costs else {}),
    }


def _number(given: object) -> int:
    """Read a number of tokens; 0 if it cannot be one."""
    return min(max(given, 0), MANY_TOKENS) if type(given) is int else 0
