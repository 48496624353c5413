"""Importance by the guideline tables: the examples of the documents, and a sum
that explains itself."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.engines import importance, severity
from lamina.engines.importance import Reason
from lamina.model import rules
from lamina.model.record import score_of
from lamina.text.screening import Screen
from tests.cases import every

DOCUMENT = (Path(__file__).parents[3] / "docs" / "importance.md").read_text("utf-8")
THRESHOLD = 0.70
# The scoring guidelines of Sky's schema: the kind that a writer would choose, the example, the
# scores of its band.
BANDS = (
    ("action", "Read short-term memory", 0, 2),
    ("action", "Generated morning report", 3, 4),
    ("user_interaction", "User changed morning routine", 5, 6),
    ("insight", "Sleep quality improved by 15% over 7 days", 7, 8),
    ("escalation", "Tool failure detected, escalated to Aegis", 9, 10),
)
# Its two workflows, line by line.
WORKFLOWS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("Morning report workflow initiated", 2, {"type": "action", "workflow": "morning_briefing"}),
    ("Garmin sleep data retrieved: 7h 23m", 4, {"type": "data", "source": "garmin"}),
    ("Morning report generated successfully", 3, {"type": "action", "tool": "morning_reporter"}),
    ("TTS audio rendered", 2, {"type": "action", "tool": "tts_morning_cli"}),
    (
        "Garmin downloader failed: connection timeout",
        6,
        {"type": "error", "tool": "garmin_sleep_downloader"},
    ),
    ("Retry attempt 1 failed", 7, {"type": "error", "retry": 1}),
    ("Escalated Garmin failure to Aegis", 9, {"type": "escalation", "escalated_to": "Aegis"}),
)
# The lists of the promotion document, each with a memory of that sort.
LISTS: tuple[tuple[str, str, str, list[str]], ...] = (
    ("low", "crumb", "Status update: all services are up", []),
    ("low", "user_interaction", "User said hello", ["greeting"]),
    ("low", "crumb", "DEBUG cache miss for key 17", []),
    ("low", "crumb", "cache miss for key 17", ["debug"]),
    ("medium", "crumb", "User prefers tea", []),
    ("medium", "preference", "Tea, no sugar", []),
    ("medium", "result", "Weekly backup finished", ["backup"]),
    ("high", "decision", "Critical: we stay with SQLite", []),
    ("high", "crumb", "Run a marathon in October", ["user_goal"]),
    ("high", "crumb", "The goal is a marathon in October", []),
    ("high", "crumb", "System configuration: quiet hours from 22:00 to 07:00", []),
    ("high", "error", "A pattern: Garmin times out on Mondays", []),
    ("high", "insight", "Late coffee costs an hour of sleep", []),
)
RANGES = {"low": (0.0, 0.5), "medium": (0.5, 0.7), "high": (0.7, 1.0)}
ABSURD: tuple[dict[str, Any], ...] = (
    {"status": ["failure"]},
    {"status": {"failure": True}},
    {"status": None},
    {"status": ""},
    {"retry": "1"},
    {"retry": True},
    {"retry": math.nan},
    {"retry": -1},
    {"retry": 0},
    {"retry": [1]},
    {"escalated_to": ""},
    {"escalated_to": ["Aegis"]},
    {"escalated_to": 7},
    {"": "failure", "Status": "failure"},
)

contents = st.one_of(
    st.text(max_size=400),
    st.lists(
        st.sampled_from([*importance.OF_WORDS, *importance.NEGATIONS, "tea", "by", "to"]),
        max_size=12,
    ).map(" ".join),
)
tag_lists = st.lists(
    st.one_of(st.sampled_from(sorted(importance.OF_TAG)), st.text(max_size=8)), max_size=6
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
)
metadata = st.dictionaries(
    st.sampled_from(["status", "retry", "escalated_to", "tool"]),
    values | st.just("failure"),
    max_size=4,
)
kinds = st.sampled_from([*rules.KINDS, "recipe"])


def amounts(*memory: Any) -> dict[str, float]:
    return dict(importance.explain(*memory).reasons)


@every("as_crumb", [False, True])
@every(("kind", "content", "low", "high"), BANDS)
def test_the_examples_of_the_scoring_guidelines_land_in_their_band(
    kind: str, content: str, low: int, high: int, as_crumb: bool
) -> None:
    """L8: each example of Sky's table has a score of its band, with the kind that it is of and even
    without any."""
    assert low <= score_of(importance.score("crumb" if as_crumb else kind, content, (), {})) <= high


@pytest.mark.parametrize(("content", "expected", "given"), WORKFLOWS)
def test_the_workflows_of_the_schema_are_scored_as_their_authors_did(
    content: str, expected: int, given: dict[str, Any]
) -> None:
    """L8: every line of both workflows, with its metadata, is within one point of the score that
    the document gives."""
    assert abs(score_of(importance.score(given["type"], content, (), given)) - expected) <= 1


@every(("name", "kind", "content", "tags"), LISTS)
def test_the_lists_of_the_promotion_document_hold(
    name: str, kind: str, content: str, tags: list[str]
) -> None:
    """L8: what the document calls low, medium and high is."""
    low, high = RANGES[name]
    assert low <= importance.score(kind, content, tags, {}) <= high


def test_the_usage_examples_of_the_promotion_document() -> None:
    """L8: a greeting is worth the 0.3 of the document, a wish about reports is above the threshold
    of promotion."""
    assert importance.score("crumb", "User said hello", ["greeting"], {}) == 0.3
    tags = ["garmin", "preference", "schedule"]
    assert (
        importance.score("crumb", "User wants daily Garmin reports at 7am with TTS", tags, {})
        == 0.8
    )


def test_the_three_entries_of_the_promotion_flow_fall_on_their_side() -> None:
    """L8, L2: "trivial note" stays, "important insight" and "critical decision" go up, also when
    nobody scored them."""
    scored = [
        importance.score("crumb", text, (), {})
        for text in ("trivial note", "important insight", "critical decision")
    ]
    assert [score >= THRESHOLD for score in scored] == [False, True, True]


@every(
    "content",
    [
        *(
            "x",
            "The kettle is blue",
            "今朝は紅茶を飲んだ",
            "Кот спит на диване",
            "Der Zug fährt um neun",
            "🍵",
            "critically readable",
        ),
        *("القطة نائمة", "\ud800", "word " * 100_000),
    ],
)
def test_a_text_that_gives_no_sign_has_the_base_of_its_kind(content: str) -> None:
    """R5, L8: a plain crumb is worth 0.5 in every language, and no kind depends on English."""
    assert importance.score("crumb", content, (), {}) == 0.5
    assert importance.score("insight", content, [], {}) == 0.75


def test_every_kind_has_a_base() -> None:
    """R5, L8: all kinds of the documents are in the table; one that the settings added counts like
    a crumb."""
    assert set(importance.KINDS) == set(rules.KINDS)
    assert importance.score("recipe", "Bread of my aunt", (), {}) == importance.score(
        "crumb", "Bread of my aunt", (), {}
    )


def test_a_cue_counts_once() -> None:
    """L8: shouting does not help: tags, words and repetitions of one cue are one reason."""
    once = amounts("crumb", "urgent", (), {})
    assert once == {"kind=crumb": 0.5, "critical": 0.25}
    assert (
        amounts("crumb", "URGENT urgent! Critical: emergency", ["critical", "urgent"], {}) == once
    )


def test_a_kind_is_not_paid_twice() -> None:
    """L8: what the kind says already adds nothing; what it does not say does."""
    assert amounts("decision", "We decided to stay", ["decision"], {}) == {"kind=decision": 0.65}
    assert amounts("error", "It failed", ["error"], {"status": "failure"}) == {"kind=error": 0.6}
    assert amounts("error", "It failed", (), {"retry": 2}) == {"kind=error": 0.6, "retry": 0.1}


def test_metadata_speaks_louder_than_words() -> None:
    """L8: a status of failure counts 0.2, the mere word 0.1, both together 0.2; whom it was
    escalated to counts most."""
    assert amounts("action", "Upload failed", (), {}) == {"kind=action": 0.4, "failure": 0.1}
    assert amounts("action", "Upload failed", (), {"status": "Failure"}) == {
        "kind=action": 0.4,
        "failure": 0.2,
    }
    assert (
        importance.score("action", "Upload", (), {"status": "failed", "escalated_to": "Aegis"})
        == 1.0
    )


@every("given", ABSURD)
def test_metadata_of_another_form_says_nothing(given: dict[str, Any]) -> None:
    """L8, R6: metadata may be anything; only what has the form of the schema counts,
    and nothing raises."""
    assert amounts("crumb", "The kettle is blue", (), given) == {"kind=crumb": 0.5}


def test_words_are_read_in_their_place() -> None:
    """L8: a denied word, a greeting on the way and a verb in the middle are no cues; case and
    punctuation do not matter."""
    assert importance.score("crumb", "This is not critical", (), {}) == 0.5
    assert importance.score("crumb", "Never mind", (), {}) == 0.3
    assert importance.score("crumb", "Hi Ana, the train to Graz leaves at nine", (), {}) == 0.5
    assert importance.score("crumb", "Ana likes to read in bed", (), {}) == 0.5
    assert importance.score("crumb", "CRITICAL: disk full", (), {}) == 0.75
    assert importance.score("crumb", "One user-goal", ["user-goal"], {}) == importance.score(
        "crumb", "One", ["user goal"], {}
    )


def test_only_the_beginning_is_looked_at() -> None:
    """L8: what stands far behind in a long text is no cue, so that a book costs no more
    than a line."""
    assert importance.score("crumb", f"{'tea ' * 50}critical", (), {}) == 0.75
    assert importance.score("crumb", f"{'tea ' * 100}critical", (), {}) == 0.5


TOLD = sorted({form for cue in importance.CUES for form in cue.listed_words()} | severity.WORDS)
TEXTS = st.lists(st.sampled_from([*TOLD[::7], "tea", "at", "Ana", "x"]), max_size=6)


@given(st.lists(TEXTS.map(" ".join), min_size=1), st.sampled_from(["{}", "{}.", "x{}", "{}!"]))
@example(["tea " * 59 + "hist"], "{}ory")
def test_one_look_at_many_texts_passes_nothing_over(texts: list[str], form: str) -> None:
    """L8: what one look at many texts does not mark is scored as by a closer look."""
    written = [form.format(text.title()) for text in texts]
    marks = importance.telling(Screen(written)).tolist()
    for text, may_tell in zip(written, marks, strict=True):
        score = importance.score("crumb", text, (), {}, may_tell=may_tell)
        assert score == importance.score("crumb", text, (), {})


def test_what_is_cut_off_is_a_reason() -> None:
    """L8: above 1 and below 0 there is nothing, and the explanation says what was cut."""
    high = importance.explain("escalation", "critical", ["goal"], {})
    assert (high.importance, high.reasons[-1]) == (1.0, Reason("limit", -0.35))
    low = importance.explain("action", "Read trace", ["greeting", "trivial"], {})
    assert (low.importance, low.reasons[-1]) == (0.0, Reason("limit", 0.5))


@given(kinds, contents, tag_lists, metadata)
@example("crumb", "", [], {})
@example("crumb", "never", ["", "critical"], {"retry": math.inf})
def test_score_and_explanation_agree(
    kind: str, content: str, tags: list[str], given: dict[str, Any]
) -> None:
    """L8: for any memory the score is between 0 and 1 with two decimals, and exactly the sum
    of its explanation."""
    scored = importance.explain(kind, content, tags, given)
    assert (
        importance.score(kind, content, tags, given)
        == scored.importance
        == round(scored.importance, 2)
    )
    assert 0 <= scored.importance <= 1
    assert round(sum(reason.amount for reason in scored.reasons), 2) == scored.importance
    assert len({reason.name for reason in scored.reasons}) == len(scored.reasons)
    assert importance.score(kind, content, list(reversed(tags)), given) == scored.importance


def test_the_document_shows_the_tables() -> None:
    """L8: docs/importance.md has every kind, cue, amount, tag and word that the program has,
    and no others."""
    cells = re.findall(r"\| `(\w+)` \| (\.\d\d) (?=\|)", DOCUMENT)
    assert {name: round(float(amount) * 100) for name, amount in cells} == dict(importance.KINDS)
    rows = re.findall(r"^\| `(\w+)` \| ([+−]\.\d\d) \| (.*?) ?\| (.+) \|$", DOCUMENT, re.M)
    cues = [
        (name, round(float(amount.replace("−", "-")) * 100), tags, words)
        for name, amount, tags, words in rows
    ]
    assert cues == [tuple(cue) for cue in importance.CUES]


@pytest.mark.parametrize("mark", ["", ".", ",", ":", ";", "!", "?"])
def test_a_mark_behind_a_word_does_not_hide_it(mark: str) -> None:
    """L8: a cue counts with whatever ends the word."""
    assert importance.score("crumb", f"urgent{mark} call back", (), {}) == 0.75


@every(
    "word",
    ["not", "no", "nothing", "without", "never", "don't", "doesn't", "didn't", "isn't", "wasn't"],
)
def test_a_denied_word_counts_for_nothing(word: str) -> None:
    """L8: behind each word that denies."""
    denied = importance.explain("crumb", f"it {word} urgent", (), {})
    assert "critical" not in {reason.name for reason in denied.reasons}


@pytest.mark.parametrize(
    ("kind", "words", "base"),
    [
        ("decision", "decided", 0.65),
        ("error", "failed", 0.6),
        ("escalation", "escalated failed", 0.9),
        ("insight", "pattern", 0.75),
        ("preference", "prefers", 0.6),
        ("project", "goal", 0.6),
    ],
)
def test_the_words_of_a_kind_are_not_paid_twice(kind: str, words: str, base: float) -> None:
    """L8: what the kind says already adds nothing."""
    assert importance.score(kind, words, (), {}) == base


def test_metadata_is_read_as_the_tables_say() -> None:
    """L8: one retry counts, half of one does not; somebody to escalate to is an escalation."""
    assert importance.score("crumb", "x", (), {"retry": 1}) == 0.6
    assert importance.score("crumb", "x", (), {"retry": 0.5}) == 0.5
    assert dict(importance.explain("crumb", "x", (), {"escalated_to": "Ana"}).reasons) == {
        "kind=crumb": 0.5,
        "escalation": 0.4,
    }


def test_exactly_nothing_is_no_limit() -> None:
    """L8: a sum of 0 or 1 was not cut off."""
    kept = importance.explain("action", "", ("trivial", "greeting"), {})
    assert (kept.importance, [reason.name for reason in kept.reasons]) == (
        0.0,
        ["kind=action", "trivial", "greeting"],
    )
