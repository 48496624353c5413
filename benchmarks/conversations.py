"""The gold-labelled conversations used to measure retrieval. They are not part of Lamina.

`LAMINA_BENCH` names the folder with the files: `locomo_dev.json`, `longmemeval_dev.json.gz` and
`beam_dev.json.gz`.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(os.environ.get("LAMINA_BENCH", Path(__file__).parents[2] / "shared" / "bench"))
SESSIONS = 48
SEED = "lme48"
EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
DAY = timedelta(days=1)


class Turn(msgspec.Struct, frozen=True):
    """One memory: what was said, by whom, in which session, when."""

    key: str
    text: str
    speaker: str
    session: str
    at: datetime


class Question(msgspec.Struct, frozen=True):
    """A question, when it is asked, the turns that answer it, and the answer if it is known."""

    text: str
    now: datetime
    gold: frozenset[str]
    category: str
    answer: str = ""


class Case(msgspec.Struct, frozen=True):
    """One store and the questions for it. Cases of one fold are tuned or tested together."""

    name: str
    fold: int
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def _data(name: str) -> bytes:
    """Read a file of the development data, or say where it is expected."""
    try:
        return (FOLDER / name).read_bytes()
    except FileNotFoundError:
        sys.exit(f"there is no {name} in {FOLDER}; set LAMINA_BENCH to the folder that has it")


def longmemeval_users() -> list[str]:
    """List what users say in LongMemEval, each text once."""
    told = json.loads(gzip.decompress(_data("longmemeval_dev.json.gz")))
    turns = (turn for case in told for session in case["haystack_sessions"] for turn in session)
    return list(dict.fromkeys(turn["content"] for turn in turns if turn["role"] == "user"))


def locomo() -> Iterator[Case]:
    """Yield a store for each conversation between two people."""
    told = json.loads(_data("locomo_dev.json").decode())
    for fold, conversation in enumerate(told):
        turns = tuple(_locomo_turns(conversation["conversation"]))
        known = {turn.key for turn in turns}
        now = max(turn.at for turn in turns) + DAY
        questions = tuple(_locomo_question(item, known, now) for item in conversation["qa"])
        yield Case(conversation["sample_id"], fold, turns, questions)


def longmemeval() -> Iterator[Case]:
    """Yield a store of 48 sessions for each question: its own, and some of other questions."""
    told = json.loads(gzip.decompress(_data("longmemeval_dev.json.gz")))
    sessions: dict[str, tuple[Turn, ...]] = {}
    gold: set[str] = set()
    for item in told:
        for name, when, said in zip(
            item["haystack_session_ids"],
            item["haystack_dates"],
            item["haystack_sessions"],
            strict=True,
        ):
            if name not in sessions:
                sessions[name] = tuple(_session(name, _time(when), said, gold))
    for fold, item in enumerate(told):
        own = item["haystack_session_ids"]
        others = sorted(set(sessions) - set(own))
        random.Random(f"{SEED}-{item['question_id']}").shuffle(others)
        chosen = sorted(
            {*own, *others[: SESSIONS - len(set(own))]},
            key=lambda name: (sessions[name][0].at, name),
        )
        turns = tuple(turn for name in chosen for turn in sessions[name])
        absent = item["question_id"].endswith("_abs")
        answers = (
            frozenset()
            if absent
            else frozenset(t.key for t in turns if t.session in own and t.key in gold)
        )
        category = "abstention" if absent else item["question_type"]
        asked, now = item["question"], _time(item["question_date"])
        question = Question(asked, now, answers, category, str(item.get("answer", "")))
        yield Case(item["question_id"], fold % 5, turns, (question,))


def beam() -> Iterator[Case]:
    """Yield a store for each long chat between a user and an assistant, with broad questions."""
    told = json.loads(gzip.decompress(_data("beam_dev.json.gz")))
    for fold, chat in enumerate(told):
        turns = tuple(
            Turn(
                turn["id"],
                turn["text"],
                turn["speaker"],
                turn["session"],
                datetime.fromisoformat(turn["at"]).replace(tzinfo=UTC),
            )
            for turn in chat["turns"]
            if turn["text"].strip()
        )
        now = max(turn.at for turn in turns) + DAY
        questions = tuple(
            Question(query["text"], now, frozenset(query["gold"]), query["category"])
            for query in chat["queries"]
        )
        yield Case(f"beam-{fold}", fold, turns, questions)


def items(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Return turns in the form in which they are remembered."""
    return [
        {
            "content": t.text,
            "speaker": t.speaker,
            "session": t.session,
            "at": t.at,
            "layer": "episodic",
            "key": t.key,
        }
        for t in turns
    ]


def _locomo_turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    names = sorted(
        (name for name in conversation if re.fullmatch(r"session_\d+", name)),
        key=lambda name: int(name[8:]),
    )
    for name in names:
        start = datetime.strptime(
            conversation[f"{name}_date_time"], "%I:%M %p on %d %B, %Y"
        ).replace(tzinfo=UTC)
        for place, turn in enumerate(conversation[name]):
            caption = turn.get("blip_caption")
            text = turn["text"] + (f" [shares a photo: {caption}]" if caption else "")
            yield Turn(
                turn["dia_id"], text, turn["speaker"], name, start + timedelta(seconds=place)
            )


def _locomo_question(item: Mapping[str, Any], known: set[str], now: datetime) -> Question:
    named = {
        f"D{int(a)}:{int(b)}"
        for text in item.get("evidence", [])
        for a, b in EVIDENCE.findall(text)
    }
    category, answer = str(item["category"]), str(item.get("answer", ""))
    return Question(item["question"], now, frozenset(named & known), category, answer)


def _session(
    name: str, start: datetime, said: Sequence[Mapping[str, Any]], gold: set[str]
) -> Iterator[Turn]:
    for place, turn in enumerate(said):
        if turn["content"].strip():
            key = f"{name}/{place}"
            if turn.get("has_answer"):
                gold.add(key)
            yield Turn(key, turn["content"], turn["role"], name, start + timedelta(seconds=place))


def _time(text: str) -> datetime:
    return datetime.strptime(re.sub(r" \(\w+\)", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
