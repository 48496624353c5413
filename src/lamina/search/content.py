"""The information content of words and texts: fixed weights from the word vectors.

In a store about one topic, the words of that topic are common and the questions similar. The
judgement whether a hit is due to chance must not depend on that.
"""

from __future__ import annotations

import base64
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamina.embedders.wordllama import shared
from lamina.errors import EmbedderFailed

# Vectors of uninformative words are short: 2 for "the", 6 for "only", 9 for "please"; those of
# informative words are long: 15 for "weather", 22 for "triangle".
SHORTEST, RANGE = 5.0, 10.0
LEAST, MOST = 0.02, 1.5
NUMBER = 0.5  # at least: the vectors of digits are short, but numbers distinguish things
UNKNOWN = 0.8  # if there are no word vectors
REMEMBERED = 16_384  # words
# The mean vector of ordinary texts, one signed byte per component (benchmarks/background.py).
BACKGROUND = (
    "ESQTEfbwAQQH9PEF7u/lAxYNA/4LEgD9KQD3BBT09RELEPsF8vb3+wru9wg15Nz6EQMQBhb5/BIAB+PjEPXsDP"
    "UGBP77Dv/76wERFfcHCv4RBP31BgoGEwfw+Az87hQH+voH/PD+DQj3CP4G+/8F9gb3BAf59/8F8wsC/wkR/vsK"
    "BQgAAAb/D/0D9QsF+gIH/ffu+QcNBhD+/v0SCgkFCP34AwPx9woE+AH89wT1/gMVBhgLAwgE/Pj+CwQA/fLt9f"
    "AM/Qz4/vH7/+7z/wn4Bv4WBvD6Bv/7BPrlAwYDCgYCAAYD7vL7/vENBQ79+OsQ/AX7/gb4/Rb73/wHBP72Bw=="
)
UNIT = 1024.0


@lru_cache(REMEMBERED)
def weight(word: str) -> float:
    """Return the information content of a word."""
    try:
        length = shared().length(word)
    except EmbedderFailed:
        return UNKNOWN
    least = NUMBER if any(map(str.isdigit, word)) else LEAST
    return min(MOST, max(least, (length - SHORTEST) / RANGE))


@lru_cache(1)
def background() -> NDArray[np.float64]:
    """Return the mean vector of ordinary texts, to which generic texts are similar."""
    return np.frombuffer(base64.b64decode(BACKGROUND), np.int8) / UNIT
