"""Score importance if none is given: guideline tables, and what a text reports (L8). Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from lamina.engines.severity import Report
    from lamina.text.screening import Marks, Screen, Words

# All amounts are hundredths: integers, so that the order of summation does not matter.
USUAL = 50  # a crumb, and any kind that is not in the tables
KINDS: Mapping[str, int] = {
    "action": 40,
    "data": 40,
    "crumb": USUAL,
    "user_interaction": 50,
    "fact": 55,
    "request": 55,
    "result": 55,
    "error": 60,
    "preference": 60,
    "project": 60,
    "decision": 65,
    "insight": 75,
    "escalation": 90,
}
# The cues that a kind implies; they do not count twice.
IMPLIED: Mapping[str, frozenset[str]] = {
    "decision": frozenset({"decision"}),
    "error": frozenset({"failure"}),
    "escalation": frozenset({"escalation", "failure"}),
    "insight": frozenset({"insight"}),
    "preference": frozenset({"preference"}),
    "project": frozenset({"goal"}),
}


class Cue(NamedTuple):
    """A reason to score higher or lower, and the tags, words and pairs of words that signal it."""

    name: str
    amount: int
    tags: str
    words: str

    def listed_tags(self) -> list[str]:
        return self.tags.split(", ") if self.tags else []

    def listed_words(self) -> list[str]:
        return self.words.split(", ")


CUES = (
    Cue("escalation", 40, "escalation, escalated", "escalated"),
    Cue("critical", 25, "critical, urgent, emergency", "critical, urgent, emergency, asap"),
    Cue("goal", 20, "goal, user_goal, intent", "goal, goals, wants, intends, aims to"),
    Cue(
        "insight",
        20,
        "insight, pattern",
        "insight, pattern, patterns, correlates, improved by, increased by, decreased by,"
        " dropped by, rose by, fell by",
    ),
    Cue("configuration", 20, "config, configuration, system_config", "configuration, configured"),
    Cue("decision", 15, "decision", "decided, decision, decisions"),
    Cue("important", 15, "important", "important, crucial, essential, remember"),
    Cue("deadline", 15, "deadline", "deadline, deadlines, due by, due on"),
    Cue("preference", 10, "preference", "prefer, prefers, preference, favourite, favorite"),
    Cue("rule", 10, "rule, policy", "always, never, must"),
    Cue(
        "failure",
        10,
        "failure, error",
        "failed, failure, failures, error, errors, crashed, exception",
    ),
    Cue("output", -10, "", "generated, rendered, initiated, retrieved, fetched"),
    Cue(
        "greeting",
        -20,
        "greeting, smalltalk",
        "hello, hi, hey, thanks, goodbye, bye, good morning, good night",
    ),
    Cue(
        "trivial",
        -20,
        "trivial, routine",
        "trivial, heartbeat, status update, no change, no changes, nothing new, never mind",
    ),
    Cue("log", -25, "debug, log, logs, trace", "debug, debugging, trace"),
    Cue("lookup", -25, "", "read, checked, listed, opened, loaded, polled, pinged"),
)
FAILED, RETRIED = 20, 10  # metadata counts more than words
FAILURES = frozenset({"failure", "failed", "error"})
TOLD = frozenset({"status", "retry", "escalated_to"})  # the fields of metadata that may count

# Characters of the content: important things come first, and a book must not cost more than a line.
LOOKED_AT = 240
SHORT = 6  # words; a longer text that says hello is not about the greeting
MARKS = ("", ".", ",", ":", ";", "!", "?")
NEGATIONS = frozenset(
    {"not", "no", "nothing", "without", "never", "don't", "doesn't", "didn't", "isn't", "wasn't"}
)

AMOUNTS = {cue.name: cue.amount for cue in CUES}
OF_TAG = {
    form: cue.name
    for cue in CUES
    for tag in cue.listed_tags()
    for form in (tag, tag.replace("_", "-"), tag.replace("_", " "))
}
OF_WORDS = {
    words + mark: cue.name for cue in CUES for words in cue.listed_words() for mark in MARKS
}
TELLING = frozenset(words.split()[0] for words in OF_WORDS)
BASE = {kind: amount / 100 for kind, amount in KINDS.items()}


class Reason(NamedTuple):
    """One of the amounts whose sum is an importance."""

    name: str
    amount: float


class Scored(NamedTuple):
    """An importance, and the reasons whose amounts add up to it."""

    importance: float
    reasons: tuple[Reason, ...]


def score(
    kind: str,
    content: str,
    tags: Sequence[str],
    metadata: Mapping[str, Any],
    *,
    may_tell: bool = True,
) -> float:
    """Score the importance of a memory, 0 to 1, by the tables and by what it reports.

    Without `may_tell`, its words are known to have no effect.
    """
    is_silent = (not tags or OF_TAG.keys().isdisjoint(tags)) and (
        not metadata or TOLD.isdisjoint(metadata)
    )
    # If a longer text is cut, it may end with a different word.
    if is_silent and not may_tell and len(content) <= LOOKED_AT:
        return BASE.get(kind, USUAL / 100)
    lowered = content[:LOOKED_AT].lower()
    words = lowered.split()
    if is_silent and _all_telling().isdisjoint(words):
        return BASE.get(kind, USUAL / 100)  # most memories give no sign
    report = _reader()(lowered)
    total = sum(amount for _, amount in _amounts(kind, words, tags, metadata))
    return _limited(total if report is None else max(total, report.least))


def explain(kind: str, content: str, tags: Sequence[str], metadata: Mapping[str, Any]) -> Scored:
    """Score with reasons; the reason `limit` is the amount cut off above 1 or below 0.

    A report raises the importance to the minimum of its class, whatever the kind.
    """
    lowered = content[:LOOKED_AT].lower()
    amounts = _amounts(kind, lowered.split(), tags, metadata)
    total = sum(amount for _, amount in amounts)
    report = _reader()(lowered)
    if report is not None and total < report.least:
        amounts.append((str(report), report.least - total))
        total = report.least
    if not 0 <= total <= 100:
        amounts.append(("limit", min(100, max(0, total)) - total))
    return Scored(_limited(total), tuple(Reason(name, amount / 100) for name, amount in amounts))


def telling(screen: Screen) -> Marks:
    """Mark the texts whose words may have an effect; those of the others have none."""
    return screen.with_words(_telling_words())


@cache
def _telling_words() -> Words:
    """Return the words of `_all_telling` without punctuation."""
    from lamina.engines import severity
    from lamina.text.screening import Words

    listed = {words.split()[0] for cue in CUES for words in cue.listed_words()}
    return Words(listed | severity.WORDS)


@cache
def _all_telling() -> frozenset[str]:
    """Collect the words without which a text neither has a cue nor reports anything."""
    from lamina.engines import severity

    return TELLING | severity.TELLING


@cache
def _reader() -> Callable[[str], Report | None]:
    """Return the parser for reports; its tables are built when the first memory is judged."""
    from lamina.engines.severity import read

    return read


def _limited(total: int) -> float:
    return min(100, max(0, total)) / 100


def _amounts(
    kind: str, words: Sequence[str], tags: Sequence[str], metadata: Mapping[str, Any]
) -> list[tuple[str, int]]:
    """List the amount for the kind and for each cue once, however often and wherever it occurs."""
    cues = dict(_of_metadata(metadata)) if metadata else {}
    for name in (*(OF_TAG[tag] for tag in tags if tag in OF_TAG), *_of_words(words)):
        cues.setdefault(name, AMOUNTS[name])
    implied = IMPLIED.get(kind, frozenset())
    return [
        (f"kind={kind}", KINDS.get(kind, USUAL)),
        *(cue for cue in cues.items() if cue[0] not in implied),
    ]


def _of_metadata(metadata: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Find cues in metadata, which may have any form; unexpected forms have no effect."""
    status, retry = metadata.get("status"), metadata.get("retry")
    escalated_to = metadata.get("escalated_to")
    if isinstance(escalated_to, str) and escalated_to:
        yield "escalation", AMOUNTS["escalation"]
    if isinstance(status, str) and status.lower() in FAILURES:
        yield "failure", FAILED
    if isinstance(retry, (int, float)) and not isinstance(retry, bool) and retry >= 1:
        yield "retry", RETRIED


def _of_words(words: Sequence[str]) -> Iterator[str]:
    """Find the cues in words, unless the previous word negates them."""
    for place, word in enumerate(words):
        if word not in TELLING or (place and words[place - 1] in NEGATIONS):
            continue
        name = OF_WORDS.get(" ".join(words[place : place + 2])) or OF_WORDS.get(word)
        is_aside = (name == "greeting" and len(words) > SHORT) or (name == "lookup" and place)
        if name and not is_aside:
            yield name
