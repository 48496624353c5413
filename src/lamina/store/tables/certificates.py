"""Certificates of erasures: each is a row and a file, and the trail has its hash."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lamina.errors import Corrupt, NotFound
from lamina.home.folder import make_private_folder, write_private
from lamina.model import hashing
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import meta, trail_check
from lamina.store.tables.trail_check import Difference, Told, digest

FOLDER = "erasures"
FILE = re.compile(r"(\d{4,18})\.json")
SELECT = "SELECT number, certificate FROM erasures WHERE certificate IS NOT NULL"
RESUME = "`lamina erase --resume` writes it again from the store"


def kept(connection: Connection) -> list[dict[str, Any]]:
    """The certificates that the store has, unchecked, the oldest first."""
    return [hashing.decode(body) for _, body in bodies(connection)]


def checked(connection: Connection, number: int | None = None) -> list[dict[str, Any]]:
    """The certificates, or one of them, each compared with its hash in the trail. Raise when one is
    not what was certified."""
    events = trail_check.about_erasures(connection)
    stored, problems = dict(bodies(connection)), dict(events.erasures_differ(connection))
    for place, wrong in problems.items():
        if number is None or place == f"erasure {number}":
            raise Corrupt(
                f"{place}: {wrong}; `lamina audit verify` names every altered place", place=place
            )
    if number is None:
        return [hashing.decode(body) for body in stored.values()]
    if number not in stored:
        raise NotFound(f"there is no erasure {number} with a certificate")
    return [hashing.decode(stored[number])]


def put(connection: Connection, certified: Sequence[tuple[int, str]]) -> None:
    """Take in certificates with their numbers, of erasures that are there."""
    connection.executemany("UPDATE erasures SET certificate = ?2 WHERE number = ?1", certified)


def bodies(connection: Connection) -> list[tuple[int, str]]:
    """The number and the text of each certificate, as it is stored."""
    return list(rows(connection, f"{SELECT} ORDER BY number"))


def write_missing(connection: Connection, folder: Path) -> None:
    """Write the certificates that are not in files yet."""
    for number, body in bodies(connection):
        path = folder / FOLDER / f"{number:04d}.json"
        if not path.exists():
            make_private_folder(folder / FOLDER)
            write_private(path, _rendered(body))


def vouched(folder: Path, events: Told | None) -> Iterator[tuple[Path, str]]:
    """The files that hold a true certificate, and the hash of each. Without a trail every
    certificate is believed."""
    for number, path in _files(folder):
        found = _read(path)
        if found is None:
            continue
        if events is None or not events.names_certificates or found in _expected(events, number):
            yield path, found


def hashes(folder: Path, connection: Connection | None) -> list[str]:
    """List the hashes of the true certificates below a folder, for the event of a restoration."""
    events = None if connection is None else trail_check.about_erasures(connection)
    return sorted(found for _, found in vouched(folder, events))


def files_differ(connection: Connection, folder: Path) -> tuple[list[Difference], list[Difference]]:
    """The files that are no true certificates; and those that cannot be compared, or are missing.

    A missing file is nobody's forgery: the store has its text, and whoever copies the database alone leaves it behind.
    """
    events, store = trail_check.about_erasures(connection), _store_id(connection)
    problems: list[Difference] = []
    uncovered: list[Difference] = []
    present = dict(_files(folder))
    for number, path in present.items():
        found, place = _read(path), f"certificate {FOLDER}/{path.name}"
        if found in _expected(events, number):
            continue
        if found is not None and (not events.names_certificates or _is_foreign(path, store)):
            uncovered.append(
                (place, "it is of a history that a backup or another store has replaced")
            )
        elif number in events.erasures:
            problems.append((place, f"it was altered; delete it, then {RESUME}"))
        else:
            problems.append((place, "no erasure of this store certified it; move it elsewhere"))
    if isinstance(
        connection, apsw.Connection
    ):  # other homes that share a server write no files for what was erased here
        missing = [number for number, _ in bodies(connection) if number not in present]
        uncovered += [
            (f"certificate {FOLDER}/{number:04d}.json", f"it is missing; {RESUME}")
            for number in missing
        ]
    return problems, uncovered


def _expected(events: Told, number: int) -> set[str]:
    """The hashes that a file with this number may have."""
    erasure = events.erasures.get(number)
    own = (
        {erasure.certificate} if erasure is not None and erasure.certificate is not None else set()
    )
    return own | events.certificates


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    try:
        names = sorted(os.listdir(folder / FOLDER))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if (found := FILE.fullmatch(name)) is not None:
            yield int(found[1]), folder / FOLDER / name


def _read(path: Path) -> str | None:
    """The hash of the certificate in a file; nothing when the file is not byte by byte as we write
    it."""
    try:
        stored = path.read_bytes()
        body = hashing.encode(hashing.decode(stored))
    except (OSError, Corrupt, ValueError):
        return None
    return digest(body) if _rendered(body) == stored else None


def _rendered(body: str | bytes) -> bytes:
    """A certificate as its file holds it."""
    text = body if isinstance(body, bytes) else body.encode()
    return msgspec.json.format(text, indent=2) + b"\n"


def _is_foreign(path: Path, store: str) -> bool:
    """Whether a certificate says itself that it is of another store."""
    said = hashing.decode(path.read_bytes())
    return isinstance(said, dict) and isinstance(said.get("store"), str) and said["store"] != store


def _store_id(connection: Connection) -> str:
    return str(meta.get(connection, "store_id"))
