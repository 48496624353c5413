"""A word that is to be erased, and the files that hold it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

from tests.security.tally import probe

MARK = "zanzibarite4711"
STAYS = "lapislazuli"


def forms(word: str) -> Iterator[bytes]:
    """How a word may stand in bytes: plain, in UTF-16, and as base64 from each of
    its three beginnings."""
    yield word.encode()
    yield word.encode("utf-16-le")
    for start in range(3):
        coded = base64.b64encode(b"\0" * start + word.encode())
        yield coded[(0, 2, 3)[start] : -4]


def holding(home: Path, word: str) -> list[str]:
    """The files that hold a word in any form and any case."""
    found = []
    for path in sorted(home.rglob("*")):
        if path.is_file():
            probe()
            data = path.read_bytes()
            small = data.lower()
            if any(form in data or form.lower() in small for form in forms(word)):
                found.append(str(path.relative_to(home)))
    return found
