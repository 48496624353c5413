-- What the orchestrator knows about its own work. Operational: no memory depends on it, and no chain proves it.

-- The last run of every job.
CREATE TABLE jobs (
    name        TEXT PRIMARY KEY,
    tick        INTEGER NOT NULL,  -- when the tick began that the run belongs to
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,           -- nothing while it runs, and for ever when its process died
    holder      TEXT NOT NULL,
    outcome     TEXT CHECK (outcome IS NULL OR json_valid(outcome)),
    failures    INTEGER NOT NULL   -- in a row, deaths included
) STRICT, WITHOUT ROWID;

-- Who may run jobs now: nobody, or one process until a time.
CREATE TABLE lease (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
) STRICT;
