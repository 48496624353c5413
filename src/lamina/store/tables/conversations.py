"""Conversations, as the records of their turns name them."""

from __future__ import annotations

import json
from datetime import datetime

import msgspec
from msgspec import structs

from lamina.model.clock import from_micros
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables.records import Filter

BEGINNING = 400  # characters
SYSTEM = "system"  # the speaker that names conversations


class Session(msgspec.Struct, frozen=True):
    """A conversation: when it took place, who spoke, and how many of its turns still exist."""

    name: str
    begin: datetime
    end: datetime
    turns: int
    speakers: tuple[str, ...]
    opening: str = ""  # how its first turn begins


def latest(
    connection: Connection, chosen: Filter, speaker: str | None, limit: int
) -> list[Session]:
    """List the conversations that have records passing a filter, the newest first."""
    where, parameters = chosen.where()
    query = (
        "SELECT session, speaker, count(*), min(occurred_at), max(occurred_at), min(seq)"
        " FROM records"
        f" WHERE session IS NOT NULL AND {where} GROUP BY session, speaker"
        " ORDER BY session, count(*) DESC, speaker"
    )
    found: dict[str, Session] = {}
    firsts: dict[str, int] = {}
    for name, voice, number, begin, end, first in rows(connection, query, parameters):
        one = Session(name, from_micros(begin), from_micros(end), 0, ())
        found[name] = _joined(found.get(name, one), one, voice, number)
        if voice != SYSTEM:
            firsts[name] = min(first, firsts.get(name, first))
    chosen_ones = [one for one in found.values() if speaker in (None, *one.speakers)]
    newest = sorted(chosen_ones, key=lambda one: (one.end, one.name), reverse=True)[:limit]
    begun = _beginnings(connection, [firsts[one.name] for one in newest if one.name in firsts])
    return [structs.replace(one, opening=begun.get(firsts.get(one.name, 0), "")) for one in newest]


def _beginnings(connection: Connection, numbers: list[int]) -> dict[int, str]:
    """Read the beginnings of the texts of some records."""
    query = (
        f"SELECT seq, substr(content, 1, {BEGINNING}) FROM records"
        " WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    return dict(rows(connection, query, (json.dumps(numbers),)))


def _joined(known: Session, other: Session, voice: str | None, number: int) -> Session:
    is_turn = voice != SYSTEM
    return structs.replace(
        known,
        begin=min(known.begin, other.begin),
        end=max(known.end, other.end),
        turns=known.turns + (number if is_turn else 0),
        speakers=(*known.speakers, voice) if voice and is_turn else known.speakers,
    )
