"""Text of others is read in linear time, whatever it holds: no memory can stop a night, a search or
a program."""

from __future__ import annotations

import gc
import json
import random
import re
import signal
import subprocess
import sys
import time
import unicodedata
from ast import literal_eval
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lamina.engines import importance, profile, summary, workflows
from lamina.engines.claims import Turn
from lamina.engines.claims.extraction import extract
from lamina.formats import markdown
from lamina.model.rules import Drafter
from lamina.search import echoes, renewal
from lamina.text import cues, dates, fence, lookalikes, recurrences, words
from lamina.text.normal_forms import normal
from lamina.text.patterns import Bounded
from lamina.text.secrets import detection
from tests.conftest import FULL, START, TESTER, Desk
from tests.security.patterns import GENERIC, Found, Shape, everything, shapes
from tests.security.tally import probe

SIZE = (
    4000 if FULL else 1000
)  # characters; more than any bounded repeat that looks back at what it has read
GROWTH = (
    3.2  # at most, when a text is twice as long: twice the time is linear, four times is quadratic
)
# times a plain search over the same text: what is as quick as that need not be measured again
CHEAP = 40
DEAR = 1000  # times the same, for patterns that read short stretches only
STUCK = 5.0  # seconds for what takes a few milliseconds
PLAIN = re.compile("[a-y]z")
Read = Callable[[str], object]
READERS: dict[str, Read] = {
    "rules.Drafter": lambda said: Drafter(TESTER).draft({"content": f"tea {said}"}),
    "text.analyse": words.analyse,
    "text.terms": words.terms,
    "text.tokens": words.tokens,
    "text.row": words.row,
    "text.normalise": words.normalise,
    "text.one_line": words.one_line,
    "text.is_visible": words.is_visible,
    "dates.find": lambda said: dates.find(said, START),
    "recurrences.find": lambda said: recurrences.find(said, START),
    "signs.of": lambda said: cues.of(said, "Ana"),
    "signs.about_assistant": cues.about_assistant,
    "fence.tamed": fence.tamed,
    "fence.unfenced": fence.unfenced,
    "fence.masked": fence.masked,
    "disguise.bare": lookalikes.bare,
    "credentials.redacted": detection.redacted,
    "credentials.without": lambda said: _without_secrets(
        {"content": said, "metadata": {"password": said}}
    ),
    "claims.extract": lambda said: extract([Turn(said, "Ana", START)]),
    "summary.spans": lambda said: list(summary.spans(said)),
    "importance.explain": lambda said: importance.explain("fact", said, (), {}),
    "workflows.slug": workflows.slug,
    "profile.slug": profile.slug,
    "markdown.block": markdown.block,
    "renewal.statements": lambda said: list(renewal.statements(said, {"tea": 1.0})),
    "echoes.only_asks": echoes.only_asks,
}


def _without_secrets(fields: dict[str, Any]) -> object:
    return detection.without(fields, detection.in_fields(fields))


SAID = (
    "I like ", "my my sister ", "my brother and ", "A is my sister. ", "my son Aa, who went. ", "with the kids. ", "no. nope. ",
    "it's Aa now. ", "not tea, ", "I meant tea. ", "her name's Coco. ", "I used to run. ", "what is your favourite tea? ",
    "swapped my ", "take the a ", "she proposed ", "he said: a ", "translate this text: ", "password: ", "my password is ",
    "key = ", "sk-", "eyJa", "-----BEGIN ", "AKIA", "://a:", "may 1 ", "last ", "in two ", "2026-01-", "Mr. ", "- a\n",
    "1. a\n", "a\u0301\u0316", "\u0301\u0316", "\u0344\u0316", "x\u200d", fence.OPEN, fence.CLOSE, "<<",
)  # fmt: skip
NUMBERED = (
    "I like tea{}. ", "I gave up tea{}. ", "my sister Aa{} is. ", "I live in Aa{}. ", "I don't play a{} any more. ",
    "Aa{} is my sister. ", "I went to a{} and b{}, ", "I meant Aa{}. ",
)  # fmt: skip
LENGTH = 20_000
TOLD = (
    "I went to the {} with my sister Mia last week, and it was lovely.", "Do you still like {}?", "I've been reading about {}.",
    "My brother says that {} is not for him, but I love it.", "We should talk about {} tomorrow, if you have time!",
    "I moved here because of {}; it took me two years.", "Thanks for asking, {} was great.", "On 7 May I bought a new {}.",
    "Honestly, {} reminds me of my grandma, who lived in Porto.", "I'm planning to try {} next month.",
)  # fmt: skip
THINGS = (
    "tea jazz hiking chess gardening yoga pottery sailing cooking painting running camping "
    "photography"
).split()
COMPILED = """
import json, re, sys
compile, made = re._compile, set()
def note(pattern, flags):
    found = compile(pattern, flags)
    if sys._getframe(2).f_globals.get("__name__", "").startswith("lamina"):
        made.add((repr(found.pattern), found.flags))
    return found
re._compile = note
from tests.security import patterns, test_patterns
patterns.modules()
loaded = set(made)
for read in test_patterns.READERS.values():
    read(test_patterns.ORDINARY)
print(json.dumps([sorted(loaded), sorted(made - loaded)]))
"""
ORDINARY = (
    "I moved to Lisbon on 7 May 2026, not Porto. My password is hunter2hunter2! I meant "
    "Faro. Two days ago my sister Mia got"
    " a dog; she's vegan now. Where do you live? Next week I'll visit Rome, in 2025 it was "
    "3.5.2025. c++ and getUserName."
)


class StuckError(Exception):
    """Something took so long that it need not be measured."""


@contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise StuckError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, STUCK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _use(found: Found) -> Read:
    """Use a pattern as the package does: at one place, or all over a text."""
    method: Callable[[Any], object] = getattr(found.pattern, found.method)
    if found.method == "search":
        method = lambda said: sum(1 for _ in found.pattern.finditer(said))  # noqa: E731
    return (
        (lambda said: method(said.encode("latin-1", "replace")))
        if isinstance(found.pattern.pattern, bytes)
        else method
    )


def _time(read: Read, said: str, times: int = 1) -> int:
    """Nanoseconds that this thread works, the best of some tries, without the collector of garbage.

    That looks at everything the process holds, at times that have nothing to do with the text.
    """
    best = sys.maxsize
    gc.disable()
    try:
        for _ in range(times):
            before = time.thread_time_ns()
            read(said)
            best = min(best, time.thread_time_ns() - before)
    finally:
        gc.enable()
    return best


def _plain(size: int) -> int:
    return _time(PLAIN.search, "a" * size, 20)


def _growth(read: Read, make: Callable[[int], str], plain: int) -> float:
    """How many times as long it takes for a text of twice the length; 0 for what is quick, or grows
    with the text."""
    large = _time(read, make(4 * SIZE))
    if large < CHEAP * plain or large < 2.5 * GROWTH * _time(read, make(SIZE)):
        return 0
    return _time(read, make(8 * SIZE), 3) / _time(read, make(4 * SIZE), 3)


def _is_slow(read: Read, make: Callable[[int], str], plain: int) -> bool:
    """Whether something takes more than linear time; what seems to is measured again, so that no
    noise can fail."""
    probe()
    try:
        with _limit():
            return (
                _growth(read, make, plain) > GROWTH
                and min(_growth(read, make, plain) for _ in range(3)) > GROWTH
            )
    except StuckError:
        return True


def _slow(read: Read, made: Iterator[Shape], plain: int) -> str | None:
    """The first text that is read slowly."""
    return next((f"{tuple(shape)}" for shape in made if _is_slow(read, shape.text, plain)), None)


@cache
def _compiled() -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """The patterns, as Python writes them, and flags of what is compiled while the package is
    loaded, and while it reads."""
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True, cwd=root
    )
    loaded, later = (
        {(pattern, flags) for pattern, flags in made} for made in json.loads(ran.stdout)
    )
    return loaded, later


def _known() -> set[tuple[str, int]]:
    return {(repr(found.pattern.pattern), found.pattern.flags) for found in everything()}


def test_every_pattern_is_looked_at() -> None:
    """S5: whatever the package compiles while it is loaded is among the patterns that
    are measured here."""
    assert len(_known()) > 500
    assert _compiled()[0] - _known() == set()


def test_patterns_that_are_made_while_reading_take_linear_time() -> None:
    """S5: what is compiled only when a text needs it is linear as well."""
    plain, later = _plain(4 * SIZE), sorted(_compiled()[1] - _known())
    assert any("month" in pattern for pattern, _ in later)
    made = [re.compile(literal_eval(pattern), flags) for pattern, flags in later]
    slow = {
        one.pattern: _slow(_use(Found("", one, None, "search")), shapes(one), plain) for one in made
    }
    assert {pattern: said for pattern, said in slow.items() if said is not None} == {}


def test_patterns_take_linear_time() -> None:
    """S5: every pattern reads texts that were made to slow it down in time that grows
    with their length."""
    plain = _plain(4 * SIZE)
    found = [one for one in everything() if one.longest is None]
    slow = {one.name: _slow(_use(one), shapes(one.pattern), plain) for one in found}
    assert {name: said for name, said in slow.items() if said is not None} == {}


def test_patterns_of_rules_read_short_stretches() -> None:
    """S5: a pattern that may take longer refuses longer texts, and costs little for the longest
    that it reads."""
    slow = {}
    for one in everything():
        if one.longest is None:
            continue
        assert Bounded(one.pattern, one.longest).search("a" * (one.longest + 1)) is None
        most, read = DEAR * _plain(one.longest), _use(one)
        for shape in shapes(one.pattern):
            probe()
            said = shape.text(one.longest)[: one.longest - len(shape.suffix)] + shape.suffix
            if _time(read, said) > most and _time(read, said, 5) > most:
                slow[one.name] = tuple(shape)
    assert slow == {}


@pytest.mark.parametrize("name", READERS)
def test_text_is_read_in_linear_time(name: str) -> None:
    """S5, P6: whatever reads memories takes time that grows with their length, however
    they are made."""
    plain = _plain(4 * SIZE)
    made = (Shape("", piece, end) for piece in (*GENERIC, *SAID) for end in ("", "!"))
    assert _slow(READERS[name], made, plain) is None


@pytest.mark.parametrize("piece", NUMBERED)
def test_many_claims_are_taken_in_linear_time(piece: str) -> None:
    """S1: a turn that says many different things is read as quickly as one that says
    one thing often."""

    def make(size: int) -> str:
        return "".join(piece.format(number, number) for number in range(size // len(piece)))

    assert not _is_slow(READERS["claims.extract"], make, _plain(4 * SIZE))


def test_marks_beyond_reason_are_normalised_in_pieces() -> None:
    """Q8: marks are ordered as Unicode wants it, also thirty of them; what has more is ordered
    thirty at a time."""
    marks = "\u0301\u0316"
    for number in (1, 15):
        assert normal("NFKD", f"E{marks * number}cole") == unicodedata.normalize(
            "NFKD", f"E{marks * number}cole"
        )
    assert (
        normal("NFKD", f"e{marks * 30}cole") == "e" + ("\u0316" * 15 + "\u0301" * 15) * 2 + "cole"
    )


def test_hostile_turns_cost_no_more_than_twice_as_much_as_ordinary_ones(desk: Desk) -> None:
    """S5: a night over turns that were made to take long is over within twice the time of one over
    ordinary turns."""
    number = 100 if FULL else 10
    hostile = [Shape("", piece, "!") for piece in (*SAID, *GENERIC)]
    told = {
        "ordinary": [_ordinary(place) for place in range(number)],
        "hostile": [hostile[place % len(hostile)].text(LENGTH) for place in range(number)],
    }
    spent = {}
    for name, said in told.items():
        handle = desk.agent(name)
        handle.remember_conversation([{"speaker": "Ana", "text": one} for one in said], session="s")
        before = time.thread_time_ns()
        assert handle.sleep()["turns"] == number
        spent[name] = time.thread_time_ns() - before
    assert spent["hostile"] < 2 * spent["ordinary"]


def _ordinary(place: int) -> str:
    """A long turn as people write it."""
    chance, said = random.Random(place), ""
    while len(said) < LENGTH:
        said += f"{chance.choice(TOLD).format(chance.choice(THINGS))} "
    return said[:LENGTH]
