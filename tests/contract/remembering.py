"""Promises of every store about what is remembered and found again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import Conflict, InvalidInput, LaminaError, NotFound, Refused
from lamina.model.record import Layer, State, Trust
from lamina.search import RANKERS
from lamina.store.index import scope, snapshot
from lamina.store.tables import records
from lamina.store.tables.records import Filter
from tests.conftest import CONTRACTS, START, TESTER, Desk, contents, move, size, verified

STRANGE = "line\nline\u2028 “quoted” \\ 猫 😀 \x7f \x85 e\u0301 \U0010ffff </script> %s $1 ?"


class Remembering:
    """What is remembered is there, once, for those who may see it."""

    def test_what_was_remembered_is_durable(self, desk: Desk, op: Operator) -> None:
        """L1, B1: when remember returns, another handle reads the same record."""
        record = op.remember("tea", tags=["a"], metadata={"n": 1}, at=0)
        assert desk.operator().get(record.id) == record
        op.close()
        assert desk.operator().list() == [record]

    def test_every_field_comes_back(self, desk: Desk, op: Operator) -> None:
        """R1: whatever a record may hold is read as it was written, by another handle."""
        first = op.remember("first")
        record = op.remember(
            STRANGE,
            kind="fact",
            layer="semantic",
            importance=0.1 + 0.2,
            confidence=1 / 3,
            tags=["Ünï", "猫", "a b"],
            metadata={
                **CONTRACTS["semantic"],
                "deep": {"list": [1, -2.5, None, True, "x'y\"z"]},
                "big": 2**53,
            },
            evidence=[first.id],
            speaker="Ana",
            session="s'1",
            source="web:page",
            trust="external",
            key="k%",
            at=START - timedelta(days=400, microseconds=1),
        )
        assert desk.operator().get(record.id) == record
        assert (record.content, record.trust, record.importance) == (
            STRANGE,
            Trust.EXTERNAL,
            0.1 + 0.2,
        )

    def test_a_session_is_a_filter(self, desk: Desk, op: Operator) -> None:
        """Q3: a list and every ranker keep to exactly the session that is asked for, whoever
        its users are; a handle for one user sees no other's."""
        op.remember("tea in the kitchen", session="s1")
        op.remember("tea in the garden", session="s2")
        op.remember("tea on the roof")
        desk.operator(user="ana").remember("tea in the attic", session="s1")
        both = ["tea in the attic", "tea in the kitchen"]
        assert sorted(contents(op.list(session="s1"))) == both
        for ranker in RANKERS:
            assert sorted(contents(op.search("tea", session="s1", ranker=ranker))) == both, ranker
            assert not op.search("tea", session="S1", ranker=ranker), ranker
        bens = desk.operator(user="ben")
        assert contents(bens.list(session="s1")) == contents(bens.search("tea", session="s1"))
        assert contents(bens.list(session="s1")) == ["tea in the kitchen"]
        with pytest.raises(InvalidInput, match="session"):
            op.list(session="")

    def test_a_project_is_a_filter(self, desk: Desk, op: Operator) -> None:
        """C7: a list, every ranker and an erasure keep to exactly the project that is asked for;
        beside a project stands what belongs to none."""
        op.remember("tea in the kitchen", project="house")
        op.remember("tea in the garden", project="garden")
        op.remember("tea on the roof")
        assert contents(op.list(project="house")) == ["tea in the kitchen"]
        assert contents(op.query_recent(project="garden")) == ["tea in the garden"]
        beside = op._scope.store.listed(Filter(beside="house"), 10)
        assert contents(beside) == ["tea on the roof", "tea in the kitchen"]
        for ranker in RANKERS:
            found = op.search("tea", project="house", ranker=ranker)
            assert contents(found) == ["tea in the kitchen"], ranker
            assert not op.search("tea", project="House", ranker=ranker), ranker
        with pytest.raises(InvalidInput, match="project"):
            op.list(project="")
        assert op.erasable(project="garden")["what"] == "project"
        assert op.erase(project="garden").asked_for == 1
        assert contents(op.list()) == ["tea on the roof", "tea in the kitchen"]

    def test_texts_of_any_length(self, op: Operator) -> None:
        """L1: the longest text that is allowed, and the shortest, come back whole; a longer one
        leaves no trace."""
        longest = "é" * (512 * 1024)
        made = [op.remember(text).id for text in (longest, "x")]
        assert [op.get(one).content for one in made] == [longest, "x"]
        before = size(op)
        with pytest.raises(InvalidInput):
            op.remember(longest + "x")
        assert size(op) == before

    def test_long_words_tags_and_values(self, op: Operator) -> None:
        """L1, Q1: a word, a tag and a value of metadata longer than any index likes are kept, and
        the word is found."""
        word = "x" * 60_000
        record = op.remember(f"before {word} after", tags=["t" * 64], metadata={"long": "v" * 9000})
        assert op.get(record.id) == record
        assert op.search(word)[0].record == record
        assert len(op.search("y" * 59_999)) == 0
        assert contents(op.list(tags=["t" * 64])) == [record.content]

    def test_many_are_all_or_nothing(self, op: Operator) -> None:
        """L1: one bad item and none is stored."""
        with pytest.raises(LaminaError):
            op.remember_many([{"content": "a"}, {"content": "b", "evidence": ["0" * 26]}])
        assert size(op) == (0, 0)

    def test_many_are_one_after_the_other(self, op: Operator) -> None:
        """L1, R1: more than a page of memories keeps the order in which they came."""
        made = op.remember_many({"content": f"memory {n}"} for n in range(1500))
        assert [record.seq for record in made] == list(range(1, 1501))
        assert contents(op.list(limit=1500)) == [f"memory {n}" for n in reversed(range(1500))]
        assert verified(op)

    def test_numbers_rise_without_a_gap(self, desk: Desk, op: Operator) -> None:
        """R1: one order for all handles, and a failed write takes no number."""
        other = desk.operator()
        first = [handle.remember("x").seq for handle in (op, other, op)]

        def fail() -> None:
            with op._scope.store.change(TESTER, "test", op._scope.clock()) as transaction:
                transaction.insert([op._scope.draft({"content": "lost"})])
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert [*first, other.remember("y").seq] == [1, 2, 3, 4]

    def test_keys_make_retries_harmless(self, desk: Desk, op: Operator) -> None:
        """L1: the same key stores once, whoever retries; another text is a conflict."""
        record = op.remember("x", key="k")
        assert desk.operator().remember("x", key="k") == record
        with pytest.raises(Conflict):
            op.remember("y", key="k")
        assert size(op) == (1, 1)

    def test_keys_belong_to_a_user(self, desk: Desk, op: Operator) -> None:
        """L1, R12: two users, and nobody in particular, may each use the same key."""
        handles = [op, desk.operator(user="ana"), desk.operator(user="ben")]
        assert len({handle.remember("x", key="k").id for handle in (*handles, *handles)}) == 3

    def test_filters(self, op: Operator) -> None:
        """Q3: layers, states, kinds, any of the tags, and half-open times."""
        made = op.remember_many(
            [
                {"content": "tea a", "tags": ["x"], "at": 1},
                {"content": "tea b", "kind": "fact", "at": 2},
                {"content": "tea c", "at": 3},
            ]
        )
        move(op, made[2].id, state=State.TOMBSTONED)
        for filters, expected in (
            ({"tags": ["x", "y"]}, ["tea a"]),
            ({"kinds": ["fact"]}, ["tea b"]),
            ({"since": 1, "until": 2}, ["tea a"]),
            ({"states": ["tombstoned"]}, ["tea c"]),
            ({"layers": ["episodic"]}, []),
        ):
            assert contents(op.list(**filters)) == expected
            assert contents(op.search("tea", **filters)) == expected

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            ({"city": "Porto"}, "ab"),
            ({"n": 1}, "ac"),
            ({"n": 3}, ""),
            ({"city": "Porto", "n": 2}, "b"),
            ({"flag": True}, "c"),
            ({"city": "porto'; --"}, ""),
        ],
        ids=str,
    )
    def test_metadata_filters(self, op: Operator, wanted: Mapping[str, Any], expected: str) -> None:
        """Q3: metadata is compared by value, and never run."""
        op.remember("tea a", metadata={"city": "Porto", "n": 1})
        op.remember("tea b", metadata={"city": "Porto", "n": 2})
        op.remember("tea c", metadata={"city": "Lisbon", "n": "1", "flag": True})
        assert {text[-1] for text in contents(op.search("tea", metadata=wanted))} == set(expected)

    def test_the_newest_come_first(self, op: Operator) -> None:
        """Q3: lists go by when something happened, and equal times by the order in which
        it was told."""
        for text, at in (("old", 5), ("older", 1), ("new", 9), ("new too", 9)):
            op.remember(text, at=at)
        assert contents(op.list()) == ["new too", "new", "old", "older"]
        assert contents(op.list(limit=2)) == ["new too", "new"]

    def test_words_are_found_whatever_their_form(self, op: Operator) -> None:
        """Q1: case, accents, width, endings and scripts are those of one analysis,
        for every store."""
        texts = [
            "Ärzte liefen durch Köln",
            "running dogs in town",
            "ＴＥＡ for two",
            "猫が好き",
            "не забудь молоко",
            "tea-time's over",
        ]
        op.remember_many({"content": text} for text in texts)
        for query, text in (
            ("koln", texts[0]),
            ("run dog", texts[1]),
            ("tea two", texts[2]),
            ("猫", texts[3]),
            ("молоко", texts[4]),
            ("time", texts[5]),
        ):
            assert contents(op.search(query, ranker="keyword"))[0] == text

    def test_words_in_tags_are_found(self, op: Operator) -> None:
        """Q1: a memory is found by what it says and by its tags."""
        made = op.remember("it was late", tags=["astronomy"])
        op.remember("something else")
        for query in ("late", "astronomy"):
            assert op.search(query)[0].record == made

    @pytest.mark.parametrize(
        "query",
        [
            "'; DROP TABLE records; --",
            '" OR ""',
            "a AND NOT (b",
            "* : ^ -",
            "' & | ! <->",
            "\\",
            "%",
        ],
    )
    def test_queries_are_words_and_nothing_else(self, op: Operator, query: str) -> None:
        """Q1: whatever is asked for, it is looked for and not run."""
        op.remember(f"we said {query} yesterday")
        op.search(query)
        assert op.search(f"said {query} yesterday").outcome == "found"
        assert verified(op)

    def test_nothing_relevant_is_nothing(self, op: Operator) -> None:
        """Q5: a question about something else finds nothing, and so does any in an empty store."""
        assert op.search("tea").outcome == "nothing_relevant"
        op.remember("the boiler is old")
        assert op.search("xylophone").outcome == "nothing_relevant"

    def test_a_context_fits(self, op: Operator) -> None:
        """Q7: what is handed to a model is found, named by its handle, and not longer
        than asked for."""
        known: dict[str, Any] = {"layer": "semantic", "metadata": CONTRACTS["semantic"]}
        made = op.remember("the boiler is old", **known)
        op.remember_many({"content": f"train number {n} was late", **known} for n in range(50))
        assert made.id[-6:] in op.memory_context("the old boiler").text
        assert len(op.memory_context("the old boiler and late trains", max_chars=500).text) <= 500

    def test_a_context_says_what_is_over(self, op: Operator) -> None:
        """C3: a saying is marked by what holds at last in the place of what it says."""
        for number, said in enumerate(
            ("I live in Oslo, and I play chess.", "I moved to Bergen.", "I moved to Molde.")
        ):
            op.remember_conversation([{"speaker": "user", "text": said}], session=f"s{number}")
            op.sleep()
        assert "(no longer Oslo; now: user lives in Molde)" in op.context("who plays chess?").text

    def test_users_are_kept_apart(self, desk: Desk, op: Operator) -> None:
        """R12: a user's handle reads and finds its own and unscoped records."""
        ana, ben = desk.operator(user="ana"), desk.operator(user="ben")
        record = ana.remember("tea of ana")
        op.remember("tea of all")
        assert contents(ben.search("tea")) == contents(ben.list()) == ["tea of all"]
        with pytest.raises(NotFound):
            ben.get(record.id)
        assert len(op.list()) == 2

    def test_sessions_and_projects_are_found_alone(
        self, desk: Desk, op: Operator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Q6, R12: where they are read by themselves, a session and a project find their own, of
        the handle's user and unscoped, also after they have changed and while others write."""
        monkeypatch.setattr(scope, "SHARE", 1)
        monkeypatch.setattr(snapshot, "AT_HAND", 0)
        for n in range(12):
            user = ("ana", "ben", None)[n % 3]
            talk = {"session": f"s{n // 3}", "project": f"p{n % 2}"}
            desk.agent(user=user).remember_many(
                [{"content": f"tea {turn} of {user} in {n}", **talk} for turn in range(4)]
            )
        with op._scope.store.read() as db:
            assert records.projects(db) == ["p0", "p1"]
        ana = desk.operator(user="ana")
        for handle, whose in ((op, ("ana", "ben", None)), (ana, ("ana", None))):
            with handle._scope.store.index.snapshot(wanted=Filter(session="s0")) as look:
                assert look.catalogue.size == 1 + 12
            found = handle.search("tea", session="s0", limit=50)
            assert {hit.record.user for hit in found} == {*whose}
            assert len(found) == 4 * len(whose)
            found = handle.search("tea", session="s0", project="p0", limit=50)
            assert {hit.record.content[-1] for hit in found} == {"0", "2"}
            assert len(handle.search("tea", project="p1", limit=50)) == 8 * len(whose)
        changed = ana.remember("tea once more", session="s0", project="p1")
        assert changed.id in {hit.record.id for hit in ana.search("tea", session="s0", limit=50)}
        ana.erase(changed.id, reason="asked for")
        assert len(ana.search("tea", session="s0", limit=50)) == 8
        assert len(ana.search("tea", project="p1", limit=50)) == 16

    def test_agents_are_kept_apart(self, desk: Desk, op: Operator) -> None:
        """P2: another agent in the same place has numbers, keys and a trail of its own, and sees
        nothing of ours."""
        record = op.remember("tea of sky", key="k", tags=["x"])
        other = desk.operator("milton", store_id="6" * 32)
        assert other.list() == []
        assert len(other.search("tea")) == 0
        with pytest.raises(NotFound):
            other.get(record.id)
        assert other.remember("tea of milton", key="k", tags=["x"]).seq == 1
        assert contents(op.search("tea")) == ["tea of sky"]
        assert verified(op)
        assert verified(other)

    def test_evidence_must_exist(self, op: Operator) -> None:
        """P1: evidence is checked in the transaction that stores it, and resolves afterwards."""
        first = op.remember("first")
        second = op.remember("second", evidence=[first.id])
        assert op.get(second.evidence[0]) == first
        assert op.resting_on(first.id) == [second.id]
        with pytest.raises(NotFound):
            op.remember("third", evidence=["0" * 26])

    def test_a_handle_that_only_reads_cannot_write(self, op: Operator) -> None:
        """P2: without the right to write there is no way to."""
        op.remember("x")
        op._scope.store.database.writable = False
        with pytest.raises(Refused):
            op.remember("y")
        assert contents(op.list()) == ["x"]

    def test_every_layer_can_be_written_and_listed(self, op: Operator) -> None:
        """R7: each layer takes what keeps its contract."""
        made = {
            layer: op.remember(f"of {layer}", layer=layer, metadata=metadata)
            for layer, metadata in CONTRACTS.items()
        }
        for layer, record in made.items():
            assert record.layer is Layer(layer)
            assert op.list(layers=[layer], states=None) == [op.get(record.id)]

    def test_a_moment_stays_as_it_is(self, desk: Desk, mem: Memory) -> None:
        """Q6: within one look nothing moves, whatever others write meanwhile."""
        mem.remember("before")
        with mem._scope.store.snapshot():
            assert contents(mem.list()) == ["before"]
            desk.operator().remember("meanwhile")
            assert contents(mem.list()) == ["before"]
        assert contents(mem.list()) == ["meanwhile", "before"]

    def test_a_new_user_looks_like_nobody(self, desk: Desk, op: Operator) -> None:
        """R12, P2: a name that looks like a user's is refused until it is stored; a stored one is
        found, also archived."""
        desk.agent(user="Capa").remember("tea")
        with pytest.raises(InvalidInput, match="looks the same"):
            desk.agent(user="Сара")
        with pytest.raises(InvalidInput, match="write each word in one script"):
            desk.agent(user="Сapa")
        desk.agent(user="ΜΑΡΙΑ").remember("coffee")
        assert contents(desk.agent(user="ΜΑΡΙΑ").list()) == ["coffee"]
        op.prune(layers=["short_term"])
        desk.agent(user="MAPIA").remember("milk")
        assert desk.agent(user="ΜΑΡΙΑ").user == "ΜΑΡΙΑ"

    def test_people_leaf_through_it(self, op: Operator) -> None:
        """H2: lists with counts, conversations, growth, and from a saying to what replaced what was
        learned from it."""
        day = timedelta(days=1)
        turns = [
            {"speaker": "Ana", "text": "I live in Lisbon.", "at": START - 9 * day},
            {"speaker": "Ana", "text": "I moved to Porto last week.", "at": START - day},
        ]
        old, _ = op.remember_conversation(turns, session="s1", project="house")
        op.remember("bread", importance=0.9, tags=["food"], source="shop", at=START)
        op.sleep()
        best = op.browsing.browse(sort="importance", limit=1)
        assert [record.content for record in best.records] == ["bread"]
        assert best.counts["tag"] == {"food": 1}
        assert best.counts["project"]["house"] >= 2
        assert [r.content for r in op.list(source="shop")] == ["bread"]
        assert {hit.record.speaker for hit in op.search("where do I live", speaker="Ana")} == {
            "Ana"
        }
        (session,) = op.browsing.conversations(speaker="Ana")
        assert (session.name, session.turns, session.end) == ("s1", 2, START - day)
        (lisbon,) = op.browsing.learned_from([old.id])[old.id]
        assert lisbon.replaced_by is not None
        assert op.browsing.replacements([lisbon.record.id]) == {
            lisbon.record.id: lisbon.replaced_by
        }
        grown = op.browsing.growth(START - 2 * day)
        assert sum(one.number for one in grown if one.day == START.date()) >= 1
