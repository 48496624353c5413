CREATE TABLE episodes (
    id TEXT PRIMARY KEY,
    timestamp DATETIME,
    summary TEXT,
    participants TEXT,  -- JSON array
    tags TEXT,          -- JSON array
    raw_hash TEXT,      -- Reference to full content if stored
    importance REAL     -- 0-1 score for retrieval ranking
);
CREATE TABLE facts (
    id TEXT PRIMARY KEY,
    content TEXT,
    source_episode TEXT,
    confidence REAL,
    created DATETIME,
    last_verified DATETIME,
    superseded_by TEXT  -- NULL if current
);
INSERT INTO episodes VALUES ('ep-1', '2026-02-01T09:00:00Z', 'Ana asked for a train to Porto', '["Ana", "Sentinel"]', '["travel"]', 'ab12', 0.7);
INSERT INTO episodes VALUES ('ep-2', '2026-02-02 09:00:00', 'Ana moved to Porto', '["Ana"]', NULL, NULL, 0.9);
INSERT INTO facts VALUES ('fact-1', 'Ana lives in Lisbon', 'ep-1', 0.8, '2026-02-01T10:00:00Z', '2026-02-01T10:00:00Z', 'fact-2');
INSERT INTO facts VALUES ('fact-2', 'Ana lives in Porto', 'ep-2', 0.9, '2026-02-02T10:00:00Z', '2026-02-03T10:00:00Z', NULL);
