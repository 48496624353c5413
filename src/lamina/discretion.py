"""What happens to secrets in new memories (P6): they are told, or blacked out before anything is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from lamina.clock import is_id
from lamina.model import Draft

OFF, WARN, REDACT = "off", "warn", "redact"


class Discretion:
    """Looks at every memory that is about to be stored. `tell` is called with the kinds of secrets in one."""

    def __init__(self, mode: str, tell: Callable[[Sequence[str]], object]) -> None:
        self._mode = mode
        self._tell = tell

    def over(self, draft: Callable[..., Draft]) -> Callable[..., Draft]:
        """The same way to make memories, with an eye on what is in them."""
        if self._mode == OFF:
            return draft

        def discreet(*given: Any, **more: Any) -> Draft:
            return self.seen(draft(*given, **more))

        return discreet

    def seen(self, made: Draft) -> Draft:
        """A memory as it may be stored."""
        from lamina import credentials

        kinds = [one.kind for one in credentials.in_text(made.content)]
        if made.metadata or made.source is not None or made.evidence:
            kinds += [one.kind for said in _beside(made) for one in credentials.in_text(said)]
        if not kinds:
            return made
        self._tell(kinds)
        return made if self._mode == WARN else _redacted(made)

    def text(self, said: str) -> str:
        """A text that is kept beside the memories."""
        from lamina import credentials

        return credentials.redacted(said) if self._mode == REDACT else said


def _beside(made: Draft) -> list[str]:
    from lamina import traces

    return [*traces.strings(made.metadata), made.source or "", *(one for one in made.evidence if not is_id(one))]


def _redacted(made: Draft) -> Draft:
    from lamina import credentials

    return structs.replace(
        made,
        content=credentials.redacted(made.content),
        metadata=_deep(made.metadata),
        source=None if made.source is None else credentials.redacted(made.source),
        evidence=tuple(one if is_id(one) else credentials.redacted(one) for one in made.evidence),
    )


def _deep(value: Any) -> Any:
    """The same values, each text without its secrets."""
    from lamina import credentials

    if isinstance(value, str):
        return credentials.redacted(value)
    if isinstance(value, Mapping):
        return {name: _deep(item) for name, item in value.items()}
    return [_deep(item) for item in value] if isinstance(value, (list, tuple)) else value
