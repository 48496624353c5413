"""The rules of retention: the document's file, its presets, and what is said about absurd ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.home.retention import FILE_NAME, PRESETS, Retention, RetentionFile
from tests.cases import every

# The file of the promotion document, as it stands there.
DOCUMENT = """\
# Minimum importance to promote to long-term + RAG
promote_threshold: 0.70

# Maximum short-term entries before rotation
short_term_max_lines: 5000
"""
ALL = """\
promote_threshold: 0.8
short_term_max_lines: 200
promote_tags: [Critical, user_goal, " critical"]
time_decay_per_day: 0.01
time_decay_floor: 0.4
deduplicate: 0.95
expire_after_days: 90
expire_below: 0.2
promote_used: false
"""


def write(home: Path, body: str) -> Path:
    path = home / FILE_NAME
    path.write_text(body, "utf-8")
    return path


def test_the_documents_file_is_complete(tmp_path: Path) -> None:
    """L6, L7: the two keys of the document alone are a whole file, and they are the defaults."""
    write(tmp_path, DOCUMENT)
    assert (
        RetentionFile(tmp_path).current()
        == Retention()
        == Retention(promote_threshold=0.70, short_term_max_lines=5000)
    )


def test_every_rule_is_a_key(tmp_path: Path) -> None:
    """L7: decay, tags, deduplication, expiry and use are each a key; tags are kept as memories
    have them (R8)."""
    write(tmp_path, ALL)
    assert RetentionFile(tmp_path).current() == Retention(
        0.8, 200, ("critical", "user_goal"), False, 0.01, 0.4, 0.95, 90.0, 0.2
    )


def test_beyond_the_document_all_is_off() -> None:
    """L7: without a word in the file nothing decays, nothing is joined, nothing expires and
    no tag promotes."""
    rules = Retention()
    assert (
        rules.promote_tags,
        rules.time_decay_per_day,
        rules.deduplicate,
        rules.expire_after_days,
    ) == ((), 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "lines", "paths"),
    [
        ("default", 5000, {}),
        ("sky", 100, {"jsonl": "memory", "archive": "memory"}),
        ("milton", 5000, {"failsafe": "data/memory"}),
        ("skylattice", 5000, {"exports": ".local/memory/exports"}),
        (
            "sentinel",
            5000,
            {
                "episodes": "data/episodes",
                "world_model": "data/world_model",
                "user_profile.json": "data/user_profile.json",
            },
        ),
    ],
)
def test_presets_are_those_of_the_documents(name: str, lines: int, paths: dict[str, str]) -> None:
    """L3, R4, B7: each document's limits and places; score ≥ 7 and importance ≥ 0.70 are one
    threshold everywhere."""
    preset = PRESETS[name]
    assert preset.retention == Retention(short_term_max_lines=lines)
    assert preset.retention.promote_threshold == 7 / 10
    assert dict(preset.paths) == paths
    assert preset.compress_after_hours == 48


def test_the_file_changes_a_preset_key_by_key(tmp_path: Path) -> None:
    """L6: what the file names is taken from it, the rest from the preset."""
    write(tmp_path, "promote_threshold: 0.5\n")
    assert RetentionFile(tmp_path, "sky").current() == Retention(
        promote_threshold=0.5, short_term_max_lines=100
    )


@every(
    ("body", "message"),
    [
        (
            "promote_threshold: 7",
            "promote_threshold = 7 is not between 0 and 1; 7 is a score, write 0.7",
        ),
        ("promote_threshold: 1.01", "promote_threshold = 1.01 is not between 0 and 1"),
        ("promote_threshold: -0.1", "promote_threshold = -0.1 is not between 0 and 1"),
        ("promote_threshold: .nan", "promote_threshold = nan is not between 0 and 1"),
        ("promote_threshold: .inf", "promote_threshold = inf is not between 0 and 1"),
        ("promote_threshold: high", "promote_threshold = high is not a number"),
        ("expire_below: 3", "expire_below = 3 is not between 0 and 1; 3 is a score, write 0.3"),
        (
            "time_decay_floor: 5",
            "time_decay_floor = 5 is not between 0 and 1; 5 is a score, write 0.5",
        ),
        ("time_decay_per_day: 2", "time_decay_per_day = 2 is not between 0 and 1"),
        ("short_term_max_lines: -1", "short_term_max_lines = -1 is not between 1 and 10,000,000"),
        ("short_term_max_lines: 0", "short_term_max_lines = 0 is not between 1 and 10,000,000"),
        (
            "short_term_max_lines: 10000001",
            "short_term_max_lines = 10000001 is not between 1 and 10,000,000",
        ),
        ("short_term_max_lines: 9" + "9" * 400, "is not between 1 and 10,000,000"),
        ("short_term_max_lines: 5000.5", "short_term_max_lines = 5000.5 is not a whole number"),
        ("deduplicate: 0.3", "deduplicate = 0.3 is neither 0 nor between 0.5 and 1"),
        ("deduplicate: 1.5", "deduplicate = 1.5 is not between 0 and 1"),
        ("deduplicate: yes", "deduplicate = yes is not a number"),
        ("expire_after_days: -1", "expire_after_days = -1 is not between 0 and 36,500"),
        ("expire_after_days: 1.0e+9", "expire_after_days = 1e+09 is not between 0 and 36,500"),
        ("promote_tags: critical", "promote_tags = critical is not a list"),
        ("promote_tags: ['']", "promote_tags: tag '' is empty"),
        ("promote_treshold: 0.7", "unknown key promote_treshold; did you mean promote_threshold?"),
    ],
)
def test_an_absurd_rule_is_told_with_file_line_and_value(
    tmp_path: Path, body: str, message: str
) -> None:
    """L6, L7: negative, endless or absurd limits and scores in the place of shares are refused, and
    nothing runs by them."""
    path = write(tmp_path, f"# ours\n\n{body}\n")
    with pytest.raises(InvalidInput) as caught:
        RetentionFile(tmp_path).current()
    assert caught.value.message.startswith(f"{path}, line 3: ")
    assert message in caught.value.message


@pytest.mark.parametrize(
    "body", ["promote_threshold: 7", "promote_threshold: [", "short_term_max_lines: -1"]
)
def test_a_bad_file_keeps_the_old_rules_running(tmp_path: Path, body: str) -> None:
    """L6: a mistake in the file does not change how memories are kept; the problem is
    there for `status`."""
    path = write(tmp_path, "promote_threshold: 0.6")
    rules = RetentionFile(tmp_path)
    assert rules.current().promote_threshold == 0.6
    write(tmp_path, body)
    assert rules.current().promote_threshold == 0.6
    assert str(rules.problem).startswith(f"{path}, line 1: ")


@pytest.mark.parametrize(
    ("days", "expected"), [(-5, 0.7), (0, 0.7), (10, 0.6), (20, 0.5), (30, 0.5), (1e9, 0.5)]
)
def test_the_threshold_falls_with_age_to_the_floor(days: float, expected: float) -> None:
    """L7: a hundredth a day: after ten days 0.60 is enough, and it never falls below the floor."""
    assert Retention(time_decay_per_day=0.01).threshold(days) == expected


SHARE = st.floats(0, 1)


@given(
    threshold=SHARE,
    floor=SHARE,
    decay=SHARE,
    ages=st.tuples(st.floats(-10, 1e6), st.floats(-10, 1e6)),
)
def test_a_threshold_never_rises_with_age(
    threshold: float, floor: float, decay: float, ages: Any
) -> None:
    """L7: whatever the settings, older memories need no more, young ones what the document says,
    none less than the floor."""
    rules = Retention(promote_threshold=threshold, time_decay_floor=floor, time_decay_per_day=decay)
    young, old = (rules.threshold(age) for age in sorted(ages))
    assert old <= young <= round(threshold, 9)
    assert old >= round(min(threshold, floor), 9)
    assert Retention(promote_threshold=0.7, time_decay_floor=floor).threshold(ages[0]) == 0.7
