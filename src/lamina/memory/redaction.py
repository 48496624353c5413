"""What happens to secrets in new memories (P6): they are told, or blacked out before anything is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from msgspec import structs

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.model import hashing, rules
from lamina.model.clock import is_id
from lamina.model.record import Draft

OFF, WARN, REDACT = "off", "warn", "redact"
WRITTEN = ("content", "metadata", "source", "evidence", "tags", "speaker", "session")
CHOSEN = frozenset(("kind", "at"))  # from what is known, so that no secret is in them
SHORT = frozenset(
    ("source", "evidence", "tags", "speaker", "session", "participants")
)  # they are on one line


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
        fields = _fields(made)
        secrets = _credentials().in_fields(fields)
        if not secrets:
            return made
        self._tell(list(secrets.values()))
        return made if self._mode == WARN else _replaced(made, _without(fields, secrets))

    def conversation(self, told: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """What is kept of a conversation as it was told: what is a secret in one turn of it is one in all."""
        return self._cleaned(told) if all(map(_is_plain, told)) else list(told)

    def text(self, said: str) -> str:
        """A text that is kept beside the memories."""
        return str(self._cleaned([{"text": said}])[0]["text"])

    def _cleaned(self, told: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if self._mode != REDACT:  # what becomes a memory of it is looked at as such
            return list(told)
        secrets = _credentials().in_fields(*told)
        if not secrets:
            return list(told)
        self._tell(list(secrets.values()))
        return [_without(fields, secrets) for fields in told]


def _credentials() -> ModuleType:
    """What knows secrets, loaded with the first memory: who only reads does not wait for it."""
    try:
        from lamina.text.secrets import detection
    except OSError as error:  # the disk fails, and took our own files with it
        raise StoreUnavailable(
            f"the program cannot be read: {error.strerror}; nothing was stored"
        ) from error
    return detection


def _is_plain(fields: Mapping[str, Any]) -> bool:
    """Whether the rules may let these in; what they do not is not stored anyway."""
    try:
        for name in fields.keys() - {"at"}:
            value = fields[name]
            hashing.check_json(list(value) if isinstance(value, (set, frozenset)) else value, name)
    except InvalidInput:
        return False
    return True


def _fields(made: Draft) -> dict[str, Any]:
    """What a memory holds that somebody has written."""
    fields = {name: value for name in WRITTEN if (value := getattr(made, name))}
    if made.evidence:
        fields["evidence"] = [one for one in made.evidence if not is_id(one)]
    return fields


def _without(fields: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """Fields without their secrets, as valid as they were: a mark can be longer than what it stands for."""
    clean = _credentials().without(
        {name: value for name, value in fields.items() if name not in CHOSEN}, secrets
    )
    return {
        **fields,
        **{name: _fitting(value) if name in SHORT else value for name, value in clean.items()},
    }


def _fitting(value: Any) -> Any:
    if isinstance(value, list):
        return [_fitting(one) for one in value]
    return value[: rules.MAX_LABEL] if isinstance(value, str) else value


def _replaced(made: Draft, fields: dict[str, Any]) -> Draft:
    """A memory with other fields; those that name others stay without a repetition."""
    if "tags" in fields:
        fields["tags"] = tuple(dict.fromkeys(tag.lower() for tag in fields["tags"]))
    if "evidence" in fields:
        written = iter(fields["evidence"])
        fields["evidence"] = tuple(
            dict.fromkeys(one if is_id(one) else next(written) for one in made.evidence)
        )
    return structs.replace(made, **fields)
