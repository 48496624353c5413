"""The model of capacity agrees with what was measured, and says what it should of small and large
services."""

from __future__ import annotations

import pytest
from benchmarks import growth
from benchmarks.capacity import Model, Service, figure, fitted
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import check_all

CURVES = growth.read()
MODEL = Model(CURVES)
FACTOR = 2.0  # within which a prediction is right, and which docs/scale.md names
MEASURED = ("first", "warm", "megabytes", "megabytes on disk")
SERVICES = st.builds(
    Service,
    users=st.integers(1, 10**7),
    memories_a_day=st.floats(0.1, 1000),
    questions_a_second=st.floats(0.01, 10_000),
    days=st.integers(1, 3650),
    standbys=st.integers(0, 3),
    peak=st.floats(1, 20),
    cores=st.integers(1, 128),
)


def is_near(value: float, measured: float) -> bool:
    return measured / FACTOR <= value <= measured * FACTOR


@pytest.mark.parametrize("name", MEASURED)
def test_lines_go_through_what_was_measured(name: str) -> None:
    """What the model says of a size that was measured is within a factor of two of it."""
    points = figure(CURVES["memories"], name)
    line = fitted(points)
    assert {n: line.at(n) for n, y in points.items() if not is_near(line.at(n), y)} == {}


@pytest.mark.parametrize("name", MEASURED)
def test_smaller_stores_foretell_the_largest(name: str) -> None:
    """Growth is linear: a line through all other sizes foretells the largest one."""
    points = figure(CURVES["memories"], name)
    largest = max(points)
    smaller = fitted({number: value for number, value in points.items() if number < largest})
    assert is_near(smaller.at(largest), points[largest])


def test_users_and_agents_cost_the_same_however_many_there_are() -> None:
    """A question of a user or an agent costs the same among a hundred as among thousands."""

    def check(kind: str, name: str, most: int) -> None:
        points = figure(CURVES[kind], name)
        values = [value for number, value in points.items() if number <= most]
        assert max(values) <= FACTOR * min(values), values

    check_all(
        [
            ("users", "open", 10**5),
            ("users", "open as a new user", 10**5),
            ("users", "first", 5000),  # with more users, each has fewer memories
            ("users", "warm", 5000),
            ("agents", "asked", 10**4),
        ],
        check,
    )


def test_the_plan_of_what_was_measured() -> None:
    """The model gives the disk and the time of a question of the stores that were measured."""

    def check(users: int, each: int) -> None:
        measured = CURVES["users"][users]
        plan = MODEL.in_file(Service(users, each / 365, 1))
        assert is_near(plan.milliseconds, measured["open"] + measured["first"])
        assert is_near(1024 * plan.disk, measured["megabytes on disk"])

    check_all([(1000, 200), (5000, 200), (100_000, 10)], check)


def test_where_a_server_begins() -> None:
    """A file serves what one machine can; more questions, or a standby, need a server."""
    small = Service(users=1000, memories_a_day=5, questions_a_second=5)
    assert MODEL.plan(small).store == "file"
    assert MODEL.plan(small).machines == 1
    assert MODEL.plan(small._replace(standbys=1)).store == "PostgreSQL"
    busy = MODEL.plan(small._replace(questions_a_second=5000))
    assert busy.store == "PostgreSQL"
    assert busy.machines > 2


@given(service=SERVICES, more=st.floats(1, 100))
def test_more_never_needs_less(service: Service, more: float) -> None:
    """More questions, longer memories or another standby need no fewer machines and no less disk."""
    plan = MODEL.on_server(service)
    for larger in (
        service._replace(questions_a_second=service.questions_a_second * more),
        service._replace(standbys=service.standbys + 1),
    ):
        needed = MODEL.on_server(larger)
        assert needed.machines >= plan.machines
        assert needed.disk >= plan.disk
    assert MODEL.on_server(service._replace(days=service.days + 1)).disk > plan.disk
