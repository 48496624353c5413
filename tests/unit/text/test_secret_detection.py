"""Promises about secrets: they are found where they stand, what is none is left alone, and nobody
repeats them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.text.secrets import detection, phrases
from lamina.text.secrets import patterns as tokens
from lamina.text.secrets.detection import in_fields, in_mapping, in_text, references, without
from tests.cases import every, golden
from tests.conftest import FULL
from tests.unit.text.secret_samples import (
    CONFIGS,
    DIGITS,
    KEY_BODY,
    LITERALS,
    SECRET_NAMES,
    SHAPED,
    planted,
)

OTHER_SHAPES = [
    "github_pat_" + DIGITS,
    "gho_" + DIGITS,
    "sk-" + DIGITS + DIGITS,
    "sk-proj-" + DIGITS + "-" + DIGITS,
    "rk_test_" + DIGITS,
    "xapp-" + "1-" + DIGITS,
    "gsk_" + DIGITS,
    f"-----BEGIN OPENSSH PRIVATE KEY-----\\n{KEY_BODY}\\n-----END OPENSSH PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\n{KEY_BODY}\n{KEY_BODY}",
]


def secrets(text: str) -> list[str]:
    return [text[found.start : found.end] for found in in_text(text)]


@every(("kind", "secret"), SHAPED.items())
def test_known_shapes_are_found_where_they_stand(kind: str, secret: str) -> None:
    """P6, R11: a secret of a known service is found wherever it stands, to the character."""
    for before, after in (
        ("", ""),
        ("use ", " now"),
        ("(", ")"),
        ('{"x": "', '"}'),
        ("a\n", "\nb"),
        ("用", "。"),
    ):
        (found,) = in_text(before + secret + after)
        assert (found.kind, found.start, found.end) == (kind, len(before), len(before + secret))


@pytest.mark.parametrize("secret", OTHER_SHAPES)
def test_relatives_of_known_shapes_are_found(secret: str) -> None:
    """P6: other prefixes, escaped line ends and a key that was cut off are found as well."""
    assert secrets(f"use {secret} now") == [secret]


@every(
    ("text", "secret"),
    [
        ("password: xyz", "xyz"),
        ("api_key=xyz123", "xyz123"),
        ("export DB_PASSWORD=hunter2", "hunter2"),
        ('"password": "correct horse battery staple"', "correct horse battery staple"),
        ('{\\"password\\": \\"hunter2\\"}', "hunter2"),
        ("'clientSecret' => 'abc'", "abc"),
        ("user: bob, password: swordfish, host: db", "swordfish"),
        ("The wifi password is hunter2, tell nobody", "hunter2"),
        ("Password: hunter2 for the router", "hunter2"),
        ("API key: 8fj3kd9sl2kfj39dkf93", "8fj3kd9sl2kfj39dkf93"),
        ("mysql -u root --password hunter2 db", "hunter2"),
        ("tool --api-key=abc123", "abc123"),
        ("https://example.org/x?access_token=abcdef123", "abcdef123"),
        ("postgres://bob:s3cret@db/x", "s3cret"),
        ("Authorization: Bearer abcdef1234567890abcd", "abcdef1234567890abcd"),
        ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("curl -H 'X: bearer abcdef1234567890abcd'", "abcdef1234567890abcd"),
        ("Cookie: session=abc123def", "session=abc123def"),
        ("my_key = aB3dE5fG7hJ9kL1mN3pQ5", "aB3dE5fG7hJ9kL1mN3pQ5"),
        ("пароль: 12345", "12345"),
        ("我的密码：hunter2", "hunter2"),
        ("Passwort: geheim", "geheim"),
        ("hello\nrecovery code: H3CEF-S37PJ", "H3CEF-S37PJ"),
        (
            "use lamina_" + DIGITS + "-" + DIGITS[:20] + " now",
            "lamina_" + DIGITS + "-" + DIGITS[:20],
        ),
    ],
)
def test_what_a_text_says_to_be_a_secret_is_one(text: str, secret: str) -> None:
    """P6: a value behind a telling name is a secret, in code, configs, command lines
    and plain words."""
    assert secrets(text) == [secret]


@every(
    "text",
    golden("text/no_secrets.jsonl"),
)
def test_prose_and_code_are_no_secrets(text: str) -> None:
    """P6: words about secrets, references, hashes and ids are left alone."""
    assert secrets(text) == []


def test_every_code_of_a_list_is_found() -> None:
    """P6: of several codes all are secrets, and what stands behind them is none."""
    assert secrets("backup codes: 1a2b3c4d 5e6f7a8b, 9c8d7e6f and anything") == [
        "1a2b3c4d",
        "5e6f7a8b",
        "9c8d7e6f",
    ]
    assert secrets("recovery codes:\n12345-67890\n22345-67890\nthe end") == [
        "12345-67890",
        "22345-67890",
    ]


@given(st.text(st.characters() | st.sampled_from(" =:\"'-_@/.$"), max_size=200))
def test_every_text_can_be_looked_through(text: str) -> None:
    """P6: whatever the text, the places are within it, in their order, and
    none overlaps another."""
    places = [place for found in in_text(text) for place in (found.start, found.end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
    assert all(found.start < found.end for found in in_text(text))


HARBOUR = "we met at the old harbour and had tea with Ana on 7 May: lovely, is it not"
WORDS = st.lists(st.sampled_from(HARBOUR.split()), max_size=12)


@given(st.sampled_from([*SHAPED.values(), *OTHER_SHAPES]), WORDS, WORDS)
def test_a_secret_among_words_is_covered(secret: str, before: list[str], after: list[str]) -> None:
    """P6: among any words exactly the secret is found, so that nothing of it is left when it is
    taken out."""
    assert secrets(" ".join([*before, secret, *after])) == [secret]


HOSTILE = [
    *(
        "a eyJ eyJaaaaaaaaa eyJaaaaaaaaa. sk- sk-a1- ghp_ github_pat_ xoxb- AKIA "
        "SG.aaaaaaaaaaaaaaaa - :// ://a: ://a:b"
    ).split(),
    *'a: a= pwd= pwd=a( pwd=" $ ${a pwd=${a} 密码： \\ 12345678:AA pwd=* pwd=x.y key=aB3dE5 pass'.split(),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "pwd: ",
        "pwd=' ",
        "password is ",
        "api key: ",
        "api ",
        "--pwd ",
    ),
    *("bearer a", "pwd=basic ", " ", "\n", " pass:", "pwd" + "s" * 60 + "=", "pwd=" * 60 + "( "),
]


def repeated(seed: str, size: int) -> str:
    return (seed * (size // len(seed) + 1))[:size]


@every("seed", HOSTILE)
def test_hostile_texts_are_read_to_their_end(seed: str) -> None:
    """P6: texts made to mislead each pattern are read; with quadratic work this
    would take hours."""
    size = 1_000_000 if FULL else 200_000
    assert all(found.end <= size for found in in_text(repeated(seed, size)))


def test_a_hostile_megabyte_is_read_to_its_end() -> None:
    """P6: the same with all of them in one text of a million characters, each in a stretch
    of its own."""
    text = "".join(repeated(seed, 1_000_000 // len(HOSTILE)) for seed in HOSTILE)
    assert all(found.end <= len(text) for found in in_text(text))


def patterns() -> Iterator[re.Pattern[str]]:
    for value in (*vars(detection).values(), *vars(phrases).values(), *vars(tokens).values()):
        if isinstance(value, (re.Pattern, tokens.Lazy)):
            yield re.compile(value.pattern, value.flags)
    lazy = [
        shape.pattern for shapes in (*tokens.PREFIXED.values(), tokens.SHAPES) for shape in shapes
    ]
    yield from (
        re.compile(one.pattern, one.flags)
        for one in (*lazy, *(pattern for _, pattern in phrases.OPTIONS))
    )


def test_most_patterns_wait_until_they_are_needed() -> None:
    """P6: a pattern that is compiled when it is first used answers as any other, and the first look
    needs two of them."""
    late, at_once = tokens.lazy("a(b)?", re.I), re.compile("a(b)?", re.I)
    assert [late.findall(text) for text in ("xAB", "b", "a")] == [
        at_once.findall(text) for text in ("xAB", "b", "a")
    ]
    assert (late.search("b"), late.pattern, late.flags) == (None, at_once.pattern, at_once.flags)
    modules = (detection, phrases, tokens)
    assert (
        sum(isinstance(value, re.Pattern) for module in modules for value in vars(module).values())
        == 2
    )


@every("pattern", list(patterns()))
def test_no_pattern_can_explode(pattern: re.Pattern[str]) -> None:
    """P6: no pattern has an endless repeat within another, unless it never gives back
    what it took."""
    parser = importlib.import_module("re._parser")

    def check(tree: Any, within: bool) -> None:
        for operator, argument in tree:
            name = str(operator)
            endless = name in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] is parser.MAXREPEAT
            assert not (endless and within), pattern.pattern
            gives_back = within or endless
            if name in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP"):
                gives_back = False
            for inner in trees(argument):
                check(inner, gives_back)

    def trees(argument: Any) -> Iterator[Any]:
        if isinstance(argument, parser.SubPattern):
            yield argument
        elif isinstance(argument, (list, tuple)):
            for item in argument:
                yield from trees(item)

    check(parser.parse(pattern.pattern, pattern.flags), False)


# Configs


def paths(config: Mapping[str, Any]) -> list[str]:
    return [found.path for found in in_mapping(config)]


@every(
    "name",
    [
        *(
            "password Password PASSWORD dbPassword db-password DB_PASSWORD db.password "
            "password2 pass pw passwd secret"
        ).split(),
        *(
            "client_secret clientSecret token authToken ACCESS_TOKEN api_key apikey apiKey "
            "API-KEY X-Api-Key access_key"
        ).split(),
        *(
            "secretAccessKey private_key credential credentials jwt authorization passphrase "
            "cookie Set-Cookie"
        ).split(),
        *("signing_key", "password_value", "Api Key", "pass\u200bword", "ｔｏｋｅｎ"),
    ],
)
def test_names_that_mean_secrets(name: str) -> None:
    """R11: a field that says it is a secret may hold no literal, whatever the style of its name and
    wherever it is."""
    assert len(paths({name: "abc"})) == 1
    (path,) = paths({"outer": [{"inner": {name: "abc"}}]})
    assert path.startswith("outer[0].inner")
    harmless: list[Any] = [
        "",
        "  ",
        None,
        True,
        "${NAME}",
        "$NAME",
        "env:NAME",
        {"env": "NAME"},
        {},
        [],
    ]
    for nothing in harmless:
        assert paths({name: nothing}) == [], nothing


@every(
    "config",
    [
        {
            "max_tokens": 4096,
            "token_limit": 5,
            "maxTokens": "4096",
            "tokens": 12,
            "stop_tokens": ["a"],
            "eos_token": "</s>",
        },
        {"use_token": True, "token": None, "password": "", "require_password": "yes"},
        {
            "token_type": "bearer",
            "token_url": "https://example.org/token",
            "password_file": "/run/secrets/db",
        },
        {
            "public_key": "abc",
            "primary_key": "id",
            "cache_key": "v1",
            "key": "a",
            "keys": ["a", "b"],
        },
        {
            "token_env": "GITHUB_TOKEN",
            "apiKeyVariable": "KEY",
            "password_env_var": "DB_PASSWORD",
            "env": {"HOME": "/home"},
        },
        {
            "headers": {"Authorization": "Bearer ${TOKEN}"},
            "url": "https://u:${PASSWORD}@example.org",
        },
        {"args": ["--token", "--verbose", "--password", "${PASSWORD}"]},
        {
            "properties": {"password": {"type": "string", "description": "the password"}},
            "required": ["password"],
        },
        {"password": "string", "token": "<your token>", "secret": "***"},
        {"id": "550e8400-e29b-41d4-a716-446655440000", "record": "01k9zq5e7cabcdefghjkmnpqrs"},
    ],
)
def test_what_is_no_secret_in_a_config(config: dict[str, Any]) -> None:
    """R11: counts, switches, references, schemas, masks and ids are no secrets."""
    assert paths(config) == []


@every(
    ("config", "path"),
    [
        ({"password": 1234}, "password"),
        ({"args": ["--api-key", "xyz"]}, "args[1]"),
        ({"args": ["--token=xyz"]}, "args[0]"),
        ({"headers": [{"name": "Authorization", "value": "Bearer abc"}]}, "headers[0].value"),
        ({"env": [{"name": "API_KEY", "value": "xyz"}]}, "env[0].value"),
        ({"token": {"env": "no name"}}, "token.env"),
        ({"token_env": "no-name"}, "token_env"),
        (
            {"properties": {"password": {"type": "string", "default": "hunter2"}}},
            "properties.password.default",
        ),
        ({"passwords": {"bob": "hunter2"}}, "passwords.bob"),
        ({"tokens": ["abc"]}, "tokens[0]"),
        ({"url": "https://u:p@example.org"}, "url"),
        ({"note": "the password is hunter2"}, "note"),
        ({"token": "prefix${NAME}"}, "token"),
        ({"a b": {"c.d": {"token": "x"}}}, "['a b']['c.d'].token"),
        ({"key": "aB3dE5fG7hJ9kL1mN3pQ5"}, "key"),
    ],
)
def test_secrets_in_a_config_are_found_with_their_path(config: dict[str, Any], path: str) -> None:
    """R11: by the name of the field, the option or the header, or by the look of the value."""
    assert paths(config) == [path]


def test_a_secret_used_as_a_key_is_not_repeated() -> None:
    """R11: a key that is a secret is found, and its path does not show it, nor do the
    paths below it."""
    secret = SHAPED["GitHub token"]
    found = paths({secret: {"token": "abc"}})
    assert len(found) == 2
    assert not any(secret in path for path in found)


@given(CONFIGS)
def test_harmless_configs_are_clean(config: dict[str, Any]) -> None:
    """R11: without a secret nothing is found."""
    assert in_mapping(config) == []


@given(
    CONFIGS,
    st.lists(st.integers(0, 5), max_size=4),
    SECRET_NAMES,
    LITERALS | st.sampled_from(sorted(SHAPED.values())),
)
def test_a_planted_secret_is_found_with_its_path(
    config: dict[str, Any], steps: list[int], name: str, secret: str
) -> None:
    """R11: wherever it is, exactly its field is named, and nothing of its value."""
    path = planted(config, steps, name, secret)
    (found,) = in_mapping(config)
    assert found.path == path
    assert secret not in found.path


@given(CONFIGS, st.lists(st.integers(0, 5), max_size=4), SECRET_NAMES, LITERALS)
def test_a_planted_secret_is_taken_out_of_all_fields(
    config: dict[str, Any], steps: list[int], name: str, literal: str
) -> None:
    """P6: wherever a value has a telling name, it is gone from all fields of a memory, and nothing
    is found in what is left."""
    secret = literal.replace(" ", "").replace("0", "o") + "Zq8"  # many zeros are a placeholder
    planted(config, steps, name, secret)
    fields = {
        "content": f"use {secret} now",
        "metadata": config,
        "tags": [secret.lower(), "tea"],
        "source": f"notes: {secret}",
    }
    found = in_fields(fields)
    assert secret in found
    left = without(fields, found)
    assert secret.lower() not in str(left).lower()
    assert left["tags"][1] == "tea"
    assert in_fields(left) == {}
    assert without(left, found) == left


@given(CONFIGS)
def test_harmless_fields_are_clean(config: dict[str, Any]) -> None:
    """P6: metadata without a secret is left alone."""
    assert in_fields({"content": "hello", "metadata": config}) == {}
    assert without({"metadata": config}, {}) == {"metadata": config}


@pytest.mark.parametrize(
    "metadata",
    [
        {
            "token": "cat",
            "session_key": "agent:main",
            "max_tokens": 4096,
            "tokens": 12,
            "token_count": 1700000000,
        },
        {
            "password": "[redacted: password]",
            "api_key": "${API_KEY}",
            "token_env": "GITHUB_TOKEN",
            "pass": 15,
        },
        {"secret": "she loves her cookies", "cookie": "chocolate chip", "pin": 17, "author": "Ana"},
        {"profile_key": "drink", "value": "tea2go"},
        {
            "password_changed": "yes",
            "use_password": True,
            "password": None,
            "password_hint": "your first cat",
        },
    ],
)
def test_what_is_no_secret_in_metadata(metadata: dict[str, Any]) -> None:
    """P6: words, counts, references and marks are no secrets, although their names are telling."""
    assert in_fields({"metadata": metadata}) == {}


@pytest.mark.parametrize("levels", [65, 5000])
def test_too_deep_or_too_large(levels: int) -> None:
    """R11: what could not be looked through to its end is an error, not a clean config;
    a circle too."""
    config: dict[str, Any] = {}
    for _ in range(levels):
        config = {"inner": config}
    with pytest.raises(InvalidInput, match="deeper"):
        in_mapping(config)
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(InvalidInput, match="deeper"):
        in_mapping(circle)
    with pytest.raises(InvalidInput, match="more than"):
        in_mapping({"many": list(range(100_001))})


def test_references() -> None:
    """R11: the variables that a config names are listed, in every way to name them, each once."""
    config = {
        "token": "Bearer ${A}",
        "url": "https://u:${B}@example.org/$C",
        "key": "env:D",
        "nested": [{"password": {"env": "E"}}, "$F"],
        "secret_env": "G",
        "again": "${A} ${env:H}",
        "price": "$5 or $x",
        "env": {"I": "not a name"},
    }
    assert references(config) == ["A", "B", "C", "D", "E", "F", "G", "H"]
    assert references({}) == []
