-- From schema 5 to 6: the means of vectors, and the codes of tokens.
ALTER TABLE lamina.spaces ADD COLUMN mean BYTEA;

CREATE OR REPLACE VIEW lamina_own.spaces AS
SELECT owner, number, name, dimensions, seen, mean FROM lamina.spaces WHERE owner = lamina.owner() WITH CHECK OPTION;

CREATE TABLE lamina.tokens (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    space  BIGINT NOT NULL,
    record BIGINT NOT NULL,
    codes  BYTEA NOT NULL,
    PRIMARY KEY (owner, space, record)
);

CREATE VIEW lamina_own.tokens AS
SELECT owner, space, record, codes FROM lamina.tokens WHERE owner = lamina.owner() WITH CHECK OPTION;

REVOKE ALL ON lamina.tokens, lamina_own.tokens FROM PUBLIC;

UPDATE lamina.version SET schema = 6;
