-- The system of record of one agent. docs/format.md explains every table; verify.py checks them against the events.

-- One row is one memory. Times are microseconds since 1970 in UTC; tags, metadata, evidence and supersedes are JSON.
-- The checks are chains of OR because IN builds a table of its values for every row: 4 of 7 µs of an insert.
CREATE TABLE records (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    user          TEXT,
    layer         TEXT NOT NULL CHECK (layer = 'working' OR layer = 'short_term' OR layer = 'episodic'
                      OR layer = 'semantic' OR layer = 'procedural' OR layer = 'profile' OR layer = 'world'),
    state         TEXT NOT NULL CHECK (state = 'active' OR state = 'constrained'
                      OR state = 'superseded' OR state = 'tombstoned'),
    kind          TEXT NOT NULL,
    content       TEXT NOT NULL CHECK (content <> ''),
    importance    REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence    REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    trust         TEXT NOT NULL CHECK (trust = 'operator' OR trust = 'agent' OR trust = 'external'),
    source        TEXT,
    tags          TEXT NOT NULL,
    metadata      TEXT NOT NULL,
    evidence      TEXT NOT NULL,
    speaker       TEXT,
    session       TEXT,
    run_id        TEXT,
    occurred_at   INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    promoted_at   INTEGER,
    valid_from    INTEGER,
    valid_to      INTEGER,
    last_verified INTEGER,
    supersedes    TEXT NOT NULL,
    superseded_by TEXT,
    key           TEXT,              -- the caller's idempotency key
    event         INTEGER NOT NULL,  -- the last event that changed this row
    salt          BLOB NOT NULL CHECK (length(salt) = 16)
) STRICT;

CREATE INDEX records_by_time ON records (occurred_at);
CREATE INDEX records_of_runs ON records (run_id) WHERE layer = 'working' AND state = 'active';
CREATE UNIQUE INDEX records_by_key ON records (key, ifnull(user, '')) WHERE key IS NOT NULL;

-- The tags of all records, turned round for filtering.
CREATE TABLE tags (
    tag    TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES records (seq),
    PRIMARY KEY (tag, record)
) STRICT, WITHOUT ROWID;

-- Which record refers to which, turned round: evidence and lineage.
CREATE TABLE links (
    target   TEXT NOT NULL,
    relation TEXT NOT NULL CHECK (relation = 'evidence' OR relation = 'supersedes'),
    record   INTEGER NOT NULL REFERENCES records (seq),
    PRIMARY KEY (target, relation, record)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER links_resolve BEFORE INSERT ON links
WHEN NOT EXISTS (SELECT 1 FROM records WHERE id = NEW.target)
BEGIN SELECT RAISE(ABORT, 'a link must lead to a record'); END;

CREATE TRIGGER lineage_resolves BEFORE UPDATE OF superseded_by ON records
WHEN NEW.superseded_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records WHERE id = NEW.superseded_by)
BEGIN SELECT RAISE(ABORT, 'superseded_by must lead to a record'); END;

CREATE TRIGGER records_stay BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END;

-- The full-text index over analysed text. It holds no text of its own and is rebuilt from records.
CREATE VIRTUAL TABLE words USING fts5 (
    content, tags, content = '', contentless_delete = 1,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

-- Words are collected in memory up to this size before they are written; 1 MB, the default, costs a bulk load a third.
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);

-- The schema that the documents promise, for any tool that reads SQLite.
CREATE VIEW episodes AS
SELECT id,
       strftime('%Y-%m-%dT%H:%M:%S', (occurred_at - (occurred_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (occurred_at % 1000000 + 1000000) % 1000000) AS timestamp,
       content                                    AS summary,
       coalesce(metadata -> 'participants', '[]') AS participants,
       tags,
       metadata ->> 'raw_hash'                    AS raw_hash,
       importance
FROM records WHERE layer = 'episodic' AND state = 'active';

CREATE VIEW facts AS
SELECT id,
       content,
       metadata ->> 'source_episode' AS source_episode,
       confidence,
       strftime('%Y-%m-%dT%H:%M:%S', (created_at - (created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (created_at % 1000000 + 1000000) % 1000000) AS created,
       strftime('%Y-%m-%dT%H:%M:%S', (last_verified - (last_verified % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (last_verified % 1000000 + 1000000) % 1000000) AS last_verified,
       superseded_by
FROM records WHERE layer = 'semantic' AND state IN ('active', 'superseded');
