-- From schema 6 to 7: the index by which a user's records are found.
CREATE INDEX records_of_users ON lamina.records (owner, "user", event);

UPDATE lamina.version SET schema = 7;
