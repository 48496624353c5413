"""What is left of erased texts in files: an erasure looks, instead of believing that it was thorough."""

from __future__ import annotations

import mmap
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from lamina.traces import Signature

AT_ONCE = 1 << 20  # bytes of a file that are looked at together
TELLING, SAMPLED = 6, 16  # letters of a word, and how many words, for a quick look
OVERLAP = 1 << 12  # of which so many again with the next: a text may lie across
ID = re.compile(rb"(?<![0-9a-z])[0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])")
PRINTED = re.compile(rb"(?:[\t\n\r\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+")
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
VALUE = re.compile(rb'": ?"((?:[^"\\]|\\.)*)"')


def files(folders: Iterable[Path]) -> Iterator[Path]:
    """Every file below some folders, by name; links are not followed."""
    for folder in folders:
        if folder.is_file() and not folder.is_symlink():
            yield folder
        elif folder.is_dir() and not folder.is_symlink():
            yield from files(sorted(folder.iterdir()))


def is_in(path: Path, known: Signature, ids: Collection[str] = ()) -> bool:
    """Whether a file holds what was erased: by what that is known again, or one of its ids."""
    try:
        return any(holds(part, known, ids) for part in _parts(path))
    except FileNotFoundError:  # somebody has just removed it
        return False


def holds(part: bytes, known: Signature, ids: Collection[str] = ()) -> bool:
    """Whether some bytes hold what was erased."""
    if ids and not {one.encode() for one in ids}.isdisjoint(ID.findall(part)):
        return True
    return bool(known) and known.is_in(_text(part))


def is_sampled(path: Path, known: Signature) -> bool:
    """Whether a large file of our own holds one of the longest words: a quick look that would show a careless disk.

    Everything was deleted there in the same way, so some of it stands for all.
    """
    telling = sorted((word for word in known.words if word.isascii() and len(word) >= TELLING), key=len)[-SAMPLED:]
    if not telling or not path.stat().st_size:
        return False
    looked_for = re.compile(b"|".join(re.escape(word.encode()) for word in telling), re.IGNORECASE)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return looked_for.search(mapped) is not None


def is_below(folder: Path, known: Signature, ids: Collection[str] = ()) -> bool:
    return any(is_in(path, known, ids) for path in files([folder]))


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        kept = b""
        while part := file.read(AT_ONCE):
            yield kept + part
            kept = part[-OVERLAP:]


def _text(part: bytes) -> str:
    """What people could read of some bytes."""
    said = b"\n".join(PRINTED.findall(part)).decode(errors="ignore")
    return ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), said) if "\\u" in said else said


def masked(path: Path, known: Signature) -> int:
    """Overwrite texts in a log of JSON where they stand, so that those who append to it lose nothing; how many."""
    if not known or not path.is_file() or not path.stat().st_size:
        return 0
    number, start = 0, 0
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        while start < len(mapped):
            end = mapped.find(b"\n", start)
            end = len(mapped) if end < 0 else end
            for found in VALUE.finditer(mapped[start:end]):
                if known.is_in(_text(found.group(1))):
                    mapped[start + found.start(1) : start + found.end(1)] = b"x" * len(found.group(1))
                    number += 1
            start = end + 1
        mapped.flush()
    return number
