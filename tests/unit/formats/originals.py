"""Files as the original programs write them: their schemas, with a few rows, and their lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

RUNS = """
CREATE TABLE runs (started TEXT DEFAULT (datetime('now')), run_id TEXT UNIQUE);
INSERT INTO runs (run_id) VALUES ('run-7');
"""
# The columns of the document, with defaults that are computed.
SKYLATTICE = f"""{RUNS}
CREATE TABLE memory_records (
    record_id TEXT NOT NULL UNIQUE,
    layer TEXT CHECK (layer <> ''),
    status TEXT NOT NULL,
    summary TEXT NOT NULL,
    metadata_json TEXT,
    source_refs_json TEXT,
    confidence REAL,
    run_id TEXT REFERENCES runs (run_id),
    supersedes TEXT,
    created_at TEXT DEFAULT CURRENT_TIMESTAMP,
    updated_at TEXT DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO memory_records (record_id, run_id, layer, summary, source_refs_json, metadata_json,
    confidence, status, supersedes, created_at, updated_at) VALUES
    ('mem-1', 'run-7', 'episodic', 'Release notes written', '["run:run-7"]', '{{"task": "notes"}}',
     0.9, 'active', NULL, '2026-03-01 12:00:00', '2026-03-02 12:00:00'),
    ('mem-2', NULL, 'profile', 'Answers are long', '[]',
     '{{"profile_key": "tone", "value": "detailed"}}', 1.0, 'superseded', NULL,
     '2026-03-01 13:00:00', '2026-03-01 14:00:00'),
    ('mem-3', NULL, 'profile', 'Answers are short', '[]',
     '{{"profile_key": "tone", "value": "concise", "reason": "asked for it"}}', 1.0, 'active',
     'mem-2', '2026-03-01 14:00:00', '2026-03-01 14:00:00'),
    ('mem-4', NULL, 'semantic', 'Ben reviews on Fridays', '[]', '{{}}', 0.7,
     'constrained', NULL, '2026-03-01 15:00:00', '2026-03-01 15:00:00'),
    ('mem-5', NULL, 'procedural', 'Write the notes, then tag', '[]',
     '{{"workflow": "release-notes", "canonical": false}}', 0.8, 'tombstoned', NULL,
     '2026-03-01 16:00:00', '2026-03-01 16:00:00');
INSERT INTO memory_records
    (record_id, layer, summary, source_refs_json, metadata_json, confidence, status)
    VALUES ('mem-6', 'episodic', 'It says by itself when it was', '[]', '{{}}', 1.0, 'active');
"""
# Other versions: `kind` for the layer, plain names, and columns that nobody here has heard of.
SKYLATTICE_LATER = f"""{RUNS}
CREATE TABLE memory_records (
    record_id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, status TEXT DEFAULT 'active',
    summary TEXT NOT NULL, metadata TEXT DEFAULT '{{}}', run_id INTEGER, evidence TEXT,
    source_refs TEXT, confidence REAL DEFAULT 1.0, embedding BLOB, mood TEXT,
    created_at TEXT DEFAULT (datetime('now')), updated_at TEXT DEFAULT (strftime('%Y', 'now'))
);
INSERT INTO memory_records VALUES
    (1, 'episodic', 'active', 'Release notes written', '{{"task": "notes"}}', 7, '["run:run-7"]',
     '["https://example.org"]', 0.5, x'00ff', 'glad', '2026-03-01 12:00:00', '2026-03-01 12:00:00');
"""
# A full-text index of its own, kept up to date by a trigger for each table.
FULL_TEXT = """
CREATE VIRTUAL TABLE episodes_fts USING fts5(said, of UNINDEXED);
CREATE TRIGGER index_episode AFTER INSERT ON episodes
    BEGIN INSERT INTO episodes_fts (of, said) VALUES (new.id, new.summary); END;
CREATE TRIGGER index_fact AFTER INSERT ON facts
    BEGIN INSERT INTO episodes_fts (of, said) VALUES (new.id, new.content); END;
"""
# The tables of the document, with the program's columns in the place of some of its own.
SENTINEL = f"""
CREATE TABLE core_memory (key TEXT, value TEXT, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE episodes (
    id TEXT PRIMARY KEY, timestamp DATETIME, summary TEXT, tags TEXT, importance REAL, metadata TEXT
);
CREATE TABLE facts (
    id TEXT PRIMARY KEY, content TEXT, source_episode TEXT, confidence REAL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP, superseded_by TEXT
);
{FULL_TEXT}
INSERT INTO core_memory VALUES
    ('name', 'Ana', '2026-02-01T08:00:00.123456'),
    ('drink', 'tea', '2026-02-01T08:00:00'),
    ('user_profile', '{{"interests": ["boats"], "communication_style": "casual", "name": ""}}',
     '2026-02-01T08:00:00');
INSERT INTO episodes VALUES ('ep-1', '2026-02-01T09:00:00', 'Ana moved to Porto', '["travel"]', 0.7,
    '{{"mood": "glad"}}');
INSERT INTO episodes (id, timestamp, summary) VALUES ('ep-2', '2026-02-02T09:00:00', 'Ana called');
INSERT INTO facts VALUES
    ('fact-1', 'Ana lives in Lisbon', NULL, 0.8, '2026-02-01T10:00:00', 'fact-2'),
    ('fact-2', 'Ana lives in Porto', 'ep-1', 0.9, '2026-02-02T10:00:00', NULL);
"""
SENTINEL_NUMBERED = f"""
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp DATETIME, summary TEXT, participants TEXT,
    tags TEXT, raw_hash TEXT, importance REAL, created_at TEXT DEFAULT CURRENT_TIMESTAMP,
    metadata TEXT, embedding BLOB
);
CREATE TABLE facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT, source_episode INTEGER, confidence REAL,
    created DATETIME, last_verified DATETIME, superseded_by INTEGER,
    created_at TEXT DEFAULT CURRENT_TIMESTAMP, metadata TEXT
);
{FULL_TEXT}
INSERT INTO episodes VALUES (1, '2026-02-01T09:00:00Z', 'Ana moved to Porto', '["Ana"]', '["travel"]',
    'ab12', 0.7, '2026-02-05 09:00:00', '{{"mood": "glad"}}', x'0102');
INSERT INTO facts VALUES
    (1, 'Ana lives in Lisbon', NULL, 0.8, '2026-02-01T10:00:00Z', NULL, 2, NULL, NULL),
    (2, 'Ana lives in Porto', 1, 0.9, '2026-02-02T10:00:00Z', '2026-02-03T10:00:00Z', NULL,
     '2026-02-02T10:00:00Z', '{{"by": "sleep"}}');
"""
MILTON_SHORT: list[dict[str, Any]] = [
    {
        "record_type": "memory_item",
        "data": {
            "id": "5f0c",
            "ts": "2026-01-02T03:04:05+00:00",
            "agent": "nexus",
            "type": "preference",
            "content": "prefers tea",
            "tags": ["drink"],
            "importance": 0.6,
            "source": "chat",
            "request_id": "req-9",
            "evidence": ["logs/a.txt"],
        },
    }
]
MILTON_LONG: list[dict[str, Any]] = [
    {
        "record_type": "user_profile",
        "data": {
            "preferences": ["prefers tea"],
            "stable_facts": ["lives in Porto"],
            "do_not_assume": [],
            "last_updated": "2026-01-03T00:00:00+00:00",
            "evidence_ids": ["5f0c"],
        },
    },
    {
        "record_type": "project_memory",
        "data": {
            "project_name": "boat",
            "goals": ["sail"],
            "blockers": ["no wind"],
            "next_steps": ["wait"],
            "evidence_ids": ["5f0c"],
        },
    },
    {
        "record_type": "user_profile",
        "data": {
            "preferences": ["prefers tea"],
            "stable_facts": ["lives in Porto", "has a boat"],
            "do_not_assume": ["a car"],
            "last_updated": "2026-01-04T00:00:00+00:00",
            "evidence_ids": ["5f0c", "6a1d"],
        },
    },
]
SKY = """\
{"timestamp": "2025-11-08T12:34:56.789Z", "content": "Generated morning report", "metadata": {"type": "action", "tool": "morning_reporter", "status": "success"}, "score": 0}
{"ts": 1699999999.123, "type": "short", "content": "User asked about Garmin sleep data", "tags": ["garmin", "sleep"], "importance": 0.85}
{"timestamp": "2025-11-08T12:34:56.789Z", "content": "Sleep has improved", "score": 8, "metadata": {"type": "insight", "category": "health", "tags": ["sleep"]}, "committed": true}
{"ts": 1699999995, "type": "long", "content": "important insight", "importance": 0.85, "promoted_at": 1700000100}
{"ts": 1699999996, "timestamp": "2023-11-14T22:13:16Z", "type": "long", "content": "both", "importance": 0.85, "score": 8, "metadata": {"type": "decision"}}
"""


def database(path: Path, statements: str) -> Path:
    connection = apsw.Connection(str(path))
    connection.execute(statements)
    connection.close()
    return path


def jsonl(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
