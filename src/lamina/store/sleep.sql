-- What sleep knows about its own work. Operational: no memory depends on it, and no chain proves it.

-- How far it has read; whatever is read again gives nothing new.
CREATE TABLE slept (
    mark  TEXT PRIMARY KEY CHECK (mark = 'seq' OR mark = 'promoted'),
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The importance that a record had before sleep adjusted it, and what it became. Another one was given by somebody since.
CREATE TABLE aged (
    record   INTEGER PRIMARY KEY,
    original REAL NOT NULL,
    adjusted REAL NOT NULL
) STRICT;
