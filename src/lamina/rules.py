"""What is allowed: legal moves, contracts, who may write where, and the shape of a valid memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from lamina import canon, clock, text
from lamina.errors import InvalidInput, Refused
from lamina.model import Actor, Draft, Layer, Role, State, Trust

Choice = TypeVar("Choice", Layer, State, Trust)

KINDS = (
    *("fact", "preference", "project", "decision", "crumb", "request", "result"),
    *("action", "insight", "error", "escalation", "user_interaction", "data"),
)
DEFAULT_KIND = "crumb"
DEFAULT_IMPORTANCE = 0.5
LONG_TERM = (Layer.EPISODIC, Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE, Layer.WORLD)
STARTING_LAYERS = (Layer.SHORT_TERM, Layer.EPISODIC)

# Every legal move, with the verbs that make it. Anything else is an error.
MOVES: Mapping[tuple[State, State], str] = {
    (State.CONSTRAINED, State.ACTIVE): "confirm",
    (State.CONSTRAINED, State.TOMBSTONED): "reject",
    (State.ACTIVE, State.SUPERSEDED): "replace",
    (State.ACTIVE, State.TOMBSTONED): "rollback, forget or close a run",
    (State.SUPERSEDED, State.ACTIVE): "restore by a rollback",
    (State.TOMBSTONED, State.ACTIVE): "undo",
    (State.ACTIVE, State.CONSTRAINED): "quarantine",
}
OPERATOR_MOVES = frozenset({(State.TOMBSTONED, State.ACTIVE)})

CONTRACTS: Mapping[Layer, tuple[str, ...]] = {
    Layer.PROFILE: ("profile_key", "value", "reason"),
    Layer.SEMANTIC: ("origin", "topic_tags"),
    Layer.PROCEDURAL: ("workflow", "canonical"),
}
RADAR_CONTRACT = ("repo_slug", "source_handle", "source_url", "confidence", "evidence_refs")
SLUG = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")

EXTERNAL_SOURCES = frozenset({"tool", "web", "mail", "import"})
TRUST_ORDER = (Trust.OPERATOR, Trust.AGENT, Trust.EXTERNAL)
MAX_CONTENT_BYTES = 1024 * 1024
MAX_METADATA_BYTES = 256 * 1024
MAX_LABEL = 256
MAX_TAGS = 256
MAX_EVIDENCE = 1000
LIMITS = (1, 10_000)
MAX_QUERY_BYTES = 64 * 1024


def check_move(before: State, after: State, role: Role) -> None:
    """Raise unless a record may go from one state to the other at this authority."""
    if (before, after) not in MOVES:
        allowed = [str(end) for start, end in MOVES if start is before]
        raise Refused(f"a record cannot go from {before} to {after}; from {before} it can become {', '.join(allowed)}")
    if (before, after) in OPERATOR_MOVES and role is not Role.OPERATOR:
        raise Refused(f"only an operator may move a record from {before} to {after}")


def check_layer(layer: Layer, role: Role, run_id: str | None) -> None:
    """Raise unless a memory may start in this layer: agents propose what is long-term, operators may write it."""
    if layer is Layer.WORKING and run_id is None:
        raise InvalidInput("working memory lives in a run; open one with run() and use its note()")
    if layer is not Layer.WORKING and layer not in STARTING_LAYERS and role is not Role.OPERATOR:
        raise Refused(f"an agent cannot write {layer} memory directly; it starts in short_term or episodic")


def check_contract(layer: Layer, metadata: Mapping[str, Any]) -> None:
    """Raise unless the metadata holds what the layer promises to its readers."""
    required = CONTRACTS.get(layer, ())
    if layer is Layer.SEMANTIC and metadata.get("origin") == "radar":
        required += RADAR_CONTRACT
    missing = [field for field in required if metadata.get(field) in (None, "")]
    if missing:
        raise InvalidInput(f"{layer} memory needs metadata {', '.join(missing)}", missing=missing)
    if layer is Layer.SEMANTIC and not _is_list_of_text(metadata["topic_tags"]):
        raise InvalidInput(f"topic_tags {metadata['topic_tags']!r} is not a list of texts")
    if layer is Layer.PROCEDURAL and not (isinstance(metadata["workflow"], str) and SLUG.fullmatch(metadata["workflow"])):
        raise InvalidInput(f"workflow {metadata['workflow']!r} is not a stable slug such as morning-briefing")
    if layer is Layer.PROFILE:
        label(metadata["profile_key"], "profile_key")


def importance(value: object = None, score: object = None) -> float:
    """Importance from either scale: 0 to 1, or a score of 0 to 10."""
    if value is not None and score is not None:
        raise InvalidInput(f"give importance {value!r} or score {score!r}, not both")
    if score is not None:
        return _number(score, "score", 10) / 10
    if value is None:
        return DEFAULT_IMPORTANCE
    return _number(value, "importance", 1)


def _number(value: object, name: str, top: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(f"{name} {value!r} is not a number from 0 to {top}")
    if not 0 <= value <= top:
        raise InvalidInput(f"{name} {value!r} is not between 0 and {top}")
    return float(value) + 0.0


def confidence(value: object) -> float:
    return 1.0 if value is None else _number(value, "confidence", 1)


def trust(role: Role, source: str | None, lowered_to: object = None) -> Trust:
    """Trust follows from the surface and the source; a caller may lower it, never raise it."""
    given = Trust.OPERATOR if role is Role.OPERATOR else Trust.AGENT
    if source is not None and source.partition(":")[0].strip().casefold() in EXTERNAL_SOURCES:
        given = Trust.EXTERNAL
    if lowered_to is None:
        return given
    return lowest_trust((given, one_of(Trust, lowered_to, "trust")))


def lowest_trust(values: Iterable[Trust]) -> Trust:
    """What is derived is trusted as little as the least of its sources."""
    return max(values, key=TRUST_ORDER.index)


def content(value: object, limit: int = MAX_CONTENT_BYTES) -> str:
    """A text worth remembering: visible, storable, and not longer than the limit."""
    if not isinstance(value, str):
        raise InvalidInput(f"content is a {type(value).__name__}, not a text")
    if len(value) * 4 > limit and (size := len(value.encode(errors="replace"))) > limit:
        raise InvalidInput(f"content has {size:,} bytes; the limit is {limit:,} (setting content.max_bytes)")
    canon.check_text(value, "content")
    if not text.is_visible(value):
        raise InvalidInput("content is empty: it has no visible character")
    return value


def tags(values: object) -> tuple[str, ...]:
    """Tags stripped, lower-cased and deduplicated in their order."""
    if isinstance(values, str) or not isinstance(values, Collection):
        raise InvalidInput(f"tags {values!r} is not a list of texts")
    if len(values) > MAX_TAGS:
        raise InvalidInput(f"{len(values)} tags are too many; {MAX_TAGS} are allowed")
    return tuple(dict.fromkeys(tag(value) for value in values))


def tag(value: object) -> str:
    """One tag as it is stored. Lower-casing again changes nothing, so that tags compare as written."""
    if not isinstance(value, str):
        raise InvalidInput(f"tag {value!r} is a {type(value).__name__}, not a text")
    return label(value.strip().lower(), "tag")


def label(value: object, name: str) -> str:
    """A short text on one line: a tag, a speaker, a session, a source, a key."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} {value!r} is a {type(value).__name__}, not a text")
    if len(value) > MAX_LABEL:
        raise InvalidInput(f"{name} {value[:40]!r}… has {len(value)} characters; {MAX_LABEL} are allowed")
    canon.check_text(value, name)
    if not text.is_visible(value) or any(ord(c) < 32 or ord(c) == 127 for c in value):
        raise InvalidInput(f"{name} {value!r} is empty or contains a control character")
    return value


def metadata(value: object) -> Mapping[str, Any]:
    """Metadata as given, when JSON can hold it."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata {value!r} is not a mapping")
    if not value:
        return {}
    canon.check_json(value, "metadata")
    encoded = canon.encode(value)
    if len(encoded) > MAX_METADATA_BYTES:
        raise InvalidInput(f"metadata has {len(encoded):,} bytes; the limit is {MAX_METADATA_BYTES:,}")
    copy: Mapping[str, Any] = canon.decode(encoded)
    return copy


def evidence(values: object) -> tuple[str, ...]:
    """References to records, URLs and paths; whether the records exist is checked where they are stored."""
    if isinstance(values, str) or not isinstance(values, Collection):
        raise InvalidInput(f"evidence {values!r} is not a list of record ids, URLs or paths")
    if len(values) > MAX_EVIDENCE:
        raise InvalidInput(f"{len(values)} pieces of evidence are too many; {MAX_EVIDENCE} are allowed")
    return tuple(dict.fromkeys(_reference(value) for value in values))


def _reference(value: object) -> str:
    reference = label(value, "evidence")
    if clock.is_id(reference) or ":" in reference or "/" in reference or "\\" in reference or "." in reference:
        return reference
    raise InvalidInput(f"evidence {reference!r} is neither a record id, a URL nor a path; write a file as ./{reference}")


def kind(value: object, known: Collection[str] = KINDS) -> str:
    if value is None:
        return DEFAULT_KIND
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"unknown kind {value!r}; known are {', '.join(known)}", known=list(known))
    return value


def layer(value: object) -> Layer:
    return Layer.SHORT_TERM if value is None else one_of(Layer, value, "layer")


def one_of(choices: type[Choice], value: object, name: str) -> Choice:
    """A member of a fixed set, or an error that lists the set."""
    try:
        return choices(str(value))
    except ValueError:
        known = [choice.value for choice in choices]
        raise InvalidInput(f"unknown {name} {value!r}; known are {', '.join(known)}", known=known) from None


def limit(value: object) -> int:
    """How many results at most."""
    low, high = LIMITS
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"limit {value!r} is not a whole number from {low} to {high:,}")
    return value


def query(value: object) -> str:
    """A question that can be searched for; one without words is valid and finds nothing."""
    if not isinstance(value, str):
        raise InvalidInput(f"the query is a {type(value).__name__}, not a text")
    if len(value.encode(errors="replace")) > MAX_QUERY_BYTES:
        raise InvalidInput(f"the query has more than {MAX_QUERY_BYTES:,} bytes; ask for less at once")
    return value


FIELDS = frozenset(
    "content kind layer tags importance score metadata evidence source speaker session at timestamp ts key confidence"
    " trust".split()
)


def draft(
    item: object,
    actor: Actor,
    user: str | None = None,
    run_id: str | None = None,
    kinds: Collection[str] = KINDS,
    max_bytes: int = MAX_CONTENT_BYTES,
) -> Draft:
    """A valid memory from what a caller gave, or the error that says what is wrong with it.

    This runs for every memory of a bulk load, so what was not given costs nothing.
    """
    if not isinstance(item, Mapping):
        raise InvalidInput(f"a memory is a mapping, not a {type(item).__name__}")
    if not item.keys() <= FIELDS:
        unknown = sorted(map(str, item.keys() - FIELDS))
        raise InvalidInput(f"unknown field {unknown[0]!r}; known are {', '.join(sorted(FIELDS))}", unknown=unknown)
    get = item.get
    given_layer = layer(value) if (value := get("layer")) is not None else Layer.SHORT_TERM
    if given_layer is not Layer.SHORT_TERM:
        check_layer(given_layer, actor.role, run_id)
    given_metadata = metadata(value) if (value := get("metadata")) is not None else {}
    if given_layer in CONTRACTS:
        check_contract(given_layer, given_metadata)
    source = label(value, "source") if (value := get("source")) is not None else None
    return Draft(
        content(get("content"), max_bytes),
        kind(get("kind"), kinds),
        given_layer,
        State.ACTIVE,
        importance(get("importance"), get("score")),
        confidence(get("confidence")),
        trust(actor.role, source, get("trust")),
        user,
        source,
        tags(value) if (value := get("tags")) is not None else (),
        given_metadata,
        evidence(value) if (value := get("evidence")) is not None else (),
        label(value, "speaker") if (value := get("speaker")) is not None else None,
        label(value, "session") if (value := get("session")) is not None else None,
        run_id,
        _when(item),
        label(value, "key") if (value := get("key")) is not None else None,
    )


def _when(item: Mapping[str, Any]) -> datetime | None:
    """The time of a memory under any of its spellings."""
    for name in ("at", "timestamp", "ts"):
        if (value := item.get(name)) is not None:
            return clock.moment(value, name)
    return None


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
