"""Skylattice's records: layers and states like ours, a summary, and references to where it came from. Pure."""

from __future__ import annotations

from typing import Any

from lamina.errors import InvalidInput, Refused
from lamina.formats import entries
from lamina.formats.entries import Entry, Fields
from lamina.model import rules
from lamina.model.record import Layer, Record, State, iso
from lamina.text.words import shown

LISTS = ("records",)
TABLE = "memory_records"
FIELDS = (
    *(
        "record_id",
        "run_id",
        "layer",
        "summary",
        "source_refs",
        "metadata",
        "confidence",
        "status",
        "supersedes",
    ),
    *("created_at", "updated_at"),
)
LAYERS = (Layer.EPISODIC, Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE)
CARRIED = frozenset(
    "id user layer state content confidence metadata evidence session occurred_at last_verified".split()
)


def is_ours(line: Fields) -> bool:
    """Whether a line looks like one of these records."""
    return "record_id" in line and "summary" in line


def row(columns: Fields) -> dict[str, Any]:
    """A row of the table, with the names that an export has."""
    fields = dict(columns)
    if "source_refs_json" in fields:
        fields["source_refs"] = entries.texts(fields.pop("source_refs_json"), "source_refs")
    if "metadata_json" in fields:
        fields["metadata"] = entries.mapping(fields.pop("metadata_json") or "{}", "metadata")
    return fields


def entries_of(line: Fields) -> list[Entry]:
    """A record as a memory to store. Its layer and its state are ours too."""
    fields = entries.known(line, (*FIELDS, "user"), "a record of Skylattice")
    layer = rules.one_of(Layer, fields.get("layer"), "layer")
    if layer is Layer.WORKING:
        raise Refused("this is working memory, which ends with its run")
    metadata = entries.mapping(fields.get("metadata", {}), "metadata")
    item = entries.told(metadata) | entries.taken(fields, "confidence")
    item |= {"content": fields.get("summary"), "metadata": metadata} | entries.times(
        fields, "created_at"
    )
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
            last_verified=_touched(fields),
            succeeds=_superseded(fields.get("supersedes")),
        )
    ]


def _touched(fields: Fields) -> Any:
    """When it was last looked at, if that was not when it was made."""
    if "updated_at" not in fields or fields["updated_at"] == fields.get("created_at"):
        return None
    return entries.moment(fields["updated_at"], "updated_at")


def _superseded(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (rules.label(value, "supersedes"),)
    if isinstance(value, list):
        return tuple(rules.label(one, "supersedes") for one in value)
    raise InvalidInput(f"supersedes {shown(value)} is not the id of a record")


def refusal(record: Record) -> str | None:
    """Why a record has no place in such a file."""
    return None if record.layer in LAYERS else f"there is no {record.layer} memory in Skylattice"


def line_of(record: Record) -> dict[str, Any]:
    """A record as one of theirs. What they have no field for is in the metadata, where nothing else has that name."""
    return {
        "record_id": record.id,
        "run_id": record.session,
        "layer": record.layer.value,
        "summary": record.content,
        "source_refs": list(record.evidence),
        "metadata": entries.telling(record),
        "confidence": record.confidence,
        "status": record.state.value,
        "supersedes": record.supersedes[0] if record.supersedes else None,
        "created_at": iso(record.occurred_at),
        "updated_at": iso(record.last_verified or record.occurred_at),
        **entries.of_user(record),
    }


def lost(record: Record) -> list[str]:
    """The fields of a record that its line does not hold."""
    carried = CARRIED | entries.carried(record)
    return entries.missing(
        record, carried | {"supersedes"} if len(record.supersedes) < 2 else carried
    )
