"""Drafting: the checks that every new memory passes before it is stored."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lamina.engines import importance
from lamina.errors import LaminaError
from lamina.model import rules
from lamina.model.record import Draft

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

# Numbers of memories for which a joint check is worth it, and for which loading numpy is.
MANY, VERY_MANY = 16, 2048
AT_ONCE = 512  # with more at once, the data would not fit into the processor's cache


class Drafting:
    """Make drafts in three steps: rules, importance, secrets."""

    def __init__(self, scope: Scope) -> None:
        self._rules = rules.Drafter(
            scope.actor, scope.user, scope.kinds, scope.settings["content.max_bytes"]
        )
        self._importance = scope.parts.importance
        self._redaction = scope.parts.redaction

    def draft(self, item: object, run_id: str | None = None) -> Draft:
        """Make a valid draft, or raise an error that says what is wrong with the item."""
        return self._redaction.clean(self._scored(self._rules.fields(item, run_id)))

    def drafts(self, items: Iterable[object]) -> list[Draft]:
        """Make many valid drafts, or raise an error that names the first invalid item."""
        checked: list[dict[str, Any]] = []
        for index, item in enumerate(items):
            try:
                checked.append(self._rules.fields(item))
            except LaminaError as error:
                raise of_item(error, index) from None
        if len(checked) < (MANY if "numpy" in sys.modules else VERY_MANY):
            return [self._redaction.clean(self._scored(fields)) for fields in checked]
        return self._drafts_at_once(checked)

    def _drafts_at_once(self, checked: Sequence[dict[str, Any]]) -> list[Draft]:
        """Make drafts of checked fields: one pass selects the texts that need a closer look."""
        from lamina.text.screening import Screen

        telling: list[bool] = []
        suspect: list[bool] = []
        for start in range(0, len(checked), AT_ONCE):
            screen = Screen([fields["content"] for fields in checked[start : start + AT_ONCE]])
            telling += importance.telling(screen).tolist()
            suspect += self._redaction.suspects(screen)
        return self._redaction.clean_all([*map(self._scored, checked, telling)], suspect)

    def _scored(self, fields: dict[str, Any], may_tell: bool = True) -> Draft:
        if "importance" not in fields:
            fields["importance"] = self._importance.score(fields, may_tell=may_tell)
        return Draft(**fields)


def of_item(error: LaminaError, index: int) -> LaminaError:
    """Say in an error which item of a list it is about."""
    return type(error)(f"item {index}: {error.message}", **{**error.details, "item": index})
