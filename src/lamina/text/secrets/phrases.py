"""Find secrets that a text names as such: a telling name, a link to a value, the value. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lamina.text.normal_forms import normal
from lamina.text.secrets.patterns import (
    GONE,
    PLACEHOLDER,
    Secret,
    encodes_login,
    lazy,
    looks_random,
)


class Name(NamedTuple):
    """What a field's name says about its value."""

    words: Sequence[str]
    kind: str | None = None  # the kind of secret that the value is
    is_weak: bool = False  # the value is a secret only if it looks like one
    is_variable: bool = False  # the value is the name of an environment variable


# Names in languages other than English, as people write them in sentences.
SPOKEN_PASSWORDS = (
    "passwort passord kennwort contraseña contrasena clave senha mdp wachtwoord hasło haslo hasła"
    " lösenord heslo şifre şifrem şifresi parola parolası salasana adgangskode jelszó jelszava"
    " пароль пароля 密码 密碼 口令 パスワード 비밀번호 암호 סיסמה סיסמא पासवर्ड รหัสผ่าน"
    " mot_de_passe kata_sandi mật_khẩu كلمة_المرور كلمة_السر"
).split()
SPOKEN_KEYS = (
    "api-schlüssel api_schlüssel api-ключ apiキー api密钥 api_密钥 api_키 密钥 令牌 トークン"
    " токен clé_api"
).split()

# Names of secrets. They are compared with the joined words of a name, from its end.
CODES = tuple(
    f"{owner}code"
    for owner in (
        "door gate garage alarm access entry lock safe security unlock verification login recovery"
        " backup"
    ).split()
)
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "password": (
        *"password passwd passphrase passcode pwd depasse".split(),
        *"storepass keypass userpass dbpass rootpass".split(),
        *(name.replace("_", "") for name in SPOKEN_PASSWORDS if name != "clave"),
        *CODES,
    ),
    "token": ("token", "bearer", "jwt"),
    "key": tuple(
        f"{owner}key"
        for owner in (
            "access account admin api app auth deploy encryption hmac license master private secret"
            " service session shared preshared signing ssh storage subscription"
        ).split()
    ),
    "cookie": ("cookie",),
    "secret": tuple("secret secretkeybase credential authorization seedphrase psk keydata".split()),
}
TELLING_WORDS = frozenset(word for endings in ENDINGS.values() for word in endings) | {
    "pass",
    "pw",
    "key",
}
KINDS = {*ENDINGS}
# Words that do not change the meaning of a name when they follow it.
HOLDERS = frozenset(
    "value values default const literal plain plaintext raw string str text old new current".split()
)
# With these, a token is a piece of text or a place in a list.
PIECES = frozenset(
    "bos cached cls completion continuation count eos input mask max min next num output pad page"
    " previous prompt reasoning sep special stop total unk".split()
)
WEAK = frozenset(
    "key code auth session sessionid sessid jsessionid phpsessid signature sig sid appid".split()
)
PUBLIC = frozenset("public pub publishable site".split())
# The first of two words that form one name, as in "api key".
BEFORE = frozenset(
    ("de", "kata", *(code[:-4] for code in CODES), *(key[:-3] for key in ENDINGS["key"]))
)

# Values that describe a secret instead of being one.
WORDS = frozenset(
    "a any bool bytes changed changeme char correct default empty enabled disabled expired expires"
    " false forgotten given hidden include incorrect int invalid missing n never no none not null"
    " number off ok omit on optional origin redacted required reset rotated same set string str tbd"
    " text true unchanged undefined unknown unset valid varchar wrong yes".split()
)
SCHEMES = frozenset("basic bearer digest token apikey ssws".split())
TALK = frozenset(
    "the is not your and of too must should be at least enter incorrect wrong required invalid"
    " password expired weak strong safe".split()
)
MASK = lazy(r"[*•●…#.█■]+|[xX]{3,}|<[A-Za-z _-]*>|\[[A-Za-z _-]*\]")
VARIABLE = lazy(r"[A-Z_][A-Z0-9_]*")
REFERENCE = lazy(
    r"\$\{(?:env:)?([A-Za-z_]\w*)\}|(?<![\w$])\$([A-Z_][A-Z0-9_]*)(?!\w)|^env:([A-Za-z_]\w*)$", re.A
)
TEMPLATE = lazy(r"%[sd]|%\(\w{1,40}\)s|\{[^{}]{0,80}\}|<[^<>]{0,80}>")
CODE = lazy(r"[({\[<%$].*|[^(\[]*+[(\[].*|\w*:?//.*|[~.]{0,2}/.*|[a-z]:\\.*", re.S)
DOTTED = lazy(r"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)++")
ALGORITHM = lazy(
    r"(?i)(?:sha|md|base|utf|aes|bcrypt|argon|oauth|pbkdf|rfc|v)-?[0-9]|[0-9]+-?[a-z]{1,8}$"
)
DIGITS = lazy(r"[0-9]{4,32}|[0-9]{3,5}[ -][0-9]{3,5}")
LONGEST_NUMBER = 10  # digits of a number beside a name that need not be a password
NUMBER = lazy(r"[0-9.,]{1,7}")
AMOUNT = lazy(
    r"(?i)[0-9.,]{1,9}-?"
    r"(?:eur|euros?|usd|dollars?|gbp|chf|sek|nok|dkk|pln|czk|jpy|inr|days?|min|km)"
)
STRONG = lazy(r"(?=[^0-9]*+[0-9])(?=[\W\d_]*+[^\W\d_]).{6,}", re.S)
KEY = lazy(r"[A-Za-z0-9_+/=.~-]{12,}")
BASE32 = lazy(r"(?=[A-Z]*+[2-7])[A-Z2-7]{16,}")
MIXED = lazy(r"[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])")
SIGNATURE = lazy(r"(?=[^0-9]*+[0-9])[A-Za-z0-9%+/=_-]{32,}")
LONG_HEX = lazy(r"[0-9a-fA-F]{26,}")
SHORTEST = 3
COMPARED = frozenset(("==", "===", "!=", "!=="))
MADE_BY_MACHINES = frozenset(("token", "key", "cookie"))  # such a secret is never a plain word
LONGEST_JUDGED = 64  # characters of a value; the rest does not matter

HUMP = lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
NO_WORD = lazy(r"[\W_]+")

# Everything below uses the lower-cased text. A name is an identifier with a telling part, or a word
# of a sentence.
TELLING = (
    "pass pw secret token key cred auth cookie bearer jwt psk phrase code sid sess sig sandi"
).split()
SPOKEN = {
    "pin": Name(("pin",), "pin"),
    **{name.replace("_", " "): Name((name,), "password") for name in SPOKEN_PASSWORDS},
    **{name.replace("_", " "): Name((name,), "key") for name in SPOKEN_KEYS},
}
IDENTIFIER = "abcdefghijklmnopqrstuvwxyz0123456789_.-"
REST_OF_NAME = r"(?:[.-]*+[a-z0-9_]{1,64}+){0,8}+"
# Indexed by first letter, so that each position is checked once.
_NAMES: dict[str, list[str]] = {}
for _name in sorted(SPOKEN, key=len, reverse=True):
    _NAMES.setdefault(_name[0], []).append(re.escape(_name[1:]))
for _name in TELLING:
    _NAMES.setdefault(_name[0], []).append(_name[1:] + REST_OF_NAME)
NAMES = lazy("|".join(f"{first}(?:{'|'.join(rests)})" for first, rests in _NAMES.items()))
PREPOSITIONS = (
    "for to of on in at from that which you we i für vom zum zur im am de del della du da do di dla"
    " för till på от для к на van voor pour para per של שלי của untuk"
).replace(" ", "|")
BETWEEN = (
    r"(?: \([^()\n]{1,40}\)| (?:got |was |has been )?(?:changed|reset|updated|neu gesetzt))?"
    rf"(?: (?:{PREPOSITIONS})(?: [^\s:=,;.?!\"'`()\[\]<>/]{{1,32}}){{0,5}}?)??"
)
VERBS = "is was are ist lautet war est es era è é jest je är er là adalah هي هو היא - – —".replace(
    " ", "|"
)
IS = (
    r"(?:'s |\? it(?:'s| is) |, ?(?:type|use|enter|try|it's) "
    rf"|[ \t](?:{VERBS}|(?:used to|will|should) be|(?:to|as|from)(?=[ \t]\S{{0,64}}?[0-9\"'“„«]))"
    r"(?: now| still| set to)? ?:?[ \t]|[ \t]?(?:是|为|為|は|은|는|คือ)[ \t]?)"
)
SPACE = "[ \t\u00a0\u202f]"
PAIR = r",?[ \t\r\n]{1,8}[\"']?value[\"']?[ \t]{0,2}[:=]"
SIGN = rf"{SPACE}{{0,4}}(?P<sign>:=|[-=]>|→|={{1,3}}|!==?|[:：]|{PAIR})[ \t\r\n\u00a0\u202f]{{0,4}}"
CALL = r"[ \t]{0,2}(?P<call>[,(])[ \t\r\n]{0,4}(?=[\"'])|(?P<tag>>)[ \t\r\n]{0,4}"
BESIDE = rf"(?P<beside>{SPACE}{{1,4}})(?=[\"'`“„«「『]|\S{{0,64}}?[0-9])"
LINK = lazy(rf"\\{{0,3}}[\"'`]?[\])]?(?:{BETWEEN}(?:{SIGN}|(?P<said>{IS}))|{CALL}|{BESIDE})")
# Scripts without spaces between words.
UNSPACED = "\u3000-\u9fff\uac00-\ud7af\uff01-\uff5e"
QUOTES = "\"'`“”„«»「」『』"
VALUE = lazy(
    r"(?:(?i:basic|bearer|digest|token|ssws)[ \t]{1,4})?"
    r"(?:\\{0,3}(?:([\"'`])|[“„«「『])(?P<quoted>(?:(?!\1)[^“”»」』\n\x1f]){1,64}+)|\*{0,2}(?P<bare>"
    rf"[0-9]{{3,5}}[ -][0-9]{{3,5}}(?![\w-])|(?![{UNSPACED}(){{\[<%,;])[^\s{QUOTES}\x1f]{{3,64}}+))"
)
# The next one of a list of codes.
MORE = lazy(
    r"[ \t]{0,2}[ ,;\n][ \t\n]{0,4}(?:and )?((?=[A-Za-z-]{0,32}+[0-9])[A-Za-z0-9-]{4,32}+)(?!\w)"
)
QUOTED_REST = lazy(rf"[^{QUOTES}\n\x1f]*+")
REST = lazy(rf"[^\s{QUOTES}&;,<\\\x1f]*+")
# What must follow a weak name.
RANDOM = lazy(r"[\\\"'`]{0,4}(?=[A-Za-z+/_=%-]{0,40}+[0-9])[A-Za-z0-9+/_=%-]{20}")
# Where a value without quotes ends although no space follows: the next field, an escaped line end,
# a tag, a word of a script without spaces. A character class comes first: regex engines search for
# that faster than for alternatives.
CUT = lazy(
    rf"[&;,<\\{UNSPACED}](?:(?<=[&;,])(?=[A-Za-z_][\w. -]{{0,40}}[=:])"
    r"|(?<=&)(?:quot|amp|lt|#)|(?<=<)/"
    rf"|(?<=\\)(?:(?<!\\\\)|(?<=\A..))\\*+[nrt\"'](?=[\w\"'}}\],]|$)|(?<=[^{UNSPACED}][{UNSPACED}]))"
)
ENDS = ".,;:)}]>\\。，"

OWN = r"(?:my|the|our|your|a|his|her|mein|das|unser|mi|la|mon|le|notre)"
TURNED = lazy(
    rf" (?:\(?(?:that|this|which) )?(?:(?:is|ist|es|est) {OWN}|(?:as|als|como|comme)(?: {OWN})?)"
    r"(?: [\w-]{1,20}){0,2}?"
    rf" (?:password|passphrase|passcode|pw|pwd|pin|{'|'.join(SPOKEN_PASSWORDS).replace('_', ' ')})"
    r"(?!\w| (?:manager|policy|reset|field|hash|prompt|storage))"
)
LOGINS = ("cred", "credential", "login", "zugangsdaten", "identifiant")
LOGIN = lazy(
    rf"(?<!\w)(?:{'|'.join(LOGINS)})s?{BETWEEN}(?: (?:is|are|sind|[:→–-]|[=-]>)|:) "
    r"[^\s/:|,]{1,64}(?::| ?/ ?| \| )(?P<secret>[^\s\"'`/][^\s\"'`]{5,63}+)"
)
# Programs' options for a password.
OPTIONS = tuple(
    (program, lazy(pattern))
    for program, pattern in (
        (
            "curl",
            r"(?<=\s)(?:-[a-zA-Z]?u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:\"'$]{1,64}:"
            r"(?P<secret>[^\s\"']{3,}+)",
        ),
        ("mysql", r"(?<=\s)-p[\"']?(?P<secret>[^\s\"'/-][^\s\"']{2,}+)"),
        ("sshpass", r"(?<=sshpass )-p ?[\"']?(?P<secret>[^\s\"']{3,}+)"),
        ("redis-cli", r"(?<=\s)-a [\"']?(?P<secret>[^\s\"']{3,}+)"),
        ("zip", r"(?<=zip )-P ?[\"']?(?P<secret>[^\s\"']{3,}+)"),
        (" login", r"(?<=\s)-p [\"']?(?P<secret>[^\s\"']{6,}+)"),
        ("sqlcmd", r"(?<=\s)-P ?[\"']?(?P<secret>[^\s\"']{3,}+)"),
        ("ldap", r"(?<=\s)-w [\"']?(?P<secret>[^\s\"']{3,}+)"),
        ("-pass", r"-pass(?:in|out)?[ =]pass:(?P<secret>[^\s\"']{3,}+)"),
        ("net use", r"(?<=net use)r?[^\n/]{1,80} (?P<secret>[^\s\"'/\\*]{6,64}+) ?/"),
        ("wifi:", r"WIFI:[^\n]{0,80}?;P:(?P<secret>[^;\n]{3,64}+);"),
    )
)

# A text without any of these parts names no secret, and one without any of these signs contains no
# value.
_PARTS = {*TELLING, *LOGINS, *(program for program, _ in OPTIONS), *filter(str.isascii, SPOKEN)}
PARTS = tuple(
    sorted(part for part in _PARTS if not any(other in part for other in _PARTS - {part}))
)
FOREIGN_PARTS = tuple(name for name in SPOKEN if not name.isascii())
SIGNS = re.compile('[0-9:=<"“„«「`：]')


def may_tell(text: str, lowered: str) -> bool:
    """Tell if a text may name a secret and give its value."""
    if SIGNS.search(text) is None and " -" not in text:
        return "phrase" in lowered
    return may_name(lowered)


def may_name(lowered: str) -> bool:
    """Tell if a lower-cased text contains part of a telling name."""
    if any(map(lowered.__contains__, PARTS)):
        return True
    return not lowered.isascii() and any(map(lowered.__contains__, FOREIGN_PARTS))


def said(text: str, lowered: str) -> Iterator[Secret]:
    """Find secrets in fields, options and sentences; `lowered` is the same text in lower case."""
    yield from _named_values(text, lowered)
    yield from _passwords_in_sentences(text, lowered)
    for program, pattern in OPTIONS:
        for match in pattern.finditer(text) if program in lowered else ():
            value = match["secret"]
            if not (value.isdigit() or is_code(value) or MASK.fullmatch(value) or GONE in value):
                yield Secret("password", *match.span("secret"))


def _passwords_in_sentences(text: str, lowered: str) -> Iterator[Secret]:
    """Find the secrets in `xyz is my password` and `login: ana / xyz`."""
    for match in TURNED.finditer(lowered):
        before = text[max(0, match.start() - LONGEST_JUDGED) : match.start()]
        word = before[-1:].strip() and before.split()[-1]
        value = word.strip("\"'“„”`")
        if len(word) < LONGEST_JUDGED and is_password(value):
            place = text.rindex(value, 0, match.start())
            yield Secret("password", place, place + len(value))
    for match in LOGIN.finditer(lowered) if any(map(lowered.__contains__, LOGINS)) else ():
        start, value = match.start("secret"), trimmed(text[slice(*match.span("secret"))])
        if is_password(value):
            yield Secret("password", start, start + len(value))


def _named_values(text: str, lowered: str) -> Iterator[Secret]:
    """Find the values of telling names: `API_KEY=xyz`, `--token xyz`, `my password is xyz`."""
    names: dict[str, Name] = {}
    place = 0
    while (match := NAMES.search(lowered, place)) is not None:
        floor, place = place, match.end()
        link = LINK.match(lowered, place)
        if link is None:
            continue
        name = _name_at(text, lowered, floor, match, names)
        if name.kind is None:
            is_likely = name.is_weak and (RANDOM.match(text, link.end()) or _is_login(name))
            if not is_likely:
                continue
        value = VALUE.match(text, link.end())
        secret = _secret_value(text, name, link, value) if value is not None else None
        if secret is None:
            continue
        yield secret
        place, size = secret.end, secret.end - secret.start
        while name.words[-1] == "codes" and (more := MORE.match(text, place)):
            if len(more[1]) != size:
                break
            yield Secret(secret.kind, *more.span(1))
            place = more.end()


def _name_at(
    text: str, lowered: str, floor: int, match: re.Match[str], names: dict[str, Name]
) -> Name:
    """Read the name at a position, including the word before it if both form one name."""
    start, end = match.span()
    previous = lowered[start - 1 : start]
    if match[0] in SPOKEN and not (previous.isascii() and previous.isalnum()):
        return SPOKEN[match[0]]
    if previous in IDENTIFIER:
        before = lowered[max(floor, start - LONGEST_JUDGED) : start]
        start -= len(before) - len(before.rstrip(IDENTIFIER))
        previous = lowered[start - 1 : start]
    before = lowered[max(0, start - 14) : start - 1].replace("\n", " ")
    if previous == " " and (word := before.rpartition(" ")[2]) in BEFORE:
        start -= len(word) + 1
    spelled = text[start:end]
    name = names.get(spelled)
    if name is None:
        name = names[spelled] = named(spelled)
    return name


def _secret_value(
    text: str, name: Name, link: re.Match[str], value: re.Match[str]
) -> Secret | None:
    """Return the value of a telling name if it looks like a secret."""
    group = "quoted" if value["quoted"] is not None else "bare"
    start, end = value.span(group)
    given = text[start:end].rstrip("\\") if group == "quoted" else trimmed(text[start:end])
    if text[start - 1] == "*":  # bold
        given = given.rstrip("*")
    if len(given) < SHORTEST or (link["tag"] and not text.startswith("</", start + len(given))):
        return None
    if name.kind is None:
        sure = is_weakly_named(name, given) or _is_signed(name.words[-1], given)
    elif group == "quoted":
        sure = _is_quoted(name, link, given)
    else:
        ends = start + len(given) < end or text[end : end + 8].lstrip(" \t")[:1] in "\r\n,;)}]|#"
        sure = _is_bare(name, link, given, ends)
    if not sure or PLACEHOLDER.search(text, start, end) or not is_meant(name, given):
        return None
    kind = "password" if name.kind == "pin" else name.kind or "key"
    return Secret(kind, start, _end(text, start + len(given), len(given), group))


def _end(text: str, end: int, judged: int, group: str) -> int:
    """Find the end of a value of which only the beginning was judged."""
    if judged < LONGEST_JUDGED:
        return end
    rest = (QUOTED_REST if group == "quoted" else REST).match(text, end)
    return rest.end() if rest else end


def _is_quoted(name: Name, link: re.Match[str], value: str) -> bool:
    """Tell if a quoted value is a secret, and not a sentence about one."""
    if value[0] in " \t,;:)]}+":  # the quote closed something else
        return False
    sign, words = link["sign"] or "", value.lower().split()
    if link["call"] or link["tag"] or sign in COMPARED or (sign and name.kind in MADE_BY_MACHINES):
        return len(words) <= 2 and STRONG.fullmatch(value) is not None
    if name.kind == "password":
        return TALK.isdisjoint(words) if len(words) > 2 or not sign else True
    return len(words) <= 2 if sign else is_key(value)


def _is_bare(name: Name, link: re.Match[str], value: str, ends: bool) -> bool:
    """Tell if an unquoted value is a secret, and not a word of a sentence or of code."""
    sign = link["sign"]
    if is_code(value) or sign in COMPARED:
        return False
    if name.kind in ("password", "pin") and DIGITS.fullmatch(value):
        is_given = sign or link["said"] or name.words[-1] in ("code", "codes")
        return bool(is_given) or len(value) >= LONGEST_NUMBER
    if name.kind == "pin":
        return False
    if not sign:
        is_said = name.kind == "password" and (link["said"] or STRONG.fullmatch(value))
        return is_password(value) if is_said else is_key(value)
    if is_strong(value) or name.kind in MADE_BY_MACHINES:
        return is_strong(value)
    if sign == "=" and link[0].endswith("="):
        return name.kind == "password" or not value.isdigit()
    is_variable = value.isidentifier() and "_" in value
    return name.kind == "password" and sign in (":", "：") and ends and not is_variable


def is_weakly_named(name: Name, value: str) -> bool:
    """Tell if the value of a weak name is a secret: random, or a login as programs store it."""
    return name.is_weak and (looks_random(value) or (_is_login(name) and encodes_login(value)))


def _is_login(name: Name) -> bool:
    """Tell if a field is one in which `docker login` and others store a login in base64."""
    return name.words[-1:] == ["auth"]


def _is_signed(name: str, value: str) -> bool:
    """Tell if a value is the signature of a URL, or the session in a cookie."""
    if name.startswith("sig"):
        return SIGNATURE.fullmatch(value) is not None
    return "sess" in name and LONG_HEX.fullmatch(value) is not None


def is_meant(name: Name, value: str) -> bool:
    """Tell if a value is meant as a secret, not as an example, a version, or code."""
    if _is_own(name.words, value) or is_count(name.words, value) or not is_literal(name, value):
        return False
    return name.kind in ("password", "pin") or NUMBER.fullmatch(value) is None


def named(name: str) -> Name:
    """Interpret a name; the result has no words if it has no meaning for a secret."""
    words = words_of(name)
    if not words:
        return Name(())
    weak = words[-1] in WEAK and PUBLIC.isdisjoint(words)
    return Name(words, kind_of(words), weak, names_variable(name))


def words_of(name: str) -> list[str]:
    """Split a field's name into words, whatever its style: `dbPassword2`, `DB-PASSWORD`."""
    if not name.isascii():
        name = "".join(c for c in normal("NFKC", name) if unicodedata.category(c) != "Cf")
    words = [word.rstrip("0123456789") for word in NO_WORD.split(HUMP.sub(" ", name).casefold())]
    words = [word for word in words if word]
    while len(words) > 1 and (words[-1] in HOLDERS or names_variable(words[-1])):
        words.pop()
    return words


def kind_of(words: Sequence[str]) -> str | None:
    """Find the kind of secret that a name of these words is meant for, if any."""
    if not words:
        return None
    if words[-1] in ("pass", "pw"):
        return "password"
    joined = "".join(words)
    for kind, endings in ENDINGS.items():
        if joined.endswith(endings) or joined.removesuffix("s").endswith(endings):
            return None if kind == "token" and not PIECES.isdisjoint(words) else kind
    return None


def names_variable(name: str) -> bool:
    """Tell if a field's value names an environment variable: `token_env`, `keyVariable`."""
    last = NO_WORD.split(HUMP.sub(" ", name).casefold())[-2:]
    return last[-1:] in (["env"], ["variable"], ["envvar"]) or last == ["env", "var"]


def is_count(words: Sequence[str], value: str) -> bool:
    """Tell if a value says how many there are."""
    return words[-1] not in ("pass", "codes") and words[-1].endswith("s") and value.isdigit()


def _is_own(words: Sequence[str], value: str) -> bool:
    """Tell if a value only repeats its name, or the name is about a mountain or test pass."""
    if "".join(words).endswith(NO_WORD.sub("", value).casefold().rstrip("0123456789") or "-"):
        return True
    if value.isidentifier() and value.isalpha() and words_of(value)[-1] in TELLING_WORDS:
        return True
    if words != ["pass"]:
        return False
    is_variable = value.isidentifier() and "_" in value
    return is_variable or not STRONG.fullmatch(value) or AMOUNT.fullmatch(value) is not None


def is_literal(name: Name, value: str) -> bool:
    """Tell if a value is literal: no variable, no mask, no word that describes it."""
    if name.is_variable and VARIABLE.fullmatch(value):
        return False
    bare = TEMPLATE.sub(" ", REFERENCE.sub(" ", value))
    words = [word for word in NO_WORD.split(bare.casefold()) if word]
    rest = [word for word in words if word not in SCHEMES]
    if not rest and (words or bare != value):
        return False
    bare = value.strip()
    return bool(bare) and not MASK.fullmatch(bare) and not WORDS.issuperset(rest or [value])


def trimmed(value: str) -> str:
    """Strip the punctuation of the surrounding sentence or line from a value."""
    cut = CUT.search(value, 1)
    return (value[: cut.start()] if cut else value).rstrip(ENDS)


def is_password(value: str) -> bool:
    """Tell if a word of a sentence can only be a password."""
    if not is_strong(value) or is_code(value) or GONE in value:
        return False
    return not ALGORITHM.match(value) and not MASK.fullmatch(value)


def is_code(value: str) -> bool:
    """Tell if a value is code, an address or a path."""
    if CODE.fullmatch(value):
        return True
    return DOTTED.fullmatch(value) is not None and not is_key(value)


def is_strong(value: str) -> bool:
    """Tell if a value has a digit, or capitals where words have none."""
    if STRONG.fullmatch(value):
        return True
    has_odd_capitals = not value[1:].islower() and not value.isupper()
    return len(value) >= 8 and value.isascii() and value.isalnum() and has_odd_capitals


def is_key(value: str) -> bool:
    """Tell if a word of a sentence can only be a key."""
    if not KEY.fullmatch(value):
        return False
    return len(MIXED.findall(value)) >= 2 or BASE32.fullmatch(value) is not None
