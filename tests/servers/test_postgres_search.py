"""Searches in which PostgreSQL finds the candidates: the same answers as from a file, of the right
records alone, and without reading all of the store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import lamina
from lamina import Operator
from lamina.errors import Refused
from lamina.model.record import State
from lamina.store.index import sample
from lamina.store.tables.postgres import candidates
from lamina.store.tables.records import Filter
from tests.conftest import START, Ticking, contents
from tests.contract.stores import StoreDesk
from tests.servers.everywhere import Copied
from tests.servers.test_postgres import FILTERS, NAMES, QUESTIONS, TOPICS, VERBS, Pair, fill

SERVED = {"store.search_above": 0}
RANKERS = ("hybrid", "keyword", "semantic")
OBJECTS = [f"thing{number}" for number in range(400)]


@pytest.fixture
def url(quick_postgres: Copied) -> Iterator[str]:
    name = quick_postgres.copy()
    yield quick_postgres.url(name)
    quick_postgres.drop(name)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, quick_postgres: Copied) -> Iterator[Pair]:
    """A few hundred memories in a file and on a server that finds candidates, indexed."""
    url = quick_postgres.url(quick_postgres.copy())
    with ExitStack() as stack:
        desks = [
            StoreDesk(tmp_path_factory.mktemp("file"), {}, Ticking()),
            StoreDesk(tmp_path_factory.mktemp("server"), {"store.url": url, **SERVED}, Ticking()),
        ]
        made = Pair(*(stack.enter_context(one).operator() for one in desks))
        for handle in made:
            fill(handle, 300)
            talk(handle)
            handle.index()
            fill(handle, 20, seed=2)  # some have no vector yet
            forgotten = handle.list(limit=60)[::3]
            for record in forgotten:
                handle.forget(record.id, "no longer true")
        for desk in desks:  # a handle looks at its clock in the background, too
            desk.clock.set(START + timedelta(days=1))
            desk.clock.step = timedelta(0)
        yield made


def talk(handle: Operator) -> None:
    """Conversations, in which turns explain each other, of which some are from outside."""
    chance = random.Random(3)
    handle.remember_many(
        {
            "content": f"{chance.choice(VERBS)} the {chance.choice(TOPICS)} near {thing}?",
            "speaker": chance.choice(NAMES),
            "session": f"s{place // 12}",
            "trust": "external" if place % 9 == 0 else "agent",
            "at": 1_700_000_000 + 4_000 * place,
        }
        for place, thing in enumerate(OBJECTS)
    )


def found(handle: Operator, question: str, ranker: str, **how: Any) -> list[tuple[Any, ...]]:
    hits = handle.search(question, 20, ranker=ranker, **how)
    return [(hit.record.id, hit.score, hit.parts) for hit in hits]


def has_catalogue(handle: Operator) -> bool:
    """Whether a handle has read what a file's searches need of every record."""
    return "index" in handle._scope.store.__dict__


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_scope_that_fits_is_answered_as_from_a_file(told: Pair, ranker: str) -> None:
    """B3, Q2: the same memories in the same order with the same scores, for every filter."""
    for question in QUESTIONS:
        # The last is about the past, which the store itself answers.
        for filters in (*FILTERS[:-1], {"states": ["tombstoned"]}, {"states": ["constrained"]}):
            file, server = (found(handle, question, ranker, **filters) for handle in told)
            assert file == server, (question, filters)
    assert found(told.server, "who likes tea", ranker, states=["tombstoned"])
    assert not has_catalogue(told.server)


@pytest.mark.parametrize("ranker", RANKERS)
def test_candidates_of_a_large_scope(
    told: Pair, ranker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3, Q2: where the server names candidates, the best memory is the same as from a file, and
    its score is almost the same: it rests on estimates of the rest."""
    monkeypatch.setattr(sample, "WHOLE", 20)
    for thing in OBJECTS[5::40]:
        question = f"what is near {thing}?"
        file, server = (found(handle, question, ranker) for handle in told)
        assert server[0][0] == file[0][0], question
        assert server[0][1] == pytest.approx(file[0][1], abs=0.1)
    assert contents(told.server.search("no such word zzyzx", ranker="keyword")) == []
    assert not has_catalogue(told.server)


@pytest.mark.parametrize("ranker", RANKERS)
def test_what_sleep_made_does_not_count_for_rarity(
    url: str, tmp_path: Path, ranker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3, C3: words of what sleep made of memories are worth as much on a server that names
    candidates as in a file; what only sleep has put so is found nonetheless."""
    monkeypatch.setattr(sample, "WHOLE", 20)
    answers: list[list[list[tuple[Any, ...]]]] = []
    for settings in ({}, {"store.url": url, **SERVED}):
        with StoreDesk(tmp_path / str(len(answers)), settings, Ticking()) as desk:
            op = desk.operator()
            op.remember_many(
                {
                    "content": f"{NAMES[n % len(NAMES)]} put {thing} on the shelf",
                    "trust": "external" if n % 7 == 0 else "agent",
                }
                for n, thing in enumerate(OBJECTS[:200])
            )
            op.remember_many(
                {"content": f"the shelf holds {thing}, neatly", "metadata": {"origin": "sleep"}}
                for thing in OBJECTS[:90]
            )
            op.index()
            desk.clock.set(START + timedelta(days=1))
            desk.clock.step = timedelta(0)
            questions = ("what is on the shelf with thing7?", "which are held neatly?")
            answers.append([found(op, question, ranker)[:5] for question in questions])
    of_file, of_server = answers
    assert all(of_file)
    for file, server in zip(of_file, of_server, strict=True):
        assert [score for _, score, _ in server] == pytest.approx(
            [score for _, score, _ in file], abs=1e-6
        )


def test_many_holders_are_estimated(url: str, tmp_path: Path) -> None:
    """B3: of a word in more records than are counted, the first ones stand for all, whether the
    index of words or the key leads to them; what takes the place of a deleted row changes little."""
    with lamina.operator("sky", home=tmp_path, settings={"store.url": url, **SERVED}) as op:
        made = op.remember_many(
            {
                "content": f"tea {'milk' if n % 2 else ''} {'honey' if n % 20 == 0 else ''} {n}",
                "trust": "external" if n % 4 == 0 else "agent",
            }
            for n in range(3000)
        )
        op.index()
        for record in made[:10]:
            op.forget(record.id)
        asked = Filter(states=(State.ACTIVE,))
        with (
            mock.patch.object(candidates, "COUNTED", 60),
            sample.opened(op._scope.store, asked) as look,
        ):
            assert not look.is_whole
            holders = {word: look.holders(word) for word in ("tea", "milk", "honei", "no")}
    assert holders["no"] == (0, 0, 0)
    for word, number, own in (("tea", 3000, 2250), ("milk", 1500, 1500), ("honei", 150, 0)):
        assert holders[word].number == pytest.approx(number, rel=0.25)
        assert holders[word].own == pytest.approx(own, rel=0.25)
        assert holders[word].visible == holders[word].number


def test_a_question_about_days(told: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3, Q5: a question that means a day finds what is of that day."""
    monkeypatch.setattr(sample, "WHOLE", 20)
    file, server = (
        contents(handle.search("which garden was near on 20 November 2023?", 5)) for handle in told
    )
    assert file[0] in server


@pytest.mark.parametrize("whole", [sample.WHOLE, 5])
def test_users_and_agents_see_their_own(
    quick_postgres: Copied,
    url: str,
    tmp_path: Path,
    whole: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B3, R9: whatever the server names, a user finds the own and the unscoped memories of the
    agent, and nothing of another user or agent."""
    monkeypatch.setattr(sample, "WHOLE", whole)
    settings = {"store.url": url, **SERVED}
    with ExitStack() as stack:
        for agent in ("sky", "sky2", "sk"):
            for user in ("ana", "ben", None):
                op = stack.enter_context(
                    lamina.operator(agent, user=user, home=tmp_path, settings=settings)
                )
                op.remember_many(
                    {"content": f"boiler {number} of {user} with {agent}", "session": "same"}
                    for number in range(30)
                )
                op.index()
        for agent in ("sky", "sky2", "sk"):
            for user in ("ana", "ben"):
                memory = stack.enter_context(
                    lamina.open(agent, user=user, home=tmp_path, settings=settings)
                )
                for ranker in RANKERS:
                    texts = contents(memory.search("boiler with sky", 50, ranker=ranker))
                    assert texts
                    assert all(text.endswith(f" with {agent}") for text in texts)
                    owners = {text.split(" of ")[1].split()[0] for text in texts}
                    assert owners <= {user, "None"}, (agent, user, ranker)


def test_what_is_pending_and_standing_is_found_without_reading_all(
    quick_postgres: Copied, tmp_path: Path
) -> None:
    """B3: requests, days that have come, also again and again, and entries of the profile, as from
    a file; some of them are in blocks, and some are not yet."""
    url = quick_postgres.url(quick_postgres.copy())
    said: list[tuple[list[tuple[str, str]], str]] = []
    for settings in ({}, {"store.url": url, **SERVED}):
        with StoreDesk(tmp_path / str(len(said)), settings, Ticking()) as desk:
            handle = desk.operator()
            today = (desk.clock() + timedelta(days=7)).date()
            for part in ("early", "late"):
                handle.remember(f"{part}: please renew the passport", kind="request")
                handle.remember(f"{part}: the boiler is checked every {today:%A}")
                handle.remember(f"{part}: the train leaves on {today:%Y-%m-%d}")
                handle.remember(f"{part}: rent is due every month on the {today.day}th")
                handle.confirm(handle.propose_profile(f"{part}.tea", "green", "said").id)
                if part == "early":
                    fill(handle, 600)
                    handle.index()
            desk.clock.jump(timedelta(days=7))
            waiting = [(item["kind"], item["content"]) for item in handle.pending()]
            said.append((waiting, handle.memory_context("what about tea?").text))
            assert has_catalogue(handle) == (not settings)
    assert said[0] == said[1]
    assert len([text for _, text in said[0][0] if text.startswith(("early", "late"))]) >= 6


def test_without_its_indexes_the_store_answers(url: str, tmp_path: Path) -> None:
    """B3: until `index` has made what the server needs, a search reads the store itself."""
    settings = {"store.url": url, **SERVED}
    with lamina.operator("sky", home=tmp_path, settings=settings) as op:
        op.remember("the boiler is from 2009")
        assert contents(op.search("boiler")) == ["the boiler is from 2009"]
        assert has_catalogue(op)
    with lamina.operator("sky", home=tmp_path, settings=settings) as op:
        op.index()
        assert contents(op.search("boiler")) == ["the boiler is from 2009"]
        assert not has_catalogue(op)


def test_indexes_follow_the_embedders(quick_postgres: Copied, url: str, tmp_path: Path) -> None:
    """B3: `index` makes what is missing, drops the index of vectors that are gone, and has the
    server count what is in the tables, without which its plans are slow."""
    name = url.rpartition("/")[2]
    listed = "SELECT indexname FROM pg_indexes WHERE starts_with(indexname, 'near_')"
    with lamina.operator("sky", home=tmp_path, settings={"store.url": url, **SERVED}) as op:
        op.remember("the boiler is from 2009")
        op.index()
        ((made,),) = quick_postgres.execute(listed, name)
        old = made.replace("near_1_256", "near_9_64")
        quick_postgres.execute(f"ALTER INDEX lamina.{made} RENAME TO {old}", name)
        op.index()
        assert quick_postgres.execute(listed, name) == [(made,)]
    known = "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = 'lamina'"
    tables = {table for (table,) in quick_postgres.execute(known, name)}
    assert {"records", "words", "vectors"} <= tables


def test_what_changes_is_seen_at_once(url: str, tmp_path: Path) -> None:
    """B3, Q2: a new memory is found before it has a vector, and a forgotten one no more."""
    settings = {"store.url": url, **SERVED}
    with lamina.operator("sky", home=tmp_path, settings=settings) as op:
        op.remember("the boiler is from 2009")
        op.index()
        made = op.remember("the kettle is from 2011")
        assert "the kettle is from 2011" in contents(op.search("kettle"))
        op.forget(made.id)
        assert "the kettle is from 2011" not in contents(op.search("kettle"))


def test_a_role_that_may_not_make_indexes(quick_postgres: Copied, tmp_path: Path, url: str) -> None:
    """B3: it is told who can, and the search goes on without them."""
    name = url.rpartition("/")[2]
    with lamina.operator("sky", home=tmp_path, settings={"store.url": url}) as op:
        op.remember("the boiler is from 2009")
    quick_postgres.execute("CREATE ROLE clerk LOGIN PASSWORD 'clerk'", name)
    rights = (
        "GRANT USAGE ON SCHEMA lamina, lamina_own TO clerk;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA lamina TO clerk;"
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lamina_own TO clerk"
    )
    quick_postgres.execute(rights, name)
    settings = {"store.url": quick_postgres.url(name, "clerk", "clerk"), **SERVED}
    with lamina.operator("sky", home=tmp_path, settings=settings) as op:
        with pytest.raises(Refused, match="let the owner of the tables run `lamina index`"):
            op.index()
        assert contents(op.search("boiler")) == ["the boiler is from 2009"]
    quick_postgres.execute("DROP OWNED BY clerk; DROP ROLE clerk", name)
