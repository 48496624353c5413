"""Read the fields of a line in any format: times, importance, tier, evidence, metadata. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from lamina.errors import InvalidInput, Refused
from lamina.formats import lines
from lamina.model import clock, rules
from lamina.model.record import Layer, Record, State, Trust, score_of
from lamina.text.words import shown

Fields = Mapping[str, Any]
# Two representations of one time may be rounded differently, by up to this much.
ROUNDING = timedelta(seconds=1)

# The fields of a record as Lamina writes it: those that are converted, those that are copied, and
# those that have a meaning only in its own store.
OWN = tuple("id user layer state promoted_at importance score occurred_at evidence ts type".split())
OWN_TAKEN = tuple("content kind confidence tags metadata source speaker session trust".split())
OWN_LEFT = tuple(
    "seq agent run_id created_at updated_at valid_from valid_to last_verified"
    " supersedes superseded_by archived key event salt".split()
)


class Action(StrEnum):
    """The change that a line makes to its memory."""

    TELL = "tell"
    REPLACE = "replace"
    REMOVE = "remove"


class Entry(NamedTuple):
    """A memory as a line of a file states it: `item` for the rules to check, and the rest.

    A format that gives a state knows our layers: the memory keeps the layer that is given, if need
    be as a proposal. `key` distinguishes this entry from others of the same line. `succeeds` and
    `succeeded_by` are ids of the file. Ids have the same meaning within one `realm`. `lost` names
    the fields that have no place here.
    """

    item: dict[str, Any]
    id: str | None = None
    user: object = None
    long: bool = False
    layer: Layer | None = None
    promoted_at: datetime | None = None
    state: State | None = None
    last_verified: datetime | None = None
    succeeds: tuple[str, ...] = ()
    succeeded_by: str | None = None
    key: tuple[str, ...] | None = None
    action: Action = Action.TELL
    realm: str = ""
    lost: tuple[str, ...] = ()


def record_entry(line: Fields) -> Entry:
    """Read a line with the fields of a record, such as one of an archive."""
    fields = checked(line, (*OWN, *OWN_TAKEN, *OWN_LEFT), "a record")
    layer = rules.one_of(Layer, fields.get("layer", Layer.SHORT_TERM), "layer")
    if layer is Layer.WORKING:
        raise Refused("this is working memory, which ends with its run")
    state = rules.one_of(State, fields.get("state", State.ACTIVE), "state")
    if state is not State.ACTIVE:
        raise Refused(
            f"this record is {state}; only active ones are read from lines;"
            " an export holds all of them"
        )
    item = pick(fields, *OWN_TAKEN) | importance(fields)
    item |= times(fields, "occurred_at", "ts") | evidence(fields)
    long = layer is not Layer.SHORT_TERM
    if "type" in fields and is_long(pick(fields, "type")) is not long:
        raise InvalidInput(f"type {shown(fields['type'])} and layer {layer} disagree")
    promoted = promoted_at(fields) if long else None
    return Entry(item, id_of(fields), fields.get("user"), long, layer, promoted)


def checked(line: Fields, names: Collection[str], what: str) -> dict[str, Any]:
    """Return the fields that are not null; raise for a name that the format does not have.

    To drop such a field would lose it silently.
    """
    for name in line:
        if name not in names:
            raise InvalidInput(f"{what} has no field {shown(name)}; known are {', '.join(names)}")
    return {name: value for name, value in line.items() if value is not None}


def pick(fields: Fields, *names: str) -> dict[str, Any]:
    """Return the fields that have these names."""
    return {name: fields[name] for name in names if name in fields}


def importance(fields: Fields) -> dict[str, float]:
    """Read the importance by either of its names, or by both if they agree."""
    by_score = rules.importance_of_score(fields["score"]) if "score" in fields else None
    if "importance" not in fields:
        return {} if by_score is None else {"importance": by_score}
    exact = rules.importance(fields["importance"])
    if by_score is not None and fields["score"] != score_of(exact) and by_score != exact:
        score, given = shown(fields["score"]), shown(fields["importance"])
        raise InvalidInput(
            f"score {score} and importance {given} disagree:"
            f" {given} is a score of {score_of(exact)}"
        )
    return {"importance": exact}


def times(fields: Fields, *names: str) -> dict[str, datetime]:
    """Read the time by the first of these names that is present; the others must agree."""
    moments = {name: moment(fields[name], name) for name in names if name in fields}
    if not moments:
        return {}
    first, *others = moments
    for name in others:
        if abs(moments[name] - moments[first]) >= ROUNDING:
            one, other = shown(fields[first]), shown(fields[name])
            raise InvalidInput(f"{first} {one} and {name} {other} are not the same time")
    return {"at": moments[first]}


def moment(value: object, name: str) -> datetime:
    """Read a time. Without a zone it is in UTC, as the documents of the formats say."""
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return clock.moment(value, name)  # which says what is wrong with it
        return clock.moment(when if when.tzinfo else when.replace(tzinfo=UTC), name)
    return clock.moment(value, name)


def promoted_at(fields: Fields) -> datetime | None:
    """Read the time of the promotion, if a line has it."""
    return moment(fields["promoted_at"], "promoted_at") if "promoted_at" in fields else None


def is_long(fields: Fields) -> bool:
    """Tell whether a memory is long-term, by each of the fields that say so; they must agree."""
    tiers: dict[str, bool] = {}
    if "type" in fields:
        if fields["type"] not in ("short", "long"):
            raise InvalidInput(
                f"type {shown(fields['type'])} is neither short nor long;"
                " the kind is in metadata.type"
            )
        tiers["type"] = fields["type"] == "long"
    if "committed" in fields:
        if not isinstance(fields["committed"], bool):
            raise InvalidInput(f"committed {shown(fields['committed'])} is neither true nor false")
        tiers["committed"] = fields["committed"]
    if "promoted_at" in fields:
        tiers["promoted_at"] = True
    if len(set(tiers.values())) > 1:
        claims = ", ".join(f"{name} {shown(fields[name])}" for name in tiers)
        raise InvalidInput(f"it cannot be both short-term and long-term: {claims}")
    return any(tiers.values())


def id_of(fields: Fields) -> str | None:
    """Read the id given in a line."""
    return rules.label(fields["id"], "id") if "id" in fields else None


def evidence(fields: Fields) -> dict[str, Any]:
    """Read the evidence of a memory. A bare name is the id of a record elsewhere."""
    if "evidence" not in fields:
        return {}
    if not isinstance(fields["evidence"], list):
        raise InvalidInput(
            f"evidence {shown(fields['evidence'])} is not a list of record ids, URLs or paths"
        )
    return {"evidence": [_reference(value) for value in fields["evidence"]]}


def _reference(value: object) -> object:
    if not isinstance(value, str) or clock.is_id(value) or any(sign in value for sign in ":/\\."):
        return value
    return f"record:{value}"


def texts(value: object, name: str) -> list[str]:
    """Read a list of texts, or its JSON, as in a column of a table."""
    if isinstance(value, str):
        value = unpacked(value)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"{name} {shown(value)} is not a list of texts")
    return value


def mapping(value: object, name: str) -> dict[str, Any]:
    """Read an object, or its JSON."""
    if isinstance(value, str):
        value = unpacked(value)
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} {shown(value)} is not an object")
    return dict(value)


def unpacked(text: str) -> object:
    """Parse the JSON in a column of a table; None for an empty one."""
    try:
        return lines.value_of(text.encode(errors="surrogatepass")) if text.strip() else None
    except InvalidInput as error:
        raise InvalidInput(f"{shown(text, 80)}: {error.message}") from None


def unplaced(fields: Fields, names: Collection[str]) -> dict[str, Any]:
    """Return the fields with other names than these, to put them in the metadata."""
    return {name: value for name, value in fields.items() if name not in names}


def join_metadata(metadata: Mapping[str, Any], more: Fields, mark: str) -> dict[str, Any]:
    """Add fields to metadata; put a mark before a name that is taken by another value."""
    joined = dict(metadata)
    for name, value in more.items():
        if joined.setdefault(name, value) != value:
            joined[f"{mark}_{name}"] = value
    return joined


def fields_in(metadata: Fields) -> dict[str, Any]:
    """Read the kind, the tags and the importance that metadata may contain."""
    fields: dict[str, Any] = {}
    if metadata.get("type") in rules.KINDS:
        fields["kind"] = metadata["type"]
    for name, check in (("tags", rules.tags), ("importance", rules.importance)):
        with suppress(InvalidInput):  # another program's field with a different meaning
            fields |= {name: check(metadata[name])} if name in metadata else {}
    return fields


def metadata_of(record: Record) -> dict[str, Any]:
    """Return metadata with the fields that a format lacks, where their names are free."""
    fields: dict[str, Any] = {"type": record.kind, "importance": record.importance}
    if record.tags:
        fields["tags"] = list(record.tags)
    return {**fields, **record.metadata}


def readable_again(record: Record) -> set[str]:
    """Name the fields that can be read back from such metadata."""
    read = fields_in(metadata_of(record))
    fields = {"kind": record.kind, "importance": record.importance, "tags": record.tags}
    return {name for name, value in fields.items() if read.get(name, ()) == value}


# The fields of a record that may be lost, and their values if there is nothing to lose.
LOSABLE: Mapping[str, object] = {
    **dict.fromkeys("id user layer kind importance trust source speaker session run_id".split()),
    "state": State.ACTIVE,
    "confidence": 1.0,
    "metadata": {},
    **dict.fromkeys(("tags", "evidence", "supersedes"), ()),
    **dict.fromkeys("occurred_at created_at updated_at promoted_at valid_from valid_to".split()),
    **dict.fromkeys(("last_verified", "superseded_by")),
}


def lost(record: Record, kept: Collection[str], metadata: Collection[str] = ()) -> list[str]:
    """Name the fields of a record that have a value and are not kept.

    Metadata is not lost if a format has fields for all of its names.
    """
    names = [
        name for name, none in LOSABLE.items() if name not in kept and getattr(record, name) != none
    ]
    if record.metadata.keys() <= set(metadata):
        return [name for name in names if name != "metadata"]
    return names


def implied_layer(record: Record) -> set[str]:
    """Return {"layer"} for a record whose layer follows from its tier and kind alone."""
    if record.layer is Layer.SHORT_TERM:
        return {"layer"}
    is_implied = record.layer is rules.long_term_layer(record.kind, Trust.OPERATOR)
    return {"layer"} if is_implied else set()


def strings(value: object) -> list[str]:
    """Return the texts in a list, and nothing for any other value."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def epoch(when: datetime) -> float:
    """Return the seconds since 1970, to the microsecond."""
    return clock.to_micros(when) / 1_000_000


def user_field(record: Record) -> dict[str, str]:
    """Return the user of a record, if any: a reader must not think that it belongs to everybody."""
    return {} if record.user is None else {"user": record.user}
