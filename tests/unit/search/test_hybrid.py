"""The default ranker: named parts, who, when and what for, and the same bytes every time."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from tests.cases import every
from tests.conftest import START, STORE_ID, Desk, Ticking, contents
from tests.unit.search.queries import WORDS, random_queries

NOW = START + timedelta(days=10)
PARTS = {
    "words",
    "meaning",
    "model",
    "who",
    "session",
    "role",
    "time",
    "answer",
    "asks",
    "length",
    "recency",
    "importance",
}
PARTS |= {"renewed", "echo", "wish"}
FILLER = [
    {"content": f"note {n} about the weather in the valley", "layer": "episodic"} for n in range(40)
]


def first(handle: Memory, query: str, **more: Any) -> str:
    return handle.search(query, 1, **more)[0].record.content


def parts(handle: Memory, query: str, **more: Any) -> dict[str, dict[str, float]]:
    """The parts of every hit by its text."""
    return {hit.record.content: dict(hit.parts) for hit in handle.search(query, 100, **more)}


def test_it_is_the_default(mem: Memory, clock: Ticking) -> None:
    """Q5, I: a search without a ranker is hybrid."""
    mem.remember_many([{"content": "green tea"}, {"content": "black coffee"}])
    clock.step = timedelta()
    assert mem.search("tea").to_dict() == mem.search("tea", ranker="hybrid").to_dict()


def test_a_question_asked_before_does_not_bury_its_answer(mem: Memory) -> None:
    """Q5: however often the same question was asked, what answers it comes first, and each echo
    says that it is one."""
    asked = "How do we deploy the billing service?"
    mem.remember("The billing service is deployed with make ship", source="readme")
    mem.remember_many(
        {"content": asked, "session": f"s{n}", "layer": "episodic"} for n in range(12)
    )
    hits = mem.search("how do we deploy the billing service?")
    assert hits[0].record.content == "The billing service is deployed with make ship"
    assert {hit.parts.get("echo") for hit in hits[1:]} == {-0.3}
    assert "echo" not in mem.search("which service do we deploy with ship?")[0].parts


ASKED_ELSE = [
    "What is the way to deploy the billing service?",
    "hey, can you please tell me again how to deploy billing?",
    "Do you know how the billing service gets deployed these days?",
    "In which way do we deploy the service for billing?",
    "how do we deploy the billing service",
    "tell me how to deploy billing",
    "please remind me how the billing service is deployed",
    "what is the way to deploy the billing service again",
    "which command do we use to deploy billing",
]
TOLD_BESIDE = [
    "The new billing service is live, how do we deploy it?",  # it tells something
    "How do we deploy the billing service? I used make ship",
    "We deploy the billing service with make ship, right?",
    "Did you know that we deploy the billing service with make ship?",
    "What I deploy the billing service with is make ship",
    "When we deploy the billing service we use make ship",
    "How to deploy the billing service: make ship",
    "remind me when I am home to deploy the billing service",
    "How do we pay Ana?",  # it is about something else
    "How about " + "the billing service, which we deploy on " * 10 + "Friday?",  # it is long
]


@every("speaker", [None, "user", "Human"])
@every("asked", ASKED_ELSE)
def test_a_question_asked_in_other_words_does_not_bury_its_answer(
    mem: Memory, asked: str, speaker: str | None
) -> None:
    """Q5: what a user or nobody asked about the same thing, and nothing else than asked, is an echo
    in any wording."""
    mem.remember("The billing service is deployed with make ship", source="readme")
    mem.remember_many(
        {"content": asked, "session": f"s{n}", "layer": "episodic", "speaker": speaker}
        for n in range(12)
    )
    mem.remember_many(FILLER)
    hits = mem.search("How do we deploy the billing service?")
    assert hits[0].record.content == "The billing service is deployed with make ship"
    assert {hit.parts.get("echo") for hit in hits[1:]} == {-0.3}


def test_many_questions_without_a_mark_do_not_bury_an_answer(mem: Memory) -> None:
    """Q5: each of them is known for what it is, however many there are and however few
    hits are wanted."""
    mem.remember("The billing service is deployed with make ship", source="readme")
    asked = (
        {"content": f"how do we deploy the billing service variant {n}", "layer": "episodic"}
        for n in range(150)
    )
    mem.remember_many(asked)
    for limit in (1, 5, 100):
        hits = mem.search("how do we deploy the billing service", limit)
        assert hits[0].record.content == "The billing service is deployed with make ship"
        assert {hit.parts.get("echo") for hit in hits[1:]} <= {-0.3}


@every("said", TOLD_BESIDE)
def test_a_question_that_tells_something_is_no_echo(mem: Memory, said: str) -> None:
    """Q5: what holds a statement, is about something else or goes on for long loses nothing."""
    mem.remember(said, speaker="user")
    mem.remember_many(FILLER)
    assert all(
        "echo" not in own
        for own in parts(mem, "how do we deploy the billing service now?").values()
    )


@pytest.mark.parametrize("speaker", ["Ana", "assistant"])
def test_a_question_of_others_in_other_words_is_no_echo(mem: Memory, speaker: str) -> None:
    """Q5: people who talk with each other tell by what they ask; only the same words are an
    echo of them."""
    mem.remember("What is the way to deploy the billing service?", speaker=speaker)
    assert all(
        "echo" not in own for own in parts(mem, "How do we deploy the billing service?").values()
    )


def test_a_question_with_what_is_asked_for_is_no_echo(mem: Memory) -> None:
    """Q5: whoever asks what Ana does in Porto tells where she is."""
    mem.remember("What does Ana do in Porto these days?", speaker="user")
    mem.remember("Why does Ana live so far away?", speaker="user")
    found = parts(mem, "Where does Ana live?")
    assert "echo" not in found["What does Ana do in Porto these days?"]
    assert found["Why does Ana live so far away?"]["echo"] == -0.3


def test_a_question_does_not_bury_its_answer_in_a_search_for_one_word(mem: Memory) -> None:
    """Q5: a question is an echo of a single word that it holds, too."""
    mem.remember("I bought a new bike, a red Canyon.")
    mem.remember_many(
        {"content": f"which bike did I buy{end}", "speaker": "user", "layer": "episodic"}
        for end in ("?", "")
    )
    assert first(mem, "bike") == "I bought a new bike, a red Canyon."


def test_words_and_meaning_are_fused(mem: Memory) -> None:
    """Q5: what shares the words comes first; what only means the same is found too,
    by its meaning."""
    mem.remember_many(
        [{"content": "a kitten plays with wool"}, {"content": "the cat sleeps"}, *FILLER]
    )
    hits = mem.search("cat", 2)
    assert contents(hits) == ["the cat sleeps", "a kitten plays with wool"]
    assert hits[0].parts["words"] > 0
    assert hits[1].parts["meaning"] > 0
    assert "words" not in hits[1].parts


def test_every_part_has_a_name(mem: Memory) -> None:
    """Q6: a score is explained by named parts alone; one that is zero is left out."""
    mem.remember_conversation(
        [{"text": "When was the concert?", "speaker": "Ana"}, {"text": "In May", "speaker": "Ben"}],
        "s",
    )
    mem.remember_many(FILLER)
    for query in (
        "When did Ana go to the concert in May?",
        "concert",
        "what did you say about the concert?",
    ):
        for own in parts(mem, query).values():
            assert set(own) <= PARTS
            assert all(own.values())


def test_who_is_asked_about(mem: Memory) -> None:
    """Q5: of two equal turns, that of the speaker whom the question names comes first; the first
    named counts more."""
    turn = "I went to the concert in the old town hall"
    mem.remember_conversation([{"text": turn, "speaker": "Ana"}], "a")
    mem.remember_conversation([{"text": turn, "speaker": "Ben"}], "b")
    mem.remember_conversation([{"text": turn, "speaker": "Cleo"}], "c")
    for one, other in (("Ana", "Ben"), ("Ben", "Cleo"), ("Cleo", "Ana")):
        hits = mem.search(f"What did {one} tell {other} about the concert?", 3)
        assert [hit.record.speaker for hit in hits][:2] == [one, other]
        assert hits[0].parts["who"] > hits[1].parts["who"] > 0


def test_when_is_asked_about(mem: Memory) -> None:
    """Q5: of two equal memories, that of the day which the question means comes first."""
    for days in (0, 20, 40):
        mem.remember("we went to the concert", at=START - timedelta(days=days), layer="episodic")
    for days in (20, 40, 0):
        day = START - timedelta(days=days)
        hits = mem.search(f"Which concert was on {day.day} {day:%B %Y}?", 3)
        assert hits[0].record.occurred_at.date() == day.date()
        assert hits[0].parts["time"] > 0


@every(
    "query",
    [
        "what happens on 9 May 2026?",
        "what is on 9 May?",
        "anything on Saturday?",
        "plans for 9 May?",
    ],
)
def test_a_day_alone_is_asked_for(mem: Memory, query: str) -> None:
    """Q6, Q7: a question about nothing but a day is answered by what was said of that day, also of
    one to come; a day does not make an answer to something else."""
    mem.remember_many(FILLER)
    mem.remember("The old lighthouse on 9 May, they let us have the lantern room", layer="episodic")
    mem._scope.clock = Ticking(START + timedelta(days=5))
    assert first(mem, query).startswith("The old lighthouse")
    assert not mem.search("quantum chromodynamics on 9 May 2026")
    assert not mem.search("what is on 23 June 2026?")


def test_what_speaks_of_the_day_is_found(mem: Memory) -> None:
    """Q5: a memory that speaks of the day counts, whenever it was said, in a block or not."""
    mem.remember_many(
        [{"content": f"the concert {n} was nice", "layer": "episodic"} for n in range(300)]
    )
    mem.remember("the concert will be on 12 September 2026", layer="episodic")
    mem.remember("the concert was nice again", layer="episodic")
    mem._scope.clock = Ticking(START + timedelta(days=200))
    for _ in range(2):
        assert (
            first(mem, "Which concert was on 12 September 2026?")
            == "the concert will be on 12 September 2026"
        )
        mem.index()


def test_what_the_assistant_said_is_asked_for(mem: Memory) -> None:
    """Q5: a question is about the user's words, unless it asks for those of the assistant."""
    turn = "the hotel by the lake in the north"
    mem.remember_conversation([{"text": turn, "speaker": "user"}], "a")
    mem.remember_conversation([{"text": turn, "speaker": "assistant"}], "b")
    assert mem.search("the hotel by the lake", 1)[0].record.speaker == "user"
    assert mem.search("Remind me of the hotel by the lake", 1)[0].record.speaker == "assistant"


def test_what_could_be_an_answer_is_preferred(mem: Memory) -> None:
    """Q5: to when, a text that tells a time is better; a question is no answer."""
    mem.remember_many(
        [
            {"content": "the concert was great"},
            {"content": "the concert was in 2019"},
            {"content": "how was the concert?"},
        ]
    )
    found = parts(mem, "when was the concert?")
    assert first(mem, "when was the concert?") == "the concert was in 2019"
    assert found["the concert was in 2019"]["answer"] > 0
    assert all("asks" not in own or "?" in text for text, own in found.items())


def test_a_call_for_help_finds_what_is_wished(mem: Memory) -> None:
    """Q5: a standing instruction or a preference of a user is found where help is asked for, though
    it shares no word with that; a question about what was done is left alone."""
    wish = "Always use metric units when I ask about cooking"
    mem.remember(wish, speaker="user", layer="episodic")
    mem.remember("Always use metric units, of course!", speaker="assistant", layer="episodic")
    mem.remember_many(FILLER)
    mem.remember("The bread bakes for an hour", speaker="user", layer="episodic")
    found = parts(mem, "How do I bake bread?")
    assert [text for text, named in found.items() if "wish" in named] == [wish]
    assert all("wish" not in named for named in parts(mem, "When did I bake the bread?").values())


def test_recency_and_importance_refine(mem: Memory) -> None:
    """Q5: among equal matches the newer and the more important come first; they make no match of
    their own."""
    mem.remember_many(
        [
            {"content": "green tea", "at": START - timedelta(days=300), "importance": 0.1},
            {"content": "green tea", "at": START, "importance": 0.1},
            {"content": "green tea", "at": START - timedelta(days=300), "importance": 0.9},
        ]
    )
    assert [(hit.record.seq) for hit in mem.search("green tea")] == [3, 2, 1]


def test_the_boosts_can_be_turned_off(desk: Desk) -> None:
    """Q5: with `recall.boosts = false` names and dates in a question favour nobody."""
    mem = desk.agent(settings={"recall.boosts": False})
    mem.remember_conversation([{"text": "the concert", "speaker": "Ana", "at": START}], "s")
    found = parts(mem, "What did Ana say about the concert on 1 May 2026?")
    assert found["the concert"].keys().isdisjoint({"who", "time"})
    assert {"who", "time"} <= parts(
        desk.agent(), "What did Ana say about the concert on 1 May 2026?"
    )["the concert"].keys()


def test_it_works_without_an_embedder(desk: Desk) -> None:
    """Q5: with `recall.embedders = none` it goes by words and what else a question tells."""
    mem = desk.agent(settings={"recall.embedders": ["none"]})
    mem.remember_many([{"content": "green tea"}, *FILLER])
    hits = mem.search("tea")
    assert contents(hits)[0] == "green tea"
    assert hits.notes == ()
    assert "meaning" not in hits[0].parts


CHILD = """
import json, sys
from datetime import UTC, datetime, timedelta
from lamina.memory.opening import connect
from lamina.model.record import Role
home, store_id, size, index = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
now = datetime(2026, 5, 1, tzinfo=UTC)
mem = connect(Role.AGENT, "sky", None, home, lambda: now, store_id=store_id)
words = "tea coffee garden piano river train summer".split()
items = [
    {"content": f"{words[n % 7]} and {words[n * 5 % 7]} number {n} {'on 3 April 2026' if n % 9 == 0 else ''}",
     "importance": n % 11 / 10,
     "session": f"s{n % 4}", "speaker": ["Ana", "Ben", "user"][n % 3], "at": now - timedelta(hours=n % 70)}
    for n in range(600)
]
for start in range(0, len(items), size):
    mem.remember_many(items[start : start + size])
    if index == "yes":
        mem.index()
queries = ("tea", "What did Ana say about the piano on 3 April?", "who travels by train in summer?", "number 17")
rankers = ("hybrid", "semantic", "overlap", "exact")
print(json.dumps([mem.search(query, 50, ranker=ranker).to_dict() for query in queries for ranker in rankers]))
mem.close()
"""


def test_the_same_store_gives_the_same_bytes(tmp_path: Path) -> None:
    """Q6: same store id, texts and clock give the same bytes, whatever the process, batch, indexing
    or hash seed."""
    answers = []
    for name, size, seed, index in (
        ("a", 600, "0", "no"),
        ("b", 100, "1", "yes"),
        ("c", 7, "424242", "no"),
    ):
        command = [sys.executable, "-c", CHILD, str(tmp_path / name), STORE_ID, str(size), index]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        answers.append(
            subprocess.run(command, env=environment, check=True, capture_output=True).stdout
        )
    assert answers[0] == answers[1] == answers[2]
    assert b'"found"' in answers[0]


@pytest.mark.parametrize("boosts", [True, False])
def test_two_thousand_random_queries(desk: Desk, boosts: bool) -> None:
    """Q7: whatever is asked, there is an answer or none, every score is a number, and
    never an error."""
    mem = desk.agent(settings={"recall.boosts": boosts})
    mem.remember_many(
        [
            {"content": f"{word}.", "session": "s", "speaker": name}
            for word in WORDS
            for name in ("Ana", "user")
        ]
    )
    for query in random_queries(2000 if boosts else 500, seed=10):
        hits = mem.search(query, 3)
        assert all(-1 < hit.score < 3 for hit in hits)
        assert hits.outcome == ("found" if len(hits) else "nothing_relevant")


def test_years_far_away_are_no_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Q7, R1: at either end of the years that can be stored, questions about days before and after
    are answered."""
    for when in ("1000-01-01T00:00:00Z", "2999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"):
        with Desk(tmp_path_factory.mktemp("home"), Ticking(step=timedelta())) as desk:
            mem = desk.agent()
            for text in (
                "yesterday",
                "tomorrow",
                "last year",
                "next year",
                "10 years ago",
                "in 99999 years",
                "on Friday",
            ):
                mem.remember(f"the concert is {text}", at=when)
                for query in (f"concert {text}", f"when was the concert {text}?"):
                    mem.search(query)
            mem.index()


MIA = (
    "I work at Siemens as a nurse",
    "I moved to Bergen",
    "Always use uv",
    "My manager is Tom.",
    "I have a cat called Miso",
)
OTHER_WORDS = {
    "who's my employer": "Mia works at Siemens",
    "what's my job again?": "Mia works as nurse",
    "what city am I in?": "Mia lives in Bergen",
    "who is my boss?": "Mia's manager is Tom",
    "which company do I work for?": "Mia works at Siemens",
    "can you remind me what my occupation is?": "Mia works as nurse",
}
UNKNOWN = (
    "what is the capital of France?",
    "what job does a plumber do?",
    "which city hosted the olympics?",
    "what country has the most people?",
    "remind me how photosynthesis works",
    "how do I sort a list in python?",
    "what's my shoe size?",
    "who is my dentist?",
    "asdf qwer zxcv",
)


@pytest.fixture
def mia(op: Operator) -> Operator:
    """The memory of one person, after a night."""
    for day, said in enumerate(MIA):
        at = START + timedelta(days=day)
        op.remember(said, layer="episodic", speaker="Mia", session=f"s{day}", at=at)
    op.sleep()
    return op


@pytest.mark.parametrize("user", [None, "mia"])
def test_a_fact_is_found_by_the_words_that_ask_for_it(
    desk: Desk, mia: Operator, user: str | None
) -> None:
    """C8, Q7: a fact answers a question for its attribute in words that it does not contain; by
    the whole store or one user's scope."""
    handle = desk.operator(user=user)
    assert {query: first(handle, query) for query in OTHER_WORDS} == OTHER_WORDS


def test_words_that_ask_are_no_answer_to_anything(mia: Operator) -> None:
    """C8, Q7: what facts are asked for by makes nothing else answerable."""
    assert [query for query in UNKNOWN if mia.search(query)] == []


def test_an_opening_weighs_nothing(mia: Operator) -> None:
    """C8, Q6: a greeting or a plea before a question changes neither hits nor confidence."""
    plain = mia.search("where do I work these days?")
    assert plain[0].record.content == MIA[0]
    opened = mia.search("hey, remind me, where do I work these days?")
    assert (contents(opened), opened.confidence) == (contents(plain), plain.confidence)


def test_an_instruction_is_found_by_its_topic(mia: Operator) -> None:
    """C8: an instruction is found by the topic that sleep has given it."""
    found = contents(mia.search("What package manager should I use for python?"))
    assert "Mia's instruction: Always use uv" in found
