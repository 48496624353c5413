"""What a line of a JSONL file says, whatever the spelling of its form: times, importance, tier. Pure."""

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
# Two spellings of one time may be rounded differently, by up to this much.
ROUNDING = timedelta(seconds=1)

# A record as Lamina writes it: the names that are read, and those that only its own store can make sense of.
OWN = (
    "id",
    "user",
    "layer",
    "state",
    "promoted_at",
    "importance",
    "score",
    "occurred_at",
    "evidence",
)
OWN_TAKEN = (
    "content",
    "kind",
    "confidence",
    "tags",
    "metadata",
    "source",
    "speaker",
    "session",
    "trust",
)
OWN_LEFT = (
    *(
        "seq",
        "agent",
        "run_id",
        "created_at",
        "updated_at",
        "valid_from",
        "valid_to",
        "last_verified",
    ),
    *("supersedes", "superseded_by", "archived", "key", "event", "salt"),
)


class Doing(StrEnum):
    """What a line does with the memory that it tells of."""

    TELL = "tell"
    REPLACE = "replace"
    REMOVE = "remove"


class Entry(NamedTuple):
    """A memory as a line tells it: what the rules will check, and what they do not know of.

    Who says a state knows our layers, and is kept in the layer that is said, if need be for a person to look at. `key` is
    what tells this entry from others where a line holds several. `succeeds` and `succeeded_by` are ids of the file. Ids
    mean the same thing within one `realm`.
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
    doing: Doing = Doing.TELL
    realm: str = ""


def own(line: Fields) -> Entry:
    """A line with the names of a record, such as an archive has."""
    fields = known(line, (*OWN, *OWN_TAKEN, *OWN_LEFT), "a record")
    layer = rules.one_of(Layer, fields.get("layer", Layer.SHORT_TERM), "layer")
    if layer is Layer.WORKING:
        raise Refused("this is working memory, which ends with its run")
    state = rules.one_of(State, fields.get("state", State.ACTIVE), "state")
    if state is not State.ACTIVE:
        raise Refused(
            f"this record is {state}; only active ones are taken from lines, an export holds all of them"
        )
    item = (
        taken(fields, *OWN_TAKEN)
        | importance(fields)
        | times(fields, "occurred_at")
        | evidence(fields)
    )
    long = layer is not Layer.SHORT_TERM
    return Entry(
        item, identity(fields), fields.get("user"), long, layer, promotion(fields) if long else None
    )


def known(line: Fields, names: Collection[str], what: str) -> dict[str, Any]:
    """The fields that were given, when the form has all of them: one that is dropped would be lost."""
    for name in line:
        if name not in names:
            raise InvalidInput(f"{what} has no field {shown(name)}; known are {', '.join(names)}")
    return {name: value for name, value in line.items() if value is not None}


def taken(fields: Fields, *names: str) -> dict[str, Any]:
    """Those of the fields that have these names."""
    return {name: fields[name] for name in names if name in fields}


def importance(fields: Fields) -> dict[str, float]:
    """The importance by either of its spellings; by both when they agree."""
    given = {}
    if "score" in fields:
        given = {"importance": rules.importance_of_score(fields["score"])}
    if "importance" in fields:
        exact = rules.importance(fields["importance"])
        if given and fields["score"] != score_of(exact) and given["importance"] != exact:
            raise InvalidInput(
                f"score {shown(fields['score'])} and importance {shown(fields['importance'])} disagree:"
                f" {shown(fields['importance'])} is a score of {score_of(exact)}"
            )
        given = {"importance": exact}
    return given


def times(fields: Fields, *names: str) -> dict[str, datetime]:
    """When it happened, by the first of these names that is given; the others must agree."""
    found = [(name, moment(fields[name], name)) for name in names if name in fields]
    for name, when in found[1:]:
        if abs(when - found[0][1]) >= ROUNDING:
            first, other = shown(fields[found[0][0]]), shown(fields[name])
            raise InvalidInput(f"{found[0][0]} {first} and {name} {other} are not the same time")
    return {"at": found[0][1]} if found else {}


def moment(value: object, name: str) -> datetime:
    """A point in time. Files say UTC in their documents, so a time without a zone is in UTC."""
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return clock.moment(value, name)  # which says what is wrong with it
        return clock.moment(when if when.tzinfo else when.replace(tzinfo=UTC), name)
    return clock.moment(value, name)


def promotion(fields: Fields) -> datetime | None:
    return moment(fields["promoted_at"], "promoted_at") if "promoted_at" in fields else None


def is_long(fields: Fields) -> bool:
    """The tier, by each of the names that tell it; they must agree."""
    told: dict[str, bool] = {}
    if "type" in fields:
        if fields["type"] not in ("short", "long"):
            raise InvalidInput(
                f"type {shown(fields['type'])} is neither short nor long; the kind is in metadata.type"
            )
        told["type"] = fields["type"] == "long"
    if "committed" in fields:
        if not isinstance(fields["committed"], bool):
            raise InvalidInput(f"committed {shown(fields['committed'])} is neither true nor false")
        told["committed"] = fields["committed"]
    if "promoted_at" in fields:
        told["promoted_at"] = True
    if len(set(told.values())) > 1:
        claims = ", ".join(f"{name} {shown(fields[name])}" for name in told)
        raise InvalidInput(f"it cannot be both short-term and long-term: {claims}")
    return any(told.values())


def identity(fields: Fields) -> str | None:
    """The id that a line brings along."""
    return rules.label(fields["id"], "id") if "id" in fields else None


def evidence(fields: Fields) -> dict[str, Any]:
    """What supports a memory. A bare name is the id of a record elsewhere."""
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
    """A list of texts, or the JSON of one, as a column of a table holds it."""
    if isinstance(value, str):
        value = _unpacked(value)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{name} {shown(value)} is not a list of texts")
    return value


def mapping(value: object, name: str) -> dict[str, Any]:
    """An object, or the JSON of one."""
    if isinstance(value, str):
        value = _unpacked(value)
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} {shown(value)} is not an object")
    return dict(value)


def _unpacked(text: str) -> object:
    try:
        return lines.value_of(text.encode(errors="surrogatepass")) if text.strip() else None
    except InvalidInput as error:
        raise InvalidInput(f"{shown(text, 80)}: {error.message}") from None


def beside(metadata: Mapping[str, Any], more: Fields, mark: str) -> dict[str, Any]:
    """Metadata with what else a line says: nothing is dropped, and nothing of the metadata is overwritten."""
    joined = dict(metadata)
    for name, value in more.items():
        if joined.setdefault(name, value) != value:
            joined[f"{mark}_{name}"] = value
    return joined


def told(metadata: Fields) -> dict[str, Any]:
    """What metadata says about a memory that has a field here: its kind, its tags, its importance."""
    found: dict[str, Any] = {}
    if metadata.get("type") in rules.KINDS:
        found["kind"] = metadata["type"]
    for name, check in (("tags", rules.tags), ("importance", rules.importance)):
        with suppress(InvalidInput):  # another program's word for something else
            found |= {name: check(metadata[name])} if name in metadata else {}
    return found


def telling(record: Record) -> dict[str, Any]:
    """Metadata that also says what a format has no field for, as far as those names are free."""
    said = {
        "type": record.kind,
        "importance": record.importance,
        **({"tags": list(record.tags)} if record.tags else {}),
    }
    return {**said, **record.metadata}


def carried(record: Record) -> set[str]:
    """The fields that can be read again from such metadata."""
    said = told(telling(record))
    same = {"kind": record.kind, "importance": record.importance, "tags": record.tags}
    return {name for name, value in same.items() if said.get(name, ()) == value}


# What may be lost of a record, and what it is when there is nothing to lose.
LOSABLE: Mapping[str, object] = {
    **dict.fromkeys(
        (
            "id",
            "user",
            "layer",
            "kind",
            "importance",
            "trust",
            "source",
            "speaker",
            "session",
            "run_id",
        )
    ),
    "state": State.ACTIVE,
    "confidence": 1.0,
    "metadata": {},
    **dict.fromkeys(("tags", "evidence", "supersedes"), ()),
    **dict.fromkeys(
        ("occurred_at", "created_at", "updated_at", "promoted_at", "valid_from", "valid_to")
    ),
    **dict.fromkeys(("last_verified", "superseded_by")),
}


def missing(record: Record, kept: Collection[str]) -> list[str]:
    """The fields of a record that say something and are not among those that are kept."""
    return [
        name for name, none in LOSABLE.items() if name not in kept and getattr(record, name) != none
    ]


def tier(record: Record) -> set[str]:
    """The layer, where it follows from the tier and the kind alone."""
    home = (
        Layer.SHORT_TERM
        if record.layer is Layer.SHORT_TERM
        else rules.long_term_layer(record.kind, Trust.OPERATOR)
    )
    return {"layer"} if record.layer is home else set()


def strings(value: object) -> list[str]:
    """Those of some values that are texts."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def epoch(when: datetime) -> float:
    """Seconds since 1970, to the microsecond."""
    return clock.to_micros(when) / 1_000_000


def of_user(record: Record) -> dict[str, str]:
    """Whose memory it is, where it is somebody's: a reader must not take it for everybody's."""
    return {} if record.user is None else {"user": record.user}
