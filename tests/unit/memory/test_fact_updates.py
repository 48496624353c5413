"""Knowledge that changes (S2, Q10): after a night the newest value is the active fact, and the old
one is found by its time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.engines.claims import attributes
from lamina.engines.facts import same_value
from lamina.model.clock import moment
from lamina.text import words as text
from tests.conftest import Desk, verified

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "golden" / "updates.jsonl")
    .read_text("utf-8")
    .splitlines()
]
SHARE = 0.95
SILENCE = timedelta(hours=6)


@pytest.fixture(scope="module")
def slept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, Operator]]:
    """All cases in one store, each of them another user's, after one night."""
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        for case in CASES:
            user = desk.operator(user=case["id"])
            for number, session in enumerate(sessions(case["turns"])):
                user.remember_conversation(session, session=f"session {number}")
        op = desk.operator()
        op.sleep()
        yield desk, op


def sessions(turns: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """What was said without a long silence belongs together."""
    found: list[list[Mapping[str, Any]]] = []
    for turn in turns:
        is_later = not found or moment(turn["at"]) - moment(found[-1][-1]["at"]) > SILENCE
        found += [[turn]] if is_later else []
        if not is_later:
            found[-1].append(turn)
    return found


def holds(op: Operator, case: Mapping[str, Any], as_of: str | None = None) -> list[str]:
    found = op.facts(case["subject"], case["attribute"], as_of)
    return [fact.value for fact in found if fact.user == case["id"] and not fact.negated]


def agree(case: Mapping[str, Any], found: list[str], wanted: Any) -> bool:
    """Whether the facts say what a reader would: for one value that one, for many all of them and
    no other."""
    values = wanted if isinstance(wanted, list) else [wanted] if wanted is not None else []
    is_many = attributes.of(case["attribute"]).many
    named = all(any(_same(case["attribute"], one, value) for one in found) for value in values)
    return named and ((is_many and values != []) or len(found) == len(values))


def _same(attribute: str, one: str, other: str) -> bool:
    words = [set(text.WORD.findall(text.normalise(value))) for value in (one, other)]
    return same_value(attribute, one, other) or words[0] <= words[1] or words[1] <= words[0]


def failing(op: Operator) -> list[str]:
    """The cases whose active fact is not the newest value."""
    return [case["id"] for case in CASES if not agree(case, holds(op, case), case["now"])]


def test_the_newest_value_is_the_active_fact(slept: tuple[Desk, Operator]) -> None:
    """S2: in at least 95 of 100 cases of change, return, denial, correction and
    somebody else's values."""
    wrong = failing(slept[1])
    assert len(wrong) <= (1 - SHARE) * len(CASES), wrong


def test_the_old_value_is_found_by_its_time(slept: tuple[Desk, Operator]) -> None:
    """Q10: where there was an old value, `as_of` before the change finds it."""
    told = [case for case in CASES if "before" in case]
    wrong = [
        case["id"]
        for case in told
        if not agree(case, holds(slept[1], case, case["before"]["at"]), case["before"]["value"])
    ]
    assert len(wrong) <= (1 - SHARE) * len(told), wrong


def test_there_are_enough_cases_of_every_kind() -> None:
    """S2: at least sixty, of many kinds and attributes."""
    kinds = Counter(case["kind"] for case in CASES)
    assert len(CASES) >= 60
    assert (
        min(kinds[kind] for kind in ("changes", "back", "negated", "corrected", "someone_else"))
        >= 8
    )
    assert len({case["attribute"] for case in CASES}) >= 12


def test_the_trail_holds(slept: tuple[Desk, Operator]) -> None:
    """P4: after all of that every row is what the events say."""
    assert verified(slept[1])
