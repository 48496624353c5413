"""Measure if the newest comes first when something has changed, before and after sleep.

`make bench-updates` prints the tables: LongMemEval's questions of the kind "knowledge-update", the
changes of tests/golden/updates.jsonl with a plain question for each, and what sleep does to finding
at all, on LoCoMo. The conversations are not part of Lamina; see `conversations.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import lamina
from benchmarks.conversations import Case, Question, Turn, items, locomo, longmemeval
from lamina import Operator, Record
from lamina.engines import summary

KIND = "knowledge-update"
# These ask for the earlier state; the first hit is right if it is an outdated turn.
BEFORE = frozenset({"e66b632c", "0ddfec37", "10e09553"})
DAY = timedelta(days=1)
DEEP = 50
CUTS = (1, 5, 10)
OTHERS = 4  # sessions in a small store in addition to a question's own
CHANGES = Path(__file__).parents[1] / "tests" / "golden" / "updates.jsonl"
BESIDE = 30  # other cases in the store of each change
SEED = "changes"
ASKED = {
    "age": "How old is {}?",
    "diet": "What is {}'s diet?",
    "employer": "Where does {} work?",
    "job": "What does {} do for a living?",
    "lives_in": "Where does {} live?",
    "name": "What is {}'s full name?",
    "partner": "Who is {} together with?",
    "relationship_status": "Is {} single, engaged or married?",
    "religion": "What is {}'s religion?",
    "studies": "What does {} study?",
}
EPISODES = ("episodic",)
# How each question is asked: after sleep or not, and in which layers.
WAYS: Mapping[str, tuple[bool, tuple[str, ...] | None]] = {
    "before sleep": (False, None),
    "after sleep": (True, None),
    "after sleep, episodes alone": (True, EPISODES),
}


class Answer(NamedTuple):
    """The turns that each hit to a question represents, the best hit first."""

    case: str
    question: Question
    turns: Mapping[str, Turn]
    found: tuple[frozenset[str], ...]

    @property
    def newest(self) -> str:
        """The gold turn that was said last."""
        return max(self.question.gold, key=lambda key: (self.turns[key].at, key))

    @property
    def first(self) -> str:
        """The kind of the first hit: the newest gold turn, an outdated one, or something else."""
        if not self.found:
            return "nothing"
        return self._named(self.found[0])

    @property
    def first_session(self) -> str:
        """The same for its session: other turns of the newest session may say it too."""
        sessions = {self.turns[key].session for key in self.found[0]} if self.found else set()
        if self.turns[self.newest].session in sessions:
            return "newest"
        return (
            "outdated"
            if sessions & {self.turns[key].session for key in self.question.gold}
            else "other"
        )

    @property
    def in_order(self) -> bool:
        """True if the newest of all gold turns is found first; a missing one counts as last."""
        return (
            next((self._named(keys) for keys in self.found if keys & self.question.gold), "")
            == "newest"
        )

    def recall(self, cut: int) -> float:
        seen = frozenset().union(*self.found[:cut])
        return len(seen & self.question.gold) / len(self.question.gold)

    def _named(self, keys: frozenset[str]) -> str:
        if self.newest in keys:
            return "newest"
        return "outdated" if keys & self.question.gold else "other"


class GoldFacts(NamedTuple):
    """The facts that sleep has made from the gold turns of a question."""

    newest: bool  # the newest is evidence of an active fact
    ended: bool  # every outdated one with facts has only superseded ones
    changed: bool  # a fact of an outdated turn was superseded by one of the newest


@contextmanager
def store(case: Case, *, asleep: bool) -> Iterator[tuple[Operator, dict[str, str], list[datetime]]]:
    """Yield a store of the case's turns, with their keys by record, and its clock.

    Sleep learns from searches, so it runs before any.
    """
    home, now = Path(tempfile.mkdtemp(prefix="lamina-updating-")), [case.questions[0].now]
    try:
        with lamina.operator("bench", home=home, clock=lambda: now[0]) as memory:
            made = memory.remember_many(items(case.turns))
            if asleep:
                memory.sleep()
            yield (
                memory,
                {record.id: turn.key for record, turn in zip(made, case.turns, strict=True)},
                now,
            )
    finally:
        shutil.rmtree(home, ignore_errors=True)


def stands_for(
    record: Record, keys: Mapping[str, str], turns: Mapping[str, Turn]
) -> frozenset[str]:
    """Map a record to turns: itself, those a summary quotes, or the newest a fact rests on."""
    if record.id in keys:
        return frozenset((keys[record.id],))
    if summary.is_summary(record):
        return frozenset(keys[turn] for turn, _, _ in record.metadata["sentences"] if turn in keys)
    rests_on = [keys[one] for one in record.evidence if one in keys]
    return frozenset(sorted(rests_on, key=lambda key: (turns[key].at, key))[-1:])


def asked(
    cases: Iterable[Case], number: int, name: str
) -> tuple[dict[str, list[Answer]], list[GoldFacts]]:
    """Collect the answers to the questions of all cases in every way."""
    answers: dict[str, list[Answer]] = {way: [] for way in WAYS}
    known: list[GoldFacts] = []
    for case in track(
        cases, total=number, description=name, console=Console(stderr=True), transient=True
    ):
        turns = {turn.key: turn for turn in case.turns}
        for asleep in (False, True):
            with store(case, asleep=asleep) as (memory, keys, now):
                if asleep:
                    known += [
                        _known(memory, keys, turns, question)
                        for question in case.questions
                        if question.gold
                    ]
                for way, (is_asleep, layers) in WAYS.items():
                    if is_asleep == asleep:
                        answers[way] += _answers(case, memory, keys, turns, now, layers)
    return answers, known


def _answers(
    case: Case,
    memory: Operator,
    keys: Mapping[str, str],
    turns: Mapping[str, Turn],
    now: list[datetime],
    layers: Sequence[str] | None,
) -> Iterator[Answer]:
    for question in case.questions:
        if question.gold:
            now[0] = question.now
            hits = memory.search(question.text, limit=DEEP, layers=layers)
            yield Answer(
                case.name,
                question,
                turns,
                tuple(stands_for(hit.record, keys, turns) for hit in hits),
            )


def _known(
    memory: Operator, keys: Mapping[str, str], turns: Mapping[str, Turn], question: Question
) -> GoldFacts:
    facts = memory.list(layers=["semantic"], states=None, limit=10_000)
    of: dict[str, list[Record]] = {}
    for fact in facts:
        for one in fact.evidence:
            of.setdefault(keys.get(one, ""), []).append(fact)
    *outdated, newest = sorted(question.gold, key=lambda key: (turns[key].at, key))
    successors = {fact.id for fact in of.get(newest, ())}
    old = [fact for key in outdated for fact in of.get(key, ())]
    return GoldFacts(
        newest=any(fact.state == "active" for fact in of.get(newest, ())),
        ended=bool(old) and all(fact.state == "superseded" for fact in old),
        changed=any(fact.superseded_by in successors for fact in old),
    )


def updates() -> list[Case]:
    """Return the questions whose answer has changed, each with its store of 48 sessions."""
    return [case for case in longmemeval() if case.questions[0].category == KIND]


def smaller(case: Case, others: int) -> Case:
    """Build a store of the sessions that answer the question and a few others, at all times."""
    gold = {turn.session for turn in case.turns if turn.key in case.questions[0].gold}
    rest = [
        session
        for session in dict.fromkeys(turn.session for turn in case.turns)
        if session not in gold
    ]
    kept = gold | set(rest[:: max(1, len(rest) // max(1, others))][:others])
    return Case(
        case.name,
        case.fold,
        tuple(turn for turn in case.turns if turn.session in kept),
        case.questions,
    )


def changes() -> list[Case]:
    """Yield cases in which one value has replaced another, each in a store with other cases."""
    told = [json.loads(line) for line in CHANGES.read_text("utf-8").splitlines()]
    made = {case["id"]: tuple(_change_turns(case)) for case in told}
    names = {
        case["id"]: {case["subject"], *(turn["speaker"] for turn in case["turns"])} - {"Assistant"}
        for case in told
    }
    cases = []
    for case in told:
        gold = _change_gold(case, made[case["id"]])
        if not gold:
            continue
        others = sorted(one for one in made if not names[one] & names[case["id"]])
        random.Random(f"{SEED}-{case['id']}").shuffle(others)
        turns = sorted(
            (turn for one in (case["id"], *others[:BESIDE]) for turn in made[one]),
            key=lambda turn: turn.at,
        )
        question = _change_question(case["subject"], case["attribute"])
        cases.append(
            Case(
                case["id"],
                0,
                tuple(turns),
                (Question(question, turns[-1].at + DAY, gold, case["kind"]),),
            )
        )
    return cases


def _change_turns(case: Mapping[str, Any]) -> Iterator[Turn]:
    for place, turn in enumerate(case["turns"]):
        session = f"{case['id']}/{turn['at'][:10]}"
        yield Turn(
            f"{case['id']}/{place}",
            turn["text"],
            turn["speaker"],
            session,
            datetime.fromisoformat(turn["at"]),
        )


def _change_gold(case: Mapping[str, Any], turns: Sequence[Turn]) -> frozenset[str]:
    """Find the last turn with the present value, and those before it with only the old one."""
    now, before = case["now"], case.get("before", {}).get("value")
    if not (isinstance(now, str) and isinstance(before, str)):
        return frozenset()
    newest = [turn for turn in turns if now.casefold() in turn.text.casefold()][-1:]
    old = [
        turn
        for turn in turns
        if before.casefold() in turn.text.casefold() and now.casefold() not in turn.text.casefold()
    ]
    outdated = [turn for turn in old if newest and turn.at < newest[0].at]
    return frozenset(turn.key for turn in (*outdated, *newest)) if outdated else frozenset()


def _change_question(subject: str, attribute: str) -> str:
    if attribute.startswith("favourite:"):
        return f"What is {subject}'s favourite {attribute.removeprefix('favourite:')}?"
    return ASKED[attribute].format(subject)


def without_adversarial(case: Case) -> Case:
    return Case(
        case.name,
        case.fold,
        case.turns,
        tuple(one for one in case.questions if one.category != "5"),
    )


def show_order(answers: Mapping[str, Sequence[Answer]], title: str, screen: Console) -> None:
    """Show how often each way ranks the newest first."""
    columns: Mapping[str, Callable[[Answer], bool]] = {
        "first: newest": lambda answer: answer.first == "newest",
        "outdated": lambda answer: answer.first == "outdated",
        "other": lambda answer: answer.first in ("other", "nothing"),
        "newest before outdated": lambda answer: answer.in_order,
        "session: newest": lambda answer: answer.first_session == "newest",
        "outdated ": lambda answer: answer.first_session == "outdated",
    }
    table = _table(title, ("", *columns, *(f"R@{cut}" for cut in CUTS)))
    for way, own in answers.items():
        shares = [
            f"{sum(map(judge, own))} ({_share(judge(one) for one in own)})"
            for judge in columns.values()
        ]
        table.add_row(way, *shares, *(_share(one.recall(cut) for one in own) for cut in CUTS))
    screen.print(table)


def show_before(answers: Mapping[str, Sequence[Answer]], screen: Console) -> None:
    for way, own in answers.items():
        before = [answer for answer in own if answer.case in BEFORE]
        right = sum(answer.first == "outdated" for answer in before)
        screen.print(f"{way}: of {len(before)} that ask for what was before, {right} begin with it")


def show_recall(answers: Mapping[str, Sequence[Answer]], title: str, screen: Console) -> None:
    """Show how well each way finds the answers."""
    table = _table(title, ("", *(f"R@{cut}" for cut in CUTS)))
    for way, own in answers.items():
        table.add_row(way, *(_share(one.recall(cut) for one in own) for cut in CUTS))
    screen.print(table)


def show_known(known: Sequence[GoldFacts], screen: Console) -> None:
    number, newest = len(known), sum(one.newest for one in known)
    ended, changed = sum(one.ended for one in known), sum(one.changed for one in known)
    screen.print(
        f"of {number} questions, the newest gold turn has an active fact in {newest}, an outdated"
        f" one only superseded facts in {ended}, and the one supersedes the other in {changed}\n"
    )


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    return table


def _share(values: Iterable[Any]) -> str:
    numbers = [float(value) for value in values]
    share = sum(numbers) / len(numbers) if numbers else float("nan")
    return f"{share:.3f}".lstrip("0") if share < 1 else f"{share:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--small",
        action="store_true",
        help="only stores of a question's own sessions and a few others",
    )
    parser.add_argument("--every", type=int, default=1, help="only every so many questions")
    parser.add_argument(
        "--no-locomo", action="store_true", help="leave out what sleep does to finding on LoCoMo"
    )
    given = parser.parse_args()
    screen = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    cases = updates()[:: given.every]
    sizes = {f"its own sessions and {OTHERS} others": [smaller(case, OTHERS) for case in cases]}
    if not given.small:
        sizes["48 sessions"] = cases
    for name, chosen in sizes.items():
        answers, known = asked(chosen, len(chosen), name)
        show_order(answers, f"{len(chosen)} knowledge updates, each in a store of {name}", screen)
        show_before(answers, screen)
        show_known(known, screen)
    made = changes()[:: given.every]
    answers, known = asked(made, len(made), "changes")
    show_order(answers, f"{len(made)} changes, each in a store with {BESIDE} other cases", screen)
    show_known(known, screen)
    if not given.no_locomo:
        people = [without_adversarial(case) for case in locomo()]
        answers, _ = asked(people, len(people), "LoCoMo")
        number = len(answers["before sleep"])
        show_recall(
            answers,
            f"LoCoMo, {number} questions: share of the gold turns among the first hits",
            screen,
        )


if __name__ == "__main__":
    main()
