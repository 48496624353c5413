"""Skylattice's records: layers and states like ours, a summary, and its sources. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from lamina.errors import InvalidInput, Refused
from lamina.formats import entries
from lamina.formats.entries import Entry, Fields
from lamina.model import rules
from lamina.model.record import Layer, Record, State, iso
from lamina.text.words import shown

LISTS = ("records",)
TABLE = "memory_records"
VERSION = 1
# The header of an export that does not filter its records by layer or status.
FILTERS: Mapping[str, list[str]] = {"layers": [], "statuses": []}
FIELDS = tuple(
    "record_id run_id layer summary source_refs metadata confidence status supersedes"
    " created_at updated_at".split()
)
# Names of evidence in different versions; in a table, the column ends in `_json`.
SOURCES = ("source_refs", "evidence", "evidence_refs")
PACKED = "_json"
PLACED = frozenset({*FIELDS, *SOURCES, "kind", "user"})
COLUMNS = frozenset({*PLACED, *(f"{name}{PACKED}" for name in (*SOURCES, "metadata"))})
LAYERS = (Layer.EPISODIC, Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE)
CARRIED = frozenset(
    "id user layer state content confidence metadata evidence session"
    " occurred_at last_verified".split()
)


def is_ours(line: Fields) -> bool:
    """Tell whether a line looks like one of these records."""
    return "record_id" in line and "summary" in line


def entries_of(line: Fields) -> list[Entry]:
    """Read a record as a memory to store. Its layer and its state are also ours."""
    fields = _named(line)
    layer = rules.one_of(Layer, fields.get("layer", fields.get("kind")), "layer")
    if layer is Layer.WORKING:
        raise Refused("this is working memory, which ends with its run")
    metadata = _metadata(fields, layer)
    item = entries.fields_in(metadata) | entries.pick(fields, "confidence")
    item |= {"content": fields.get("summary"), "metadata": metadata}
    item |= entries.times(fields, "created_at")
    item |= entries.evidence({"evidence": _sources(fields)})
    if "run_id" in fields:
        item["session"] = _id(fields["run_id"], "run_id")
    return [
        Entry(
            item,
            _id(fields["record_id"], "record_id") if "record_id" in fields else None,
            fields.get("user"),
            layer is not Layer.SHORT_TERM,
            layer,
            state=rules.one_of(State, fields.get("status", State.ACTIVE), "status"),
            last_verified=_verified(fields),
            succeeds=_superseded(fields.get("supersedes")),
        )
    ]


def _named(line: Fields) -> dict[str, Any]:
    """Give the columns of a row their names in an export, and unpack their JSON."""
    fields: dict[str, Any] = {}
    for name, value in line.items():
        if value is not None:
            is_packed = name.endswith(PACKED) and isinstance(value, str)
            plain = entries.unpacked(value) if is_packed else value
            fields[name.removesuffix(PACKED) if is_packed else name] = plain
    return fields


def _metadata(fields: Fields, layer: Layer) -> dict[str, Any]:
    """Join the metadata with the fields that have no place here."""
    metadata = entries.mapping(fields.get("metadata") or {}, "metadata")
    more = entries.unplaced(fields, PLACED)
    if "layer" in fields:
        more |= entries.pick(fields, "kind")
    if layer is Layer.PROFILE and metadata.keys() >= {"profile_key", "value"}:
        metadata.setdefault("reason", "imported")  # its contract needs one, its program does not
    return entries.join_metadata(metadata, more, "skylattice")


def _sources(fields: Fields) -> list[str]:
    texts = (entries.texts(fields.get(name), name) for name in SOURCES)
    return list(dict.fromkeys(source for listed in texts for source in listed))


def _id(value: object, name: str) -> str:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return rules.label(str(value) if is_number else value, name)


def _verified(fields: Fields) -> datetime | None:
    """Read when it was last verified, if that differs from its creation."""
    if "updated_at" not in fields or fields["updated_at"] == fields.get("created_at"):
        return None
    return entries.moment(fields["updated_at"], "updated_at")


def _superseded(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, (str, int)):
        return (_id(value, "supersedes"),)
    if isinstance(value, list):
        return tuple(_id(one, "supersedes") for one in value)
    raise InvalidInput(f"supersedes {shown(value)} is not the id of a record")


def envelope(count: int, now: datetime, statuses: Iterable[str] = ()) -> dict[str, Any]:
    """Write what surrounds the records of an export."""
    return {
        "export_version": VERSION,
        "generated_at": iso(now),
        "filters": {**FILTERS, "statuses": list(statuses)},
        "count": count,
    }


def refusal(record: Record) -> str | None:
    """Say why a record has no place in such a file."""
    return None if record.layer in LAYERS else f"there is no {record.layer} memory in Skylattice"


def line_of(record: Record) -> dict[str, Any]:
    """Write a record as theirs; metadata holds what has no field, under free names."""
    return {
        "record_id": record.id,
        "run_id": record.session,
        "layer": record.layer.value,
        "summary": record.content,
        "source_refs": list(record.evidence),
        "metadata": entries.metadata_of(record),
        "confidence": record.confidence,
        "status": record.state.value,
        "supersedes": record.supersedes[0] if record.supersedes else None,
        "created_at": iso(record.occurred_at),
        "updated_at": iso(record.last_verified or record.occurred_at),
        **entries.user_field(record),
    }


def lost(record: Record) -> list[str]:
    """Name the fields of a record that its line does not hold."""
    kept = CARRIED | entries.readable_again(record)
    return entries.lost(record, kept | {"supersedes"} if len(record.supersedes) < 2 else kept)
