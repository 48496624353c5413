"""The fence around recalled memories: nothing inside gets out, and nothing inside
is remembered again."""

from __future__ import annotations

import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import Refused
from lamina.text import fence
from lamina.text.confusables import PROTOTYPES
from tests.conftest import CONTRACTS, contents
from tests.unit.text.fences import hostile

around = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<>"), max_size=40)


def plain(text: str) -> str:
    """A text without spaces in which all brackets of a side are one."""
    return "".join(
        fence.PLAIN.get(shape, c) for c in text if (shape := fence.SHAPES[ord(c)]) and c != " "
    )


@given(hostile)
def test_nothing_tamed_looks_like_a_mark(text: str) -> None:
    """Q9: two angle brackets of any kind never stand together, so no mark of ours can; nothing is
    lost but closeness."""
    tamed = fence.tamed(text)
    assert not fence.RUNS.search(tamed.translate(fence.SHAPES))
    assert fence.OPEN not in tamed
    assert fence.CLOSE not in tamed
    assert plain(tamed) == plain(text)
    assert fence.tamed(tamed) == tamed


# Every character that could be drawn as an angle bracket: as one that a font, a reader or a model
# folds to it.
BRACKETS = "❬⦑˱⋖≺ᚲ\U0001d236︽⩹‹«≪⋘《⟪⫷⪡❮❰ᐸ﹤＜〈⟨❭⦒˲⋗≻\U00016f3f\U0001d237︾⩺›»≫⋙》⟫⫸⪢❯❱ᐳ﹥＞〉⟩"
MARKS = ("", "\u0332", "\u0338", "\u20d2", "\ufe0f", "\u200b", "\u0332\u0301\u200d")


def folded(character: str) -> str:
    """What is left of a character without its compatible form and without marks."""
    return "".join(
        one for one in unicodedata.normalize("NFKD", character) if not unicodedata.combining(one)
    )


def test_every_bracket_of_unicode_is_tamed() -> None:
    """Q9: of all characters, whatever folds to an angle bracket, is named as one or looks like one
    by Unicode's data never stands beside another of its side, alone, with combining marks, or
    beside a plain one; others are left as they are."""
    named = re.compile(r"(?:LESS|GREATER)-THAN|ANGLE BRACKET|ANGLE QUOTATION")
    tamed = 0
    for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1)):
        character = chr(code)
        is_bracket = fence.SHAPES[code] in fence.PLAIN
        must = (
            {*folded(character)} & {*"<>"}
            or named.search(unicodedata.name(character, ""))
            or {*PROTOTYPES.get(character, "")} & {*"<>"}
        )
        assert is_bracket or not must or unicodedata.category(character) in ("Mn", "Cf"), hex(code)
        if not is_bracket:
            assert fence.tamed(character * 3) == character * 3
            continue
        tamed += 1
        side = fence.PLAIN[fence.SHAPES[code]]
        for mark in MARKS:
            assert fence.tamed(f"{character}{mark}" * 3) == " ".join([side + mark] * 3)
            assert fence.tamed(f"{side}{character}{mark}") == f"{side} {side}{mark}"
    assert {fence.SHAPES[ord(one)] for one in BRACKETS} <= fence.PLAIN.keys()
    assert tamed < 300


@pytest.mark.parametrize(
    "text",
    ["a < b > c", "x ≤ y ≥ z", "il dit « oui » et ‹ non ›", "〈前〉 ＜後＞", "ᐃᓄᒃᑎᑐᑦ ᐸᐃᑉᐹᖅ", "ᚲᛖᚾ"],
)
def test_single_brackets_stay(text: str) -> None:
    """Q9, Q8: what is no run of brackets is told as it was written, in whatever script."""
    assert fence.tamed(text) == text


@given(around, hostile.map(fence.tamed), around)
def test_what_stands_around_a_fence_stays(before: str, inside: str, after: str) -> None:
    """Q9: taking a fence out leaves every character around it, and none in it."""
    assert fence.unfenced(before + fence.fenced(inside) + after) == before + after


@given(st.lists(st.tuples(around, hostile.map(fence.tamed)), min_size=1, max_size=5))
def test_every_fence_is_taken_out(parts: list[tuple[str, str]]) -> None:
    """Q9: as many fences as there are."""
    text = "".join(before + fence.fenced(inside) for before, inside in parts)
    assert fence.unfenced(text) == "".join(before for before, _ in parts)


def test_a_fence_without_an_end_reaches_to_the_end() -> None:
    """Q9: a fence that was cut off is still a fence."""
    assert fence.unfenced(f"before {fence.OPEN}\n| tea\n").strip() == "before"
    assert (
        fence.unfenced(f"the mark {fence.OPEN} shows up; keep this")
        == "the mark  shows up; keep this"
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quote", ["", "  ", "> ", "\t", "> > "])
@given(cut=st.integers(0, 60))
def test_a_fence_that_was_cut_off_is_a_fence_however_it_was_passed_on(
    end: str, quote: str, cut: int
) -> None:
    """Q9: with other ends of lines, quoted or indented, nothing of what was recalled is left, and
    what follows is."""
    lines = [
        fence.OPEN,
        "[semantic m1; trust external]",
        "| the zebra code",
        "|",
        "| is MAUVE" + "!" * 60,
    ]
    text = end.join(quote + line for line in lines)
    left = fence.unfenced(f"see{end}{text[: len(text) - cut]}{end}bye")
    assert left.split() == ["see", *quote.split(), "bye"]


@pytest.mark.parametrize("cut", range(0, 40, 8))
def test_a_cut_off_fence_on_one_line_reaches_to_its_end(cut: int) -> None:
    """Q9: where the ends of lines were lost, all of the line is taken for what was recalled."""
    text = f"{fence.OPEN} [semantic m1; trust external] | the zebra code is MAUVE | and more of it"
    for end in ("\n", "\r\n", "\r"):
        assert fence.unfenced(f"see {text[: len(text) - cut]}{end}bye") == f"see {end}bye"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tea",
        "a << b >> c",
        fence.CLOSE,
        fence.OPEN[:-1],
        fence.OPEN.upper(),
        "<<<lamina memory>>>",
    ],
)
def test_what_is_no_fence_of_ours_stays(text: str) -> None:
    """Q9: only our own fence is taken out; other brackets belong to the text."""
    assert fence.unfenced(text) == text


# Through the verbs


@pytest.fixture
def recalled(op: Operator) -> str:
    """A context that a model was given."""
    op.remember("Ana drinks green tea", layer="profile", metadata=CONTRACTS["profile"])
    text = op.memory_context("green tea").text
    assert "Ana drinks green tea" in text
    return text


def test_a_recalled_memory_is_not_remembered_again(mem: Memory, recalled: str) -> None:
    """Q9: what stands around the fence is remembered, what is in it is not."""
    assert (
        mem.remember(f"Dear diary,\n{recalled}\ntoday it rained").content
        == "Dear diary,\n\ntoday it rained"
    )
    assert mem.remember(f"{recalled}\nit rained twice").content == "it rained twice"
    assert mem.remember(f"it {recalled} rained {recalled} again").content == "it  rained  again"
    assert [text for text in contents(mem.list()) if "green tea" in text] == [
        "Ana drinks green tea"
    ]


def test_nothing_but_a_recalled_memory_is_refused(mem: Memory, recalled: str) -> None:
    """Q9: a text that is only a fence is refused with a typed error, and nothing is stored."""
    before = contents(mem.list(states=None))
    for text in (
        recalled,
        f"\n {recalled} \n",
        recalled + recalled,
        recalled[: len(recalled) // 2],
    ):
        with pytest.raises(Refused):
            mem.remember(text)
        with pytest.raises(Refused):
            mem.remember_many([{"content": "fine"}, {"content": text}])
    assert contents(mem.list(states=None)) == before


def test_a_recalled_memory_is_no_turn_of_a_conversation(mem: Memory, recalled: str) -> None:
    """Q9, R9: a turn that quotes the context is remembered without it."""
    turns = mem.remember_conversation(
        [
            {"speaker": "system", "text": f"You help Ana. {recalled}"},
            {"speaker": "Ana", "text": f"{recalled} Hello!"},
        ],
        session="s",
    )
    assert contents(turns) == ["You help Ana.", "Hello!"]


def test_a_turn_that_is_only_a_recalled_memory_is_left_out(
    mem: Memory, recalled: str, tmp_path: Path
) -> None:
    """Q9, R9: the rest of the conversation is remembered, and the file of the whole does not hold
    it either."""
    turns = mem.remember_conversation(
        [{"speaker": "system", "text": recalled}, {"speaker": "Ana", "text": "Hello!"}],
        session="s",
        keep_raw=True,
    )
    assert contents(turns) == ["Hello!"]
    (path,) = tmp_path.rglob(f"{turns.episode.id}.json")
    assert "green tea" not in path.read_text("utf-8")
    with pytest.raises(Refused):
        mem.remember_conversation([{"speaker": "system", "text": recalled}], session="s")


def test_a_recalled_memory_is_no_note(mem: Memory, recalled: str) -> None:
    """Q9, L10: notes, tasks and summaries of runs are remembered without it."""
    run = mem.run(f"{recalled} Make tea")
    assert run.note(f"{recalled} boil water").content == "boil water"
    ending = run.close(summary=f"done {recalled}")
    assert ending is not None
    assert ending.content == "done"
    assert not [
        record
        for record in mem.list(layers=["working", "episodic"], states=None)
        if "green" in record.content
    ]


@given(hostile)
def test_masking_moves_nothing(text: str) -> None:
    """Q9: a masked text has every other character where it stood, and no fence."""
    masked = fence.masked(text, "\0")
    assert len(masked) == len(text)
    assert all(mark in (own, "\0") for mark, own in zip(masked, text, strict=True))
    assert [
        (start, end) for start, end in fence.spans(text) if set(masked[start:end]) != {"\0"}
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        fence.OPEN * 20_000,
        "<<<lam" * 20_000 + fence.OPEN + "x" * 1000,
        (fence.OPEN + "\n| ") * 20_000,
        (fence.OPEN + " | " + fence.CLOSE) * 20_000,
        (fence.OPEN + "\n| " + fence.CLOSE + "\n| ") * 20_000,
        (fence.OPEN + "\r\n" + "> " * 20) * 20_000,
        fence.OPEN + "\r" + " >\t" * 500_000,
        fence.OPEN + "\r| " * 300_000,
    ],
)
def test_many_fences_take_no_longer_than_their_text(text: str) -> None:
    """Q9: whatever a megabyte of marks was made for, it is read a few times at most."""
    assert fence.OPEN not in fence.unfenced(text)


def test_what_hides_a_fence_again_and_again_is_not_remembered() -> None:
    """Q9: a text of fences within halves of fences is nothing."""
    text = fence.OPEN
    for _ in range(2 * fence.LOOKS):
        text = fence.OPEN[:20] + text + fence.OPEN[20:]
    assert fence.unfenced(text) == ""
