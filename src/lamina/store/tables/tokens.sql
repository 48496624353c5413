-- What sentence models add to their vectors. All of it is derived from the records and can be made again.

-- The mean of a model's vectors, which is taken off before their signs become bits; NULL where nothing is.
ALTER TABLE spaces ADD COLUMN mean BLOB;

-- The codes of the tokens of a record: 16 bytes for each, in their order.
CREATE TABLE tokens (
    space  INTEGER NOT NULL,
    record INTEGER NOT NULL,
    codes  BLOB NOT NULL,
    PRIMARY KEY (space, record)
) STRICT, WITHOUT ROWID;
