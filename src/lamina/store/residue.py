"""What is left of words in files, byte by byte: an erasure looks, instead of believing that it was thorough."""

from __future__ import annotations

import mmap
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

MOST = 32  # words that are looked for, the longest first
SHORTEST = 5


def pattern(words: Iterable[str]) -> re.Pattern[bytes] | None:
    """What is looked for: whole words, in any case; None when none of them is long enough to be told from chance."""
    telling = sorted({word for word in words if len(word) >= SHORTEST}, key=lambda word: (-len(word), word))[:MOST]
    if not telling:
        return None
    joined = b"|".join(re.escape(word.encode()) for word in telling)
    return re.compile(rb"(?<![0-9A-Za-z\x80-\xff])(?:" + joined + rb")(?![0-9A-Za-z\x80-\xff])", re.IGNORECASE)


def files(folders: Iterable[Path]) -> Iterator[Path]:
    """Every file below some folders, by name; links are not followed."""
    for folder in folders:
        if folder.is_file() and not folder.is_symlink():
            yield folder
        elif folder.is_dir() and not folder.is_symlink():
            yield from files(sorted(folder.iterdir()))


def holding(paths: Iterable[Path], looked_for: re.Pattern[bytes]) -> list[Path]:
    """The files that hold one of the words."""
    return [path for path in paths if first(path, looked_for) is not None]


def first(path: Path, looked_for: re.Pattern[bytes]) -> bytes | None:
    """The first such word in a file."""
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                found = looked_for.search(mapped)
                return None if found is None else bytes(found.group())
    except FileNotFoundError:  # somebody has just removed it
        return None


def masked(path: Path, looked_for: Collection[str]) -> int:
    """Overwrite words in a file of text where they stand, so that those who append to it lose nothing; how many.

    Every byte of a word becomes an x: the lines stay lines of JSON.
    """
    found = pattern(looked_for)
    if found is None or not path.is_file() or not path.stat().st_size:
        return 0
    number = 0
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        for place in [match.span() for match in found.finditer(mapped)]:
            mapped[place[0] : place[1]] = b"x" * (place[1] - place[0])
            number += 1
        mapped.flush()
    return number
