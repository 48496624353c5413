-- What sleep knows about its own work. Operational: no memory depends on it, and no chain proves it.

-- The last number up to which it has read.
CREATE TABLE slept (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT;

-- Turns below that number that were promoted and read later, and turns that a summary stands for.
CREATE TABLE heard (
    turn TEXT NOT NULL,
    what TEXT NOT NULL CHECK (what = 'promoted' OR what = 'summary'),
    PRIMARY KEY (turn, what)
) STRICT, WITHOUT ROWID;

-- The importance that a record had before sleep adjusted it, and what it became. Another one was given by somebody since.
CREATE TABLE aged (
    record   TEXT PRIMARY KEY,
    original REAL NOT NULL,
    adjusted REAL NOT NULL
) STRICT, WITHOUT ROWID;
