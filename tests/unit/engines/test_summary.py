"""Promises of summaries: long conversations in a few of their own sentences, each of which
can be traced."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import summary
from lamina.engines.summary import Summary, plan, spans
from lamina.model import rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.text import fence
from tests.cases import every
from tests.conftest import START
from tests.unit.engines.samples import LATER, record
from tests.unit.engines.talks import NOW, TALK, one, talk, turn


def sentences(made: Summary, turns: Sequence[Record]) -> list[str]:
    """What the places of a summary hold."""
    said = {item.id: item.content for item in turns}
    return [said[record_id][start:end] for record_id, start, end in made.sentences]


# What a summary says


def test_it_tells_what_happened() -> None:
    """S3: moves, jobs, homes, pets and plans are in the summary; greetings, thanks, praise and
    questions are not."""
    made = one(talk())
    for told in ("Lisbon", "Nordwind", "three rooms", "Biscuit from the shelter"):
        assert told in made.content
    for idle in ("Hey", "?", "proud of you", "kind words", "take care", "good luck", "so happy"):
        assert idle not in made.content


def test_it_reads_like_a_page() -> None:
    """S3: a headline says when and between whom, and every line who said it."""
    headline, *lines = one(talk()).content.split("\n")
    assert headline == "Conversation of 1 May 2026 between Ana and Ben:"
    assert all(line.startswith(("Ana: ", "Ben: ")) for line in lines)


def test_every_sentence_is_traceable() -> None:
    """S3, P1: each place of a summary is exactly the sentence on its line, in the order in which
    they were said."""
    turns = talk()
    made = one(turns)
    speakers = {item.id: item.speaker for item in turns}
    lines = [
        f"{speakers[place[0]]}: {said}"
        for place, said in zip(made.sentences, sentences(made, turns), strict=True)
    ]
    assert made.content.split("\n")[1:] == lines
    assert [place[:2] for place in made.sentences] == sorted(place[:2] for place in made.sentences)
    assert made.metadata["sentences"] == [list(place) for place in made.sentences]


def test_all_turns_are_its_evidence() -> None:
    """S3, P1: the evidence is every turn of the conversation, quoted or not."""
    turns = talk()
    assert one(turns).evidence == tuple(item.id for item in turns)


def test_it_says_why_each_sentence_is_there() -> None:
    """S3: there is a reason in words for each sentence, and one for the summary."""
    made = one(talk())
    assert len(made.reasons) == len(made.sentences)
    assert any("says when" in reason and "names" in reason for reason in made.reasons)
    assert made.why == "24 turns with 1,920 characters, over since 1 May 2026".replace(
        "1,920", f"{sum(len(s) for _, s in TALK):,}"
    )


def test_nothing_is_said_twice() -> None:
    """S3: what was said again, in the same or in nearly the same words, is in the summary once."""
    content = one(
        talk(
            [
                *TALK,
                ("Ana", "As I said, I adopted a greyhound called Biscuit from a shelter in Porto."),
            ]
        )
    ).content
    assert content.count("greyhound called Biscuit") == content.count("balcony") == 1


def test_it_is_trusted_and_important_as_its_sources() -> None:
    """V8, S3: trust is the lowest of the turns, importance the highest, time the last; user,
    session and tags are theirs."""
    turns = talk(trust=Trust.OPERATOR, user="ana", tags=("home",))
    turns[3] = msgspec.structs.replace(
        turns[3], trust=Trust.AGENT, importance=0.9, tags=("home", "lisbon")
    )
    made = one(turns)
    assert (made.trust, made.importance, made.occurred_at) == (
        Trust.AGENT,
        0.9,
        turns[-1].occurred_at,
    )
    assert (made.user, made.session, made.tags, made.participants) == (
        "ana",
        "s1",
        ("home", "lisbon"),
        ("Ana", "Ben"),
    )


@pytest.mark.parametrize(
    ("speakers", "headline"),
    [
        ([None], "What happened on 1 May 2026:"),
        (["Ana"], "What Ana said on 1 May 2026:"),
        (["Ana", "Ben", "Cleo"], "Conversation of 1 May 2026 between Ana, Ben and Cleo:"),
        (
            ["Ana", "Ben", "Cleo", "Dan", "Eve"],
            "Conversation of 1 May 2026 between Ana, Ben, Cleo and 2 others:",
        ),
    ],
)
def test_the_headline_names_who_was_there(speakers: list[str | None], headline: str) -> None:
    """S3: however many took part, or nobody at all; without a speaker a line has no
    name before it."""
    made = one(
        talk([(speakers[place % len(speakers)], said) for place, (_, said) in enumerate(TALK)])
    )
    assert made.content.split("\n")[0] == headline
    assert (": I adopted" in made.content) is (speakers != [None])


# Which conversations


def test_only_what_is_verbose() -> None:
    """S3: fewer than 2,000 characters together stay as they are, in however many turns."""
    assert plan(talk([("Ana", "I moved to Lisbon.")] * 50), (), NOW) == []
    assert plan([], (), NOW) == []


LONG = (
    "The importer for invoices was rewritten in Rust in March 2026. Paula measured it on 12,000"
    " invoices of Acme, and it needs 40 seconds instead of 9 minutes. "
)


@every(
    "turns",
    [
        [("Ana", LONG * 40)],
        [(None, LONG * 40)],
        [("Ana", LONG * 5), ("Ben", "We sold 30 bikes in Porto. " * 30)] * 2,
    ],
)
def test_every_verbose_episode_is_summed_up(turns: list[tuple[str | None, str]]) -> None:
    """S3: one very long record, or a conversation of a few long turns, becomes a summary with
    quotations and its sources."""
    said = talk(turns)
    made = one(said)
    assert made.evidence == tuple(item.id for item in said)
    assert "12,000 invoices" in made.content
    assert all(line in said[0].content + said[-1].content for line in sentences(made, said))


def noted(day: int, content: str, minute: int = 1, **fields: Any) -> Record:
    """A note of a day, without a session or a speaker."""
    return turn(minute + 1440 * day, content, session=None, speaker=None, **fields)


GARMIN = (
    "The Garmin downloader failed with a timeout at 7am and the token was renewed by Ben. ",
    "Garmin changed its login, so the downloader needs a new token every 24 hours. ",
    "The downloader of Garmin data runs again since the token is renewed on 3 servers. ",
)
GARDEN = "Tomatoes and basil were planted in the third bed behind the greenhouse. "


def test_episodes_about_one_thing_are_summed_up_together() -> None:
    """S3: separate episodes about the same thing, each too short, become one summary once they are
    verbose together; what is about something else is left."""
    about = [noted(day, said * 9) for day, said in enumerate(GARMIN)]
    made = one([*about, noted(1, GARDEN * 9, 5), noted(2, "Ok.", 5)])
    assert made.evidence == tuple(item.id for item in about)
    assert made.session is None
    headline, *lines = made.content.split("\n")
    assert headline == "About downloader, garmin, token, 1 May 2026 to 3 May 2026:"
    assert len(lines) == 3


@every(
    "others",
    [
        [GARMIN[1] * 9],  # two are not several
        [GARMIN[1] * 3, GARMIN[2] * 3],  # not verbose together
        [GARMIN[1] * 9, GARDEN * 9],
    ],
)
def test_few_or_short_episodes_are_left(others: list[str]) -> None:
    """S3: fewer than three episodes about one thing, or fewer than 2,000 characters, stay."""
    notes = [noted(0, GARMIN[0] * 9), *(noted(1 + day, said) for day, said in enumerate(others))]
    assert plan(notes, (), NOW) == []


def test_a_topic_is_not_summed_up_again_and_again() -> None:
    """S1, S3: later episodes about a topic make a new summary only when they are verbose by
    themselves, and no episode is in two."""
    about = [noted(day, said * 9) for day, said in enumerate(GARMIN)]
    done = one(about).evidence
    later = [noted(10 + day, said * 9) for day, said in enumerate(GARMIN)]
    assert plan([*about, *later[:2]], done, NOW) == []
    (second,) = plan([*about, *later], done, NOW)
    assert second.evidence == tuple(item.id for item in later)


def test_topics_of_users_and_from_outside_are_apart() -> None:
    """R12, V8: what is about one thing is summed up apart for each user, and apart from what
    comes from outside."""
    own = [noted(day, said * 9) for day, said in enumerate(GARMIN)]
    others = [noted(20 + day, said * 9, user="ben") for day, said in enumerate(GARMIN)]
    outside = [noted(40 + day, said * 9, trust=Trust.EXTERNAL) for day, said in enumerate(GARMIN)]
    made = plan([*own, *others, *outside], (), NOW)
    assert [(each.user, each.trust) for each in made] == [
        (None, own[0].trust),
        ("ben", own[0].trust),
        (None, Trust.EXTERNAL),
    ]


@pytest.mark.parametrize(("hours", "made"), [(5.9, 0), (6.1, 1)])
def test_only_what_is_over(hours: float, made: int) -> None:
    """S3, S5: a conversation may go on until nobody has said anything for six hours."""
    turns = talk()
    assert len(plan(turns, (), turns[-1].occurred_at + timedelta(hours=hours))) == made


def test_nothing_is_summed_up_twice() -> None:
    """S1, S3: turns that a summary has as evidence are done; what was said later is a conversation
    of its own."""
    turns = talk()
    done = one(turns).evidence
    assert plan(turns, done, NOW) == []
    later = talk(first=200)
    assert one([*turns, *later]).evidence == tuple(
        item.id for item in [*turns, *later]
    )  # in one breath
    (second,) = plan([*turns, *later], done, NOW)
    assert second.evidence == tuple(item.id for item in later)


def test_a_session_without_end_is_summed_up_in_parts() -> None:
    """S3: a silence of six hours ends a part that is long enough; one that is too short goes on
    after it."""
    days = [talk(first=1 + 1440 * day) for day in range(3)]
    assert [made.evidence for made in plan([*days[0], *days[1], *days[2]], (), NOW)] == [
        tuple(item.id for item in day) for day in days
    ]
    short = [
        turn(2000 + place * 1440, "I moved to Lisbon last Friday. " * 10, speaker="Ana")
        for place in range(9)
    ]
    made = one(short)
    assert len(made.evidence) == 7
    assert made.content.startswith("What Ana said on 2 May 2026 to 8 May 2026:")


def test_sessions_users_and_days_are_told_apart() -> None:
    """S3, R12: one summary for each session of each user; what has no session belongs
    to its day."""
    turns = [
        *talk(first=1, session="one", user="ana"),
        *talk(first=101, session="two", user="ana"),
        *talk(first=201, session="one", user="ben"),
        *talk(first=301, session=None),
        *talk(first=301 + 1440, session=None),
    ]
    made = plan(turns, (), NOW)
    assert [(each.user, each.session) for each in made] == [
        ("ana", "one"),
        ("ana", "two"),
        ("ben", "one"),
        (None, None),
        (None, None),
    ]
    assert [len(each.evidence) for each in made] == [24] * 5


def test_only_what_was_said_is_summed_up() -> None:
    """S3: other layers and states, records of a whole conversation, and summaries themselves
    are no turns."""
    turns = talk()
    first = one(turns)
    idle: list[dict[str, Any]] = [
        *({"layer": layer} for layer in Layer if layer is not Layer.EPISODIC),
        *({"state": state} for state in State if state is not State.ACTIVE),
        *(
            {"metadata": {"raw_hash": "ab"}},
            {"metadata": {"turns_hash": "ab"}},
            {"metadata": first.metadata},
            {"speaker": "system"},
            {"archived": "a.jsonl:1"},
        ),
    ]
    others = [turn(800 + place, TALK[1][1] * 9, **fields) for place, fields in enumerate(idle)]
    assert plan([*turns, *others], (), NOW) == [first]
    assert plan([msgspec.structs.replace(item, **idle[0]) for item in turns], (), NOW) == []


# What must never be in it


def test_what_comes_from_outside_is_summed_up_apart() -> None:
    """V8: outside turns are neither quoted nor evidence in the summary of trusted ones; their own
    summary is external."""
    outside = [
        ("mail", "The invoice of 3 May says that 4,000 euros go to Mallory in Zurich at once.")
    ] * 30
    turns = talk(outside, 200, trust=Trust.EXTERNAL)
    trusted, external = plan([*talk(), *turns], (), NOW)
    assert "Mallory" not in trusted.content
    assert trusted == one(talk())
    assert (external.trust, external.evidence) == (Trust.EXTERNAL, tuple(item.id for item in turns))
    assert plan([*talk(), *turns[:7]], (), NOW) == [trusted]


@pytest.mark.parametrize("closed", [True, False])
def test_nothing_in_our_fence_is_quoted(closed: bool) -> None:
    """Q9, S3: recalled memories within a turn are no sentences of it, even when the fence
    was cut off."""
    inside = fence.fenced("[1] 3 May 2026\n| On 3 May 2026 Mallory bought 12 houses in Zurich.")
    inside = inside if closed else inside.removesuffix(fence.CLOSE)
    turns = talk(
        [("Ana", f"I read this on 4 May 2026 in Oslo.\n{inside}\nI flew to Rome on 5 May 2026.")]
        * 3
        + list(TALK)
    )
    made = one(turns)
    assert "Mallory" not in made.content
    assert fence.CLOSE not in made.content
    assert "I flew to Rome on 5 May 2026." in made.content


def test_a_name_cannot_make_a_fence() -> None:
    """Q9: a speaker whose name is the beginning of our mark does not turn a line into one."""
    name, rest = fence.OPEN.split(": ")
    made = one(
        talk([(name, f"{rest} On 3 May 2026 I bought 12 houses in Zurich and Oslo."), *TALK])
    )
    assert fence.OPEN not in made.content
    assert rules.content(made.content) == made.content


def test_code_and_tables_are_not_quoted() -> None:
    """S3: code, tables and headings tell nobody what happened."""
    code = (
        "```python\nprint('I moved to Porto on 3 May 2026 with Carl')\n```\n| 3 | 4 | 5 |\n## "
        "The Plan of 3 May 2026:\n"
    )
    content = one(talk([("Ana", code), *TALK])).content
    assert "Porto on" not in content
    assert "|" not in content
    assert "Plan" not in content


def test_a_conversation_of_nothing_has_no_summary() -> None:
    """S3: where nobody said anything, nothing is made up."""
    assert plan(talk([("Ana", "Thanks! Wow! Great! How are you?")] * 90), (), NOW) == []
    assert plan(talk([("Ana", "```\n" + "x = 1\n" * 60)] * 12), (), NOW) == []


# Sentences


@every(
    ("content", "expected"),
    [
        ("I met Dr. Smith at 3.5 km. He waved!", ["I met Dr. Smith at 3.5 km.", "He waved!"]),
        ("See e.g. the U. S. Mail. Fine", ["See e.g. the U. S. Mail.", "Fine"]),
        ("So did I. Then we left…  Good", ["So did I.", "Then we left…", "Good"]),
        (
            'He said "Go!" And "why?" (Nobody knew.) Fine.',
            ['He said "Go!"', 'And "why?"', "(Nobody knew.)", "Fine."],
        ),
        ("我昨天去了北京。天气很好！你呢？", ["我昨天去了北京。", "天气很好！", "你呢？"]),
        ("彼は「行く。」と言った。終わり", ["彼は「行く。」", "と言った。", "終わり"]),
        ("one\ntwo\r\nthree\u2028four", ["one", "two", "three", "four"]),
        (
            "- milk\n* eggs\n1. bread\n2) tea. More\n# Title",
            ["milk", "eggs", "bread", "tea.", "More", "Title"],
        ),
        ("So happy! 💪🏽 I won 🎉 It rocks", ["So happy!", "I won 🎉", "It rocks"]),
        ("-5 degrees and $3. @ana @ben", ["-5 degrees and $3.", "@ana @ben"]),
        ("... !!! 💪", []),
        ("", []),
    ],
)
def test_sentences_end_where_readers_see_it(content: str, expected: list[str]) -> None:
    """S3, Q8: at marks of any script and at line ends, not within numbers, titles and initials;
    bullets are no part of it."""
    assert [content[span.start : span.end] for span in spans(content)] == expected


def test_a_text_without_marks_is_cut_where_it_pauses() -> None:
    """S3: an endless sentence becomes pieces, of which each is a span and none is longer
    than the longest."""
    content = "we walked on and on, " * 200 + "x" * 1000
    found = [content[span.start : span.end] for span in spans(content)]
    assert all(0 < len(piece) <= summary.LONGEST for piece in found)
    assert found[0].endswith(",")
    assert "".join(found).replace(" ", "") == content.replace(" ", "")


@pytest.mark.parametrize(
    "lines",
    [
        [
            (
                "Ich bin am 3. Mai 2026 nach Hamburg gezogen und arbeite jetzt bei der Reederei "
                "Nordwind."
            ),
            "Danke dir, das ist ja schön!",
        ],
        [
            "El lunes compré un coche rojo en Sevilla por 9000 euros con mi hermana Lucía.",
            "¡Gracias! ¿Cómo estás hoy?",
        ],
        [
            "我在2026年5月3日搬到了上海，在一家银行找到了新工作，工资是每月两万元。",
            "谢谢你！你今天好吗？",
        ],
        [
            "3 мая 2026 года я переехал в Казань и купил там квартиру за девять миллионов.",
            "Спасибо! Как твои дела?",
        ],
        ["ฉันย้ายไปเชียงใหม่เมื่อวันที่ 3 พฤษภาคม 2026 และเริ่มงานใหม่ที่โรงพยาบาลใหญ่", "ขอบคุณ!"],
    ],
)
def test_any_language_can_be_summed_up(lines: list[str]) -> None:
    """S3, Q8: in other languages and scripts too, what happened is in it and thanks are not."""
    made = one(talk([(("Ana", "Ben")[place % 2], lines[place % 2]) for place in range(120)]))
    assert made.content.split("\n")[1:] == [f"Ana: {lines[0]}"]


# For all conversations

WORDS = st.sampled_from(
    (
        "I we you moved bought Lisbon Ana 2026 3 May last Friday thanks ? ! . \n 。 我去了北京 🎉 ``` "
        "| - dog harbour"
    ).split(" ")
)
LINES = st.one_of(
    st.lists(WORDS, max_size=40).map(" ".join),
    st.text(max_size=200),
    st.sampled_from([said for _, said in TALK]),
)
TURNS = st.lists(
    st.builds(
        lambda said, speaker, session, user, trust, minutes: {
            "content": said,
            "speaker": speaker,
            "session": session,
            "user": user,
            "trust": trust,
            "occurred_at": START + timedelta(minutes=minutes),
        },
        LINES,
        st.sampled_from([None, "Ana", "Ben", "<<<lamina memory"]),
        st.sampled_from([None, "s1"]),
        st.sampled_from([None, "ana"]),
        st.sampled_from(list(Trust)),
        st.integers(0, 4000),
    ),
    max_size=60,
)


@given(TURNS, st.integers(1, 12), st.randoms(use_true_random=False))
def test_every_summary_keeps_its_promises(
    drawn: list[dict[str, Any]], times: int, shuffled: random.Random
) -> None:
    """S3, V8, Q6: whatever was said in whatever order, a summary is short, quotes its own turns
    exactly, and is the same."""
    turns = [turn(place, **fields) for place, fields in enumerate(drawn * times)]
    made = plan(turns, (), NOW)
    by_id = {item.id: item for item in turns}
    for each in made:
        sources = [by_id[source] for source in each.evidence]
        assert (
            len({(item.user, item.session, item.trust is Trust.EXTERNAL) for item in sources}) == 1
        )
        assert each.trust is rules.lowest_trust(item.trust for item in sources)
        assert len(each.content) <= summary.ROOM
        assert 0 < len(each.sentences) <= summary.MOST_SENTENCES
        quoted = sum(end - start for _, start, end in each.sentences)
        assert quoted <= summary.SHARE * sum(len(item.content) for item in sources)
        assert {place[0] for place in each.sentences} <= set(each.evidence)
        lines = each.content.split("\n")[1:]
        assert all(
            line.endswith(said) for line, said in zip(lines, sentences(each, turns), strict=True)
        )
    evidence = [source for each in made for source in each.evidence]
    assert len(evidence) == len(set(evidence))
    mixed = list(turns)
    shuffled.shuffle(mixed)
    assert plan(mixed, (), NOW) == made
    assert plan(mixed, evidence, NOW) == []


@given(st.one_of(st.text(), st.lists(WORDS).map(" ".join)))
def test_spans_are_in_order_and_within(content: str) -> None:
    """S3: the sentences of any text are parts of it, in their order, without overlap,
    and not blank."""
    found = list(spans(content))
    assert all(
        span.start < span.end <= len(content) and content[span.start : span.end].strip()
        for span in found
    )
    assert all(before.end <= after.start for before, after in pairwise(found))


@every("hostile", ["!", "🎉", "a. ", "* ", ".”", "- - ", "```\n", "\u200d", "1. ", '"'])
def test_no_text_is_too_much(hostile: str) -> None:
    """S5: a megabyte of marks is read to its limit and leaves nothing behind."""
    turns = talk([("Ana", (hostile * 200_000) + "x")] * 8)
    assert all(len(each.content) <= summary.ROOM for each in plan(turns, (), NOW))


def test_a_conversation_is_verbose_from_2000_characters_on() -> None:
    """S3: with one character less it is left as it is, in however many turns."""

    def summed_up(turns: int, characters: int) -> bool:
        told_ = f"I moved to Lisbon on {characters} May 2026. " + "x" * 3000
        first = told_[: characters - 10 * (turns - 1)]
        return bool(
            summary.plan(
                [turn(1, first), *(turn(2 + number, "0123456789") for number in range(turns - 1))],
                (),
                LATER,
            )
        )

    assert summed_up(8, 2000)
    assert summed_up(1, 2000)
    assert not summed_up(8, 1999)
    assert not summed_up(1, 1999)


def test_the_oldest_conversation_is_summed_up_first() -> None:
    """S3, Q6: by when it ended, whatever order the turns came in."""
    late, early = talk(first=500, session="late"), talk(first=1, session="early")
    assert [made.session for made in summary.plan([*late, *early], (), LATER)] == ["early", "late"]


def test_a_summary_is_known_by_what_it_keeps() -> None:
    """S3: its origin and its sentences; one of the two is not enough. It keeps who took part."""
    (made,) = summary.plan(talk(), (), LATER)
    assert set(made.metadata) == {"origin", "participants", "sentences"}
    assert made.metadata["participants"] == ["Ana", "Ben"]
    assert len(made.sentences) <= 12
    assert summary.is_summary(record(1, made.metadata))
    for name in ("origin", "sentences"):
        assert not summary.is_summary(
            record(1, {key: value for key, value in made.metadata.items() if key != name})
        )


@pytest.mark.parametrize("fence_", ["```", "~~~"])
def test_code_holds_no_sentence(fence_: str) -> None:
    """S3: between fences of either kind; what stands around them does."""
    content = f"Look at this.\n{fence_}\nprint(1). exit().\n{fence_}\nIt works."
    assert [content[one.start : one.end] for one in summary.spans(content)] == [
        "Look at this.",
        "It works.",
    ]


@every("word", "Mr Mrs Ms Dr Prof St vs e.g i.e approx Inc".split())
def test_a_short_form_ends_no_sentence(word: str) -> None:
    """S3: a point behind it belongs to the word."""
    content = f"We met {word}. Smith today. It rained."
    assert [content[one.start : one.end] for one in summary.spans(content)] == [
        f"We met {word}. Smith today.",
        "It rained.",
    ]
