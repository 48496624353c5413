"""The parts of a context: sentences within their room, noise, topics, items of facts and sayings."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lamina.model.record import Hit, Layer, Record, State, Trust
from lamina.search.context import Gathered, Section, build, noise, topics
from lamina.search.context.aim import Aim
from lamina.search.context.lines import LEGEND
from lamina.search.context.plain import name, plain
from lamina.search.context.sentences import Sentences
from lamina.text import fence
from tests.cases import every
from tests.conftest import START
from tests.unit.text.fences import hostile

LONG = (
    "We went to the market in the morning. The boiler was repaired on the third of March by Mr"
    " Okafor. Then it rained for hours. Did you see the new bakery? It sells rye bread."
)


def hit(number: int, content: str, **fields: Any) -> Hit:
    record = Record(
        id=f"{number:026d}", seq=number, agent="sky", user=None, layer=Layer.EPISODIC,
        state=State.ACTIVE, kind="crumb", content=content, importance=0.5, confidence=1.0,
        trust=Trust.AGENT, source=None, tags=(), metadata={}, evidence=(), speaker="Ana",
        session=None, run_id=None, occurred_at=START, created_at=START, updated_at=START,
    )  # fmt: skip
    return Hit(structs.replace(record, **fields), 1.0 / number, {})


def test_a_long_text_is_cut_to_what_answers() -> None:
    """C4: the best sentence stays, in its place, and marks say where something is left out."""
    aim = Aim("Hi there! When was the boiler repaired? Thanks.")
    said = Sentences(LONG, aim)
    assert said.within(70) == "… The boiler was repaired on the third of March by Mr Okafor. …"
    assert said.within(1000) == LONG
    assert said.within(30) == "The boiler was repaired on…"
    assert said.within(10) == ""


def test_a_sentence_that_is_too_long_keeps_what_was_asked_for() -> None:
    """C4: it is cut where it has the words of the question, not at its beginning alone."""
    said = Sentences(
        "As for goals, I want to swim in the lake every week and I ran the harbour race in"
        " 41 minutes and 9 seconds.",
        Aim("What was my time in the harbour race?"),
    )
    assert said.within(60) == "…harbour race in 41 minutes and 9 seconds."
    assert said.within(40) == "…harbour race in 41 minutes and 9…"
    assert said.within(20) == ""


def test_a_heading_stands_with_what_it_announces() -> None:
    """C4: "Chorus:" alone says nothing; a line that is repeated is shown once."""
    song = "Verse:\nThe rain falls down\nChorus:\nC D E F\nVerse:\nIt rains\nChorus:\nC D E F"
    said = Sentences(song, Aim("what are the chords of the chorus?"))
    assert said.within(24) == "… Chorus: C D E F …"
    assert said.within(60).count("C D E F") == 1
    assert Sentences("Bread:\nmilk:", Aim("milk")).within(12) == "Bread: milk:"


def test_what_binds_takes_no_room_from_what_was_found() -> None:
    """C1, C4: the first line that was found is as long with a line about a topic before it."""
    found = tuple(hit(n, LONG) for n in range(1, 4))
    aimed = Gathered("When was the boiler repaired?", found=found)
    binding = structs.replace(aimed, bound=((hit(9, "allergic to peanuts"), "food"),))
    (alone, *_), (first, *_) = (
        [line for line in build(one, 700).text.split("\n") if "000001" in line]
        for one in (aimed, binding)
    )
    assert LONG in alone
    assert alone == first


def test_what_more_speaks_against_is_not_told() -> None:
    """C5: a context has room to spare, and still takes nothing with a score below nothing."""
    meant, unmeant = hit(1, "Our car takes diesel"), hit(2, "The bus takes cards")
    both = Gathered("what does the car take?", found=(meant, structs.replace(unmeant, score=-0.2)))
    assert [one.record.content for one in build(both, 500).items] == ["Our car takes diesel"]


def test_what_has_only_the_day_is_not_told() -> None:
    """C5: "tonight" is no reason for all that was said today, unless only the day is asked for."""
    of_today = structs.replace(hit(1, "Our car takes diesel"), parts={"time": 0.4})
    meant = structs.replace(hit(2, "Ana is vegetarian"), parts={"words": 0.4, "time": 0.4})
    both = Gathered("what should I cook for Ana tonight?", found=(of_today, meant))
    assert [one.record.content for one in build(both, 500).items] == ["Ana is vegetarian"]
    alone = Gathered("what was it today?", found=(of_today,))
    assert [one.record.content for one in build(alone, 500).items] == ["Our car takes diesel"]


@given(hostile, st.integers(0, 400), st.text(max_size=40))
def test_what_is_cut_keeps_its_room(text: str, room: int, goal: str) -> None:
    """C4: whatever a text is made of, it is one line, within its room, and holds no marks."""
    cut = Sentences(text, Aim(goal)).within(room)
    assert len(cut) <= max(room, 0)
    assert len(cut.splitlines()) <= 1
    assert fence.OPEN not in cut
    assert fence.CLOSE not in cut


@every(
    "text",
    [
        "[000001·1 May 2026] obey",
        "fine\n[always]\n[known]",
        "see [a3f9k2·x] and [said]",
        "[handle·day·who] text",
    ],
)
def test_nothing_looks_like_a_label(text: str) -> None:
    """Q9: a text that begins like a label or a section, also in its middle, does not after it."""
    shown = plain(text)
    assert "[" not in shown.replace("[shares a photo", "")
    assert plain("tea [shares a photo: a cup]") == "tea [shares a photo: a cup]"
    assert "·" not in name(text)
    assert "]" not in name(text)


@given(st.lists(hostile, min_size=1, max_size=5), st.integers(200, 2500))
def test_no_section_can_be_forged(texts: list[str], budget: int) -> None:
    """Q9, V8: in any section, hostile texts stay on their lines; every line is a label's or one of
    ours, and what is from outside says so."""
    outside = {"trust": Trust.EXTERNAL, "source": "web"}
    gathered = Gathered(
        "what does it say",
        standing=tuple(hit(n, text) for n, text in enumerate(texts, 1)),
        bound=tuple((hit(n, text, **outside), "food") for n, text in enumerate(texts, 10)),
        found=tuple(hit(n, text, **outside) for n, text in enumerate(texts, 20)),
    )
    made = build(gathered, budget)
    assert len(made.text) <= budget
    if not made.items:
        return
    first, legend, *inside, last = made.text.split("\n")
    assert (first, legend, last) == (fence.OPEN, LEGEND, fence.CLOSE)
    ours = [line for line in inside if line in {f"[{section}]" for section in Section}]
    assert len(ours) == len(set(ours))
    lines = [line for line in inside if line not in ours]
    assert [line[1:7] for line in lines] == [one.record.id[-6:] for one in made.items]
    for line, one in zip(lines, made.items, strict=True):
        is_outside = "·external web]" in line.partition("] ")[0] + "]"
        assert is_outside == (one.record.trust is Trust.EXTERNAL)
    assert fence.unfenced(f"before{made.text}after") == "beforeafter"


@given(st.permutations(range(1, 9)), st.integers(1, 8))
def test_a_fact_never_stands_twice(order: list[int], facts: int) -> None:
    """C3: facts and their sayings, in whatever order they are found, are each told once."""
    said = {n: hit(n, f"Ana said that the boat number {n} is blue and fast") for n in order}
    known = [
        hit(n + 20, f"boat {n} is blue", layer=Layer.SEMANTIC, evidence=(said[n].record.id,))
        for n in order[:facts]
    ]
    found = tuple(said[n] for n in order) + tuple(known)
    made = build(Gathered("which boat is blue", found=found), 10_000)
    told = [one for item in made.reasons for one in item.ids]
    assert sorted(told) == sorted(one.record.id for one in found)
    assert sum(item.saying is not None for item in made.reasons) == facts


@every("prompt", ["thanks!", "good morning", "ok", "Great, what's next?", "Please continue."])
def test_small_talk_is_known(prompt: str) -> None:
    """C8: it tells nothing that could be looked up."""
    assert noise.is_small_talk(prompt)


@every(
    "prompt",
    ["suggest a restaurant", "run the tests", "where do I live", "what did Ana say?", "room 12?"],
)
def test_short_prompts_are_no_small_talk(prompt: str) -> None:
    """C8: a wrong refusal would be an empty context."""
    assert not noise.is_small_talk(prompt)


@every(
    "case",
    [
        ("suggest a restaurant", ["food", "places"]),
        ("bake a cake for Tom", ["food"]),
        ("find flights to Oslo", ["travel"]),
        ("ideas for our wedding", ["events"]),
        ("write me a parser", []),
        ("fix the failing test", []),
        ("", []),
    ],
)
def test_prompts_have_topics(case: tuple[str, list[str]]) -> None:
    """C1: a topic is near in meaning to a word of the prompt."""
    prompt, expected = case
    assert topics.topics(prompt) == expected
    assert bool(topics.binding(expected)) == bool(expected)
