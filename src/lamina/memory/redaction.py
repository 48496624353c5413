"""Report secrets in new memories, or remove them before anything is stored (P6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.model import hashing, rules
from lamina.model.clock import is_id
from lamina.model.record import Draft

if TYPE_CHECKING:
    from lamina.memory.scope import Scope
    from lamina.text.screening import Screen

OFF, WARN, REDACT = "off", "warn", "redact"
WRITTEN = ("content", "metadata", "source", "evidence", "tags", "speaker", "session")
CHOSEN = frozenset(("kind", "at"))  # values from a fixed set contain no secret
SHORT = frozenset(("source", "evidence", "tags", "speaker", "session", "participants"))

# A logger of its own: a surface that reports secrets in another way silences it.
log = logging.getLogger("lamina.secrets")


class Redaction:
    """Find secrets in everything that is to be stored; report or remove them."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._mode = scope.settings["secrets.capture"]
        self.counts: dict[str, int] = {}  # secrets that this handle has stored, by kind

    def clean(self, draft: Draft) -> Draft:
        """Return a draft that may be stored."""
        if self._mode == OFF:
            return draft
        fields = _fields(draft)
        secrets = _detection().in_fields(fields)
        if not secrets:
            return draft
        self._report(list(secrets.values()))
        return draft if self._mode == WARN else _replaced(draft, _without(fields, secrets))

    def suspects(self, screen: Screen) -> list[bool]:
        """Mark the texts that may contain a secret."""
        if self._mode == OFF:
            return []
        _detection()
        from lamina.text.secrets import suspects

        marks: list[bool] = suspects.holding(screen).tolist()
        return marks

    def clean_all(self, drafts: list[Draft], suspect: Sequence[bool]) -> list[Draft]:
        """Return many drafts that may be stored; `suspect` marks the ones to check."""
        if self._mode == OFF:
            return drafts
        telling = _telling(drafts)
        return [
            self.clean(draft) if is_suspect or _is_told(draft, telling) else draft
            for draft, is_suspect in zip(drafts, suspect, strict=True)
        ]

    def clean_turns(self, turns: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Clean a conversation that is kept as a file: a secret in one turn is removed from all."""
        # In other modes the drafts made of these turns are checked one by one.
        if self._mode != REDACT or not all(map(_is_plain, turns)):
            return list(turns)
        secrets = _detection().in_fields(*turns)
        if not secrets:
            return list(turns)
        self._report(list(secrets.values()))
        return [_without(fields, secrets) for fields in turns]

    def _report(self, kinds: Sequence[str]) -> None:
        """Report secrets, by kind only."""
        for kind in kinds:
            self.counts[kind] = self.counts.get(kind, 0) + 1
        named = ", ".join(dict.fromkeys(kinds))
        if self._mode == REDACT:
            log.warning("redacted before it was stored: %s", named)
            return
        log.warning(
            "a memory holds what looks like a secret: %s;"
            " `lamina doctor` lists such memories, `lamina erase ID` removes one",
            named,
        )
        self._scope.note_problem(
            "memories hold what looks like secrets;"
            " `lamina doctor` lists them, `lamina erase` removes them"
        )


def _telling(drafts: Sequence[Draft]) -> set[str]:
    """Collect short texts that contain a secret; they repeat, so each is checked once."""
    from lamina.text.secrets import suspects

    short = {tag for draft in drafts for tag in draft.tags}
    for column in ("source", "speaker", "session"):
        short.update({getattr(draft, column) for draft in drafts})
    short.discard(None)
    named = {name for draft in drafts for name in draft.metadata}
    values = chain.from_iterable(draft.metadata.values() for draft in drafts)
    return suspects.among(short, named.union(_detection().texts(values)))


def _is_told(draft: Draft, telling: Set[str]) -> bool:
    """Return whether a draft has evidence, or a short text that contains a secret."""
    if draft.evidence:
        return True
    written = (draft.tags, draft.source, draft.speaker, draft.session, draft.metadata)
    return bool(telling) and not telling.isdisjoint(_detection().texts(written))


def _detection() -> ModuleType:
    """Load the detection with the first memory: a handle that only reads does not need it."""
    try:
        from lamina.text.secrets import detection
    except OSError as error:  # the disk failed, even for our own files
        raise StoreUnavailable(
            f"the program cannot be read: {error.strerror}; nothing was stored"
        ) from error
    return detection


def _is_plain(fields: Mapping[str, Any]) -> bool:
    """Return whether the rules may accept these fields; others are not stored anyway."""
    try:
        for name in fields.keys() - {"at"}:
            value = fields[name]
            hashing.check_json(list(value) if isinstance(value, (set, frozenset)) else value, name)
    except InvalidInput:
        return False
    return True


def _fields(draft: Draft) -> dict[str, Any]:
    """Collect the fields of a draft that contain free text."""
    fields = {name: value for name in WRITTEN if (value := getattr(draft, name))}
    if draft.evidence:
        fields["evidence"] = [one for one in draft.evidence if not is_id(one)]
    return fields


def _without(fields: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """Remove secrets from fields, which must stay valid: a mark can be longer than its secret."""
    clean = _detection().without(
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


def _replaced(draft: Draft, fields: dict[str, Any]) -> Draft:
    """Replace fields of a draft; remove duplicate tags and evidence."""
    if "tags" in fields:
        fields["tags"] = tuple(dict.fromkeys(tag.lower() for tag in fields["tags"]))
    if "evidence" in fields:
        written = iter(fields["evidence"])
        fields["evidence"] = tuple(
            dict.fromkeys(one if is_id(one) else next(written) for one in draft.evidence)
        )
    return structs.replace(draft, **fields)
