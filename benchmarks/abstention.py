"""Measure whether Lamina refuses what it cannot know: confidence with and without an answer."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table

from benchmarks.conversations import Case, Turn, items
from lamina import Memory

Groups = defaultdict[str, list[float]]
ANSWERABLE = "answerable"
KINDS = ("shuffled letters", "random letters", "random words")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHIFTS = [place / 50 for place in range(-15, 26)]
NOTHING = -1.0  # a query without any word
chance = random.Random(20261116)


def vocabulary(cases: Sequence[Case]) -> list[str]:
    """Return words from the data itself: the hardest nonsense is made of words that it has."""
    return sorted(
        {
            word
            for case in cases[:40]
            for turn in case.turns
            for word in re.findall(r"[a-z]{4,}", turn.text)
        }
    )


def ask(
    groups: Groups,
    data: str,
    case: Case,
    cases: Sequence[Case],
    memory: Memory,
    now: list[datetime],
    words: Sequence[str],
) -> None:
    """Compute the confidence for each question of a case, for nonsense, and for a foreign one."""
    for place, question in enumerate(case.questions):
        now[0] = question.now
        own = question.category in ("5", "abstention")
        name = {"5": "category 5", "abstention": "_abs"}.get(question.category, ANSWERABLE)
        if own or question.gold:
            groups[f"{data} {name}"].append(confidence(memory, question.text))
        if name == ANSWERABLE and question.gold:
            groups[f"{data} {name} {question.category}"].append(groups[f"{data} {name}"][-1])
        kind = KINDS[(case.fold + place) % len(KINDS)]
        groups[f"nonsense: {kind}"].append(confidence(memory, nonsense(kind, question.text, words)))
        if not own and place % 2 == 0:
            groups[f"{data} of another conversation"].append(
                confidence(memory, _other(case, cases, place))
            )
    if data == "LoCoMo":
        return
    gold = {turn.session for turn in case.turns if turn.key in case.questions[0].gold}
    if gold:
        _without(groups, case, [turn for turn in case.turns if turn.session not in gold], memory)


def _without(groups: Groups, case: Case, turns: Sequence[Turn], memory: Memory) -> None:
    """Ask the same question of a store without the sessions that contain its evidence."""
    import shutil
    import tempfile

    import lamina

    home = tempfile.mkdtemp(prefix="lamina-retrieval-")
    question = case.questions[0]
    try:
        with lamina.open("bench", home=home, clock=lambda: question.now) as other:
            other.remember_many(items(turns))
            groups["LME48 evidence removed"].append(confidence(other, question.text))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def confidence(memory: Memory, question: str) -> float:
    found = memory.search(question).confidence
    return NOTHING if found is None else found


def nonsense(kind: str, question: str, words: Sequence[str]) -> str:
    said = re.findall(r"\w+", question)
    if kind == "shuffled letters":
        return " ".join("".join(chance.sample(word, len(word))) for word in said)
    if kind == "random letters":
        return " ".join("".join(chance.choices(LETTERS, k=chance.randint(3, 9))) for _ in said)
    return " ".join(chance.choice(words) for _ in said)


def _other(case: Case, cases: Sequence[Case], place: int) -> str:
    """Take a question of another conversation, with its speakers' names replaced by ours."""
    other = cases[(cases.index(case) + 1 + place % (len(cases) - 1)) % len(cases)]
    question = other.questions[place % len(other.questions)].text
    for theirs, ours in zip(_speakers(other), _speakers(case), strict=False):
        question = question.replace(theirs, ours)
    return question


def _speakers(case: Case) -> list[str]:
    return list(dict.fromkeys(turn.speaker for turn in case.turns))


def refused(values: Sequence[float], shift: float) -> float:
    """Compute the share below a threshold."""
    return sum(value < shift for value in values) / len(values) if values else float("nan")


def area(wrong: Sequence[float], right: Sequence[float]) -> float:
    """Compute how often an unanswerable question has less confidence than an answerable one."""
    pairs = [(r < w) + 0.5 * (r == w) for r in right for w in wrong]
    return sum(pairs) / len(pairs)


def show(groups: Groups, screen: Console) -> dict[str, list[tuple[float, float]]]:
    """Print the refusals at several thresholds, by group; return the curves."""
    shifts = (-0.04, -0.02, 0.0, 0.02, 0.05, 0.1, 0.15)
    table = Table(
        title="refused, by how much stricter than the default",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("group")
    for column in ("questions", *(f"{shift:+.2f}" for shift in shifts), "AUC"):
        table.add_column(column, justify="right")
    answerable = {data: groups[f"{data} {ANSWERABLE}"] for data in ("LoCoMo", "LME48")}
    everything = [value for values in answerable.values() for value in values]
    for name in sorted(groups, key=lambda name: (ANSWERABLE not in name, name)):
        against = next(
            (answerable[data] for data in answerable if name.startswith(data)), everything
        )
        auc = "" if ANSWERABLE in name else f"{area(against, groups[name]):.2f}"
        table.add_row(
            name,
            str(len(groups[name])),
            *(f"{refused(groups[name], shift):.3f}" for shift in shifts),
            auc,
        )
    screen.print(table)
    return _curves(groups, everything)


def _curves(
    groups: Mapping[str, list[float]], answerable: Sequence[float]
) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(refused(answerable, shift), refused(values, shift)) for shift in SHIFTS]
        for name, values in groups.items()
        if ANSWERABLE not in name
    }
