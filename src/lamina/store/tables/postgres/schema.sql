-- The tables of all agents in one PostgreSQL database: the same as in a SQLite file, with the owner first in every key and
-- index. Nobody reads them directly: the views in `lamina_own` show each connection the rows of its own agent.

-- The schema `lamina` is there already: whoever makes it first makes all of this, and others wait for that.
CREATE SCHEMA lamina_own;
COMMENT ON SCHEMA lamina IS 'Lamina: memories of agents';

-- Whose rows a connection reads and writes. Without an agent there is nothing to see, and nothing can be written.
CREATE FUNCTION lamina.owner() RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('lamina.agent', true), '');

CREATE TABLE lamina.version (
    one    BIGINT PRIMARY KEY CHECK (one = 1),
    schema BIGINT NOT NULL
);

CREATE TABLE lamina.meta (
    owner TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    name  TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, name)
);

CREATE TABLE lamina.events (
    owner   TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    seq     BIGINT NOT NULL,
    records BIGINT NOT NULL,
    body    TEXT COLLATE "C" NOT NULL,
    hash    BYTEA NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (owner, seq)
);

CREATE TABLE lamina.notes (
    owner    TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    event    BIGINT NOT NULL,
    position BIGINT NOT NULL,
    salt     BYTEA NOT NULL CHECK (length(salt) = 16),
    body     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, event, position),
    FOREIGN KEY (owner, event) REFERENCES lamina.events (owner, seq)
);

CREATE TABLE lamina.records (
    owner         TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    seq           BIGINT NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    "user"        TEXT COLLATE "C",
    layer         TEXT COLLATE "C" NOT NULL
                  CHECK (layer IN ('working', 'short_term', 'episodic', 'semantic', 'procedural', 'profile', 'world')),
    state         TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'constrained', 'superseded', 'tombstoned')),
    kind          TEXT COLLATE "C" NOT NULL,
    content       TEXT COLLATE "C" NOT NULL CHECK (content <> ''),
    importance    DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence    DOUBLE PRECISION NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    trust         TEXT COLLATE "C" NOT NULL CHECK (trust IN ('operator', 'agent', 'external')),
    source        TEXT COLLATE "C",
    tags          TEXT COLLATE "C" NOT NULL,
    metadata      TEXT COLLATE "C" NOT NULL,
    evidence      TEXT COLLATE "C" NOT NULL,
    speaker       TEXT COLLATE "C",
    session       TEXT COLLATE "C",
    run_id        TEXT COLLATE "C",
    occurred_at   BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    promoted_at   BIGINT,
    valid_from    BIGINT,
    valid_to      BIGINT,
    last_verified BIGINT,
    supersedes    TEXT COLLATE "C" NOT NULL,
    superseded_by TEXT COLLATE "C",
    key           TEXT COLLATE "C",
    event         BIGINT NOT NULL,
    salt          BYTEA NOT NULL CHECK (length(salt) = 16),
    PRIMARY KEY (owner, seq),
    UNIQUE (owner, id)
);

CREATE INDEX records_by_time ON lamina.records (owner, occurred_at);
CREATE INDEX records_of_runs ON lamina.records (owner, run_id) WHERE layer = 'working' AND state = 'active';
CREATE INDEX records_superseded ON lamina.records (owner, id) WHERE superseded_by IS NOT NULL;
CREATE UNIQUE INDEX records_by_key ON lamina.records (owner, key, (coalesce("user", ''))) WHERE key IS NOT NULL;

CREATE TABLE lamina.tags (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    tag    TEXT COLLATE "C" NOT NULL,
    record BIGINT NOT NULL,
    PRIMARY KEY (owner, tag, record)
);

CREATE TABLE lamina.links (
    owner    TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    target   TEXT COLLATE "C" NOT NULL,
    relation TEXT COLLATE "C" NOT NULL CHECK (relation IN ('evidence', 'supersedes')),
    record   BIGINT NOT NULL,
    PRIMARY KEY (owner, target, relation, record)
);

CREATE TABLE lamina.facets (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    name   TEXT COLLATE "C" NOT NULL,
    value  TEXT COLLATE "C" NOT NULL,
    record BIGINT NOT NULL,
    PRIMARY KEY (owner, name, value, record)
);

-- The words of every record, as they are looked for; each has its owner in front, so that the index begins with it, too.
CREATE TABLE lamina.words (
    owner    TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    record   BIGINT NOT NULL,
    part     BIGINT NOT NULL,  -- a very long text has several: a tsvector takes no more than a megabyte
    said     TSVECTOR NOT NULL,
    metadata TSVECTOR NOT NULL,
    PRIMARY KEY (owner, record, part)
);

CREATE INDEX words_said ON lamina.words USING gin (said) WITH (fastupdate = off);
CREATE INDEX words_in_metadata ON lamina.words USING gin (metadata) WITH (fastupdate = off);

CREATE TABLE lamina.spaces (
    owner      TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    number     BIGINT NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    dimensions BIGINT NOT NULL CHECK (dimensions > 0),
    seen       BIGINT NOT NULL,
    PRIMARY KEY (owner, number),
    UNIQUE (owner, name)
);

CREATE TABLE lamina.vectors (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    space  BIGINT NOT NULL,
    record BIGINT NOT NULL,
    vector HALFVEC NOT NULL,
    PRIMARY KEY (owner, space, record)
);

CREATE TABLE lamina.blocks (
    owner   TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    block   BIGINT NOT NULL,
    columns BYTEA NOT NULL,
    PRIMARY KEY (owner, block)
);

CREATE TABLE lamina.codes (
    owner TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    space BIGINT NOT NULL,
    block BIGINT NOT NULL,
    bits  BYTEA NOT NULL,
    PRIMARY KEY (owner, space, block)
);

CREATE TABLE lamina.days (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    since  BIGINT NOT NULL,
    until  BIGINT NOT NULL,
    record BIGINT NOT NULL,
    PRIMARY KEY (owner, since, until, record)
);

CREATE TABLE lamina.archives (
    owner   TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    number  BIGINT NOT NULL,
    file    TEXT COLLATE "C" NOT NULL,
    why     TEXT COLLATE "C" NOT NULL,
    lines   BIGINT NOT NULL,
    sha256  BYTEA NOT NULL CHECK (length(sha256) = 32),
    made_at BIGINT NOT NULL,
    PRIMARY KEY (owner, number),
    UNIQUE (owner, file)
);

CREATE TABLE lamina.archived (
    owner   TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    id      TEXT COLLATE "C" NOT NULL,
    "user"  TEXT COLLATE "C",
    key     TEXT COLLATE "C",
    archive BIGINT NOT NULL,
    line    BIGINT NOT NULL,
    start   BIGINT NOT NULL,
    bytes   BIGINT NOT NULL,
    hash    BYTEA NOT NULL CHECK (length(hash) = 32),
    event   BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE UNIQUE INDEX archived_by_key ON lamina.archived (owner, key, (coalesce("user", ''))) WHERE key IS NOT NULL;

CREATE TABLE lamina.strays (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    file   TEXT COLLATE "C" NOT NULL,
    doomed BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, file)
);

-- The files of the archive themselves: several machines share them.
CREATE TABLE lamina.files (
    owner TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    file  TEXT COLLATE "C" NOT NULL,
    body  BYTEA NOT NULL,
    PRIMARY KEY (owner, file)
);

CREATE TABLE lamina.models (
    owner   TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    name    TEXT COLLATE "C" NOT NULL,
    body    TEXT COLLATE "C" NOT NULL,
    made_at BIGINT NOT NULL,
    PRIMARY KEY (owner, name)
);

CREATE TABLE lamina.jobs (
    owner       TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    name        TEXT COLLATE "C" NOT NULL,
    tick        BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT,
    holder      TEXT COLLATE "C" NOT NULL,
    outcome     TEXT COLLATE "C",
    failures    BIGINT NOT NULL,
    PRIMARY KEY (owner, name)
);

CREATE TABLE lamina.lease (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    one    BIGINT NOT NULL CHECK (one = 1),
    holder TEXT COLLATE "C" NOT NULL,
    until  BIGINT NOT NULL,
    PRIMARY KEY (owner, one)
);

CREATE TABLE lamina.rejected (
    owner       TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    fingerprint BYTEA NOT NULL CHECK (length(fingerprint) = 32),
    record      TEXT COLLATE "C" NOT NULL,
    "user"      TEXT COLLATE "C",
    PRIMARY KEY (owner, fingerprint, record)
);

CREATE TABLE lamina.proposed (
    owner  TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    day    BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (owner, day)
);

CREATE TABLE lamina.slept (
    owner TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    one   BIGINT NOT NULL CHECK (one = 1),
    seq   BIGINT NOT NULL,
    PRIMARY KEY (owner, one)
);

CREATE TABLE lamina.heard (
    owner TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    turn  TEXT COLLATE "C" NOT NULL,
    what  TEXT COLLATE "C" NOT NULL CHECK (what IN ('promoted', 'summary')),
    PRIMARY KEY (owner, turn, what)
);

CREATE TABLE lamina.aged (
    owner    TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    record   TEXT COLLATE "C" NOT NULL,
    original DOUBLE PRECISION NOT NULL,
    adjusted DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner, record)
);

CREATE TABLE lamina.erasures (
    owner       TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    number      BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    todo        TEXT COLLATE "C",
    certificate TEXT COLLATE "C",
    PRIMARY KEY (owner, number)
);

CREATE TABLE lamina.erased (
    owner   TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    id      TEXT COLLATE "C" NOT NULL,
    layer   TEXT COLLATE "C" NOT NULL,
    private BIGINT NOT NULL,
    erasure BIGINT NOT NULL,
    event   BIGINT NOT NULL,
    content BYTEA CHECK (length(content) = 32),
    key     BYTEA CHECK (length(key) = 32),
    PRIMARY KEY (owner, id)
);

CREATE INDEX erased_by_content ON lamina.erased (owner, content) WHERE content IS NOT NULL;
CREATE INDEX erased_by_key ON lamina.erased (owner, key) WHERE key IS NOT NULL;

CREATE TABLE lamina.reread (
    owner TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    turn  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, turn)
);

CREATE TABLE lamina.grants (
    owner      TEXT COLLATE "C" NOT NULL DEFAULT lamina.owner(),
    number     BIGINT NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL,
    "user"     TEXT COLLATE "C",
    layer      TEXT COLLATE "C",
    tag        TEXT COLLATE "C",
    record     TEXT COLLATE "C",
    granted_at BIGINT NOT NULL,
    expires_at BIGINT,
    ended_at   BIGINT,
    salt       BYTEA NOT NULL CHECK (length(salt) = 16),
    PRIMARY KEY (owner, number),
    CHECK (num_nonnulls(layer, tag, record) = 1)
);

CREATE INDEX grants_of_agents ON lamina.grants (owner, agent) WHERE ended_at IS NULL;

-- The same rules as in a file: the trail is only added to, and what refers to a record leads to one.
CREATE FUNCTION lamina.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A restored backup takes the place of everything, in one transaction that says so.
    IF current_setting('lamina.replacing', true) = 'on' THEN RETURN coalesce(NEW, OLD); END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION lamina.is_known(whose TEXT, wanted TEXT) RETURNS boolean LANGUAGE sql STABLE
RETURN EXISTS (SELECT 1 FROM lamina.records r WHERE r.owner = whose AND r.id = wanted)
    OR EXISTS (SELECT 1 FROM lamina.archived a WHERE a.owner = whose AND a.id = wanted)
    OR EXISTS (SELECT 1 FROM lamina.erased e WHERE e.owner = whose AND e.id = wanted);

CREATE FUNCTION lamina.has_left(whose TEXT, wanted TEXT) RETURNS boolean LANGUAGE sql STABLE
RETURN EXISTS (SELECT 1 FROM lamina.archived a WHERE a.owner = whose AND a.id = wanted)
    OR EXISTS (SELECT 1 FROM lamina.erased e WHERE e.owner = whose AND e.id = wanted);

CREATE TRIGGER events_stay BEFORE DELETE ON lamina.events
FOR EACH ROW EXECUTE FUNCTION lamina.refuse('events are never deleted');

CREATE TRIGGER events_are_final BEFORE UPDATE ON lamina.events
FOR EACH ROW EXECUTE FUNCTION lamina.refuse('events are never changed');

CREATE TRIGGER events_stay_all BEFORE TRUNCATE ON lamina.events
FOR EACH STATEMENT EXECUTE FUNCTION lamina.refuse('events are never deleted');

CREATE TRIGGER records_stay_all BEFORE TRUNCATE ON lamina.records
FOR EACH STATEMENT EXECUTE FUNCTION lamina.refuse('records are never deleted');

CREATE TRIGGER records_stay BEFORE DELETE ON lamina.records
FOR EACH ROW WHEN (NOT lamina.has_left(OLD.owner, OLD.id)) EXECUTE FUNCTION lamina.refuse('records are never deleted');

CREATE TRIGGER lineage_resolves BEFORE UPDATE OF superseded_by ON lamina.records
FOR EACH ROW WHEN (NEW.superseded_by IS NOT NULL AND NOT lamina.is_known(NEW.owner, NEW.superseded_by))
EXECUTE FUNCTION lamina.refuse('superseded_by must lead to a record');

CREATE TRIGGER links_resolve BEFORE INSERT ON lamina.links
FOR EACH ROW WHEN (NOT lamina.is_known(NEW.owner, NEW.target))
EXECUTE FUNCTION lamina.refuse('a link must lead to a record');

-- What a connection sees: of every table, the rows of its own agent.
DO $$
DECLARE
    known TEXT;
    fields TEXT;
BEGIN
    FOR known IN SELECT tablename::text FROM pg_tables WHERE schemaname = 'lamina' AND tablename <> 'version' LOOP
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO fields FROM pg_attribute
        WHERE attrelid = format('lamina.%I', known)::regclass AND attnum > 0 AND NOT attisdropped;
        EXECUTE format(
            'CREATE VIEW lamina_own.%I AS SELECT %s FROM lamina.%I WHERE owner = lamina.owner() WITH CHECK OPTION',
            known, fields, known
        );
    END LOOP;
END $$;

-- Two things that SQLite has and PostgreSQL spells in another way.
CREATE FUNCTION lamina_own.json_each(listed TEXT) RETURNS TABLE (value TEXT) LANGUAGE sql STABLE ROWS 100
AS $$ SELECT jsonb_array_elements_text(listed::jsonb) $$;

CREATE FUNCTION lamina_own.length(vector HALFVEC) RETURNS BIGINT LANGUAGE sql IMMUTABLE
RETURN 2 * vector_dims(vector);

-- Nobody has a right here who was not given one, whatever the defaults of this database are. Without one on the schemas, nobody
-- can call the functions either.
REVOKE ALL ON SCHEMA lamina, lamina_own FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA lamina, lamina_own FROM PUBLIC;

INSERT INTO lamina.version (one, schema) VALUES (1, 5);
