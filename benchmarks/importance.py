"""Measure how well importance is estimated: on labelled lines, by the tables, and after learning.

`python -m benchmarks.importance` prints the tables. The lines were labelled by hand before there
were rules for them (tests/golden/engines/importance_lines.jsonl); a hash of its text puts each into
the half used for tuning rules or into the held-out half. Those of other voices (logs, German and
long chat) were written after the rules were fixed (importance_voices.jsonl). The operators are
simulated: each follows a policy defined below, so that it is known what there is to learn, and that
nothing can be learned from chance.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import structs
from rich.console import Console
from rich.table import Table

from lamina.engines import importance, learning, severity
from lamina.engines.learning import Example, Model
from lamina.model.record import Trust

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "engines"
LEVELS = {"ordinary": 0.0, "important": 0.7, "critical": 0.9}  # the least score for each label
SEEDS = 20
TRAINED, TESTED = 300, 1000
LARGE = 5000
SIZES = (40, 100, 300, 1000)
KINDS = (
    "crumb",
    "crumb",
    "crumb",
    "fact",
    "action",
    "action",
    "result",
    "data",
    "error",
    "preference",
    "decision",
    "insight",
)
TAGS = (
    "garmin sleep weather news budget family travel cooking code standup music garden health"
    " critical debug"
).split()
SOURCES = (None, None, "garmin", "calendar", "ntfy", "web:news")
SPEAKERS = (None, None, "Ana", "Ben", "assistant")
TOPICS = (
    "rent invoice piano lesson dentist run marathon recipe bread branch release train ticket"
    " holiday tax roof"
).split()
FILLERS = (
    "the report about was shared and then noted with some details for this week before after during"
).split()
CUED = ("decided", "failed", "wants", "always", "generated", "hello")
PLAIN = (
    "The quarterly numbers arrived from accounting and Maria shared them with the whole team"
    " before lunch on Tuesday morning."
)
GRAVE = "Main service crashed and could not be restarted"


class Line(NamedTuple):
    """A text with its kind, if the writer gave one, and how important it is."""

    text: str
    kind: str | None
    label: str

    @property
    def is_held_out(self) -> bool:
        return hashlib.blake2b(self.text.encode(), digest_size=1).digest()[0] % 2 == 1

    def score(self) -> float:
        return importance.score(self.kind or "crumb", self.text, (), {})

    def score_of_tables(self) -> float:
        """The score without the class of what the text reports, which is the last criterion."""
        scored = importance.explain(self.kind or "crumb", self.text, (), {})
        report = severity.read(self.text[: importance.LOOKED_AT].lower())
        return sum(reason.amount for reason in scored.reasons if reason.name != str(report))


def labelled(name: str) -> list[Line]:
    lines = (GOLDEN / name).read_text("utf-8").splitlines()
    return [Line(*json.loads(line)) for line in lines]


class Found(NamedTuple):
    """How many lines were rightly or wrongly put at or above a level, and how many were missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)


def found(lines: Sequence[Line], level: float, score: Callable[[Line], float]) -> Found:
    pairs = [(LEVELS[line.label] >= level, score(line) >= level) for line in lines]
    return Found(pairs.count((True, True)), pairs.count((False, True)), pairs.count((True, False)))


def by_meaning() -> Table:
    """Show how many of the important lines are found, and how many of those found are important."""
    every = labelled("importance_lines.jsonl")
    parts = {
        "tuned on": [line for line in every if not line.is_held_out],
        "held out": [line for line in every if line.is_held_out],
        "other voices": labelled("importance_voices.jsonl"),
    }
    title = "labelled lines: by the tables alone, and with the class of what they report"
    columns = ("lines", "level", "precision, tables", "with class", "recall, tables", "with class")
    table = _table(title, "part", *columns)
    for name, lines in parts.items():
        for level in (0.7, 0.9):
            before = found(lines, level, lambda line: round(line.score_of_tables(), 2))
            after = found(lines, level, Line.score)
            rates = (before.precision, after.precision, before.recall, after.recall)
            table.add_row(name, str(len(lines)), f"{level}", *(f"{rate:.3f}" for rate in rates))
    return table


def happened(chance: random.Random) -> Example:
    """Make up a memory of an imaginary assistant that nobody has judged yet."""
    words = chance.choices(TOPICS, k=chance.randint(1, 3)) + chance.choices(
        FILLERS, k=chance.randint(3, 12)
    )
    if chance.random() < 0.2:
        words.append(chance.choice(CUED))
    chance.shuffle(words)
    kind = chance.choice(KINDS)
    status = (
        {"status": chance.choice(("success", "success", "failure"))}
        if kind in ("action", "result")
        else {}
    )
    source = chance.choice(SOURCES)
    return Example(
        kind=kind,
        content=" ".join(words),
        tags=tuple(dict.fromkeys(chance.choices(TAGS, k=chance.randint(0, 3)))),
        metadata=status,
        source=source,
        speaker=chance.choice(SPEAKERS),
        trust=Trust.EXTERNAL if source == "web:news" else Trust.AGENT,
        liked=False,
    )


def by_tags(memory: Example) -> float:
    """Prefer health and family, and not news and weather."""
    tags = set(memory.tags)
    return (
        0.5
        + 0.4 * bool(tags & {"garmin", "sleep", "health", "family"})
        - 0.4 * bool(tags & {"news", "weather", "music"})
    )


def by_kind_and_source(memory: Example) -> float:
    """Prefer data from the watch and errors, and not what the web says."""
    wanted = memory.source == "garmin" or memory.kind in ("error", "data")
    return (
        0.9 if wanted else 0.1 if memory.source == "web:news" or memory.kind == "insight" else 0.4
    )


def by_words(memory: Example) -> float:
    """Prefer money and running, and not trains and bread."""
    words = set(memory.content.split())
    return (
        0.5
        + 0.4 * bool(words & {"rent", "invoice", "tax", "marathon"})
        - 0.4 * bool(words & {"train", "ticket", "bread"})
    )


def by_the_tables(memory: Example) -> float:
    """Agree with the tables."""
    return importance.score(memory.kind, memory.content, memory.tags, memory.metadata)


def by_chance(_memory: Example) -> float:
    """Decide by tossing a coin."""
    return 0.5


def by_mood(_memory: Example) -> float:
    """Like most memories, whatever they are."""
    return 0.85


POLICIES: dict[str, Callable[[Example], float]] = {
    "follows tags": by_tags,
    "follows kinds and sources": by_kind_and_source,
    "follows words": by_words,
    "agrees with the tables": by_the_tables,
    "random": by_chance,
    "random, likes 85 %": by_mood,
}


def history(policy: Callable[[Example], float], number: int, seed: str) -> list[Example]:
    """Return memories that the simulated operator has judged."""
    chance = random.Random(seed)
    memories = [happened(chance) for _ in range(number)]
    return [structs.replace(memory, liked=chance.random() < policy(memory)) for memory in memories]


class Quality(NamedTuple):
    """The quality of scores: by the order of pairs, and by the squared error as probabilities."""

    auc: float
    brier: float


def quality(scores: Sequence[float], examples: Sequence[Example]) -> Quality:
    liked = [score for score, example in zip(scores, examples, strict=True) if example.liked]
    others = [score for score, example in zip(scores, examples, strict=True) if not example.liked]
    pairs = sum((good > bad) + 0.5 * (good == bad) for good in liked for bad in others)
    errors = [(score - example.liked) ** 2 for score, example in zip(scores, examples, strict=True)]
    return Quality(pairs / (len(liked) * len(others)), statistics.fmean(errors))


def scores(model: Model | None, examples: Sequence[Example]) -> list[float]:
    if model is None:
        return [importance.score(one.kind, one.content, one.tags, one.metadata) for one in examples]
    return [
        model.score(
            one.kind, one.content, one.tags, one.metadata, one.source, one.speaker, one.trust
        )
        for one in examples
    ]


class Trial(NamedTuple):
    """One simulated operator: the tables, what was learned, and the policy, which is optimal."""

    before: Quality
    after: Quality
    possible: Quality
    model: Model | None


def trials(policy: Callable[[Example], float], trained: int = TRAINED) -> Iterator[Trial]:
    for seed in range(SEEDS):
        model = learning.learn(history(policy, trained, f"train {seed}"))
        judged = history(policy, TESTED, f"test {seed}")
        before = quality(scores(None, judged), judged)
        possible = quality([policy(memory) for memory in judged], judged)
        yield Trial(
            before, quality(scores(model, judged), judged) if model else before, possible, model
        )


def compared() -> Table:
    title = (
        f"simulated operators: {TRAINED} decisions to learn from, {TESTED:,} others to tell,"
        f" means of {SEEDS} seeds"
    )
    columns = (
        "policy (simulated)",
        "learned in",
        "AUC tables",
        "learned",
        "worst",
        "possible",
        "Brier tables",
        "learned",
        "possible",
    )
    table = _table(title, *columns)
    for name, policy in POLICIES.items():
        done = list(trials(policy))
        before, after, possible = (
            [statistics.fmean(part) for part in zip(*side, strict=True)] for side in _sides(done)
        )
        worst = min(trial.after.auc - trial.before.auc for trial in done)
        learned = sum(trial.model is not None for trial in done)
        auc = (f"{before[0]:.3f}", f"{after[0]:.3f}", f"{worst:+.3f}", f"{possible[0]:.3f}")
        table.add_row(
            name,
            f"{learned} of {SEEDS}",
            *auc,
            *(f"{side[1]:.3f}" for side in (before, after, possible)),
        )
    return table


def _sides(done: Sequence[Trial]) -> Iterator[list[Quality]]:
    yield [trial.before for trial in done]
    yield [trial.after for trial in done]
    yield [trial.possible for trial in done]


def growth() -> Table:
    """Show how soon there is enough to learn from."""
    table = _table(
        "AUC of simulated operators by the number of their decisions"
        f" (in how many of {SEEDS} seeds anything was learned)",
        "policy (simulated)",
        *(f"{size:,}" for size in SIZES),
    )
    for name, policy in POLICIES.items():
        cells = []
        for size in SIZES:
            done = list(trials(policy, size))
            learned = sum(trial.model is not None for trial in done)
            cells.append(f"{statistics.fmean(trial.after.auc for trial in done):.3f} ({learned})")
        table.add_row(name, *cells)
    return table


def varied(examples: Sequence[Example]) -> list[Example]:
    """Add so many words and tags to the examples that learning reaches its limits for both."""
    chance = random.Random("varied")
    return [
        structs.replace(
            one,
            content=f"{one.content} {' '.join(f'word{chance.randint(1, 300)}' for _ in range(20))}",
            tags=(*one.tags, *dict.fromkeys(f"tag{chance.randint(1, 300)}" for _ in range(3))),
        )
        for one in examples
    ]


def speed() -> Table:
    table = _table("speed", "what", "time")
    many = varied(history(by_tags, LARGE, "speed"))
    model = learning.learn(many)
    assert model is not None
    tagged = ("action", PLAIN, ("garmin", "sleep"), {"status": "failure"})
    works: dict[str, Callable[[], object]] = {
        "score, a plain crumb of 120 characters": lambda: importance.score("crumb", PLAIN, (), {}),
        "score, a crumb that reports something": partial(importance.score, "crumb", GRAVE, (), {}),
        "score, a crumb of 1 MB": partial(importance.score, "crumb", PLAIN * 8700, (), {}),
        "score, with tags and metadata": lambda: importance.score(*tagged),
        "score of a learned model": lambda: model.score(*tagged),
    }
    for name, work in works.items():
        table.add_row(name, f"{_each(work, 20_000) * 1e6:.2f} µs")
    table.add_row(
        f"learn, {LARGE:,} examples, {len(model.weights)} features",
        f"{_each(lambda: learning.learn(many), 1):.2f} s",
    )
    return table


def _each(work: Callable[[], object], number: int) -> float:
    """Measure the seconds of one call: the best of five rounds."""
    best = float("inf")
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(number):
            work()
        best = min(best, (time.perf_counter() - started) / number)
    return best


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(first)
    for column in others:
        table.add_column(column, justify="right")
    return table


if __name__ == "__main__":
    screen = Console(width=128)
    for table in (by_meaning, compared, growth, speed):
        screen.print(table(), "")
