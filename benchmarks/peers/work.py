"""The work for every peer: texts, questions and vectors, computed once by Lamina's embedder."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.venvs import cache
from benchmarks.searching import questions
from benchmarks.speed import texts

FORM = 1  # version of the files below; another number recreates them
DIMENSIONS = 256
EXTRA = 1000
QUESTIONS = 50
USERS = 100
SEED = 5
DEEP = 10
EMBEDDERS = ("default", "fake")


def prepared(size: int, embedder: str) -> Path:
    """Return the folder of the work of this size, creating it if it is missing."""
    folder = cache() / "work" / f"{embedder}-{size}-{FORM}"
    if folder.exists():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    every = texts(size + EXTRA)
    chance = random.Random(SEED)
    users = [f"u{chance.randrange(USERS)}" for _ in every]
    memories = [
        {"number": n, "text": text, "user": user}
        for n, (text, user) in enumerate(zip(every, users, strict=True))
    ]
    step = max(1, size // len(questions(size)))
    asked = [
        {"text": text, "user": users[place * step]} for place, text in enumerate(questions(size))
    ][:: 100 // QUESTIONS]
    rows = saved(partial, "memories", memories[:size], embedder)
    saved(partial, "extra", memories[size:], embedder)
    vectors = saved(partial, "questions", asked, embedder)
    nearest = np.argsort(-(vectors @ rows.T), axis=1, kind="stable")[:, :DEEP]
    (partial / "nearest.json").write_text(json.dumps(nearest.tolist()))
    partial.rename(folder)
    return folder


def saved(folder: Path, part: str, items: Sequence[Mapping[str, Any]], embedder: str) -> Any:
    """Write items and the vectors of their texts; return the vectors."""
    rows = embedded([item["text"] for item in items], embedder)
    (folder / f"{part}.json").write_text(json.dumps(items, ensure_ascii=False), "utf-8")
    np.save(folder / f"{part}.npy", rows)
    return rows


def embedded(contents: Sequence[str], embedder: str) -> Any:
    """Compute one row of length 1 for each text."""
    if embedder == "fake":
        return np.stack([fake(content) for content in contents])
    from lamina.embedders.wordllama import shared

    rows = shared().embed(contents)
    # Not every peer accepts a text without a direction, such as one of signs only.
    rows[~rows.any(axis=1), 0] = 1
    return rows


def fake(content: str) -> Any:
    """Compute a direction that depends only on the text, and says nothing about it."""
    seed = int.from_bytes(hashlib.sha256(content.encode()).digest()[:8])
    row = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return row / np.linalg.norm(row)
