-- A hash chain, the same in memory.db (changes) and in reads.db (reads).

-- Who this file belongs to; its chain hangs on this id and agent.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The audit trail: a hash chain over bodies that hold no text of any memory. `records` is the last sequence number
-- given out, so that none is ever given twice.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    records INTEGER NOT NULL,
    body    TEXT NOT NULL,
    hash    BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- Words that belong to an event: a reason, a query. The event holds only a salted hash of each, so they can be erased.
CREATE TABLE notes (
    event    INTEGER NOT NULL REFERENCES events (seq),
    position INTEGER NOT NULL,
    salt     BLOB NOT NULL CHECK (length(salt) = 16),
    body     TEXT NOT NULL,
    PRIMARY KEY (event, position)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;

CREATE TRIGGER events_are_final BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
