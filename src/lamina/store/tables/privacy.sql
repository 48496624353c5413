-- What is gone for good, and what other agents may read.

-- One row for each erasure. Until it is done, `todo` says what has still to be cleaned, and `certificate` is empty.
CREATE TABLE erasures (
    number      INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    todo        TEXT CHECK (todo IS NULL OR json_valid(todo)),
    certificate TEXT CHECK (certificate IS NULL OR json_valid(certificate))
) STRICT;

-- The stubs of erased records: that they were there, and nothing that they said. By the fingerprints an import is known
-- that would bring one back, and a retry with its key.
CREATE TABLE erased (
    id      TEXT PRIMARY KEY,
    layer   TEXT NOT NULL,
    private INTEGER NOT NULL,  -- it was a user's; other users are not told that it was there
    erasure INTEGER NOT NULL,
    event   INTEGER NOT NULL,  -- the one that erased it
    content BLOB CHECK (content IS NULL OR length(content) = 32),
    key     BLOB CHECK (key IS NULL OR length(key) = 32)
) STRICT, WITHOUT ROWID;

CREATE INDEX erased_by_content ON erased (content) WHERE content IS NOT NULL;
CREATE INDEX erased_by_key ON erased (key) WHERE key IS NOT NULL;

-- Turns that sleep reads again, since something that it had made of them is erased.
CREATE TABLE reread (
    turn TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Which agents may read what: everything in a layer, everything with a tag, or one record; of one user, or of all.
CREATE TABLE grants (
    number     INTEGER PRIMARY KEY,
    agent      TEXT NOT NULL,
    user       TEXT,
    layer      TEXT,
    tag        TEXT,
    record     TEXT,
    granted_at INTEGER NOT NULL,
    expires_at INTEGER,
    ended_at   INTEGER,
    salt       BLOB NOT NULL CHECK (length(salt) = 16),
    CHECK ((layer IS NOT NULL) + (tag IS NOT NULL) + (record IS NOT NULL) = 1)
) STRICT;

CREATE INDEX grants_of_agents ON grants (agent) WHERE ended_at IS NULL;

-- A row leaves when its record is archived or erased.
DROP TRIGGER records_stay;

CREATE TRIGGER records_stay BEFORE DELETE ON records
WHEN NOT EXISTS (SELECT 1 FROM archived WHERE id = OLD.id) AND NOT EXISTS (SELECT 1 FROM erased WHERE id = OLD.id)
BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END;

DROP TRIGGER lineage_resolves;

CREATE TRIGGER lineage_resolves BEFORE UPDATE OF superseded_by ON records
WHEN NEW.superseded_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records WHERE id = NEW.superseded_by)
    AND NOT EXISTS (SELECT 1 FROM archived WHERE id = NEW.superseded_by)
    AND NOT EXISTS (SELECT 1 FROM erased WHERE id = NEW.superseded_by)
BEGIN SELECT RAISE(ABORT, 'superseded_by must lead to a record'); END;

DROP TRIGGER links_resolve;

CREATE TRIGGER links_resolve BEFORE INSERT ON links
WHEN NOT EXISTS (SELECT 1 FROM records WHERE id = NEW.target) AND NOT EXISTS (SELECT 1 FROM archived WHERE id = NEW.target)
    AND NOT EXISTS (SELECT 1 FROM erased WHERE id = NEW.target)
BEGIN SELECT RAISE(ABORT, 'a link must lead to a record'); END;
