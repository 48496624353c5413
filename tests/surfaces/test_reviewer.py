"""Promises of `lamina review` in a terminal: everything is seen before it is decided, and every key
does what it says."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from lamina import Memory, Operator
from lamina.engines.review import Proposal
from lamina.model.record import Event, Layer, Record, State, Trust
from lamina.surfaces.cli.main import run
from lamina.surfaces.cli.reviewer import (
    Reviewer,
    batch,
    comparison,
    detail,
    frame,
    queue,
    terminal,
    texts,
)
from lamina.surfaces.cli.reviewer.detail import Opened
from lamina.surfaces.cli.reviewer.queue import Queue
from lamina.surfaces.cli.reviewer.terminal import ENTER, ERASE, ESCAPE, PASTED
from lamina.surfaces.cli.reviewer.wording import hidden, origin
from lamina.text import words as text
from tests.conftest import CONTRACTS, START, Desk, move, size, verified

CODES = re.compile(r"\x1b\[[0-9;?]*[@-~]")
LONG = 30  # seconds; nothing takes that long unless it is broken


class Script:
    """A terminal whose keys are written down, and which keeps what it was shown."""

    def __init__(self, *keys: str, width: int = 80, height: int = 24) -> None:
        self.keys = list(keys)
        self.size = width, height
        self.screens: list[str] = []
        self.styles: list[set[str]] = []
        self.when: dict[
            int, Callable[[], object]
        ] = {}  # what others do meanwhile, after so many screens
        self.stop_after = 1 << 30

    def show(self, lines: Sequence[Text]) -> None:
        width, height = self.size
        assert len(lines) == height
        for one in lines:
            check_line(one, width)
        self.screens.append("\n".join(one.plain.rstrip() for one in lines))
        self.styles.append({str(span.style) for one in lines for span in one.spans})
        self.when.pop(len(self.screens), lambda: None)()

    def read(self) -> str:
        key = self.keys.pop(0)
        if key == terminal.INTERRUPT:
            raise KeyboardInterrupt
        return key

    def interrupted(self) -> bool:
        self.stop_after -= 1
        return self.stop_after < 0

    def forget(self) -> None:
        pass

    @property
    def last(self) -> str:
        return self.screens[-1]


def check_line(drawn: Text, width: int) -> None:
    """It fits, and holds nothing that is invisible or steers a terminal."""
    assert drawn.cell_len <= width, drawn.plain
    for character in set(drawn.plain) - texts.JOINERS:
        assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"), (
            repr(drawn.plain)
        )
        assert not text.is_invisible(character)


def reviewed(op: Operator, *keys: str, width: int = 80, height: int = 24, **more: Any) -> Script:
    """What the screens showed while these keys were pressed; the last of them, before `q`, is the
    last screen."""
    screen = Script(*keys, "q", width=width, height=height)
    for name, value in more.items():
        setattr(screen, name, value)
    Reviewer(op, screen, op._scope.clock).run()
    assert not screen.keys
    return screen


def typed(words: str) -> list[str]:
    return [*words, ENTER]


def proposed(handle: Memory, value: Any, key: str = "drink", **said: Any) -> Record:
    evidence = handle.remember(f"Ana said {value}", **said)
    return handle.propose_profile(key, value, f"she wants {value}", [evidence.id])


def summarised(op: Operator) -> Record:
    """A proposal of semantic memory in the place of three records."""
    sources = [
        op.remember(said, layer="semantic", metadata=CONTRACTS["semantic"]).id
        for said in ("oolong", "Assam", "green")
    ]
    metadata = {"origin": "memory-review", "topic_tags": ["tea"], "compacted_from": sources}
    made = op.remember(
        "She likes oolong and assam", layer="semantic", metadata=metadata, evidence=sources
    )
    return move(op, made.id, state=State.CONSTRAINED)


def row(screen: str, words: str) -> str:
    (found,) = [
        line
        for line in screen.splitlines()
        if words in line and line[:1] in " ▸" and not line.startswith("──")
    ][:1]
    return found


# The queue


def test_a_row_says_what_waits(mem: Memory, op: Operator, desk: Desk) -> None:
    """V1: age, where it comes from, trust, layer and key, what it says and what it would replace;
    the header counts."""
    op.confirm(proposed(mem, "tea").id)
    proposed(mem, "coffee", source="mail")
    desk.clock.jump(timedelta(days=3))
    screen = reviewed(op).last
    assert "1 waits" in screen.splitlines()[0]
    assert row(screen, "coffee").split() == [
        "▸",
        "1",
        "3d",
        "proposal",
        "external",
        "profile/drink",
        "coffee",
        "←",
        "tea",
    ]
    assert "she wants coffee" in screen


def test_only_what_is_in_scope_is_reviewed(desk: Desk) -> None:
    """R12: a handle for one user shows what waits for that user, and says for whom."""
    proposed(desk.agent(user="ana"), "tea"), proposed(desk.agent(user="ben"), "gin")
    screen = reviewed(desk.operator(user="ana")).last
    assert screen.startswith(" review of sky for ana: 1 waits")
    assert "user ana" in screen
    assert "gin" not in screen


def test_a_source_is_named(op: Operator) -> None:
    """V8: what was quarantined says so, and from which source it came."""
    op.remember(
        "the code is 4711", layer="semantic", metadata=CONTRACTS["semantic"], source="web:wiki"
    )
    op.revoke("web:wiki", "defaced")
    (found,) = op.proposals()
    assert origin(found) == "revoked web:wiki"
    opened = reviewed(op, ENTER, ESCAPE)
    assert "it was active" in opened.screens[1]
    assert "because   defaced" in opened.screens[1]


@pytest.mark.parametrize(
    ("width", "height"), [(120, 40), (80, 24), (60, 24), (40, 10), (20, 5), (10, 3)]
)
def test_every_size_of_a_terminal_will_do(
    mem: Memory, op: Operator, width: int, height: int
) -> None:
    """H1: every screen fits, whatever the size, down to one that nobody would use."""
    op.confirm(proposed(mem, "tea with milk").id)
    proposed(mem, "tea without milk, and \u202ehoney\u202c " * 9)
    summarised(op)
    keys = [
        *"j",
        ENTER,
        "e",
        "q",
        "h",
        "q",
        "?",
        "q",
        "p",
        "q",
        "a",
        "a",
        "c",
        "n",
        "/",
        *typed("tea"),
        "R",
        ESCAPE,
    ]
    assert len(reviewed(op, *keys, width=width, height=height).screens) == len(keys) + 1


def test_hundreds_are_scrolled_through(mem: Memory, op: Operator) -> None:
    """V9: the row under the cursor is always on the screen; keys go by rows, by pages, to the ends
    and to a number."""
    for number in range(300):
        op.propose_profile(f"key{number:03}", f"value{number:03}", "so it is")
    screen = reviewed(op, "G", "g", terminal.PAGE_DOWN, *"217", "k", terminal.DOWN, terminal.UP)
    places = [
        next(line.split()[1] for line in shown.splitlines() if line.startswith("▸"))
        for shown in screen.screens
    ]
    assert places == ["1", "300", "1", "16", "2", "21", "217", "216", "217", "216"]
    assert "300 wait" in screen.last


@given(st.data())
def test_the_cursor_stays_in_sight(data: st.DataObject) -> None:
    """H1: whatever was on the screen before, the first row is chosen so that the cursor is on it
    and no row is wasted."""
    number, height = data.draw(st.integers(1, 400)), data.draw(st.integers(1, 60))
    cursor, before = data.draw(st.integers(0, number - 1)), data.draw(st.integers(0, 400))
    proposals: list[Any] = [None] * number
    top = queue.top(Queue(proposals, number, START, "sky", cursor, before), height)
    assert 0 <= top <= cursor < top + queue.rows(height)
    assert top + queue.rows(height) <= number or top == 0


def test_a_filter_shows_what_has_the_words(mem: Memory, op: Operator) -> None:
    """H1: words in any case, of the text, the place or the source; nothing typed
    shows everything again."""
    proposed(mem, "Tea"), proposed(mem, "chess", "game"), proposed(mem, "bread", "food")
    screen = reviewed(
        op, "/", *typed("TEA"), "/", *typed("profile"), "/", *typed("zebra"), "/", ENTER
    )
    found = [
        line
        for line in (shown.splitlines()[0] for shown in screen.screens)
        if "row" in line or "with" in line
    ]
    assert [line for line, _ in groupby(found)] == [
        " review of sky: 3 wait · row 1 of 3",
        " review of sky: 3 wait · 1 with “TEA” · row 1 of 1",
        " review of sky: 3 wait · 3 with “profile” · row 1 of 3",
        " review of sky: 3 wait · 0 with “zebra”",
        " review of sky: 3 wait · row 1 of 3",
    ]


# One proposal


def test_now_and_proposed_stand_beside_each_other(mem: Memory, op: Operator) -> None:
    """V5: what is now is on the left, what would be on the right, and the words that
    differ are marked."""
    op.confirm(proposed(mem, "tea with milk").id)
    proposed(mem, "tea without milk")
    screen = reviewed(op, ENTER, "q")
    left, right = screen.screens[1].splitlines()[2].split("│")
    assert (left.strip(), right.strip()) == ("tea with milk", "tea without milk")
    assert {comparison.REMOVED, comparison.ADDED} <= screen.styles[1]
    assert "agent:sky (python)" in screen.screens[1]


def test_a_narrow_screen_stacks_them(mem: Memory, op: Operator) -> None:
    """H1: below 72 columns the old lines stand behind a minus and the new ones behind a plus; lists
    go item by item."""
    op.confirm(proposed(mem, ["sailing", "chess", "maps"], "interests").id)
    proposed(mem, ["sailing", "fast chess", "maps", "bread"], "interests")
    shown = reviewed(op, ENTER, "q", width=60).screens[1].splitlines()
    start = next(number for number, line in enumerate(shown) if "+ proposed" in line)
    assert shown[start + 1 : start + 6] == [
        "  sailing",
        "- chess",
        "+ fast chess",
        "  maps",
        "+ bread",
    ]


def test_a_summary_stands_beside_its_sources(op: Operator) -> None:
    """V2: all sources on the left with the words that would be lost, on the right the words that
    none of them has."""
    summarised(op)
    screen = reviewed(op, ENTER, "q")
    shown = screen.screens[1].splitlines()
    assert "now, in 3 records" in shown[1]
    assert [line.split("│")[0].strip() for line in shown[2:5]] == ["• oolong", "• Assam", "• green"]
    assert "She likes oolong and assam" in shown[2]
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
    shown = "\n".join(one.plain for one in detail.lines(Opened(forged, (), (), {}), START, 80))
    assert "poison" in shown
    assert "drink: tea" in shown
    assert "note: [bold]trust me[/bold]" in shown


def test_hidden_characters_are_spelled_out_everywhere(mem: Memory, op: Operator) -> None:
    """V6, H1: invisible, bidi and control characters are named and counted on every screen, and
    markup is only text."""
    value = "tea\u200b [red]not red[/red] \u202egnihtemos\u202c \x1b[31m"
    proposed(mem, value, source="web")
    screen = reviewed(op, ENTER, "e", "q", "h", "q", "q", "c", "n", "r", *typed("a\u200bb"), "n")
    assert row(screen.screens[0], "tea").split()[:2] == ["▸", "?"]
    for shown in (screen.screens[1], screen.screens[2]):
        assert "tea<U+200B> [red]not red[/red] <U+202E>gnihtemos<U+202C> <U+001B>[31m" in shown
    assert "4 hidden characters" in screen.screens[1]
    assert texts.HIDDEN in screen.styles[1]
    assert "\x1b" not in "".join(screen.screens)


def test_evidence_is_one_key_away(mem: Memory, op: Operator) -> None:
    """P1: each piece in full with its trust and state; what is archived, elsewhere or
    gone says so."""
    kept = mem.remember("Ana: tea, please\nwith a second line", speaker="Ana", source="mail")
    old = mem.remember("from long ago")
    mem.propose_profile("drink", "tea", "said so", [kept.id, old.id, "https://example.com/a"])
    op._parts.lifecycle.archive([old.id], "prune", "old")
    shown = reviewed(op, ENTER, "e", "q", "q", width=120, height=40).screens[2]
    assert "active · external · short_term" in shown
    assert "said by Ana" in shown
    assert "with a second line" in shown
    assert "archived\nfrom long ago" in shown
    assert "https://example.com/a" in shown
    assert "not in the store" in shown
    assert "no such record any more" in detail.evidence([(old.id, None)], 80)[1].plain


def test_the_history_tells_who_and_why(mem: Memory, op: Operator) -> None:
    """P1: every event about the record, with actor, reason and what it changed."""
    made = proposed(mem, "tea")
    op.confirm(made.id, "heard it myself")
    op.undo(op.history(made.id)[-1].seq)
    shown = reviewed(op, "h", "q").screens[1]
    assert "confirm by operator:" in shown
    assert "because heard it myself" in shown
    assert "state: constrained → active" in shown


def test_confirming_goes_on_to_the_next(mem: Memory, op: Operator) -> None:
    """V1: one event, the old value is superseded, and the next proposal is on the screen with word
    of what was done."""
    first = op.confirm(proposed(mem, "tea").id)
    second, _ = proposed(mem, "coffee"), proposed(mem, "chess", "game")
    before = size(op)
    screen = reviewed(op, ENTER, "c", "q")
    assert size(op) == (before[0], before[1] + 1)
    assert (op.get(second.id).state, op.get(first.id).superseded_by) == (State.ACTIVE, second.id)
    assert "1 of 1: profile/game" in screen.screens[2]
    assert "confirmed (u takes it back): coffee" in screen.screens[2]


def test_undo_takes_the_last_confirmation_back(mem: Memory, op: Operator) -> None:
    """V4: as if it had not been: the old value is active again and the proposal waits; twice goes
    one further back."""
    first = op.confirm(proposed(mem, "tea").id)
    proposed(mem, "coffee"), proposed(mem, "chess", "game")
    screen = reviewed(op, ENTER, "c", "c", "u", "u", "u")
    assert "nothing was confirmed in this session" in screen.last
    assert op.get(first.id).state is State.ACTIVE
    assert len(op.proposals()) == 2
    assert verified(op)


def test_an_undo_that_is_too_late_is_told(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: when somebody has changed the record since, that is said and nothing happens."""
    made = proposed(mem, "tea")
    other = desk.operator()
    screen = reviewed(op, "c", "y", "u", when={3: lambda: other.rollback(made.id, "no")})
    assert "has changed since" in screen.last
    assert op.get(made.id).state is State.TOMBSTONED


def test_rejecting_needs_a_reason(mem: Memory, op: Operator) -> None:
    """V1: an empty reason or Esc changes nothing; with one the proposal is put aside and the reason
    is kept."""
    made = proposed(mem, "tea")
    before = size(op)
    reviewed(op, ENTER, "r", ENTER, "r", " ", ENTER, "r", *"no", ESCAPE, "q", "r", ESCAPE)
    assert size(op) == before
    screen = reviewed(op, ENTER, "r", *"not sp", ERASE, *"o", PASTED + "\nat all\n", ENTER)
    assert op.get(made.id).state is State.TOMBSTONED
    assert op.history(made.id)[-1].reason == "not soat all"
    assert "nothing waits for review" in screen.last


def test_skipping_changes_nothing(mem: Memory, op: Operator) -> None:
    """V1: `s` goes on to the next one, and after the last one back to the queue."""
    proposed(mem, "tea"), proposed(mem, "chess", "game")
    before = size(op)
    screen = reviewed(op, ENTER, "s", "s")
    assert [shown.split(":")[0].strip() for shown in screen.screens] == [
        "review of sky",
        "1 of 2",
        "2 of 2",
        "review of sky",
    ]
    assert "that was the last one" in screen.last
    assert size(op) == before


def test_what_is_stale_can_only_be_rejected_or_skipped(mem: Memory, op: Operator) -> None:
    """V5: it says why, confirming is not offered and does nothing, rejecting works."""
    one, other = proposed(mem, "tea"), proposed(mem, "coffee")
    op.confirm(one.id)
    before = size(op)
    screen = reviewed(op, ENTER, "c", "q", "c")
    assert row(screen.screens[0], "coffee").split()[:2] == ["▸", "!"]
    assert "it cannot be confirmed" in screen.screens[1]
    assert "propose anew" in screen.screens[1]
    assert screen.screens[1].splitlines()[-1].startswith("r reject  s skip")
    assert "r rejects it, s skips it" in screen.screens[2]
    assert size(op) == before
    reviewed(op, ENTER, "r", *typed("too late"))
    assert op.get(other.id).state is State.TOMBSTONED


def test_what_was_rejected_before_is_shown(mem: Memory, op: Operator, desk: Desk) -> None:
    """V6: what was rejected in the same place, when, in which record and why; and what else waits
    for the place."""
    old = proposed(mem, "coffee")
    op.reject(old.id, "she is allergic")
    proposed(mem, "decaf from Brazil"), proposed(mem, "tea")
    screen = reviewed(op, ENTER, "q", width=200)
    assert row(screen.screens[0], "decaf").split()[:2] == ["▸", "~"]
    assert (
        f"~ rejected on 1 May 2026 in {old.id}: coffee, because she is allergic"
        in screen.screens[1]
    )
    assert "~ another waits for this place: tea (agent)" in screen.screens[1]


def test_nothing_is_confirmed_unread_by_accident(mem: Memory, op: Operator) -> None:
    """V5: while lines of it were never on the screen, confirming asks first; once they were, it
    does not."""
    made = proposed(mem, "\n".join(f"line {number}" for number in range(60)))
    screen = reviewed(op, ENTER, "c", "n", "q")
    assert "more lines; space shows them" in screen.screens[1]
    assert "lines were not shown yet" in screen.screens[2]
    assert op.get(made.id).state is State.CONSTRAINED
    assert "lines were not shown yet" in reviewed(op, ENTER, "G", "c", "n", "q").screens[3]
    assert op.get(made.id).state is State.CONSTRAINED
    reviewed(op, ENTER, *" " * 8, "c")
    assert op.get(made.id).state is State.ACTIVE


def test_others_may_decide_meanwhile(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: a proposal that another process has decided says so, and the queue is read anew."""
    made = proposed(mem, "tea")
    proposed(mem, "chess", "game")
    other = desk.operator()
    screen = reviewed(op, ENTER, "c", "q", when={2: lambda: other.reject(made.id, "no")})
    assert "is tombstoned" in screen.screens[2]
    assert "1 of 1: profile/game" in screen.screens[2]
    screen = reviewed(op, "R", when={1: lambda: other.propose_profile("food", "bread", "said so")})
    assert "2 wait" in screen.last


# Many proposals


def test_marked_rows_are_decided_after_a_preview(mem: Memory, op: Operator) -> None:
    """V5: the preview says exactly what would become of each; `n` does nothing, `y` decides, and a
    summary tells."""
    old = op.confirm(proposed(mem, "tea").id)
    wanted = [proposed(mem, "coffee"), proposed(mem, "chess", "game")]
    left = proposed(mem, "bread", "food")
    before = size(op)
    screen = reviewed(op, " ", " ", "c", "n")
    preview = screen.screens[3]
    assert preview.startswith(" confirm 2")
    assert "becomes active, and supersedes" in preview
    assert f"{old.id} tea" in preview
    assert "becomes active, and replaces nothing" in preview
    assert "confirm 2? y/N" in preview
    assert "nothing was done" in screen.last
    assert size(op) == before
    screen = reviewed(op, " ", " ", "c", "y", ENTER)
    assert "confirmed  2" in screen.screens[-2]
    assert {op.get(one.id).state for one in wanted} == {State.ACTIVE}
    assert op.get(left.id).state is State.CONSTRAINED
    assert size(op)[1] == before[1] + 2


def test_a_failure_does_not_stop_the_others(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: what another process decided during the preview fails with the reason why; the
    others are decided."""
    first, second, third = (proposed(mem, "x", key) for key in ("a", "b", "c"))
    other = desk.operator()
    screen = reviewed(op, "a", "a", "c", "y", "q", when={4: lambda: other.reject(second.id, "no")})
    summary = screen.screens[-2]
    assert "confirmed  2" in summary
    assert "failed     1" in summary
    assert "is tombstoned" in summary
    assert [op.get(one.id).state for one in (first, second, third)] == [
        State.ACTIVE,
        State.TOMBSTONED,
        State.ACTIVE,
    ]


def test_all_from_one_source_or_of_one_key(mem: Memory, op: Operator) -> None:
    """V9: `a` marks all from the source of the row, all of its key, all that are shown, or none."""
    for number in range(3):
        op.remember(
            f"fact {number}", layer="semantic", metadata=CONTRACTS["semantic"], source="web:wiki"
        )
    op.revoke("web:wiki", "defaced")
    proposed(mem, "tea"), proposed(mem, "coffee"), proposed(mem, "chess", "game")
    screen = reviewed(
        op,
        "/",
        *typed("drink"),
        "a",
        "k",
        "/",
        ENTER,
        "a",
        "s",
        "a",
        "a",
        "a",
        "n",
        "G",
        "a",
        "s",
        "a",
        "x",
    )
    told = [
        line.split("; c confirms")[0]
        for shown in screen.screens
        for line in shown.splitlines()
        if "c confirms" in line
    ]
    assert told == ["2 marked", "3 marked", "6 marked", "0 marked", "3 marked"]
    assert "3 marked" in screen.last


def test_rejecting_many_asks_for_one_reason(mem: Memory, op: Operator) -> None:
    """V1: each is rejected in an event of its own, with the one reason that was given."""
    made = [proposed(mem, "x", key) for key in ("a", "b")]
    before = size(op)
    reviewed(op, "a", "a", "r", ENTER)
    assert size(op) == before
    screen = reviewed(op, "a", "a", "r", *typed("spam"), "y", "q")
    assert "is put aside" in screen.screens[-4]
    assert "because spam" in screen.screens[-4].splitlines()[0]
    assert [op.history(one.id)[-1].reason for one in made] == ["spam", "spam"]


def test_of_those_that_exclude_each_other_the_first_is_taken(mem: Memory, op: Operator) -> None:
    """V5: the preview leaves the others out and says so, as well as what is stale."""
    stale = proposed(mem, "chess", "game")
    op.confirm(proposed(mem, "go", "game").id)
    first, second = proposed(mem, "tea"), proposed(mem, "coffee")
    screen = reviewed(op, "a", "a", "c", "y")
    preview = next(shown for shown in screen.screens if shown.startswith(" confirm 1, leave out 2"))
    assert "is left out: one above takes its place" in preview
    assert "is left out: " in preview
    assert [op.get(one.id).state for one in (first, second, stale)] == [
        State.ACTIVE,
        State.CONSTRAINED,
        State.CONSTRAINED,
    ]


def test_ctrl_c_stops_a_batch_between_two_decisions(mem: Memory, op: Operator) -> None:
    """V5: what was decided is decided and told, the rest was not tried, and the review goes on."""
    for key in ("a", "b", "c"):
        proposed(mem, "x", key)
    screen = reviewed(op, "a", "a", "c", "y", "q", stop_after=2)
    assert "confirmed  2" in screen.screens[-2]
    assert "not tried  1" in screen.screens[-2]
    assert len(op.proposals()) == 1


def test_what_was_confirmed_together_is_undone_together(mem: Memory, op: Operator) -> None:
    """V4: after a question, in the opposite order; each is an event of its own."""
    for key in ("a", "b"):
        proposed(mem, "x", key)
    screen = reviewed(op, "a", "a", "c", "y", "q", "u", "n", "u", "y", "q")
    assert "taken back 2" in screen.screens[-2]
    assert len(op.proposals()) == 2
    assert verified(op)


def test_ctrl_c_leaves_with_nothing_half_done(mem: Memory, op: Operator) -> None:
    """V5: wherever it is pressed: in the queue, over a proposal, at a question, or at a preview."""
    proposed(mem, "tea")
    before = size(op)
    for keys in ([], [ENTER], [ENTER, "r", "n"], ["c"], ["/"], ["?"]):
        screen = Script(*keys, terminal.INTERRUPT)
        with pytest.raises(KeyboardInterrupt):
            Reviewer(op, screen, op._scope.clock).run()
    assert size(op) == before


def test_what_was_done_is_told_at_the_end(mem: Memory, op: Operator) -> None:
    """H1: how many were confirmed and rejected, and how many wait."""
    for key in ("a", "b", "c"):
        proposed(mem, "x", key)
    reviewer = Reviewer(op, Script(ENTER, "c", "r", *typed("no"), "q", "q"), op._scope.clock)
    assert reviewer.summary() == "nothing was decided; 3 still wait"
    reviewer.run()
    assert reviewer.summary() == "confirmed 1, rejected 1; 1 still waits"


# Drawing

ANYTHING = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
LINES = st.lists(
    st.text(st.sampled_from("ab cd\u65e5\u672c\u202e\t\x1b<U+>[/]"), max_size=12), max_size=6
)


@given(ANYTHING, ANYTHING, st.integers(2, 130), st.integers(3, 50), st.sampled_from(list(Layer)))
def test_whatever_is_stored_can_be_drawn(
    one: str, other: str, width: int, height: int, layer: Layer
) -> None:
    """H1: any text in any field, on any screen: every line fits, and nothing hidden is
    left in it."""
    record = _record(
        one, layer, {"profile_key": other, "value": [one, other], "workflow": one, other: one}
    )
    before = _record(other, layer, {"profile_key": other, "value": other})
    event = Event(7, START, one, other, one, (), {}, {"reason": one}, "")
    proposal = Proposal(record, one, START, (before,), one, (other,), (before,))
    opened = Opened(proposal, (event,), (proposal,), {before.id: event})
    several = Proposal(record, one, START, (before, before), None, (), ())
    shown = Queue((proposal, several), 2, START, one, 1, 0, frozenset({record.id}), other)
    drawn = [
        *frame.framed(
            queue.title(shown),
            queue.lines(shown, (width, height)),
            texts.line(one),
            (("x", "does it"),),
            (width, height),
        ),
        *frame.framed(
            Text("x"), detail.lines(opened, START, max(20, width)), Text(), (), (width, 400)
        ),
        *frame.framed(
            Text("x"),
            detail.lines(Opened(several, (), (), {}), START, max(20, width)),
            Text(),
            (),
            (width, 400),
        ),
        *frame.framed(
            Text("x"), detail.history([event], record.id, width), Text(), (), (width, height)
        ),
        *frame.framed(
            Text("x"),
            detail.evidence([(one, record), (other, None)], width),
            Text(),
            (),
            (width, height),
        ),
        *frame.framed(
            Text("x"),
            batch.preview(batch.plan([proposal, several], "confirm"), width),
            Text(),
            (),
            (width, height),
        ),
    ]
    for line in drawn:
        check_line(line, width)


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


# Keys


def test_keys_have_names() -> None:
    """H1: arrows in both spellings, pages, ends, Enter and Esc; letters are themselves, and unknown
    keys mean nothing."""
    given = "\x1b[A\x1bOB\x1b[5~\x1b[H\r\n\x7fj日\x1b[1;5C\x1bc\x1b"
    assert list(terminal.keys(given)) == [
        *(
            "up",
            "down",
            "page up",
            "home",
            "enter",
            "enter",
            "erase",
            "j",
            "日",
            "\x1b[1;5C",
            "\x1bc",
            "escape",
        )
    ]


@given(st.text(st.sampled_from("cyr\n\x1b[~ 02")))
def test_what_is_pasted_is_never_a_command(pasted: str) -> None:
    """V5: a paste is one key, whatever is in it."""
    pasted = pasted.replace("\x1b[201~", "")
    found = list(terminal.keys(f"j\x1b[200~{pasted}\x1b[201~k"))
    assert found == ["j", PASTED + pasted, "k"]


# The program


def test_it_needs_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """H1: without one, and with --json, it names the command that prints; nothing is opened."""
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "home"))
    for arguments in (["review"], ["--json", "review"]):
        assert run(arguments) == 2
        assert "lamina review list" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_an_agent_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """V7: LAMINA_ROLE=agent does not review."""
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert run(["review"]) == 1
    assert "review is for operators" in capsys.readouterr().err


class Shell:
    """`lamina review` in a terminal of its own."""

    def __init__(self, home: Path, width: int, height: int) -> None:
        self.master, slave = os.openpty()
        self.resize(width, height)
        self.before = termios.tcgetattr(slave)
        environment = {
            **os.environ,
            "LAMINA_HOME": str(home),
            "LAMINA_AGENT": "sky",
            "TERM": "xterm",
            "LAMINA_MAINTENANCE": "off",
            "COLUMNS": "50",
        }
        command = [sys.executable, "-m", "lamina.surfaces.cli.main", "review"]
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        self.slave = slave
        self.shown = ""

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str) -> None:
        """What comes afterwards is what these keys did."""
        self.shown = ""
        os.write(self.master, keys.encode())

    def wait_for(self, words: str) -> None:
        while words not in CODES.sub("", self.shown):
            assert select.select([self.master], [], [], LONG)[0], (
                f"{words!r} did not come; there was {self.shown!r}"
            )
            self.shown += os.read(self.master, 65_536).decode(errors="replace")

    def end(self) -> int:
        return self.process.wait(LONG)


@contextmanager
def shell(home: Path, width: int = 80, height: int = 24) -> Iterator[Shell]:
    started = Shell(home, width, height)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()
        os.close(started.slave)
        os.close(started.master)


def test_a_review_in_a_real_terminal(mem: Memory, op: Operator, desk: Desk) -> None:
    """V1, H1: open, confirm, undo, resize and leave; the decision is in the store and the terminal
    is as it was."""
    old = op.confirm(proposed(mem, "tea with milk").id)
    made = proposed(mem, "tea without milk")
    with shell(desk.home) as terminal_:
        terminal_.wait_for("1 waits")
        terminal_.press("\r")
        terminal_.wait_for("profile.propose, agent:sky")
        terminal_.press("c")
        terminal_.wait_for("nothing waits for review")
        assert (op.get(made.id).state, op.get(old.id).state) == (State.ACTIVE, State.SUPERSEDED)
        terminal_.press("u")
        terminal_.wait_for("taken back: tea without milk")
        assert (op.get(made.id).state, op.get(old.id).state) == (State.CONSTRAINED, State.ACTIVE)
        terminal_.press("\x1b[B")
        terminal_.resize(100, 30)
        terminal_.wait_for("─" * 100)
        terminal_.press("q")
        terminal_.wait_for("confirmed 1, taken back 1; 1 still waits")
        assert terminal_.end() == 0
        assert termios.tcgetattr(terminal_.slave) == terminal_.before
        assert "\x1b[?1049l" in terminal_.shown


def test_ctrl_c_in_a_real_terminal(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: it leaves with the code of an interrupt, changes nothing, and the terminal is
    as it was."""
    proposed(mem, "tea")
    before = size(op)
    with shell(desk.home, 60, 20) as terminal_:
        terminal_.wait_for("1 waits")
        terminal_.press("c")
        terminal_.wait_for("confirm 1? y/N")
        terminal_.press("\x03")
        terminal_.wait_for("nothing was decided; 1 still waits")
        terminal_.wait_for("interrupted")
        assert terminal_.end() == 130
        assert termios.tcgetattr(terminal_.slave) == terminal_.before
    assert size(op) == before


def test_a_key_too_many_decides_nothing(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: what was typed before the next proposal was on the screen says nothing about it."""
    proposed(mem, "tea"), proposed(mem, "chess", "game")
    with shell(desk.home) as terminal_:
        terminal_.wait_for("2 wait")
        terminal_.press("\r")
        terminal_.wait_for("1 of 2")
        terminal_.press("ccc")
        terminal_.wait_for("1 of 1: profile/game")
        terminal_.press("qq")
        terminal_.wait_for("confirmed 1; 1 still waits")
        assert terminal_.end() == 0


def test_a_paste_in_a_real_terminal(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: pasted lines are neither commands nor answers, also when they arrive in pieces."""
    made = proposed(mem, "tea")
    with shell(desk.home) as terminal_:
        terminal_.wait_for("1 waits")
        terminal_.press("\x1b[200~c\ny\n")
        terminal_.press("cy\x1b[201~\r")
        terminal_.wait_for("profile.propose, agent:sky")
        terminal_.press("r\x1b[200~not\nso\x1b[201~")
        terminal_.wait_for("why reject it? not so")
        terminal_.press("\r")
        terminal_.wait_for("nothing waits for review")
        terminal_.press("q")
        assert terminal_.end() == 0
    assert (op.get(made.id).state, op.history(made.id)[-1].reason) == (State.TOMBSTONED, "not so")


def test_an_empty_queue_opens_no_screen(op: Operator, desk: Desk) -> None:
    """H1: when nothing waits, that is all it says."""
    op.remember("one")
    with shell(desk.home) as terminal_:
        terminal_.wait_for("nothing waits for review")
        assert terminal_.end() == 0
        assert "\x1b[?1049h" not in terminal_.shown
