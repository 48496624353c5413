"""Canonical JSON and the hashes over it."""

from __future__ import annotations

import hashlib
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import Corrupt, InvalidInput
from lamina.model import hashing
from tests.cases import every
from tests.unit.strategies import JSON


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of its mappings in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


@given(JSON)
def test_what_is_encoded_comes_back(value: Any) -> None:
    """R6, H5: decode(encode(x)) is x, with the types of its numbers."""
    again = hashing.decode(hashing.encode(value))
    assert again == value
    assert repr(again) == repr(shuffled_like(value))


def shuffled_like(value: Any) -> Any:
    """The value with its keys in the order in which canonical JSON has them."""
    if isinstance(value, dict):
        return {key: shuffled_like(value[key]) for key in sorted(value)}
    return [shuffled_like(item) for item in value] if isinstance(value, list) else value


@given(JSON, st.integers())
def test_equal_values_have_equal_bytes(value: Any, seed: int) -> None:
    """P4, Q6: the order in which keys were written makes no difference."""
    assert hashing.encode(shuffled(value, random.Random(seed))) == hashing.encode(value)


@given(JSON)
def test_encoding_is_a_fixed_point(value: Any) -> None:
    """P4: encoding what was decoded gives the same bytes, and any JSON reader understands them."""
    encoded = hashing.encode(value)
    assert hashing.encode(hashing.decode(encoded)) == encoded
    assert json.loads(encoded) == value


@given(JSON)
def test_the_check_accepts_all_of_json(value: Any) -> None:
    """R6: what JSON can hold passes the check."""
    hashing.check_json({"x": value}, "metadata")


def test_the_form_is_fixed() -> None:
    """P4: keys by code point, no spaces, text unescaped; docs and other programs rely
    on these bytes."""
    value = {"é": 1, "z": [1.0, -0.0, True, None], "A": 'ü\n"', "": {}}
    assert hashing.encode(value) == '{"":{},"A":"ü\\n\\"","z":[1.0,-0.0,true,null],"é":1}'.encode()


@every(
    "value",
    [
        math.nan,
        math.inf,
        2**63,
        -(2**63) - 1,
        10**5000,
        {1: "x"},
        {None: "x"},
        {"a": {1, 2}},
        {"a": b"bytes"},
        {"a": object()},
        "\0",
        {"\0": 1},
        "\ud800",
        {"\udfff": 1},
        [[[["\0"]]]],
    ],
)
def test_the_check_rejects_what_would_not_come_back(value: Any) -> None:
    """R6: NaN, integers beyond 64 bits, keys that are no texts, sets, NUL and half pairs
    are typed errors."""
    with pytest.raises(InvalidInput, match="metadata"):
        hashing.check_json(value, "metadata")


def test_the_check_names_the_place() -> None:
    """R6: the message leads to the value that is wrong."""
    with pytest.raises(InvalidInput, match=r"metadata\.a\[1\]\.b nan"):
        hashing.check_json({"a": [0, {"b": math.nan}]}, "metadata")


def nested(depth: int, kind: type) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
def test_nesting_has_a_limit(kind: type) -> None:
    """R6: 32 levels are enough; a deeper value, even an endless one, is a typed error
    and no crash."""
    hashing.check_json(nested(32, kind), "metadata")
    with pytest.raises(InvalidInput, match="deeper than 32"):
        hashing.check_json(nested(33, kind), "metadata")
    with pytest.raises(InvalidInput, match="deeper than 32"):
        hashing.check_json(nested(900, kind), "metadata")


def test_an_endless_value_ends() -> None:
    """R6: a list that contains itself is too deep, not a loop."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidInput, match="deeper"):
        hashing.check_json(endless, "metadata")


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16), st.binary())
def test_the_salt_decides_the_hash(salt: bytes, other: bytes, payload: bytes) -> None:
    """P4: the same text under another salt has another hash, so a hash without its
    salt says nothing."""
    assert (hashing.salted_hash(salt, payload) == hashing.salted_hash(other, payload)) == (
        salt == other
    )


def test_chains_of_different_stores_differ_from_the_start() -> None:
    """P4: a chain hangs on the store's id, the agent and the chain's own name."""
    seeds = {
        hashing.chain_seed(store, agent, name)
        for store in "ab"
        for agent in ("x", "y")
        for name in ("events", "reads")
    }
    assert len(seeds) == 8
    assert (
        hashing.chain_hash(b"1", b"23")
        == hashing.chain_hash(b"1", b"23")
        != hashing.chain_hash(b"2", b"23")
    )


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_a_whole_number_may_have_64_bits(value: int) -> None:
    """R6: both ends of what 64 bits hold are stored as they are."""
    hashing.check_json({"x": value}, "metadata")
    assert hashing.decode(hashing.encode(value)) == value


def test_values_have_a_limit() -> None:
    """R6: 100,000 values are enough, the list around them counted; one more is a typed error that
    says so."""
    hashing.check_json([0] * 99_999, "metadata")
    with pytest.raises(InvalidInput, match="one value too many: 100,000 are allowed"):
        hashing.check_json([0] * 100_000, "metadata")


@pytest.mark.parametrize("broken", ["", "{", b"[1,", "nan", "{'a': 1}", "[" * 100_000])
def test_what_is_no_json_is_corrupt(broken: str | bytes) -> None:
    """H5: bytes that are not JSON, however deep, are one typed error."""
    with pytest.raises(Corrupt, match="not JSON"):
        hashing.decode(broken)


@every(
    ("value", "told"),
    [
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (2**63 - 1, "9223372036854775807"),
        (2**63, None),
        (-(2**63), None),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (math.inf, None),
        (math.nan, None),
        ("tea", "tea"),
        ("", ""),
        ("x" * 256, "x" * 256),
        ("x" * 257, None),
        (None, None),
        (["tea"], None),
        ({"tea": 1}, None),
    ],
)
def test_a_plain_value_can_be_filtered_by(value: object, told: str | None) -> None:
    """Q3: texts of 256 characters, numbers and yes or no are compared as they are written; all else
    is no facet."""
    assert hashing.facet(value) == told


class Text(str):
    """A text of a class of its own that shows itself otherwise."""

    def __str__(self) -> str:
        return "something else"


class Whole(int):
    """A whole number of a class of its own."""


class Share(float):
    """A number of a class of its own."""


def test_values_of_other_classes_are_what_they_stand_for() -> None:
    """R6: a subclass is stored as its plain value; what stands for no value of JSON is an error,
    not a null."""
    assert hashing.encode([Text("tea"), Whole(2**40), Share(0.5)]) == b'["tea",1099511627776,0.5]'
    with pytest.raises(TypeError, match="a object cannot be stored as JSON"):
        hashing.encode([object()])


def test_each_salt_is_new_and_whole() -> None:
    """P4: salts have 16 bytes and do not repeat, also when those that were asked for at
    once run out."""
    salts = hashing.Salts()
    drawn = [salts.next() for _ in range(3 * hashing.SALTS_AT_ONCE + 1)]
    assert {len(salt) for salt in drawn} == {16}
    assert len(set(drawn)) == len(drawn)


def test_an_error_leads_to_the_character() -> None:
    """R8: a NUL, half a pair or a byte that is no UTF-8 is told with its position; a text with neither passes."""
    hashing.check_text("naïve 😀", "content")
    with pytest.raises(InvalidInput, match="NUL character at position 2"):
        hashing.check_text("ab\0", "content")
    with pytest.raises(InvalidInput, match="half a surrogate pair at position 3"):
        hashing.check_text("abc\ud800", "content")
    given = b"ab\xff".decode(errors="surrogateescape")  # as a program is given its arguments
    with pytest.raises(InvalidInput, match="the byte 0xff at position 2; write it in"):
        hashing.check_text(given, "content")


def test_hashes_are_those_that_the_format_says() -> None:
    """P4: SHA-256 over the salt and the payload, over the link before and the body; other programs
    compute the same."""
    assert hashing.salted_hash(b"salt", b"payload") == hashlib.sha256(b"saltpayload").digest()
    assert hashing.chain_hash(b"before", b"body") == hashlib.sha256(b"beforebody").digest()
    assert (
        hashing.chain_seed("id", "sky", "events")
        == hashlib.sha256(b'["events","id","sky"]').digest()
    )
