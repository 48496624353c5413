"""Drafting: what every new memory passes before it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lamina.errors import LaminaError
from lamina.model import rules
from lamina.model.record import Draft

if TYPE_CHECKING:
    from lamina.memory.scope import Scope


class Drafting:
    """Make drafts in three steps: rules, importance, secrets."""

    def __init__(self, scope: Scope) -> None:
        self._rules = rules.Drafter(
            scope.actor, scope.user, scope.kinds, scope.settings["content.max_bytes"]
        )
        self._importance = scope.parts.importance
        self._redaction = scope.parts.redaction

    def draft(self, item: object, run_id: str | None = None) -> Draft:
        """Make a valid draft, or raise the error that says what is wrong with the item."""
        return self._redaction.clean(self._scored(item, run_id))

    def drafts(self, items: Iterable[object]) -> list[Draft]:
        """Make many valid drafts, or raise the error that names the first wrong item."""
        made: list[Draft] = []
        for index, item in enumerate(items):
            try:
                made.append(self._scored(item))
            except LaminaError as error:
                raise of_item(error, index) from None
        return self._redaction.clean_all(made)

    def _scored(self, item: object, run_id: str | None = None) -> Draft:
        fields = self._rules.fields(item, run_id)
        if "importance" not in fields:
            fields["importance"] = self._importance.score(fields)
        return Draft(**fields)


def of_item(error: LaminaError, index: int) -> LaminaError:
    """Name the item of a list that an error is about."""
    return type(error)(f"item {index}: {error.message}", **{**error.details, "item": index})
