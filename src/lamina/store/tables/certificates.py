"""Certificates of erasures: each is a row and a file, and the trail has its hash."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lamina.errors import Corrupt, NotFound, StoreUnavailable
from lamina.home.folder import make_private_folder, write_private
from lamina.model import hashing
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import meta, trail_check
from lamina.store.tables.trail_check import Difference, TrailState, digest

FOLDER = "erasures"
FILE = re.compile(r"(\d{4,18})\.json")
SELECT = "SELECT number, certificate FROM erasures WHERE certificate IS NOT NULL"
RESUME = "`lamina erase --resume` writes it again from the store"


def kept(connection: Connection) -> list[dict[str, Any]]:
    """Read the certificates of the store, unchecked, oldest first."""
    return [hashing.decode(body) for _, body in bodies(connection)]


def checked(connection: Connection, number: int | None = None) -> list[dict[str, Any]]:
    """Read all certificates, or one; raise if its hash differs from the one in the trail."""
    events = trail_check.about_erasures(connection)
    stored, problems = dict(bodies(connection)), dict(events.erasures_differ(connection))
    for place, problem in problems.items():
        if number is None or place == f"erasure {number}":
            advice = "`lamina audit verify` names every altered place"
            raise Corrupt(f"{place}: {problem}; {advice}", place=place)
    if number is None:
        return [hashing.decode(body) for body in stored.values()]
    if number not in stored:
        raise NotFound(f"there is no erasure {number} with a certificate")
    return [hashing.decode(stored[number])]


def put(connection: Connection, certified: Sequence[tuple[int, str]]) -> None:
    """Store certificates of existing erasures, given with their numbers."""
    connection.executemany("UPDATE erasures SET certificate = ?2 WHERE number = ?1", certified)


def bodies(connection: Connection) -> list[tuple[int, str]]:
    """List the number and the stored text of each certificate."""
    return list(rows(connection, f"{SELECT} ORDER BY number"))


def write_missing(connection: Connection, folder: Path) -> None:
    """Write the certificates that have no file yet."""
    for number, body in bodies(connection):
        path = folder / FOLDER / f"{number:04d}.json"
        if not path.exists():
            make_private_folder(folder / FOLDER)
            write_private(path, _rendered(body))


def vouched(folder: Path, events: TrailState | None) -> Iterator[tuple[Path, str]]:
    """Yield the files that hold a genuine certificate, each with its hash.

    Without a trail, every certificate is accepted.
    """
    for number, path in _files(folder):
        digest = _read(path)
        if digest is None:
            continue
        if events is None or not events.names_certificates or digest in _expected(events, number):
            yield path, digest


def hashes(folder: Path, connection: Connection | None) -> list[str]:
    """List the hashes of the genuine certificates below a folder, for the event of a restore."""
    events = None if connection is None else trail_check.about_erasures(connection)
    return sorted(digest for _, digest in vouched(folder, events))


def files_differ(connection: Connection, folder: Path) -> tuple[list[Difference], list[Difference]]:
    """List the files that are not genuine certificates, and those missing or not comparable.

    A missing file does not mean forgery: the store has its text, and a copy of the database alone
    has no such files.
    """
    events, store = trail_check.about_erasures(connection), _store_id(connection)
    problems: list[Difference] = []
    uncovered: list[Difference] = []
    present = dict(_files(folder))
    for number, path in present.items():
        digest, place = _read(path), f"certificate {FOLDER}/{path.name}"
        if digest in _expected(events, number):
            continue
        if digest is not None and (not events.names_certificates or _is_foreign(path, store)):
            replaced = "it is of a history that a backup or another store has replaced"
            uncovered.append((place, replaced))
        elif number in events.erasures:
            problems.append((place, f"it was altered; delete it, then {RESUME}"))
        else:
            problems.append((place, "no erasure of this store certified it; move it elsewhere"))
    # Other homes that share a server write no files for what was erased here.
    if isinstance(connection, apsw.Connection):
        uncovered += [
            (f"certificate {FOLDER}/{number:04d}.json", f"it is missing; {RESUME}")
            for number, _ in bodies(connection)
            if number not in present
        ]
    return problems, uncovered


def _expected(events: TrailState, number: int) -> set[str]:
    """Collect the hashes that a file with this number may have."""
    erasure = events.erasures.get(number)
    if erasure is None or erasure.certificate is None:
        return events.certificates
    return {erasure.certificate} | events.certificates


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    try:
        names = sorted(os.listdir(folder / FOLDER))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _unreadable(folder / FOLDER, error) from error
    for name in names:
        if (match := FILE.fullmatch(name)) is not None:
            yield int(match[1]), folder / FOLDER / name


def _read(path: Path) -> str | None:
    """Hash the certificate in a file; None unless it is byte for byte as we write it."""
    try:
        stored = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        return None
    except OSError as error:  # it may hold a genuine certificate, whose erasure must remain
        raise _unreadable(path, error) from error
    try:
        body = hashing.encode(hashing.decode(stored))
    except (Corrupt, ValueError):
        return None
    return digest(body) if _rendered(body) == stored else None


def _unreadable(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"{path} cannot be read: {error.strerror}")


def _rendered(body: str | bytes) -> bytes:
    """Format a certificate as its file contains it."""
    text = body if isinstance(body, bytes) else body.encode()
    return msgspec.json.format(text, indent=2) + b"\n"


def _is_foreign(path: Path, store: str) -> bool:
    """Tell whether a certificate itself names another store."""
    certificate = hashing.decode(path.read_bytes())
    named = certificate.get("store") if isinstance(certificate, dict) else None
    return isinstance(named, str) and named != store


def _store_id(connection: Connection) -> str:
    return str(meta.get(connection, "store_id"))
