-- What was decided about proposals, where it is needed at the next write.

-- Values that were rejected, in a form that every disguise of them has too. The notes of the events `reject` say the same.
CREATE TABLE rejected (
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    record      TEXT NOT NULL,
    user        TEXT,
    PRIMARY KEY (fingerprint, record)
) STRICT, WITHOUT ROWID;

-- How many proposals machines have made, by the day. Operational: no memory depends on it, and no chain proves it.
CREATE TABLE proposed (
    day    INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
) STRICT;
