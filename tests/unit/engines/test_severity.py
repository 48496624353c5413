"""What a text reports: grave events are critical whatever their kind, and harmless uses of the same
words are not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.importance import Line, found, labelled
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import importance, senses, severity
from lamina.engines.importance import Reason
from tests.cases import check_all, every

DOCUMENT = (Path(__file__).parents[3] / "docs" / "importance.md").read_text("utf-8")
CRITICAL, IMPORTANT = 0.9, 0.7
GRAVE = (
    ("security", "Security breach: unknown login on the server"),
    ("outage", "Main service crashed and could not be restarted"),
    ("loss", "All backups of October are lost"),
    ("harm", "My sister was in a serious car accident"),
)
RETURNING = ("the downloader fails every Monday", "third failure this week")
HARMLESS = (
    "Nothing crashed today",
    "The backup completed",
    "Lost my train of thought",
    "How do I secure a login form?",
    "Test of the failure alert passed",
)
FRAMED = ("Hackers broke into the server", *(text for _, text in GRAVE[1:]))
# Frames that make a report harmless: asked, imagined, told, or over.
FRAMES = (
    "{}?",
    "If {}",
    "Suppose {}",
    "A film in which {}",
    "In the novel {}",
    "{}. It is fixed now",
    "{}, false alarm",
    "User asked whether {}",
    "Translate: {}",
)
words = st.sampled_from(
    [*senses.EVENTS, *senses.SORTS, *senses.DENIALS, *senses.OVER, *senses.TOLD, ".", "?", ",", "!"]
)


@every("kind", importance.KINDS)
@every(("name", "text"), GRAVE)
def test_a_grave_report_is_critical_whatever_its_kind(name: str, text: str, kind: str) -> None:
    """L8: what was broken into, lost, down or hurt is at least 0.9, and the reason
    names the class."""
    scored = importance.explain(kind, text, (), {})
    assert scored.importance >= CRITICAL
    assert kind == "escalation" or scored.reasons[-1].name.startswith(f"{name}: ")


def test_a_failure_that_returns_is_a_pattern() -> None:
    """L8: an error pattern reaches 0.7, by the words that say what returns, and how often."""
    check_all(RETURNING, _is_a_pattern)
    report = severity.read("the downloader fails every monday")
    assert str(report) == "recurrence: fails … every monday"


def _is_a_pattern(text: str) -> None:
    assert IMPORTANT <= importance.score("crumb", text, (), {}) < CRITICAL


def test_the_explanation_names_what_was_read() -> None:
    """L8: the reason is the class with the words that show it, and the amounts still sum up."""
    scored = importance.explain("action", "All backups of October are lost", (), {})
    assert scored.reasons == (Reason("kind=action", 0.4), Reason("loss: all … backups … lost", 0.5))


@every("text", HARMLESS)
def test_the_same_words_used_harmlessly_stay_low(text: str) -> None:
    """L8: routine chatter about failures, losses and logins is not promoted."""
    assert importance.score("crumb", text, (), {}) < IMPORTANT


@every("frame", FRAMES)
@every("text", FRAMED)
def test_what_is_asked_imagined_told_or_over_is_no_report(text: str, frame: str) -> None:
    """L8: only what is said to be so, and still is, counts."""
    assert severity.read(text.lower()) is not None
    assert severity.read(frame.format(text).lower()) is None


@every(
    ("text", "expected"),
    [
        ("my uncle died", "harm"),
        ("the disks of the main server died", "outage"),
        ("my phone died", None),
        ("i deleted all files", None),
        ("somebody deleted all files", "loss"),
        ("we lost all our matches", None),
        ("the archive is gone and cannot be restored", "loss"),
        ("the archive was gone but is restored", None),
        ("the fire drill was long", None),
        ("die mutter ist da", None),
        ("i want to learn portuguese by next year", "goal"),
        ("i want to sleep", None),
        ("the visa expires on 3 march", "deadline"),
        ("he is allergic to nuts", "health"),
        ("she is getting married", "turning point"),
        ("we chose postgres for good", "decision"),
        ("after that there is no going back", "irreversible"),
    ],
)
def test_points_decide(text: str, expected: str | None) -> None:
    """L8: an event needs something that makes it serious, of a sort that its class counts."""
    report = severity.read(text)
    assert (report.name if report else None) == expected


@pytest.mark.parametrize("held_out", [False, True])
def test_the_labelled_lines_are_found(held_out: bool) -> None:
    """L8: of the labelled lines, 95 % of those that score high matter, and 80 % of those that
    matter score high, in the half that rules were tuned on and in the other one."""
    lines = [line for line in labelled("importance_lines.jsonl") if line.is_held_out is held_out]
    for level in (IMPORTANT, CRITICAL):
        result = found(lines, level, Line.score)
        assert result.precision >= 0.95
        assert result.recall >= 0.8


@given(st.lists(words, max_size=20).map(" ".join), st.sampled_from([*importance.KINDS]))
def test_any_words_are_read(text: str, kind: str) -> None:
    """L8: whatever is written, the score is the sum of its explanation, and no class lowers it."""
    scored = importance.explain(kind, text, (), {})
    assert importance.score(kind, text, (), {}) == scored.importance
    assert round(sum(reason.amount for reason in scored.reasons), 2) == scored.importance
    report = severity.read(text[: importance.LOOKED_AT].lower())
    if report is not None:
        assert scored.importance * 100 >= report.least
        assert report.words


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    """L8: no text raises, and a reason has only words of it that a terminal may show."""
    report: Any = severity.read(text.lower())
    assert report is None or str(report).replace(" … ", " ").isprintable()


def test_the_document_shows_the_classes() -> None:
    """L8: docs/importance.md has every class, with its least importance and an example of it."""
    rows = re.findall(r"^\| ([a-z ]+) \| (\.[79]0) \| (.+) \|$", DOCUMENT, re.M)
    assert {name for name, _, _ in rows} == senses.GRAVE | senses.NOTABLE | {"recurrence"}
    for name, least, example in rows:
        report = severity.read(example.lower())
        assert report is not None, example
        assert (report.name, report.least) == (name, round(float(least) * 100))


def test_regular_forms_are_known() -> None:
    """L8: the tables list a word once, and its forms are found."""
    assert {"crash", "crashes", "crashed", "crashing"} <= set(senses.inflected("crash"))
    assert {"deletes", "deleted", "deleting"} <= set(senses.inflected("delete"))
    assert {"injuries", "destroyed"} <= {*senses.inflected("injury"), *senses.inflected("destroy")}
    assert {"wiped", "jammed"} <= {*senses.inflected("wipe"), *senses.inflected("jam")}
    assert list(senses.inflected("heart attack")) == ["heart attack"]
