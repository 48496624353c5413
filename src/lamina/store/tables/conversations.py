"""Conversations, as the records of their turns name them."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import structs

from lamina.model.clock import from_micros
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables.records import Filter

SYSTEM = "system"  # who says of a conversation that it was one


class Session(msgspec.Struct, frozen=True):
    """A conversation: when it was, who spoke, and in how many turns that are still here."""

    name: str
    begin: datetime
    end: datetime
    turns: int
    speakers: tuple[str, ...]


def latest(
    connection: Connection, chosen: Filter, speaker: str | None, limit: int
) -> list[Session]:
    """List the conversations that have records of a filter, the newest first."""
    where, parameters = chosen.where()
    query = (
        "SELECT session, speaker, count(*), min(occurred_at), max(occurred_at) FROM records"
        f" WHERE session IS NOT NULL AND {where} GROUP BY session, speaker"
        " ORDER BY session, count(*) DESC, speaker"
    )
    found: dict[str, Session] = {}
    for name, voice, number, begin, end in rows(connection, query, parameters):
        one = Session(name, from_micros(begin), from_micros(end), 0, ())
        found[name] = _joined(found.get(name, one), one, voice, number)
    chosen_ones = [one for one in found.values() if speaker in (None, *one.speakers)]
    return sorted(chosen_ones, key=lambda one: (one.end, one.name), reverse=True)[:limit]


def _joined(known: Session, other: Session, voice: str | None, number: int) -> Session:
    is_turn = voice != SYSTEM
    return structs.replace(
        known,
        begin=min(known.begin, other.begin),
        end=max(known.end, other.end),
        turns=known.turns + (number if is_turn else 0),
        speakers=(*known.speakers, voice) if voice and is_turn else known.speakers,
    )
