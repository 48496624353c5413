"""Summaries follow from numbers, which are written out: none may change unseen."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from msgspec import structs

from lamina.engines import summary
from lamina.engines.summary import Sentence
from lamina.model import rules
from lamina.model.record import Record
from lamina.text import words as text
from tests.cases import every
from tests.conftest import START
from tests.unit.engines.talks import NOW, TALK, one, talk, turn


def test_a_conversation_has_this_summary() -> None:
    """S3, Q6: its words, where each sentence stands, and why; the same in every version until it is
    changed on purpose."""
    made = one(talk())
    assert made.content.split("\n") == [
        "Conversation of 1 May 2026 between Ana and Ben:",
        "Ben: I moved to Lisbon last Friday and started at Nordwind on 2 May 2026.",
        "Ben: The flat has three rooms and a balcony over the harbour, and costs 900 euros.",
        "Ana: I adopted a greyhound called Biscuit from the shelter in Porto.",
        "Ana: We are planning to visit you next month, if that is fine.",
    ]
    assert [place[1:] for place in made.sentences] == [(44, 112), (21, 98), (0, 63), (41, 98)]
    assert made.reasons == (
        (
            "says when; gives a number; names; tells of the speaker; tells what was done; comes "
            "first; 6 telling words"
        ),
        "gives a number; comes first; 9 telling words",
        "names; tells of the speaker; tells what was done; comes first; 6 telling words",
        "says when; tells of the speaker; speaks to the other; comes first; 1 telling word",
    )


def weighed(said: str, **fields: Any) -> Sentence | None:
    """The first sentence of a text, if it says enough."""
    record = turn(1, said, speaker="Ana", **fields)
    return next(summary._sentences(0, record, frozenset({"ana"})), None)


@pytest.mark.parametrize(
    ("said", "signs", "worth"),
    [
        (
            'On Monday 4 May I bought 3 "Lilium" bulbs with Carla.',
            (
                "says when; gives a number; names; quotes; tells of the speaker; tells what was "
                "done; comes first; 7 telling words"
            ),
            496.782,
        ),
        (
            "You and your sister visited Oslo harbour.",
            "names; tells what was done; speaks to the other; comes first; 4 telling words",
            32.186,
        ),
        (
            "It burned the harbour kitchen carpet.",
            "tells what was done; hangs on what was said before; comes first; 4 telling words",
            -26.655,
        ),
        (
            "Thanks, we sold the harbour concert tickets.",
            "tells of the speaker; tells what was done; is polite; comes first; 4 telling words",
            -2.051,
        ),
        (
            "- In Oslo we sold granite lantern concert kitchen tickets",
            (
                "names; tells of the speaker; tells what was done; comes first; is one of a "
                "list; 7 telling words"
            ),
            134.560,
        ),
        ("granite harbour lantern kitchen", "comes first; 4 telling words", -26.039),
        (
            "granite harbour lantern kitchen carpet tickets bulbs sister balcony",
            "comes first; 9 telling words",
            47.718,
        ),
    ],
)
def test_a_sentence_is_worth_what_it_shows(said: str, signs: str, worth: float) -> None:
    """S3: each sign has its worth, each telling word up to eight has one, and length
    has its price."""
    found = weighed(said)
    assert found is not None
    assert "; ".join(found.signs) == signs
    assert found.worth == pytest.approx(worth, abs=1e-9)


@pytest.mark.parametrize(
    "said",
    [
        "granite harbour lantern",  # three words
        "granite lantern kitchen the",  # worth 150
        "oak fir elm",
        "a b c d e",  # nine characters
        "Did granite harbour lantern kitchen carpet burn?",
        "granite harbour lantern kitchen carpet tickets:",
        "granite harbour lantern kitchen ------------------------------------",
        "Thanks, the harbour concert tickets arrived.",
        "- granite harbour lantern kitchen",
    ],
)
def test_what_says_too_little_is_no_sentence(said: str) -> None:
    """S3: fewer than four words or ten characters, a question, an announcement, signs for the most
    part, or small worth."""
    assert weighed(said) is None


def test_ten_characters_can_be_a_sentence() -> None:
    """S3: with four words and enough of worth; nine cannot."""
    assert weighed("I got 7 ox") is not None
    assert weighed("I got 7 o") is None


@pytest.mark.parametrize("word", ["able", "yup", "wonderful", "the"])
def test_words_that_everybody_says_tell_nothing(word: str) -> None:
    """S3: they are no telling words, from the first to the last of the list."""
    found = weighed(f"granite harbour lantern kitchen carpet {word}")
    assert found is not None
    assert found.words == frozenset("granite harbour lantern kitchen carpet".split())


SIGNS = {
    "tells of the speaker": (
        "I my me mine we our us ich mein meine meinen meiner mich mir wir uns unser unsere "
        "je mon ma mes moi nous notre nos yo"
        " mi mis nosotros nuestro io mio mia noi nostro eu meu minha я мой моя мне меня мы нас наш"
        " 我 私 僕 俺 저는 나는 제가 내가"
    ),
    "speaks to the other": (
        "you your yours yourself u ur du dein deine deinen dich dir ihr euch tu ton ta tes "
        "toi vous votre vos usted ustedes"
        " tuyo tuo tua voi você seu ты вы твой ваш тебя вас 你 您 あなた 당신"
    ),
    "tells what was done": (
        "was were had did been went saw got met came took made bought ate gave told said "
        "sent found left began ran won lost"
        " felt held kept heard wrote drove flew taught thought sold paid spent built broke "
        "chose fell grew knew led put read"
        " rode sang slept spoke stood swam threw understood woke wore became brought caught walked"
    ),
}


@every(("sign", "word"), [(sign, word) for sign, words in SIGNS.items() for word in words.split()])
def test_each_word_that_is_a_sign(sign: str, word: str) -> None:
    """S3: in whatever language it is said, it shows who is meant, or that something was done."""
    signs = dict(
        summary._signs(
            said := f"granite {word} lantern", text.asked(said), turn(1, said), frozenset()
        )
    )
    assert signs[sign]


@every(
    ("beginning", "sign"),
    [
        *(
            (word, "is polite")
            for word in (
                "hey",
                "thanks",
                "Take care",
                "I'm so proud",
                "I hope",
                "да",
                "спасибо",
                "안녕",
                "你好",
            )
        ),
        *(
            (word, "is polite")
            for word in ("aww", "obrigada", "can't wait", "I’ll keep", "I am really happy for")
        ),
        *(
            (word, "hangs on what was said before")
            for word in ("it", "That", "so", "Also", "ça", "eso", "это")
        ),
        ("heyday", None),
        ("items", None),
    ],
)
def test_how_a_sentence_begins(beginning: str, sign: str | None) -> None:
    """S3: with politeness, or with a word for what was said before; a longer word that begins alike
    is another one."""
    said = f"{beginning} granite lantern"
    signs = dict(summary._signs(said, (), turn(1, said), frozenset()))
    assert [name for name in ("is polite", "hangs on what was said before") if signs[name]] == (
        [sign] if sign else []
    )


@pytest.mark.parametrize(
    ("said", "sign"),
    [
        ("granite 7 lantern", "gives a number"),
        ("granite Oslo lantern", "names"),
        ("granite Émile lantern", "names"),
        ("granite Иван lantern", "names"),
        ('granite "lantern"', "quotes"),
        ("granite «lantern»", "quotes"),
        ("granite 「lantern」", "quotes"),
        ("granite on 4 May 2026", "says when"),
    ],
)
def test_each_sign_in_its_marks(said: str, sign: str) -> None:
    """S3: numbers, names within a sentence, quotes and days."""
    assert dict(summary._signs(said, (), turn(1, said), frozenset()))[sign]
    plain = "granite lantern harbour"
    assert not dict(summary._signs(plain, (), turn(1, plain), frozenset()))[sign]


@pytest.mark.parametrize("ending", ["?", "？", "؟", ":", "：", '?"', "?)", "?」", "**"])
def test_what_ends_like_this_states_nothing(ending: str) -> None:
    """S3: questions in any script, announcements and headings."""
    assert weighed("granite harbour lantern kitchen carpet burned") is not None
    assert weighed(f"granite harbour lantern kitchen carpet burned{ending}") is None


@pytest.mark.parametrize(("characters", "sentences"), [(2200, 2), (2199, 1)])
def test_a_summary_has_fifteen_hundredths_of_what_was_said(characters: int, sentences: int) -> None:
    """S3: to the last character."""
    said = [f"I sold 7 {letter * 8} ".ljust(164, letter) + "." for letter in "ab"]
    filling = ["x"] * 9 + ["x" * (characters - 9 - 330)]
    assert len(one(talk([("Ana", line) for line in [*said, *filling]])).sentences) == sentences


@pytest.mark.parametrize(("last", "characters"), [(370, 2000), (371, 1624)])
def test_a_summary_holds_two_thousand_characters(last: int, characters: int) -> None:
    """S3: with its headline and the ends of its lines, to the last one."""
    sizes = enumerate([260] * 6 + [last], 2)
    said = [
        f"I sold {place} {chr(95 + place) * 8} ".ljust(size - 1, chr(95 + place)) + "."
        for place, size in sizes
    ]
    assert (
        len(one(talk([("Ana", line) for line in [*said, *["x " * 1000] * 15]])).content)
        == characters
    )


@pytest.mark.parametrize(("marks", "kept"), [(28, True), (29, False)])
def test_half_of_a_sentence_is_letters(marks: int, kept: bool) -> None:
    """S3: with as many letters as other characters it is one, with fewer not."""
    said = "granite harbour lantern kitchen".ljust(28 + marks, "-")
    assert sum(map(str.isalnum, said)) == 28
    assert (weighed(said) is not None) is kept


def sentence(place: int, words: str, worth: float, characters: int = 20) -> Sentence:
    record = turn(place, "x" * 1000)
    return Sentence(place, record, 0, characters, frozenset(words.split()), worth, ())


def chosen(*sentences: Sentence, share: int = 10_000, room: int = 10_000) -> list[int]:
    return [one.turn for one in summary._chosen(sentences, share, room)]


def test_what_three_quarters_tell_is_told() -> None:
    """S3: a sentence of whose words three quarters were said says the same; one of whose words two
    thirds were, does not."""
    first = sentence(1, "a b c d", 900)
    assert chosen(first, sentence(2, "a b c e", 800)) == [1]
    assert chosen(first, sentence(2, "a b e", 800)) == [1, 2]
    assert chosen(first, sentence(2, "", 800)) == [1]


def test_repetition_has_its_price() -> None:
    """S3: half of its words said before take 125 off a sentence, so that another may come first."""
    first, half = sentence(1, "a b", 900, 100), sentence(2, "b c", 500, 100)
    assert chosen(first, half, sentence(3, "d e", 375.1, 100), share=200) == [1, 3]
    assert chosen(first, half, sentence(3, "d e", 374.9, 100), share=200) == [1, 2]


def test_a_summary_has_room_for_this_much() -> None:
    """S3: to the last character of its share and of its lines, each with the end of the line; a
    shorter one may still fit."""
    many = [sentence(place, f"w{place}", 900 - place, 100) for place in range(1, 15)]
    assert chosen(*many) == list(range(1, 13))
    assert chosen(*many[:3], share=200) == chosen(*many[:3], room=202) == [1, 2]
    assert chosen(*many[:3], share=199) == chosen(*many[:3], room=201) == [1]
    assert chosen(*many[:1], sentence(20, "short", 10, 99), *many[1:2], share=199) == [1, 20]


def test_sentences_of_the_same_worth_come_in_their_order() -> None:
    """S3, Q6: the earlier one is taken, whatever order they are given in."""
    several = [sentence(place, f"w{place}", 500) for place in (3, 1, 2)]
    assert chosen(*several, share=20) == [1]


def test_sentences_of_one_turn_come_in_their_order() -> None:
    """S3: as they were said, not as they were chosen."""
    record = turn(1, "x" * 1000)
    several = [
        Sentence(1, record, start, start + 20, frozenset({f"w{start}"}), worth, ())
        for start, worth in ((50, 900), (0, 800))
    ]
    assert [one.start for one in summary._chosen(several, 100, 100)] == [0, 50]


def test_only_the_best_240_are_compared() -> None:
    """S5: what is below them is not looked at, so that a book takes no longer."""
    large = [sentence(place, f"w{place}", 900, 300) for place in range(239)]
    assert chosen(*large, sentence(500, "fits", 1), share=50) == [500]
    assert chosen(*large, sentence(400, "more", 800, 300), sentence(500, "fits", 1), share=50) == []


def test_a_long_line_is_cut_at_the_last_pause_in_400_characters() -> None:
    """S3: up to 400 are one sentence; where there is no pause in the second half, it is
    cut at 400."""
    lengths = [span.end - span.start for span in summary.spans("x" * 400)]
    assert lengths == [400]
    assert [span.end - span.start for span in summary.spans("x" * 401)] == [400, 1]
    assert [span.end - span.start for span in summary.spans("x" * 250 + ", " + "y" * 250)] == [
        251,
        250,
    ]
    assert [span.end - span.start for span in summary.spans("x" * 150 + ", " + "y" * 350)] == [
        400,
        102,
    ]


def told(content: str) -> list[str]:
    return [content[span.start : span.end] for span in summary.spans(content)]


@every(
    ("content", "expected"),
    [
        ("Es war am 3. Mai kalt. Gut.", ["Es war am 3. Mai kalt.", "Gut."]),
        ("It was number 3. Mine won.", ["It was number 3.", "Mine won."]),
        ("We met J. Smith. Good.", ["We met J. Smith.", "Good."]),
        ("So am I. Good.", ["So am I.", "Good."]),
        ("We met b. Smith. Good.", ["We met b.", "Smith.", "Good."]),
        ("We met X. Smith. Good.", ["We met X. Smith.", "Good."]),
        ("12. Buy tea. Good.", ["Buy tea.", "Good."]),
        ("Er heißt Nr. 5. Gut.", ["Er heißt Nr. 5.", "Gut."]),
        ("He is (dr. Smith). Good.", ["He is (dr. Smith).", "Good."]),
        ("x" * 18 + " dr. Smith", ["x" * 18 + " dr. Smith"]),
    ],
)
def test_points_that_end_nothing(content: str, expected: list[str]) -> None:
    """S3: behind the number of a day, an initial, or a title, also in brackets."""
    assert told(content) == expected


def test_a_turn_is_read_up_to_16_kib() -> None:
    """S5: what stands behind is no sentence."""
    assert told("x. " + " " * (16 * 1024 - 5) + "ab. cd.") == ["x.", "ab"]


def test_a_silence_is_six_hours() -> None:
    """S3: to the second, both within a session and until now."""

    def made(silence: timedelta) -> int:
        first = talk()
        late = [
            structs.replace(record, occurred_at=record.occurred_at + silence)
            for record in talk(first=25)
        ]
        return len(summary.plan([*first, *late], (), NOW))

    between = timedelta(minutes=1)  # which the turns have anyway
    assert made(timedelta(hours=6) - between) == 2
    assert made(timedelta(hours=6) - between - timedelta(seconds=1)) == 1
    last = talk()[-1].occurred_at
    assert len(summary.plan(talk(), (), last + timedelta(hours=6))) == 1
    assert summary.plan(talk(), (), last + timedelta(hours=6, seconds=-1)) == []


def test_a_participant_is_no_name_in_it() -> None:
    """S3: to call the other by a name, or what is short for it, tells nothing; two letters are
    short for none."""
    assert list(summary._shortened("antonia")) == ["ant", "anto", "anton", "antoni", "antonia"]
    assert list(summary._shortened("bo")) == ["bo"]
    lines = [("Antonia", "So then Anton cooked granite lantern kitchen carpet soup."), *TALK]
    assert (
        one(talk(lines)).reasons[0]
        == "tells what was done; hangs on what was said before; comes first; 6 telling words"
    )


def test_days_are_written_out() -> None:
    """S3: the day, the month by its name, and the year."""
    months = "January February March April May June July August September October November December".split()
    assert [summary.day(date(2026, place, 7)) for place in range(1, 13)] == [
        f"7 {month} 2026" for month in months
    ]


def test_a_summary_has_as_many_tags_as_a_memory_may() -> None:
    """S3: the first of its turns, each once."""
    turns = [
        structs.replace(record, tags=(f"t{place}a", f"t{place}b"))
        for place, record in enumerate(talk(TALK * 2))
    ]
    expected = [f"t{place}{letter}" for place in range(len(turns)) for letter in "ab"][
        : rules.MAX_TAGS
    ]
    assert list(one(turns).tags) == expected


def test_conversations_that_end_together_come_by_number() -> None:
    """S3, Q6: at the same time the record with the smaller number is older."""

    def moved(records: list[Record], session: str) -> list[Record]:
        return [structs.replace(record, session=session, occurred_at=START) for record in records]

    turns = [*moved(talk(first=100), "second"), *moved(talk(first=1), "first")]
    assert [made.session for made in summary.plan(turns, (), NOW)] == ["first", "second"]
