"""What is allowed: moves, layers, contracts, numbers, texts, trust."""

from __future__ import annotations

import itertools
import math
import types
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, Refused
from lamina.model import rules
from lamina.model.record import Actor, Layer, Role, State, Trust, score_of
from tests.cases import every
from tests.conftest import CONTRACTS

ACTIVE, CONSTRAINED, SUPERSEDED, TOMBSTONED = (
    State.ACTIVE,
    State.CONSTRAINED,
    State.SUPERSEDED,
    State.TOMBSTONED,
)
# R3, written out a second time on purpose: the table in the source must not be its own proof.
LEGAL = {
    (CONSTRAINED, ACTIVE),
    (CONSTRAINED, TOMBSTONED),
    (ACTIVE, SUPERSEDED),
    (ACTIVE, TOMBSTONED),
    (SUPERSEDED, ACTIVE),
    (TOMBSTONED, ACTIVE),
    (TOMBSTONED, CONSTRAINED),
    (ACTIVE, CONSTRAINED),
}
PAIRS = list(itertools.product(State, State))
RADAR = {
    "repo_slug": "a/b",
    "source_handle": "@x",
    "source_url": "https://x.org",
    "confidence": 0.5,
    "evidence_refs": ["r"],
}
HUGE = 10**5000
KEPT = [Layer.SHORT_TERM, Layer.EPISODIC]
AGENT = Actor(Role.AGENT, "sky", "test")
OPERATOR = Actor(Role.OPERATOR, "ana", "test")


@every(("before", "after"), PAIRS)
def test_an_operator_may_make_exactly_the_legal_moves(before: State, after: State) -> None:
    """R3, V10: of the 16 pairs of states, eight are legal moves; the others are a typed error that says
    what is possible."""
    if (before, after) in LEGAL:
        rules.check_move(before, after, Role.OPERATOR)
    else:
        with pytest.raises(
            Refused, match=f"cannot go from {before} to {after}; from {before} it can become"
        ):
            rules.check_move(before, after, Role.OPERATOR)


@every("role", [Role.AGENT, Role.SYSTEM])
@every(("before", "after"), PAIRS)
def test_only_an_operator_undoes(before: State, after: State, role: Role) -> None:
    """R3, V10: what is tombstoned comes back by operators alone, whatever else is legal for agents
    and the system."""
    if (before, after) in LEGAL - {(TOMBSTONED, ACTIVE), (TOMBSTONED, CONSTRAINED)}:
        rules.check_move(before, after, role)
    else:
        with pytest.raises(Refused):
            rules.check_move(before, after, role)


@every("role", list(Role))
@every("layer", list(Layer))
def test_layers_in_which_a_memory_may_start(layer: Layer, role: Role) -> None:
    """R2: agents start in short-term and episodic memory; operators may write every layer; working
    needs a run."""
    if layer is Layer.WORKING:
        with pytest.raises(InvalidInput, match="lives in a run"):
            rules.check_layer(layer, role, None)
    elif layer in KEPT or role is Role.OPERATOR:
        rules.check_layer(layer, role, None)
    else:
        with pytest.raises(Refused, match="an agent cannot write"):
            rules.check_layer(layer, role, None)


@pytest.mark.parametrize("role", list(Role))
def test_working_memory_starts_in_a_run(role: Role) -> None:
    """R2, L10: within a run, working memory is open to everybody."""
    rules.check_layer(Layer.WORKING, role, "run")


@pytest.mark.parametrize("layer", [Layer.SEMANTIC, Layer.PROCEDURAL, Layer.PROFILE])
def test_a_contract_names_each_missing_field(layer: Layer) -> None:
    """R7: the metadata of semantic, procedural and profile memory is checked, and the error names
    what is missing."""
    full = CONTRACTS[layer]
    rules.check_contract(layer, full)
    for field in rules.CONTRACTS[layer]:
        for empty in ({}, {field: None}, {field: ""}):
            with pytest.raises(InvalidInput, match=field) as caught:
                rules.check_contract(
                    layer, {**{k: v for k, v in full.items() if k != field}, **empty}
                )
            assert caught.value.details["missing"] == [field]


@pytest.mark.parametrize("field", list(RADAR))
def test_radar_needs_more(field: str) -> None:
    """R7: semantic memory whose origin is radar also says where it was seen."""
    radar = {"origin": "radar", "topic_tags": ["x"], **RADAR}
    rules.check_contract(Layer.SEMANTIC, radar)
    with pytest.raises(InvalidInput, match=field):
        rules.check_contract(Layer.SEMANTIC, {k: v for k, v in radar.items() if k != field})


@pytest.mark.parametrize("layer", [Layer.WORKING, Layer.SHORT_TERM, Layer.EPISODIC, Layer.WORLD])
def test_other_layers_promise_nothing(layer: Layer) -> None:
    """R7: only three layers have a contract."""
    rules.check_contract(layer, {})


@every(
    ("layer", "change"),
    [
        ("semantic", {"topic_tags": "tea"}),
        ("semantic", {"topic_tags": [1]}),
        ("semantic", {"topic_tags": {"a": 1}}),
        ("procedural", {"workflow": "Morning Briefing"}),
        ("procedural", {"workflow": "a--b"}),
        ("procedural", {"workflow": "a\n"}),
        ("procedural", {"workflow": 7}),
        ("profile", {"profile_key": "\u200b"}),
        ("profile", {"profile_key": ["a"]}),
        ("profile", {"profile_key": "a\nb"}),
    ],
)
def test_contract_fields_have_their_form(layer: str, change: dict[str, Any]) -> None:
    """R7: tags are a list of texts, a workflow is a stable slug, a profile key is a label."""
    with pytest.raises(InvalidInput):
        rules.check_contract(Layer(layer), {**CONTRACTS[layer], **change})


@given(st.floats(0, 1))
@example(0.7)
def test_seven_and_seventy_percent_are_one_threshold(importance: float) -> None:
    """R4: score ≥ n exactly when importance ≥ n/10, for every float."""
    score = score_of(rules.importance(importance))
    assert 0 <= score <= 10
    for threshold in range(11):
        assert (score >= threshold) == (importance >= threshold / 10)


@every("tenth", range(11))
def test_the_threshold_is_sharp(tenth: int) -> None:
    """R4: one float below a tenth has the lower score, a tenth and the float above it
    have its own."""
    exact = tenth / 10
    assert score_of(exact) == tenth
    if tenth:
        assert score_of(math.nextafter(exact, 0)) == tenth - 1
    if tenth < 10:
        assert score_of(math.nextafter(exact, 1)) == tenth


@every("score", range(11))
def test_a_score_is_a_tenth(score: int) -> None:
    """R4: 0 to 10 is read as score/10 and written back as the same score."""
    assert rules.importance_of_score(score) == score / 10
    assert score_of(rules.importance_of_score(score)) == score


@every(
    "value",
    ["high", "0.5", math.nan, math.inf, -math.inf, 1.1, -0.1, True, False, None, [], 2, 1 + 1e-9],
)
def test_importance_is_a_number_from_0_to_1(value: object) -> None:
    """R4: out of range, NaN, a bool, a string or nothing at all is a typed error."""
    with pytest.raises(InvalidInput, match="importance"):
        rules.importance(value)
    with pytest.raises(InvalidInput, match="confidence"):
        rules.confidence(value)


@pytest.mark.parametrize("value", [11, -1, 10.5, "7", True, None, math.nan])
def test_score_is_a_number_from_0_to_10(value: object) -> None:
    """R4: the scale of the score ends at 10."""
    with pytest.raises(InvalidInput, match="score"):
        rules.importance_of_score(value)


@pytest.mark.parametrize(
    "check", [rules.importance, rules.importance_of_score, rules.confidence, rules.limit]
)
def test_a_number_too_long_to_print_is_a_typed_error(check: Any) -> None:
    """R4, Q7: a number of 5,000 digits is out of range like any other, although Python will not
    print it."""
    with pytest.raises(InvalidInput):
        check(HUGE)


def test_zero_has_no_sign() -> None:
    """R4: -0.0 is stored as 0.0, so that equal importances have equal bytes."""
    assert math.copysign(1, rules.importance(-0.0)) == 1
    assert math.copysign(1, rules.importance_of_score(-0.0)) == 1


@every("kind", rules.KINDS)
def test_known_kinds(kind: str) -> None:
    """R5: thirteen kinds are known."""
    assert rules.kind(kind) == kind
    assert len(rules.KINDS) == 13


@pytest.mark.parametrize("kind", ["Fact", "", "recipe", None, 5, ["fact"]])
def test_an_unknown_kind_lists_the_known(kind: object) -> None:
    """R5: the error lists what is known, in words and as data."""
    with pytest.raises(InvalidInput, match="known are fact, preference") as caught:
        rules.kind(kind)
    assert caught.value.details["known"] == list(rules.KINDS)


@every(
    "value",
    [
        "",
        " \t\r\n\u00a0\u3000",
        "\u200b\u200d\ufeff",
        "\u3164",
        "\u2800\u2800",
        "\u115f\u1160\uffa0",
        "\U000e0041\U000e007f",
        "\u0301",
        "\ufe0f\ufe00\U000e0100",
        "\u180b\u180e",
        "\u202e\u2066\u2069",
        "\x07\x1b",
        "_\0",
        "a\0",
        "a line\nand a NUL\0",
        "\ud800",
        "a\udfff",
        None,
        5,
        b"text",
        ["text"],
    ],
)
def test_content_must_be_visible_and_storable(value: object) -> None:
    """R8: empty, blank, invisible, NUL, half a surrogate pair, or no text at all is
    a typed error."""
    with pytest.raises(InvalidInput, match="content"):
        rules.content(value)


@every(
    "value",
    [
        "a",
        "_",
        ".",
        "1",
        "é",
        "e\u0301",
        "猫",
        "😀",
        "\u200ba",
        "\u3164a",
        "€",
        "👩‍👧",
        "\n.\n",
        "a\x07",
    ],
)
def test_one_visible_character_is_enough(value: str) -> None:
    """R8: content is kept as it is once a reader sees something."""
    assert rules.content(value) == value


@every(("letter", "width"), [("a", 1), ("é", 2), ("猫", 3), ("😀", 4)])
@every("limit", [12, 120, 12_000])
def test_the_limit_is_in_bytes_and_exact(letter: str, width: int, limit: int) -> None:
    """R8: content may reach the limit, and one byte more is an error, in every width of UTF-8."""
    full = letter * (limit // width)
    assert rules.content(full, limit) == full
    with pytest.raises(InvalidInput, match="the limit is"):
        rules.content(full + "a", limit)


def test_the_default_limit_is_one_mebibyte() -> None:
    """R8: 1 MiB."""
    rules.content("a" * 2**20)
    with pytest.raises(InvalidInput, match="1,048,577"):
        rules.content("a" * (2**20 + 1))


@given(
    st.lists(
        st.text(
            st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")),
            min_size=1,
            max_size=6,
        ),
        max_size=6,
    )
)
def test_tags_are_normal_after_once(values: list[str]) -> None:
    """R8: normalising tags twice is normalising them once, and no tag is twice in the list."""
    try:
        once = rules.tags(values)
    except InvalidInput:
        return
    assert rules.tags(once) == once
    assert len(set(once)) == len(once)
    assert all(tag == tag.strip() == tag.lower() for tag in once)


@pytest.mark.parametrize("item", [["tea"], {}, 1, None])
def test_a_tag_of_another_type_is_refused_each_time(item: object) -> None:
    """R8: what is no text is no tag, whether or not it can be compared."""
    for _ in range(2):
        with pytest.raises(InvalidInput, match="not a text"):
            rules.tags(["tea", item])


def test_tags_keep_their_order() -> None:
    """R8: stripped, lower-cased, deduplicated in order."""
    assert rules.tags([" B ", "a", "b", "A", "project:Tea"]) == ("b", "a", "project:tea")


def test_blank_items_are_dropped() -> None:
    """R8: an empty field of a form is no tag and no evidence, and no reason to lose a memory."""
    assert rules.tags(["", "a", " \t", "b", "\n"]) == ("a", "b")
    assert rules.tags([""]) == ()
    assert rules.evidence([" ", "a/b", ""]) == ("a/b",)
    assert rules.evidence(["\u3000"]) == ()


def test_a_filter_by_blank_tags_alone_is_a_mistake() -> None:
    """R8, Q3: dropping them all would filter nothing, and find or prune everything."""
    assert rules.tags_to_find(["", "A"], "tags") == ("a",)
    assert rules.tags_to_find(None, "tags") == rules.tags_to_find([], "tags") == ()
    with pytest.raises(InvalidInput, match=r"all_tags .* blank"):
        rules.tags_to_find(["", " "], "all_tags")


@every(
    "value",
    [
        "tea",
        5,
        None,
        ["\u200b"],
        [5],
        [None],
        ["a\nb"],
        ["a\0"],
        ["\ud800"],
        ["x" * 257],
        ["x"] * 257,
        iter(["a"]),
    ],
)
def test_bad_tags(value: object) -> None:
    """R8: tags are a list of short visible texts."""
    with pytest.raises(InvalidInput, match="tag"):
        rules.tags(value)


@pytest.mark.parametrize(
    "break_",
    ["\n", "\r", "\t", "\x7f", "\x85", "\x9b31m", "\u2028", "\u2029"],
    ids=["LF", "CR", "TAB", "DEL", "NEL", "CSI", "LS", "PS"],
)
def test_a_label_is_on_one_line_without_control_characters(break_: str) -> None:
    """R8: no speaker, source or tag can end a line or steer a terminal, in ASCII or beyond it."""
    with pytest.raises(InvalidInput, match="control"):
        rules.label(f"Ana{break_}Ben", "speaker")


@pytest.mark.parametrize(
    "value", [5, None, "", "   ", "\u3164", "a\0", "\udc00", "x" * 257, b"Ana"]
)
def test_bad_labels(value: object) -> None:
    """R1: speaker, session, source and key are short visible texts."""
    with pytest.raises(InvalidInput, match="speaker"):
        rules.label(value, "speaker")


def test_a_label_may_have_256_characters() -> None:
    """R1: the limit is counted in characters and can be reached."""
    assert rules.label("é" * 256, "source") == "é" * 256


@pytest.mark.parametrize(
    "reference",
    [
        "0" * 26,
        "https://example.org/a",
        "mail:1",
        "notes/2026.md",
        "C:\\notes",
        "./x",
        "record:abc",
    ],
)
def test_evidence_is_ids_urls_and_paths(reference: str) -> None:
    """P1: evidence holds record ids, URLs and paths, each once."""
    assert rules.evidence([reference, reference]) == (reference,)


@every("value", ["x", None, 5, ["x"], ["0" * 25], ["I" * 26], [5], ["a/\n"], ["a/\0"]])
def test_bad_evidence(value: object) -> None:
    """P1: what can lead nowhere is an error, which says how to write a file."""
    with pytest.raises(InvalidInput, match="evidence"):
        rules.evidence(value)


@every(
    ("given", "kind"),
    [
        ({"metadata": {"type": "error"}}, "error"),
        ({"metadata": {"type": "recipe"}}, "recipe"),
        ({"metadata": {"type": "error"}, "kind": "fact"}, "fact"),
        ({"metadata": {"type": "error"}, "kind": None}, "error"),
        ({"metadata": {"type": "weather"}}, "crumb"),
        ({"metadata": {"type": "Error"}}, "crumb"),
        ({"metadata": {"type": ["error"]}}, "crumb"),
        ({"metadata": {"type": {"error": 1}}}, "crumb"),
        ({"metadata": {"type": None}}, "crumb"),
        ({"metadata": {"kind": "error"}}, "crumb"),
        ({"metadata": {}}, "crumb"),
    ],
)
def test_the_kind_may_be_in_the_metadata(given: dict[str, Any], kind: str) -> None:
    """R5, R6, H7: `metadata.type` is the kind where none is given, as on a line of Sky; a type that
    is no kind is plain metadata. It stays as it was given."""
    drafter = rules.Drafter(AGENT, kinds=(*rules.KINDS, "recipe"))
    draft = drafter.draft({"content": "x", **given})
    assert (draft.kind, draft.metadata) == (kind, given["metadata"])


def test_evidence_has_a_limit() -> None:
    """P1: a record leads to many others, not to any number."""
    with pytest.raises(InvalidInput, match="too many"):
        rules.evidence(["a/b"] * (rules.MAX_EVIDENCE + 1))


@pytest.mark.parametrize(
    "value",
    [5, [], "x", {"a": math.nan}, {"a": {1, 2}}, {5: 1}, {"a": b"x"}, {"a": 2**63}, {"a": "\0"}],
)
def test_metadata_is_what_json_can_hold(value: object) -> None:
    """R6: what would not come back as it was given is an error."""
    with pytest.raises(InvalidInput, match="metadata"):
        rules.metadata(value)


class Word(str):
    """A text of a class of its own, as many libraries return them."""


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        ({"category": Word("x")}, {"category": "x"}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        ({"a": types.MappingProxyType({"b": 1})}, {"a": {"b": 1}}),
        ({"layer": Layer.WORLD}, {"layer": "world"}),
        ({"a": (1, 2)}, {"a": [1, 2]}),
    ],
    ids=["text-subclass", "proxy", "nested-proxy", "enum", "tuple"],
)
def test_metadata_takes_every_mapping_and_text(given_: Any, kept: dict[str, Any]) -> None:
    """R6: a value that passes the check can also be stored; it is no untyped error afterwards."""
    assert rules.metadata(given_) == kept


def test_metadata_is_a_copy_with_a_limit() -> None:
    """R6: what the caller changes later changes nothing here, and 256 KiB are
    enough for metadata."""
    given_ = {"a": [1]}
    kept = rules.metadata(given_)
    given_["a"].append(2)
    assert kept == {"a": [1]}
    with pytest.raises(InvalidInput, match="bytes"):
        rules.metadata({"a": "x" * rules.MAX_METADATA_BYTES})


@every(
    ("role", "source", "expected"),
    [
        (Role.OPERATOR, None, Trust.OPERATOR),
        (Role.AGENT, None, Trust.AGENT),
        (Role.SYSTEM, None, Trust.AGENT),
        (Role.AGENT, "chat", Trust.AGENT),
        (Role.AGENT, "toolbox", Trust.AGENT),
        *(
            (role, source, Trust.EXTERNAL)
            for role in Role
            for source in ("web:https://x", "tool", "Mail:1", " import :x", "WEB")
        ),
    ],
)
def test_trust_follows_from_surface_and_source(
    role: Role, source: str | None, expected: Trust
) -> None:
    """V8: operators and agents vouch for what they say; tool, web, mail and import
    make anything external."""
    assert rules.trust(role, source) is expected


@every("role", list(Role))
@every("source", [None, "web:x"])
@every("asked", list(Trust))
def test_trust_is_lowered_never_raised(role: Role, source: str | None, asked: Trust) -> None:
    """V8: a caller's own trust counts only where it is lower."""
    order = [Trust.OPERATOR, Trust.AGENT, Trust.EXTERNAL]
    given_ = rules.trust(role, source)
    assert order.index(rules.trust(role, source, asked)) == max(
        order.index(given_), order.index(asked)
    )


def test_unknown_trust_is_an_error() -> None:
    """V8: a word that is no trust is not taken for a low one."""
    with pytest.raises(InvalidInput, match="known are operator, agent, external"):
        rules.trust(Role.AGENT, None, "high")


@given(st.lists(st.sampled_from(list(Trust)), min_size=1))
def test_what_is_derived_has_the_lowest_trust(values: list[Trust]) -> None:
    """V8: one external source makes the whole external."""
    expected = next(
        trust for trust in (Trust.EXTERNAL, Trust.AGENT, Trust.OPERATOR) if trust in values
    )
    assert rules.lowest_trust(values) is expected


@pytest.mark.parametrize("value", [0, -1, 10_001, True, False, "5", 5.0, None, math.inf])
def test_limit_bounds(value: object) -> None:
    """Q7: a limit is a whole number from 1 to 10,000."""
    with pytest.raises(InvalidInput, match="limit"):
        rules.limit(value)


def test_limits_that_are_allowed() -> None:
    """Q7: both ends count."""
    assert [rules.limit(1), rules.limit(10_000)] == [1, 10_000]


@pytest.mark.parametrize("value", [None, 5, b"x", ["x"], "x" * (64 * 1024 + 1), "猫" * 21846])
def test_a_query_is_text_of_at_most_64_kib(value: object) -> None:
    """Q7: a non-string or more than 64 KiB is an error."""
    with pytest.raises(InvalidInput, match="query"):
        rules.query(value)


def test_a_query_may_be_empty_or_full() -> None:
    """Q7: nothing to look for is no error, nor is a text of exactly 64 KiB."""
    assert rules.query("") == ""
    assert len(rules.query("x" * 64 * 1024)) == 64 * 1024


@every(
    ("item", "message"),
    [
        ("text", "a memory is a mapping"),
        (None, "a memory is a mapping"),
        ({}, "content is missing"),
        ({"content": None}, "content is missing"),
        ({"content": "x", "colour": "red"}, "unknown field 'colour'"),
        ({"content": "x", "user": "ana"}, "unknown field 'user'"),
        ({"content": "x", "state": "active"}, "unknown field 'state'"),
        ({"content": "x", 5: 1}, "unknown field 5"),
        ({"content": "x", "importance": 0.5, "score": 5}, "repeats"),
        ({"content": "x", "ts": 1, "timestamp": "2026-01-01T00:00:00Z"}, "repeats"),
        ({"content": "x", "layer": "attic"}, "unknown layer 'attic'; known are working"),
    ],
)
def test_a_draft_says_what_is_wrong(item: object, message: str) -> None:
    """R1, V7: only known fields, each once; authority and scope are never taken
    from the payload."""
    with pytest.raises(InvalidInput, match=message):
        rules.Drafter(AGENT).draft(item)


@every(
    ("spelling", "field", "expected"),
    [
        ({"score": 7}, "importance", 0.7),
        ({"importance": 0.7}, "importance", 0.7),
        ({"ts": 0}, "occurred_at", "1970-01-01"),
        ({"timestamp": "1970-01-01T00:00:00Z"}, "occurred_at", "1970-01-01"),
        ({"at": 0.0}, "occurred_at", "1970-01-01"),
        ({}, "importance", 0.5),
        ({}, "kind", "crumb"),
        ({}, "layer", "short_term"),
        ({}, "confidence", 1.0),
        ({}, "user", "ana"),
    ],
)
def test_a_draft_reads_both_spellings_and_fills_the_rest(
    spelling: dict[str, Any], field: str, expected: object
) -> None:
    """R4, R5: score or importance, ts or timestamp; without a kind `crumb`, without
    an importance 0.5."""
    made = getattr(rules.Drafter(AGENT, "ana").draft({"content": "x", **spelling}), field)
    assert (str(made)[:10] if field == "occurred_at" else made) == expected


def test_a_draft_knows_who_writes() -> None:
    """V7, V8: the same payload has the trust and the rights of its surface."""
    item = {"content": "x", "layer": "semantic", "metadata": CONTRACTS["semantic"]}
    assert rules.Drafter(OPERATOR).draft(item).trust is Trust.OPERATOR
    with pytest.raises(Refused):
        rules.Drafter(AGENT).draft(item)


def test_extra_kinds_and_limits_are_the_handles_own() -> None:
    """R5, R8: settings may add kinds and change the limit; the error then lists the
    added ones too."""
    drafter = rules.Drafter(AGENT, None, (*rules.KINDS, "recipe"), 5)
    assert drafter.draft({"content": "x", "kind": "recipe"}).kind == "recipe"
    with pytest.raises(InvalidInput, match=r"data, recipe"):
        drafter.draft({"content": "x", "kind": "receipt"})
    with pytest.raises(InvalidInput, match="the limit is 5"):
        drafter.draft({"content": "123456"})
