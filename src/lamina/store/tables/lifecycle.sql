-- Memories that leave for the archive: their rows go, and what follows keeps them found, resolved and proven.

-- The files under `archive/` and the like: a line for each record, in the form of an export.
CREATE TABLE archives (
    number  INTEGER PRIMARY KEY,
    file    TEXT NOT NULL UNIQUE,  -- relative to the agent's folder
    why     TEXT NOT NULL,
    lines   INTEGER NOT NULL,
    sha256  BLOB NOT NULL CHECK (length(sha256) = 32),
    made_at INTEGER NOT NULL
) STRICT;

-- Where each archived record lies, and what fixes it: the hash of its row and the last event about it.
CREATE TABLE archived (
    id      TEXT PRIMARY KEY,
    user    TEXT,
    key     TEXT,
    archive INTEGER NOT NULL,
    line    INTEGER NOT NULL,
    start   INTEGER NOT NULL,  -- its first byte in the file
    bytes   INTEGER NOT NULL,
    hash    BLOB NOT NULL CHECK (length(hash) = 32),
    event   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX archived_by_key ON archived (key, ifnull(user, '')) WHERE key IS NOT NULL;

-- Files that belong to no archive, yet or any more. A crash may leave them; opening the store removes them.
CREATE TABLE strays (
    file   TEXT PRIMARY KEY,
    doomed INTEGER NOT NULL DEFAULT 0  -- nothing can need it any more: a commit has said so
) STRICT, WITHOUT ROWID;

DROP TRIGGER records_stay;

CREATE TRIGGER records_stay BEFORE DELETE ON records
WHEN NOT EXISTS (SELECT 1 FROM archived WHERE id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END;

DROP TRIGGER lineage_resolves;

CREATE TRIGGER lineage_resolves BEFORE UPDATE OF superseded_by ON records
WHEN NEW.superseded_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records WHERE id = NEW.superseded_by)
    AND NOT EXISTS (SELECT 1 FROM archived WHERE id = NEW.superseded_by)
BEGIN SELECT RAISE(ABORT, 'superseded_by must lead to a record'); END;

-- What is turned round, once more without references to `records`: SQLite would search all of it for every row that leaves.
ALTER TABLE tags RENAME TO old_tags;
CREATE TABLE tags (
    tag    TEXT NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (tag, record)
) STRICT, WITHOUT ROWID;
INSERT INTO tags (tag, record) SELECT tag, record FROM old_tags;
DROP TABLE old_tags;

DROP TRIGGER links_resolve;
ALTER TABLE links RENAME TO old_links;
CREATE TABLE links (
    target   TEXT NOT NULL,
    relation TEXT NOT NULL CHECK (relation = 'evidence' OR relation = 'supersedes'),
    record   INTEGER NOT NULL,
    PRIMARY KEY (target, relation, record)
) STRICT, WITHOUT ROWID;
INSERT INTO links (target, relation, record) SELECT target, relation, record FROM old_links;
DROP TABLE old_links;

CREATE TRIGGER links_resolve BEFORE INSERT ON links
WHEN NOT EXISTS (SELECT 1 FROM records WHERE id = NEW.target) AND NOT EXISTS (SELECT 1 FROM archived WHERE id = NEW.target)
BEGIN SELECT RAISE(ABORT, 'a link must lead to a record'); END;

ALTER TABLE facets RENAME TO old_facets;
CREATE TABLE facets (
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (name, value, record)
) STRICT, WITHOUT ROWID;
INSERT INTO facets (name, value, record) SELECT name, value, record FROM old_facets;
DROP TABLE old_facets;

ALTER TABLE vectors RENAME TO old_vectors;
CREATE TABLE vectors (
    space  INTEGER NOT NULL,
    record INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (space, record)
) STRICT, WITHOUT ROWID;
INSERT INTO vectors (space, record, vector) SELECT space, record, vector FROM old_vectors;
DROP TABLE old_vectors;

ALTER TABLE days RENAME TO old_days;
CREATE TABLE days (
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (since, until, record)
) STRICT, WITHOUT ROWID;
INSERT INTO days (since, until, record) SELECT since, until, record FROM old_days;
DROP TABLE old_days;

-- What was learned from the history of this store, as JSON. It can be learned again.
CREATE TABLE models (
    name    TEXT PRIMARY KEY,
    body    TEXT NOT NULL CHECK (json_valid(body)),
    made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Words of records that have left are merged away when they are half of a segment; at 10 %, the default, every batch
-- that leaves would write much of the index anew.
INSERT INTO words (words, rank) VALUES ('deletemerge', 50);
