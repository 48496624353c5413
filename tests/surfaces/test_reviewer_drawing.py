"""Promises of what the reviewer draws: everything is seen, and nothing in it is hidden."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from lamina.engines.review import Proposal
from lamina.model.record import Event, Layer, Record, State, Trust
from lamina.surfaces.cli.reviewer import batch, comparison, detail, keys, rows, texts
from lamina.surfaces.cli.reviewer.detail import Opened
from lamina.surfaces.cli.reviewer.wording import hidden
from lamina.surfaces.review.decisions import Verb
from lamina.surfaces.review.evidence import Evidence
from lamina.text import words as text
from tests.conftest import CONTRACTS, START


def check_line(drawn: Text, width: int) -> None:
    """It fits, and holds nothing that is invisible or steers a terminal."""
    assert drawn.cell_len <= width, drawn.plain
    for character in set(drawn.plain) - texts.JOINERS:
        assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"), (
            repr(drawn.plain)
        )
        assert not text.is_invisible(character)


def test_a_summary_stands_beside_its_sources() -> None:
    """V2: all sources on the left with the words that would be lost, on the right the words that
    none of them has."""
    left, right = comparison.gathered(
        [["oolong"], ["Assam"], ["green"]], ["She likes oolong and assam"]
    )
    assert left is not None
    assert right is not None
    assert [
        left.plain[span.start : span.end] for span in left.spans if span.style == comparison.REMOVED
    ] == ["green"]
    assert [
        right.plain[span.start : span.end] for span in right.spans if span.style == comparison.ADDED
    ] == [
        "She",
        "likes",
        "and",
    ]


def test_a_text_that_hides_another_value_is_shown() -> None:
    """V5: a record whose text and value differ shows both, and its other metadata too, because all
    of it would be stored."""
    metadata = {**CONTRACTS["profile"], "value": "poison", "note": "[bold]trust me[/bold]"}
    forged = Proposal(
        _record("drink: tea", Layer.PROFILE, metadata), "import", START, (), None, (), ()
    )
    opened = Opened(forged, (), (), {})
    shown = "\n".join(
        one.plain for one in [*detail.change(opened, 80), *detail.about(opened, START, 80)]
    )
    assert "poison" in shown
    assert "drink: tea" in shown
    assert "note: [bold]trust me[/bold]" in shown


# Drawing

ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
LINES = st.lists(
    st.text(st.sampled_from("ab cd\u65e5\u672c\u202e\t\x1b<U+>[/]"), max_size=12), max_size=6
)


@given(ANYTHING, ANYTHING, st.integers(20, 130), st.sampled_from(list(Layer)))
def test_whatever_is_stored_can_be_drawn(one: str, other: str, width: int, layer: Layer) -> None:
    """H1: any text in any field, on any screen: every line fits, and nothing hidden is
    left in it."""
    record = _record(
        one, layer, {"profile_key": other, "value": [one, other], "workflow": one, other: one}
    )
    before = _record(other, layer, {"profile_key": other, "value": other})
    event = Event(7, START, one, other, one, (), {}, {"reason": one}, "")
    rests_on = [Evidence(one, record, before, record), Evidence(other, None)]
    proposal = Proposal(record, one, START, (before,), one, (other,), (before,))
    opened = Opened(proposal, (event,), (proposal,), {before.id: event}, rests_on)
    several = Proposal(record, one, START, (before, before), None, (), ())
    drawn = [
        *detail.change(opened, width),
        *detail.about(opened, START, width),
        *detail.change(Opened(several, (), (), {}), width),
        *detail.history([event], record.id, width),
        *batch.preview(batch.plan([proposal, several], Verb.CONFIRM), width),
        *keys.lines(width),
    ]
    for line in drawn:
        check_line(line, width)
    room = rows.widths([proposal, several], max(80, width))
    for made in (rows.cells(proposal, START, True, room), rows.heading(one, 2, room)):
        for cell, columns in zip(made, room, strict=True):
            check_line(cell, columns)


def _record(content: str, layer: Layer, metadata: dict[str, Any]) -> Record:
    return Record(
        id="0" * 26, seq=1, agent="sky", user=content, layer=layer, state=State.CONSTRAINED, kind="fact", content=content,
        importance=0.5, confidence=1.0, trust=Trust.EXTERNAL, source=content, tags=(content,), metadata=metadata,
        evidence=(content,), speaker=content, session=None, run_id=None, occurred_at=START, created_at=START, updated_at=START,
    )  # fmt: skip


@given(LINES, LINES, st.integers(20, 100))
def test_a_comparison_loses_nothing(before: list[str], after: list[str], width: int) -> None:
    """V5: all lines of both versions are there in their order, and only what is hidden
    is written otherwise."""
    rows = comparison.aligned(before, after)
    assert [left.plain for left, _ in rows if left is not None] == [
        text.reveal(one) for one in before
    ]
    assert [right.plain for _, right in rows if right is not None] == [
        text.reveal(one) for one in after
    ]
    for line in (*comparison.side_by_side(rows, width), *comparison.stacked(rows, width)):
        check_line(line, width)


@pytest.mark.parametrize("words", [["a ", "b "], ["x"], ["日"]])
def test_a_text_made_to_take_long_does_not(words: list[str]) -> None:
    """H1: texts whose comparison would take minutes are shown as they are."""
    for length in (90, 900, 9_000):
        before, after = (
            [f"{n} {word * length}" for n in range(40)] for word in (words[0], words[-1])
        )
        assert len(comparison.aligned(before, [*after, ""])) == 41


def test_pictures_are_not_hidden() -> None:
    """H1: joiners within a picture belong to it; elsewhere they are counted as hidden."""
    assert hidden(_record("a family 👩\u200d👩\u200d👧 ❤\ufe0f", Layer.SEMANTIC, {})) == 0
    assert texts.hidden("pass\u200dword") == 1
    assert texts.safe("pass\u200dword").plain == "pass<U+200D>word"
