"""Find secrets by shape: tokens of known services, passwords in URLs, random strings. Pure."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Sequence
from operator import ne
from typing import Any, NamedTuple, cast

RANDOM, IN_URL = "random string", "password in a URL"
GONE = "\x1f"  # replaces what was redacted: it ends a word, and no pattern matches across it
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Secret(NamedTuple):
    """A secret in a text, from `start` to `end`."""

    kind: str
    start: int
    end: int


class Lazy:
    """A pattern that is compiled on first use: most texts need few, and compiling all is slow."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern and copy its methods, so that later calls are as fast as its own."""
        compiled = re.compile(*self._given)
        for method in "search match fullmatch finditer findall sub split pattern flags".split():
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Do the same as `re.compile`, but on first use."""
    return cast(re.Pattern[str], Lazy(pattern, flags))


class Shape(NamedTuple):
    """The shape of one sort of secret. Texts without the hint need not be searched."""

    kind: str
    hint: str
    pattern: re.Pattern[str]


# Every pattern either ends with its longest repeat or cannot visit a character twice, so that
# searching takes linear time: repeats in the middle are possessive or short, and a pattern that may
# match anywhere begins with a literal.
ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NUMBERED = r"(?=[A-Za-z_-]{0,200}+[0-9])"  # a digit follows somewhere, which words do not have

# The beginnings of private key files in base64: RSA, EC, OpenSSH and unnamed.
PEM_IN_BASE64 = (
    "LS0tLS1CRUdJTiBSU0EgUFJJVkFURS LS0tLS1CRUdJTiBFQyBQUklWQVRF LS0tLS1CRUdJTiBPUEVOU1NI"
    " LS0tLS1CRUdJTiBQUklWQVRF"
)

# The beginnings of private keys of Ed25519 and of elliptic curves, the bytes that are only in those
# of RSA, and their lines, one or more.
PKCS8 = ("MC4CAQAwBQYDK2VwBCIEI", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg")
PKCS8_RSA = "IBADANBgkqhkiG9w0BAQEFAASC"
KEY_LINES = r"[A-Za-z0-9+/=]{16,}+(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{16,}+)*+"

# Prefixes of tokens of known services, and how they continue. The ends are open, so that no rest of
# a longer token remains.
PREFIXES = (
    ("AWS key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("AWS token", "IQoJb3JpZ2lu FwoGZXIvYXdz ABSK", r"[A-Za-z0-9+/=_-]{60,}"),
    ("AWS token", "amzn.mws.", ID),
    ("Alibaba key", "LTAI", r"[A-Za-z0-9]{12,}"),
    ("Google key", "AIza", r"[A-Za-z0-9_-]{30,}"),
    ("Google token", "ya29. GOCSPX- 1//0", r"[A-Za-z0-9_.-]{20,}"),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{32,}"),
    ("Databricks token", "dapi", r"[0-9a-f]{32,}(?:-[0-9])?"),
    ("Heroku key", "HRKU-", r"[A-Za-z0-9_-]{30,}"),
    ("Fly.io token", "fm1_ fm2_ fo1_", r"[A-Za-z0-9+/=_-]{40,}"),
    ("Netlify token", "nfp_ nfc_ nfo_", r"[A-Za-z0-9]{36,}"),
    ("Vercel token", "vercel_blob_rw_ vcp_ vca_", NUMBERED + r"[A-Za-z0-9_]{24,}"),
    ("Cloudflare key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("Cloudflare token", "cfut_ cfat_ cfk_", r"[A-Za-z0-9_-]{40,}"),
    ("Supabase key", "sbp_ sb_secret_", r"[A-Za-z0-9_-]{30,}"),
    ("PlanetScale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.=-]{30,}"),
    ("database key", "napi_ mdb_sa_sk_", NUMBERED + r"[A-Za-z0-9_-]{30,}"),
    ("Pulumi token", "pul-", r"[0-9a-f]{40,}"),
    ("Vault token", "hvs. hvb. hvr.", r"[A-Za-z0-9_-]{20,}"),
    ("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9._-]{40,}"),
    ("Infisical token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32,}"),
    ("1Password token", "ops_eyJ", r"[A-Za-z0-9_=+/-]{60,}"),
    ("Tailscale key", "tskey-", r"[A-Za-z0-9_-]{20,}"),
    ("OpenShift token", "sha256~", r"[A-Za-z0-9_-]{40,}"),
    ("private key", PEM_IN_BASE64, r"[A-Za-z0-9+/=]{40,}"),
    ("private key", " ".join(PKCS8), KEY_LINES),
    ("private key", "MII", rf"[A-Za-z0-9+/]{{3}}{PKCS8_RSA}{KEY_LINES}"),
    ("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    ("GitHub token", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    (
        "GitLab token",
        "glpat- gldt- glrt- glptt- glcbt- glft- glsoat- gloas- glimt- glagent- glffct-",
        r"[A-Za-z0-9_.-]{19,}[A-Za-z0-9_-]",
    ),
    ("GitLab token", "GR1348941", r"[A-Za-z0-9_-]{20,}"),
    ("Bitbucket token", "ATBB", r"[A-Za-z0-9]{24,}"),
    ("Atlassian token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{60,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-AgE", r"[A-Za-z0-9_-]{16,}"),
    ("RubyGems key", "rubygems_", r"[0-9a-f]{40,}"),
    ("crates.io token", "cio", r"(?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9_-])"),
    ("NuGet key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9_-])"),
    ("Clojars token", "CLOJARS_", r"[A-Za-z0-9]{50,}"),
    ("Docker token", "dckr_pat_ dckr_oat_", r"[A-Za-z0-9_-]{20,}"),
    ("Artifactory key", "AKCp cmVmdGtu", r"[A-Za-z0-9]{50,}"),
    ("CircleCI token", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{10,}+_[0-9a-f]{32,}"),
    ("Buildkite token", "bkua_ bkpt_ bkct_", r"[0-9a-f]{40,}"),
    ("SonarQube token", "squ_ sqp_ sqa_", r"[0-9a-f]{40,}"),
    ("Prefect key", "pnu_ pnb_", r"[A-Za-z0-9]{36,}"),
    ("Octopus key", "API-", r"(?=[A-Z]{0,25}[0-9])[A-Z0-9]{26,}"),
    (
        "Slack token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xox xoxo- xoxp- xoxr- xoxs- xapp- xwfp-",
        r"[A-Za-z0-9%-]{10,}",
    ),
    ("Slack webhook", "hooks.slack.com/services/ hooks.slack.com/workflows/", r"[A-Za-z0-9/]{20,}"),
    (
        "Discord webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        r"[0-9]{15,}+/[A-Za-z0-9_-]{40,}",
    ),
    ("webhook", "hooks.zapier.com/hooks/catch/", r"[A-Za-z0-9/]{14,}"),
    ("Instagram token", "IGQV", r"[A-Za-z0-9_-]{60,}"),
    ("SendGrid key", "SG.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}"),
    ("Mailgun key", "key-", r"[0-9a-f]{32,}(?![A-Za-z0-9])"),
    ("Brevo key", "xkeysib- xsmtpsib-", r"[0-9a-f]{40,}+[A-Za-z0-9-]*"),
    ("Resend key", "re_", r"[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}"),
    ("Twilio key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("Facebook token", "EAA", r"[A-Za-z0-9]{90,}"),
    (
        "Stripe key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_ sk_org_ sk_prod_",
        r"(?=[a-z_]{0,80}+[0-9A-Z])[A-Za-z0-9_+/=]{10,}",
    ),
    ("Square token", "sq0atp- sq0csp-", r"[A-Za-z0-9_-]{22,}"),
    ("Square token", "EAAA", r"[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])"),
    ("Razorpay key", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14,}"),
    ("Paddle key", "pdl_live_apikey_ pdl_sdbx_apikey_", r"[A-Za-z0-9_]{40,}"),
    ("Braintree token", "access_token$", r"(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32,}"),
    ("Plaid token", "access-production- access-sandbox- access-development-", ID),
    ("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32,}"),
    ("Flutterwave key", "FLWSECK- FLWSECK_TEST-", r"[0-9a-f]{12,}(?:-X)?"),
    ("Shippo key", "shippo_live_ shippo_test_", r"[0-9a-f]{40,}"),
    ("Duffel key", "duffel_live_ duffel_test_", r"[A-Za-z0-9_-]{30,}"),
    ("EasyPost key", "EZAK EZTK", r"[A-Za-z0-9]{50,}"),
    ("Grafana token", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-f]{8,}"),
    ("Grafana token", "glc_eyJ", r"[A-Za-z0-9_=+/-]{40,}"),
    ("Sentry token", "sntryu_ sntrys_", r"[A-Za-z0-9_=+/-]{60,}"),
    ("New Relic key", "NRAK- NRAA- NRIQ- NRSP- NRJS-", r"[A-Za-z0-9_-]{19,}"),
    ("Dynatrace token", "dt0c01. dt0s16. dt0s01.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{60,}"),
    ("PostHog key", "phx_ phs_", r"[A-Za-z0-9_-]{40,}"),
    ("LaunchDarkly key", "sdk- api- rel-", ID),
    ("Segment token", "sgp_", r"[A-Za-z0-9_]{40,}"),
    ("Asana token", "1/1 2/1", r"[0-9]{12,16}(?:/[0-9]{10,20})?:[0-9a-f]{32,}"),
    ("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64,}"),
    ("Figma token", "figd_ figo_ figu_", r"[A-Za-z0-9_-]{30,}"),
    ("Linear key", "lin_api_ lin_oauth_ lin_wh_", r"[A-Za-z0-9_-]{20,}"),
    ("Notion token", "ntn_ secret_", r"[A-Za-z0-9]{40,}"),
    ("HubSpot token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", ID),
    ("Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34,}"),
    ("Contentful token", "CFPAT-", r"[A-Za-z0-9_-]{40,}"),
    ("Typeform token", "tfp_", r"[A-Za-z0-9_.-]{40,}"),
    ("ReadMe key", "rdme_", r"[a-z0-9]{60,}"),
    ("Frame.io token", "fio-u-", r"[A-Za-z0-9_=-]{60,}"),
    ("Adobe secret", "p8e-", r"[A-Za-z0-9_-]{32,}"),
    ("Dropbox token", "sl.", r"[A-Za-z0-9_=-]{100,}"),
    ("Mapbox token", "sk.eyJ", r"[A-Za-z0-9_-]{20,}+\.[A-Za-z0-9_-]{16,}"),
    ("Yandex token", "AQVN y0_", r"[A-Za-z0-9_-]{35,}"),
    ("Lamina token", "lamina_", r"(?=[a-z_-]{0,42}+[0-9A-Z])[A-Za-z0-9_-]{43,}"),
    ("Hugging Face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    ("model key", "gsk_ xai- pplx- csk- tgp_v1_ fw_ jina_ e2b_", NUMBERED + r"[A-Za-z0-9_-]{20,}"),
    (
        "model key",
        "llx- rpa_ vck_ crsr_ wandb_v1_ nvapi- pcsk_ tvly- r8_ lsv2_ pa-",
        NUMBERED + r"[A-Za-z0-9_-]{32,}",
    ),
    ("model key", "sk_ fc-", r"[0-9a-f]{32,}(?![A-Za-z0-9])"),
    ("Nostr key", "nsec1", r"[02-9ac-hj-np-z]{58,}"),
    ("wallet key", "xprv yprv zprv tprv", r"[1-9A-HJ-NP-Za-km-z]{100,}"),
    (
        "model key",
        "sk-",
        rf"(?:[A-Za-z0-9]{{1,15}}-){{0,3}}{NUMBERED}[A-Za-z0-9_]{{16,}}+[A-Za-z0-9_-]*+",
    ),
    (
        "model key",
        "sk-",
        rf"(?:ant|proj|or|svcacct|admin|lf|helicone)-{NUMBERED}[A-Za-z0-9_-]{{20,}}",
    ),
    ("JSON web token", "eyJ", r"[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"),
)
# Where a word begins, also after an escaped line end and the like, at most this far back.
_EDGE = (
    r"(?:(?<![A-Za-z0-9_-]{0})|(?<=\\[nrt]{0})|(?<=%[0-9A-F][0-9A-F]{0})"
    r"|(?<=\\u00[0-9a-f][0-9a-f]{0})|(?<=\x1b\[[0-9]m{0})|(?<=\x1b\[[0-9][0-9]m{0}))"
)
# Indexed by the first two characters of a token, so that most words need not be compared with any.
PREFIXED: dict[str, list[Shape]] = {}
for _kind, _prefixes, _rest in PREFIXES:
    for _prefix in _prefixes.split():
        PREFIXED.setdefault(_prefix[:2], []).append(
            Shape(_kind, _prefix, lazy(_EDGE.format("") + re.escape(_prefix) + _rest))
        )
# Where a word starts that may be one of these tokens.
_FIRST: dict[str, str] = {}
for _start in sorted(PREFIXED):
    _FIRST[_start[0]] = _FIRST.get(_start[0], "") + re.escape(_start[1])
_FIRST_TWO = "|".join(f"{first}[{seconds}]" for first, seconds in _FIRST.items())
STARTS = lazy(rf"(?:{_FIRST_TWO})(?=[A-Za-z0-9_.$~/+-]{{14}})" + _EDGE.format(".."))
SHORTEST_TOKEN = 16  # characters without a space: every known shape has as many
LONG = re.compile(rf"[^ \x1f]{{{SHORTEST_TOKEN}}}")
LONG_WORD = lazy(rf"[^ \t\r\n\x1f]{{{SHORTEST_TOKEN},}}+")

# Secrets that may begin with anything, but contain a telling part. Of a file with a key, the header
# and the end, or lines without an end.
KEY_BLOCK = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?>.*?-----)END [A-Z0-9 ]{0,60}-----|(?:(?:\s|\\[nr]){0,8}[A-Za-z0-9+/=]{16,}+)++)"
)
STATIC_KEY = (
    r"-----BEGIN OpenVPN Static key V1-----\s[0-9a-f\s]{64,}+(?:-----END [A-Za-z0-9 ]{0,40}-----)?"
)
DISCORD = r"[MNO](?<![A-Za-z0-9_-][MNO])[A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"
AZURE = r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}[A-Za-z0-9_~-]"
WALLET = r"[5KL](?<![0-9A-Za-z/+_-][5KL])[1-9A-HJ-NP-Za-km-z]{50,51}(?![0-9A-Za-z/+=_-])"
SHAPES = tuple(
    Shape(kind, hint, lazy(pattern, re.S))
    for kind, hint, pattern in (
        ("private key", "PRIVATE KEY-----", KEY_BLOCK),
        ("private key", "PRIVATE KEY BLOCK-----", KEY_BLOCK),
        ("private key", "OpenVPN Static key", STATIC_KEY),
        (
            "webhook",
            ".webhook.office.com/webhookb2/",
            r"\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{14,}",
        ),
        (
            "Firebase key",
            ":APA91b",
            r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,}",
        ),
        ("Telegram token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33,}"),
        (
            "Terraform token",
            ".atlasv1.",
            r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}",
        ),
        ("Azure secret", "Q~", AZURE),
        ("Azure key", "JQQJ99", r"(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{12,}"),
        ("Mailchimp key", "-us", r"(?<![0-9A-Za-z])[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z])"),
        (
            "Mailgun key",
            "-",
            r"(?<![0-9A-Za-z-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9A-Za-z-])",
        ),
        (
            "private key",
            "Private-Lines: ",
            r"Private-Lines: [0-9]{1,3}+(?:\s{1,2}[A-Za-z0-9+/=]{16,}+)++",
        ),
        ("Discord token", ".", DISCORD),
        ("wallet key", "", WALLET),
    )
)
KINDS = {kind for kind, *_ in (*PREFIXES, *SHAPES)} | {RANDOM, IN_URL}
PLACEHOLDER = lazy(r"[xX]{8}|0{12}|\*{3}|\.{3}|[Yy][Oo][Uu][Rr]")

URL = lazy(r"://[^\s/@:]{0,128}:(?![$<{*]|%s)(?P<secret>[^\s/]{1,512})@")
NO_PASSWORDS = frozenset(
    "password passwd pass pwd passwort secret token your_password yourpassword".split()
)

# Runs that may be random, after alternatives that only look random: addresses, pictures, checksums,
# hashed passwords, lines of a block.
LINE = r"[A-Za-z0-9+/]{60,}+[ \t]{0,4}(?:\\n|\r?\n)[ \t]{0,16}"
BLOCK = lazy(rf"(?:{LINE}){{2,}}+[A-Za-z0-9+/=]*+|{LINE}[A-Za-z0-9+/=]{{24,}}+")
RUNS = lazy(
    r"://[^\s\"'<>`]++"
    r"|\$(?:2[abxy]|[156y]|argon2[id]{1,2}|scrypt|pbkdf2[a-z0-9-]{0,16})\$[\w$./+=,-]++"
    r"|base64,[A-Za-z0-9+/=]++|(?i:sha-?[0-9]{1,3}|md5|h1)[-:=][A-Za-z0-9+/=]++"
    r"|(?<![A-Za-z0-9+/_=.@#~-])([A-Za-z0-9+/_-]{20,128}+(?![A-Za-z0-9+/_-])={0,2})"
    r"(?![(=~@]|\.[A-Za-z])|[A-Za-z0-9+/_-]++"
)
# Words before values that look random but are not secret.
NAMES_ORDINARY = (
    *"id id-2 hash sha sha1 sha-1 sha256 sha-256 sha384 sha512 sha-512 md5 digest".split(),
    *"integrity checksum fingerprint etag nonce publickey public_key public-key sitekey".split(),
    *"site_key site-key address wallet cid commit ssh-rsa ssh-ed25519".split(),
    *("image", "public key", "site key"),
)
CONTEXT = 32
# Ids that name their kind, files and pictures as text, public keys, and addresses of coins and
# content.
ORDINARY = lazy(
    r"(?!(?:sk|rk|api|key|token|secret|live|test|priv|auth|pat)[_-])"
    r"[a-z]{2,12}[_-][A-Za-z0-9+/]{8,30}={0,2}"
    r"|(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi|UEsDB|H4sI|eJ|AAAA[BCE]|MII|TVqQ|AGFzbQ|pk_).*"
    r"|0x[0-9a-fA-F]{40}|(?:Qm|[13])[1-9A-HJ-NP-Za-km-z]{25,44}|[\w/-]*[_/-][0-9a-f]{16,}"
    r"|[0-9a-f]{16,}-[A-Z]{1,8}",
    re.S,
)
WORD = lazy(r"[A-Za-z0-9+/_=-]+")
ENCODED = lazy(r"[A-Za-z0-9+/_-]{8,}={0,2}")
LOGIN = lazy(r"[^:\s]{1,128}:.{3,}")
UUID = lazy(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
HEX_OR_ULID = lazy(r"[0-9a-fA-F]+|[0-9a-hjkmnp-tv-z]{26}")
CLASSES = str.maketrans(LETTERS + LETTERS.upper() + "0123456789", "a" * 26 + "A" * 26 + "0" * 10)
# Characters per piece, on average: words in a name have more, random text has two.
LONGEST_PIECE = 3.0
MOST_SIGNS = 4  # paths and names have more
FEWEST_CHANGES = 0.3  # of the character class, per character


def long_words(text: str) -> list[tuple[int, int]]:
    """Find the words that are long enough for a token. Most memories have none."""
    if LONG.search(text) is None:
        return []
    return [word.span() for word in LONG_WORD.finditer(text)]


def shaped(text: str, words: Sequence[tuple[int, int]]) -> Iterator[Secret]:
    """Find secrets with the shape that a known service gives them."""
    for start, end in words:
        yield from _prefixed(text, start, end)
    for kind, hint, pattern in SHAPES if words else ():
        for match in pattern.finditer(text) if hint in text else ():
            if not PLACEHOLDER.search(match[0][:100]):
                yield Secret(kind, *match.span())


def _prefixed(text: str, start: int, end: int) -> Iterator[Secret]:
    """Find the tokens with a known prefix within a word."""
    free = start  # where the last token ended
    for beginning in STARTS.finditer(text, start, end):
        at = beginning.start()
        for kind, prefix, pattern in PREFIXED[beginning[0]] if at >= free else ():
            match = pattern.match(text, at) if text.startswith(prefix, at) else None
            if match is None:
                continue
            free = match.end()
            if not PLACEHOLDER.search(match[0][:100]):
                yield Secret(kind, *match.span())


def in_urls(text: str) -> Iterator[Secret]:
    """Find passwords in addresses."""
    for match in URL.finditer(text):
        if match["secret"].lower() not in NO_PASSWORDS:
            yield Secret(IN_URL, *match.span("secret"))


def random(text: str, words: Sequence[tuple[int, int]]) -> Iterator[Secret]:
    """Find strings that look random, except those that look like ids, hashes or encoded data."""
    free = 0  # where the last block ended
    for first, last in words:
        if first < free:
            continue
        if (block := BLOCK.match(text, first)) is not None:
            free = block.end()
            continue
        for match in RUNS.finditer(text, first, last):
            start, end = match.span(1)
            if start < 0 or not _is_random(match[1]):
                continue
            if not names_ordinary(text[max(0, start - CONTEXT) : start]):
                yield Secret(RANDOM, start, end)


def names_ordinary(before: str) -> bool:
    """Tell if the text before a word says that it is an id, a hash, or public."""
    name = before.rstrip(" \t:=(\"'").removesuffix(" is").removesuffix(" W/").rstrip(":")
    return name.lower().endswith(NAMES_ORDINARY)


def _is_random(value: str) -> bool:
    """Tell if a value mixes cases and digits and is no words, id, picture or text in base64."""
    size, classes = len(value), value.translate(CLASSES)
    small, large, digits = map(classes.count, "aA0")
    signs = size - small - large - digits
    changes = sum(map(ne, classes, classes[1:]))
    if min(small, large, digits) < (2 if size < 24 else 1) or changes < size * FEWEST_CHANGES:
        return False
    if signs > max(MOST_SIGNS, size / 10) or ORDINARY.fullmatch(value):
        return False
    # Count pieces as capitals and numbers split a name.
    pieces = changes + 1 - signs - classes.count("Aa") + classes.count("AAa")
    return size - signs <= LONGEST_PIECE * pieces and not _is_encoded_text(value)


def _is_encoded_text(value: str) -> bool:
    """Tell if a value is base64 of readable text."""
    bare = value.rstrip("=")
    return _decoded(bare[: len(bare) // 4 * 4]) is not None


def encodes_login(value: str) -> bool:
    """Tell if a value is base64 of a name and a password."""
    text = _decoded(value) if ENCODED.fullmatch(value) else None
    return text is not None and LOGIN.fullmatch(text) is not None


def _decoded(value: str) -> str | None:
    """Decode base64, if the result is readable text."""
    try:
        content = binascii.a2b_base64(value.replace("-", "+").replace("_", "/"))
    except binascii.Error:
        return None
    if not content.isascii():
        return None
    text = content.decode("ascii").replace("\n", " ")
    return text if text.isprintable() else None


def looks_random(value: str) -> bool:
    """Tell if a named value looks randomly generated, and is no hash or id."""
    if len(value) < 20 or not WORD.fullmatch(value):
        return False
    if UUID.fullmatch(value) or HEX_OR_ULID.fullmatch(value):
        return False
    runs = len(re.findall(r"[0-9]+", value))
    mixed = value.lower() != value and value.upper() != value
    return runs >= (2 if mixed else 4)
