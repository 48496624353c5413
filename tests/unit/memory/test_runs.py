"""Working memory: it lives in a run and ends with it."""

from __future__ import annotations

import pytest

from lamina import Memory, Operator
from lamina.errors import InvalidInput, LaminaError, Refused
from lamina.model.record import Layer, Record, State, Trust
from tests.conftest import Desk, contents, move, size, verified


def ended(record: Record | None) -> Record:
    assert record is not None
    return record


def test_notes_are_found_only_in_their_run(mem: Memory) -> None:
    """L10, Q4: a note is found by its run, along with everything else, and by no other
    search or list."""
    mem.remember("tea in the kitchen")
    run, other = mem.run("make tea"), mem.run("make coffee")
    run.note("tea is in the tin")
    assert set(contents(run.search("tea"))) == {
        "tea in the kitchen",
        "tea is in the tin",
        "make tea",
    }
    assert contents(other.search("tea")) == contents(mem.search("tea")) == ["tea in the kitchen"]
    assert contents(mem.list()) == ["tea in the kitchen"]


def test_working_memory_is_seen_when_it_is_named(mem: Memory) -> None:
    """L10: who asks for the layer by name can look at it."""
    run = mem.run("task")
    run.note("scratch")
    assert set(contents(mem.list(layers=["working"]))) == {"task", "scratch"}


def test_a_note_is_a_record_of_its_run(mem: Memory) -> None:
    """L10, R1: a note has the layer working, the run's id, and what other memories have."""
    run = mem.run("task")
    note = run.note("scratch", tags=["A"], importance=0.9, source="web:x")
    assert (note.layer, note.run_id, note.tags, note.trust) == (
        Layer.WORKING,
        run.id,
        ("a",),
        Trust.EXTERNAL,
    )
    assert mem.get(note.id) == note
    assert run.note_count == 1


def test_closing_sets_the_notes_aside(op: Operator) -> None:
    """L10: at the end the notes are tombstoned, one episodic record with them as evidence is left,
    and each resolves."""
    run = op.run("task")
    notes = [run.note("one"), run.note("two")]
    record = ended(run.close())
    assert (record.layer, record.kind, record.content) == (
        Layer.EPISODIC,
        "result",
        "Run ended: task",
    )
    assert record.metadata == {"run": "task", "status": "success", "notes": 3}
    assert [op.get(item).content for item in record.evidence] == ["task", "one", "two"]
    assert {op.get(item).state for item in record.evidence} == {State.TOMBSTONED}
    assert notes[0].id in record.evidence
    assert contents(op.search("one two task")) == ["Run ended: task"]
    assert op.runs() == []
    assert verified(op)


def test_closing_is_one_event(op: Operator) -> None:
    """L10, P4: the ending and the notes change in one transaction."""
    run = op.run("task")
    run.note("one")
    run.close("all is well")
    (close, *_) = op.audit_log()
    assert close.action == "run.close"
    assert len(close.changes) == 3
    assert [event.action for event in op.audit_log()] == ["run.close", "run.note", "run.open"]


def test_a_summary_is_the_ending(mem: Memory) -> None:
    """L10: closed with a summary, the episode says the summary."""
    record = ended(mem.run("task").close("Tea was made"))
    assert (record.content, record.kind, record.metadata["status"]) == (
        "Tea was made",
        "result",
        "success",
    )


@pytest.mark.parametrize(
    "failure", [ValueError("no tea"), "ValueError: no tea"], ids=["error", "text"]
)
def test_a_failure_is_kept(mem: Memory, failure: BaseException | str) -> None:
    """L10: a failed run leaves an error that says why."""
    record = ended(mem.run("task").close(failure=failure))
    assert record.content == "Run failed: task: ValueError: no tea"
    assert (record.kind, record.metadata["status"]) == ("error", "failure")


@pytest.mark.parametrize("failure", ["", "\0", "  "], ids=["empty", "nul", "blank"])
def test_a_failure_without_words_is_a_failure(mem: Memory, failure: str) -> None:
    """L10: an ending never says `failed` in its text and `success` in its status."""
    run = mem.run("task")
    try:
        record = ended(run.close(failure=failure))
    except InvalidInput:
        assert len(mem.runs()) == 1
        return
    assert (record.kind, record.metadata["status"]) == ("error", "failure")


def test_an_exception_ends_the_run_and_goes_on(mem: Memory) -> None:
    """L10: `with` closes the run as a failure, and the caller's exception is not
    swallowed or replaced."""
    with pytest.raises(KeyError, match="kettle"), mem.run("task"):
        raise KeyError("kettle")
    (record,) = mem.list()
    assert record.content == "Run failed: task: KeyError: 'kettle'"
    assert mem.runs() == []


@pytest.mark.parametrize(
    "words", ["", "a\0b", "\ud800", "\u200b"], ids=["none", "nul", "half pair", "invisible"]
)
def test_whatever_an_exception_says(mem: Memory, words: str) -> None:
    """L10: no text of an exception keeps a run from ending."""
    with pytest.raises(ValueError), mem.run("task"):
        raise ValueError(words)
    assert ended(mem.list()[0]).content.startswith("Run failed: task: ValueError")
    assert mem.runs() == []


class MuteError(Exception):
    """An exception that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_that_cannot_speak_ends_the_run(mem: Memory) -> None:
    """L10: an exception whose own text fails is still the one that the caller sees, and
    the run ends."""
    with pytest.raises(MuteError), mem.run("task"):
        raise MuteError
    assert mem.runs() == []


def test_a_long_exception_ends_the_run(mem: Memory) -> None:
    """L10: an exception longer than a memory may be is cut; it neither hides the error nor leaves
    the run open."""
    with pytest.raises(ValueError, match="xxx"), mem.run("task"):
        raise ValueError("x" * 2**20)
    assert mem.runs() == []


def test_a_run_that_ends_by_itself(mem: Memory) -> None:
    """L10: `with` closes a run that was not closed, and leaves one alone that was."""
    with mem.run("one"):
        pass
    with mem.run("two") as run:
        run.close("done")
    assert contents(mem.list()) == ["done", "Run ended: one"]


def test_a_crashed_run_is_closed_later(desk: Desk) -> None:
    """L10: what a dead process left open is found by a new handle and closed there; its
    notes were kept."""
    with desk.agent() as dead:
        lost = dead.run("task")
        lost.note("one")
    mem = desk.agent()
    (run,) = mem.runs()
    assert (run.id, run.task, run.note_count, run.started_at) == (
        lost.id,
        "task",
        1,
        lost.started_at,
    )
    assert contents(run.search("one")) == ["one"]
    run.note("two")
    assert contents(mem.get(item) for item in ended(run.close("finished")).evidence) == [
        "task",
        "one",
        "two",
    ]
    assert desk.agent().runs() == []


def test_several_open_runs_are_told_apart(desk: Desk, mem: Memory) -> None:
    """L10: runs are listed in the order in which they began, each with its own notes."""
    first, second = mem.run("first"), mem.run("second")
    second.note("kettle of second")
    first.note("kettle of first")
    found = desk.agent().runs()
    assert [(run.task, run.note_count) for run in found] == [("first", 1), ("second", 1)]
    found[0].close()
    assert contents(second.search("kettle")) == ["kettle of second"]


def test_without_episodes_a_run_leaves_nothing_but_its_summary(desk: Desk) -> None:
    """L10: the setting runs.episodes = false leaves no record, except where somebody
    wrote a summary."""
    mem = desk.agent(settings={"runs.episodes": False})
    assert mem.run("one").close() is None
    with pytest.raises(KeyError), mem.run("two"):
        raise KeyError
    assert mem.list() == []
    assert mem.runs() == []
    assert ended(mem.run("three").close("kept")).content == "kept"


def test_closing_twice_is_refused(desk: Desk, mem: Memory) -> None:
    """L10: a run ends once, also when another handle ended it."""
    run = mem.run("task")
    (twin,) = desk.agent().runs()
    run.close()
    before = size(mem)
    for again in (run, twin):
        with pytest.raises(Refused, match="closed"):
            again.close()
    assert size(mem) == before


def test_no_note_after_the_end(mem: Memory) -> None:
    """L10: a closed run takes no notes."""
    run = mem.run("task")
    run.close()
    before = size(mem)
    with pytest.raises(Refused, match="is closed"):
        run.note("late")
    assert size(mem) == before


def test_no_note_after_another_handle_ended_it(desk: Desk, mem: Memory) -> None:
    """L10: a run that another process closed takes no notes either; it does not come back as a run
    nobody can close."""
    run = mem.run("task")
    for twin in desk.agent().runs():
        twin.close()
    with pytest.raises(Refused):
        run.note("late")
    assert mem.runs() == []


def test_a_run_whose_first_note_went_can_be_closed(op: Operator) -> None:
    """L10: whatever runs() lists can be closed under the name that it has there."""
    run = op.run("task")
    run.note("one")
    move(op, run.id, state=State.TOMBSTONED)
    for found in op.runs():
        found.close()
    assert op.runs() == []


@pytest.mark.parametrize("length", [300_000, 2**20], ids=["300 kB", "1 MiB"])
def test_a_task_that_could_be_opened_can_be_closed(mem: Memory, length: int) -> None:
    """L10: a task as long as any memory ends like any other."""
    run = mem.run("x" * length)
    run.close()
    assert mem.runs() == []


def test_a_short_limit_keeps_no_run_open(desk: Desk) -> None:
    """L10, R8: where memories must be short, a run that could be opened can still be closed."""
    mem = desk.agent(settings={"content.max_bytes": 20})
    mem.run("x" * 20).close()
    assert mem.runs() == []


TASKS = {
    "Japanese": "東京\u3000会議",
    "no-break": "10\u00a0km",
    "Persian": "می\u200cخواهم",
    "Hindi": "क्\u200dष",
    "emoji": "👩‍👧 ❤️",
}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_an_ending_says_the_task_as_it_was_given(mem: Memory, task: str) -> None:
    """L10, Q8: what is stored about a run is text, not what a terminal would show of it."""
    record = ended(mem.run(task).close())
    assert record.content == f"Run ended: {task}"
    assert record.metadata["run"] == task


def test_bad_tasks_notes_and_summaries_store_nothing(mem: Memory) -> None:
    """L10, R8: what is no memory is no task, note or summary; the run stays open and can
    still be closed."""
    with pytest.raises(InvalidInput):
        mem.run("")
    run = mem.run("task")
    before = size(mem)
    for bad in ("", "\0", "\u200b", 5):
        with pytest.raises(InvalidInput):
            run.note(bad)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            run.close(bad)  # type: ignore[arg-type]
    assert size(mem) == before
    assert ended(run.close("done")).content == "done"


@pytest.mark.parametrize("layer", ["short_term", "episodic"])
def test_a_note_is_a_note(mem: Memory, layer: str) -> None:
    """L10: a note is working memory; asking for another layer does not make it outlive
    its run unseen."""
    run = mem.run("task")
    try:
        note = run.note("x", layer=layer)
    except (LaminaError, TypeError):
        return
    assert note.layer is Layer.WORKING


def test_notes_are_counted_once(mem: Memory) -> None:
    """L1, L10: a note that is repeated with its key is one note."""
    run = mem.run("task")
    assert run.note("x", key="k") == run.note("x", key="k")
    assert run.note_count == 1


def test_a_key_from_another_run_swallows_no_note(mem: Memory) -> None:
    """L1, L10: a key that was used in a run that is over is refused in the next, or the note is
    kept; it is never lost."""
    first = mem.run("one")
    first.note("x", key="k")
    first.close()
    second = mem.run("two")
    try:
        note = second.note("x", key="k")
    except LaminaError:
        return
    assert (note.state, note.run_id, second.note_count) == (State.ACTIVE, second.id, 1)


def test_trust_of_an_ending_is_the_lowest_of_its_notes(op: Operator) -> None:
    """V8: what came from the web in a run makes its ending external."""
    run = op.run("task")
    run.note("from a page", source="web:https://example.org")
    assert ended(run.close("summary")).trust is Trust.EXTERNAL
    assert ended(op.run("other").close()).trust is Trust.OPERATOR


def test_more_notes_than_one_event_holds(op: Operator) -> None:
    """L10, P4: a long run is closed as a whole."""
    run = op.run("task")
    for number in range(505):
        run.note(f"note {number}")
    record = ended(run.close())
    assert len(record.evidence) == 506
    assert op.runs() == []
    assert verified(op)


def test_a_run_reads_well(mem: Memory) -> None:
    """I: a run shows its id and task."""
    run = mem.run("task")
    assert repr(run) == f"<Run {run.id} 'task'>"
