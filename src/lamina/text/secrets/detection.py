"""Secrets in texts, in memories and in configs: where they stand, and which variables are named in their place. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lamina.errors import InvalidInput
from lamina.text.secrets import folding, patterns, phrases, seeds
from lamina.text.secrets.patterns import GONE, PLACEHOLDER, lazy
from lamina.text.secrets.patterns import Found as Found
from lamina.text.secrets.phrases import (
    DIGITS,
    HOLDERS,
    MADE_BY_MACHINES,
    REFERENCE,
    SPOKEN,
    TALK,
    VARIABLE,
    Name,
)

MAX_DEPTH = 64
MAX_VALUES = 100_000
KINDS = frozenset((*patterns.KINDS, *phrases.KINDS, seeds.SEED))
MARK = "[redacted: "
MARKED = lazy(rf"\[redacted: (?i:{'|'.join(map(re.escape, sorted(KINDS)))})\]")
ROUNDS = 4  # what a secret hid is looked for again, as long as that cannot pile up


class FoundField(NamedTuple):
    """A field of a config that holds a secret; the path has no part of it."""

    path: str
    kind: str


class Leaf(NamedTuple):
    """A plain value of a config, where it stands, and the name that says what it is. Keys are values too."""

    path: str
    name: str
    value: Any
    is_key: bool = False


PAIRED = frozenset(("value", "values", "default"))  # of a field that says its name beside them
TITLES = ("name", "key", "profile_key", "field", "label", "title")  # where it says it
OPTION = lazy(r"--?([A-Za-z][\w-]{0,63})=(.*)", re.S)
PLAIN_KEY = lazy(r"[^\W\d][\w-]{0,63}")


def in_text(text: str) -> list[Found]:
    """Where a text holds secrets, in their order; none overlaps another. A text is read in linear time.

    It is read in its plain form, so that no disguise hides one. Once they are redacted, none is found in what is left: what
    a secret had hidden is looked for again.
    """
    plain = folding.folded(text)
    found = _in_plain(plain.text)
    return (
        found
        if plain.places is None
        else [Found(one.kind, *plain.span(one.start, one.end)) for one in found]
    )


def _in_plain(text: str) -> list[Found]:
    left = MARKED.sub(lambda mark: GONE * len(mark[0]), text) if MARK in text else text
    found: list[Found] = []
    for _ in range(ROUNDS):
        more = _merged(_found(left))
        if not more:
            break
        found += more
        left = _replaced(left, ((one, GONE * (one.end - one.start)) for one in more))
    return _merged(found)


def redacted(text: str) -> str:
    """A text with a mark in the place of each secret. What has been redacted stays as it is."""
    return _replaced(text, ((one, _mark(one.kind)) for one in in_text(text)))


def _mark(kind: str) -> str:
    return f"{MARK}{kind}]"


def _replaced(text: str, replacements: Iterable[tuple[Found, str]]) -> str:
    """A text with something else in the place of what was found."""
    parts, place = [], 0
    for one, instead in replacements:
        parts += [text[place : one.start], instead]
        place = one.end
    return "".join([*parts, text[place:]])


def _found(text: str) -> Iterator[Found]:
    """What one look at a text finds, the known shapes first. Most memories need no closer look."""
    lowered = text.lower()
    words = patterns.long_words(text)
    yield from patterns.shaped(text, words)
    if "://" in text:
        yield from patterns.in_urls(text)
    if phrases.may_tell(text, lowered):
        if len(lowered) != len(text):  # of letters that are longer in lower case
            lowered = "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
        yield from phrases.said(text, lowered)
    yield from patterns.random(text, words)
    yield from seeds.seeds(lowered)


def _merged(found: Iterable[Found]) -> list[Found]:
    """Secrets in their order without an overlap. Of two at one place, the first names both."""
    merged: list[Found] = []
    for one in sorted(found, key=lambda one: one.start):
        if merged and one.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(one.end, merged[-1].end))
        else:
            merged.append(one)
    return merged


# Memories: what is a secret in one field of them is one in all. A change gets a value and its name; a key has none.

LABELS = frozenset(
    ("tags", "speaker", "session", "participants")
)  # names, of which many look random and are no secrets
SHORTEST_SPREAD = (
    4  # characters of a secret that is looked for elsewhere; shorter ones are in too many words
)
SURELY_OWN = 12  # so many stand nowhere by chance, not even within a word
MOST_SPREAD = 100
APART = f"\n{GONE}\n"  # between texts that are looked at in one go: each begins and ends a line, and none reaches the next
Change = Callable[[str | None, Any], Any]


def in_fields(*told: Mapping[str, Any]) -> dict[str, str]:
    """The secrets in the fields of memories and the kind of each: what a text tells, and the values of telling names."""
    found: dict[str, str] = {}

    def add(secret: str, kind: str) -> None:
        if (
            found.get(secret, patterns.RANDOM) == patterns.RANDOM
        ):  # what is known to be one does not only look like it
            found[secret] = kind

    def note(name: str | None, value: Any) -> Any:
        kind = _kind_by_name(name, value) if name else None
        if kind is not None:
            add(str(value).strip(), kind)
        elif isinstance(value, str):
            for one in _told(value, name):
                add(value[one.start : one.end], one.kind)
        return value

    for fields in told:
        named = fields.get("metadata")
        if in_text(APART.join(_texts(fields))) or (
            named and phrases.may_name(APART.join(_texts({"": named})).lower())
        ):
            _each_field(fields, note)
    return found


def without(fields: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """The same fields with a mark in the place of each secret, in whichever of them it stands."""
    spread = sorted((one for one in secrets if len(one) >= SHORTEST_SPREAD), key=len, reverse=True)[
        :MOST_SPREAD
    ]
    known = {spelled: secrets[one] for one in spread for spelled in (one, json.dumps(one)[1:-1])}
    sure = {one: kind for one, kind in known.items() if kind != patterns.RANDOM}

    def clean(name: str | None, value: Any) -> Any:
        kind = _kind_by_name(name, value) if name else None
        if kind is not None:
            return _mark(kind)
        return (
            _blacked(value, sure if name is None else known, name)
            if isinstance(value, str)
            else value
        )

    return _each_field(fields, clean)


def _each_field(fields: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Fields with every text changed. Those of metadata have names, and labels are changed as keys are."""
    changed: dict[str, Any] = {}
    for field, value in fields.items():
        name = None if field in LABELS else ""
        if field == "metadata":
            changed[field] = _changed(value, "", change)
        elif isinstance(value, (list, tuple)):
            changed[field] = [change(name, one) for one in value]
        elif isinstance(value, (set, frozenset)):
            changed[field] = [change(name, one) for one in sorted(value, key=str)]
        else:
            changed[field] = change(name, value)
    return changed


def _texts(fields: Mapping[str, Any]) -> list[str]:
    """Every text among some values, and every key below the first."""
    found: list[str] = []
    waiting: list[Any] = [*fields.values()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += value
        elif isinstance(value, (dict, Mapping)):  # dict first: asking for any Mapping is slow
            waiting += [*value, *value.values()]
    return found


def _told(text: str, name: str | None) -> list[Found]:
    """The secrets in a text. Names, ids and hashes may look random, and are none for that."""
    found = in_text(text)
    if found and (name is None or patterns.names_ordinary(name)):
        return [one for one in found if one.kind != patterns.RANDOM]
    return found


def _blacked(text: str, known: Mapping[str, str], name: str | None) -> str:
    """A text without some known secrets, nor others that it tells itself. Case does not matter: tags have none."""
    lowered = text.lower()
    here = [one for one in known if one.lower() in lowered]
    if here:
        kinds = {one.lower(): known[one] for one in here}
        pattern = re.compile("|".join([MARKED.pattern, *map(_standing_alone, here)]), re.I)
        text = pattern.sub(
            lambda one: _mark(kinds[said]) if (said := one[0].lower()) in kinds else one[0], text
        )
    return _replaced(text, ((one, _mark(one.kind)) for one in _told(text, name)))


def _standing_alone(secret: str) -> str:
    """A pattern of a secret where it is no part of a longer word; a number is none of a date, a version or an address."""
    if len(secret) >= SURELY_OWN:
        return re.escape(secret)
    if secret.isdigit():
        return rf"(?<![\w./:-]){secret}(?![\w/-]|[.:]\d)"
    before = "(?<![A-Za-z0-9])" if secret[0].isascii() and secret[0].isalnum() else ""
    after = "(?![A-Za-z0-9])" if secret[-1].isascii() and secret[-1].isalnum() else ""
    return f"{before}{re.escape(secret)}{after}"


def _changed(value: Any, name: str, change: Change, depth: int = 0) -> Any:
    """The same values, each plain one and each key changed."""
    if isinstance(value, str):
        return change(name, value)
    if depth > MAX_DEPTH:  # deeper than any rule lets them in
        return value
    if isinstance(value, Mapping):
        changed: dict[Any, Any] = {}
        for key, item in value.items():
            new = change(None, key) if isinstance(key, str) and len(key) >= SURELY_OWN else key
            while new in changed:  # two keys that were secrets
                new += "_"
            changed[new] = _changed(item, _name_of(key, name, value), change, depth + 1)
        return changed
    if isinstance(value, (list, tuple)):
        return [
            _changed(item, _flagged(value, place) or name, change, depth + 1)
            for place, item in enumerate(value)
        ]
    return change(name, value)


def _kind_by_name(name: str, value: Any) -> str | None:
    """What kind of secret a value of metadata is by its name; a token that is known for itself is that."""
    kind = _kind_of_saying(name, value)
    if kind is None or not isinstance(value, str):
        return kind
    return next(
        (
            one.kind
            for one in in_text(value)
            if one.end - one.start == len(value) and one.kind != patterns.RANDOM
        ),
        kind,
    )


def _kind_of_saying(name: str, value: Any) -> str | None:
    """The same, judged as a text that says both."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (str, int, float))
        or not phrases.may_name(name.lower())
    ):
        return None
    known, said = phrases.named(name), str(value)
    if known.words and known.kind is None:
        known = SPOKEN.get(known.words[-1], known)
    if MARK in said:
        said = MARKED.sub("", said)
    if (
        not said.strip()
        or PLACEHOLDER.search(said[:100])
        or not known.words
        or not phrases.is_meant(known, said)
    ):
        return None
    if known.kind is None:
        return "key" if phrases.is_weakly_named(known, said) else None
    if known.kind == "pin":
        return "password" if DIGITS.fullmatch(said) else None
    words = said.lower().split()
    if known.kind in MADE_BY_MACHINES:
        return (
            known.kind
            if isinstance(value, str) and len(words) <= 2 and phrases.is_strong(said)
            else None
        )
    told = len(words) == 1 or (
        known.kind == "password" and (len(words) == 2 or TALK.isdisjoint(words))
    )
    return known.kind if told else None


# Configs


def in_mapping(mapping: Mapping[str, Any]) -> list[FoundField]:
    """The fields of a config that hold secrets: by their name, or because the value looks like one."""
    judged = ((leaf.path, _judged(leaf)) for leaf in leaves(mapping))
    return [FoundField(path, kind) for path, kind in judged if kind is not None]


def references(mapping: Mapping[str, Any]) -> list[str]:
    """The environment variables that a config names, sorted."""
    return sorted({name for leaf in leaves(mapping) for name in referred(leaf)})


def referred(leaf: Leaf) -> list[str]:
    """The environment variables that one value names."""
    if not isinstance(leaf.value, str):
        return []
    if phrases.names_variable(leaf.name) and VARIABLE.fullmatch(leaf.value):
        return [leaf.value]
    return [braced or bare or prefixed for braced, bare, prefixed in REFERENCE.findall(leaf.value)]


def names_secret(name: str) -> bool:
    """Whether a field of this name is meant for a secret."""
    return phrases.kind_of(phrases.words_of(name)) is not None


def leaves(mapping: Mapping[str, Any]) -> Iterator[Leaf]:
    """Every plain value of a config in their order, those of a mapping after its keys."""
    waiting: list[tuple[str, str, Any, int]] = [("", "", mapping, 0)]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        path, name, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise InvalidInput(f"this is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, Mapping):
            below = [
                (_step(path, key), _name_of(key, name, value), item) for key, item in value.items()
            ]
            yield from (
                Leaf(one[0], "", key, is_key=True) for one, key in zip(below, value, strict=True)
            )
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            below = [
                (f"{path}[{place}]", _flagged(value, place) or name, item)
                for place, item in enumerate(value)
            ]
        else:
            yield Leaf(path, name, value)
            continue
        waiting += [(*one, depth + 1) for one in reversed(below)]
    raise InvalidInput(f"these are more than {MAX_VALUES:,} values")


def _step(path: str, key: object) -> str:
    """The path of a field. A key that holds a secret itself is not repeated."""
    shown = "***" if in_text(str(key)) else str(key)
    if not PLAIN_KEY.fullmatch(shown):
        return f"{path}[{shown[:64]!r}]"
    return f"{path}.{shown}" if path else shown


def _name_of(key: object, outer: str, within: Mapping[Any, Any]) -> str:
    """The name that says what the value at a key is: its own, or that of what it holds the value of."""
    name = str(key)
    if name in PAIRED and isinstance(
        told := next((within[title] for title in TITLES if title in within), None), str
    ):
        return told
    if outer and phrases.names_variable(name):
        return f"{outer}_{name}"
    if name.casefold() in HOLDERS or (outer and "type" not in within and _lists_passwords(outer)):
        return outer or name
    return name


def _lists_passwords(name: str) -> bool:
    """Whether what stands below a name are the passwords of whoever is named there."""
    words, kind, *_ = phrases.named(name)
    return kind == "password" and words[-1].endswith("s") and words[-1] != "pass"


def _flagged(values: Sequence[Any], place: int) -> str:
    """The name of the option before a value in a list of arguments, as in `--api-key`, `xyz`."""
    option, value = values[place - 1] if place else None, values[place]
    if not isinstance(option, str) or not option.startswith("-") or "=" in option:
        return ""
    return "" if isinstance(value, str) and value.startswith("-") else option


def _judged(leaf: Leaf) -> str | None:
    """The kind of secret that a value of a config is."""
    value = leaf.value
    if value is None or isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str) and (
        kinds := [found.kind for found in in_text(value) if found.kind != patterns.RANDOM]
    ):
        return kinds[0]
    name = leaf.name
    if isinstance(value, str) and (option := OPTION.fullmatch(value)) is not None:
        name, value = option.groups()
    return _kind_of(phrases.named(name), value)


def _kind_of(name: Name, value: str | float) -> str | None:
    """What the value of a name is, when it is a secret that looks like any word."""
    if name.kind is None:
        return "key" if isinstance(value, str) and phrases.is_weakly_named(name, value) else None
    if phrases.is_count(name.words, str(value)):
        return None
    if isinstance(value, str):
        return name.kind if phrases.is_literal(name, value) else None
    return name.kind if name.kind in ("password", "key", "secret") else None
