"""Secrets in texts and in configs: where they stand, and which variables are named in their place. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lamina.errors import InvalidInput

MAX_DEPTH = 64
MAX_VALUES = 100_000
LONGEST_SKIPPED = 64  # what follows a harmless value is looked at again, as long as that cannot pile up


class Found(NamedTuple):
    """A secret in a text, from `start` up to `end`."""

    kind: str
    start: int
    end: int


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


class Shape(NamedTuple):
    """How one sort of secret looks. Without the hint in the lower-cased text, nobody has to look closer."""

    kind: str
    hint: str
    pattern: re.Pattern[str]


# A pattern either ends with its longest repeat or cannot meet a character twice, so that looking takes linear time:
# repeats in the middle are possessive or short, and what may begin anywhere begins with a literal.
BEGIN = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"  # the start of a word, also behind an escaped line end
KEY_BLOCK = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?>.*?-----)END [A-Z0-9 ]{0,60}-----|(?:(?:\s|\\[nr]){0,4}[A-Za-z0-9+/=]{32,}+)++)"
)
JWT = BEGIN + r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"
BEARER = r"(?i:bearer)[ \t]{1,4}(?P<secret>(?=[^\s0-9]{0,200}[0-9])[A-Za-z0-9_.~+/=-]{16,})"
URL = re.compile(r"://[^\s/@:]{0,128}:(?![$<{*]|%s)(?P<secret>[^\s/@]{1,512})@")
MODEL_KEY = BEGIN + r"sk-(?:[A-Za-z0-9]{1,15}-){0,3}(?=[A-Za-z_]{0,200}[0-9])[A-Za-z0-9_]{16,}+[A-Za-z0-9_-]*+"

# Words that begin a token of a known service, and how it goes on.
PREFIXES = (
    ("AWS key", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    ("GitHub token", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("GitLab token", "glpat-", r"[A-Za-z0-9_-]{20,}"),
    ("Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9-]{10,}"),
    ("Slack webhook", "hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}"),
    ("Google key", "AIza", r"[A-Za-z0-9_-]{30,}"),
    ("Google token", "ya29. GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{10,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-AgE", r"[A-Za-z0-9_-]{16,}"),
    ("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("model key", "gsk_ xai- pplx-", r"[A-Za-z0-9]{20,}"),
    ("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}"),
    ("cloud token", "dop_v1_ shpat_ dapi", r"[0-9a-f]{32,}"),
    ("cloud token", "hvs. lin_api_ ntn_ tskey-", r"[A-Za-z0-9_-]{20,}"),
    ("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
)
SHAPES = (
    Shape("private key", "private key", re.compile(KEY_BLOCK, re.S)),
    *(
        Shape(kind, prefix.lower(), re.compile(BEGIN + re.escape(prefix) + rest))
        for kind, prefixes, rest in PREFIXES
        for prefix in prefixes.split()
    ),
    Shape("model key", "sk-", re.compile(MODEL_KEY)),
    Shape("JSON web token", "eyj", re.compile(JWT)),
    Shape("Telegram token", ":aa", re.compile(r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}")),
    Shape("bearer token", "bearer", re.compile(BEARER)),
)

SHORTEST = 15  # characters without a space that every shape has

# Names that say: here is a secret. They are compared as the joined words of a name, from its end.
PASSWORDS = tuple(
    "password passwd passphrase passcode pwd passwort kennwort contraseña contrasena senha motdepasse"
    " пароль 密码 密碼 パスワード 비밀번호".split()
)
KEYS = tuple(
    f"{owner}key"
    for owner in "access account api app auth deploy encryption hmac license master private secret service session shared"
    " signing ssh storage subscription".split()
)
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "password": PASSWORDS,
    "token": ("token", "bearer", "jwt"),
    "key": KEYS,
    "cookie": ("cookie",),
    "secret": ("secret", "credential", "authorization", "seedphrase", "recoverycode", "psk"),
}
# Without one of these parts, a name is none of them, and neither is any name in a text.
PARTS = tuple(
    "pass pw secret token key credential auth cookie bearer jwt psk phrase code sid appid session signature wort contrase senha"
    " пароль 密 パスワード 비밀번호".split()
)
# Words behind which a name still means what it meant before.
HOLDERS = frozenset("value values default const literal plain plaintext raw string str text old new current".split())
PAIRED = frozenset(("value", "values", "default"))  # of a field that says its name beside them
# With these, a token is a piece of text or a place in a list.
PIECES = frozenset(
    "bos cached cls completion continuation count eos input mask max min next num output pad page previous prompt reasoning sep"
    " special stop total unk".split()
)
# Values that say something about a secret instead of being one.
WORDS = frozenset(
    "any bool bytes changed char correct default empty enabled disabled expired expires false forgotten given hidden incorrect"
    " int invalid missing never no none not null number off ok on optional redacted required reset rotated set string str text"
    " true unchanged undefined unknown unset valid varchar wrong yes".split()
)
ALGORITHMS = re.compile(r"(?i)(?:sha|md|base|utf|aes|bcrypt|argon|oauth|pbkdf|rfc|v)-?[0-9]|[0-9]+[a-z-]")
SCHEMES = frozenset("basic bearer digest token apikey".split())

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
NO_WORD = re.compile(r"[\W_]+")
MASK = re.compile(r"[*•●…#.]+|<[A-Za-z _-]*>|\[[A-Za-z _-]*\]")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)\}|(?<![\w$])\$([A-Z_][A-Z0-9_]*)(?!\w)|^env:([A-Za-z_]\w*)$", re.A)
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
ORDINARY = re.compile(r"[0-9a-fA-F]+|[0-9a-hjkmnp-tv-z]{26}")  # hashes and ids
PLAIN_KEY = re.compile(r"[^\W\d][\w-]{0,63}")

# A name and the sign that gives it a value; what the value is, is looked at on its own.
ASSIGNED = re.compile(
    r"(?<!\w)((?:(?:api|access|private|secret|account|pass|mot de) )?[^\W\d_][\w.-]{0,63}+)\\{0,3}[\"'`]?"
    r"(?:[ \t]{0,4}(:=|=>|=(?!=)|[:：])\s{0,4}|[ \t]{1,4}(is|was)[ \t]{1,4})",
    re.I,
)
SIGNS = ("=", ":", "：", "--", " is", " was")
FLAG = re.compile(r"(?<![\w-])--([A-Za-z][\w-]{0,63}+)[ \t]{1,4}(?!-)")
VALUE = re.compile(
    r"(?:(?i:basic|bearer|digest|token)[ \t]{1,4})?"
    r"(?:\\{0,3}\"([^\"\n]*+)|\\{0,3}'([^'\n]*+)|\\{0,3}`([^`\n]*+)|([^\s\"'`]++))"
)
CODE = re.compile(r"[({\[<%$].*|.*[(\[].*|[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++|\w+://.*", re.S)
STRONG = re.compile(r"(?=.*[0-9])(?=.*[^\W\d_]).{6,}", re.S)
NO_BEGINNING = " \t,;:)]}+"  # a quote that closed something else seems to begin with these
END_OF_LINE = "\r\n,;)}]|#"


def in_text(text: str) -> list[Found]:
    """Where a text holds secrets, in their order; none overlaps another. A text is read in linear time."""
    assigns = any(sign in text for sign in SIGNS)
    if not assigns and len(text) < SHORTEST:
        return []
    lowered = text.lower()
    found = list(_shaped(text, lowered))
    if assigns and any(part in lowered for part in PARTS):
        found += _assigned(text)
    found.sort(key=lambda one: one.start)  # stable: of two at one place, the known shape comes first
    merged: list[Found] = []
    for one in found:
        if merged and one.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(one.end, merged[-1].end))
        else:
            merged.append(one)
    return merged


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
    if _names_variable(leaf.name) and VARIABLE.fullmatch(leaf.value):
        return [leaf.value]
    return [braced or bare or prefixed for braced, bare, prefixed in REFERENCE.findall(leaf.value)]


def names_secret(name: str) -> bool:
    """Whether a field of this name is meant for a secret."""
    return _kind_of(_words(name)) is not None


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
            below = [(_step(path, key), _name_of(key, name, value), item) for key, item in value.items()]
            yield from (Leaf(one[0], "", key, is_key=True) for one, key in zip(below, value, strict=True))
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            below = [(f"{path}[{place}]", _flagged(value, place) or name, item) for place, item in enumerate(value)]
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
    if name in PAIRED and isinstance(told := within.get("name", within.get("key")), str):
        return told
    if outer and _names_variable(name):
        return f"{outer}_{name}"
    if name.casefold() in HOLDERS or ("type" not in within and _lists_passwords(outer)):
        return outer or name
    return name


def _lists_passwords(name: str) -> bool:
    """Whether what stands below a name are the passwords of whoever is named there."""
    words = _words(name) if _may_tell(name) else []
    return _kind_of(words) == "password" and words[-1].endswith("s") and words[-1] != "pass"


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
    if isinstance(value, str) and (shaped := in_text(value)):
        return shaped[0].kind
    words = _words(leaf.name) if _may_tell(leaf.name) else []
    kind = _kind_of(words)
    if kind is None:
        return "key" if isinstance(value, str) and _is_weak(words) and _is_random(value) else None
    if not isinstance(value, str):
        return kind if kind in ("password", "key", "secret") and not _is_count(words, str(value)) else None
    return kind if _is_literal(leaf.name, value) and not _is_count(words, value) else None


def _shaped(text: str, lowered: str) -> Iterator[Found]:
    """What looks like the secrets of a known service."""
    if "://" in text:
        yield from (Found("password in a URL", *match.span("secret")) for match in URL.finditer(text))
    if max(map(len, text.split()), default=0) < SHORTEST:
        return
    for kind, hint, pattern in SHAPES:
        if hint in lowered:
            for match in pattern.finditer(text):
                yield Found(kind, *match.span("secret" if "secret" in pattern.groupindex else 0))


def _assigned(text: str) -> Iterator[Found]:
    """What a text says to be somebody's secret: `password: xyz`, `API_KEY=xyz`, `--token xyz`."""
    for pattern in (ASSIGNED, FLAG) if "--" in text else (ASSIGNED,):
        place = 0
        while (match := pattern.search(text, place)) is not None:
            place = match.end()
            if not _may_tell(match[1]) or (value := VALUE.match(text, place)) is None:
                continue
            found = _told(text, match, value)
            if found is not None:
                yield found
            if found is not None or value.end() - place > LONGEST_SKIPPED:
                place = value.end()


def _told(text: str, match: re.Match[str], value: re.Match[str]) -> Found | None:
    words = _words(match[1])
    kind, group = _kind_of(words), value.lastindex or 0
    start, end = value.span(group)
    quoted, sign = group < 4, match[2] if match.re is ASSIGNED else "="
    said = value[group].rstrip("\\" if quoted else ".,;:!?)}]>\\")
    found = Found(kind or "key", start, start + len(said))
    if kind is None:
        return found if _is_weak(words) and _is_random(said) else None
    if len(said) < 3 or not _is_literal(match[1], said) or _is_count(words, said) or _is_own(words, said):
        return None
    if kind != "password" and (sign is None or (quoted and len(said.split()) > 2)):
        return None  # a sentence about it
    if quoted:
        return None if said[0] in NO_BEGINNING else found
    ends = found.end < end or text[end : end + 8].lstrip(" \t")[:1] in END_OF_LINE
    tight = match[0].endswith(("=", "=>"))
    return found if _is_said(kind, sign, said, ends, tight) else None


def _is_said(kind: str, sign: str | None, value: str, ends: bool, tight: bool) -> bool:
    """Whether a value without quotes is one, and not a word of a sentence or of a program."""
    if CODE.fullmatch(value):
        return False
    strong = STRONG.fullmatch(value) is not None or (len(value) >= 8 and value.isalnum() and not value[1:].islower())
    if sign is None:  # "is"
        return strong and not ALGORITHMS.match(value)
    if sign in (":", "："):
        return strong or (kind == "password" and ends)
    return strong or kind == "password" or (tight and not value.isdigit())


def _may_tell(name: str) -> bool:
    """Whether a name is worth a closer look."""
    lowered = name.lower()
    return any(part in lowered for part in PARTS) or not name.isascii()


def _words(name: str) -> list[str]:
    """The words of a field's name, whatever its style: `dbPassword2`, `DB-PASSWORD`, `db_password_value`."""
    if not name.isascii():
        name = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    words = [word.rstrip("0123456789") for word in NO_WORD.split(HUMP.sub(" ", name).casefold())]
    words = [word for word in words if word]
    while len(words) > 1 and (words[-1] in HOLDERS or _names_variable(words[-1])):
        words.pop()
    return words


def _kind_of(words: Sequence[str]) -> str | None:
    """What a name of these words is meant for, when it is a secret."""
    if not words:
        return None
    joined = "".join(words)
    if words[-1] in ("pass", "pw"):
        return "password"
    single = joined.removesuffix("s")
    for kind, endings in ENDINGS.items():
        if single.endswith(endings):
            return None if kind == "token" and not PIECES.isdisjoint(words) else kind
    return None


def _names_variable(name: str) -> bool:
    """Whether a field says that its value is the name of an environment variable: `token_env`, `env`, `keyVariable`."""
    last = NO_WORD.split(HUMP.sub(" ", name).casefold())[-2:]
    return last[-1:] in (["env"], ["variable"], ["envvar"]) or last == ["env", "var"]


def _is_count(words: Sequence[str], value: str) -> bool:
    """Whether a value says how many there are."""
    return words[-1] != "pass" and words[-1].endswith("s") and value.isdigit()


def _is_own(words: Sequence[str], value: str) -> bool:
    """Whether a value only repeats its name, as programs do; or the name is a pass, of a mountain or of a test."""
    return "".join(words).endswith("".join(_words(value)) or "-") or words == ["pass"]


def _is_weak(words: Sequence[str]) -> bool:
    """Whether a name may mean a secret, when its value looks like one."""
    return bool(words) and words[-1] in ("key", "auth", "session", "signature", "sid", "appid")


def _is_literal(name: str, value: str) -> bool:
    """Whether a value stands for itself: no variable, no mask, no word about it."""
    if _names_variable(name) and VARIABLE.fullmatch(value):
        return False
    bare = REFERENCE.sub(" ", value)
    words = [word for word in NO_WORD.split(bare.casefold()) if word]
    rest = [word for word in words if word not in SCHEMES]
    if not rest and (words or bare != value):
        return False
    return bool(value.strip()) and not MASK.fullmatch(value.strip()) and not WORDS.issuperset(rest or [value])


def _is_random(value: str) -> bool:
    """Whether a value looks as if a machine had thrown dice, and is no hash or id."""
    if len(value) < 20 or not re.fullmatch(r"[A-Za-z0-9+/_=-]+", value) or UUID.fullmatch(value) or ORDINARY.fullmatch(value):
        return False
    runs = len(re.findall(r"[0-9]+", value))
    mixed = value.lower() != value and value.upper() != value
    return runs >= (2 if mixed else 4)
