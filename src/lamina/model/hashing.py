"""Write canonical JSON and hashes of it. Pure; `docs/format.md` says the same in words."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from lamina.errors import Corrupt, InvalidInput
from lamina.text.words import shown

SALT_BYTES = 16
SALTS_AT_ONCE = 256
MAX_FACET = 256  # longer values are texts, which are searched and not used in filters
BYTES = range(0xDC80, 0xDD00)  # how Python represents bytes in arguments that are not UTF-8
MAX_DEPTH = 32
MAX_VALUES = 100_000
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def _builtin(value: Any) -> Any:
    """Convert texts, numbers and mappings of other classes to plain ones."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    raise TypeError(f"a {type(value).__name__} cannot be stored as JSON")


# Canonical JSON: UTF-8, keys sorted by code point, no spaces, and only necessary escapes. This is
# the encoder's own method, without a function around it, since it runs twice for every memory of a
# bulk load.
encode: Callable[[Any], bytes] = msgspec.json.Encoder(order="sorted", enc_hook=_builtin).encode
_decoder = msgspec.json.Decoder()


def decode(text: str | bytes) -> Any:
    """Parse JSON of any kind; anything else raises an error that a caller can recognise."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Corrupt(f"this is not JSON: {error}") from None


def salted_hash(salt: bytes, payload: bytes) -> bytes:
    """Hash a payload so that the hash reveals nothing about it once the salt is gone.

    So texts can be erased, and the audit trail remains valid.
    """
    return hashlib.sha256(salt + payload).digest()


class Salts:
    """Random salts, requested from the system many at a time.

    Each store has its own supply, which a forked process does not share.
    """

    def __init__(self) -> None:
        self._supply: list[bytes] = []

    def next(self) -> bytes:
        try:
            return self._supply.pop()
        except IndexError:
            pool = os.urandom(SALT_BYTES * SALTS_AT_ONCE)
            starts = range(0, len(pool), SALT_BYTES)
            self._supply = [pool[start : start + SALT_BYTES] for start in starts]
            return self._supply.pop()


def chain_seed(store_id: str, agent: str, name: str) -> bytes:
    """Hash the identity of the store, to which the first link of a chain refers."""
    return hashlib.sha256(encode([name, store_id, agent])).digest()


def chain_hash(previous: bytes, body: bytes) -> bytes:
    return hashlib.sha256(previous + body).digest()


def facet(value: object) -> str | None:
    """Write a plain value in the form that filters compare; None if too long or not plain."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**63 else None
    if isinstance(value, float):
        return encode(value).decode() if math.isfinite(value) else None
    return value if isinstance(value, str) and len(value) <= MAX_FACET else None


def check_json(value: object, name: str) -> None:
    """Raise unless the value survives a round trip through canonical JSON unchanged."""
    if not _is_plain_mapping(value):
        _check(value, name, 0, iter(range(MAX_VALUES)))


def _check(value: object, name: str, depth: int, budget: Iterator[int]) -> None:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{name} is nested deeper than {MAX_DEPTH} levels")
    if next(budget, None) is None:
        raise InvalidInput(f"{name} is one value too many: {MAX_VALUES:,} are allowed")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        check_text(value, name)
    elif isinstance(value, int):
        if not SMALLEST <= value <= LARGEST:
            raise InvalidInput(f"{name} {shown(value)} does not fit into 64 bits; store it as text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} {value} is not a number that JSON can hold")
    elif isinstance(value, (dict, Mapping)):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{name} has the key {shown(key)}; keys are texts")
            check_text(key, f"a key of {name}")
            _check(item, f"{name}.{key}", depth + 1, budget)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _check(item, f"{name}[{index}]", depth + 1, budget)
    else:
        raise InvalidInput(f"{name} is a {type(value).__name__}, which JSON cannot hold")


def _is_plain_mapping(value: object) -> bool:
    """Tell if a value maps names to integers and short lines of ASCII, as most metadata does."""
    if type(value) is not dict or len(value) >= MAX_VALUES:
        return False
    for key, item in value.items():
        if not (type(key) is str and key.isascii() and key.isprintable()):
            return False
        if type(item) is str:
            if not (item.isascii() and item.isprintable()):
                return False
        elif not (type(item) is int and SMALLEST <= item <= LARGEST):
            return False
    return True


def check_text(text: str, name: str) -> None:
    """Raise if a text cannot be stored: a NUL, or half of a surrogate pair."""
    if "\0" in text:
        raise InvalidInput(
            f"{name} contains a NUL character at position {text.index(chr(0))}; remove it"
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(_undecodable(text, error.start, name)) from None


def _undecodable(text: str, place: int, name: str) -> str:
    """Say what cannot be encoded in UTF-8: a byte that Python could not decode, or half a pair."""
    if ord(text[place]) in BYTES:
        byte = f"the byte 0x{ord(text[place]) - 0xDC00:02x} at position {place}"
        return f"{name} is not valid UTF-8: {byte}; write it in UTF-8, or remove it"
    return f"{name} contains half a surrogate pair at position {place}; remove it"
