"""Texts that hold a secret, and ordinary ones that look like it. Every secret is made up from a
seed when it is asked for.

The texts are in `secrets/`, one a line: ⏎ is a line break, «A20» stands for 20 random characters of
an alphabet, a secret is between ⟦ and ⟧. What begins with `unseen` was written before anybody tried
the detector on it, and nothing is tuned to it.
"""

from __future__ import annotations

import re
import string
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

SEED = "lamina secrets"
TEXTS = Path(__file__).parent / "secrets"


class Planted(NamedTuple):
    """A text with one secret in it, from `start` up to `end`, and what sort of secret that is."""

    sort: str
    text: str
    start: int
    end: int

    @property
    def secret(self) -> str:
        return self.text[self.start : self.end]


ALPHABETS: Mapping[str, str] = {
    "A": string.ascii_letters + string.digits,
    "l": string.ascii_letters,
    "a": string.ascii_lowercase + string.digits,
    "L": string.ascii_lowercase,
    "U": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
    "x": string.ascii_uppercase + "234567",
    "c": "023456789acdefghjklmnpqrstuvwxyz",
    "r": "0123456789abcdefghjkmnpqrstvwxyz",
    "R": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "s": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "n": "ACGT",
}
FILLER = re.compile(r"«([A-Za-z])(\d*)»")
WORDS = (
    "Falcon Harbour Maple Orbit Pepper Quartz River Saffron Tundra Velvet Willow Zephyr Anchor "
    "Biscuit Copper Dragon"
).split()
SEEDS = (
    "abandon ability able abstract acid actor adapt advice album amateur anchor apple arena "
    "badge balance bamboo banner basket"
    " beauty bicycle blanket bridge cabin camera canyon carpet castle celery cherry circle "
    "cliff cotton coyote cradle"
).split()


def _password(rng: Random) -> str:
    """A password as people and managers make them."""
    one, two = rng.sample(WORDS, 2)
    signs = "!#%&*?@^"
    return rng.choice(
        [
            f"{one}{rng.randint(10, 9999)}{rng.choice(signs)}",
            f"{one.lower()}-{two.lower()}-{rng.randint(10, 99)}",
            one.replace("a", "4").replace("e", "3").replace("i", "1").replace("o", "0")
            + f"{rng.choice(signs)}{rng.randint(1, 99)}",
            "".join(rng.choices(ALPHABETS["A"], k=6))
            + rng.choice(signs)
            + "".join(rng.choices(ALPHABETS["A"], k=6))
            + "7",
            f"{one.lower()}{rng.randint(1950, 2025)}",
        ]
    )


MADE: Mapping[str, Callable[[Random], str]] = {
    "K": lambda _: "PRIVATE KEY",  # not written out, so that no scanner takes a text for a leak
    "p": _password,
    "u": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "w": lambda rng: rng.choice(WORDS).lower(),
    "W": lambda rng: " ".join(rng.choices(SEEDS, k=12)),
}


def filled(text: str, rng: Random) -> str:
    """A text with something random for each «filler»: a letter for the alphabet and how
    many of it."""

    def one(found: re.Match[str]) -> str:
        if found[1] in MADE:
            return MADE[found[1]](rng)
        return "".join(rng.choices(ALPHABETS[found[1]], k=int(found[2])))

    return FILLER.sub(one, text)


def _lines(name: str) -> list[str]:
    return [
        line.replace("⏎", "\n")
        for line in (TEXTS / f"{name}.txt").read_text("utf-8").split("\n")
        if line
    ]


# What the keys and tokens of services look like, by their name. The secret is what follows ▸, where
# there is one.
FORMATS: Mapping[str, str] = dict(line.split(": ", 1) for line in _lines("formats"))


def known() -> list[Planted]:
    """Every format in three surroundings, and whole texts that tell a secret, twice each."""
    rng = Random(SEED)
    surroundings = _lines("surroundings")
    within = [
        (sort, _within(token, rng.choice(surroundings)))
        for sort, token in FORMATS.items()
        for _ in range(3)
    ]
    return [
        _planted(sort, text, rng)
        for sort, text in (*within, *(("told", text) for text in _lines("told") for _ in range(2)))
    ]


def unseen() -> list[Planted]:
    """Texts that nothing is tuned to, twice each."""
    rng = Random(f"{SEED} unseen")
    return [_planted("unseen", text, rng) for text in _lines("unseen") for _ in range(2)]


def ordinary() -> list[str]:
    """Sentences, code, configs, hashes, ids, addresses: nothing in them is a secret."""
    rng = Random(f"{SEED} ordinary")
    texts = [
        filled(text, rng)
        for text in (
            *_lines("ordinary"),
            *(text for text in _lines("made_by_machines") for _ in range(7)),
        )
    ]
    return list(dict.fromkeys([*texts, *_sentences(rng, 200)]))


def unseen_ordinary() -> list[str]:
    """The same, that nothing is tuned to."""
    rng = Random(f"{SEED} unseen ordinary")
    return list(
        dict.fromkeys(filled(text, rng) for text in _lines("unseen_ordinary") for _ in range(2))
    )


def _within(token: str, surrounding: str) -> str:
    lead, _, secret = token.rpartition("▸")
    return surrounding.replace("◆", f"{lead}⟦{secret}⟧")


def _planted(sort: str, text: str, rng: Random) -> Planted:
    before, rest = text.split("⟦")
    secret, after = rest.split("⟧")
    before, secret, after = (filled(part, rng) for part in (before, secret, after))
    return Planted(sort, before + secret + after, len(before), len(before + secret))


# Who did what: sentences in numbers.
WHO = "Ana Ben Chloé Dmitri Emeka Fatima Giulia Hiro Inés Jonas Kavya Lukas".split()
DID = """asked me to remind her of the dentist on
prefers tea over coffee and wants a report on
flew to Lisbon with flight TP«d3» on
fixed the login bug in release 2.«d1».«d1» on
finished the book on page «d3» on
moved the budget of «d2»,«d3» euros to
merged branch feature/search-v«d1» on
will send the keys to the flat by post on
tested the new authentication flow with «d2» users on
changed the tokenizer of the «w» model on
passed the exam with «d2» points on
bought a second-hand Brompton (serial «d7») on""".splitlines()
WHEN = "Monday;12 March;2026-04-«d2»;the first of May;Friday at 17:30;New Year's Eve".split(";")


def _sentences(rng: Random, count: int) -> Iterator[str]:
    return (
        filled(f"{rng.choice(WHO)} {rng.choice(DID)} {rng.choice(WHEN)}.", rng)
        for _ in range(count)
    )
