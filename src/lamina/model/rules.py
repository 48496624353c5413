"""Check what is allowed: legal moves, contracts, layers, and the fields of a valid memory. Pure.

A check takes the value from a caller and returns a valid one, or raises an error that names it.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import structs

from lamina.errors import Forbidden, InvalidInput, Refused
from lamina.model import clock, hashing
from lamina.model.record import Actor, Draft, Layer, Role, State, Trust
from lamina.text import fence, words

Choice = TypeVar("Choice", Layer, State, Trust)

KINDS = (
    *("fact", "preference", "project", "decision", "crumb", "request", "result"),
    *("action", "insight", "error", "escalation", "user_interaction", "data"),
)
STARTING_LAYERS = (Layer.SHORT_TERM, Layer.EPISODIC)

# Every legal move, with the verbs that cause it. Anything else is an error.
MOVES = (  # in the order in which an error names them
    (State.CONSTRAINED, State.ACTIVE),  # confirm
    (State.CONSTRAINED, State.TOMBSTONED),  # reject
    (State.ACTIVE, State.SUPERSEDED),  # replace
    (State.ACTIVE, State.TOMBSTONED),  # rollback, forget, or the end of a run
    (State.SUPERSEDED, State.ACTIVE),  # restore by a rollback
    (State.TOMBSTONED, State.ACTIVE),  # undo
    (State.TOMBSTONED, State.CONSTRAINED),  # undo of a rejection
    (State.ACTIVE, State.CONSTRAINED),  # quarantine
)
OPERATOR_MOVES = frozenset(move for move in MOVES if move[0] is State.TOMBSTONED)

# What these kinds state stays true beyond the occasion, so they are promoted to semantic memory,
# and all others to episodic memory.
LASTING_KINDS = frozenset({"fact", "insight", "decision", "preference", "project"})

CONTRACTS: Mapping[Layer, tuple[str, ...]] = {
    Layer.PROFILE: ("profile_key", "value", "reason"),
    Layer.SEMANTIC: ("origin", "topic_tags"),
    Layer.PROCEDURAL: ("workflow", "canonical"),
}
# The layers that people rely on, or by which agents act: rejected values stay out, and imports
# cannot change them.
BELIEVED = frozenset({*CONTRACTS, Layer.WORLD})
RADAR_CONTRACT = ("repo_slug", "source_handle", "source_url", "confidence", "evidence_refs")
SLUG = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")

# Words in a source that mean that the text comes from outside.
EXTERNAL_SOURCES = frozenset(
    "tool tools web www http https url urls webpage webpages website websites webhook"
    " mail mails mailto email emails import imports imported".split()
)
# The origins of what engines make; a memory that merely claims such an origin is not promoted to
# semantic memory.
ENGINES = frozenset({"compression", "memory-review", "sleep"})
TRUST_ORDER = (Trust.OPERATOR, Trust.AGENT, Trust.EXTERNAL)
MAX_CONTENT_BYTES = 1024 * 1024
MAX_METADATA_BYTES = 256 * 1024
MAX_LABEL = 256
MAX_FACET = 256  # characters of a metadata name in filters; an index cannot hold longer ones
MAX_REASON_BYTES = 4096
MAX_TAGS = 256
MAX_EVIDENCE = 100_000
LIMITS = (1, 10_000)
MAX_QUERY_BYTES = 64 * 1024
MAX_HOURS = 1_000_000
PATH_SIGNS = frozenset(":/\\.")  # of a URL or a path
FENCE = fence.OPEN.encode()


def check_move(before: State, after: State, role: Role) -> None:
    """Raise unless a record may move from one state to the other with this authority."""
    if (before, after) not in MOVES:
        allowed = ", ".join(end for start, end in MOVES if start is before)
        raise Refused(
            f"a record cannot go from {before} to {after}; from {before} it can become {allowed}"
        )
    if (before, after) in OPERATOR_MOVES and role is not Role.OPERATOR:
        problem = f"only an operator may move a record from {before} to {after}"
        raise Forbidden(problem, lacks="operator")


def check_layer(layer: Layer, role: Role, run_id: str | None) -> None:
    """Raise unless a memory may start in this layer: only operators may write long-term layers."""
    if layer is Layer.WORKING and run_id is None:
        raise InvalidInput("working memory lives in a run; open one with run() and use its note()")
    if layer is not Layer.WORKING and layer not in STARTING_LAYERS and role is not Role.OPERATOR:
        raise Forbidden(
            f"an agent cannot write {layer} memory directly; it starts in short_term or episodic",
            lacks="operator",
        )


def check_contract(layer: Layer, metadata: Mapping[str, Any]) -> None:
    """Raise unless the metadata contains what the layer promises to its readers."""
    required = CONTRACTS.get(layer, ())
    if layer is Layer.SEMANTIC and metadata.get("origin") == "radar":
        required += RADAR_CONTRACT
    missing = [field for field in required if metadata.get(field) in (None, "")]
    if missing:
        raise InvalidInput(f"{layer} memory needs metadata {', '.join(missing)}", missing=missing)
    if layer is Layer.SEMANTIC:
        topics = metadata["topic_tags"]
        if not isinstance(topics, (list, tuple)) or not all(isinstance(tag, str) for tag in topics):
            raise InvalidInput(f"topic_tags {words.shown(topics)} is not a list of texts")
    elif layer is Layer.PROCEDURAL:
        slug = metadata["workflow"]
        if not isinstance(slug, str) or not SLUG.fullmatch(slug):
            problem = "is not a stable slug such as morning-briefing"
            raise InvalidInput(f"workflow {words.shown(slug)} {problem}")
    elif layer is Layer.PROFILE:
        label(metadata["profile_key"], "profile_key")


def in_layer(layer: Layer, draft: Draft) -> Draft:
    """Put a draft into a layer whose contract it fulfils. Its state says if it needs a review."""
    check_contract(layer, draft.metadata)
    return structs.replace(draft, layer=layer)


def long_term_layer(kind: str, trust: Trust) -> Layer:
    """Choose the layer of a memory that is worth keeping.

    External text is kept as something that happened, never as something true.
    """
    is_knowledge = kind in LASTING_KINDS and trust is not Trust.EXTERNAL
    return Layer.SEMANTIC if is_knowledge else Layer.EPISODIC


def kept_contract(
    metadata: Mapping[str, Any], origin: str, topics: Sequence[str]
) -> dict[str, Any]:
    """Complete metadata with what semantic memory promises to its readers."""
    return {"origin": origin, "topic_tags": list(topics), **metadata}


def promoted(
    kind: str, trust: Trust, metadata: Mapping[str, Any], tags: Sequence[str]
) -> tuple[Layer, Mapping[str, Any]]:
    """Choose the layer of a promoted memory, and complete its metadata for the layer's contract."""
    layer = long_term_layer(kind, trust)
    if layer is Layer.SEMANTIC and metadata.get("origin") in ENGINES:
        return Layer.EPISODIC, metadata
    if layer is Layer.SEMANTIC:
        full = kept_contract(metadata, "promotion", tags)
        try:
            check_contract(layer, full)
        except InvalidInput:  # its metadata breaks the contract, so it becomes episodic
            return Layer.EPISODIC, metadata
        return layer, full
    return layer, metadata


def importance(value: object) -> float:
    """Check an importance from 0 to 1."""
    return _number(value, "importance", 1)


def importance_of_score(value: object) -> float:
    """Check a score from 0 to 10, and return the importance it stands for."""
    return _number(value, "score", 10) / 10


def _number(value: object, name: str, top: int) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(f"{name} {words.shown(value)} is not a number from 0 to {top}")
    if not 0 <= value <= top:
        raise InvalidInput(f"{name} {words.shown(value)} is not between 0 and {top}")
    return float(value) + 0.0


def confidence(value: object) -> float:
    return _number(value, "confidence", 1)


def trust(role: Role, source: str | None, lowered_to: object = None) -> Trust:
    """Derive trust from the surface and the source; a caller may lower it, never raise it."""
    derived = Trust.OPERATOR if role is Role.OPERATOR else Trust.AGENT
    if source is not None:
        parts = words.WORD.findall(words.normalise(words.HUMP.sub(" ", source)))
        derived = derived if EXTERNAL_SOURCES.isdisjoint(parts) else Trust.EXTERNAL
    if lowered_to is None:
        return derived
    return lowest_trust((derived, one_of(Trust, lowered_to, "trust")))


def lowest_trust(values: Iterable[Trust]) -> Trust:
    """Return the trust of something derived: that of its least trusted source."""
    return max(values, key=TRUST_ORDER.index)


def content(value: object, limit: int = MAX_CONTENT_BYTES) -> str:
    """Check a text to remember: visible, storable, and not longer than the limit."""
    if not isinstance(value, str):
        raise InvalidInput(f"content is a {type(value).__name__}, not a text")
    if fence.OPEN in value:
        value = fence.unfenced(value).strip()
        if not value:
            raise Refused("this is recalled context; it is remembered already")
    # ASCII that begins with a visible character, as most texts of agents do, needs no more checks.
    is_plain = value.isascii() and "!" <= value[:1] <= "~" and "\0" not in value
    if is_plain and len(value) <= limit:
        return str.__str__(value)
    if len(value) * 4 > limit and (size := len(value.encode(errors="replace"))) > limit:
        allowed = f"{limit:,} (setting content.max_bytes)"
        raise InvalidInput(f"content has {size:,} bytes; the limit is {allowed}")
    hashing.check_text(value, "content")
    if not words.is_visible(value):
        raise InvalidInput("content is empty: it has no visible character; give a text")
    return str.__str__(value)


def reason(value: object) -> str:
    """Check a reason: a short text to be read later, without secrets."""
    # It takes a while to load, and most handles never give a reason.
    from lamina.text.secrets import detection

    if not isinstance(value, str) or not words.is_visible(value):
        raise InvalidInput(f"reason {words.shown(value)} is empty; say why")
    return detection.redacted(content(value, MAX_REASON_BYTES))


def several(values: Collection[Any] | None, name: str) -> tuple[Any, ...]:
    """Check a filter's values. A plain text is a mistake: it would be read letter by letter."""
    if values is None:
        return ()
    if isinstance(values, str) or not isinstance(values, Collection):
        value = words.shown(values)
        raise InvalidInput(f"{name} {value} is not a list; write [{value}]")
    return tuple(values)


def tags(values: object) -> tuple[str, ...]:
    """Check tags: strip, lower-case and deduplicate them in order, dropping blank ones."""
    if isinstance(values, str) or not isinstance(values, (list, tuple, Collection)):
        value = words.shown(values)
        raise InvalidInput(f"tags {value} is not a list of texts; write [{value}]")
    if len(values) > MAX_TAGS:
        raise InvalidInput(f"{len(values)} tags are too many; {MAX_TAGS} are allowed")
    given = tuple(in_order(values))
    try:
        return _tags(given)
    except TypeError:  # an item that is not hashable, such as a list: it is not a text either
        return _tags.__wrapped__(given)


@functools.lru_cache(256)
def _tags(given: tuple[Any, ...]) -> tuple[str, ...]:
    """Check a tuple of tags; cached, since most recur."""
    return tuple(dict.fromkeys([tag(value) for value in given if not is_blank(value)]))


def tags_to_find(values: Collection[str] | None, name: str) -> tuple[str, ...]:
    """Check tags to filter by. Only blank ones are a mistake: they would filter nothing."""
    given = several(values, name)
    wanted = tags(given)
    if given and not wanted:
        raise InvalidInput(f"{name} {words.shown(given)} are blank; name a tag, or leave them out")
    return wanted


def tag(value: object) -> str:
    """Check a tag. Lower-casing it again changes nothing, so that tags compare as written."""
    if not isinstance(value, str):
        raise InvalidInput(f"tag {words.shown(value)} is a {type(value).__name__}, not a text")
    return _tag(value)


@functools.lru_cache(1024)
def _tag(value: str) -> str:
    return label(value.strip().lower(), "tag")  # most tags are given many times


def label(value: object, name: str) -> str:
    """Check a short text on one line: a tag, a speaker, a session, a source, a key."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} {words.shown(value)} is a {type(value).__name__}, not a text")
    if len(value) > MAX_LABEL:
        raise InvalidInput(
            f"{name} {words.shown(value, 40)} has {len(value)} characters; {MAX_LABEL} are allowed"
        )
    hashing.check_text(value, name)
    if not words.is_visible(value) or not words.is_one_line(value):
        raise InvalidInput(f"{name} {words.shown(value)} is empty or contains a control character")
    return str.__str__(value)


def metadata(value: object) -> Mapping[str, Any]:
    """Check that JSON can represent some metadata, and return a copy."""
    if not isinstance(value, (dict, Mapping)):
        raise InvalidInput(f"metadata {words.shown(value)} is not a mapping")
    if not value:
        return {}
    hashing.check_json(value, "metadata")
    encoded = hashing.encode(value)
    if len(encoded) > MAX_METADATA_BYTES:
        size = f"{len(encoded):,} bytes"
        raise InvalidInput(f"metadata has {size}; the limit is {MAX_METADATA_BYTES:,}")
    if FENCE in encoded:
        raise Refused("metadata holds recalled context; it is remembered already")
    copy: Mapping[str, Any] = hashing.decode(encoded)
    return copy


def evidence(values: object) -> tuple[str, ...]:
    """Check references to records, URLs and paths, and drop blank ones.

    The store checks that the records exist.
    """
    if isinstance(values, str) or not isinstance(values, (list, tuple, Collection)):
        problem = "is not a list of record ids, URLs or paths"
        raise InvalidInput(f"evidence {words.shown(values)} {problem}")
    if len(values) > MAX_EVIDENCE:
        problem = f"pieces of evidence are too many; {MAX_EVIDENCE} are allowed"
        raise InvalidInput(f"{len(values)} {problem}")
    given = (value for value in in_order(values) if not is_blank(value))
    return tuple(dict.fromkeys(map(_reference, given)))


def is_blank(value: object) -> bool:
    """Tell whether an item of a list is only white space, such as an empty field of a form."""
    return isinstance(value, str) and not value.strip()


def in_order(values: Collection[Any]) -> Iterable[Any]:
    """Sort a set, which has no order, in a way that is the same in every process."""
    return sorted(values, key=str) if isinstance(values, (set, frozenset)) else values


def _reference(value: object) -> str:
    reference = label(value, "evidence")
    if clock.is_id(reference) or not PATH_SIGNS.isdisjoint(reference):
        return reference
    problem = "is neither a record id, a URL nor a path such as ./notes.md"
    raise InvalidInput(f"evidence {words.shown(reference)} {problem}")


def kind(value: object, known: Collection[str] = KINDS) -> str:
    if not isinstance(value, str) or value not in known:
        raise _unknown("kind", value, known)
    return value


def one_of(choices: type[Choice], value: object, name: str) -> Choice:
    """Return the member of a fixed set, or raise an error that lists the set."""
    try:
        return choices(value if isinstance(value, str) else "")
    except ValueError:
        raise _unknown(name, value, [choice.value for choice in choices]) from None


def _unknown(name: str, value: object, known: Collection[str]) -> InvalidInput:
    problem = f"unknown {name} {words.shown(value)}; known are {', '.join(known)}"
    return InvalidInput(problem, known=list(known))


def flag(value: object, name: str) -> bool:
    """Check a yes or no, since anything else would be kept unchanged."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} {words.shown(value)} is neither True nor False")
    return value


def progress(value: object) -> None:
    """Check the function that reports progress, before anything is done."""
    if value is not None and not callable(value):
        problem = "is not a function of two numbers: how much is done, of how much"
        raise InvalidInput(f"progress {words.shown(value)} {problem}")


def stop(value: object) -> None:
    """Check the function that says whether to stop, before anything is done."""
    if value is not None and not callable(value):
        raise InvalidInput(f"stop {words.shown(value)} is not a function that says whether to stop")


def number(value: object, name: str) -> float:
    """Check a finite number."""
    try:
        if not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer with hundreds of digits
        pass
    raise InvalidInput(f"{name} {words.shown(value)} is not a number")


def hours(value: object) -> float:
    """Check how many hours to look back."""
    count = number(value, "hours")
    if not 0 < count <= MAX_HOURS:
        raise InvalidInput(f"hours {words.shown(value)} is not above 0 and at most {MAX_HOURS:,}")
    return count


def days(value: object) -> float:
    """Check an age in days."""
    count = number(value, "days")
    if not 0 <= count <= MAX_HOURS / 24:
        raise InvalidInput(f"days {words.shown(value)} is not between 0 and {MAX_HOURS / 24:,.0f}")
    return count


def facets(value: object) -> tuple[tuple[str, str], ...]:
    """Check names and plain values of metadata to filter by; return them as they are indexed."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata {words.shown(value)} is not a mapping of names to values")
    pairs = []
    for name, item in value.items():
        plain = hashing.facet(item)
        if not isinstance(name, str) or plain is None:
            pair = f"{words.shown(name)} = {words.shown(item)}"
            raise InvalidInput(f"metadata {pair} is no name and plain value to filter by")
        if len(name) > MAX_FACET:
            problem = f"has {len(name)} characters; one may filter by {MAX_FACET}"
            raise InvalidInput(f"metadata {words.shown(name, 40)} {problem}")
        hashing.check_text(name, "a name of metadata")
        hashing.check_text(plain, f"metadata {name}")
        pairs.append((name, plain))
    return tuple(pairs)


def limit(value: object) -> int:
    """Check the maximum number of results."""
    low, high = LIMITS
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        problem = f"is not a whole number from {low} to {high:,}"
        raise InvalidInput(f"limit {words.shown(value)} {problem}")
    return value


def event_number(value: object) -> int:
    """Check the number of an event."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 63:
        problem = "is not the number of an event; see `lamina audit log`"
        raise InvalidInput(f"event {words.shown(value)} {problem}")
    return value


def query(value: object) -> str:
    """Check a query to search for; one without words is valid and finds nothing."""
    if not isinstance(value, str):
        raise InvalidInput(f"the query is a {type(value).__name__}, not a text")
    if len(value) > MAX_QUERY_BYTES or len(value.encode(errors="replace")) > MAX_QUERY_BYTES:
        most = f"{MAX_QUERY_BYTES:,} bytes"
        raise InvalidInput(f"the query has more than {most}; ask for less at once")
    return value if value.isascii() else value.encode(errors="replace").decode()


class Drafter:
    """Makes valid drafts from the fields that callers give, for one actor in one scope.

    It runs for every memory of a bulk load: each given field is checked once, and a missing one
    costs nothing.
    """

    def __init__(
        self,
        actor: Actor,
        user: str | None = None,
        kinds: Collection[str] = KINDS,
        max_bytes: int = MAX_CONTENT_BYTES,
    ) -> None:
        self._role = actor.role
        self._user = user
        self._kinds = frozenset(kinds)
        self._trust = trust(actor.role, None)
        # Every field that a caller may give: where it goes, and the check that it must pass.
        self._checks: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
            "content": ("content", functools.partial(content, limit=max_bytes)),
            "kind": ("kind", lambda value: kind(value, kinds)),
            "layer": ("layer", lambda value: one_of(Layer, value, "layer")),
            "tags": ("tags", tags),
            "importance": ("importance", importance),
            "score": ("importance", importance_of_score),
            "confidence": ("confidence", confidence),
            "metadata": ("metadata", metadata),
            "evidence": ("evidence", evidence),
            "source": ("source", lambda value: label(value, "source")),
            "speaker": ("speaker", lambda value: label(value, "speaker")),
            "session": ("session", lambda value: label(value, "session")),
            "project": ("project", lambda value: label(value, "project")),
            "key": ("key", lambda value: label(value, "key")),
            "at": ("occurred_at", clock.moment),
            "timestamp": ("occurred_at", lambda value: clock.moment(value, "timestamp")),
            "ts": ("occurred_at", lambda value: clock.moment(value, "ts")),
            "trust": ("trust", lambda value: one_of(Trust, value, "trust")),
        }

    def draft(self, item: object, run_id: str | None = None) -> Draft:
        """Return a valid draft, or raise an error that says what is wrong with the item."""
        return Draft(**self.fields(item, run_id))

    def fields(self, item: object, run_id: str | None = None) -> dict[str, Any]:
        """Check the fields of a draft. `importance` is missing if none was given."""
        fields = self._checked(item)
        if "content" not in fields:
            raise InvalidInput("content is missing")
        if "metadata" in fields and "kind" not in fields:
            self._add_kind(fields)
        if "project" in fields:
            _put_project(fields)
        if "source" in fields or "trust" in fields:
            fields["trust"] = trust(self._role, fields.get("source"), fields.get("trust"))
        else:
            fields["trust"] = self._trust
        if "layer" in fields:
            check_layer(fields["layer"], self._role, run_id)
            check_contract(fields["layer"], fields.get("metadata", {}))
        if self._user is not None:
            fields["user"] = self._user
        if run_id is not None:
            fields["run_id"] = run_id
        return fields

    def _add_kind(self, fields: dict[str, Any]) -> None:
        """Take the kind from `metadata.type`, where Sky has it. Other types are plain metadata."""
        kind_there = fields["metadata"].get("type")
        if isinstance(kind_there, str) and kind_there in self._kinds:
            fields["kind"] = kind_there

    def _checked(self, item: object) -> dict[str, Any]:
        if not isinstance(item, (dict, Mapping)):  # dict first: checking for Mapping is slow
            raise InvalidInput(f"a memory is a mapping, not a {type(item).__name__}")
        fields: dict[str, Any] = {}
        for name, value in item.items():
            if value is None:
                continue
            known_check = self._checks.get(name)
            if known_check is None:
                unknown, known = words.shown(name), ", ".join(self._checks)
                hint = words.meant(str(name), self._checks)
                problem = f"unknown field {unknown}; known are {known}{hint}"
                raise InvalidInput(problem, unknown=unknown)
            field, check = known_check
            if field in fields:
                problem = "repeats what another field says: give one of the two"
                raise InvalidInput(f"{name} {words.shown(value)} {problem}")
            fields[field] = check(value)
        return fields


def _put_project(fields: dict[str, Any]) -> None:
    """Move the project into the metadata, where every layer keeps it."""
    project, given = fields.pop("project"), fields.get("metadata", {})
    if given.get("project", project) != project:
        problem = f"differs from the metadata's {words.shown(given['project'])}"
        raise InvalidInput(f"project {words.shown(project)} {problem}: give one of the two")
    fields["metadata"] = {**given, "project": project}
