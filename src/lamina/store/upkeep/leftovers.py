"""Search files for erased texts, to check that an erasure was thorough."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from lamina.home.folder import is_file
from lamina.model.erased_words import Signature
from lamina.store.engine import raw_file

AT_ONCE = 1 << 20  # bytes of a file that are searched together
TELLING, SAMPLED = 6, 16  # letters of a word, and how many words, for a quick check
OVERLAP = 1 << 12  # the bytes that two parts share, since a text may span both
ID = re.compile(rb"(?<![0-9a-z])[0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])")
PRINTED = re.compile(
    rb"(?:[\t\n\r\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+"
)
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
VALUE = re.compile(rb'": ?"((?:[^"\\]|\\.)*)"')


def files(folders: Iterable[Path]) -> Iterator[Path]:
    """List every file below some folders, by name; follow no links, skip what vanishes."""
    for folder in folders:
        if is_file(folder):
            yield folder
        elif folder.is_dir() and not folder.is_symlink():
            within: list[Path] = []
            with suppress(FileNotFoundError):
                within += folder.iterdir()
            yield from files(sorted(within))


def is_in(path: Path, known: Signature, ids: Collection[str] = ()) -> bool:
    """Tell whether a file contains what was erased: its words, or one of its ids."""
    return any(holds(part, known, ids) for part in _parts(path))


def holds(part: bytes, known: Signature, ids: Collection[str] = ()) -> bool:
    """Tell whether some bytes contain what was erased."""
    if ids and not {one.encode() for one in ids}.isdisjoint(ID.findall(part)):
        return True
    return bool(known) and known.is_in(_text(part))


def is_sampled(path: Path, known: Signature) -> bool:
    """Tell whether a large file of our own contains one of the longest words: a quick check.

    It would reveal a disk that did not overwrite. Everything in the file was deleted in the same
    way, so a sample represents all of it.
    """
    telling = [word for word in known.words if word.isascii() and len(word) >= TELLING]
    longest = sorted(telling, key=len)[-SAMPLED:]
    if not longest:
        return False
    pattern = re.compile(b"|".join(re.escape(word.encode()) for word in longest), re.IGNORECASE)
    return any(pattern.search(part) for part in _parts(path))


def holding(paths: Sequence[Path], known: Signature) -> list[Path]:
    """Search files for what was erased, in a process that has none of them open.

    A library with its own SQLite, such as Chroma, tracks its locks itself: if we closed a file
    here, it would lose them.
    """
    question = msgspec.json.encode(([os.fsencode(path) for path in paths], known))
    command = [sys.executable, "-P", "-m", "lamina.store.upkeep.leftovers"]
    # S603: it is our own program.
    done = subprocess.run(command, input=question, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        why = done.stderr.decode(errors="replace")[-200:]
        raise OSError(errno.EIO, f"a process could not search it: {why}", str(paths[0]))
    return [paths[number] for number in msgspec.json.decode(done.stdout, type=list[int])]


def is_below(folder: Path, known: Signature, ids: Collection[str] = ()) -> bool:
    """Tell whether any file below a folder contains what was erased."""
    return any(is_in(path, known, ids) for path in files([folder]))


def _parts(path: Path) -> Iterator[bytes]:
    """Read a file in overlapping parts; none if it was just removed or cannot contain text."""
    if raw_file.is_index(path):
        return
    with suppress(FileNotFoundError), raw_file.opened(path) as file:
        kept = b""
        while part := file.read(AT_ONCE):
            yield kept + part
            kept = part[-OVERLAP:]


def _text(part: bytes) -> str:
    """Extract the readable text from some bytes."""
    text = b"\n".join(PRINTED.findall(part)).decode(errors="ignore")
    if "\\u" not in text:
        return text
    return ESCAPED.sub(lambda escape: chr(int(escape.group(1), 16)), text)


def masked(path: Path, known: Signature) -> int:
    """Overwrite texts in a JSON log in place; return how many.

    Others may append to the log at the same time, and mask the same texts: each is replaced by the
    same number of bytes, and nothing else moves.
    """
    if not known or not is_file(path):
        return 0
    number = start = 0
    with path.open("rb") as lines, path.open("r+b", buffering=0) as file:
        for line in lines:
            for value in VALUE.finditer(line):
                if known.is_in(_text(value.group(1))):
                    file.seek(start + value.start(1))
                    file.write(b"x" * len(value.group(1)))
                    number += 1
            start += len(line)
        os.fsync(file.fileno())
    return number


if __name__ == "__main__":
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[list[bytes], Signature])
    searched = [Path(os.fsdecode(path)) for path in question[0]]
    hits = [number for number, path in enumerate(searched) if is_in(path, question[1])]
    sys.stdout.buffer.write(msgspec.json.encode(hits))
