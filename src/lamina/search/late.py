"""Late interaction: match each token of a question with the most similar token of a memory.

A single vector captures what a text is about, but loses details. Comparing the tokens of both one
by one recovers them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lamina.embedders.encoder import DIRECTIONS, WHOLE
from lamina.search.request import Column, Request
from lamina.search.similarity import Similarity
from lamina.store.index.catalogue import Rows
from lamina.store.index.distinct import grouped

CODE = DIRECTIONS // 8  # bytes per token
NEAR = 0.8  # for a match in the turn before or after

Tokens = NDArray[np.float32]


def matches(request: Request, view: Similarity, rows: Rows) -> Column:
    """Compute how well each row matches the tokens of a question, from -1 to 1.

    Return 0 for a row without tokens.
    """
    question = view.tokens
    if question is None or not len(question):
        return np.zeros(len(rows))
    catalogue = request.look.catalogue
    sides = [
        np.where(request.allowed[near[rows]], near[rows], 0)
        for near in (catalogue.before, catalogue.after)
    ]
    wanted, places = grouped(np.concatenate([rows, *sides]))
    best = _best(question, request.look.tokens(view.space, wanted), wanted)
    own, before, after = np.split(best[places], 3)
    matched = np.maximum(own, NEAR * np.maximum(before, after))
    has_tokens = np.isfinite(own[:, :1])
    # Sums of integers, over a fixed number of columns: the same on every machine.
    mean = np.add.reduce(np.where(has_tokens, matched, 0.0), axis=1) / len(question)
    scaled: Column = np.round(mean / (WHOLE * DIRECTIONS**0.5), 9)
    return scaled


def _best(question: Tokens, codes: Mapping[int, bytes], wanted: Rows) -> Column:
    """Find the best match of each token of a question in each row; -inf for one without tokens."""
    best = np.full((len(wanted), len(question)), -np.inf)
    held = [place for place, row in enumerate(wanted.tolist()) if _is_sound(codes.get(row, b""))]
    if not held:
        return best
    packed = [codes[int(wanted[place])] for place in held]
    lengths = [len(one) // CODE for one in packed]
    every = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, CODE)
    signs = np.unpackbits(every, axis=1).astype(np.float32)
    # A set bit counts +1 and the others -1. All numbers are integers, so no order of adding rounds.
    total = np.add.reduce(question, axis=1)
    products = 2 * (signs @ question.T) - total
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    best[held] = np.maximum.reduceat(products, starts, axis=0)
    return best


def _is_sound(codes: bytes) -> bool:
    return len(codes) >= CODE and len(codes) % CODE == 0
