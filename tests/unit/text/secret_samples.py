"""Secrets of every shape, and where they may stand."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

DIGITS = "0123456789abcdefABCDEF"
KEY_BODY = "MIIEowIBAAKCAQEA" + DIGITS * 2


# A secret of every known shape. They are put together here, so that no scanner takes this file for
# a leak.
SHAPED = {
    "private key": f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----",
    "AWS key": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub token": "ghp_" + DIGITS + DIGITS,
    "GitLab token": "glpat-" + DIGITS,
    "Slack token": "xoxb-" + "123456789012-" + DIGITS,
    "Slack webhook": "hooks.slack.com/services/" + "T00000000/B00000000/" + DIGITS,
    "Google key": "AIza" + DIGITS + "xyzXYZ_-0123456",
    "Google token": "ya29." + DIGITS,
    "Stripe key": "sk_live_" + DIGITS,
    "npm token": "npm_" + DIGITS + DIGITS,
    "PyPI token": "pypi-AgE" + DIGITS,
    "Hugging Face token": "hf_" + DIGITS + DIGITS,
    "model key": "sk-ant-api03-" + DIGITS + "_x-Y",
    "SendGrid key": "SG." + DIGITS + "." + DIGITS,
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + DIGITS,
    "Telegram token": "123456789:AA" + DIGITS + "xyzXYZ_-012",
    "age key": "AGE-SECRET-KEY-1" + "Q0" * 29,
}
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "on", "eu-west-1", "hello there", "${NAME}"])
)
NAMES = st.sampled_from(
    ["host", "port", "region", "name", "items", "nested", "a b", "Ü", "options", "properties"]
)
CONFIGS = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
).map(lambda value: {"config": value})
SECRET_NAMES = st.sampled_from(
    "password apiKey ACCESS-TOKEN client_secret Authorization passphrase private.key".split()
)


# Digits at the end: no word of a language, so none of the words that say something about a secret.
LETTERS = string.ascii_letters + string.digits + "!§#%&/=?+-_ äß漢"
LITERALS = st.text(LETTERS, min_size=1, max_size=30).map(lambda text: text + "x7q9")


def planted(config: Any, steps: list[int], name: str, secret: str) -> str:
    """Put a secret somewhere into a config; where, as its path is written."""
    path, here = "config", config["config"]
    for step in steps:
        places = (
            [*here.items()]
            if isinstance(here, dict)
            else [*enumerate(here)]
            if isinstance(here, list)
            else []
        )
        places = [(key, value) for key, value in places if isinstance(value, (dict, list))]
        if not places:
            break
        key, here = places[step % len(places)]
        plain = isinstance(key, str) and " " not in key
        path += f".{key}" if plain else f"[{key!r}]"
    shown = f".{name}" if "." not in name else f"[{name!r}]"
    if isinstance(here, dict):
        here[name] = secret
        return path + shown
    if isinstance(here, list):
        here.append({name: secret})
        return f"{path}[{len(here) - 1}]{shown}"
    config[name] = secret
    return shown.removeprefix(".")
