"""What becomes of short-term memories: every rule, its edges, and the words in which
it explains itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import promotion
from lamina.engines.promotion import Action, Decision, Service, Waiting, plan, promotable
from lamina.home.retention import PRESETS, Retention
from lamina.model import rules
from lamina.model.record import Entry, Layer, Trust
from tests.cases import every
from tests.conftest import START
from tests.unit.engines.samples import MIDNIGHT

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def entry(importance: float, seq: int = 1, days: float = 0, **fields: Any) -> Entry:
    """An entry that came some days ago."""
    given: dict[str, Any] = {
        "user": None,
        "kind": "crumb",
        "trust": Trust.AGENT,
        "tags": (),
        **fields,
    }
    return Entry(
        seq=seq,
        event=seq,
        id=f"id{seq}",
        importance=importance,
        since=NOW - timedelta(days=days),
        **given,
    )


def decided(
    one: Entry, retention: Retention | None = None, twins: dict[str, str] | None = None
) -> Decision:
    """The decision about a single entry."""
    (decision,) = plan([one], NOW, retention or Retention(), twins)
    return decision


def actions(
    entries: Sequence[Entry], retention: Retention, twins: dict[str, str] | None = None
) -> list[str]:
    return [decision.action.value for decision in plan(entries, NOW, retention, twins)]


# The threshold


@every("preset", PRESETS)
@every(
    ("importance", "action"),
    [
        (0.7, "promote"),
        (rules.importance_of_score(7), "promote"),
        (1.0, "promote"),
        (0.6999999, "keep"),
        (0.0, "keep"),
    ],
)
def test_the_threshold_itself_promotes(preset: str, importance: float, action: str) -> None:
    """L2, R4: 0.70 exactly and a score of 7 are promoted under every preset; whatever is
    below is not."""
    assert decided(entry(importance), PRESETS[preset].retention).action.value == action


@pytest.mark.parametrize(
    ("threshold", "action"),
    [(0.0, "promote"), (0.3, "promote"), (0.3000001, "keep"), (1.0, "keep")],
)
def test_any_threshold_may_be_set(threshold: float, action: str) -> None:
    """L2: at a threshold of 0 everything is promoted, at 1 only what could not matter more."""
    assert decided(entry(0.3), Retention(promote_threshold=threshold)).action.value == action
    assert decided(entry(1.0), Retention(promote_threshold=1.0)).action is Action.PROMOTE


def test_nothing_is_decided_about_nothing() -> None:
    """L2: an empty short-term memory is no special case."""
    assert plan([], NOW, Retention()) == []
    assert promotable([], NOW, Retention()) == []


# Where to


@every("kind", rules.KINDS)
@every("trust", Trust)
def test_the_layer_follows_from_the_kind(kind: str, trust: Trust) -> None:
    """L2, V8: lasting kinds become semantic, all others episodic; what comes from outside never
    becomes semantic."""
    lasting = kind in ("fact", "insight", "decision", "preference", "project")
    expected = Layer.SEMANTIC if lasting and trust is not Trust.EXTERNAL else Layer.EPISODIC
    assert decided(entry(0.9, kind=kind, trust=trust)).layer is expected


def test_a_tag_does_not_lift_what_comes_from_outside() -> None:
    """V8, L7: an outside text with a tag that always promotes becomes what happened, not
    what is so."""
    decision = decided(
        entry(0.1, kind="fact", trust=Trust.EXTERNAL, tags=("critical",)),
        Retention(promote_tags=("critical",)),
    )
    assert (decision.action, decision.layer) == (Action.PROMOTE, Layer.EPISODIC)


# Tags


@pytest.mark.parametrize(
    ("tags", "tag"),
    [
        (("critical",), "critical"),
        (("x", "user_goal", "critical"), "user_goal"),
        (("x",), None),
        ((), None),
        (("crit",), None),
    ],
)
def test_some_tags_always_promote(tags: tuple[str, ...], tag: str | None) -> None:
    """L7: any of them is enough, whatever the importance, and the one that decided is named."""
    decision = decided(entry(0.0, tags=tags), Retention(promote_tags=("Critical", "user_goal")))
    assert (decision.action is Action.PROMOTE, decision.tag) == (tag is not None, tag)


# Decay


@pytest.mark.parametrize(
    ("importance", "days", "action"),
    [
        (0.60, 10, "promote"),
        (0.60, 9.9, "keep"),
        (0.59, 10, "keep"),
        (0.50, 20, "promote"),
        (0.50, 10_000, "promote"),
        (0.499, 10_000, "keep"),
        (0.70, -1000, "promote"),
        (0.69, -1000, "keep"),
    ],
)
def test_old_memories_need_less(importance: float, days: float, action: str) -> None:
    """L7: a hundredth a day down to the floor; a clock that was set back makes nothing
    young or old."""
    assert (
        decided(entry(importance, days=days), Retention(time_decay_per_day=0.01)).action.value
        == action
    )


# Expiry


@pytest.mark.parametrize(
    ("importance", "days", "action"),
    [
        (0.29, 90, "expire"),
        (0.29, 89.99, "keep"),
        (0.30, 10_000, "keep"),
        (0.0, 10_000, "expire"),
        (0.7, 10_000, "promote"),
        (0.0, -10_000, "keep"),
    ],
)
def test_only_the_old_and_unimportant_expires(importance: float, days: float, action: str) -> None:
    """L7: both bounds must be reached, what deserves promotion is promoted, and a clock set back
    expires nothing."""
    assert (
        decided(entry(importance, days=days), Retention(expire_after_days=90)).action.value
        == action
    )


def test_decay_saves_from_expiry() -> None:
    """L7: what is old enough to be promoted by decay is promoted, though it would
    also have expired."""
    both = Retention(
        time_decay_per_day=0.01, time_decay_floor=0.1, expire_after_days=10, expire_below=0.3
    )
    assert decided(entry(0.2, days=60), both).action is Action.PROMOTE
    assert decided(entry(0.2, days=20), both).action is Action.EXPIRE


# Rotation


def test_the_oldest_make_room() -> None:
    """L3: first in, first out, in the order in which they came, whatever their importance
    or time says."""
    entries = [entry(0.1 * n, seq=n, days=n) for n in range(1, 7)]
    assert actions(entries, Retention(short_term_max_lines=4)) == [
        "rotate",
        "rotate",
        *["keep"] * 4,
    ]
    assert actions(entries, Retention(short_term_max_lines=6)) == ["keep"] * 6
    assert actions(entries, Retention(short_term_max_lines=1)) == [*["rotate"] * 5, "keep"]


def test_what_moves_anyway_takes_no_room() -> None:
    """L3, L7: promoted, joined and expired entries leave by their own rule, and are not counted
    against the rest."""
    entries = [
        entry(0.9, 1),
        entry(0.1, 2, days=99),
        entry(0.9, 3),
        entry(0.5, 4),
        entry(0.5, 5),
        entry(0.5, 6),
    ]
    rotating = Retention(short_term_max_lines=2, expire_after_days=90)
    assert actions(entries, rotating, {"id3": "twin"}) == [
        "promote",
        "expire",
        "join",
        "rotate",
        "keep",
        "keep",
    ]


def test_entries_of_one_moment_go_in_their_order() -> None:
    """L3: a tie in time is none, because every memory has its place in the sequence."""
    entries = [entry(0.5, seq) for seq in (3, 5, 9)]
    gone = [
        one.entry.seq
        for one in plan(entries, NOW, Retention(short_term_max_lines=1))
        if one.action is Action.ROTATE
    ]
    assert gone == [3, 5]


# Twins


def test_only_what_is_promoted_joins_a_twin() -> None:
    """L7: a twin decides how an entry moves up, not whether."""
    assert decided(entry(0.9), twins={"id1": "other"}).action is Action.JOIN
    assert decided(entry(0.1), twins={"id1": "other"}).action is Action.KEEP
    assert decided(entry(0.9), twins={"id2": "other"}).action is Action.PROMOTE
    assert [one.id for one in promotable([entry(0.9), entry(0.1, 2)], NOW, Retention())] == ["id1"]


# The words


@pytest.mark.parametrize(
    ("one", "retention", "words"),
    [
        (entry(0.85), Retention(), "importance 0.85 reaches 0.70"),
        (entry(0.3), Retention(), "importance 0.30 is below 0.70"),
        (
            entry(0.1, tags=("critical",)),
            Retention(promote_tags=("critical",)),
            "the tag critical always promotes",
        ),
        (
            entry(0.6, days=12),
            Retention(time_decay_per_day=0.01),
            "importance 0.60 reaches 0.58, lowered after 12 days",
        ),
        (
            entry(0.3, days=12),
            Retention(time_decay_per_day=0.01),
            "importance 0.30 is below 0.58, lowered after 12 days",
        ),
        (
            entry(0.1, days=91),
            Retention(expire_after_days=90),
            "importance 0.10 and 91 days old: expired",
        ),
    ],
)
def test_every_decision_says_why(one: Entry, retention: Retention, words: str) -> None:
    """L7: the rule that decided, with the numbers that it compared."""
    assert decided(one, retention).rule == words


def test_rotation_and_twins_say_why() -> None:
    """L3, L7: which twin, and that it was for want of room."""
    rotated, _ = plan([entry(0.1, 1), entry(0.1, 2)], NOW, Retention(short_term_max_lines=1))
    assert rotated.rule == "the oldest, beyond the most that short-term memory holds"
    assert (
        decided(entry(0.9), twins={"id1": "other"}).rule
        == "says the same as other, and joins it as evidence"
    )


@pytest.mark.parametrize(
    ("importance", "threshold"), [(0.699, 0.7), (0.6999999, 0.7), (0.7, 0.704), (0.1234, 0.1235)]
)
def test_words_do_not_contradict_themselves(importance: float, threshold: float) -> None:
    """L7: two numbers of which one is below the other do not look the same."""
    words = decided(entry(importance), Retention(promote_threshold=threshold)).rule.split()
    assert words[1] != words[-1]


# All of it


ENTRIES = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(-400, 4000), st.sampled_from([(), ("critical",), ("x",)])
    ),
    max_size=40,
).map(
    lambda found: [entry(each[0], seq, each[1], tags=each[2]) for seq, each in enumerate(found, 1)]
)
RETENTIONS = st.builds(
    Retention,
    promote_threshold=st.floats(0, 1),
    short_term_max_lines=st.integers(1, 20),
    promote_tags=st.sampled_from([(), ("critical",)]),
    time_decay_per_day=st.sampled_from([0.0, 0.001, 0.5]),
    time_decay_floor=st.floats(0, 1),
    expire_after_days=st.sampled_from([0.0, 1.0, 300.0]),
    expire_below=st.floats(0, 1),
)


@given(ENTRIES, RETENTIONS, st.sets(st.integers(1, 40)))
def test_every_entry_has_one_decision(
    entries: list[Entry], retention: Retention, repeated: set[int]
) -> None:
    """L2, L3, L7: one decision for each in its order, no more kept than fit, those the newest; and
    the next plan keeps them."""
    twins = {f"id{seq}": "other" for seq in repeated}
    made = plan(entries, NOW, retention, twins)
    assert [decision.entry for decision in made] == entries
    kept = [decision.entry for decision in made if decision.action is Action.KEEP]
    rotated = [decision.entry for decision in made if decision.action is Action.ROTATE]
    assert len(kept) <= retention.short_term_max_lines
    assert not rotated or len(kept) == retention.short_term_max_lines
    assert all(old.seq < new.seq for old in rotated for new in kept)
    assert {decision.action for decision in plan(kept, NOW, retention, twins)} <= {Action.KEEP}
    assert made == plan(entries, NOW, retention, twins)
    assert all(decision.rule for decision in made)


@given(ENTRIES, RETENTIONS)
def test_nothing_that_deserves_promotion_is_archived(
    entries: list[Entry], retention: Retention
) -> None:
    """L2, L3: whatever the rules, what reaches the threshold of its age, or has such a tag, moves
    up and is never archived."""
    for decision in plan(entries, NOW, retention):
        age = (NOW - decision.entry.since) / timedelta(days=1)
        threshold = (
            retention.threshold(age)
            if retention.time_decay_per_day
            else retention.promote_threshold
        )
        deserves = decision.entry.importance >= threshold or not set(
            retention.promote_tags
        ).isdisjoint(decision.entry.tags)
        assert (decision.action is Action.PROMOTE) == deserves


def test_what_was_rejected_is_promoted_as_what_was_said() -> None:
    """V6, L2: it goes to what happened with its metadata as it was, and says in which record
    it was rejected."""
    one = Entry(
        seq=1,
        event=1,
        id="id1",
        user=None,
        kind="fact",
        trust=Trust.AGENT,
        tags=("tea",),
        importance=0.9,
        since=MIDNIGHT,
        metadata='{"a":1}',
    )
    (decision,) = promotion.plan([one], MIDNIGHT, Retention())
    assert decision.promoted == (
        Layer.SEMANTIC,
        {"a": 1, "origin": "promotion", "topic_tags": ["tea"]},
    )
    rejected = msgspec.structs.replace(decision, rejected="id9")
    assert rejected.promoted == (Layer.EPISODIC, {"a": 1})
    assert rejected.rule == "importance 0.90; rejected in id9, so it is kept as what was said"


def test_a_threshold_that_has_not_moved_is_not_called_lowered() -> None:
    """L7: on the first day nothing was lowered yet."""
    one = Entry(
        seq=1,
        event=1,
        id="id1",
        user=None,
        kind="crumb",
        trust=Trust.AGENT,
        tags=(),
        importance=0.1,
        since=MIDNIGHT,
    )
    (decision,) = promotion.plan([one], MIDNIGHT, Retention(time_decay_per_day=0.01))
    assert "lowered" not in decision.rule


def aged(importance_: float, age: float = 10, **fields: Any) -> Entry:
    known_: dict[str, Any] = {
        "seq": 1,
        "event": 1,
        "id": "id1",
        "user": None,
        "kind": "crumb",
        "trust": Trust.AGENT,
        "tags": (),
    }
    return Entry(
        **{**known_, "importance": importance_, "since": START - timedelta(days=age), **fields}
    )


def rule(one: Entry, **retention: Any) -> str:
    (decided,) = promotion.plan([one], START, Retention(**retention))
    return decided.rule


def test_a_floor_above_the_threshold_lowers_nothing() -> None:
    """L7: then nothing is told of days."""
    assert (
        rule(aged(0.6), time_decay_per_day=0.01, time_decay_floor=0.9)
        == "importance 0.60 is below 0.70"
    )
    assert (
        rule(aged(0.5), time_decay_per_day=0.01)
        == "importance 0.50 is below 0.60, lowered after 10 days"
    )
    assert (
        rule(aged(0.6), time_decay_per_day=0.01)
        == "importance 0.60 reaches 0.60, lowered after 10 days"
    )


@pytest.mark.parametrize(
    ("value", "age", "expired"),
    [(0.29, 10, True), (0.3, 10, False), (0.29, 9.99, False), (0.29, -1, False)],
)
def test_what_expires(value: float, age: float, expired: bool) -> None:
    """L7: below the importance and from the day on."""
    told_ = rule(aged(value, age), expire_after_days=10)
    assert (told_ == f"importance {value:.2f} and 10 days old: expired") is expired


def test_numbers_are_distinct() -> None:
    """L7: with as many decimals as it takes."""
    assert rule(aged(0.699999)) == "importance 0.699999 is below 0.700000"
    assert promotion._distinct(0.1 + 0.2, 0.3) == ("0.30000000000000004", "0.3")
    assert promotion._distinct(1e-20, 0.0) == ("1e-20", "0.0")
    assert promotion._distinct(0.5, 0.5) == ("0.50", "0.50")


def test_what_serves_is_promoted_whatever_its_importance() -> None:
    """L2, L7: explicit facts, preferences and decisions that were used, or on which something
    known rests; other kinds wait for their importance, and so do all where the rule is off."""
    serving = {"id1": Service.USED, "id2": Service.BELIEVED, "id3": Service.USED}
    kinds = ("fact", "preference", "crumb", "decision")
    entries = [entry(0.5, seq, kind=kind) for seq, kind in enumerate(kinds, 1)]
    decided = plan(entries, NOW, Retention(), None, serving)
    assert [one.action.value for one in decided] == ["promote", "promote", "keep", "keep"]
    assert [one.rule for one in decided[:2]] == [
        "importance 0.50, and it was used",
        "importance 0.50, and what is known rests on it",
    ]
    off = plan(entries, NOW, Retention(promote_used=False), None, serving)
    assert {one.action for one in off} == {Action.KEEP}
    assert promotable(entries, NOW, Retention(), serving) == entries[:2]
    joined = plan(entries[:1], NOW, Retention(), {"id1": "other"}, serving)
    assert joined[0].action is Action.JOIN


def test_importance_alone_promotes_as_before() -> None:
    """L2: what reaches the threshold needs no use, and its rule says so."""
    one = entry(0.7, kind="fact")
    (decision,) = plan([one], NOW, Retention(), None, {"id1": Service.USED})
    assert decision.rule == "importance 0.70 reaches 0.70"


def test_what_waits_and_why() -> None:
    """L2: each explicit memory that waits has one reason."""
    kinds = ("fact", "crumb", "preference", "decision", "fact", "fact")
    entries = [entry(0.5, seq, days=seq, kind=kind) for seq, kind in enumerate(kinds, 1)]
    explicit = promotion.explicit([*entries, entry(0.9, 7, kind="fact")], NOW, Retention())
    assert [one.seq for one in explicit] == [1, 3, 4, 5, 6]
    found = promotion.waiting(explicit, 4, {"id1": Service.USED}, ["id3"])
    assert found == Waiting(4, 2, 1, 1, NOW - timedelta(days=6))
    assert found.why == (
        "2 until sleep reads them, 1 not used so far, 1 because their importance was given"
    )
    assert promotion.waiting([], 0, {}, []) == Waiting(0, 0, 0, 0, None)


def test_only_what_stays_needs_room() -> None:
    """L3: as many as are beyond the most; what is promoted takes none."""
    entries = [aged(0.9 if seq == 2 else 0.1, seq=seq, id=f"id{seq}") for seq in range(1, 6)]
    decided = promotion.plan(entries, START, Retention(short_term_max_lines=2))
    assert [one.action.value for one in decided] == ["rotate", "promote", "rotate", "keep", "keep"]
    assert decided[0].rule == "the oldest, beyond the most that short-term memory holds"
    assert [one.id for one in promotion.promotable(entries, START, Retention())] == ["id2"]
