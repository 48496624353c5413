"""How well standing instructions are told from orders for once, and the weights that tell them.

    python -m benchmarks.instructions            # each writer, judged by weights of the others
    python -m benchmarks.instructions --train    # the weights of all messages
    python -m benchmarks.instructions --labels more.jsonl    # the weights in use, on other messages
    python -m benchmarks.instructions --real     # what is flagged in real turns

`standing/messages.jsonl` has messages to an assistant by five writers, with the standing
instructions in each; `claims/messages-*.jsonl` those of the other writers. What the network says of
an instruction comes from one that was not trained on its writer (see `benchmarks.learning`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import conversations, tagging
from benchmarks.claims import rows
from benchmarks.labelled import ELSEWHERE, FILES, fold
from lamina.engines.claims import Claim, Turn, instructions, ordered, sentences, standing
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.imperatives import Piece
from lamina.engines.claims.tagger import Network

MESSAGES = Path(__file__).parent / "standing" / "messages.jsonl"
AT = datetime(2026, 1, 5, 9, tzinfo=UTC)
PENALTY = 2.0  # chosen on writers not used for learning the weights
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
ROUNDS = 40
WORD = re.compile(r"[\w']+")


class Judged(NamedTuple):
    """A piece of a message, the network's estimate for it, and whether it was meant to stand."""

    writer: str
    piece: Piece
    likely: Mapping[str, float]
    stands: bool


def messages(path: Path = MESSAGES) -> list[Mapping[str, Any]]:
    return list(rows(path))


def alike(one: str, other: str) -> bool:
    """Tell whether half of the words of the shorter text are in the other."""
    mine, theirs = set(WORD.findall(one.lower())), set(WORD.findall(other.lower()))
    return bool(mine and theirs) and 2 * len(mine & theirs) >= min(len(mine), len(theirs))


def every(networks: Sequence[Network]) -> Iterator[tuple[dict[str, Any], Network]]:
    """List the messages of every writer, each with a network that was not trained on them."""
    for path in FILES:
        for row in messages(path):
            is_elsewhere = row.get("writer") in ELSEWHERE
            if "instructions" in row and not is_elsewhere:
                writer = row.get("writer", path.stem.removeprefix("messages-"))
                yield {**row, "writer": writer}, networks[fold(path)]


def judged(
    rows: Iterable[tuple[Mapping[str, Any], Network]],
) -> tuple[list[Judged], dict[str, int]]:
    """List the pieces of messages, and count each writer's labels that no piece matches."""
    listed: list[Judged] = []
    missed: dict[str, int] = {}
    for row, network in rows:
        plain, labels = sentences.said(row["text"]), row["instructions"]
        clauses = list(sentences.clauses(plain))
        tags = network.tag(plain, clauses, is_talk=False)
        found = instructions.pieces(clauses, tags)
        for piece in found:
            stands = any(alike(piece.text, label) for label in labels)
            listed.append(Judged(row["writer"], piece, ordered.likely(tags, piece), stands))
        lost = [one for one in labels if not any(alike(piece.text, one) for piece in found)]
        missed[row["writer"]] = missed.get(row["writer"], 0) + len(lost)
    return listed, missed


def trained(rows: Sequence[Judged]) -> dict[str, float]:
    """Find the weights by logistic regression with a penalty on large ones."""
    named = [standing.features(one.piece, one.likely) for one in rows]
    names = sorted({name for one in named for name in one})
    has = np.array([[one.get(name, 0.0) for name in names] for one in named])
    wanted = np.array([one.stands for one in rows], float)
    penalty = np.array([0.01 if name == standing.BIAS else PENALTY for name in names])
    weights: NDArray[Any] = np.zeros(len(names))
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-has @ weights))
        slope = has.T @ (chance - wanted) + penalty * weights
        bend = (has * (chance * (1 - chance))[:, None]).T @ has + np.diag(penalty)
        weights = weights - np.linalg.solve(bend, slope)
    return {name: round(float(one), 2) for name, one in zip(names, weights, strict=True)}


def crossed(networks: Sequence[Network]) -> Table:
    """Judge each writer's messages by weights that were learned without them."""
    rows, missed = judged(every(networks))
    table = _table("each writer by the weights of the others", "writer", "stand")
    for level in LEVELS:
        table.add_column(f"≥ {level}: precision", justify="right")
        table.add_column("recall", justify="right")
    told: list[tuple[float, bool]] = []
    for writer in sorted(missed, key=int):
        weights = trained([one for one in rows if one.writer != writer])
        own = [one for one in rows if one.writer == writer]
        sure = [standing.sure(one.piece, one.likely, weights) for one in own]
        found = [(by, one.stands) for one, by in zip(own, sure, strict=True)]
        table.add_row(writer, *_cells(found, missed[writer]))
        told += found
    table.add_row("all", *_cells(told, sum(missed.values())))
    return table


def _cells(found: Sequence[tuple[float, bool]], missed: int) -> list[str]:
    """Count the instructions; compute precision and recall by how sure one must be."""
    meant = sum(stands for _, stands in found) + missed
    cells = [str(meant)]
    for level in LEVELS:
        flagged = [stands for sure, stands in found if sure >= level]
        cells += [_rate(sum(flagged), len(flagged)), _rate(sum(flagged), meant)]
    return cells


def labelled(path: Path) -> Table:
    """Judge what the program itself finds in labelled messages."""
    table = _table(path.name, "at least", "claims", "precision", "labels", "recall")
    found: list[tuple[float, bool]] = []
    met: list[float] = []  # how sure the surest claim is that matches each label
    for row in messages(path):
        claims = _instructions(row["text"])
        labels = row["instructions"]
        found += [(one.confidence, any(alike(one.value, it) for it in labels)) for one in claims]
        met += [
            max((one.confidence for one in claims if alike(one.value, label)), default=0.0)
            for label in labels
        ]
    for level in LEVELS:
        flagged = [right for sure, right in found if sure >= level]
        reached = sum(sure >= level for sure in met)
        cells = str(len(flagged)), _rate(sum(flagged), len(flagged))
        table.add_row(f"{level}", *cells, str(len(met)), _rate(reached, len(met)))
    return table


def real(screen: Console) -> None:
    """List what is recognised as an instruction in turns of users, and the time this takes."""
    turns = list(users())
    started, flagged = time.process_time(), [(one, _instructions(one)) for one in turns]
    spent = time.process_time() - started
    claims = sorted((one for _, some in flagged for one in some), key=lambda one: -one.confidence)
    for claim in claims:
        screen.print(f"{claim.confidence:.2f} {claim.attribute}: {claim.value}", markup=False)
    number = sum(bool(some) for _, some in flagged)
    told = f"{number} of {len(turns):,} turns flagged ({number / len(turns):.1%})"
    screen.print(f"{told}, {spent / len(turns) * 1000:.2f} ms a turn")


def users() -> Iterable[str]:
    """List the turns of users in LongMemEval and BEAM, each once."""
    seen = dict.fromkeys(conversations.longmemeval_users())
    beam = (conversations.FOLDER / "beam_dev.json.gz").read_bytes()
    for case in json.loads(gzip.decompress(beam)):
        seen |= {turn["text"]: None for turn in case["turns"] if turn["speaker"] == "user"}
    return seen


def _instructions(text: str) -> list[Claim]:
    claims = extract([Turn(text, "user", AT)])[0]
    return [one for one in claims if one.attribute.startswith(INSTRUCTION)]


def _rate(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--train", action="store_true", help="print the weights of all messages")
    parser.add_argument("--labels", type=Path, help="judge the program on these messages")
    parser.add_argument("--real", action="store_true", help="list what is flagged in real turns")
    parser.add_argument("--networks", type=Path, default=Path(".networks"))
    asked = parser.parse_args()
    screen = Console(width=140)
    if asked.train:
        weights = trained(judged(every(tagging.folds(asked.networks)))[0])
        for name, weight in sorted(weights.items(), key=lambda item: (item[1], item[0])):
            screen.print(f'    "{name}": {weight},', markup=False, highlight=False)
    elif asked.labels:
        screen.print(labelled(asked.labels))
    elif asked.real:
        real(screen)
    else:
        screen.print(crossed(tagging.folds(asked.networks)))


if __name__ == "__main__":
    main()
