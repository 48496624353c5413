"""Rules: rows that define how to read claims after a verb, or from words in a clause. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from lamina.engines.claims import attributes
from lamina.engines.claims.sentences import WIDEST
from lamina.text.patterns import Bounded, bounded

DROPPED = "-"
ONLY = "!"
ROLE = "role"  # take the attribute from the group `role`: "my hometown is"
# The precision of each family's claims on held-out data; rows with enough data have their own.
SURE: Mapping[str, float] = {
    "event": 0.75,
    "aim": 0.75,
    "taste": 0.8,
    "habit": 0.6,
    "owns": 0.7,
    "other": 0.7,
}
USUAL = 0.8
# The thing that a clause is about: any words except pronouns.
NOUN = (
    r"(?!(?:it|that|this|they|he|she|you|which|what|there|who|we|i|one|these|those|your|their)\b)"
    r"(?:(?!\b(?:i|i'm|something|that|which|who|you|it|we|they)\b)[\w'&+ -]){2,50}?"
)
_DAYS = r"(?:days?|mornings?|evenings?|nights?|weeks?|weekends?|months?|years?)"
# Words of frequency, which indicate a habit.
FREQUENT = (
    r"(?:every (?!moment|step|time|bit|minute|second|little|one)(?:single |other |few )?\w+|(?:once"
    r"|twice|(?:a few|\w+) times) (?:or twice )?(?:a|per|every) \w+|(?:on )?(?:weekends|weekdays"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days)|daily|weekly"
    rf"|(?:each|most) {_DAYS}|in the (?:mornings|evenings)|after work|before (?:bed|work|breakfast)"
    rf"|\w+s an? (?:year|month|week"
    r"|day)\b)"
)
SELDOM = rf"(?!.*\b{FREQUENT})"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_SEASON = r"(?:summer|winter|spring|fall|autumn)"
# The time that a clause is about; looser than `dates`, which must know the day.
TIMES: Mapping[str, Bounded] = {
    "past": bounded(
        rf"\b(?:yesterday|last (?:night|week|weekend|month|year|time|{_SEASON}|{_DAY}|{_MONTH}|fri"
        rf"|sat|sun)|ago"
        r"|this (?:morning|week|weekend|month"
        rf"|past \w+)|today|on {_DAY}|the other (?:day|week|night)|recently|(?:in|on"
        rf"|back in) {_MONTH}|(?:in|back in) (?:19"
        r"|20)\d\d|a few \w+ back|when I was|(?:over )?the weekend|earlier (?:today|this))\b",
        re.I,
    ),
    "now": bounded(
        r"\b(?:now|nowadays|these days|since|currently|again|for good|permanently|at the moment"
        r"|instead|from (?:today|tomorrow|next|\w+day)|for (?:\w+ )?(?:years|months|weeks|ages))\b",
        re.I,
    ),
    "future": bounded(
        rf"\b(?:next (?:week|weekend|month|year|time|{_SEASON}|{_DAY}|{_MONTH})|tomorrow|tonight"
        rf"|this (?:week|weekend|month|year|{_SEASON}|coming|{_DAY}|evening|afternoon)|soon"
        rf"|upcoming|on {_DAY}|on the \d+(?:st|nd|rd|th)|in {_MONTH}"
        r"|in (?:a few|a couple of|two|three|\d+) (?:days|weeks|months|years)|coming up)\b",
        re.I,
    ),
}


class Rule(NamedTuple):
    """A rule for a verb: with these auxiliaries, some words and a value make a claim."""

    name: str
    attribute: str
    verbs: frozenset[str]  # `*` is any verb, `*ing` any with that ending
    kinds: frozenset[str]  # auxiliaries; `plain` means none
    between: (
        Bounded  # from the end of the verb to the beginning of the value; may name the `old` one
    )
    # The kind that tells where the value ends. `deed` begins with the verb, `verb` is the verb; if
    # it is empty, the value is the group `value`.
    value: str
    confidence: float
    # The attribute of a denial; empty: the same, negated; `-`: no claim; `!`: only denials.
    denied: str = ""
    when: str = ""  # the time that the clause must be about
    but: frozenset[str] = frozenset()  # verbs that `*` excludes


class Phrase(NamedTuple):
    """A rule for words anywhere in a clause that claim something about the speaker."""

    name: str
    # `favourite:` is completed by the group `thing`, ROLE is replaced according to group `role`.
    attribute: str
    cue: re.Pattern[str]  # searched first in the lower-cased turn, because that is cheap
    pattern: Bounded  # the value begins at the group `value`, or after the match
    value: str  # the kind that tells where the value ends; empty: it is the group `value`
    confidence: float
    wide: bool = False  # searched in the whole sentence


def no(words: str) -> str:
    """Return a pattern that requires that none of these words follows; `_` means a space."""
    return rf"(?!\s{_any(words)})"


def then(words: str) -> str:
    """Return a pattern that requires one of these words to follow, as part of the value."""
    return rf"(?=\s{_any(words)})"


def compiled(pattern: str) -> Bounded:
    """Compile a pattern for a clause; ignore case, except where it requires a capital."""
    # No gap in a clause is wider, so trying wider ones would waste time.
    pattern = pattern.replace(r"\s*", rf"\s{{0,{WIDEST}}}")
    return Bounded(for_turns(pattern.replace(r"\s+", rf"\s{{1,{WIDEST}}}")))


def for_turns(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for a whole turn: it must take linear time."""
    return re.compile(pattern.replace("[A-Z]", "(?-i:[A-Z])"), re.I)


def any_of(cues: str) -> re.Pattern[str]:
    """Return a pattern for any of the words or parts of words; `_` means a space."""
    return re.compile("|".join(re.escape(cue.replace("_", " ")) for cue in cues.split()))


class Cued(Protocol):
    """A row that is tried only on turns with one of its cues."""

    @property
    def cue(self) -> re.Pattern[str]: ...


Row = TypeVar("Row", bound=Cued)


class Cues(Generic[Row]):
    """Rows by cue: each word is searched once, which is faster than a pattern per row."""

    def __init__(self, rows: Sequence[Row]) -> None:
        listed: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            for word in row.cue.pattern.replace("\\", "").split("|"):
                listed.setdefault(word, []).append(number)
        self._rows, self._listed = rows, tuple(listed.items())

    def found(self, lowered: str) -> list[Row]:
        """List the rows that have a cue in a turn, in order."""
        numbers = {one for word, some in self._listed if word in lowered for one in some}
        return [self._rows[number] for number in sorted(numbers)]


def _any(words: str) -> str:
    return rf"(?:{'|'.join(words.split()).replace('_', ' ')})\b"


def rule(
    name: str, attribute: str, verbs: str | Iterable[str], kinds: str, after: str, value: str,
    *, denied: str = "", when: str = "", but: frozenset[str] = frozenset(), sure: float = 0,
) -> Rule:  # fmt: skip
    listed = frozenset(verbs.split() if isinstance(verbs, str) else verbs)
    auxiliaries, between = frozenset(kinds.split()), compiled(rf"{after}\s*")
    confidence = sure or _sure(attribute)
    return Rule(
        name, attribute, listed, auxiliaries, between, value, confidence, denied, when, but
    )  # fmt: skip


def phrase(
    name: str, attribute: str, cues: str, pattern: str, value: str,
    *, wide: bool = False, sure: float = 0,
) -> Phrase:  # fmt: skip
    cue, confidence = any_of(cues), sure or _sure(attribute)
    return Phrase(name, attribute, cue, compiled(pattern), value, confidence, wide)


def _sure(attribute: str) -> float:
    is_taste = attribute in (ROLE, attributes.FAVOURITE)
    return SURE.get("taste" if is_taste else attributes.of(attribute).family, USUAL)


def by_verb(rules: Iterable[Rule]) -> Mapping[str, tuple[Rule, ...]]:
    """Index rules by verb, in order."""
    listed: dict[str, list[Rule]] = {}
    for one in rules:
        for verb in one.verbs:
            listed.setdefault(verb, []).append(one)
    return {verb: tuple(some) for verb, some in listed.items()}
