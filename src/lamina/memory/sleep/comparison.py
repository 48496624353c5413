"""Compare what rules and a language model find in the same turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lamina.text.words import normalise

BOTH, RULES, MODEL = "both", "rules only", "model only"


def compared(
    by_rules: Sequence[Mapping[str, Any]], by_model: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Join two plans, turn by turn; `found_by` says what found a fact.

    A fact that both find is described as by the model, since a night with it would do that.
    """
    rules, model = ({_key(one): one for one in plan} for plan in (by_rules, by_model))
    turns = dict.fromkeys(source for source, _ in [*rules, *model])
    places = {turn: place for place, turn in enumerate(turns)}
    joined = sorted(dict.fromkeys([*rules, *model]), key=lambda key: places[key[0]])
    return [
        {**rules.get(key, {}), **model.get(key, {}), **_mark(key, rules, model)} for key in joined
    ]


def _key(told: Mapping[str, Any]) -> tuple[str, str]:
    """Identify a fact by its turn and its words."""
    return told["source"], normalise(told["fact"])


def _mark(key: object, rules: Mapping[Any, Any], model: Mapping[Any, Any]) -> dict[str, str]:
    return {"found_by": BOTH if key in rules and key in model else RULES if key in rules else MODEL}
