"""Files in `status/` that tell other programs what was done last."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.errors import LaminaError, StoreUnavailable
from lamina.home.folder import make_private_folder, refuse_link, write_private
from lamina.model import hashing

if TYPE_CHECKING:
    from lamina.memory.scope import Scope


class StatusFiles:
    """Write the status files of one agent. If this fails, what they report was done nonetheless."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.problem: str | None = None  # with the last written file

    def write_action(self, action: str, detail: Mapping[str, Any]) -> str | None:
        """Write what was done last, and when; return the problem if that fails."""
        content = {
            "ts": self._scope.clock().timestamp(),
            "action": action,
            "detail": dict(detail),
        }
        return self.write("last_action", content)

    def write(self, name: str, content: Any) -> str | None:
        """Write one file, one process at a time; return the problem if that fails."""
        path = self._scope.home.status / f"{self._scope.agent}_{name}.json"
        try:
            with self._scope.store.database.atomic():
                self.problem = _written(path, content)
        except StoreUnavailable as error:
            self.problem = error.message
        return self.problem


def _written(path: Path, content: Any) -> str | None:
    try:
        refuse_link(path.parent)
        make_private_folder(path.parent)
        refuse_link(path)
        write_private(path, msgspec.json.format(hashing.encode(content), indent=2) + b"\n")
    except LaminaError as error:
        return error.message
    return None
