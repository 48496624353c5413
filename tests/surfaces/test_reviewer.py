"""Promises of `lamina review` in a terminal: everything is seen before it is decided, and every key
does what it says."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from lamina import Memory, Operator
from lamina.model.record import Record, State
from lamina.surfaces.cli.main import run
from lamina.surfaces.cli.reviewer import plain
from lamina.surfaces.cli.reviewer.app import ReviewApp
from lamina.surfaces.cli.reviewer.wording import origin
from lamina.surfaces.review.decisions import Decision, Decisions, Verb, agreeing
from tests.conftest import CONTRACTS, Desk, move, size, verified
from tests.surfaces.reviewing import reviewed

CODES = re.compile(r"\x1b\[[0-9;?]*[@-~]")
LONG = 30  # seconds; nothing takes that long unless it is broken


def above(screen: str) -> list[str]:
    """The words of each row of the queue."""
    lines = screen.splitlines()[2:]
    end = next(number for number, one in enumerate(lines) if one.startswith("───"))
    return [" ".join(one.split()) for one in lines[:end] if one.strip()]


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


# The queue


def test_a_row_says_what_waits(mem: Memory, op: Operator, desk: Desk) -> None:
    """V1: age, where it comes from, trust, layer and key, what it says and what it would replace;
    the header counts."""
    op.confirm(proposed(mem, "tea").id)
    proposed(mem, "coffee", source="mail")
    desk.clock.jump(timedelta(days=3))
    (shown,) = reviewed(op)
    assert "1 waiting" in shown.splitlines()[0]
    assert above(shown) == ["3d proposal external profile/drink coffee ← tea"]


def test_only_what_is_in_scope_is_reviewed(desk: Desk) -> None:
    """R12: a handle for one user shows what waits for that user, and says for whom."""
    proposed(desk.agent(user="ana"), "tea"), proposed(desk.agent(user="ben"), "gin")
    (shown,) = reviewed(desk.operator(user="ana"))
    assert shown.startswith("review of sky for ana: 1 waiting")
    assert "gin" not in shown


def test_a_source_is_named(op: Operator) -> None:
    """V8: what was quarantined says so, and from which source it came."""
    op.remember(
        "the code is 4711", layer="semantic", metadata=CONTRACTS["semantic"], source="web:wiki"
    )
    op.revoke("web:wiki", "defaced")
    (found,) = op.proposals()
    assert origin(found) == "revoked web:wiki"
    (shown,) = reviewed(op, size=(100, 40))
    assert "it was active" in shown
    assert "because   defaced" in shown


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 20), (40, 12)])
def test_every_size_of_a_terminal_will_do(mem: Memory, op: Operator, size: tuple[int, int]) -> None:
    """H1: every screen is drawn, whatever the size."""
    op.confirm(proposed(mem, "tea with milk").id)
    proposed(mem, "tea without milk, and \u202ehoney\u202c " * 9)
    summarised(op)
    shown = reviewed(
        op, *"jkhq?q", "g", "o", "a", "c", "n", "r", "escape", "e", "escape", size=size
    )
    assert len(shown) == 16


def test_a_search_shows_what_has_the_words(mem: Memory, op: Operator) -> None:
    """V10: words in any case, of the text, the place or the source; Esc shows everything again."""
    proposed(mem, "Tea"), proposed(mem, "chess", "game"), proposed(mem, "bread", "food")
    shown = reviewed(op, "slash", *"TEA", "enter", "escape", "slash", *"zebra", "enter")
    assert "1 with “TEA”" in shown[5]
    assert len(above(shown[5])) == 1
    assert len(above(shown[6])) == 3
    assert "nothing matches" in shown[-1]


def test_the_queue_is_grouped_and_sorted(mem: Memory, op: Operator, desk: Desk) -> None:
    """V10: by person, key, source, and who asked; newest, oldest, least trusted first."""
    proposed(mem, "chess", "game")
    desk.clock.jump(timedelta(hours=1))
    proposed(mem, "go", "game", source="web")
    record = mem.remember("the code is 4711")
    mem.request_forget(record.id, "secret")
    shown = reviewed(op, "g", "g", "g", "g", "g", "o", "o", "o", size=(110, 30))
    assert "profile/game (2)" in " ".join(above(shown[2]))
    assert "forget.request (1)" in " ".join(above(shown[3]))
    by_asker = " ".join(above(shown[4]))
    assert "an agent proposed it (2)" in by_asker
    assert "an agent asks to forget (1)" in by_asker
    assert "newest first" in shown[6]
    assert "go" in above(shown[8])[0], "what is least trusted comes first"


# One proposal


def test_all_about_a_proposal_is_on_the_screen(mem: Memory, op: Operator) -> None:
    """V5, V10: now beside proposed, the evidence with the turns around it, who and why."""
    op.confirm(proposed(mem, "tea with milk").id)
    turns = mem.remember_conversation(
        [
            {"speaker": "Ben", "text": "What do you drink?"},
            {"speaker": "Ana", "text": "Tea without milk, please"},
            {"speaker": "Ben", "text": "Coming up"},
        ],
        session="s1",
    )
    mem.propose_profile("drink", "tea without milk", "she said so", [turns[1].id])
    (shown,) = reviewed(op, size=(100, 40))
    difference = next(one for one in shown.splitlines() if "tea with milk" in one and "│" in one)
    assert "tea without milk" in difference.split("│")[1]
    assert "Ben: What do you drink?" in shown
    assert "▸ Tea without milk, please" in shown
    assert "Ben: Coming up" in shown
    assert "agent:sky (python)" in shown
    assert "she said so" in shown


def test_evidence_that_is_not_there_says_so(mem: Memory, op: Operator) -> None:
    """P1: what is archived or elsewhere says so."""
    old = mem.remember("from long ago")
    mem.propose_profile("drink", "tea", "said so", [old.id, "https://example.com/a"])
    op._parts.lifecycle.archive([old.id], "prune", "old")
    (shown,) = reviewed(op, size=(110, 60))
    assert "archived" in shown
    assert "▸ from long ago" in shown
    assert "not in the store" in shown


def test_the_history_tells_who_and_why(mem: Memory, op: Operator) -> None:
    """P1: every event about the record, with actor, reason and what it changed."""
    made = proposed(mem, "tea")
    op.confirm(made.id, "heard it myself")
    op.undo(op.history(made.id)[-1].seq)
    shown = reviewed(op, "h")[-1]
    assert "confirm by operator:" in shown
    assert "because heard it myself" in shown
    assert "state: constrained → active" in shown


def test_confirming_goes_on_to_the_next(mem: Memory, op: Operator) -> None:
    """V1: one key, one event; the old value is superseded, and the next proposal is shown."""
    first = op.confirm(proposed(mem, "tea").id)
    second, _ = proposed(mem, "coffee"), proposed(mem, "chess", "game")
    before = size(op)
    shown = reviewed(op, "c")
    assert size(op) == (before[0], before[1] + 1)
    assert (op.get(second.id).state, op.get(first.id).superseded_by) == (State.ACTIVE, second.id)
    assert above(shown[-1]) == ["now proposal agent profile/game chess"]
    assert "confirmed: coffee" in shown[-1]


def test_a_proposal_is_edited_and_then_confirmed(mem: Memory, op: Operator) -> None:
    """V10: what the person wrote is active, on the same evidence; Esc changes nothing, and an
    empty text says what is wrong."""
    made = proposed(mem, "cofee")
    before = size(op)
    reviewed(op, "e", "escape")
    assert size(op) == before
    wrong = reviewed(op, "e", *["delete"] * 5, "ctrl+s")
    assert op.get(made.id).state is State.CONSTRAINED
    assert "confirmed" not in wrong[-1]
    shown = reviewed(op, "e", "end", "backspace", "backspace", *"fee", "ctrl+s")
    assert op.user_profile().preferences["drink"] == "coffee"
    right = op.get(op.get(made.id).superseded_by or "")
    assert right.evidence == made.evidence
    assert "confirmed" in shown[-1]
    assert verified(op)


def test_rejecting_takes_a_reason_of_a_list_or_a_typed_one_or_none(
    mem: Memory, op: Operator
) -> None:
    """V1, V10: the reason is kept; Esc changes nothing."""
    made = [proposed(mem, "x", key) for key in ("a", "b", "c")]
    before = size(op)
    reviewed(op, "r", "escape")
    assert size(op) == before
    reviewed(op, "r", "1", "r", "tab", *"no way", "enter", "r", "tab", "enter")
    reasons = [op.history(one.id)[-1].reason for one in made]
    assert reasons == ["not true", "no way", None]
    assert all(op.get(one.id).state is State.TOMBSTONED for one in made)


def test_requests_to_forget_are_accepted_or_refused(mem: Memory, op: Operator) -> None:
    """V10: `c` forgets the record, `r` keeps it; both can be undone."""
    first, second = mem.remember("the code is 4711"), mem.remember("the code is 4712")
    mem.request_forget(first.id, "secret"), mem.request_forget(second.id, "secret")
    shown = reviewed(op, "c", "r", "1")
    assert "it asks to forget the record below" in shown[0]
    assert "4711" in shown[0]
    assert (op.get(first.id).state, op.get(second.id).state) == (State.TOMBSTONED, State.ACTIVE)
    assert op.proposals() == []
    reviewed(op, "u")
    third = mem.remember("the code is 4713")
    mem.request_forget(third.id, "secret")
    reviewed(op, "c", "u")
    assert op.get(third.id).state is State.ACTIVE
    assert len(op.proposals()) == 1
    assert verified(op)


def test_undo_takes_back_the_last_decision_whatever_it_was(mem: Memory, op: Operator) -> None:
    """V4, V10: a confirmation, a rejection, an edit: one after the other, the last first."""
    first = op.confirm(proposed(mem, "tea").id)
    proposed(mem, "coffee"), proposed(mem, "chess", "game"), proposed(mem, "bred", "food")
    waiting = [one.record.id for one in op.proposals()]
    edit = ("e", "end", "backspace", *"ad", "ctrl+s")
    shown = reviewed(op, "c", "r", "1", *edit, "u", "u", "u", "u")
    assert "undone: bred" in shown[-4]
    assert "undone: chess" in shown[-3]
    assert "undone: coffee" in shown[-2]
    assert "nothing was decided in this session" in shown[-1]
    assert op.get(first.id).state is State.ACTIVE
    assert {one.record.id for one in op.proposals()} == set(waiting)
    assert verified(op)


def test_an_undo_that_is_too_late_is_told(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: when somebody has changed the record since, that is said and nothing happens."""
    made, other = proposed(mem, "tea"), desk.operator()
    shown = reviewed(op, "c", lambda: other.rollback(made.id, "no"), "u")
    assert "has changed since" in shown[-1]
    assert op.get(made.id).state is State.TOMBSTONED


def test_what_is_stale_can_only_be_rejected(mem: Memory, op: Operator) -> None:
    """V5: it says why, confirming does nothing, rejecting works."""
    one, other = proposed(mem, "tea"), proposed(mem, "coffee")
    op.confirm(one.id)
    before = size(op)
    shown = reviewed(op, "c")
    assert above(shown[0])[0].startswith("!")
    assert "it cannot be confirmed" in shown[0]
    assert size(op) == before
    reviewed(op, "r", "2")
    assert op.get(other.id).state is State.TOMBSTONED


def test_what_was_rejected_before_is_shown(mem: Memory, op: Operator) -> None:
    """V6: what was rejected in the same place, when, in which record and why; and what else waits
    for the place."""
    old = proposed(mem, "coffee")
    op.reject(old.id, "she is allergic")
    proposed(mem, "decaf from Brazil"), proposed(mem, "tea")
    (shown,) = reviewed(op, size=(119, 40))
    assert above(shown)[0].startswith("~")
    assert f"~ rejected on 1 May 2026 in {old.id}: coffee, because she is allergic" in shown
    assert "~ another waits for this place: tea (agent)" in shown


def test_nothing_is_confirmed_unread_by_accident(mem: Memory, op: Operator) -> None:
    """V5: while lines of it were never on the screen, confirming asks first; once they were, it
    does not."""
    made = proposed(mem, "\n".join(f"line {number}" for number in range(60)))
    shown = reviewed(op, "c", "n")
    assert "lines of it were not in sight yet" in shown[1]
    assert op.get(made.id).state is State.CONSTRAINED
    reviewed(op, *["ctrl+d"] * 8, "c")
    assert op.get(made.id).state is State.ACTIVE


def test_others_may_decide_meanwhile(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: a proposal that another process has decided says so, and the queue is read anew."""
    made, other = proposed(mem, "tea"), desk.operator()
    proposed(mem, "chess", "game")
    shown = reviewed(op, lambda: other.reject(made.id, "no"), "c")
    assert "is tombstoned" in shown[-1]
    assert len(above(shown[-1])) == 1


def test_a_key_too_many_decides_nothing(mem: Memory, op: Operator) -> None:
    """V5: what was typed before the next proposal was on the screen says nothing about it."""
    proposed(mem, "tea"), proposed(mem, "chess", "game"), proposed(mem, "bread", "food")

    async def hasty() -> None:
        app = ReviewApp(op, op._scope.clock)
        async with app.run_test() as pilot:
            await pilot.pause()
            for key in "ccc":
                app.simulate_key(key)
            await pilot.pause()

    asyncio.run(hasty())
    assert len(op.proposals()) == 2


# Many proposals


def test_marked_rows_are_decided_after_a_preview(mem: Memory, op: Operator) -> None:
    """V5: the preview says exactly what would become of each; `n` does nothing, `y` decides, and a
    summary tells."""
    old = op.confirm(proposed(mem, "tea").id)
    wanted = [proposed(mem, "coffee"), proposed(mem, "chess", "game")]
    left = proposed(mem, "bread", "food")
    before = size(op)
    shown = reviewed(op, "space", "space", "c", "n", size=(100, 40))
    assert "becomes active, and supersedes" in shown[3]
    assert f"{old.id} tea" in shown[3]
    assert "becomes active, and replaces nothing" in shown[3]
    assert size(op) == before
    shown = reviewed(op, "space", "space", "c", "y", "q", size=(100, 40))
    assert "confirmed  2" in shown[4]
    assert {op.get(one.id).state for one in wanted} == {State.ACTIVE}
    assert op.get(left.id).state is State.CONSTRAINED
    assert size(op)[1] == before[1] + 2


def test_a_failure_does_not_stop_the_others(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: what another process decided during the preview fails with the reason why; the
    others are decided."""
    first, second, third = (proposed(mem, "x", key) for key in ("a", "b", "c"))
    other = desk.operator()
    shown = reviewed(op, "a", "c", lambda: other.reject(second.id, "no"), "y", "q", size=(100, 40))
    assert "confirmed  2" in shown[4]
    assert "failed     1" in shown[4]
    states = [op.get(one.id).state for one in (first, second, third)]
    assert states == [State.ACTIVE, State.TOMBSTONED, State.ACTIVE]


def test_a_group_is_decided_at_once(mem: Memory, op: Operator) -> None:
    """V9, V10: on the line of a group, keys are for all of it; one reason and one undo, too."""
    proposed(mem, "tea"), proposed(mem, "coffee"), proposed(mem, "chess", "game")
    shown = reviewed(op, "g", "g", "r", "1", "y", "q", size=(100, 40))
    assert "rejected   2" in shown[5]
    assert [one.record.content for one in op.proposals()] == ["game: chess"]


def test_what_was_decided_together_is_undone_together(mem: Memory, op: Operator) -> None:
    """V4: after a question, in the opposite order; each is an event of its own."""
    for key in ("a", "b"):
        proposed(mem, "x", key)
    reviewed(op, "a", "c", "y", "q", "u", "n", "u", "y")
    assert len(op.proposals()) == 2
    assert verified(op)


def test_of_those_that_exclude_each_other_the_first_is_taken(mem: Memory, op: Operator) -> None:
    """V5: the preview leaves the others out and says so, as well as what is stale."""
    stale = proposed(mem, "chess", "game")
    op.confirm(proposed(mem, "go", "game").id)
    first, second = proposed(mem, "tea"), proposed(mem, "coffee")
    shown = reviewed(op, "a", "c", "y", size=(100, 40))
    assert "confirm 1, leave out 2" in shown[2]
    assert "is left out: one above takes its place" in shown[2]
    states = [op.get(one.id).state for one in (first, second, stale)]
    assert states == [State.ACTIVE, State.CONSTRAINED, State.CONSTRAINED]


def test_what_was_done_is_told_at_the_end(mem: Memory, op: Operator) -> None:
    """H1: how many were confirmed and rejected, and how many wait."""
    for key in ("a", "b", "c"):
        proposed(mem, "x", key)
    assert reviewed(op).app.summary() == "nothing was decided; 3 still wait"
    assert reviewed(op, "c", "r", "1").app.summary() == "confirmed 1, rejected 1; 1 still waits"


@pytest.mark.parametrize("seed", range(3))
def test_every_decision_of_a_long_sitting_can_be_undone(
    mem: Memory, op: Operator, seed: int
) -> None:
    """V4, V10: sixty proposals decided in any way; undone in reverse order, every record is in
    the state in which it was, and the chain verifies."""
    chance = random.Random(seed)
    for number in range(50):
        proposed(mem, f"value {number}", f"key {number % 30}")
    for number in range(10):
        mem.request_forget(mem.remember(f"note {number}").id, "secret")
    before = states(op)
    decisions, made = Decisions(op), 0
    for one in op.proposals():
        choice = chance.choice(("agree", "edit", "reject"))
        decision = agreeing(one)
        if choice == "reject":
            decision = Decision(Verb.REJECT, one, chance.choice((None, "no")))
        elif choice == "edit" and decision.verb is Verb.CONFIRM:
            decision = decision._replace(content=f"edited {one.record.seq}")
        (outcome,) = decisions.decide([decision])
        made += outcome.error is None
    assert made > 40
    assert states(op) != before
    while decisions.last:
        assert [one.error for one in decisions.undo()] == [None]
    assert {name: states(op)[name] for name in before} == before
    assert verified(op)


def states(op: Operator) -> dict[str, tuple[State, str | None]]:
    found = op.list(states=None, limit=10_000)
    return {one.id: (one.state, one.superseded_by) for one in found}


# Question by question


def test_questions_one_by_one(
    mem: Memory, op: Operator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """V10: without a full screen, each proposal is shown and asked about: all that the screen can
    do to one proposal, and undo."""
    for key, value in (("drink", "tea"), ("food", "bred"), ("game", "chess")):
        proposed(mem, value, key)
    answers = iter(["?", "c", "u", "c", "e", "bread", "r", "1"])
    monkeypatch.setattr(click, "prompt", lambda *_, **__: next(answers))
    assert plain.Questions(op, op._scope.clock).run() == (
        "confirmed 3, undone 1, rejected 1; 0 still waiting"
    )
    assert op.user_profile().preferences == {"drink": "tea", "food": "bread"}
    assert "Ana said tea" in capsys.readouterr().out


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
    """V1, H1: confirm, undo and leave; the decision is in the store and the terminal is as it
    was."""
    old = op.confirm(proposed(mem, "tea with milk").id)
    made = proposed(mem, "tea without milk")
    with shell(desk.home) as terminal:
        terminal.wait_for("1 waiting")
        terminal.wait_for("with milk")
        terminal.press("c")
        terminal.wait_for("nothing waits for review")
        assert (op.get(made.id).state, op.get(old.id).state) == (State.ACTIVE, State.SUPERSEDED)
        terminal.press("u")
        terminal.wait_for("undone: tea without milk")
        assert (op.get(made.id).state, op.get(old.id).state) == (State.CONSTRAINED, State.ACTIVE)
        terminal.press("q")
        terminal.wait_for("confirmed 1, undone 1; 1 still waits")
        assert terminal.end() == 0
        assert termios.tcgetattr(terminal.slave) == terminal.before
        assert "\x1b[?1049l" in terminal.shown


def test_ctrl_c_in_a_real_terminal(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: it leaves with the code of an interrupt, changes nothing, and the terminal is
    as it was."""
    proposed(mem, "tea")
    before = size(op)
    with shell(desk.home, 60, 20) as terminal:
        terminal.wait_for("1 waiting")
        terminal.press("\x03")
        terminal.wait_for("nothing was decided; 1 still waits")
        terminal.wait_for("interrupted")
        assert terminal.end() == 130
        assert termios.tcgetattr(terminal.slave) == terminal.before
    assert size(op) == before


def test_a_paste_in_a_real_terminal(mem: Memory, op: Operator, desk: Desk) -> None:
    """V5: pasted lines are no commands, also when they arrive in pieces."""
    proposed(mem, "tea")
    with shell(desk.home) as terminal:
        terminal.wait_for("1 waiting")
        terminal.press("\x1b[200~c\ny\n")
        terminal.press("cy\x1b[201~q")
        terminal.wait_for("nothing was decided; 1 still waits")
        assert terminal.end() == 0


def test_an_empty_queue_opens_no_screen(op: Operator, desk: Desk) -> None:
    """H1: when nothing waits, that is all it says."""
    op.remember("one")
    with shell(desk.home) as terminal:
        terminal.wait_for("nothing waits for review")
        assert terminal.end() == 0
        assert "\x1b[?1049h" not in terminal.shown
