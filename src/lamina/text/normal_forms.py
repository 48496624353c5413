"""Unicode normalisation in linear time. Pure."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Literal

# The number of marks that Unicode's stream-safe format allows on one letter; letters and digits do
# not count.
MARKS = re.compile(r"[^\w\s\x00-\x7f]{30}")


def normal(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Normalise a text in linear time.

    Python sorts the marks on a letter in quadratic time: a text of nothing but marks would block
    the process for minutes. Runs longer than people write are normalised in pieces.
    """
    if text.isascii():
        return text
    if MARKS.search(text) is None:
        return unicodedata.normalize(form, text)
    ends = [0, *(found.end() for found in MARKS.finditer(text)), len(text)]
    return "".join(unicodedata.normalize(form, text[start:end]) for start, end in pairwise(ends))
