"""Skylattice's records: layers and states like ours, a summary, and its sources. Pure."""

from __future__ import annotations

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
FIELDS = tuple(
    "record_id run_id layer summary source_refs metadata confidence status supersedes"
    " created_at updated_at".split()
)
LAYERS = (Layer.EPISODIC, Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE)
CARRIED = frozenset(
    "id user layer state content confidence metadata evidence session"
    " occurred_at last_verified".split()
)


def is_ours(line: Fields) -> bool:
    """Tell whether a line looks like one of these records."""
    return "record_id" in line and "summary" in line


def row(columns: Fields) -> dict[str, Any]:
    """Give a row of the table the names that an export has."""
    fields = dict(columns)
    if "source_refs_json" in fields:
        fields["source_refs"] = entries.texts(fields.pop("source_refs_json"), "source_refs")
    if "metadata_json" in fields:
        fields["metadata"] = entries.mapping(fields.pop("metadata_json") or "{}", "metadata")
    return fields


def entries_of(line: Fields) -> list[Entry]:
    """Read a record as a memory to store. Its layer and its state are ours too."""
    fields = entries.checked(line, (*FIELDS, "user"), "a record of Skylattice")
    layer = rules.one_of(Layer, fields.get("layer"), "layer")
    if layer is Layer.WORKING:
        raise Refused("this is working memory, which ends with its run")
    metadata = entries.mapping(fields.get("metadata", {}), "metadata")
    item = entries.fields_in(metadata) | entries.pick(fields, "confidence")
    item |= {"content": fields.get("summary"), "metadata": metadata}
    item |= entries.times(fields, "created_at")
    item |= entries.evidence({"evidence": fields.get("source_refs", [])})
    if "run_id" in fields:
        item["session"] = fields["run_id"]
    return [
        Entry(
            item,
            rules.label(fields["record_id"], "record_id") if "record_id" in fields else None,
            fields.get("user"),
            layer is not Layer.SHORT_TERM,
            layer,
            state=rules.one_of(State, fields.get("status", State.ACTIVE), "status"),
            last_verified=_verified(fields),
            succeeds=_superseded(fields.get("supersedes")),
        )
    ]


def _verified(fields: Fields) -> datetime | None:
    """Read when it was last looked at, if that was not when it was made."""
    if "updated_at" not in fields or fields["updated_at"] == fields.get("created_at"):
        return None
    return entries.moment(fields["updated_at"], "updated_at")


def _superseded(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (rules.label(value, "supersedes"),)
    if isinstance(value, list):
        return tuple(rules.label(id, "supersedes") for id in value)
    raise InvalidInput(f"supersedes {shown(value)} is not the id of a record")


def refusal(record: Record) -> str | None:
    """Say why a record has no place in such a file."""
    return None if record.layer in LAYERS else f"there is no {record.layer} memory in Skylattice"


def line_of(record: Record) -> dict[str, Any]:
    """Write a record as theirs; metadata takes what has no field, under free names."""
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
