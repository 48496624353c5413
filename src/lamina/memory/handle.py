"""The base of every handle: a context manager on a scope, which explains the verbs it lacks."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from lamina.memory.scope import Scope


class Handle:
    """An open scope and its parts."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._parts = scope.parts
        self.home = scope.home
        self.agent = scope.agent
        self.user = scope.user
        self.actor = scope.actor
        self.settings = scope.settings

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    if not TYPE_CHECKING:  # for a type checker, operators' verbs do not exist here

        def __getattr__(self, name: str) -> NoReturn:
            if _is_for_operators(name):
                self._scope.refused(name, "operator")
                reason = f"{name} is for operators; lamina.operator() opens a handle that has it"
            else:
                reason = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(reason, name=name, obj=self)

    def close(self) -> None:
        """Write buffered data, finish indexing and mirroring, and close every file."""
        with ExitStack() as last_first:  # each is closed, even if another fails
            last_first.callback(self._scope.close)
            if self._parts.made("derived"):
                last_first.callback(self._parts.derived.close)
            if self._parts.made("shared"):
                last_first.callback(self._parts.shared.close)


def _is_for_operators(name: str) -> bool:
    """Return whether only an operator's handle has a verb."""
    try:
        from lamina.memory.operator import Operator
    except OSError:  # the disk failed, even for our own files
        return False
    return not name.startswith("_") and hasattr(Operator, name)
