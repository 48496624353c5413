"""Measure how well Lamina finds gold turns, next to what one could put together instead.

`make bench-retrieval` prints the tables and draws the plot. The data is not part of Lamina; see
`conversations.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import secrets
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import lamina
from benchmarks import abstention, plot, prompting
from benchmarks.conversations import Case, Question, beam, items, locomo, longmemeval
from lamina import Hits, Memory
from lamina.embedders import Asked, Embedder, Means, Passages, create
from lamina.text import words as text

DEEP = 50
CUTS = (5, 10)
RRF = 60
STEPS = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
ADVERSARIAL, ABSENT = "5", "abstention"
SETS: Mapping[str, Callable[[], Iterable[Case]]] = {
    "LoCoMo": locomo,
    "LME48": longmemeval,
    "BEAM": beam,
}


class Answer(msgspec.Struct, frozen=True):
    """The answer of one system to one question, with the parts of scores if it has any."""

    data: str
    fold: int
    question: Question
    found: tuple[str, ...]
    parts: tuple[Mapping[str, float], ...] = ()
    sessions: Mapping[str, str] = {}

    def recall(self, cut: int) -> float:
        return len(set(self.found[:cut]) & self.question.gold) / len(self.question.gold)


class Remembering:
    """An embedder that caches its results in a file, since many stores share the same turns."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self.inner = inner
        self.name, self.scale, self.matches = inner.name, inner.scale, inner.matches
        self._path = folder / f"{inner.name}.npz"
        self._known: dict[str, tuple[Any, bytes]] = {}
        if self._path.exists():
            with np.load(self._path) as stored:
                keys, rows, codes = stored["keys"].tolist(), stored["rows"], stored["codes"]
                ends = np.cumsum(stored["lengths"])
            parts = [part.tobytes() for part in np.split(codes, ends[:-1])]
            self._known = dict(zip(keys, zip(rows, parts, strict=True), strict=True))

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def means(self) -> Means | None:
        return self.inner.means

    def embed(self, texts: Sequence[str]) -> Any:
        return self.read(texts).vectors

    def ask(self, question: str) -> Asked:
        return self.inner.ask(question)

    def read(self, texts: Sequence[str]) -> Passages:
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            read = self.inner.read(list(new.values()))
            codes = read.tokens or [b""] * len(new)
            self._known.update(zip(new, zip(read.vectors, codes, strict=True), strict=True))
        rows = np.stack([self._known[key][0] for key in keys])
        has_tokens = self.matches is not None
        return Passages(rows, [self._known[key][1] for key in keys] if has_tokens else None)

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows, codes = zip(*self._known.values(), strict=True)
        np.savez(
            self._path,
            keys=np.array(list(self._known)),
            rows=np.stack(rows),
            codes=np.frombuffer(b"".join(codes), np.uint8),
            lengths=np.array([len(one) for one in codes]),
        )


@contextmanager
def store(
    case: Case, embedders: Sequence[Embedder], settings: Mapping[str, Any] | None = None
) -> Iterator[tuple[Memory, dict[str, str], list[datetime]]]:
    """Yield a store of the case's turns, their keys by record, and its clock."""
    home, now = Path(tempfile.mkdtemp(prefix="lamina-retrieval-")), [case.questions[0].now]
    # A server may still have the collection of an earlier store.
    agent = f"bench-{secrets.token_hex(8)}"
    try:
        # However busy the machine is, the model reads every question.
        given = {"recall.wait_ms": 600_000, **(settings or {})}
        with lamina.open(agent, home=home, clock=lambda: now[0], settings=given) as memory:
            memory._scope.recall.__dict__["embedders"] = tuple(embedders)  # noqa: SLF001 - only a benchmark may
            made = memory.remember_many(items(case.turns))
            if any(embedder.name != "wordllama-256" for embedder in embedders):
                memory.index()
            memory.sync_mirrors()
            yield (
                memory,
                {record.id: turn.key for record, turn in zip(made, case.turns, strict=True)},
                now,
            )
    finally:
        shutil.rmtree(home, ignore_errors=True)


def of_lamina(
    memory: Memory, keys: Mapping[str, str], question: Question, **how: Any
) -> tuple[Any, ...]:
    hits: Hits = memory.search(question.text, limit=DEEP, **how)
    return tuple(keys[hit.record.id] for hit in hits), tuple(dict(hit.parts) for hit in hits)


def of_bm25(case: Case) -> Callable[[str], list[str]]:
    """Query plain FTS5: porter, its own bm25, any word of the question except stop words."""
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE turns USING fts5 (said, tokenize = 'porter unicode61')"
    )
    connection.executemany(
        "INSERT INTO turns (rowid, said) VALUES (?, ?)", enumerate(turn.text for turn in case.turns)
    )

    def ask(question: str) -> list[str]:
        words = text.terms(question)
        if not words:
            return []
        query = "SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY bm25(turns), rowid LIMIT ?"
        found = connection.execute(query, (" OR ".join(f'"{word}"' for word in words), DEEP))
        return [case.turns[row].key for (row,) in found]

    return ask


def fused(*lists: Sequence[str]) -> tuple[str, ...]:
    """Combine lists by reciprocal rank fusion."""
    score: dict[str, float] = defaultdict(float)
    for ranked in lists:
        for place, key in enumerate(ranked, 1):
            score[key] += 1 / (RRF + place)
    return tuple(sorted(score, key=lambda key: (-score[key], key))[:DEEP])


def measure(
    every: int, embedders: Mapping[str, Embedder]
) -> tuple[dict[str, list[Answer]], abstention.Groups]:
    """Collect every system's answers to every question, and the confidences for abstention."""
    answers: dict[str, list[Answer]] = defaultdict(list)
    groups: abstention.Groups = defaultdict(list)
    for data, read in SETS.items():
        cases = list(read())
        chosen = [case for place, case in enumerate(cases) if data != "LME48" or place % every == 0]
        vocabulary = abstention.vocabulary(cases)
        for case in track(chosen, description=data, console=Console(stderr=True), transient=True):
            _answer(data, case, embedders, answers)
            if data == "BEAM":  # its refusals are measured with the prompts
                continue
            with store(case, [embedders["wordllama"]]) as (memory, _, now):
                abstention.ask(groups, data, case, cases, memory, now, vocabulary)
    return answers, groups


def _answer(
    data: str, case: Case, embedders: Mapping[str, Embedder], answers: dict[str, list[Answer]]
) -> None:
    sessions = {turn.key: turn.session for turn in case.turns}
    asked = [question for question in case.questions if question.gold]

    def add(
        system: str, question: Question, found: Sequence[str], parts: Sequence[Any] = ()
    ) -> None:
        answers[system].append(
            Answer(data, case.fold, question, tuple(found), tuple(parts), sessions)
        )

    alone: dict[tuple[str, str], tuple[str, ...]] = {}
    bm25 = of_bm25(case)
    for question in asked:
        add("BM25 (FTS5)", question, bm25(question.text))
    for name, embedder in embedders.items():
        with store(case, [embedder]) as (memory, keys, now):
            for question in asked:
                now[0] = question.now
                found, _ = of_lamina(memory, keys, question, ranker="semantic")
                alone[name, question.text] = found
                add(f"{name} alone", question, found)
                add(f"fusion of BM25 and {name}", question, fused(bm25(question.text), found))
                if name == "wordllama":
                    add("keyword", question, of_lamina(memory, keys, question, ranker="keyword")[0])
                    add("hybrid", question, *of_lamina(memory, keys, question))
    if len(embedders) > 1:
        with store(case, list(embedders.values())) as (memory, keys, now):
            for question in asked:
                now[0] = question.now
                add(
                    "fusion of all three",
                    question,
                    fused(bm25(question.text), *(alone[n, question.text] for n in embedders)),
                )
                add(f"hybrid with {name}", question, *of_lamina(memory, keys, question))


def compare(every: int, via: str, embedders: Sequence[Embedder]) -> dict[str, list[Answer]]:
    """Collect the answers of the store, and those through a mirror such as `chroma=embedded`."""
    name, _, place = via.partition("=")
    ways: Mapping[str, Mapping[str, Any]] = {
        "hybrid": {},
        f"hybrid via {name}": {f"mirrors.{name}": place, "recall.via": name},
    }
    answers: dict[str, list[Answer]] = {way: [] for way in ways}
    for data, read in SETS.items():
        chosen = list(read())[:: every if data != "LoCoMo" else 1]
        for case in track(chosen, description=data, console=Console(stderr=True), transient=True):
            sessions = {turn.key: turn.session for turn in case.turns}
            for way, settings in ways.items():
                with store(case, embedders, settings) as (memory, keys, now):
                    for question in (one for one in case.questions if one.gold):
                        now[0] = question.now
                        found, parts = of_lamina(memory, keys, question)
                        answers[way].append(
                            Answer(data, case.fold, question, found, parts, sessions)
                        )
                    assert not memory._scope.recall.problems  # noqa: SLF001 - or the store would have answered
    return answers


def mean(answers: Iterable[Answer], cut: int) -> float:
    values = [answer.recall(cut) for answer in answers]
    return sum(values) / len(values) if values else float("nan")


def counted(answers: Sequence[Answer], data: str) -> list[Answer]:
    """Return the questions that are counted: all except the adversarial ones."""
    return [one for one in answers if one.data == data and one.question.category != ADVERSARIAL]


def cross_validated(answers: Sequence[Answer], data: str) -> list[float]:
    """Compute the measure with weights fitted on all folds but the one that is measured.

    The weight of each part may be changed by a factor, one after the other, twice. Nothing is
    fitted to the results that are reported.
    """
    own = counted(answers, data)
    names = sorted({name for answer in own for part in answer.parts for name in part})
    tables = [_table(answer, names) for answer in own]
    results: list[tuple[float, ...]] = []
    for fold in sorted({answer.fold for answer in own}):
        train = [table for table, answer in zip(tables, own, strict=True) if answer.fold != fold]
        factors = _fitted(train, len(names))
        results += [
            _recalls(table, factors)
            for table, answer in zip(tables, own, strict=True)
            if answer.fold == fold
        ]
    return [float(value) for value in np.mean(results, axis=0)]


def _table(answer: Answer, names: Sequence[str]) -> tuple[Any, Any, int]:
    parts = np.array([[part.get(name, 0.0) for name in names] for part in answer.parts]).reshape(
        -1, len(names)
    )
    gold = np.array([key in answer.question.gold for key in answer.found])
    return parts, gold, len(answer.question.gold)


def _recalls(table: tuple[Any, Any, int], factors: Any) -> tuple[float, ...]:
    parts, gold, number = table
    order = np.argsort(-(parts @ factors), kind="stable")
    return tuple(float(gold[order[:cut]].sum()) / number for cut in CUTS)


def _fitted(tables: Sequence[tuple[Any, Any, int]], number: int) -> Any:
    factors = np.ones(number)
    for _ in range(2):
        for place in range(number):
            tried = {}
            for step in STEPS:
                factors[place] = step
                # Only a clear improvement changes a weight.
                tried[step] = float(
                    np.mean([_recalls(table, factors) for table in tables])
                ) - 0.01 * abs(step - 1)
            factors[place] = max(tried, key=lambda step: (tried[step], -abs(step - 1)))
    return factors


def sessions(answers: Sequence[Answer], all_of_them: bool) -> float:
    """Count how often the first five hits touch any of the answering sessions, or all of them."""
    own = counted(answers, "LME48")
    judge = all if all_of_them else any
    hits = [
        judge(
            session in {answer.sessions[key] for key in answer.found[:5]}
            for session in {answer.sessions[key] for key in answer.question.gold}
        )
        for answer in own
    ]
    return sum(hits) / len(hits)


def show(answers: Mapping[str, list[Answer]], screen: Console) -> dict[str, dict[str, list[float]]]:
    """Print the tables; return what the plot draws."""
    table = Table(
        title="recall: share of the gold turns among the first 5 / 10",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for column in ("system", *SETS, "LoCoMo adversarial", "LME any@5 / all@5"):
        table.add_column(column, justify="left" if column == "system" else "right")
    drawn: dict[str, dict[str, list[float]]] = {}
    for system, own in answers.items():
        drawn[system] = {data: [mean(counted(own, data), cut) for cut in CUTS] for data in SETS}
        hard = [answer for answer in own if answer.question.category == ADVERSARIAL]
        cells = [_pair(drawn[system][data]) for data in SETS] + [
            _pair([mean(hard, cut) for cut in CUTS])
        ]
        table.add_row(system, *cells, _pair([sessions(own, False), sessions(own, True)]))
    for system in answers:
        if system.startswith("hybrid"):
            table.add_row(
                f"{system}, cross-validated",
                *(_pair(cross_validated(answers[system], data)) for data in SETS),
                "",
                "",
            )
    screen.print(table)
    _categories(answers, screen)
    return drawn


def _categories(answers: Mapping[str, list[Answer]], screen: Console) -> None:
    table = Table(title="hybrid by category", title_justify="left", box=None, pad_edge=False)
    systems = [system for system in answers if system.startswith("hybrid")]
    for column in ("data", "category", "questions", *systems):
        table.add_column(column, justify="left" if column in ("data", "category") else "right")
    kinds = sorted({(one.data, one.question.category) for one in answers["hybrid"]})
    for data, category in kinds:
        chosen = {
            s: [a for a in answers[s] if (a.data, a.question.category) == (data, category)]
            for s in systems
        }
        cells = [_pair([mean(chosen[system], cut) for cut in CUTS]) for system in systems]
        table.add_row(data, category, str(len(chosen["hybrid"])), *cells)
    screen.print(table)


def _pair(values: Sequence[float]) -> str:
    return " / ".join(
        f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}" for value in values
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--models", type=Path, help="the folder `models` of a home in which a model was pulled"
    )
    parser.add_argument("--model", default="e5", help="which one")
    parser.add_argument(
        "--every", type=int, default=1, help="only every so many questions of LME48"
    )
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "lamina-vectors"
    )
    parser.add_argument(
        "--via",
        help="compare with searches through a mirror, such as chroma=embedded; nothing else",
    )
    parser.add_argument("--plot", type=Path, help="where to draw the plot as SVG")
    given = parser.parse_args()
    options: dict[str, Any] = {
        "cache": given.models or Path(),
        "endpoint": "",
        "key": None,
        "timeout": 1.0,
    }
    embedders: dict[str, Any] = {"wordllama": create("wordllama", **options)}
    if given.models:
        embedders[given.model] = Remembering(create(given.model, **options), given.cache)  # type: ignore[arg-type]
    if given.via:
        found = compare(given.every, given.via, list(embedders.values()))
        show(found, Console(highlight=False))
        return
    answers, groups = measure(given.every, embedders)
    if given.models:
        embedders[given.model].save()
    screen = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    drawn = show(answers, screen)
    curves = abstention.show(groups, screen)
    every = max(given.every, 4)
    prompting.show(prompting.measure(every), screen)
    if given.models:
        asked = prompting.measure(every, list(embedders.values()))
        prompting.show(asked, screen, f"hybrid with {given.model}")
    prompting.show_small(screen)
    if given.plot:
        given.plot.write_text(plot.svg(drawn, curves), "utf-8")
        screen.print(f"drawn to {given.plot}")
    with (
        closing(Path(given.cache, "retrieval.json").open("w"))
        if given.cache.is_dir()
        else closing(tempfile.TemporaryFile("w")) as file
    ):
        json.dump({"recall": drawn, "refusals": curves}, file)


if __name__ == "__main__":
    main()
