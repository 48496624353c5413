-- How far sleep has read. Operational: whatever is read again gives nothing new.
CREATE TABLE slept (
    mark  TEXT PRIMARY KEY CHECK (mark = 'seq' OR mark = 'promoted'),
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
