"""Measure what is put before the next prompt: evidence, words of the answer, characters, repeats.

`make bench-context` prints the tables and draws the plot; `--embedder e5` does the same beside a
sentence model that was pulled. The conversations are not part of Lamina (see `conversations.py`);
the written cases are (`context_cases.py`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import context_cases, plot, prompts
from benchmarks.conversations import Case, Question, beam, locomo, longmemeval
from benchmarks.retrieval import Remembering, store
from lamina import Memory
from lamina.embedders import Embedder, create
from lamina.search.context import Context, Item
from lamina.text import words

SETS: Mapping[str, Callable[[], Iterable[Case]]] = {
    "LoCoMo": locomo,
    "LME48": longmemeval,
    "BEAM": beam,
}
BUDGET = 2000
FORMS: Mapping[str, Callable[[str, int], str]] = {
    "bare": lambda question, place: question,
    "wrapped": prompts.wrapped,
}
SLEPT = "bare, after sleep"
STEPS = (*FORMS, SLEPT)
STEM = 5  # letters that two forms of one word have in common
A_DAY = 30  # prompts of one session
USUAL = 4  # only every fourth store of LME48 is asked, unless another sample is given
MODELS = Path(os.environ.get("LAMINA_MODELS", Path.home() / ".cache" / "lamina-models")) / "models"
PLOT = Path(__file__).parents[1] / "docs" / "context.svg"


class Told(NamedTuple):
    """What one context contains. `words` is None if no answer is known.

    `content` counts texts, days and speakers; `text` the texts alone.
    """

    any: bool
    share: float
    words: float | None
    characters: int
    content: int
    text: int
    lines: int


Groups = defaultdict[tuple[str, str], list[Told]]  # by form and set


def told(context: Context, keys: Mapping[str, str], question: Question) -> Told:
    """Compare a context with what a question needs."""
    found = {keys[one] for item in context.reasons for one in _rests_on(item) if one in keys}
    held = len(found & question.gold) / len(question.gold)
    content, text = _parts(context)
    return Told(
        held > 0, held, _said(question.answer, context.text),
        len(context.text), content, text, len(context.items),
    )  # fmt: skip


def _rests_on(item: Item) -> Iterator[str]:
    """Yield the memories that a line shows: its own, and the turns its facts rest on."""
    yield from item.ids
    for record in (item.record, *item.others):
        if record.layer == "semantic":
            yield from record.evidence


def _parts(context: Context) -> tuple[int, int]:
    """Count the characters of texts with their days and speakers, and of texts alone."""
    content = text = 0
    for line in context.text.split("\n")[2:-1]:
        label, mark, said = line.partition("] ")
        if mark:
            text += len(said)
            content += len(said) + len(label.partition("·")[2])
    return content, text


def _said(answer: str, text: str) -> float | None:
    wanted = {word[:STEM] for word in words.terms(answer)}
    if not wanted:
        return None
    return len(wanted & {word[:STEM] for word in words.terms(text)}) / len(wanted)


def measure(
    sample: int | None, sets: Sequence[str], embedders: Sequence[Embedder]
) -> tuple[Groups, dict[str, list[int]]]:
    """Ask the questions that have gold turns, bare and wrapped, and again after sleep.

    Also count the lines that a session of thirty prompts is given twice.
    """
    groups: Groups = defaultdict(list)
    repeats: dict[str, list[int]] = defaultdict(list)
    for data in sets:
        for case, asked in _in_turn(data, sample, groups):
            with store(case, embedders) as (memory, keys, now):
                memory.index()
                for form, make in FORMS.items():
                    _ask(groups[form, data], memory, keys, now, asked, make)
                repeats[data].append(_repeats(memory, now, asked[:A_DAY]))
                memory.sleep()
                memory.index()
                _ask(groups[SLEPT, data], memory, keys, now, asked, FORMS["bare"])
        for one in embedders:
            if isinstance(one, Remembering):
                one.save()  # so that a later failure does not lose what took long
    return groups, repeats


def _in_turn(
    data: str, sample: int | None, groups: Groups
) -> Iterator[tuple[Case, list[Question]]]:
    """Yield the stores of a set with the questions for each; show the progress and results so far.

    Each store of LME48 is asked one question: a sample has some of its stores, and some of the
    questions of other sets.
    """
    is_of_one = data == "LME48"
    every = sample or (USUAL if is_of_one else 1)
    cases = list(SETS[data]())[:: every if is_of_one else 1]
    started = time.monotonic()
    for number, case in enumerate(cases, 1):
        asked = [one for one in case.questions if one.gold and one.category != "5"]
        asked = asked[:: 1 if is_of_one else every]
        if asked:
            yield case, asked
        told = (f"{form} {mean(row.any for row in groups[form, data]):.3f}" for form in STEPS)
        minutes = (time.monotonic() - started) / 60
        print(f"{data}: {number} of {len(cases)}, {minutes:.1f} min; {', '.join(told)}",
              file=sys.stderr, flush=True)  # fmt: skip


def _ask(
    into: list[Told],
    memory: Memory,
    keys: Mapping[str, str],
    now: list[datetime],
    asked: Sequence[Question],
    make: Callable[[str, int], str],
) -> None:
    for place, question in enumerate(asked):
        now[0] = question.now
        into.append(told(memory.context(make(question.text, place), BUDGET), keys, question))


def _repeats(memory: Memory, now: list[datetime], asked: Sequence[Question]) -> int:
    """Count the memories given to one session more than once, except what always applies."""
    given: list[str] = []
    for question in asked:
        now[0] = question.now
        context = memory.context(question.text, BUDGET, session="a day")
        given += [one for item in context.reasons if item.section != "always" for one in item.ids]
    return len(given) - len(set(given))


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0


def show(groups: Groups, repeats: Mapping[str, Sequence[int]], screen: Console) -> None:
    """Print one row for each set and form."""
    table = Table(title=f"contexts of {BUDGET:,} characters", title_justify="left", box=None)
    columns = "set,form,questions,any,share,words,characters,content,text alone,lines,repeats"
    for column in columns.split(","):
        table.add_column(column, justify="left" if column in ("set", "form") else "right")
    for (form, data), rows in groups.items():
        used = sum(row.characters for row in rows) or 1
        known = [row.words for row in rows if row.words is not None]
        table.add_row(
            data,
            form,
            str(len(rows)),
            f"{mean(row.any for row in rows):.3f}",
            f"{mean(row.share for row in rows):.3f}",
            f"{mean(known):.3f}" if known else "",
            f"{mean(row.characters for row in rows):.0f}",
            f"{sum(row.content for row in rows) / used:.3f}",
            f"{sum(row.text for row in rows) / used:.3f}",
            f"{mean(row.lines for row in rows):.1f}",
            str(sum(repeats[data])) if form == "bare" else "",
        )
    screen.print(table)


def draw(groups: Groups) -> str:
    """Draw the share of questions whose context holds evidence."""
    forms = list(dict.fromkeys(form for form, _ in groups))
    sets = list(dict.fromkeys(data for _, data in groups))
    return plot.shares(
        f"Questions whose context of {BUDGET:,} characters holds evidence",
        {
            data: {form: mean(row.any for row in groups[form, data]) for form in forms}
            for data in sets
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", dest="sets", action="append", choices=[*SETS], help="only these")
    parser.add_argument("--sample", type=int, help="only every so many questions")
    parser.add_argument("--embedder", choices=["e5"], help="a sentence model to search with, too")
    parser.add_argument("--models", type=Path, default=MODELS, help="the folder that it is in")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "lamina-vectors"
    )
    parser.add_argument("--cases", action="store_true", help="only the written cases")
    given = parser.parse_args()
    screen = Console(width=140, highlight=False)
    if not given.cases:
        options: dict[str, Any] = {
            "cache": given.models,
            "endpoint": "",
            "key": None,
            "timeout": 1.0,
        }
        embedders: list[Any] = [create("wordllama", **options)]
        if given.embedder and (model := create(given.embedder, **options)):
            embedders.append(Remembering(model, given.cache))
        groups, repeats = measure(given.sample, given.sets or [*SETS], embedders)
        show(groups, repeats, screen)
        if given.sets is given.sample is given.embedder is None:
            PLOT.write_text(draw(groups), "utf-8")
    context_cases.show(screen)


if __name__ == "__main__":
    main()
