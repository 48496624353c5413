"""The edges of what engines decide: tables and numbers written out a second time, and both sides of each bound."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from lamina.engines import (
    aging,
    awareness,
    compaction,
    compression,
    facts,
    idleness,
    importance,
    learning,
    profile,
    promotion,
)
from lamina.engines.compression import Fate
from lamina.home.retention import Retention
from lamina.model import hashing
from lamina.model.record import Entry, Layer, State, Trust, iso
from tests.cases import every

from .test_aging import entry
from .test_awareness import TODAY, memory, why
from .test_compaction import known, numbers, procedure
from .test_compression import NOW, item, planned, said
from .test_facts import Notebook, claim, source
from .test_profile import record, told

MIDNIGHT = datetime(2026, 5, 1, tzinfo=UTC)

# Aging


def test_half_lives_are_those_that_were_promised() -> None:
    """S4: half a year for what happened, two years for what is known; short-term memory does not decay."""
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
    one = aging.Entry("id1", 1, 1, Layer.EPISODIC, 0.9, 0.9, MIDNIGHT)
    (sunk,) = aging.plan([one], MIDNIGHT + timedelta(days=400))
    assert sunk.why.startswith("never wanted, it came 400 days ago")


# Awareness


def test_reasons_are_those_that_the_docs_name() -> None:
    """L12: programs that read the list know these words."""
    assert (awareness.REQUEST, awareness.PENDING) == ("request without a result", "status pending")
    assert (awareness.ESCALATION, awareness.REVIEW) == ("unanswered escalation", "waits for review")
    assert awareness.DATE == "the day has come"


@pytest.mark.parametrize("kind", ["result", "action", "decision"])
def test_what_came_of_a_request_answers_it(kind: str) -> None:
    """L12: a result, an action or a decision that cites a request settles it."""
    request = memory(1, "request")
    assert why(request, memory(2, kind, evidence=(request.id,))) == []


def test_a_day_may_come_on_the_day_it_is_stored() -> None:
    """L12: what was said before and is stored on the very day is not too late."""
    one = memory(1, occurred_at=MIDNIGHT - timedelta(days=3), created_at=MIDNIGHT)
    spans = {one.id: [(TODAY, TODAY + timedelta(days=1))]}
    assert [told_["due"] for told_ in awareness.pending([one], frozenset(), TODAY, spans)] == [
        TODAY.isoformat()
    ]


# Compaction


def test_a_summary_names_at_most_64_topics() -> None:
    """V2: the topics of what is summed up, as many as a record is to have."""
    topics = [f"t{number}" for number in range(70)]
    (group,) = compaction.compact([known(1, "Tea is hot", topics), known(2, "tea is hot!", topics)])
    assert group.metadata["topic_tags"] == topics[:64]


@every(
    "filler",
    "- – — • a an the and then is are be it its this that these those please just so also".split(),
)
def test_each_filler_adds_nothing_to_a_procedure(filler: str) -> None:
    """V3: a word that only fills does not make another procedure, be it one of four words."""
    assert numbers(
        compaction.dedup(
            [
                procedure(1, "build push restart check"),
                procedure(2, f"build {filler} push restart check"),
            ]
        )
    ) == [[1, 2]]


def test_brackets_and_quotes_around_a_word_are_not_part_of_it() -> None:
    """V3: a procedure with a word in brackets, and one word more, is nearly the same."""
    plain, marked = (
        "build push restart check nginx quickly",
        'build push (restart) "check" nginx quickly today',
    )
    assert numbers(compaction.dedup([procedure(1, plain), procedure(2, marked)])) == [[1, 2]]


# Compression


@pytest.mark.parametrize(("most", "proposed"), [(0, 0), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_no_more_proposals_than_are_taken(most: int, proposed: int) -> None:
    """V9: each key is a proposal; those beyond the allowance stay as they are, and say why."""
    items = [
        item(number, f"Likes {what}", "preference")
        for number, what in enumerate(("tea", "jazz", "rain"), 1)
    ]
    plan = compression.plan(items, [], [], NOW, 48, may_confirm=False, most_proposals=most)
    assert len(plan.summaries) == proposed
    assert [one.rule for one in plan.decisions if one.fate is Fate.LEFT] == [
        "no more proposals are taken today"
    ] * (3 - proposed)


def test_a_list_takes_128_kib() -> None:
    """L9: lines are added while they fit into the room of a record, to the last that does; the next says that it is full."""
    plan = planned([item(number, f"{number:03d}{'x' * 4000}") for number in range(1, 40)])
    size = len(hashing.encode(said(plan)["stable_facts"]))
    assert 128 * 1024 - 4010 < size <= 128 * 1024
    assert {one.rule for one in plan.decisions if one.fate is Fate.LEFT} == {"the summary is full"}


def test_a_key_of_many_words_ends_with_eight_letters_of_its_hash() -> None:
    """L9: keys stay the same from version to version, so the form of the hash does too."""
    assert re.fullmatch(r"i-like-c-[0-9a-f]{8}", compression.slug("I like C++"))
    assert compression.slug("I like tea.") == compression.slug("I like tea!") == "i-like-tea"


def test_what_is_known_is_told_as_known() -> None:
    """L9: a repetition of a value says that it changes nothing."""
    there = told(1, "drink", "tea")
    plan = planned(
        [item(2, "x", "preference", metadata={"profile_key": "drink", "value": "Tea"})], [there]
    )
    assert [(one.fate, one.rule) for one in plan.decisions] == [(Fate.KNOWN, "says what is known")]


# Facts


def test_liking_and_disliking_are_one_place() -> None:
    """S2: who dislikes what she liked has changed her mind."""
    assert facts.slot(None, "Ana", "dislikes") == facts.slot(None, "ana", "likes")


@pytest.mark.parametrize(
    "attribute", ["lives_in", "employer", "origin", "visited", "name", "partner"]
)
def test_a_name_is_known_by_its_beginning(attribute: str) -> None:
    """S2: Lisbon, Portugal is Lisbon, but York is not New York."""
    assert facts.same_value(attribute, "Lisbon", "Lisbon, Portugal")
    assert not facts.same_value(attribute, "York", "New York")


@pytest.mark.parametrize(
    ("attribute", "same"),
    [("likes", True), ("did", False), ("plan", False), ("goal", False), ("age", False)],
)
def test_more_words_may_say_the_same(attribute: str, same: bool) -> None:
    """S2: green tea is tea to who likes it; what was done or planned is another thing with every word."""
    assert facts.same_value(attribute, "tea", "green tea") is same
    assert facts.same_value(attribute, "tea green", "green tea") is same


def test_partners_of_other_names_are_others() -> None:
    """S2: "my wife" is who she was; another name is another person, and a word for a wife says nothing of a city."""
    book = Notebook()
    book.hear(claim("partner", "Ben"))
    assert facts.says(book.facts[0], claim("partner", "husband"))
    assert not facts.says(book.facts[0], claim("partner", "Tom"))
    book = Notebook()
    book.hear(claim("likes", "tea"))
    assert not facts.says(book.facts[0], claim("likes", "wife"))


def test_a_fact_speaks_of_a_day_to_come_only_if_it_does() -> None:
    """S2: what is said of now has no day of its own."""
    now = source(at=claim("plan", "trip", 3).at)
    assert "when" not in facts.metadata_of(claim("plan", "trip", 3), now)
    assert facts.metadata_of(claim("plan", "trip", 5), now)["when"] == iso(
        claim("plan", "trip", 5).at
    )


def test_a_fact_is_told_without_the_times_it_was_said() -> None:
    """S2: as plain values that JSON can hold."""
    book = Notebook()
    book.hear(claim("lives_in", "Porto"))
    told_ = book.facts[0].to_dict()
    hashing.check_json(told_ | {"voices": list(told_["voices"])}, "fact")
    assert "said" not in told_
    assert (told_["value"], told_["state"], told_["valid_to"]) == ("Porto", "active", None)


def test_facts_are_chosen_by_name_first_name_or_not_at_all() -> None:
    """S2: without a subject all are meant; a first name is enough."""
    records = [
        _fact(1, "Ana Silva", "lives_in"),
        _fact(2, "Ben", "likes"),
        _fact(3, "ana silva", "likes"),
    ]
    assert [fact.record[-1] for fact in facts.chosen(records, None, None)] == ["3", "1", "2"]
    assert [fact.record[-1] for fact in facts.chosen(records, "ANA", None)] == ["3", "1"]
    assert [fact.record[-1] for fact in facts.chosen(records, "Ana Silva", "lives_in")] == ["1"]
    assert facts.chosen(records, "Silva", None) == []


def _fact(seq: int, subject: str, attribute: str) -> Any:
    metadata = {"subject": subject, "attribute": attribute, "value": "x"}
    return record(seq, metadata, layer=Layer.SEMANTIC, state=State.ACTIVE)


def test_what_was_said_is_remembered_fifty_times() -> None:
    """S2: of when somebody said so, the latest fifty."""
    book = Notebook()
    for day in range(60):
        book.hear(claim("lives_in", "Porto", day))
    assert len(book.facts[0].said) == 50


# Idleness


@pytest.mark.parametrize(
    ("seconds", "writes", "idle"),
    [(600, 0, True), (599, 0, False), (60, 200, True), (59, 200, False), (60, 199, False)],
)
def test_ten_minutes_or_one_in_a_quiet_hour(seconds: int, writes: int, idle: bool) -> None:
    """S5: the hours of the day tell something from two hundred writes on."""
    by_hour = [0] * 12 + [writes] + [0] * 11
    assert idleness.is_idle(MIDNIGHT, MIDNIGHT - timedelta(seconds=seconds), by_hour) is idle


@pytest.mark.parametrize(("here", "quiet"), [(2, True), (3, False)])
def test_an_hour_is_quiet_below_a_quarter_of_its_share(here: int, quiet: bool) -> None:
    """S5: of 288 writes an hour has twelve as its share, of which three are a quarter and no longer little."""
    assert idleness.is_quiet_hour(0, [here, 288 - here, *[0] * 22]) is quiet


# Importance


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
def test_a_kind_is_not_paid_twice(kind: str, words: str, base: float) -> None:
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


# Learning


def shown(content: str, **fields: Any) -> tuple[str, ...]:
    given: dict[str, Any] = {
        "tags": (),
        "metadata": {},
        "source": None,
        "speaker": None,
        "trust": Trust.AGENT,
        **fields,
    }
    return learning.features("fact", content, **given)


def test_a_memory_shows_what_could_be_learned_from() -> None:
    """L8: its kind, trust, length, tags, who and where, the labels of its metadata, signs, and its words without stop words."""
    metadata = {"tool": "mail", "status": 5, "colour": "red", "workflow": "w" * 99}
    assert shown(
        "Is tea 2 hot?", tags=("a",), metadata=metadata, source="chat", speaker="s" * 99
    ) == (
        *(
            "kind=fact",
            "trust=agent",
            "length=short",
            "tag=a",
            "source=chat",
            f"speaker={'s' * 64}",
        ),
        *(
            "tool=mail",
            f"workflow={'w' * 64}",
            "sign=number",
            "sign=question",
            "word=tea",
            "word=2",
            "word=hot",
        ),
    )


@pytest.mark.parametrize(
    ("characters", "length"), [(39, "short"), (40, "medium"), (399, "medium"), (400, "long")]
)
def test_lengths_begin_and_end(characters: int, length: str) -> None:
    """L8: below 40 characters short, below 400 medium."""
    assert f"length={length}" in shown("x" * characters)


@pytest.mark.parametrize(
    ("content", "question"),
    [("why?", True), ("why？  ", True), ("why? because", False), ("?" + " " * 10, False)],
)
def test_a_question_ends_with_its_mark(content: str, question: bool) -> None:
    """L8: within the last ten characters, in any script."""
    assert ("sign=question" in shown(content)) is question


def test_what_was_learned_stays_on_the_scale() -> None:
    """L8: however sure a model is, an importance is between 0 and 1 and has two decimals."""
    for weight in (-50.0, 50.0):
        model = learning.Model({"kind=escalation": weight}, 1.0, weight, 100, 50, 0.1)
        moved = model.score("escalation", "critical, escalated", ("critical",), {})
        assert 0 <= moved <= 1
        assert moved == round(moved, 2)


# Profile


def test_a_correction_of_a_list_is_its_lines() -> None:
    """V9, R10: with or without bullets, empty lines left out; of any other key the text is the value."""
    assert profile.read("interests", "- tea\n\n jazz \n") == ["tea", "jazz"]
    assert profile.read("drink", "- tea\n- jazz") == "- tea\n- jazz"
    assert profile.read("name", " Ana ") == "Ana"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("name", "fact"),
        ("environment", "fact"),
        ("stable_facts", "fact"),
        ("relationships.Ben", "fact"),
        ("drink", "preference"),
    ],
)
def test_the_kind_follows_from_the_key(key: str, kind: str) -> None:
    """R5, R10: what a person is or has is a fact, what she likes a preference."""
    assert profile.kind_of(key) == kind


def test_people_may_be_given_as_the_profile_shows_them() -> None:
    """R10: somebody with a relation alone is told by it, others with all that is known."""
    people = [
        {"name": "Ben", "relation": "brother"},
        {"name": "Eva", "relation": "boss", "since": 2020},
    ]
    assert profile.patch_items({"relationships": people}) == [
        ("relationships.Ben", "brother"),
        ("relationships.Eva", {"relation": "boss", "since": 2020}),
    ]


def test_wide_dots_part_keys_and_plain_ones_leave_the_rest() -> None:
    """R10, V1: a key below a group is found by either dot, and keeps its own spelling behind a plain one."""
    assert profile.place("schedule．Monday") == ("schedule", "Monday")
    assert profile.place("schedule.①") == ("schedule", "①")


# Promotion


def test_what_was_rejected_is_promoted_as_what_was_said() -> None:
    """V6, L2: it goes to what happened with its metadata as it was, and says in which record it was rejected."""
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
