-- From schema 7 to 8: the index by which a session's records are found.
CREATE INDEX records_by_session ON lamina.records (owner, session, "user", event) WHERE session IS NOT NULL;

UPDATE lamina.version SET schema = 8;
