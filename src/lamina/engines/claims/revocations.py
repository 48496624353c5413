"""Find what ends an instruction: "stop answering in French", "you can book Fridays again". Pure.

What is not needed any more ends what was asked for, and a permission ends what was forbidden. Only
an instruction that is known can end: everything else may be a rule of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from lamina.engines.claims import Claim, imperatives, projects, topics, values
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.text.patterns import LONGEST, bounded

RULE = "revoked"
SURE = 0.85
FORM = 4  # letters that two forms of a word share at least


class Ends(Enum):
    """Which instructions a phrase can end."""

    ORDERS = "orders"
    BANS = "bans"
    BOTH = "both"


ABOUT = (
    r"(?: about)?(?: (?:what|everything) i (?:said|told you|wrote|asked) (?:about|for|on))?"
    r"(?: (?:the|my|that) (?:\w+ )?(?:rule|instruction|request|wish|part|bit|thing)s?"
    r" (?:about|for|to|that|of|on|with))?"
)
# The first that matches counts: "you can drop" is no permission.
PHRASES = {
    Ends.BOTH: bounded(
        r"(?:(?:you|u) (?:can|may) )?(?:(?:forget|never ?mind|disregard|ignore|scrap|drop|cancel)"
        rf"|(?:i|we)(?:'ve| have)? changed (?:my|our) minds?){ABOUT}\s",
        re.I,
    ),
    Ends.ORDERS: bounded(
        r"(?:(?:you|u) (?:can|may|could|should|must) )?(?:stop|quit)\s(?=\w+ing\b)"
        r"|(?:there(?:'s| is) )?no (?:more |longer (?:an?|any) )?(?:need|reason)(?: for you)? to\s"
        r"|(?:you|u) (?:no longer (?:need|have) to|needn't|need not|(?:don't|do not|dont)"
        r" (?:need|have) to)\s"
        r"|it(?:'s| is) (?:not|no longer) (?:necessary|needed|required) to\s"
        r"|(?:i|we) (?:no longer (?:need|want)|(?:don't|do not|dont) (?:need|want))(?: you to)?\s",
        re.I,
    ),
    Ends.BANS: bounded(
        r"(?:you|u) (?:can|may|are (?:free|allowed|welcome) to)(?: (?:now|again|also))?\s"
        r"|(?:feel free|it(?:'s| is)(?: now)? (?:all right|alright|okay|ok|fine))"
        r"(?: now| again)? to\s",
        re.I,
    ),
}
# "Fridays are fine for meetings now."
FINE = bounded(
    r"(?:is|are)(?: (?:now|again|all|perfectly|totally))? (?:fine|ok|okay|alright|all right|allowed"
    r"|possible|free|available|no problem)\b",
    re.I,
)
# An exception for once, or with a condition, ends nothing.
LIMITED = bounded(
    rf"\b(?:this(?! (?:{imperatives.WORKPLACE})\b)|these(?! days)|here|once|today|tonight|tomorrow"
    r"|next|only|but|except|unless|if|when|whenever|as long as|until|for now)\b",
    re.I,
)
# "You don't need to use poetry any more" asks for nothing; "I don't want emojis any more" does.
ANY_MORE = bounded(r"\b(?:any ?more|any longer|no longer)\b", re.I)
ASKED = bounded(r"\b(?:want|stop|quit)\b", re.I)
MARK = re.compile(r"[,;:(–—]")
# What an instruction forbids follows such a word, or comes before such a verdict.
FORBIDS = bounded(
    r"\b(?:never|not|don't|do not|dont|no|avoid\w*|skip|omit|without|stop|quit|refrain from"
    r"|instead of|rather than)\b",
    re.I,
)
FORBIDDEN = bounded(
    r"\b(?:banned|forbidden|off[- ]limits|blocked|taboo|not allowed|a no-go|nothing"
    r"|(?:keep|hold|leave) .{1,40} (?:free|alone|clear|empty))\b",
    re.I,
)
SMALL = values.stems(
    "always never ever again now more longer anymore rule please too days each every"
) | (frozenset(map(values.stem, topics.PRESENCE)))
# In an instruction about what to book, only the time matters.
BOOKED = values.stems(
    "book schedule plan meeting appointment call calendar keep hold leave free off limits nothing"
)


class Phrase(NamedTuple):
    """Words that may end an instruction, and the words for what it is about."""

    start: int
    end: int
    about: str
    ends: Ends

    def is_no_rule(self, plain: str) -> bool:
        """Tell if the words ask for nothing, even where they end nothing that is known."""
        is_over = bool(ANY_MORE.search(plain, self.start, self.end))
        return is_over and not ASKED.search(plain, self.start, self.end)


class Standing:
    """The instructions that apply, by who gave them and by topic."""

    def __init__(self, known: Iterable[Claim]) -> None:
        self._by_speaker: dict[str, dict[str, Claim]] = {}
        for claim in known:
            self.note(claim)

    def note(self, claim: Claim) -> None:
        """Record a claim if it is an instruction, or ends one."""
        if not claim.attribute.startswith(INSTRUCTION):
            return
        own = self._by_speaker.setdefault(claim.subject, {})
        if not claim.negated and claim.until is None:
            own[claim.attribute] = claim
        elif (last := own.get(claim.attribute)) and last.value == claim.value:
            del own[claim.attribute]

    def of(self, speaker: str, project: str | None) -> list[Claim]:
        """List a speaker's instructions: with a project, only its own and those for all."""
        own = self._by_speaker.get(speaker, {}).values()
        places = ("", topics.slug(project or ""))
        return [one for one in own if project is None or _place(one)[0] in places]


def revoked(said: Said, phrases: Sequence[Phrase], standing: Standing) -> Iterator[Claim]:
    """Deny the instructions that phrases of a turn end."""
    known = standing.of(said.speaker, said.turn.project)
    for phrase in phrases:
        is_local = bool(projects.HERE.search(said.plain, phrase.start, phrase.end))
        for one in known:
            is_wider = is_local and not _place(one)[0]
            if not is_wider and _is_about(phrase, one):
                about = one.subject, one.attribute, one.value
                yield said.claim(*about, (phrase.start, phrase.end), SURE, RULE, negated=True)


def phrases(plain: str, clauses: Sequence[Clause]) -> Iterator[Phrase]:
    """Yield what may end an instruction."""
    for sentence in by_sentence(clauses):
        start, end = sentence[0].start, sentence[-1].end
        is_told = not any(clause.asks for clause in sentence) and end - start <= LONGEST
        if is_told and not LIMITED.search(plain, start, end):
            yield from _of_sentence(plain, start, end)


def _of_sentence(plain: str, start: int, end: int) -> Iterator[Phrase]:
    front = imperatives.FRONT.match(plain, start, end)
    start = front.end() if front else start
    for ends, pattern in PHRASES.items():
        if found := pattern.match(plain, start, end):
            stop = _stop(plain, found.end(), end)
            yield Phrase(start, stop, plain[found.end() : stop], ends)
            return
    stop = _stop(plain, start, end)
    if found := FINE.search(plain, start, stop):
        about = f"{plain[start : found.start()]} {plain[found.end() : stop]}"
        yield Phrase(start, stop, about, Ends.BANS)


def _stop(plain: str, start: int, end: int) -> int:
    """Find where the words for what a phrase is about end: at a mark, an order or a reason."""
    patterns = (MARK, imperatives.JOINT, imperatives.REASON)
    found = (pattern.search(plain, start, end) for pattern in patterns)
    return min((one.start() for one in found if one), default=end)


def _is_about(phrase: Phrase, known: Claim) -> bool:
    """Tell if a phrase is about all that an instruction asks for or forbids, or about its topic."""
    name = topics.in_any_case(_place(known)[1])
    small = SMALL | BOOKED if name.startswith(topics.BOOKING) else SMALL
    about = values.stems(projects.HERE.sub(" ", phrase.about)) - small
    is_topic = topics.topic(phrase.about) == name
    return bool(about) and any(
        _has(part, about) and (is_topic or _has(about, part))
        for words in _parts(phrase, known.value)
        if (part := values.stems(words) - small)
    )


def _parts(phrase: Phrase, value: str) -> Iterator[str]:
    """Yield the parts of an instruction that a phrase can end."""
    found = FORBIDS.search(value)
    ordered, forbidden = (value[: found.start()], value[found.end() :]) if found else (value, "")
    if FORBIDDEN.search(value):
        ordered, forbidden = "", value
    # "You don't need to avoid Fridays" is a permission.
    is_ban = (phrase.ends is Ends.BANS) != bool(FORBIDS.search(phrase.about))
    if phrase.ends is Ends.BOTH or not is_ban:
        yield ordered
    if phrase.ends is Ends.BOTH or is_ban:
        yield forbidden


def _has(some: Iterable[str], wanted: Iterable[str]) -> bool:
    return all(any(_is_form(one, other) for other in some) for one in wanted)


def _is_form(one: str, other: str) -> bool:
    """Tell if two stems belong to one word: those of "answer" and "answering" differ in length."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= FORM and long.startswith(short))


def _place(known: Claim) -> tuple[str, str]:
    """Return the project of an instruction, or nothing, and its topic."""
    project, _, topic = known.attribute.removeprefix(INSTRUCTION).rpartition("/")
    return project, topic
