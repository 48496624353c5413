"""Learn what an operator finds important: a small correction to the tables (L8). Pure."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lamina.engines import importance
from lamina.engines.importance import Reason, Scored
from lamina.errors import InvalidInput
from lamina.model.record import Trust
from lamina.text import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Places = NDArray[np.int64]

FEWEST = 40  # examples before anything is learned
FEWEST_OF_EACH = 10  # ... of what was liked, and of what was not
RARE, RARE_WORD = 3, 5  # a feature in fewer examples is due to chance, or too private to keep
RARE_SHARE = 0.01  # ... and so is a word in a smaller share of them
MOST_WORDS, MOST_OTHERS = 100, 100
FOLDS, FOLDS_OF_MANY, MANY = 10, 5, 1000
STEPS = 7  # of Newton's method
# The penalties on squared weights: learning one takes evidence. A feature's depends on its family.
FREE, TABLES_PENALTY, PENALTY, PENALTIES = 0.01, 10.0, 5.0, (1.0, 100.0)
KEPT = 0.25  # the share of the tables that always counts
LEAST_GAIN = 0.01  # of log loss per example
CLEARLY = 2.5  # standard errors
LARGEST = 3.0  # the maximal change of the log odds: from 0.5 to 0.05 or 0.95
SURE = 0.98  # scores of the tables are limited to this, so that their log odds are finite
TOLD = 5  # reasons besides those of the tables
MOST_WEIGHT = 100.0
# Metadata defined in Sky's schema.
LABELS = ("category", "escalated_to", "status", "tool", "workflow")
LONGEST_LABEL = 64
DIGIT, QUESTION = re.compile(r"\d"), re.compile(r"[?？؟]\s*\Z")
LENGTHS = ((40, "short"), (400, "medium"))


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as it was, and whether the operator turned out to care about it."""

    kind: str
    content: str
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    source: str | None = None
    speaker: str | None = None
    trust: Trust = Trust.AGENT
    liked: bool
    weight: float = 1.0


class Model(msgspec.Struct, frozen=True):
    """A learned model, stored as JSON: log odds that each feature adds to those of the tables."""

    weights: dict[str, float]
    tables: float  # the weight of the log odds of the tables themselves; 1 means unchanged
    bias: float  # makes the average score of the examples equal to that of the tables
    examples: int
    liked: int
    # By how much the model reduces the log loss of the tables per held-out example.
    gain: float

    def score(
        self,
        kind: str,
        content: str,
        tags: Sequence[str],
        metadata: Mapping[str, Any],
        source: str | None = None,
        speaker: str | None = None,
        trust: Trust = Trust.AGENT,
    ) -> float:
        """Score the importance of a memory, 0 to 1, by the tables and the learned weights."""
        shown = features(kind, content, tags, metadata, source, speaker, trust)
        table = importance.score(kind, content, tags, metadata)
        return _rounded(_moved(table, self._shift(table, shown)))

    def explain(
        self,
        kind: str,
        content: str,
        tags: Sequence[str],
        metadata: Mapping[str, Any],
        source: str | None = None,
        speaker: str | None = None,
        trust: Trust = Trust.AGENT,
    ) -> Scored:
        """Score with reasons: those of the tables, the strongest learned ones, and the rest."""
        shown = features(kind, content, tags, metadata, source, speaker, trust)
        table = importance.explain(kind, content, tags, metadata)
        shift = self._shift(table.importance, shown)
        moved = _moved(table.importance, shift)
        rate = (moved - table.importance) / shift if shift else 0.0
        learned = [("tables", (self.tables - 1) * log_odds(table.importance))]
        learned += [(name, self.weights[name]) for name in shown if name in self.weights]
        strongest = sorted(learned, key=lambda part: (-abs(part[1]), part[0]))[:TOLD]
        reasons = [Reason(f"learned {name}", round(weight * rate, 4)) for name, weight in strongest]
        rest = _rounded(moved) - table.importance - sum(reason.amount for reason in reasons)
        reasons.append(Reason("learned otherwise", round(rest, 4)))
        told = (reason for reason in reasons if reason.amount)
        return Scored(_rounded(moved), (*table.reasons, *told))

    def _shift(self, table: float, shown: Sequence[str]) -> float:
        learned = sum(self.weights.get(name, 0.0) for name in shown)
        return self.bias + (self.tables - 1) * log_odds(table) + learned


def _moved(table: float, shift: float) -> float:
    """Shift a score of the tables in log odds; without a shift, return the score itself."""
    odds = log_odds(table)
    return table + _chance(odds + min(LARGEST, max(-LARGEST, shift))) - _chance(odds)


def _rounded(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 2)


def log_odds(score: float) -> float:
    likely = min(SURE, max(1 - SURE, score))
    return math.log(likely / (1 - likely))


def _chance(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def features(
    kind: str,
    content: str,
    tags: Sequence[str],
    metadata: Mapping[str, Any],
    source: str | None,
    speaker: str | None,
    trust: Trust,
) -> tuple[str, ...]:
    """List the features of a memory in readable words, each once."""
    beginning = content[: importance.LOOKED_AT]
    length = next((name for most, name in LENGTHS if len(content) < most), "long")
    shown = [f"kind={kind}", f"trust={trust}", f"length={length}"]
    shown += [f"tag={tag}" for tag in tags]
    labels = [("source", source or None), ("speaker", speaker or None)]
    labels += [(name, metadata.get(name)) for name in LABELS]
    shown += [f"{name}={label[:LONGEST_LABEL]}" for name, label in labels if isinstance(label, str)]
    shown += ["sign=number"] if DIGIT.search(beginning) else []
    shown += ["sign=question"] if QUESTION.search(content, max(0, len(content) - 10)) else []
    shown += [f"word={word}" for word in words.asked(beginning) if word not in words.STOP_WORDS]
    return tuple(dict.fromkeys(shown))


class _Case(NamedTuple):
    """An example as used for learning; cases sort the same in any order and process."""

    content: str
    shown: tuple[str, ...]
    table: float
    liked: bool
    weight: float


class _Data(NamedTuple):
    """The cases as rows; columns are a constant, the log odds of the tables, and the features."""

    shown: Numbers
    odds: Numbers
    liked: Numbers
    weight: Numbers
    families: Places  # of the features

    def part(self, rows: NDArray[np.bool_]) -> _Data:
        return self._replace(
            shown=self.shown[rows],
            odds=self.odds[rows],
            liked=self.liked[rows],
            weight=self.weight[rows],
        )

    def tables_alone(self) -> _Data:
        """Drop the features and keep the tables, on the operator's own scale."""
        return self._replace(shown=self.shown[:, :2], families=self.families[:0])


def learn(examples: Sequence[Example]) -> Model | None:
    """Learn a model of what this operator likes.

    Return None if there is too little to learn from, or no gain over the tables.
    """
    cases = sorted(_case(example) for example in examples)
    liked = sum(case.liked for case in cases)
    if len(cases) < FEWEST or min(liked, len(cases) - liked) < FEWEST_OF_EACH:
        return None
    names = _frequent(cases)
    data = _numbers(cases, names)
    gain = _gain(data, _folds(cases))
    return _model(names, data, _solved(data), gain) if gain >= LEAST_GAIN else None


def _model(names: Sequence[str], data: _Data, solution: Numbers, gain: float) -> Model:
    """Store a solution as a model, rounded so that differences between machines disappear."""
    extra, *weights = (round(float(weight), 3) for weight in solution[1:])
    usual = (data.weight @ data.shown[:, 1:]) / data.weight.sum()
    parts = zip((extra, *weights), usual, strict=True)
    bias = -sum(weight * float(share) for weight, share in parts)
    telling = {name: weight for name, weight in zip(names, weights, strict=True) if weight}
    return Model(
        telling,
        round(1 + extra, 3),
        round(bias, 3) + 0.0,
        len(data.liked),
        int(data.liked.sum()),
        round(gain, 4),
    )


def _case(example: Example) -> _Case:
    if not 0 < example.weight <= MOST_WEIGHT:
        weight = words.shown(example.weight)
        raise InvalidInput(
            f"the weight {weight} of an example is not above 0 and at most {MOST_WEIGHT:g}"
        )
    known = (example.kind, example.content, example.tags, example.metadata)
    shown = features(*known, example.source, example.speaker, example.trust)
    return _Case(example.content, shown, importance.score(*known), example.liked, example.weight)


def _frequent(cases: Sequence[_Case]) -> list[str]:
    """List the features that enough, but not all, cases have, sorted by name."""
    counts = Counter(name for case in cases for name in case.shown)
    fewest_word = max(RARE_WORD, RARE_SHARE * len(cases))
    chosen: list[str] = []
    for is_word, fewest, most in ((True, fewest_word, MOST_WORDS), (False, RARE, MOST_OTHERS)):
        names = [
            name
            for name, count in counts.items()
            if name.startswith("word=") is is_word and fewest <= count < len(cases)
        ]
        chosen += sorted(names, key=lambda name: (-counts[name], name))[:most]
    return sorted(chosen)


def _numbers(cases: Sequence[_Case], names: Sequence[str]) -> _Data:
    import numpy as np

    places = {name: place for place, name in enumerate(names, 2)}
    rows = [(log_odds(case.table), case.liked, case.weight) for case in cases]
    odds, liked, weight = np.array(rows, dtype=np.float64).T
    shown = np.zeros((len(cases), len(names) + 2))
    shown[:, 0], shown[:, 1] = 1, odds
    for row, case in enumerate(cases):
        shown[row, [places[name] for name in case.shown if name in places]] = 1
    kinds = [name.partition("=")[0] for name in names]
    families = np.array([sorted(set(kinds)).index(kind) for kind in kinds], dtype=np.int64)
    return _Data(shown, odds, liked, weight, families)


def _solved(data: _Data) -> Numbers:
    """Fit a logistic regression by Newton's method.

    The larger the weights of a family turn out, the lower their penalty.
    """
    import numpy as np

    penalty = np.array([FREE, TABLES_PENALTY, *(PENALTY for _ in data.families)])
    solution = np.zeros(len(penalty))
    for _ in range(STEPS):
        chances = _chances(data, solution)
        scaled = data.shown * np.sqrt(data.weight * chances * (1 - chances))[:, None]
        curve = scaled.T @ scaled
        if solution.any():
            penalty[2:] = _penalties(data.families, solution, curve + np.diag(penalty))
        slope = data.shown.T @ (data.weight * (data.liked - chances)) - penalty * solution
        step = np.linalg.solve(curve + np.diag(penalty), slope)
        too_wide = float(np.abs(step).max()) / 2  # a wide step may diverge
        solution = solution + step / max(1.0, too_wide)
        solution[1] = np.clip(solution[1], KEPT - 1, 1 - KEPT)
    return solution


def _penalties(families: Places, solution: Numbers, curve: Numbers) -> Numbers:
    """Penalise each family's weights by the inverse of their estimated mean square."""
    import numpy as np

    squares = (solution**2 + np.diag(np.linalg.inv(curve)))[2:]
    means = np.bincount(families, squares) / np.bincount(families)
    penalties: Numbers = np.clip(1 / means, *PENALTIES)[families]
    return penalties


def _chances(data: _Data, solution: Numbers) -> Numbers:
    import numpy as np

    chances: Numbers = 1 / (1 + np.exp(-np.clip(data.odds + data.shown @ solution, -30, 30)))
    return chances


def _gain(data: _Data, folds: Places) -> float:
    """Measure how much learning reduces the log loss on held-out cases; 0 unless that is clear."""
    import numpy as np

    alone = data.tables_alone()
    better = np.zeros(len(folds))
    for fold in np.unique(folds):
        out, rest = folds == fold, folds != fold
        learned, tables = _solved(data.part(rest)), _solved(alone.part(rest))
        better[out] = _losses(alone.part(out), tables) - _losses(data.part(out), learned)
    total = data.weight.sum()
    gain = float(data.weight @ better / total)
    error = float(np.sqrt((data.weight**2) @ ((better - gain) ** 2)) / total)
    return gain if gain > CLEARLY * error else 0.0


def _losses(data: _Data, solution: Numbers) -> Numbers:
    import numpy as np

    chances = _chances(data, solution)
    losses: Numbers = -np.log(np.where(data.liked > 0, chances, 1 - chances))
    return losses


def _folds(cases: Sequence[_Case]) -> Places:
    """Assign cases to folds by text, so that equal texts are never in both training and test."""
    import numpy as np

    number = FOLDS if len(cases) < MANY else FOLDS_OF_MANY
    hashes = (
        hashlib.blake2b(case.content.encode(errors="replace"), digest_size=8).digest()
        for case in cases
    )
    return np.array([int.from_bytes(digest, "big") % number for digest in hashes], dtype=np.int64)
