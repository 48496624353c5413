"""Bursts from one source."""

from __future__ import annotations

import pytest

from lamina.engines import bursts


def test_an_hour_is_any_hour() -> None:
    """V8: what comes within an hour is counted together, whenever the hour begins; what comes
    slowly is no burst."""
    assert bursts.find([("web:a", 5, 60), ("web:a", 6, 60)], []) == [
        {"source": "web:a", "within_an_hour": 120, "alike": 0}
    ]
    assert bursts.find([("web:a", 5, 60), ("web:a", 11, 60)], []) == []
    assert bursts.find([("web:a", slot, 16) for slot in range(1000)], []) == []


def test_copies_need_no_hurry() -> None:
    """V8: many that begin alike are told however slowly they came; the largest group of
    a source counts."""
    found = bursts.find(
        [("mail", slot * 10, 1) for slot in range(50)], [("mail", 20), ("mail", 30)]
    )
    assert found == [{"source": "mail", "within_an_hour": 1, "alike": 30}]


def test_the_largest_comes_first() -> None:
    """V8: in an order that does not depend on how they were found."""
    arrived = [(None, 1, 100), ("b", 1, 300), ("a", 1, 300)]
    assert [one["source"] for one in bursts.find(arrived, [])] == ["a", "b", None]


@pytest.mark.parametrize(
    ("burst", "message"),
    [
        (
            {"source": "web:example", "within_an_hour": 312, "alike": 0},
            (
                "312 memories from source web:example within an hour; `lamina revoke --source "
                "web:example` puts them under review"
            ),
        ),
        (
            {"source": "mail", "within_an_hour": 1200, "alike": 400},
            "1,200 memories from source mail within an hour, 400 of which begin alike;"
            " `lamina revoke --source mail` puts them under review",
        ),
        (
            {"source": "x'; rm -rf ~", "within_an_hour": 3, "alike": 20},
            "20 memories from source x'; rm -rf ~ begin alike;"
            """ `lamina revoke --source 'x'"'"'; rm -rf ~'` puts them under review""",
        ),
        (
            {"source": None, "within_an_hour": 100, "alike": 0},
            "100 memories without a source within an hour; `lamina list` shows the newest",
        ),
    ],
)
def test_a_person_is_told_what_to_do(burst: dict[str, object], message: str) -> None:
    """V8, H1: the number, the source and a command that is safe to copy, whatever the
    source is called."""
    assert bursts.message(burst) == message
