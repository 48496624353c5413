"""Learn how sure claims are, from labelled messages and conversations.

`python -m benchmarks.learning` learns the weights of `engines/claims/judge.json` and writes them;
`--check` only prints how well each writer and each conversation does by what the others teach.
It needs PyTorch: what a network says of texts that it was trained on would be trusted too much, so
three networks are trained that each leave out a part of the files. `--networks` names the folder
that keeps them; they are trained again when it is removed.

Each claim that is found, by a rule or by the open form, is an example: it is right if a label says
the same. Logistic regression finds the weights of its features. They are drawn towards nothing,
by as much as does best for what was not learned from. How much a writer notes of a message is a
feature while weights are learned; they are used as if everybody noted as much as the median writer.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import claims, labelled, messages, tagging
from lamina.engines.claims import Claim, Turn, judge, tagger
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.judge import Features
from lamina.engines.claims.opening import Judge
from lamina.engines.claims.tagger import Network

SELDOM = 3  # a feature with fewer examples is left out
RULED = 10  # the same for a rule, which then keeps its own confidence
STRENGTHS = (4.0, 8.0, 16.0)
NEARLY = 1.01  # the weakest strength with nearly the lowest loss is chosen: it distinguishes best
STEPS = 40
CLOSE = 1e-4  # weights are rounded to three digits
LEAST = 0.01  # a smaller weight is left out
NOTED = "noted "  # prefix of a feature that is used only while weights are learned
# Talks with few labels: with them, the weights find less, and no more of it is right.
SPARING = frozenset({"talks-3", "talks-4"})
READ = ("rule", "open", "tagged")  # how a claim may have been read
LEVELS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


class Example(NamedTuple):
    """A claim with its features, how sure it is, and whether it is right."""

    claim: Claim
    features: Features
    before: float  # how sure its rule is elsewhere
    sure: float
    right: bool
    met: tuple[int, int, int] | None  # the label that it matches, which counts once


class Case(NamedTuple):
    """A session, with a function for each turn that says how well a claim matches each label."""

    turns: Sequence[Turn]
    likeness: Sequence[Callable[[Claim], list[float]]]


class Source(NamedTuple):
    """Where examples come from: a writer or a conversation."""

    name: str
    labels: int
    cases: Sequence[Case]
    fold: int  # sources of one fold are judged by what those of the others teach
    network: Network | None = None  # one that was trained on other texts; None: the shipped one
    is_exhaustive: bool = False  # its labels have nearly everything, not only what lasts
    noted: float = 0.0  # how much is noted per message, relative to the median writer (logarithm)


def even(named: Sequence[str], features: Callable[[], Features], before: float) -> float:
    """Return the confidence that a claim had before anything was learned."""
    return before


def examples(source: Source, judged: Judge = even) -> list[Example]:
    """List every claim that is found with the confidences that a judge gives."""
    told = []
    for number, case in enumerate(source.cases):
        for turn, found in enumerate(_read(case.turns, judged, source.network)):
            for claim, features, before, sure in found:
                like = case.likeness[turn](claim)
                best = max(range(len(like)), key=lambda n: like[n], default=-1)
                met = (number, turn, best) if best >= 0 and like[best] >= 0.5 else None
                if source.noted and judged is even:
                    features = _styled(features, source.noted)
                told.append(Example(claim, features, before, sure, met is not None, met))
    return told


def _styled(features: Features, noted: float) -> Features:
    """Add how much a writer notes: the more, the more claims are right, whatever they are."""
    return {**features, **{NOTED + name: noted for name in READ if name in features}}


Read = tuple[Claim, Features, float, float]


def _read(turns: Sequence[Turn], judged: Judge, network: Network | None) -> list[list[Read]]:
    """Extract every possible claim, even unlikely ones, with its features."""
    listed: dict[float, tuple[Features, float, float]] = {}

    def marked(named: Sequence[str], features: Callable[[], Features], before: float) -> float:
        whole = features()
        sure = judged(named, lambda: whole, before)
        mark = 1 + sure - len(listed) / 1e9  # all are different, and surer claims still come first
        listed[mark] = whole, before, sure
        return mark

    def told(claim: Claim) -> Read:
        sure = min(claim.confidence, judge.MOST)
        return claim, *listed.get(claim.confidence, ({}, sure, sure))

    found = extract(turns, judged=marked, network=lambda: network or tagger.shipped())
    return [
        [told(one) for one in turn if not one.attribute.startswith(INSTRUCTION)] for turn in found
    ]


def writers(networks: Sequence[Network]) -> Iterator[Source]:
    read = {path: messages.messages(path) for path in messages.MESSAGES}
    noted = {path: sum(len(one.facts) for one in listed) for path, listed in read.items()}
    usual = median(noted[path] / len(listed) for path, listed in read.items())
    for path, listed in read.items():
        cases, fold = [_written(message) for message in listed], labelled.fold(path)
        yield Source(
            path.stem, noted[path], cases, fold, networks[fold], path.stem in labelled.EXHAUSTIVE,
            math.log(noted[path] / len(listed) / usual),
        )  # fmt: skip


def talks(networks: Sequence[Network]) -> Iterator[Source]:
    for path in claims.TALKS:
        fold = labelled.fold(path)
        yield _talked(path.stem, list(claims.talks(path)), fold, networks[fold])


def _written(message: messages.Message) -> Case:
    turn = Turn(message.text, messages.SPEAKER, messages.SAID_AT)
    return Case([turn], [lambda claim: [messages.likeness(claim, one) for one in message.facts]])


def conversations(names: Sequence[str]) -> Iterator[Source]:
    told = list(claims.sessions(names))
    for fold, name in enumerate(names):
        yield _talked(name, [one for one in told if one.conversation == name], fold)


def _talked(
    name: str, listed: Sequence[claims.Session], fold: int, network: Network | None = None
) -> Source:
    cases = [Case(one.turns, [_likeness(labels) for labels in one.labels]) for one in listed]
    labels = sum(len(labels) for one in listed for labels in one.labels)
    return Source(name, labels, cases, fold, network)


def _likeness(labels: Sequence[Mapping[str, Any]]) -> Callable[[Claim], list[float]]:
    """Compare words, not attributes: who enrolled on a course has done it, and studies."""
    return lambda claim: [claims.same_words(claim, label) for label in labels]


def _among_friends(listed: Sequence[Example]) -> list[Example]:
    """Count single sentences, which were written for talks, as parts of talks."""
    told = []
    for one in listed:
        is_talk = any(name.startswith(judge.TALK) for name in one.features)
        more = {} if is_talk else {judge.TALK + name: much for name, much in one.features.items()}
        told.append(one._replace(features={**one.features, **more}))
    return told


def _unruled(listed: Sequence[Example]) -> list[Example]:
    """Leave out what rules found in texts used to improve them: it would teach too much trust."""
    return [one for one in listed if "rule" not in one.features]


class Model(NamedTuple):
    """Weights of features."""

    places: dict[str, int]
    weights: NDArray[np.float64]

    def named(self) -> dict[str, float]:
        learned = {
            name: round(float(self.weights[n]), 3)
            for name, n in self.places.items()
            if not name.startswith(NOTED)
        }
        return {name: weight for name, weight in learned.items() if abs(weight) >= LEAST}


def matrix(examples: Sequence[Example], places: dict[str, int]) -> NDArray[np.float64]:
    rows = np.zeros((len(examples), len(places)))
    for row, example in zip(rows, examples, strict=True):
        for name, much in example.features.items():
            if name in places:
                row[places[name]] = much
    return rows


def befores(examples: Sequence[Example]) -> NDArray[np.float64]:
    sure = np.array([one.before for one in examples])
    odds: NDArray[np.float64] = np.log(sure / (1 - sure))
    return odds


def learn(examples: Sequence[Example], strength: float) -> Model:
    """Fit the weights by Newton's method, with a penalty that draws them towards zero."""
    counts = Counter(name for one in examples for name in set(one.features))
    places = {name: n for n, name in enumerate(sorted(filter(partial(_is_told, counts), counts)))}
    rows, right = matrix(examples, places), np.array([one.right for one in examples], float)
    before = befores(examples)
    weights, pull = np.zeros(len(places)), strength * np.eye(len(places))
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-(rows @ weights + before)))
        slope = rows.T @ (right - sure) - strength * weights
        bend = (rows * (sure * (1 - sure))[:, None]).T @ rows + pull
        step = np.linalg.solve(bend, slope)
        weights += step
        if np.abs(step).max() < CLOSE:
            break
    return Model(places, weights)


def _is_told(counts: Mapping[str, int], name: str) -> bool:
    """Tell if a feature has enough examples; a rule needs more."""
    return counts[name] >= (RULED if name.removeprefix(judge.TALK).startswith(judge.BY) else SELDOM)


def crossed(
    sources: Sequence[Source], taught: Mapping[str, Sequence[Example]], strength: float
) -> dict[str, list[Example]]:
    """Read the sources of each fold with the weights that the others teach."""
    scored: dict[str, list[Example]] = {}
    for fold in sorted({source.fold for source in sources}):
        here = [source for source in sources if source.fold == fold]
        names = {source.name for source in here}
        others = [one for name, listed in taught.items() if name not in names for one in listed]
        judged = partial(judge.judged, known=learn(others, strength).named())
        scored |= {source.name: examples(source, judged) for source in here}
    return scored


def loss(scored: Mapping[str, Sequence[Example]], names: Set[str]) -> float:
    """Compute the loss of the confidences in some sources."""
    every = [one for name in sorted(names) for one in scored[name]]
    right = np.array([one.right for one in every], float)
    sure = np.array([one.sure for one in every])
    told = right * np.log(sure) + (1 - right) * np.log(1 - sure)
    return -float(np.mean(told))


def table(sources: Sequence[Source], scored: Mapping[str, Sequence[Example]]) -> Table:
    shown = Table(title="by what the others teach: precision / recall", title_justify="left")
    for column in ("source", "labels", "claims", *(f"{level:.2f}" for level in LEVELS)):
        shown.add_column(column, justify="right")
    for source in sources:
        shown.add_row(source.name, *_cells([source], scored))
    written = [source for source in sources if source.name.startswith("messages")]
    shown.add_row("what lasts", *_cells([one for one in written if not one.is_exhaustive], scored))
    shown.add_row("everything", *_cells([one for one in written if one.is_exhaustive], scored))
    shown.add_row("all messages", *_cells(written, scored))
    return shown


def _cells(sources: Sequence[Source], scored: Mapping[str, Sequence[Example]]) -> list[str]:
    labels = sum(source.labels for source in sources)
    listed = [one for source in sources for one in scored[source.name]]
    cells = [str(labels), str(len(listed))]
    for level in LEVELS:
        kept = [one for source in sources for one in scored[source.name] if one.sure >= level]
        right = sum(one.right for one in kept)
        met = sum(
            len({one.met for one in scored[source.name] if one.met and one.sure >= level})
            for source in sources
        )
        cells.append(f"{right / max(1, len(kept)):.2f} / {met / max(1, labels):.2f}")
    return cells


def calibration(title: str, scored: Iterable[Sequence[Example]]) -> Table:
    shown = Table(title=f"calibration by what the others teach: {title}", title_justify="left")
    for column in ("sure", "claims", "right"):
        shown.add_column(column, justify="right")
    every = [one for listed in scored for one in listed]
    for low in range(0, 100, 10):
        here = [one.right for one in every if low <= round(one.sure * 100) < low + 10]
        if here:
            shown.add_row(f".{low:02d}", str(len(here)), f"{sum(here) / len(here):.2f}")
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--networks", type=Path, default=Path(".networks"))
    given = parser.parse_args()
    screen = Console(width=160)
    networks = tagging.folds(given.networks)
    written = list(writers(networks))
    told = [*written, *talks(networks), *conversations(claims.TUNED)]
    taught = {source.name: examples(source) for source in told}
    invented = _talked("invented", list(claims.invented()), labelled.FOLDS)
    taught[invented.name] = _unruled(_among_friends(examples(invented)))
    tried = {strength: crossed(told, taught, strength) for strength in STRENGTHS}
    lasting = {source.name for source in told if not source.is_exhaustive}
    losses = {strength: loss(scored, lasting) for strength, scored in tried.items()}
    screen.print({strength: round(one, 4) for strength, one in losses.items()})
    least = min(losses.values())
    best = next(strength for strength in STRENGTHS if losses[strength] <= NEARLY * least)
    scored, names = tried[best], [source.name for source in written]
    screen.print(table(told, scored))
    screen.print(calibration("what lasts", [scored[name] for name in names if name in lasting]))
    screen.print(calibration("talks", [scored[name] for name in scored if name not in names]))
    if not given.check:
        kept = learn(
            [one for name, listed in taught.items() if name not in SPARING for one in listed], best
        ).named()
        judge.WEIGHTS.write_text(json.dumps(kept, indent=0) + "\n", "utf-8")
        screen.print(f"{len(kept)} weights, {judge.WEIGHTS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
