"""Promises of aging: what nobody wants matters less, what somebody wants matters more, and nothing
is ever lost."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import aging
from lamina.engines.aging import FLOOR, HALF_LIVES, LEAST_CHANGE, Adjusted, Usage, importance, plan
from lamina.model.record import Layer
from tests.conftest import START
from tests.unit.engines.samples import MIDNIGHT

NOW = START + timedelta(days=3650)


def entry(original: float = 0.6, days: float = 0, accesses: int = 0, **fields: Any) -> Usage:
    """A memory that came some days ago and is as it was."""
    values = {
        "id": "id1",
        "seq": 1,
        "event": 1,
        "layer": Layer.EPISODIC,
        "importance": original,
        "original": original,
    }
    came = NOW - timedelta(days=days)
    return Usage(**{**values, "created_at": came, "accesses": accesses, **fields})


def applied(adjusted: Adjusted) -> Usage:
    """The memory once it was adjusted."""
    return msgspec.structs.replace(
        adjusted.entry, importance=adjusted.importance, event=adjusted.entry.event + 1
    )


def test_half_of_it_is_gone_after_the_half_life() -> None:
    """S4: what happened loses half of what is above the floor in half a year, what is known
    in two years."""
    for layer, days in ((Layer.EPISODIC, 180), (Layer.SEMANTIC, 730)):
        assert importance(entry(0.65, days, layer=layer), NOW) == 0.35
        assert importance(entry(0.65, 2 * days, layer=layer), NOW) == 0.2
    assert importance(entry(0.65, 0), NOW) == 0.65


def test_accesses_raise_it() -> None:
    """S4: each time that the accesses double, a twentieth of what is missing to 1 is added, and at
    most three tenths of it."""
    raised = [importance(entry(0.4, accesses=count), NOW) for count in (0, 1, 3, 7, 63, 10**6)]
    assert raised == [0.4, 0.43, 0.46, 0.49, 0.58, 0.58]


def test_what_is_given_in_vain_sinks_a_little() -> None:
    """S4: more than four times; each doubling costs a twentieth, at most a fifth of it and never
    more than the floor; short-term memory only rises."""
    counts = (0, 4, 8, 16, 64, 10**6)
    sunk = [importance(entry(0.6, ignored=count), NOW) for count in counts]
    assert sunk == [0.6, 0.6, 0.57, 0.54, 0.48, 0.48]
    assert importance(entry(0.6, ignored=64, layer=Layer.SHORT_TERM), NOW) == 0.6
    assert importance(entry(FLOOR, ignored=64), NOW) == FLOOR
    (told,) = plan([entry(0.6, ignored=64)], NOW)
    assert told.why == "never wanted, it came today, given 64 times in vain: 0.60 became 0.48"


def test_a_late_access_makes_it_young_again() -> None:
    """S4: age counts from the last time that somebody wanted it; an access that is older than the
    memory is none."""
    assert importance(entry(0.5, 900, 1, accessed_at=NOW), NOW) == importance(entry(0.5, 0, 1), NOW)
    assert importance(entry(0.5, 10, accessed_at=START), NOW) == importance(entry(0.5, 10), NOW)


def test_what_was_stated_keeps_half() -> None:
    """S4: an importance that somebody stated is never halved more than once; a judged one may sink
    to the floor."""
    assert importance(entry(0.9, 9000, given=True), NOW) == 0.45
    assert importance(entry(0.9, 9000), NOW) == FLOOR
    assert importance(entry(0.25, 9000, given=True), NOW) >= 0.125


def test_the_floor_raises_nothing() -> None:
    """S4: what mattered less than the floor from the start stays as it was."""
    assert plan([entry(0.02, 9000), entry(0.0, 9000, id="id2")], NOW) == []


@pytest.mark.parametrize("layer", [layer for layer in Layer if layer not in HALF_LIVES])
def test_some_layers_do_not_age(layer: Layer) -> None:
    """S4: profile, procedures, the world and working memory are left alone, whatever
    their numbers say."""
    assert (
        plan([entry(0.9, 9000, 50, layer=layer), entry(0.9, importance=0.1, layer=layer)], NOW)
        == []
    )
    assert layer in (Layer.PROFILE, Layer.PROCEDURAL, Layer.WORLD, Layer.WORKING)


def test_short_term_memory_only_rises() -> None:
    """S4, L7: decay expires nothing: short-term memory has its own rules for growing old."""
    assert plan([entry(0.6, 9000, layer=Layer.SHORT_TERM)], NOW) == []
    (risen,) = plan([entry(0.6, 9000, 63, layer=Layer.SHORT_TERM)], NOW)
    assert risen.importance == 0.72


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (entry(0.6, 200), "never wanted, it came 200 days ago: 0.60 became 0.30"),
        (
            entry(0.6, 100, 9, accessed_at=NOW - timedelta(days=1.5)),
            "wanted 9 times, last 1 day ago: 0.60 became 0.66",
        ),
        (entry(0.0, 1, 1, accessed_at=NOW), "wanted once, last today: 0.00 became 0.05"),
        (entry(0.5, 100, 7, accessed_at=NOW), "wanted 7 times, last today: 0.50 became 0.57"),
        (
            entry(0.8, 5000, given=True),
            (
                "never wanted, it came 5000 days ago, at least half of what was stated: 0.80 "
                "became 0.40"
            ),
        ),
    ],
)
def test_it_says_why(given: Usage, why: str) -> None:
    """S4: every change has its reason in words."""
    (adjusted,) = plan([given], NOW)
    assert adjusted.why == why


def test_small_changes_are_not_made() -> None:
    """S4: less than five hundredths is no change, however many digits an importance has."""
    assert plan([entry(0.555), entry(0.3333, 1, id="id2"), entry(0.6, 20, id="id3")], NOW) == []
    assert [adjusted.importance for adjusted in plan([entry(0.6, 24)], NOW)] == [0.55]


def test_a_clock_that_was_set_back_ages_nothing() -> None:
    """S4: a memory from the future is as young as can be."""
    assert plan([entry(0.6, -400)], NOW) == []


ENTRIES = st.builds(
    entry,
    original=st.floats(0, 1),
    days=st.floats(-100, 40_000),
    accesses=st.integers(0, 10**9),
    importance=st.floats(0, 1),
    layer=st.sampled_from(list(Layer)),
    given=st.booleans(),
    ignored=st.integers(0, 10**6),
    accessed_at=st.one_of(
        st.none(), st.timedeltas(timedelta(-40_000), timedelta(100)).map(lambda ago: NOW + ago)
    ),
)


@given(ENTRIES)
def test_it_stays_within_bounds(one: Usage) -> None:
    """S4, R4: an importance is between 0 and 1, not below the floor or what it was, and not below
    half of what was stated."""
    new = importance(one, NOW)
    assert 0 <= new <= 1
    if one.layer in HALF_LIVES:
        assert new >= min(one.original, FLOOR)
        assert new >= one.original / 2 or not one.given


@given(st.lists(ENTRIES, max_size=20), st.randoms(use_true_random=False), st.integers(0, 86_399))
def test_a_second_time_changes_nothing(
    drawn: list[Usage], shuffled: random.Random, seconds: int
) -> None:
    """S4, Q6: adjusting again at the same time changes nothing, in whatever order; only what
    differs is changed."""
    entries = [
        msgspec.structs.replace(one, id=f"id{seq}", seq=seq) for seq, one in enumerate(drawn)
    ]
    adjusted = plan(entries, NOW)
    assert all(
        abs(one.importance - one.entry.importance) >= LEAST_CHANGE - 1e-9 for one in adjusted
    )
    after = {one.id: one for one in entries} | {one.entry.id: applied(one) for one in adjusted}
    assert plan(after.values(), NOW) == []
    shuffled.shuffle(entries)
    assert plan(entries, NOW) == adjusted


@given(ENTRIES, st.lists(st.integers(0, 2000), min_size=1, max_size=10))
def test_nights_do_not_compound(one: Usage, nights: list[int]) -> None:
    """S4: however many nights there were between, the importance is within a hundredth of what one
    night would have made."""
    night = NOW
    for days in sorted(nights):
        night = NOW + timedelta(days=days)
        for adjusted in plan([one], night):
            one = applied(adjusted)
    assert abs(one.importance - importance(one, night)) < LEAST_CHANGE


@given(ENTRIES, st.integers(0, 10**6), st.timedeltas(timedelta(0), timedelta(5000)))
def test_more_accesses_never_lower_it(one: Usage, more: int, later: timedelta) -> None:
    """S4: who wants a memory more often, or later, never makes it matter less; and time alone never
    makes it matter more."""
    wanted = msgspec.structs.replace(one, accesses=one.accesses + more)
    assert importance(wanted, NOW) >= importance(one, NOW)
    last = max(one.created_at, one.accessed_at or one.created_at)
    assert importance(msgspec.structs.replace(one, accessed_at=last + later), NOW) >= importance(
        one, NOW
    )
    assert importance(one, NOW + later) <= importance(one, NOW)


def test_half_lives_are_those_that_were_promised() -> None:
    """S4: half a year for what happened, two years for what is known; short-term memory
    does not decay."""
    assert dict(aging.HALF_LIVES) == {
        Layer.SHORT_TERM: float("inf"),
        Layer.EPISODIC: 180.0,
        Layer.SEMANTIC: 730.0,
    }


def test_an_importance_beyond_the_scale_counts_as_its_end() -> None:
    """S4: whatever number a record holds, what follows from it is between 0 and 1."""
    assert aging.importance(entry(1.7), entry().created_at) == 1.0
    assert aging.importance(entry(-0.5), entry().created_at) == 0.0


def test_what_nobody_wanted_says_so() -> None:
    """S4: an entry without accesses was never wanted."""
    one = aging.Usage("id1", 1, 1, Layer.EPISODIC, 0.9, 0.9, MIDNIGHT)
    (sunk,) = aging.plan([one], MIDNIGHT + timedelta(days=400))
    assert sunk.why.startswith("never wanted, it came 400 days ago")


@pytest.mark.parametrize(
    ("days", "why"),
    [
        (
            571,
            (
                "never wanted, it came 571 days ago, at least half of what was stated: 0.90 "
                "became 0.50"
            ),
        ),
        (523, "never wanted, it came 523 days ago: 0.90 became 0.51"),
    ],
)
def test_who_stated_it_is_told_that_half_is_kept(days: int, why: str) -> None:
    """S4: once it is within five hundredths of that half."""
    (sunk,) = aging.plan([entry(0.9, days, given=True)], NOW)
    assert sunk.why == why


@pytest.mark.parametrize(
    ("accesses", "days", "why"),
    [
        (1, 0, "wanted once, last today: 0.40 became 0.43"),
        (3, 1, "wanted 3 times, last 1 day ago: 0.40 became 0.46"),
        (3, 2, "wanted 3 times, last 2 days ago: 0.40 became 0.46"),
    ],
)
def test_how_often_it_was_wanted_is_told(accesses: int, days: int, why: str) -> None:
    """S4: and when last, in words."""
    (raised,) = aging.plan([entry(0.4, days, accesses, importance=0.1)], NOW)
    assert (raised.why, raised.entry.importance) == (why, 0.1)


@pytest.mark.parametrize(("before", "made"), [(0.35, 1), (0.45, 1), (0.3501, 0), (0.4499, 0)])
def test_a_change_of_five_hundredths_is_made(before: float, made: int) -> None:
    """S4: up or down, and one that is smaller is not."""
    assert len(aging.plan([entry(0.4, importance=before)], NOW)) == made
