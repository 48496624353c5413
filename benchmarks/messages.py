"""Measure what is read out of messages to an assistant.

`python -m benchmarks.messages` prints, for each writer of `benchmarks/claims/messages-*.jsonl`,
precision and recall by how sure a claim must be, by group, and how often claims of a confidence
are right. Other files may be named instead. `--errors` lists what is wrong or missed.

A claim is right when a fact of its message has the same subject (the user, a name or a
relation) and the same status (holds, ended, planned, denied), and half of the words of the
shorter value are in the other. Words of the attribute count where a value is short. Attributes
are not compared: an open form names them as the speaker does. A fact is found by a claim that is
right about it and nothing else, or that has all of its words.

What one annotator notes, another leaves out. `--second` counts messages that two annotators
labelled, who did not know each other's labels: what either of them noted is right, and what both
of them noted is to be found. It says how well each of them does by the labels of the other, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.claims import HERE, rows, stems
from lamina.engines.claims import Claim, Turn
from lamina.engines.claims import judge as judging
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.extraction import extract
from lamina.text.words import tokens

MESSAGES = tuple(
    path for name in ("messages", "changes") for path in sorted((HERE / "claims").glob(f"{name}-*"))
)
SAID_AT = datetime(2026, 5, 20, 12, tzinfo=UTC)
SPEAKER = "user"
LEVELS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
SHORT = 1  # a value with at most this many words is compared together with its attribute


class Fact(NamedTuple):
    """A fact that a reader noted."""

    about: str
    attribute: str
    value: str
    status: str
    cue: str = ""  # the words from which the attribute is read


class Message(NamedTuple):
    """A message, and what a reader noted about it."""

    text: str
    group: str
    facts: tuple[Fact, ...]


class Judged(NamedTuple):
    """A claim, whether any fact says the same, and the facts for which it is the surest claim."""

    claim: Claim
    message: Message
    right: bool
    met: frozenset[int]


def messages(path: Path) -> list[Message]:
    return [_message(row) for row in rows(path)]


def _message(row: Mapping[str, Any]) -> Message:
    facts = (Fact(**fact) for fact in row["facts"])
    return Message(row["text"], row.get("group", ""), tuple(facts))


def judge(message: Message, claims: Iterable[Claim]) -> list[Judged]:
    """Match claims with facts; surer claims choose first, and each fact is matched once."""
    free, judged = set(range(len(message.facts))), []
    for claim in sorted(claims, key=lambda claim: -claim.confidence):
        if claim.attribute.startswith("instruction:"):
            continue
        like = {number: likeness(claim, fact) for number, fact in enumerate(message.facts)}
        right = [number for number, share in like.items() if share >= 0.5]
        best = max((n for n in right if n in free), key=lambda n: like[n], default=None)
        met = frozenset(
            n for n in right if n in free and (n == best or _has_all(claim, message, n))
        )
        free -= met
        judged.append(Judged(claim, message, bool(right), met))
    return judged


def _has_all(claim: Claim, message: Message, number: int) -> bool:
    """Tell if a claim that is right about a fact has all words of its value."""
    return stems(message.facts[number].value) <= stems(claim.value)


def likeness(claim: Claim, fact: Fact) -> float:
    """Compute the share of the shorter value's words that are in both."""
    if not (_same_subject(claim, fact) and fact.status in statuses(claim)):
        return 0.0
    mine, theirs = stems(claim.value), stems(fact.value)
    if min(len(mine), len(theirs)) <= SHORT and not mine & theirs:
        mine |= stems(claim.attribute.partition(":")[2])
        theirs |= stems(fact.attribute)
    shorter = min(len(mine), len(theirs))
    return len(mine & theirs) / shorter if shorter else float(claim.value == fact.value)


def _same_subject(claim: Claim, fact: Fact) -> bool:
    if SPEAKER in (claim.subject, fact.about):
        return claim.subject == fact.about
    return bool(set(tokens(claim.subject)) & set(tokens(fact.about)))


def statuses(claim: Claim) -> tuple[str, ...]:
    """List the statuses under which a claim may be noted."""
    return judging.statuses(claim, SAID_AT)


def read(listed: Iterable[Message]) -> list[Judged]:
    """Judge the facts found in messages; `benchmarks.instructions` judges the rest."""
    return [one for message in listed for one in judge(message, _claims(message))]


def _claims(message: Message) -> list[Claim]:
    (claims,) = extract([Turn(message.text, SPEAKER, SAID_AT)])
    return [claim for claim in claims if not claim.attribute.startswith(INSTRUCTION)]


def curve(title: str, listed: Sequence[Message], judged: Sequence[Judged]) -> Table:
    """Tabulate precision and recall by how sure a claim must be."""
    labels = sum(len(message.facts) for message in listed)
    table = _table(f"{title}: {labels} facts", "at least", "claims", "precision", "recall")
    for level in LEVELS:
        sure = [one for one in judged if one.claim.confidence >= level]
        table.add_row(f"{level:.2f}", *_rates(sure, labels))
    return table


def groups(title: str, listed: Sequence[Message], judged: Sequence[Judged], sure: float) -> Table:
    """Tabulate precision and recall for each group of messages."""
    table = _table(
        f"{title}, at least {sure:.2f}", "group", "facts", "claims", "precision", "recall"
    )
    for group in dict.fromkeys(message.group for message in listed):
        labels = sum(len(message.facts) for message in listed if message.group == group)
        here = [one for one in judged if one.message.group == group]
        rates = _rates([one for one in here if one.claim.confidence >= sure], labels)
        table.add_row(group, str(labels), *rates)
    return table


def calibration(judged: Sequence[Judged]) -> Table:
    """Tabulate how often claims of each confidence are right."""
    table = _table("calibration", "confidence", "claims", "right")
    for low in range(0, 100, 10):
        here = [one for one in judged if low <= round(one.claim.confidence * 100) < low + 10]
        if here:
            share = sum(one.right for one in here) / len(here)
            table.add_row(f".{low:02d} to .{low + 9:02d}", str(len(here)), f"{share:.2f}")
    return table


def _rates(judged: Sequence[Judged], labels: int) -> list[str]:
    right, met = sum(one.right for one in judged), sum(len(one.met) for one in judged)
    precision = right / len(judged) if judged else 0.0
    recall = met / labels if labels else 0.0
    return [str(len(judged)), f"{precision:.2f}", f"{recall:.2f}"]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def agreement(title: str, path: Path, second: Path) -> Table:
    """Tabulate what two annotators say about the program, and about each other."""
    pairs = list(zip(messages(path), messages(second), strict=True))
    read = [(judge(one, claims), judge(other, claims), both(one, other)) for one, other in pairs
            for claims in [_claims(one)]]  # fmt: skip
    agreed = sum(len(noted) for _, _, noted in read)
    table = _table(f"{title}: {agreed} facts that both noted", *("at least", "claims"),
                   "either noted it", "found of what both noted")  # fmt: skip
    for level in LEVELS:
        rows = [
            (mine.right or theirs.right, len(mine.met & noted))
            for first, other, noted in read
            for mine, theirs in zip(first, other, strict=True)
            if mine.claim.confidence >= level
        ]
        right, found = sum(right for right, _ in rows), sum(met for _, met in rows)
        cells = f"{right / max(1, len(rows)):.2f}", f"{found / max(1, agreed):.2f}"
        table.add_row(f"{level:.2f}", str(len(rows)), *cells)
    for name, given in (("second by first", pairs), ("first by second", [p[::-1] for p in pairs])):
        judged = [one for gold, labelled in given for one in judge(gold, as_claims(labelled))]
        table.add_row(name, *_rates(judged, sum(len(gold.facts) for gold, _ in given)))
    return table


def both(one: Message, other: Message) -> frozenset[int]:
    """Find the facts of one annotator that the other noted, too."""
    return frozenset[int]().union(*(judged.met for judged in judge(one, as_claims(other))))


def as_claims(message: Message) -> list[Claim]:
    """Convert an annotator's notes to claims."""
    return [_as_claim(fact) for fact in message.facts]


def _as_claim(fact: Fact) -> Claim:
    is_over, is_denied = fact.status == "ended", fact.status == "denied"
    attribute = "plan" if fact.status == "planned" else f"has:{fact.attribute}"
    claim = Claim(fact.about, attribute, fact.value, 0, 0, SAID_AT, 1.0, "", is_denied)
    return msgspec.structs.replace(claim, until=SAID_AT) if is_over else claim


def errors(screen: Console, listed: Sequence[Message], sure: float) -> None:
    """Print what is wrong or missed in each message."""
    for message in listed:
        judged = [one for one in read([message]) if one.claim.confidence >= sure]
        missed = set(range(len(message.facts))).difference(*(one.met for one in judged))
        if not missed and all(one.right for one in judged):
            continue
        screen.print(f"[{message.group}] {message.text}", markup=False)
        for one in judged:
            claim, mark = one.claim, "right" if one.right else "WRONG"
            told = f"  {mark}  {claim.rule} {claim.confidence}: {claim.subject} |"
            told += f" {claim.attribute} | {claim.value} | {statuses(claim)[0]}"
            screen.print(told, markup=False)
        for number in sorted(missed):
            screen.print("  missed", " | ".join(message.facts[number]), markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=MESSAGES)
    parser.add_argument("--second", type=Path, help="the same messages by a second annotator")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--sure", type=float, default=0.5)
    given = parser.parse_args()
    screen = Console(width=200)
    if given.second:
        [path] = given.files
        screen.print(agreement(path.stem, path, given.second))
        return
    every: list[Judged] = []
    for path in given.files:
        listed = messages(path)
        if given.errors:
            errors(screen, listed, given.sure)
            continue
        judged = read(listed)
        every += judged
        screen.print(
            curve(path.stem, listed, judged), groups(path.stem, listed, judged, given.sure)
        )
    if every:
        screen.print(calibration(every))


if __name__ == "__main__":
    main()
