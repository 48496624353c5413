"""Measure recall and refusals for prompts as people write them, in conversations and small stores.

Prompts and small stores are those of `prompts.py`. `make bench-retrieval` prints the tables; alone,
`python -m benchmarks.prompting --every 8` is quick.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import lamina
from benchmarks import abstention, prompts
from benchmarks.conversations import Case, Question, beam, items, locomo, longmemeval
from lamina import Memory
from lamina.embedders import Embedder

SETS: Mapping[str, Callable[[], Iterable[Case]]] = {
    "LoCoMo": locomo,
    "LME48": longmemeval,
    "BEAM": beam,
}
SEED = 20261117
SIZES = (1, 6, 12, 30, 100, 400)
CURVE = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)  # confidences between which answers are counted
FORMS: Mapping[str, Callable[[str, int], str]] = {
    "bare": lambda question, place: question,
    "wrapped": lambda question, place: prompts.wrapped(question, place, prompts.TUNED),
    "wrapped, unseen": lambda question, place: prompts.wrapped(question, place, prompts.UNSEEN),
    "pasted": prompts.pasted,
    "wrapped by another": partial(prompts.of_another, "wrapped"),
    "pasted by another": partial(prompts.of_another, "pasted"),
}


class Found(NamedTuple):
    """The recall of one prompt among 5 and 10 hits, and the confidence in an answer."""

    at_5: float
    at_10: float
    confidence: float


Groups = defaultdict[tuple[str, str], list[Found]]  # by form or kind, and set


@contextmanager
def filled(
    contents: Sequence[Mapping[str, object]],
    now: list[datetime] | None = None,
    embedders: Sequence[Embedder] = (),
) -> Iterator[tuple[Memory, list[str]]]:
    """Yield a store of some memories, and their ids in the same order."""
    home = Path(tempfile.mkdtemp(prefix="lamina-prompts-"))
    clock = (lambda: now[0]) if now else None
    # However busy the machine is, the model reads every question.
    patient = {"recall.wait_ms": 600_000}
    try:
        with lamina.open("bench", home=home, clock=clock, settings=patient) as memory:
            if embedders:
                memory._scope.recall.__dict__["embedders"] = tuple(embedders)  # noqa: SLF001 - only a benchmark may
            made = memory.remember_many(contents)
            memory.index()
            yield memory, [record.id for record in made]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def measure(every: int, embedders: Sequence[Embedder] = ()) -> Groups:
    """Ask every set of conversations every question in every form, and some it cannot answer."""
    groups: Groups = defaultdict(list)
    chance = random.Random(SEED)
    abstention.chance.seed(SEED)  # the same nonsense for every system
    cases, places = {data: list(read()) for data, read in SETS.items()}, count()
    for data, own in cases.items():
        chosen = own[::every] if data == "LME48" else own[:: max(1, every // 3)]
        words = abstention.vocabulary(own)
        others = [
            case.questions[0].text for other in cases if other != data for case in cases[other]
        ]
        for case in track(chosen, description=data, console=Console(stderr=True), transient=True):
            now = [case.questions[0].now]
            with filled(items(case.turns), now, embedders) as (memory, ids):
                keys = {id: turn.key for id, turn in zip(ids, case.turns, strict=True)}
                asked = [one for one in case.questions if one.gold and one.category != "5"]
                for question in asked[:: 1 if len(asked) < 50 else every]:
                    now[0], place = question.now, next(places)
                    for form, make in FORMS.items():
                        found = _found(memory, make(question.text, place), keys, question)
                        groups[form, data].append(found)
                    for kind, text in _unanswerable(question.text, words, others, chance):
                        confidence = abstention.confidence(memory, text)
                        groups[kind, data].append(Found(0, 0, confidence))
    return groups


def _found(memory: Memory, text: str, keys: Mapping[str, str], question: Question) -> Found:
    hits = memory.search(text)
    found = [keys[hit.record.id] for hit in hits]
    at_5, at_10 = (
        len(question.gold.intersection(found[:cut])) / len(question.gold) for cut in (5, 10)
    )
    confidence = abstention.NOTHING if hits.confidence is None else hits.confidence
    return Found(at_5, at_10, confidence)


def _unanswerable(
    question: str, words: Sequence[str], others: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield prompts that the store of a question cannot answer, with their kind."""
    yield "random letters", abstention.nonsense("random letters", question, words)
    random_words = abstention.nonsense("random words", question, words)
    yield "random words", random_words
    yield "random words, wrapped", prompts.wrapped(random_words, len(question), prompts.UNSEEN)
    yield "off-topic questions", chance.choice(prompts.OFF_TOPIC)
    yield "off-topic questions, not fitted to", chance.choice(prompts.FRESH[1::2])
    yield "questions of other sets", chance.choice(others)
    yield "small talk", chance.choice(prompts.SMALL_TALK)


def show(groups: Groups, screen: Console, system: str = "hybrid") -> None:
    """Print recall and wrong refusals by form, right refusals by kind, and the curve."""
    forms = _table(f"{system}, prompts: recall at 5 / 10, and refused", ("form", *SETS))
    for form in FORMS:
        forms.add_row(form, *(_recall(groups[form, data]) for data in SETS))
    kinds = _table("refused, rightly", ("kind", *SETS))
    for kind in dict.fromkeys(kind for kind, _ in groups if kind not in FORMS):
        kinds.add_row(kind, *(f"{_refused(groups[kind, data]):.3f}" for data in SETS))
    curve = _table("share of gold at 10, by confidence", ("confidence", "prompts", "found"))
    for least, below in zip(CURVE, (*CURVE[1:], 9.0), strict=True):
        within = [
            one
            for form in FORMS
            for data in SETS
            for one in groups[form, data]
            if least <= one.confidence < below
        ]
        if within:
            found = sum(one.at_10 for one in within) / len(within)
            curve.add_row(f"from {least:.2f}", str(len(within)), f"{found:.3f}")
    for table in (forms, kinds, curve):
        screen.print(table)


def _recall(found: Sequence[Found]) -> str:
    if not found:
        return ""
    at_5, at_10 = (sum(one[cut] for one in found) / len(found) for cut in (0, 1))
    return f"{at_5:.3f} / {at_10:.3f}, {_refused(found):.3f} ({len(found)})"


def _refused(found: Sequence[Found]) -> float:
    return abstention.refused([one.confidence for one in found], 0.0)


def show_small(screen: Console) -> None:
    """Print what stores about one topic answer and refuse, and the results for ten languages."""
    table = _table(
        "stores about one topic: refused",
        ("facts", "tasks", "wrapped", "tasks of another topic", "off-topic", "median confidence"),
    )
    for size in SIZES:
        table.add_row(str(size), *_one_topic(size))
    screen.print(table)
    texts = [*(text for text, _ in prompts.LANGUAGES.values()), *prompts.one_topic("garden", 40)]
    with filled([{"content": text} for text in texts]) as (memory, _):
        found = {
            name: bool(hits := memory.search(prompt)) and hits[0].record.content == text
            for name, (text, prompt) in prompts.LANGUAGES.items()
        }
    missing = [name for name, is_found in found.items() if not is_found]
    screen.print(f"languages found: {len(found) - len(missing)} of {len(found)}", *missing)


def _one_topic(size: int) -> Iterator[str]:
    values: dict[str, list[float]] = defaultdict(list)
    names = list(prompts.TOPICS)
    for place, name in enumerate(names):
        other = names[(place + 1) % len(names)]
        with filled([{"content": fact} for fact in prompts.one_topic(name, size)]) as (memory, _):
            for number, task in enumerate(prompts.tasks(name, size)):
                wrapped = prompts.wrapped(task, place + number)
                values["tasks"].append(abstention.confidence(memory, task))
                values["wrapped"].append(abstention.confidence(memory, wrapped))
            for task in prompts.tasks(other, size):
                values["other"].append(abstention.confidence(memory, task))
            for question in prompts.OFF_TOPIC:
                values["off"].append(abstention.confidence(memory, question))
    for group in ("tasks", "wrapped", "other", "off"):
        yield f"{abstention.refused(values[group], 0.0):.3f}"
    yield f"{sorted(values['tasks'])[len(values['tasks']) // 2]:.3f}"


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=4, help="only every so many questions")
    given = parser.parse_args()
    screen = Console(width=140, highlight=False)
    show(measure(given.every), screen)
    show_small(screen)


if __name__ == "__main__":
    main()
