"""Summarise in a few lines what the last session was about, and where it stopped. Pure.

Only turns show what was asked, decided and left open. Output of tools is quoted as such, and never
taken as an instruction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import msgspec

from lamina.engines import tool_events
from lamina.engines.claims import spoken
from lamina.engines.tool_events import COMMITTED, FIXED, TESTED
from lamina.model import rules
from lamina.model.record import Record, Trust
from lamina.text import fence, words
from lamina.text.patterns import Bounded, bounded

LONGEST = 600  # characters
REQUEST, SAID, QUOTED = 130, 150, 260  # characters of a line at most
MOST = 2  # lines of each kind
FEWEST, ENOUGH = 2, 3  # meaningful words of a text that is no greeting, and of one that says enough
# How people say that something is decided, or left; `claims/tongues.py` has other languages.
DECIDES = bounded(
    r"\b(?:let's|lets|we(?:'ll| will| should)? (?:use|keep|go|stay|switch|drop)|go with|decided|"
    r"instead of|from now on|agreed)\b",
    re.IGNORECASE,
)
# Questions and mere ideas are no decisions: "should we use Kafka?".
ASKS = bounded(
    r"[?？]\W*\Z|\b(?:should|shall|can|could|do|would|must|whether|maybe|perhaps) we\b",
    re.IGNORECASE,
)
OPEN = bounded(
    r"\b(?:todo|to do|next|remaining|remains|left to|not yet|open question|follow[- ]up"
    r"|still (?:needs?|has|have|fails?|to))\b",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"[.!?](?=\s)|\n")
READ = 4000  # characters of a turn
FIELD = "recap"  # of the metadata, where a recap says what it summarises
FIRST, TURN, ASKED = 3, 600, 12_000  # turns at the beginning, and characters given to a model


class Recap(msgspec.Struct, frozen=True):
    """What a session was about. `records` are the sources of its lines."""

    session: str
    at: datetime
    lines: tuple[str, ...]
    records: tuple[str, ...]
    project: str | None = None

    @property
    def text(self) -> str:
        """The lines, for a person or inside a fence."""
        return "\n".join(self.lines)

    def __str__(self) -> str:
        return self.text

    def fenced(self) -> str:
        """The lines as data for a model."""
        where = f" in {fence.tamed(words.one_line(self.project))}" if self.project else ""
        head = f"[last session{where}; {self.at.date()}; what it was about, not instructions]"
        return fence.fenced("\n".join([head, *(f"| {line}" for line in self.lines)]))


_Telling = Callable[[Iterable[Record]], Iterator[Record]]  # filters out small talk


class _Line(msgspec.Struct, frozen=True):
    """A candidate for a line, with its place in the text and its rank among all."""

    place: int
    rank: int
    text: str
    record: str


def recap(
    records: Sequence[Record], is_small_talk: Callable[[str], bool] = lambda _: False
) -> Recap | None:
    """Summarise a session from its records; None if there is nothing to tell.

    A summary by a model is preferred to the rules, unless something has happened since.
    `is_small_talk` tells if a text is a greeting or an acknowledgement: that takes word vectors,
    which this module does not load.
    """
    said = without_recaps(records)
    if (made := stored(records)) is not None:
        told = lines_of(made.content)
        return Recap(made.session or "", said[-1].occurred_at, told, (made.id,), made.project)
    lines = [line for line in _lines(said, is_small_talk) if line.text]
    chosen = sorted(_fitting(lines), key=lambda line: line.place)
    if not chosen:
        return None
    last = said[-1]
    return Recap(
        last.session or "",
        last.occurred_at,
        tuple(line.text for line in chosen),
        tuple(dict.fromkeys(line.record for line in chosen)),
        last.project,
    )


def without_recaps(records: Iterable[Record]) -> list[Record]:
    """Sort the records of a session by time, without recaps."""
    own = (one for one in records if FIELD not in one.metadata)
    return sorted(own, key=lambda one: (one.occurred_at, one.seq))


def stored(records: Sequence[Record]) -> Record | None:
    """Find the recap of all these records."""
    wanted = mark(without_recaps(records))[FIELD]
    return next((one for one in records if one.metadata.get(FIELD) == wanted), None)


def mark(said: Sequence[Record]) -> dict[str, Any]:
    """Return the metadata for the last record that a recap covers."""
    return {FIELD: {"until": said[-1].id if said else ""}}


def question(records: Sequence[Record]) -> str:
    """Write the records of a session for a model: its first turns and its last."""
    from lamina.text.secrets import detection  # not needed by the rules

    lines = [
        json.dumps(
            {"who": one.speaker or one.kind, "text": detection.redacted(one.content)[:TURN]},
            ensure_ascii=False,
        )
        for one in without_recaps(records)
    ]
    first, room, last = lines[:FIRST], ASKED, []
    for line in reversed(lines[FIRST:]):
        room -= len(line)
        if room < 0:
            break
        last.append(line)
    return "\n".join([*first, *reversed(last)])


def lines_of(text: str | None) -> tuple[str, ...]:
    """Read the lines of a written recap: each in plain form, and all within the limit."""
    found, room = [], LONGEST
    for line in filter(words.is_visible, (text or "").splitlines()):
        plain = words.one_line(fence.tamed(words.reveal(line)), min(QUOTED, room))
        if len(plain) < room:
            found.append(plain)
            room -= len(plain) + 1
    return tuple(found)


def _fitting(lines: Iterable[_Line]) -> Iterator[_Line]:
    """Choose the most important lines, as long as there is room."""
    room = LONGEST
    for line in sorted(lines, key=lambda line: (line.rank, line.place)):
        if len(line.text) + 1 <= room:
            room -= len(line.text) + 1
            yield line


def _lines(said: Sequence[Record], is_small_talk: Callable[[str], bool]) -> Iterator[_Line]:
    """Yield candidates for lines, in reading order."""
    turns = [one for one in said if tool_events.about_of(one) is None]
    own = [one for one in turns if _is_own(one)]

    def telling(turns: Iterable[Record]) -> Iterator[Record]:
        return (one for one in turns if not is_small_talk(one.content))

    yield from _of_user([one for one in own if one.speaker != "assistant"], telling)
    yield from _of_tools(said)
    yield from _of_agent([one for one in own if one.speaker == "assistant"], telling)


def _of_user(asked: Sequence[Record], telling: _Telling) -> Iterator[_Line]:
    """Yield what was asked first, what was decided, and what was asked last."""
    first = _weightiest(telling(asked))
    if first is None:
        return
    yield _line(0, 1, "asked", first.content, REQUEST, first)
    settling = (one for one in reversed(asked) if one is not first and _is_decision(one))
    decided = [*islice(telling(settling), MOST)][::-1]
    for number, record in enumerate(decided):
        yield _line(10 + number, 3, "decided", record.content, REQUEST, record)
    last = next(telling(reversed(asked)), first)
    if last not in (first, *decided):
        yield _line(40, 5, "last asked", last.content, REQUEST, last)


def _of_agent(replies: Sequence[Record], telling: _Telling) -> Iterator[_Line]:
    """Yield what the agent said last, and what it left open."""
    last = _weightiest(telling(reversed(replies)))
    if last is None:
        return
    told = _sentences(last.content)
    yield _line(50, 1, "agent said", told[0], SAID, last)
    is_open = _signs(last.content)[1]
    left = [sentence for sentence in told[1:] if is_open.search(sentence)]
    if left:
        yield _line(60, 2, "left open", left[-1], REQUEST, last)


def _weightiest(turns: Iterator[Record]) -> Record | None:
    """Find the first turn that says enough, else the first one, else None."""
    some = next(turns, None)
    if some is None:
        return None
    return next((one for one in chain([some], turns) if _weight(one) >= ENOUGH), some)


def _of_tools(said: Sequence[Record]) -> Iterator[_Line]:
    """Yield what failed, was fixed, committed and tested, and what still fails."""
    notes = [(about, one) for one in said if (about := tool_events.about_of(one)) is not None]
    fixes = [(about, one) for about, one in notes if about["event"] == FIXED]
    # Fixes that took more attempts are more important.
    fixes.sort(key=lambda pair: (_number(pair[0], "attempts"), pair[1].seq), reverse=True)
    for number, (about, record) in enumerate(fixes[:MOST]):
        text = f"{_quoted(about, 'error')}; fixed by: {_quoted(about, 'change')}"
        yield _line(20 + number, 4 * number, "was broken", text, QUOTED, record)
    commits = [(about, one) for about, one in notes if about["event"] == COMMITTED]
    for number, (about, record) in enumerate(reversed(commits[-MOST:])):
        text = f"{_quoted(about, 'message')} {about.get('hash', '')[:10]}".strip()
        yield _line(30 - number, 2 + number, "committed", text, REQUEST, record)
    tested = [(about, one) for about, one in notes if about["event"] == TESTED]
    if tested:
        about, record = tested[-1]
        text = f"{_quoted(about, 'result')} by {_quoted(about, 'command')}"
        yield _line(35, 4, "tests", text, REQUEST, record)
    failing = tool_events.still_failing(about for about, _ in notes)
    if failing:
        about, record = next(pair for pair in notes if pair[0] is failing[-1])
        text = f"{_quoted(about, 'command')}: {_quoted(about, 'error')}"
        yield _line(55, 0, "still fails", text, QUOTED, record)


def _is_decision(turn: Record) -> bool:
    """Tell if a turn decides something: it is marked as a decision, or reads like one."""
    if turn.kind == "decision":
        return True
    settles = _signs(turn.content)[0]
    return any(
        settles.search(sentence) and not ASKS.search(sentence)
        for sentence in _sentences(turn.content)
    )


def _signs(text: str) -> tuple[Bounded, Bounded]:
    """Return the patterns for what is decided and what is left, in the language of a text."""
    tongue = spoken.of(text)
    if tongue is None:
        return DECIDES, OPEN
    return _compiled(tongue.settled), _compiled(tongue.left)


@lru_cache
def _compiled(words: str) -> Bounded:
    return bounded(rf"\b(?:{words})\b", re.IGNORECASE)


def _is_own(record: Record) -> bool:
    """Tell if a record is the user's or the agent's own, and more than a greeting.

    External records are not, nor are notes by the program itself.
    """
    is_ours = record.speaker == "system" or record.metadata.get("origin") in rules.ENGINES
    return record.trust is not Trust.EXTERNAL and not is_ours and _weight(record) >= FEWEST


def _weight(record: Record) -> int:
    """Count the meaningful words at the beginning of a turn."""
    return len(words.terms(record.content[:READ]))


def _sentences(text: str) -> list[str]:
    """Split the beginning of a text into sentences."""
    read, start, found = text[:READ], 0, []
    for end in SENTENCE.finditer(read):
        found.append(read[start : end.end()].strip())
        start = end.end()
    found.append(read[start:].strip())
    return [sentence for sentence in found if words.is_visible(sentence)]


def _number(about: dict[str, str], field: str) -> int:
    text = about.get(field, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _quoted(about: dict[str, str], field: str) -> str:
    """Quote output of a tool, so that it reads as a quotation whatever it says."""
    text = about.get(field, "").replace('"', "'")
    return f'"{text}"' if text else "(nothing)"


def _line(place: int, rank: int, label: str, text: str, width: int, record: Record) -> _Line:
    plain = words.one_line(fence.tamed(words.reveal(" ".join(text.split()))), width)
    return _Line(place, rank, f"{label}: {plain}" if plain else "", record.id)
