"""Learn how sure claims are, from labelled messages and conversations.

`python -m benchmarks.learning` learns the weights of `engines/claims/judge.json` and writes them;
`--check` only prints how well each writer and each conversation does by what the others teach.

Each claim that is found, by a rule or by the open form, is an example: it is right if a label says
the same. Logistic regression finds the weights of its features. They are drawn towards nothing,
by as much as does best for what was not learned from.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import claims, messages
from lamina.engines.claims import Claim, Turn, judge
from lamina.engines.claims.extraction import extract

SELDOM = 3  # examples of a feature below which it is left out
STRENGTHS = (2.0, 4.0, 8.0)
NEARLY = 1.01  # the weakest strength that does nearly as well is taken: it tells most apart
STEPS = 40
LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85)


class Example(NamedTuple):
    """A claim with its features, and whether it is right."""

    source: str
    features: tuple[str, ...]
    before: float  # how sure its rule is elsewhere
    right: bool
    met: tuple[str, int] | None  # the label that it meets, which counts once


class Source(NamedTuple):
    """Where examples come from: a writer or a conversation."""

    name: str
    labels: int
    examples: list[Example]


Read = tuple[Claim, tuple[str, ...], float]


def read(turns: Sequence[Turn]) -> list[list[Read]]:
    """Extract every claim there may be, with its features and how sure it was before."""
    listed: list[tuple[tuple[str, ...], float]] = []

    def numbered(features: list[str], before: float) -> float:
        listed.append((tuple(features), before))
        return float(len(listed))

    def told(claim: Claim) -> Read:
        if claim.confidence < 1:  # it is not judged
            return claim, (), claim.confidence
        return claim, *listed[round(claim.confidence) - 1]

    found = extract(turns, judged=numbered)
    return [[told(one) for one in turn] for turn in found]


def writers() -> Iterator[Source]:
    for path in messages.MESSAGES:
        listed, examples = messages.messages(path), []
        for number, message in enumerate(listed):
            turn = Turn(message.text, messages.SPEAKER, messages.SAID_AT)
            for claim, features, before in read([turn])[0]:
                like = [messages.likeness(claim, fact) for fact in message.facts]
                best = max(range(len(like)), key=lambda n: like[n], default=None)
                right = best is not None and like[best] >= 0.5
                met = (f"{path.stem} {number}", best) if right and best is not None else None
                examples.append(Example(path.stem, features, before, right, met))
        yield Source(path.stem, sum(len(one.facts) for one in listed), examples)


def conversations(names: Sequence[str]) -> Iterator[Source]:
    told = list(claims.sessions(names))
    for name in names:
        here = [session for session in told if session.conversation == name]
        yield _talked(name, here)


def _talked(name: str, listed: Iterable[claims.Session]) -> Source:
    examples, labels = [], 0
    for number, session in enumerate(listed):
        labels += sum(map(len, session.labels))
        for turn, found in enumerate(read(session.turns)):
            for claim, features, before in found:
                like = [claims.likeness(claim, label) for label in session.labels[turn]]
                best = max(range(len(like)), key=lambda n: like[n], default=None)
                right = best is not None and like[best] >= 0.5
                met = (f"{name} {number} {turn}", best) if right and best is not None else None
                examples.append(Example(name, features, before, right, met))
    return Source(name, labels, examples)


def _among_friends(source: Source) -> Source:
    """Count single sentences, which were written for talks, as parts of talks.

    Rules were mended on them, so they cannot teach how sure rules are.
    """
    told = []
    for one in source.examples:
        if "rule" in one.features:
            continue
        is_talk = any(name.startswith(judge.TALK) for name in one.features)
        more = () if is_talk else tuple(judge.TALK + name for name in one.features)
        told.append(one._replace(features=(*one.features, *more)))
    return source._replace(examples=told)


class Model(NamedTuple):
    """Weights of features."""

    places: dict[str, int]
    weights: NDArray[np.float64]

    def scores(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        rows = matrix(examples, self.places) @ self.weights
        return 1 / (1 + np.exp(-(rows + befores(examples))))


def matrix(examples: Sequence[Example], places: dict[str, int]) -> NDArray[np.float64]:
    rows = np.zeros((len(examples), len(places)))
    for row, example in zip(rows, examples, strict=True):
        for name in example.features:
            if name in places:
                row[places[name]] = 1
    return rows


def befores(examples: Sequence[Example]) -> NDArray[np.float64]:
    sure = np.array([one.before for one in examples])
    odds: NDArray[np.float64] = np.log(sure / (1 - sure))
    return odds


def learn(examples: Sequence[Example], strength: float) -> Model:
    """Fit the weights by Newton's method; each is drawn towards nothing."""
    counts = Counter(name for one in examples for name in set(one.features))
    places = {name: n for n, name in enumerate(sorted(k for k, c in counts.items() if c >= SELDOM))}
    rows, right = matrix(examples, places), np.array([one.right for one in examples], float)
    before = befores(examples)
    weights, pull = np.zeros(len(places)), strength * np.eye(len(places))
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-(rows @ weights + before)))
        slope = rows.T @ (right - sure) - strength * weights
        bend = (rows * (sure * (1 - sure))[:, None]).T @ rows + pull
        step = np.linalg.solve(bend, slope)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return Model(places, weights)


def crossed(sources: Sequence[Source], strength: float) -> dict[str, NDArray[np.float64]]:
    """Score the claims of each source by what the others teach."""
    scored = {}
    for source in sources:
        others = [one for other in sources if other is not source for one in other.examples]
        scored[source.name] = learn(others, strength).scores(source.examples)
    return scored


def loss(sources: Sequence[Source], scored: dict[str, NDArray[np.float64]]) -> float:
    total, number = 0.0, 0
    for source in sources:
        right = np.array([one.right for one in source.examples], float)
        sure = np.clip(scored[source.name], 1e-6, 1 - 1e-6)
        total -= float(np.sum(right * np.log(sure) + (1 - right) * np.log(1 - sure)))
        number += len(right)
    return total / number


def table(sources: Sequence[Source], scored: dict[str, NDArray[np.float64]]) -> Table:
    shown = Table(title="by what the others teach: precision / recall", title_justify="left")
    for column in ("source", "labels", "claims", *(f"{level:.2f}" for level in LEVELS)):
        shown.add_column(column, justify="right")
    for source in sources:
        cells = []
        for level in LEVELS:
            sure = scored[source.name] >= level
            kept = [one for one, is_sure in zip(source.examples, sure, strict=True) if is_sure]
            right = sum(one.right for one in kept)
            met = len({one.met for one in kept if one.met})
            cells.append(f"{right / max(1, len(kept)):.2f} / {met / source.labels:.2f}")
        shown.add_row(source.name, str(source.labels), str(len(source.examples)), *cells)
    return shown


def calibration(sources: Sequence[Source], scored: dict[str, NDArray[np.float64]]) -> Table:
    shown = Table(title="calibration by what the others teach", title_justify="left")
    for column in ("sure", "claims", "right"):
        shown.add_column(column, justify="right")
    every = [
        (score, one.right)
        for source in sources
        for score, one in zip(scored[source.name], source.examples, strict=True)
    ]
    for low in np.arange(0, 1, 0.1):
        here = [right for score, right in every if low <= score < low + 0.1]
        if here:
            shown.add_row(f"{low:.1f}", str(len(here)), f"{sum(here) / len(here):.2f}")
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args()
    screen = Console(width=160)
    invented = _among_friends(_talked("invented", claims.invented()))
    sources = [*writers(), *conversations(claims.TUNED), invented]
    losses = {strength: loss(sources[:-1], crossed(sources, strength)) for strength in STRENGTHS}
    screen.print({strength: round(one, 4) for strength, one in losses.items()})
    least = min(losses.values())
    best = next(strength for strength in STRENGTHS if losses[strength] <= NEARLY * least)
    scored = crossed(sources, best)
    told = sources[:-1]  # what was not written for rules
    screen.print(table(told, scored), calibration(told, scored))
    if not given.check:
        model = learn([one for source in sources for one in source.examples], best)
        learned = {name: round(float(model.weights[n]), 3) for name, n in model.places.items()}
        kept = {name: weight for name, weight in learned.items() if abs(weight) >= 0.01}
        judge.WEIGHTS.write_text(json.dumps(kept, indent=0) + "\n", "utf-8")
        screen.print(f"{len(kept)} weights, {judge.WEIGHTS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
