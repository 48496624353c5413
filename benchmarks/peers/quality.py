"""Measure how well each peer finds: the same turns, the same vectors, its own best search."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.conversations import FOLDER, Case, Question, items, locomo, longmemeval
from benchmarks.peers.process import PeerError, Process
from benchmarks.peers.rounds import Say
from benchmarks.peers.venvs import Peer
from benchmarks.peers.work import saved

CUTS = (5, 10)
ADVERSARIAL = "5"
EVERY = 5
# `named` puts the speaker's name before the text, for peers that have no field for a speaker.
LOCOMO, NAMED, LME = "LoCoMo", "LoCoMo, named", "LME48"
SETS = (LOCOMO, NAMED, LME)


class QualityCase(NamedTuple):
    """One case of a set, in files, and the questions that count."""

    data: str
    folder: Path
    turns: int
    keys: Sequence[str]
    questions: Sequence[Question]


def measured(
    peers: Sequence[Peer], every: int, minutes: float, folder: Path, say: Say
) -> dict[str, Any]:
    """Compute recall and nDCG of each peer on each set, by its name."""
    if not (FOLDER / "locomo_dev.json").exists():
        say(f"no conversations in {FOLDER}: LAMINA_BENCH names their folder")
        return {}
    marks: dict[str, dict[str, list[tuple[float, ...]]]] = {peer.name: {} for peer in peers}
    failed: dict[str, dict[str, str]] = {peer.name: {} for peer in peers}
    spent = {peer.name: 0.0 for peer in peers}
    with ExitStack() as stack:
        running = _running(peers, folder, failed, stack)
        for number, case in enumerate(_cases(every, folder)):
            for peer in peers:
                if peer.name not in running or case.data in failed[peer.name]:
                    continue
                say(f"quality, case {number + 1} of {case.data}: {peer.label}")
                if spent[peer.name] > 60 * minutes:
                    answered = len(marks[peer.name].get(case.data, []))
                    failed[peer.name][case.data] = (
                        f"{answered} questions were answered when {minutes:g} minutes were over"
                    )
                    continue
                try:
                    answer = _answered(
                        running[peer.name], case, folder / peer.name / f"case{number}", 60 * minutes
                    )
                except PeerError as trouble:
                    failed[peer.name][case.data] = str(trouble)
                    continue
                spent[peer.name] += answer["seconds"]
                found = [[case.keys[place] for place in numbers] for numbers in answer["found"]]
                marks[peer.name].setdefault(case.data, []).extend(
                    map(_marks, case.questions, found)
                )
            shutil.rmtree(case.folder)
    shutil.rmtree(folder, ignore_errors=True)
    return {
        name: {"sets": _means(marks[name], failed[name]), "failed": failed[name]} for name in marks
    }


def _running(
    peers: Sequence[Peer], folder: Path, failed: Mapping[str, dict[str, str]], stack: ExitStack
) -> dict[str, Process]:
    running: dict[str, Process] = {}
    for peer in peers:
        try:
            process = stack.enter_context(Process(peer, "default", folder / peer.name / "scratch"))
            cannot = process.ask("load")["cannot"]
        except PeerError as trouble:
            failed[peer.name].update(dict.fromkeys(SETS, str(trouble)))
            continue
        if "quality" in cannot:
            failed[peer.name].update(dict.fromkeys(SETS, cannot["quality"]))
            continue
        running[peer.name] = process
    return running


def _answered(process: Process, case: QualityCase, store: Path, seconds: float) -> dict[str, Any]:
    """Fill a store with the case, ask all questions, and delete it."""
    process.ask("use", folder=str(case.folder), part="memories")
    process.ask("open", folder=str(store))
    filled = process.ask("fill", start=0, stop=case.turns, seconds=seconds, within=seconds + 60)
    if filled["done"] < case.turns:
        raise PeerError(f"{filled['done']} of {case.turns} turns in {seconds / 60:g} minutes")
    settled = process.ask("settle", within=seconds + 60)
    answer = process.ask(
        "search",
        kind="best",
        start=0,
        stop=len(case.questions),
        seconds=seconds,
        within=seconds + 60,
    )
    process.ask("close")
    shutil.rmtree(store, ignore_errors=True)
    if len(answer["found"]) < len(case.questions):
        raise PeerError(
            f"{len(answer['found'])} of {len(case.questions)} questions in {seconds / 60:g} minutes"
        )
    return {
        "seconds": filled["seconds"] + settled["seconds"] + sum(answer["times"]),
        "found": answer["found"],
    }


def _cases(every: int, folder: Path) -> Iterator[QualityCase]:
    for data, cases in ((LOCOMO, locomo()), (NAMED, locomo()), (LME, list(longmemeval())[::every])):
        for number, case in enumerate(cases):
            counted = [one for one in case.questions if one.gold and one.category != ADVERSARIAL]
            if counted:
                yield _written(data, case, counted, folder / f"work-{data}-{number}")


def _written(data: str, case: Case, questions: Sequence[Question], folder: Path) -> QualityCase:
    folder.mkdir(parents=True)
    told = []
    for number, (turn, item) in enumerate(zip(case.turns, items(case.turns), strict=True)):
        fields = {
            "speaker": turn.speaker,
            "session": turn.session,
            "at": turn.at.isoformat(),
            "layer": item["layer"],
        }
        text = f"{turn.speaker}: {turn.text}" if data == NAMED else turn.text
        told.append({"number": number, "text": text, "user": "u0", "fields": fields})
    saved(folder, "memories", told, "default")
    asked = [
        {"text": question.text, "user": "u0", "now": question.now.isoformat()}
        for question in questions
    ]
    saved(folder, "questions", asked, "default")
    return QualityCase(data, folder, len(told), [turn.key for turn in case.turns], questions)


def _marks(question: Question, found: Sequence[str]) -> tuple[float, ...]:
    """Compute recall at five and ten as in `benchmarks.retrieval`, and nDCG at ten."""
    recalls = [len(set(found[:cut]) & question.gold) / len(question.gold) for cut in CUTS]
    gained = sum(
        1 / math.log2(place + 2)
        for place, key in enumerate(found[: CUTS[-1]])
        if key in question.gold
    )
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(question.gold), CUTS[-1])))
    return (*recalls, gained / ideal)


def _means(
    marks: Mapping[str, Sequence[tuple[float, ...]]], failed: Mapping[str, str]
) -> dict[str, Any]:
    return {
        data: {
            "questions": len(own),
            "marks": [sum(column) / len(own) for column in zip(*own, strict=True)],
        }
        for data, own in marks.items()
        if data not in failed
    }
