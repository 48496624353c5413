"""Rules: rows that read claims after a verb, or in the words of a clause. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from lamina.engines.claims import attributes
from lamina.engines.claims.sentences import WIDEST
from lamina.text.patterns import Bounded, bounded

DROPPED = "-"
ONLY = "!"
ROLE = "role"  # the attribute is that of the group `role`: "my hometown is"
# How often claims of a family were right on untuned data; a row that was counted often may differ.
SURE: Mapping[str, float] = {
    "event": 0.75,
    "aim": 0.75,
    "taste": 0.8,
    "habit": 0.6,
    "owns": 0.7,
    "other": 0.7,
}
USUAL = 0.8
# The thing that a clause speaks of: any words that are not a pronoun.
NOUN = (
    r"(?!(?:it|that|this|they|he|she|you|which|what|there|who|we|i|one|these|those|your|their)\b)"
    r"(?:(?!\b(?:i|i'm|something|that|which|who|you|it|we|they)\b)[\w'&+ -]){2,50}?"
)
_DAYS = r"(?:days?|mornings?|evenings?|nights?|weeks?|weekends?|months?|years?)"
# Words of frequency: what is done so often is a habit.
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
# The time that a clause speaks of; looser than `dates`, which must know the day.
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
    """One row: after these verbs, with these auxiliaries, some words and a value make a claim."""

    name: str
    attribute: str
    verbs: frozenset[str]  # `*` is any, `*ing` any that ends so
    kinds: frozenset[str]  # auxiliaries; `plain` is none
    between: (
        Bounded  # from the end of the verb to the beginning of the value; may name the `old` one
    )
    # The kind by which the value is cut. `deed` begins with the verb, `verb` is the verb; if it is
    # empty, the value is the group `value`.
    value: str
    confidence: float
    # The attribute when it is denied; empty: the same, negated; `-`: no claim; `!`: only then.
    denied: str = ""
    when: str = ""  # the time that the clause must speak of
    but: frozenset[str] = frozenset()  # verbs that are not meant by `*`


class Phrase(NamedTuple):
    """One row for words anywhere in a clause, which claim something about the speaker."""

    name: str
    # `favourite:` takes its thing from the group `thing`, ROLE the attribute from the group `role`.
    attribute: str
    cue: re.Pattern[str]  # looked for first, in lower case, because that is cheap
    pattern: Bounded  # the value begins where the group `value` does, or at the end
    value: str  # the kind by which the value is cut; empty: it is the group `value`
    confidence: float
    wide: bool = False  # looked for in the whole sentence


def no(words: str) -> str:
    """Make a pattern: none of these words follows. An underscore stands for a space."""
    return rf"(?!\s{_any(words)})"


def then(words: str) -> str:
    """Make a pattern: one of these words follows, and is part of the value."""
    return rf"(?=\s{_any(words)})"


def compiled(pattern: str) -> Bounded:
    """Compile a pattern for a clause; it ignores case, except where it asks for a capital."""
    # No gap of a clause is wider, so wider ones need not be tried again and again.
    pattern = pattern.replace(r"\s*", rf"\s{{0,{WIDEST}}}")
    return Bounded(for_turns(pattern.replace(r"\s+", rf"\s{{1,{WIDEST}}}")))


def for_turns(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for a whole turn: it must take linear time."""
    return re.compile(pattern.replace("[A-Z]", "(?-i:[A-Z])"), re.I)


def any_of(cues: str) -> re.Pattern[str]:
    """Make a pattern for any of some words or parts of words. An underscore stands for a space."""
    return re.compile("|".join(re.escape(cue.replace("_", " ")) for cue in cues.split()))


class Cued(Protocol):
    """A row that is looked at only where one of its cues is said."""

    @property
    def cue(self) -> re.Pattern[str]: ...


Row = TypeVar("Row", bound=Cued)


class Cues(Generic[Row]):
    """Rows by their cues: each word is looked for once, which is faster than a pattern a row."""

    def __init__(self, rows: Sequence[Row]) -> None:
        listed: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            for word in row.cue.pattern.replace("\\", "").split("|"):
                listed.setdefault(word, []).append(number)
        self._rows, self._listed = rows, tuple(listed.items())

    def found(self, lowered: str) -> list[Row]:
        """List the rows with a cue in a turn, in their order."""
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
    """Index rules by their verbs, in their order."""
    listed: dict[str, list[Rule]] = {}
    for one in rules:
        for verb in one.verbs:
            listed.setdefault(verb, []).append(one)
    return {verb: tuple(some) for verb, some in listed.items()}
