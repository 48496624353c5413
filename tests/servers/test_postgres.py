"""Memories on PostgreSQL: the contract of every store, and what is promised of a place that several
homes share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import lamina
from lamina import Operator
from lamina.errors import NotFound, StoreUnavailable
from lamina.memory import erasure
from lamina.search import RANKERS
from lamina.store.tables import fulltext
from lamina.store.upkeep import erase_plan
from lamina.text import words as text
from tests.conftest import FULL, Ticking, contents, verified
from tests.contract.stores import Place, StoreContract, StoreDesk
from tests.faults.harness import AGENT, Child, check_sound, size
from tests.servers.everywhere import Copied

TOPICS = "boiler tea train garden Porto music doctor invoice cat weather".split()
VERBS = "likes hates fixes forgets paints cooks sells".split()
NAMES = "Ana Ben Chloé Dörte Эдуард 健太 Fatima".split()


class TestPostgres(StoreContract):
    """B3: a PostgreSQL database as the shared system of record."""

    @pytest.fixture
    def place(self, quick_postgres: Copied) -> Iterator[Place]:
        names: list[str] = []

        def new() -> Mapping[str, Any]:
            names.append(quick_postgres.copy())
            return {"store.url": quick_postgres.url(names[-1])}

        yield new
        for name in names:
            quick_postgres.drop(name)

    @pytest.fixture
    def alter(self, quick_postgres: Copied, desk: StoreDesk) -> Callable[[str], None]:
        return lambda statement: altered(quick_postgres, desk, statement)


def altered(server: Copied, desk: StoreDesk, statement: str) -> None:
    """Change rows without any trigger being asked."""
    server.execute(
        f"SET session_replication_role = replica; SET search_path = lamina, public; {statement}",
        name_of(desk),
    )


def name_of(desk: StoreDesk) -> str:
    return str(desk.settings["store.url"]).rpartition("/")[2]


@pytest.fixture
def desk(tmp_path: Path, quick_postgres: Copied) -> Iterator[StoreDesk]:
    name = quick_postgres.copy()
    with StoreDesk(tmp_path / "home", {"store.url": quick_postgres.url(name)}) as opened:
        yield opened
    quick_postgres.drop(name)


# What is long


def test_the_longest_text_is_found_by_every_word(desk: StoreDesk) -> None:
    """B3, Q2: a megabyte of words that are all different is more than one entry of the index takes;
    none of them is lost."""
    words = [f"w{number:x}q" for number in range(120_000)]
    with desk.operator() as op:
        long = op.remember(" ".join(words)[: 1 << 20], metadata={"note": " ".join(words[:30_000])})
        op.remember("something else")
        for word in (words[0], words[1500], words[60_000], words[100_000]):
            assert [hit.record.id for hit in op.search(word, ranker="keyword")] == [long.id]
        assert not fulltext.differs(op._scope.store.database.reader())
        assert fulltext.missing(op._scope.store.database.reader()) == []
        op.forget(long.id)
        assert contents(op.search(words[100_000], ranker="keyword")) == []


def test_a_name_may_be_longer_than_an_index_takes(desk: StoreDesk) -> None:
    """B3, R7: metadata is kept as it was given; only what nobody would filter by is left out
    of the index."""
    name = "long" * 10_000
    with desk.operator() as op:
        made = op.remember("tea", metadata={name: "x", "city": "Porto"})
        assert op.get(made.id).metadata[name] == "x"
        assert contents(op.search("tea", metadata={"city": "Porto"})) == ["tea"]


# The same answers as from a file


class Pair(NamedTuple):
    """The same memory in a file and on a server."""

    file: Operator
    server: Operator

    def remember(self, content: str, **fields: Any) -> int:
        first, second = (handle.remember(content, **fields) for handle in self)
        assert first.seq == second.seq
        return first.seq


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, quick_postgres: Copied) -> Iterator[Pair]:
    url = quick_postgres.url(quick_postgres.copy())
    with ExitStack() as stack:
        homes = [tmp_path_factory.mktemp("file"), tmp_path_factory.mktemp("server")]
        desks = [
            StoreDesk(homes[0], {}, Ticking()),
            StoreDesk(homes[1], {"store.url": url}, Ticking()),
        ]
        yield Pair(*(stack.enter_context(one).operator() for one in desks))


WRITTEN = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=120
)
SPOKEN = st.lists(
    st.sampled_from(
        [
            *TOPICS,
            *NAMES,
            "l'été",
            "don't",
            "naïve",
            "e\u0301",
            "ﬁx",
            "ＴＥＡ",
            "x" * 700,
            "猫" * 200,
            "😀",
            "a\\b",
        ]
    )
).map(" ".join)
TEXTS = (WRITTEN | SPOKEN).filter(str.strip)


@hypothesis_settings(max_examples=2000 if FULL else 60)
@given(TEXTS, st.lists(WRITTEN.filter(lambda tag: len(tag) < 60 and tag.strip()), max_size=2))
@example("it's 'quoted' \\ and \\' odd", ["a & b | !c", "x:*"])
@example("<-> @@ :* 'x' ''", [])
def test_the_same_words_lead_to_the_same_memories(
    pair: Pair, content: str, tags: list[str]
) -> None:
    """B3, Q1: whatever the script, every word of a text is found in both places, in
    the same memories."""
    try:
        number = pair.remember(content, tags=tags, metadata={"said": content})
    except lamina.InvalidInput:  # nothing but what cannot be a tag or a text
        return
    words = {*text.terms(content), *text.terms(" ".join(tags))}
    file, server = (handle._scope.store.database.reader() for handle in pair)
    for word in words:
        for where in (fulltext.SAID, fulltext.METADATA):
            found = fulltext.holding(server, word, where).tolist()
            assert found == fulltext.holding(file, word, where).tolist()
    found, expected = (
        [hit.record.seq for hit in handle.search(content, 50, ranker="keyword")] for handle in pair
    )
    assert found == expected
    assert number not in fulltext.missing(server)


def test_the_words_agree_with_the_records(pair: Pair) -> None:
    """P4, Q1: after all of that, the index on the server is what its records ask for."""
    reader = pair.server._scope.store.database.reader()
    assert not fulltext.differs(reader)
    assert verified(pair.server)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, quick_postgres: Copied) -> Iterator[Pair]:
    """A few hundred memories in both places, indexed."""
    url = quick_postgres.url(quick_postgres.copy())
    with ExitStack() as stack:
        desks = [
            StoreDesk(tmp_path_factory.mktemp("file"), {}, Ticking()),
            StoreDesk(tmp_path_factory.mktemp("server"), {"store.url": url}, Ticking()),
        ]
        made = Pair(*(stack.enter_context(one).operator() for one in desks))
        for handle in made:
            fill(handle, 2000 if FULL else 300)
            handle.index()
            fill(handle, 20, seed=2)  # some are in no block yet
        yield made


def fill(handle: Operator, number: int, seed: int = 1) -> None:
    chance = random.Random(seed)
    handle.remember_many(
        {
            "content": " ".join((*map(chance.choice, (NAMES, VERBS, TOPICS, NAMES)), str(n))),
            "tags": chance.sample(TOPICS, chance.randrange(3)),
            "metadata": {"n": chance.randrange(5), "city": chance.choice(["Porto", "Köln"])},
            "importance": chance.random(),
            "layer": chance.choice(["short_term", "episodic"]),
            "kind": chance.choice(["fact", "insight"]),
            "at": chance.randrange(1, 2_000_000_000),
        }
        for n in range(number)
    )


QUESTIONS = [
    "who likes tea",
    "Chloé boiler",
    "健太",
    "Эдуард sells music",
    "cat",
    "doctor's invoice in Porto",
    "17",
    "what was in 1999?",
]
FILTERS: list[dict[str, Any]] = [
    {},
    {"tags": ["tea", "cat"]},
    {"all_tags": ["tea", "cat"]},
    {"metadata": {"n": 3}},
    {"kinds": ["fact"], "layers": ["episodic"]},
    {"since": 1_000_000_000},
    {"known_at": "2026-05-01T08:00:01.5Z"},
]


@pytest.mark.parametrize("ranker", RANKERS)
def test_searches_answer_the_same(told: Pair, ranker: str) -> None:
    """B3, Q2: the same memories in the same order with the same scores, for every
    ranker and filter."""
    for question in QUESTIONS:
        for filters in FILTERS:
            file, server = (
                [
                    (hit.record.id, hit.score, hit.parts)
                    for hit in handle.search(question, 20, ranker=ranker, **filters)
                ]
                for handle in told
            )
            assert file == server, (question, filters)


def test_everything_else_answers_the_same(told: Pair) -> None:
    """B3: lists, contexts, and what is pending."""
    file, server = (
        (handle.list(limit=1000), handle.memory_context("tea in Porto").text, handle.pending())
        for handle in told
    )
    assert file == server


# Two homes, two agents


def homes(tmp_path: Path, url: str) -> list[Path]:
    """Two homes whose settings lead to one database."""
    made = [tmp_path / "one", tmp_path / "two"]
    for home in made:
        home.mkdir()
        (home / "config.toml").write_text(f'[store]\nurl = "{url}"\n', "utf-8")
    return made


def test_two_homes_write_at_once(tmp_path: Path, postgres_url: str) -> None:
    """B3, P4, R1: many writers in two homes on one database lose nothing, and share one gapless
    order and one chain."""
    people, each = size(quick=8, full=32), size(quick=15, full=150)
    places = homes(tmp_path, postgres_url)
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("crowd", places[n % 2], each, f"p{n}")) for n in range(people)
        ]
        for child in children:
            child.hear()
        for child in children:
            child.tell(go=True)
        for child in children:
            child.finish()
    expected = {f"memory {n} of p{p}" for p in range(people) for n in range(each)}
    heads = []
    for home in places:
        with lamina.operator(AGENT, home=home) as operator:
            check_sound(operator)
            records = operator.list(limit=10_000)
            assert {record.content for record in records} == expected
            assert sorted(record.seq for record in records) == list(range(1, people * each + 1))
            assert operator.audit_verify()["events"].events >= len(expected)
            heads.append(operator.audit_head()["events"])
    assert heads[0] == heads[1]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_writers_take_turns_whatever_a_role_has_by_default(
    tmp_path: Path, quick_postgres: Copied, level: str
) -> None:
    """B3, P4: who has waited for its turn sees what was written meanwhile, also where transactions
    are stricter by default."""
    name = quick_postgres.copy()
    quick_postgres.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    with ExitStack() as stack:
        handles = [
            stack.enter_context(lamina.open("sky", home=place, settings={"failsafe": "off"}))
            for place in homes(tmp_path, quick_postgres.url(name))
        ]

        def remember(number: int) -> str:
            return handles[number % len(handles)].remember(f"memory {number}").id

        with ThreadPoolExecutor(4) as people:
            assert len(set(people.map(remember, range(40)))) == 40
        assert len(handles[0].list(limit=50)) == 40


def test_names_are_compared_as_in_a_file(tmp_path: Path, quick_postgres: Copied) -> None:
    """P5, B3: who is to be erased is found as its speaker has it, whatever the locale of the
    database makes of capitals."""
    locale = "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'"
    quick_postgres.execute(
        f"CREATE DATABASE lamina_locale OWNER lamina ENCODING 'UTF8' {locale} TEMPLATE template0"
    )
    quick_postgres.execute("CREATE EXTENSION vector", "lamina_locale")
    found = []
    for number, url in enumerate(("", quick_postgres.url("lamina_locale"))):
        with lamina.operator("sky", home=tmp_path / str(number), settings={"store.url": url}) as op:
            for speaker in ("ÄNNE", "Bob"):
                op.remember("I like tea", speaker=speaker)
            reader = op._scope.store.database.reader()
            found.append(
                [
                    len(erase_plan.naming(reader, name))
                    for name in ("ÄNNE", "Änne", "änne", "BOB", "bo")
                ]
            )
    assert found == [[1, 1, 0, 1, 0]] * 2
    quick_postgres.drop("lamina_locale")


def test_each_home_sees_the_other_at_once(tmp_path: Path, quick_postgres: Copied) -> None:
    """B3, L1: what one home has remembered, forgotten or archived is so for the other when
    the call returns."""
    with ExitStack() as stack:
        url = quick_postgres.url(quick_postgres.copy())
        here, there = (
            stack.enter_context(lamina.operator(AGENT, home=home)) for home in homes(tmp_path, url)
        )
        for n in range(20):
            record = here.remember(f"memory {n} of the boiler", tags=["x"], key=f"k{n}")
            assert there.get(record.id) == record
            assert there.search(f"memory {n} boiler", limit=1)[0].record == record
            assert there.remember(f"memory {n} of the boiler", key=f"k{n}") == record
            here, there = there, here
        here.forget(record.id, "no")
        assert record.id not in {one.id for one in there.list()}
        there.prune(tags=["x"])
        assert here.list() == []
        assert len(here.search_archive("boiler")) == 19
        assert here.audit_head()["events"] == there.audit_head()["events"]


def test_runs_of_one_home_are_closed_by_the_other(tmp_path: Path, quick_postgres: Copied) -> None:
    """L10, B3: working memory is shared like the rest."""
    with ExitStack() as stack:
        url = quick_postgres.url(quick_postgres.copy())
        here, there = (
            stack.enter_context(lamina.operator(AGENT, home=home)) for home in homes(tmp_path, url)
        )
        here.run("task").note("a note")
        (run,) = there.runs()
        run.close("done")
        assert here.runs() == []


def rows_seen(url: str, agent: str | None) -> dict[str, int]:
    """How many rows of each view a connection sees."""
    with psycopg.connect(url, autocommit=True) as connection:
        if agent is not None:
            connection.execute("SELECT set_config('lamina.agent', %s, false)", (agent,))
        views = connection.execute(
            "SELECT viewname FROM pg_views WHERE schemaname = 'lamina_own'"
        ).fetchall()
        count = "SELECT count(*) FROM lamina_own."
        found = {name: connection.execute((count + name).encode()).fetchone() for (name,) in views}
        return {name: row[0] for name, row in found.items() if row is not None}


def test_agents_never_see_each_other(desk: StoreDesk) -> None:
    """P2, B3: two agents in one database have each their own rows; without an agent there are none,
    and none can be made."""
    sky, milton = desk.operator(), desk.operator("milton", store_id="6" * 32)
    for handle in (sky, milton):
        handle.remember_many(
            {"content": f"{handle.agent} {n}", "tags": ["x"], "metadata": {"a": n}}
            for n in range(5)
        )
        handle.index()
    milton.remember("one more")
    url = str(desk.settings["store.url"])
    assert (rows_seen(url, "sky")["records"], rows_seen(url, "milton")["records"]) == (5, 6)
    for nobody in (None, "", "aegis", "sky' OR 'x'='x", "SKY"):
        assert set(rows_seen(url, nobody).values()) == {0}
    insert = "INSERT INTO lamina_own.meta (name, value) VALUES ('x', 'y')"
    with psycopg.connect(url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.NotNullViolation):
            connection.execute(insert)
        connection.execute("SELECT set_config('lamina.agent', 'sky', false)")
        with pytest.raises(psycopg.errors.WithCheckOptionViolation):
            connection.execute(
                "INSERT INTO lamina_own.meta (owner, name, value) VALUES ('milton', 'x', 'y')"
            )
        changed = connection.execute(
            "UPDATE lamina_own.meta SET value = value WHERE owner = 'milton'"
        )
        assert changed.rowcount == 0
        with pytest.raises(psycopg.errors.WithCheckOptionViolation):
            connection.execute("UPDATE lamina_own.meta SET owner = 'aegis'")
    assert verified(sky)
    assert verified(milton)


def test_two_homes_take_turns_to_erase(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5, B3: an erasure waits for one on another machine, and not for ever; the lock takes no
    connection from the pool."""
    monkeypatch.setattr(erasure, "PATIENCE", 0.2)
    small = {"store.pool_size": 2, "mirrors.jsonl": "sky"}
    with ExitStack() as stack:
        one, two = (
            stack.enter_context(lamina.operator(AGENT, home=place, settings=small))
            for place in homes(tmp_path, postgres_url)
        )
        record = one.remember("x")
        with (
            one._parts.erasures.alone(),
            pytest.raises(StoreUnavailable, match="another process holds the store; try again"),
        ):
            two.erase(record.id)
        assert two.erase(record.id).records == [record.id]
        with ThreadPoolExecutor(2) as people:
            monkeypatch.setattr(erasure, "PATIENCE", 60.0)
            done = people.map(
                lambda op: op.erase(op.remember("one more memory").id).number, (one, two)
            )
            assert sorted(done) == [2, 3]
        check_sound(one)


def test_an_agent_erases_and_restores_only_itself(desk: StoreDesk) -> None:
    """P2, P5, H5: what replaces or removes everything of one agent leaves the other as it was."""
    sky, milton = desk.operator(), desk.operator("milton", store_id="6" * 32)
    other = milton.remember("of milton", tags=["old"])
    milton.prune(tags=["old"])
    before = milton.audit_head()["events"]
    sky.remember("of sky", tags=["old"])
    made = sky.backup()
    sky.prune(tags=["old"])
    sky.restore(made)
    sky.erase(*(record.id for record in sky.list()))
    sky.reindex()
    assert milton.audit_head()["events"] == before
    assert milton.get(other.id).content == "of milton"
    assert verified(milton)
    assert verified(sky)


def test_a_backup_from_a_file_brings_its_archive(tmp_path: Path, desk: StoreDesk) -> None:
    """H5, B3: what is restored on a server that never had it can be read there, the files of its
    archive, too."""
    with lamina.operator("sky", home=tmp_path / "file") as op:
        op.remember("tea", tags=["old"])
        op.prune(tags=["old"])
        kept = op.backup()
    server = desk.operator()
    server.remember("there before")
    server.restore(kept)
    assert contents(server.search_archive("tea", limit=5)) == ["tea"]
    assert verified(server)


def test_a_new_database_is_made_once(tmp_path: Path, postgres_url: str) -> None:
    """B3: processes that open a fresh database at the same moment all get the same store."""
    with ExitStack() as stack:
        places = homes(tmp_path, postgres_url)
        children = [stack.enter_context(Child("opener", f"p{n}")) for n in range(8)]
        for child in children:
            child.hear()
        for n, child in enumerate(children):
            child.tell(home=str(places[n % 2]))
        assert len({child.hear()["store"] for child in children}) == 1
        with lamina.operator(AGENT, home=places[0]) as operator:
            check_sound(operator)
            assert len(operator.list(limit=100)) == 8


# Somebody has been at the rows


RULES = {
    "events_stay": "events",
    "events_stay_all": "events",
    "events_are_final": "events",
    "records_stay": "records",
    "records_stay_all": "records",
    "lineage_resolves": "records",
    "links_resolve": "links",
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    "how",
    [
        "DROP TRIGGER {name} ON lamina.{table}",
        "ALTER TABLE lamina.{table} DISABLE TRIGGER {name}",
        (
            "CREATE OR REPLACE TRIGGER {name} BEFORE INSERT ON lamina.{table} EXECUTE FUNCTION "
            "lamina.refuse('x')"
        ),
    ],
    ids=["gone", "asleep", "replaced"],
)
def test_a_rule_that_is_gone_is_told(
    desk: StoreDesk, quick_postgres: Copied, name: str, how: str
) -> None:
    """P4: a trigger that was dropped, disabled or replaced is a door left open; a check says so."""
    op = desk.operator()
    op.remember("x")
    assert verified(op)
    quick_postgres.execute(how.format(name=name, table=RULES[name]), name_of(desk))
    assert f"trigger {name}" in [problem.place for problem in op.audit_verify()["events"].problems]


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("refuse", "refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$"),
        (
            "is_known",
            "is_known(whose TEXT, wanted TEXT) RETURNS boolean LANGUAGE sql STABLE RETURN true",
        ),
        (
            "has_left",
            "has_left(whose TEXT, wanted TEXT) RETURNS boolean LANGUAGE sql STABLE RETURN true",
        ),
        ("owner", "owner() RETURNS TEXT LANGUAGE sql STABLE RETURN 'sky'"),
    ],
)
def test_a_rule_that_does_nothing_is_told(
    desk: StoreDesk, quick_postgres: Copied, name: str, statement: str
) -> None:
    """P4, P2: a function that was made to let everything pass is told."""
    op = desk.operator()
    op.remember("x")
    quick_postgres.execute(f"CREATE OR REPLACE FUNCTION lamina.{statement}", name_of(desk))
    assert f"function {name}" in [problem.place for problem in op.audit_verify()["events"].problems]


def test_a_view_that_shows_more_is_told(desk: StoreDesk, quick_postgres: Copied) -> None:
    """P2, P4: a view that no longer looks at whose rows they are is told."""
    op = desk.operator()
    op.remember("x")
    ((definition,),) = quick_postgres.execute(
        "SELECT pg_get_viewdef('lamina_own.tags'::regclass)", name_of(desk)
    )
    body = definition.replace("WHERE (owner = lamina.owner())", "").rstrip("; ")
    quick_postgres.execute(f"CREATE OR REPLACE VIEW lamina_own.tags AS {body}", name_of(desk))
    assert not verified(op)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lamina_own.events",
        "UPDATE lamina_own.events SET body = ''",
        "DELETE FROM lamina_own.records",
        "UPDATE lamina_own.records SET superseded_by = 'nobody'",
        "INSERT INTO lamina_own.links (target, relation, record) VALUES ('nobody', 'evidence', 1)",
        "UPDATE lamina_own.records SET content = ''",
        "UPDATE lamina_own.records SET state = 'sleeping'",
        "UPDATE lamina_own.records SET importance = 2",
        "INSERT INTO lamina_own.tags (tag, record) VALUES ('x', 1)",
        "TRUNCATE lamina.events, lamina.notes",
    ],
)
def test_the_database_refuses_what_must_not_be(desk: StoreDesk, statement: str) -> None:
    """P4: the rules are in the database itself, for whoever writes to it as our role."""
    op = desk.operator()
    op.remember("tea", tags=["x"])
    with psycopg.connect(str(desk.settings["store.url"]), autocommit=True) as connection:
        connection.execute("SELECT set_config('lamina.agent', 'sky', false)")
        with pytest.raises(psycopg.Error):
            connection.execute(statement.encode())
    assert verified(op)


def test_lost_words_are_noticed_and_made_again(desk: StoreDesk, quick_postgres: Copied) -> None:
    """P4, Q1: an index with other words than its records is found by the doctor's question, and
    reindex mends it."""
    op = desk.operator()
    op.remember("the boiler is old")
    altered(quick_postgres, desk, "UPDATE words SET said = ''::tsvector")
    reader = op._scope.store.database.reader()
    assert fulltext.differs(reader)
    op.reindex()
    assert not fulltext.differs(reader)
    assert contents(op.search("boiler")) == ["the boiler is old"]


def test_what_is_shared_is_read_where_both_are_at_home(
    tmp_path: Path, quick_postgres: Copied
) -> None:
    """P3, P4: the giver's trail has every read of a guest; a home that has no trail of the giver's
    lets nobody read."""
    here, there = homes(tmp_path, quick_postgres.url(quick_postgres.copy()))
    with ExitStack() as stack:
        sky, milton, far = (
            stack.enter_context(lamina.operator(agent, home=home))
            for agent, home in (("sky", here), ("milton", here), ("milton", there))
        )
        sky.remember("tea", tags=["ours"])
        sky.grant("milton", tag="ours")
        with milton.shared("sky") as guest:
            assert contents(guest.list()) == ["tea"]
        with pytest.raises(NotFound, match="shares nothing"):
            far.shared("sky")
    with lamina.operator("sky", home=here) as sky:
        assert [read.action for read in sky.audit_reads()] == ["shared.list"]


def test_another_agents_record_is_not_found(desk: StoreDesk) -> None:
    """P2: an id of another agent in the same database looks like one that does not exist, and
    cannot be evidence."""
    record = desk.operator().remember("x")
    other = desk.operator("milton", store_id="6" * 32)
    with pytest.raises(NotFound):
        other.get(record.id)
    with pytest.raises(NotFound):
        other.remember("y", evidence=[record.id])
