"""Turn an empty store into one that was exported, with its history."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from lamina.errors import Conflict
from lamina.model import hashing
from lamina.model.clock import EPOCH
from lamina.model.record import Actor, Role
from lamina.store.archive import archive
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.store.engine.sql import Connection
from lamina.store.tables import (
    certificates,
    erased,
    events,
    grants,
    meta,
    rejections,
    sleep,
    trail_check,
)
from lamina.store.tables.records import Row
from lamina.store.upkeep import erase_plan, verify
from lamina.store.upkeep.verify import Progress, Report

IMPORT = Actor(Role.SYSTEM, "import", "store")


class Exported(msgspec.Struct, frozen=True):
    """A whole store, as an export contains it."""

    store_id: str
    rows: Sequence[Row]
    events: Sequence[tuple[str, bytes]]  # bodies and hashes, in order
    notes: Sequence[tuple[int, int, bytes, str]]
    archives: Sequence[archive.Copy] = ()
    grants: Sequence[Row] = ()
    certificates: Sequence[tuple[int, str]] = ()


class _Rejected(Exception):
    """The export contradicts itself; the transaction must not be committed."""


def adopt(store: Store, exported: Exported, progress: Progress | None = None) -> Report:
    """Become the store that was exported; change nothing if the export contradicts itself."""
    seed = hashing.chain_seed(exported.store_id, store.agent, "events")
    report: Report | None = None
    with (
        suppress(_Rejected),
        store.archive.copying(exported.archives),
        Transaction(store, IMPORT, "adopt", EPOCH) as transaction,
    ):
        db = transaction.db
        if events.head(db, store.seed).seq:
            raise Conflict("the store was written to meanwhile; import into an empty one")
        _put_trail(db, exported)
        for copy in exported.archives:
            store.archive.put_copy(db, copy)
        erased.rebuild(db)
        transaction.put(exported.rows)
        db.executemany(grants.INSERT, exported.grants)
        rejections.rebuild(db)
        sleep.rebuild(db)
        trail_check.read(db).rebuild(db)
        certificates.put(db, exported.certificates)
        report = verify.verify(db, seed, None, progress)
        if not report.ok:
            raise _Rejected
        erase_plan.mark_returned(db, erase_plan.everything(store.folder, None))
    assert report is not None
    store.identify()
    return report


def _put_trail(db: Connection, exported: Exported) -> None:
    meta.put(db, "store_id", exported.store_id)
    for seq, (body, digest) in enumerate(exported.events, 1):
        db.execute(events.INSERT, (seq, events.body_of(body).records, body, digest))
    db.executemany(events.INSERT_NOTE, exported.notes)
