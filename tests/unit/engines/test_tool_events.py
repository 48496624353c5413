"""What the use of a tool means: failures, what fixed them, commits, tests, new files."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import tool_events
from lamina.engines.tool_events import Note, ToolUse
from lamina.model.record import Draft, Record, Trust
from lamina.store.tables.records import new_record
from tests.cases import check_all, every
from tests.conftest import START

PYTEST = "FAILED tests/test_rows.py::test_last - AssertionError: assert 2 == 3\n1 failed in 0.1s"


def record(note: Note, number: int) -> Record:
    """A stored note."""
    draft = Draft(
        note.content,
        Trust.EXTERNAL if note.external else Trust.AGENT,
        kind=note.kind,
        metadata=note.metadata,
    )
    return new_record(draft, f"{number}", number, "sky", START)


def after(*uses: dict[str, Any]) -> list[Note]:
    """All notes of a session."""
    told: list[Note] = []
    for use in uses:
        earlier = [record(note, number) for number, note in enumerate(told)]
        told += tool_events.notes(ToolUse(**use), earlier)
    return told


def ran(command: str, output: str = "", failed: bool | None = False) -> dict[str, Any]:
    return {"command": command, "output": output, "failed": failed}


def edited(path: str, before: str, after: str) -> dict[str, Any]:
    return {"path": path, "before": before, "after": after}


def events(notes: list[Note]) -> list[str]:
    return [note.event for note in notes]


def test_what_failed_and_then_passed_names_cause_and_fix() -> None:
    """C7, H4: the note has the first error, and of each file what was there first and at last."""
    told = after(
        ran("pytest tests/test_rows.py", PYTEST, failed=True),
        edited("rows.py", "a = 1\nn - 1", "a = 1\nn + 1"),
        ran("pytest tests/test_rows.py | tail", PYTEST.replace("2 == 3", "4 == 3")),
        edited("rows.py", "n + 1", "n"),
        ran("pytest -q", "14 passed in 0.1s"),
    )
    assert events(told) == ["failed", "changed", "failed", "changed", "fixed", "tested"]
    assert told[4].content == (
        "`pytest -q` passes again. It had failed: FAILED tests/test_rows.py::test_last -"
        " AssertionError: assert 2 == 3 - Changed in between: rows.py: `n - 1` became `n`"
    )
    assert [note.external for note in told] == [True, False, True, False, True, True]


def test_edits_matter_while_something_fails() -> None:
    """H4: an edit is kept between a failure and its end, a new file always, what is read never."""
    edit = edited("a.py", "x", "y")
    broken, fixed = ran("make", "a.py:1:2: error", failed=True), ran("make")
    assert after(edit, {"path": "a.py"}, {"path": "a.py", "before": "x", "failed": True}) == []
    assert events(after(broken, {"path": "a.py"}, edit, fixed, edit)) == [
        *("failed", "changed", "fixed"),
    ]
    assert [note.content for note in after({"path": "b.py", "is_new": True, "after": "x"})] == [
        "created b.py"
    ]


@every(
    ("failed", "passed", "covered"),
    [
        ("pytest tests/a.py::test_x", "pytest", True),
        ("pytest tests/a.py::test_x", "cd app && pytest -q tests/a.py 2>&1 | tail", True),
        ("pytest tests/a.py", "pytest tests/b.py", False),
        ("make test", "make lint", False),
        ("make test", "make lint && make test", True),
        ("npm run build", "npm run test", False),
        (".venv/bin/pytest -x", "CI=1 pytest", True),
        ("git add . && git push", "git add .", False),
        ("cargo test rows", "cargo test", True),
        ("", "make", False),
    ],
)
def test_what_covers_a_failed_command(failed: str, passed: str, covered: bool) -> None:
    """H4: the same command with more or fewer arguments answers for one that failed; another of
    the same program does not."""
    assert tool_events.is_covered(failed, passed) is covered


def test_errors_are_named_by_their_most_telling_lines() -> None:
    """H4: of an output the lines that name the error are kept, and no more than those."""
    cases = {
        "Exit code 1\nE   assert 1 == 2\nE   where 1": "assert 1 == 2; where 1",
        "Traceback:\n  File x\nValueError: no rows\n": "ValueError: no rows",
        "src/a.rs:3:9: mismatched types\nerror: aborting": "src/a.rs:3:9: mismatched types",
        "make: *** [all] Error 2": "make: *** [all] Error 2",
        "something is odd\nlast words": "last words",
        "--- FAIL: TestRows (0.00s)\n    rows_test.go:8: got 2": "--- FAIL: TestRows (0.00s)",
    }

    def check(output: str, error: str) -> None:
        (note,) = after(ran("go test", output, failed=True))
        assert note.about["error"] == error

    check_all(cases.items(), check)
    assert after(ran("grep x y", "Exit code 1", failed=True), ran("ls", "", failed=True)) == []
    (note,) = after(ran("x", "E " + "long " * 1000, failed=True))
    assert len(note.content) < 250


def test_a_pipe_hides_how_a_command_ended() -> None:
    """H4: behind a pipe, and where an agent does not say, what was written decides; else how the
    command ended does, whatever it wrote."""
    assert events(after(ran("pytest | tail -3", "3 failed, 2 passed"))) == ["failed"]
    assert events(after(ran("cat log", "3 failed, 2 passed"))) == ["tested"]
    assert events(after(ran("pytest", "ValueError: x", failed=None))) == ["failed"]
    assert events(after(ran("cat log | tail", "ValueError: x"))) == []
    assert events(after(ran("npm test", "Tests: 5 passed, 5 total", failed=None))) == ["tested"]


def test_commits_are_noted() -> None:
    """H4: hash and message, from what git says, or from the command where git says nothing."""
    cases = {
        ("git commit -m x", "[main 3fa94c1] Read the last row\n 1 file"): "committed 3fa94c1: Read"
        " the last row",
        ("git add . && git commit -qm 'Fix it' -q -m 'Fix it'", ""): "committed: Fix it",
        ("git commit -F -", "[main (root-commit) 0123456] Begin"): "committed 0123456: Begin",
    }

    def check(ask: tuple[str, str], content: str) -> None:
        assert [note.content for note in after(ran(*ask))] == [content]

    check_all(cases.items(), check)
    silent = [
        ran("git commit --dry-run -q -m x", ""),
        ran("git log", "[main 3fa94c1] no"),
        ran("git commit -q -m 'x", ""),
        ran("git commit", "nothing to commit", failed=False),
    ]
    assert after(*silent) == []


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "command": st.none()
                | st.sampled_from(["make", "pytest", "git commit"])
                | st.text(),
                "path": st.none() | st.text(),
                "before": st.text(),
                "after": st.text(),
                "output": st.text() | st.sampled_from([PYTEST, "1 passed", "E x"]),
                "failed": st.none() | st.booleans(),
                "is_new": st.booleans(),
            },
        ),
        max_size=6,
    )
)
def test_any_use_is_noted_in_bounds(uses: list[dict[str, Any]]) -> None:
    """H4: whatever tools say, notes are short, have one line, and quote outputs as external."""
    for note in after(*uses):
        assert 0 < len(note.content) < 1500
        assert len(note.content.splitlines()) == 1
        assert note.external or note.event in ("changed", "created")
