"""The edges of what is allowed: every word of the tables, written out a second time, and both sides
of every limit."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lamina.errors import InvalidInput, Refused
from lamina.model import rules
from lamina.model.record import Actor, Draft, Layer, Role, State, Trust
from lamina.text import fence
from tests.cases import every
from tests.conftest import CONTRACTS

AGENT = Actor(Role.AGENT, "sky", "test")
KINDS = (
    "fact preference project decision crumb request result action insight error escalation "
    "user_interaction data"
).split()
LASTING = ["fact", "insight", "decision", "preference", "project"]


def test_the_kinds_are_those_that_were_promised() -> None:
    """R5: thirteen kinds, in the order in which an error lists them."""
    assert list(rules.KINDS) == KINDS


@every(
    "word",
    "tool tools web www http https url urls webpage webpages website websites webhook mail "
    "mails mailto email emails"
    " import imports imported".split(),
)
def test_each_word_for_somebody_elses_text_lowers_trust(word: str) -> None:
    """V8: one such word in a source is enough, in any case, beside others and within a
    name in code."""
    for source in (
        word,
        word.upper(),
        f"my {word}: x",
        f"x-{word}/1",
        f"my{word.capitalize()}Thing",
    ):
        assert rules.trust(Role.OPERATOR, source) is Trust.EXTERNAL


@pytest.mark.parametrize("layer", list(Layer))
def test_what_is_kept_under_a_layer_keeps_its_promises(layer: Layer) -> None:
    """R7: a draft goes to a layer with what that promises to its readers, and without it
    not at all."""
    metadata = CONTRACTS.get(layer.value, {})
    assert (
        rules.in_layer(layer, Draft(content="x", trust=Trust.AGENT, metadata=metadata)).layer
        is layer
    )
    if layer in (Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE):
        with pytest.raises(InvalidInput):
            rules.in_layer(layer, Draft(content="x", trust=Trust.AGENT))


@pytest.mark.parametrize("field", ["origin", "topic_tags"])
def test_semantic_memory_says_where_from_and_what_about(field: str) -> None:
    """R7: both are needed, by these names."""
    with pytest.raises(InvalidInput) as caught:
        rules.check_contract(
            Layer.SEMANTIC,
            {name: given for name, given in CONTRACTS["semantic"].items() if name != field},
        )
    assert caught.value.details["missing"] == [field]


@pytest.mark.parametrize(
    ("layer", "fields"),
    [
        (Layer.PROFILE, ["profile_key", "value", "reason"]),
        (Layer.PROCEDURAL, ["workflow", "canonical"]),
    ],
)
def test_a_contract_asks_for_all_its_fields(layer: Layer, fields: list[str]) -> None:
    """R7: all that is missing is told at once."""
    with pytest.raises(InvalidInput) as caught:
        rules.check_contract(layer, {})
    assert caught.value.details["missing"] == fields


@every("kind", KINDS)
@every("trust", list(Trust))
def test_where_a_promoted_memory_goes(kind: str, trust: Trust) -> None:
    """L2, R7, V8: lasting kinds become semantic with an origin and topics, unless they
    come from outside."""
    layer, metadata = rules.promoted(kind, trust, {"a": 1}, ("tea",))
    if kind in LASTING and trust is not Trust.EXTERNAL:
        assert (layer, metadata) == (
            Layer.SEMANTIC,
            {"origin": "promotion", "topic_tags": ["tea"], "a": 1},
        )
    else:
        assert (layer, metadata) == (Layer.EPISODIC, {"a": 1})


@pytest.mark.parametrize("origin", ["compression", "memory-review", "sleep"])
def test_nobody_promotes_what_says_that_an_engine_made_it(origin: str) -> None:
    """V8: what only engines make is not known because a short-term memory claims to be
    one of them."""
    given = {"origin": origin, "topic_tags": ["tea"]}
    assert rules.promoted("fact", Trust.AGENT, given, ()) == (Layer.EPISODIC, given)


def test_what_would_break_the_contract_is_kept_as_what_happened() -> None:
    """L2, R7: a memory whose own metadata breaks the promise is promoted, but not to
    what is known."""
    for given in ({"topic_tags": "tea"}, {"origin": "radar"}, {"origin": ""}):
        assert rules.promoted("fact", Trust.AGENT, given, ()) == (Layer.EPISODIC, given)


# Both sides of every limit


@pytest.mark.parametrize("check", [rules.importance, rules.confidence])
def test_both_ends_of_the_scale_count(check: Callable[[object], float]) -> None:
    """R4: 0 and 1 are numbers from 0 to 1, given as whole numbers too, and come back as floats."""
    assert [repr(check(0)), repr(check(1))] == ["0.0", "1.0"]
    for beyond in (math.nextafter(1, 2), math.nextafter(0, -1)):
        with pytest.raises(InvalidInput, match="between 0 and 1"):
            check(beyond)


def test_metadata_may_have_256_kib() -> None:
    """R6: the limit is in bytes of canonical JSON, and can be reached."""
    assert rules.metadata({}) == {}
    room = 256 * 1024 - len('{"a":""}')
    assert rules.metadata({"a": "x" * room}) == {"a": "x" * room}
    with pytest.raises(InvalidInput, match="262,145 bytes; the limit is 262,144"):
        rules.metadata({"a": "x" * (room + 1)})


def test_a_memory_may_have_256_tags() -> None:
    """R8: the limit can be reached."""
    assert len(rules.tags([f"t{number}" for number in range(256)])) == 256
    with pytest.raises(InvalidInput, match="257 tags are too many; 256 are allowed"):
        rules.tags(["x"] * 257)


def test_a_memory_may_have_very_many_references() -> None:
    """P1: a hundred thousand, and not one more."""
    assert rules.evidence(["a/b"] * 100_000) == ("a/b",)
    with pytest.raises(InvalidInput, match="100001 pieces of evidence are too many"):
        rules.evidence(["a/b"] * 100_001)


@pytest.mark.parametrize("half", ["Ana\ud800", "\udfffAna"])
def test_a_label_cannot_hold_half_a_pair(half: str) -> None:
    """R8: beside letters that can be seen, what cannot be stored is found all the same."""
    with pytest.raises(InvalidInput, match=r"^source contains half a surrogate pair"):
        rules.label(half, "source")


def test_a_reason_may_have_4096_bytes() -> None:
    """P2: a few words, not a document; secrets in it are no longer readable."""
    assert rules.reason("x" * 4096) == "x" * 4096
    with pytest.raises(InvalidInput, match="4,097 bytes"):
        rules.reason("x" * 4097)
    for nothing in ("", " ", "\u200b", None, 5, b"why"):
        with pytest.raises(InvalidInput, match="say why"):
            rules.reason(nothing)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (rules.hours, [1e-9, 1, 48.5, 1_000_000], [0, -1, 1_000_000.5]),
        (rules.days, [0, 0.5, 1_000_000 / 24], [-0.5, 1_000_000 / 24 + 1]),
    ],
)
def test_how_far_back_one_may_look(
    check: Callable[[object], float], good: list[float], bad: list[float]
) -> None:
    """L9, L11: hours are above 0, days may be 0, and both end with a million hours."""
    assert [check(value) for value in good] == good
    for value in [*bad, True, "5", None, math.nan, math.inf, 10**400]:
        with pytest.raises(InvalidInput, match=check.__name__):
            check(value)


def test_a_finite_number_is_a_number() -> None:
    """R4: whole numbers come back as floats; what is too large for one, infinite, or a yes
    is no number."""
    assert repr(rules.number(5, "x")) == "5.0"
    for value in (True, False, "5", None, math.nan, math.inf, 10**400):
        with pytest.raises(InvalidInput, match=r"x .* is not a number"):
            rules.number(value, "x")


def test_a_refused_move_tells_what_is_possible() -> None:
    """R3: exactly the states that a record may go to from where it is."""
    with pytest.raises(Refused, match=r"from superseded it can become active$"):
        rules.check_move(State.SUPERSEDED, State.TOMBSTONED, Role.OPERATOR)
    with pytest.raises(Refused, match=r"from constrained it can become active, tombstoned$"):
        rules.check_move(State.CONSTRAINED, State.SUPERSEDED, Role.OPERATOR)


@every(
    ("check", "value", "name"),
    [
        (rules.importance, 2, "importance 2"),
        (rules.importance_of_score, 11, "score 11"),
        (rules.confidence, 2, "confidence 2"),
        (lambda value: rules.trust(Role.AGENT, None, value), "high", "unknown trust"),
        (
            lambda value: rules.check_contract(
                Layer.PROFILE, {**CONTRACTS["profile"], "profile_key": value}
            ),
            "a\n",
            "profile_key",
        ),
        (rules.content, "a\0", "content contains a NUL"),
        (rules.tag, "a\n.", "tag 'a"),
        (rules.metadata, {"a": math.nan}, r"metadata\.a nan"),
        (rules.evidence, ["a/\n."], "evidence 'a/"),
        (rules.hours, "x", "hours 'x'"),
        (rules.days, "x", "days 'x'"),
        (rules.facets, {"\0": "a"}, "a name of metadata contains a NUL"),
        (rules.facets, {"a": "\0"}, "metadata a contains a NUL"),
    ],
)
def test_an_error_begins_with_what_is_wrong(
    check: Callable[[Any], object], value: Any, name: str
) -> None:
    """R1, H1: the first words name the field, so that whoever gave ten of them knows which."""
    with pytest.raises(InvalidInput, match=f"^{name}"):
        check(value)


@pytest.mark.parametrize("blank", [" ", "    "])
def test_spaces_alone_are_no_content(blank: str) -> None:
    """R8: a plain line of spaces says nothing, although every character of it can be printed."""
    with pytest.raises(InvalidInput, match="no visible character"):
        rules.content(blank)


def test_halves_of_pairs_beyond_the_limit_are_a_typed_error() -> None:
    """R8: what can neither be stored nor counted in bytes is too long all the same."""
    with pytest.raises(InvalidInput, match="the limit is 12"):
        rules.content("\ud800" * 13, 12)


# What filters take


def test_a_filter_takes_a_list() -> None:
    """Q3: nothing is no filter, a list stays in order, and a bare text is a mistake and not a row
    of letters."""
    assert rules.several(None, "tags") == ()
    assert rules.several(["b", "a"], "tags") == ("b", "a")
    assert rules.several({"a": 1}, "tags") == ("a",)
    for wrong in ("tea", 5, iter(["a"])):
        with pytest.raises(InvalidInput, match="is not a list"):
            rules.several(wrong, "tags")  # type: ignore[arg-type]


def test_names_and_plain_values_filter() -> None:
    """Q3: values are compared as they are indexed; a name has at most 256 characters; the rest is a
    typed error."""
    assert rules.facets(None) == ()
    assert rules.facets({"done": True, "n": 3, "x" * 256: "y"}) == (
        ("done", "true"),
        ("n", "3"),
        ("x" * 256, "y"),
    )
    for wrong in (
        "a=b",
        5,
        {1: "x"},
        {"a": None},
        {"a": [1]},
        {"a": "x" * 257},
        {"x" * 257: "a"},
        {"\0": "a"},
        {"a": "\0"},
    ):
        with pytest.raises(InvalidInput, match="metadata"):
            rules.facets(wrong)


def test_a_set_is_read_in_one_order() -> None:
    """Q6: a set has none of its own, so tags and evidence of one are the same in every process;
    lists keep theirs."""
    assert rules.tags({"b", "c", "a"}) == ("a", "b", "c")
    assert rules.evidence(frozenset({"b/2", "a/1"})) == ("a/1", "b/2")
    assert rules.tags(["b", "c", "a"]) == ("b", "c", "a")
    with pytest.raises(InvalidInput, match="tag 5 is a int"):
        rules.tags({"b", 5})


@pytest.mark.parametrize("reference", ["a:b", "a/b", "a\\b", "a.b"])
def test_any_sign_of_a_place_makes_a_reference(reference: str) -> None:
    """P1: a colon, a slash of either kind or a dot leads somewhere."""
    assert rules.evidence([reference]) == (reference,)


def test_a_query_with_half_a_pair_is_searched_for() -> None:
    """Q7: what cannot be stored may still be asked, and finds nothing that it should not; the limit
    is in bytes."""
    assert rules.query("tea \ud800") == "tea ?"
    assert rules.query("é" * (32 * 1024)) == "é" * (32 * 1024)
    with pytest.raises(InvalidInput, match="more than 65,536 bytes"):
        rules.query("é" * (32 * 1024) + "a")


# What comes back


def test_what_memory_context_gave_is_not_remembered_again() -> None:
    """Q9: the fence and all in it are taken out of a text; a text that is nothing else is refused,
    and so is metadata."""
    fenced = f"{fence.OPEN}\nsomething\n"
    assert fence.OPEN not in rules.content(f"I read: {fenced}{fence.CLOSE} and thought.")
    with pytest.raises(Refused, match="remembered already"):
        rules.content(f" {fenced}{fence.CLOSE} ")
    with pytest.raises(Refused, match="remembered already"):
        rules.metadata({"a": fenced})


class Loud(str):
    """A text of a class of its own that shows itself otherwise."""

    def __str__(self) -> str:
        return "LOUD"


@pytest.mark.parametrize("given", ["tea", "té\n"])
def test_a_text_of_another_class_is_kept_as_what_it_says(given: str) -> None:
    """R8: content and labels are plain texts afterwards, however their class shows itself."""
    kept = rules.content(Loud(given)), rules.label(Loud(given.strip()), "source")
    assert kept == (given, given.strip())
    assert {type(one) for one in kept} == {str}


# What a draft is made of


def test_each_field_of_a_draft_has_its_place() -> None:
    """R1: every field that a caller may give arrives, under its own name and checked."""
    when = datetime(2026, 5, 1, tzinfo=UTC)
    given: dict[str, Any] = {
        "content": "x",
        "kind": "fact",
        "layer": "episodic",
        "tags": [" A "],
        "importance": 0.25,
    }
    given |= {
        "confidence": 0.5,
        "metadata": {"a": 1},
        "evidence": ["a/b"],
        "source": "chat",
        "speaker": "Ana",
    }
    given |= {"session": "s", "key": "k", "at": when, "trust": "external"}
    made = rules.Drafter(AGENT, "ana").draft(given, "run")
    assert (made.content, made.kind, made.layer, made.tags, made.importance) == (
        "x",
        "fact",
        Layer.EPISODIC,
        ("a",),
        0.25,
    )
    assert (made.confidence, made.metadata, made.evidence, made.source) == (
        0.5,
        {"a": 1},
        ("a/b",),
        "chat",
    )
    assert (made.speaker, made.session, made.key, made.occurred_at, made.trust) == (
        "Ana",
        "s",
        "k",
        when,
        Trust.EXTERNAL,
    )
    assert (made.user, made.run_id) == ("ana", "run")


@every(
    "field",
    ["source", "speaker", "session", "key", "at", "timestamp", "ts", "trust", "layer", "kind"],
)
def test_an_error_names_the_field_that_was_given(field: str) -> None:
    """R1: whoever reads it knows which field was wrong, by the name that was used."""
    with pytest.raises(InvalidInput, match=rf"^(unknown )?{field} "):
        rules.Drafter(AGENT).draft({"content": "x", field: ["no"]})


def test_importance_that_is_not_given_is_left_open() -> None:
    """L8: a given importance is kept; without one the fields leave it to be judged."""
    drafter = rules.Drafter(AGENT)
    assert drafter.fields({"content": "x", "importance": 0.0})["importance"] == 0.0
    assert "importance" not in drafter.fields({"content": "x", "tags": ["a"]})


def test_any_mapping_is_a_memory() -> None:
    """R1: a mapping need not be a dict, and what is None was not given."""
    made = rules.Drafter(AGENT).draft(
        types.MappingProxyType({"content": "x", "speaker": None, "source": None})
    )
    assert (made.speaker, made.trust) == (None, Trust.AGENT)


def test_trust_of_a_draft_follows_from_source_and_wish() -> None:
    """V8: either of the two lowers it, without the other; without both it is the handle's own."""
    drafter = rules.Drafter(AGENT)
    assert drafter.draft({"content": "x"}).trust is Trust.AGENT
    assert drafter.draft({"content": "x", "source": "web:y"}).trust is Trust.EXTERNAL
    assert drafter.draft({"content": "x", "trust": "external"}).trust is Trust.EXTERNAL
    assert (
        drafter.draft({"content": "x", "source": "web:y", "trust": "agent"}).trust is Trust.EXTERNAL
    )


def test_a_draft_for_a_layer_keeps_its_contract() -> None:
    """R7: an operator too writes what is known only with what it promises."""
    operator = rules.Drafter(Actor(Role.OPERATOR, "ana", "test"))
    for metadata in (None, {"origin": "x", "topic_tags": ["a", 1]}):
        with pytest.raises(InvalidInput):
            operator.draft({"content": "x", "layer": "semantic", "metadata": metadata})


def test_what_stands_behind_a_missing_value_counts() -> None:
    """R1: None was not given; what comes after it was."""
    assert (
        rules.Drafter(AGENT).draft({"content": "x", "speaker": None, "session": "s"}).session == "s"
    )
