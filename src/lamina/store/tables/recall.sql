-- What search is made of. All of it is derived from the records and can be made again.

-- The full-text index once more, with the words of the metadata in a column of their own.
DROP TABLE words;

CREATE VIRTUAL TABLE words USING fts5 (
    content, tags, metadata, content = '', contentless_delete = 1,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);

-- The plain values of all metadata, turned round for filtering.
CREATE TABLE facets (
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES records (seq),
    PRIMARY KEY (name, value, record)
) STRICT, WITHOUT ROWID;

-- The embedders whose vectors are here, and the last record that each has seen.
CREATE TABLE spaces (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL CHECK (dimensions > 0),
    seen       INTEGER NOT NULL
) STRICT;

-- One vector of half-precision numbers for a record and a space.
CREATE TABLE vectors (
    space  INTEGER NOT NULL REFERENCES spaces (number),
    record INTEGER NOT NULL REFERENCES records (seq),
    vector BLOB NOT NULL,
    PRIMARY KEY (space, record)
) STRICT, WITHOUT ROWID;

-- 256 records a row, packed: the columns that candidates are chosen by, and the signs of their vectors as bits. A new
-- process reads these instead of every record. `blocks` hold what was true at the event in `meta` 'blocks'.
CREATE TABLE blocks (
    block   INTEGER PRIMARY KEY,
    columns BLOB NOT NULL
) STRICT;

CREATE TABLE codes (
    space INTEGER NOT NULL REFERENCES spaces (number),
    block INTEGER NOT NULL,
    bits  BLOB NOT NULL,
    PRIMARY KEY (space, block)
) STRICT;

-- The days that a text speaks of, as days since 1970, resolved against when it happened; `until` is the day after.
CREATE TABLE days (
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    record INTEGER NOT NULL REFERENCES records (seq),
    PRIMARY KEY (since, until, record)
) STRICT, WITHOUT ROWID;
