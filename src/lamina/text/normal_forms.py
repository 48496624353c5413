"""Normal forms of Unicode in linear time. Pure."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Literal

# As many marks as Unicode's stream-safe form allows on one letter; neither letters nor digits are
# among them.
MARKS = re.compile(r"[^\w\s\x00-\x7f]{30}")


def normal(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Normalise a text in linear time.

    Python sorts the marks on a letter in quadratic time: a text of nothing else would stop the
    process for minutes. Longer runs than people write are taken piece by piece.
    """
    if text.isascii():
        return text
    if MARKS.search(text) is None:
        return unicodedata.normalize(form, text)
    ends = [0, *(found.end() for found in MARKS.finditer(text)), len(text)]
    return "".join(unicodedata.normalize(form, text[start:end]) for start, end in pairwise(ends))
