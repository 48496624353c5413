"""Find and redact secrets in texts, memories and configs; find references to variables. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lamina.errors import InvalidInput
from lamina.text.secrets import folding, patterns, phrases, seeds
from lamina.text.secrets.patterns import GONE, PLACEHOLDER, Secret, lazy
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
ROUNDS = 4  # of searching for secrets that others had hidden


class FoundField(NamedTuple):
    """A field of a config that contains a secret; the path reveals no part of it."""

    path: str
    kind: str


class Leaf(NamedTuple):
    """A plain value of a config, its path, and the name that tells its purpose. Keys count too."""

    path: str
    name: str
    value: Any
    is_key: bool = False


PAIRED = frozenset(("value", "values", "default"))  # of a field whose name is given beside it
TITLES = ("name", "key", "profile_key", "field", "label", "title")  # where that name is given
OPTION = lazy(r"--?([A-Za-z][\w-]{0,63})=(.*)", re.S)
PLAIN_KEY = lazy(r"[^\W\d][\w-]{0,63}")


def in_text(text: str) -> list[Secret]:
    """Find the secrets of a text in order, without overlap, in linear time.

    Search its plain form, so that no disguise hides one. Search again for secrets that others
    had hidden, so that none is found after redaction.
    """
    plain = folding.folded(text)
    secrets = _in_plain(plain.text)
    if plain.places is None:
        return secrets
    return [Secret(secret.kind, *plain.span(secret.start, secret.end)) for secret in secrets]


def _in_plain(text: str) -> list[Secret]:
    left = MARKED.sub(lambda mark: GONE * len(mark[0]), text) if MARK in text else text
    secrets: list[Secret] = []
    for _ in range(ROUNDS):
        more = _merged(_look(left))
        if not more:
            break
        secrets += more
        left = _replaced(left, ((secret, GONE * (secret.end - secret.start)) for secret in more))
    return _merged(secrets)


def redacted(text: str) -> str:
    """Replace each secret of a text with a mark. Leave marks of earlier redactions unchanged."""
    return _replaced(text, ((secret, _mark(secret.kind)) for secret in in_text(text)))


def _mark(kind: str) -> str:
    return f"{MARK}{kind}]"


def _replaced(text: str, replacements: Iterable[tuple[Secret, str]]) -> str:
    """Replace secrets in a text."""
    parts, at = [], 0
    for secret, instead in replacements:
        parts += [text[at : secret.start], instead]
        at = secret.end
    return "".join([*parts, text[at:]])


def _look(text: str) -> Iterator[Secret]:
    """Find secrets in one pass, known shapes first. Skip slow checks that a text cannot need."""
    lowered = text.lower()
    words = patterns.long_words(text)
    yield from patterns.shaped(text, words)
    if "://" in text:
        yield from patterns.in_urls(text)
    if phrases.may_tell(text, lowered):
        if len(lowered) != len(text):  # some letters are longer in lower case
            lowered = "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
        yield from phrases.said(text, lowered)
    yield from patterns.random(text, words)
    yield from seeds.seeds(lowered)


def _merged(secrets: Iterable[Secret]) -> list[Secret]:
    """Sort secrets and merge those that overlap. The first one gives the kind."""
    merged: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: secret.start):
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(secret.end, merged[-1].end))
        else:
            merged.append(secret)
    return merged


# Memories: a secret in one field is a secret in all of them. A change is called with the name of a
# value and the value; keys have no name.

# Fields with names, many of which look random but are not secrets.
LABELS = frozenset(("tags", "speaker", "session", "participants"))
# Characters of a secret that is searched for in other fields; shorter ones are in too many words.
SHORTEST_SPREAD = 4
SURELY_OWN = 12  # a secret of this length occurs nowhere by chance, not even within a word
MOST_SPREAD = 100
# Separates texts that are searched together: each is on lines of its own, and no match spans two.
APART = f"\n{GONE}\n"
Change = Callable[[str | None, Any], Any]


def in_fields(*memories: Mapping[str, Any]) -> dict[str, str]:
    """Find the secrets in the fields of memories by text and by name, with the kind of each."""
    secrets: dict[str, str] = {}

    def add(secret: str, kind: str) -> None:
        # A known kind takes precedence over a random look.
        if secrets.get(secret, patterns.RANDOM) == patterns.RANDOM:
            secrets[secret] = kind

    def note(name: str | None, value: Any) -> Any:
        kind = _kind_by_name(name, value) if name else None
        if kind is not None:
            add(str(value).strip(), kind)
        elif isinstance(value, str):
            for secret in _in_value(value, name):
                add(value[secret.start : secret.end], secret.kind)
        return value

    for fields in memories:
        metadata = fields.get("metadata")
        names = APART.join(texts([metadata])).lower() if metadata else ""
        if in_text(APART.join(texts(fields.values()))) or (names and phrases.may_name(names)):
            _each_field(fields, note)
    return secrets


def without(fields: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """Replace each secret with a mark in all of the fields."""
    long_enough = (secret for secret in secrets if len(secret) >= SHORTEST_SPREAD)
    spread = sorted(long_enough, key=len, reverse=True)[:MOST_SPREAD]
    known: dict[str, str] = {}
    for secret in spread:
        known[secret] = known[json.dumps(secret)[1:-1]] = secrets[secret]
    sure = {secret: kind for secret, kind in known.items() if kind != patterns.RANDOM}

    def clean(name: str | None, value: Any) -> Any:
        kind = _kind_by_name(name, value) if name else None
        if kind is not None:
            return _mark(kind)
        if not isinstance(value, str):
            return value
        return _without_known(value, sure if name is None else known, name)

    return _each_field(fields, clean)


def _each_field(fields: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Change every text of the fields. Metadata has names; labels are treated as keys."""
    changed: dict[str, Any] = {}
    for field, value in fields.items():
        name = None if field in LABELS else ""
        if field == "metadata":
            changed[field] = _changed(value, "", change)
        elif isinstance(value, (list, tuple)):
            changed[field] = [change(name, item) for item in value]
        elif isinstance(value, (set, frozenset)):
            changed[field] = [change(name, item) for item in sorted(value, key=str)]
        else:
            changed[field] = change(name, value)
    return changed


def texts(values: Iterable[Any]) -> list[str]:
    """List every text in some values, keys too."""
    found: list[str] = []
    waiting: list[Any] = [*values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif value is None or isinstance(value, (int, float)):  # checking for Mapping is slow
            continue
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += value
        elif isinstance(value, (dict, Mapping)):
            waiting += [*value, *value.values()]
    return found


def _in_value(text: str, name: str | None) -> list[Secret]:
    """Find the secrets of a named text. Names, ids and hashes may look random and be harmless."""
    secrets = in_text(text)
    if secrets and (name is None or patterns.names_ordinary(name)):
        return [secret for secret in secrets if secret.kind != patterns.RANDOM]
    return secrets


def _without_known(text: str, known: Mapping[str, str], name: str | None) -> str:
    """Redact a text's own secrets and known ones, ignoring case because tags are lower-cased."""
    lowered = text.lower()
    here = [secret for secret in known if secret.lower() in lowered]
    if here:
        kinds = {secret.lower(): known[secret] for secret in here}
        pattern = re.compile("|".join([MARKED.pattern, *map(_standing_alone, here)]), re.I)

        def mark(match: re.Match[str]) -> str:
            kind = kinds.get(match[0].lower())
            return match[0] if kind is None else _mark(kind)

        text = pattern.sub(mark, text)
    return _replaced(text, ((secret, _mark(secret.kind)) for secret in _in_value(text, name)))


def _standing_alone(secret: str) -> str:
    """Return a pattern for a secret that is not within a word, a date, a version or an address."""
    if len(secret) >= SURELY_OWN:
        return re.escape(secret)
    if secret.isdigit():
        return rf"(?<![\w./:-]){secret}(?![\w/-]|[.:]\d)"
    before = "(?<![A-Za-z0-9])" if secret[0].isascii() and secret[0].isalnum() else ""
    after = "(?![A-Za-z0-9])" if secret[-1].isascii() and secret[-1].isalnum() else ""
    return f"{before}{re.escape(secret)}{after}"


def _changed(value: Any, name: str, change: Change, depth: int = 0) -> Any:
    """Change each plain value and each key of a nested value."""
    if isinstance(value, str):
        return change(name, value)
    if depth > MAX_DEPTH:  # deeper than the rules allow
        return value
    if isinstance(value, Mapping):
        changed: dict[Any, Any] = {}
        for key, item in value.items():
            new = change(None, key) if isinstance(key, str) and len(key) >= SURELY_OWN else key
            while new in changed:  # both keys were secrets
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
    """Find the kind of secret that a name in metadata implies; a known token keeps its own kind."""
    kind = _kind_of_pair(name, value)
    if kind is None or not isinstance(value, str):
        return kind
    whole = (found.kind for found in in_text(value) if found.end - found.start == len(value))
    return next((shape for shape in whole if shape != patterns.RANDOM), kind)


def _kind_of_pair(name: str, value: Any) -> str | None:
    """Judge a name and its value as one text with both."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if not phrases.may_name(name.lower()):
        return None
    known, text = phrases.named(name), str(value)
    if known.words and known.kind is None:
        known = SPOKEN.get(known.words[-1], known)
    if MARK in text:
        text = MARKED.sub("", text)
    if not text.strip() or PLACEHOLDER.search(text[:100]):
        return None
    if not known.words or not phrases.is_meant(known, text):
        return None
    if known.kind is None:
        return "key" if phrases.is_weakly_named(known, text) else None
    if known.kind == "pin":
        return "password" if DIGITS.fullmatch(text) else None
    words = text.lower().split()
    if known.kind in MADE_BY_MACHINES:
        is_secret = isinstance(value, str) and len(words) <= 2 and phrases.is_strong(text)
    elif known.kind == "password":
        is_secret = len(words) <= 2 or TALK.isdisjoint(words)
    else:
        is_secret = len(words) == 1
    return known.kind if is_secret else None


# Configs


def in_mapping(mapping: Mapping[str, Any]) -> list[FoundField]:
    """Find the fields of a config that contain secrets, judged by name or by value."""
    kinds = ((leaf.path, _kind_of_leaf(leaf)) for leaf in leaves(mapping))
    return [FoundField(path, kind) for path, kind in kinds if kind is not None]


def references(mapping: Mapping[str, Any]) -> list[str]:
    """List the environment variables that a config refers to, sorted."""
    return sorted({name for leaf in leaves(mapping) for name in referred(leaf)})


def referred(leaf: Leaf) -> list[str]:
    """List the environment variables that one value refers to."""
    if not isinstance(leaf.value, str):
        return []
    if phrases.names_variable(leaf.name) and VARIABLE.fullmatch(leaf.value):
        return [leaf.value]
    return [braced or bare or prefixed for braced, bare, prefixed in REFERENCE.findall(leaf.value)]


def names_secret(name: str) -> bool:
    """Tell if a field of this name is meant for a secret."""
    return phrases.kind_of(phrases.words_of(name)) is not None


def leaves(mapping: Mapping[str, Any]) -> Iterator[Leaf]:
    """Yield every plain value of a config in order; the values of a mapping follow its keys."""
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
            for (key_path, _, _), key in zip(below, value, strict=True):
                yield Leaf(key_path, "", key, is_key=True)
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            below = [
                (f"{path}[{place}]", _flagged(value, place) or name, item)
                for place, item in enumerate(value)
            ]
        else:
            yield Leaf(path, name, value)
            continue
        waiting += [(*entry, depth + 1) for entry in reversed(below)]
    raise InvalidInput(f"these are more than {MAX_VALUES:,} values")


def _step(path: str, key: object) -> str:
    """Extend the path of a field. Do not repeat a key that contains a secret itself."""
    shown = "***" if in_text(str(key)) else str(key)
    if not PLAIN_KEY.fullmatch(shown):
        return f"{path}[{shown[:64]!r}]"
    return f"{path}.{shown}" if path else shown


def _name_of(key: object, outer: str, within: Mapping[Any, Any]) -> str:
    """Find the name that describes the value at a key: its own, or that of the outer field."""
    name = str(key)
    if name in PAIRED:
        title = next((within[title] for title in TITLES if title in within), None)
        if isinstance(title, str):
            return title
    if outer and phrases.names_variable(name):
        return f"{outer}_{name}"
    if name.casefold() in HOLDERS or (outer and "type" not in within and _lists_passwords(outer)):
        return outer or name
    return name


def _lists_passwords(name: str) -> bool:
    """Tell if a name is that of a mapping from users to their passwords."""
    words, kind, *_ = phrases.named(name)
    return kind == "password" and words[-1].endswith("s") and words[-1] != "pass"


def _flagged(values: Sequence[Any], place: int) -> str:
    """Find the option before a value in a list of arguments: `--api-key`, `xyz`."""
    option, value = values[place - 1] if place else None, values[place]
    if not isinstance(option, str) or not option.startswith("-") or "=" in option:
        return ""
    return "" if isinstance(value, str) and value.startswith("-") else option


def _kind_of_leaf(leaf: Leaf) -> str | None:
    """Find the kind of secret that a value of a config is."""
    value = leaf.value
    if value is None or isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, str):
        kinds = (found.kind for found in in_text(value) if found.kind != patterns.RANDOM)
        if (kind := next(kinds, None)) is not None:
            return kind
    name = leaf.name
    if isinstance(value, str) and (option := OPTION.fullmatch(value)) is not None:
        name, value = option.groups()
    return _kind_of(phrases.named(name), value)


def _kind_of(name: Name, value: str | float) -> str | None:
    """Find the kind of a named value that may be a secret although it looks like a plain word."""
    if name.kind is None:
        return "key" if isinstance(value, str) and phrases.is_weakly_named(name, value) else None
    if phrases.is_count(name.words, str(value)):
        return None
    if isinstance(value, str):
        return name.kind if phrases.is_literal(name, value) else None
    return name.kind if name.kind in ("password", "key", "secret") else None
