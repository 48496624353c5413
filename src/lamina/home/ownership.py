"""Trust only files of this account and of root that nobody else may write.

OpenSSH requires the same of its files. A home that others may write to could contain anybody's
settings, one of which names the server that every memory is sent to.
"""

from __future__ import annotations

import os
import shlex
import stat
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from lamina.errors import InvalidInput, Refused

# Only the environment may name the group that shares a home: the files themselves are in doubt.
VARIABLE = "LAMINA_SHARED_GROUP"
ROOT = 0


class Fault(Enum):
    """The reason not to trust a file or folder."""

    OTHERS_WRITE = "others may write"
    GROUP_WRITES = "the group may write"
    FOREIGN = "somebody else owns it"


def fault(mode: int, uid: int, gid: int, me: int, group: int | None) -> Fault | None:
    """Decide whether to trust a file with this mode, owner and group. Pure.

    Members of the shared group may replace each other's files, so the owner does not matter there.
    """
    if mode & stat.S_IWOTH:
        return Fault.OTHERS_WRITE
    if gid == group:
        return None
    if uid not in (me, ROOT):
        return Fault.FOREIGN
    return Fault.GROUP_WRITES if mode & stat.S_IWGRP else None


def check(path: Path) -> None:
    """Refuse a file or folder that is not trusted. A missing one is reported when it is opened."""
    try:
        status = path.stat()
    except OSError:
        return
    check_status(path, status)


def check_status(path: Path, status: os.stat_result) -> None:
    """Refuse the file at a path unless its status is trusted."""
    if (message := problem(path, status)) is not None:
        raise Refused(message, path=str(path))


def opened(path: Path) -> BinaryIO:
    """Open a file for reading. Refuse it unless the opened file and its folder are trusted."""
    check(path.parent)
    file = path.open("rb")
    try:
        check_status(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def problem(path: Path, status: os.stat_result) -> str | None:
    """Say why a file is not trusted and how to repair that; None if it is trusted."""
    wrong = _fault(status)
    return None if wrong is None else _message(path, status, wrong)


def problem_above(folder: Path, status: os.stat_result) -> str | None:
    """Say why another account could replace files in this folder; None if none could."""
    wrong = _fault(status)
    if wrong is None or (wrong is not Fault.FOREIGN and status.st_mode & stat.S_ISVTX):
        return None  # in a sticky folder, nobody may rename the files of others
    return _message(folder, status, wrong)


def shared_group() -> int | None:
    """Look up the group that shares the home, if the environment names one."""
    name = os.environ.get(VARIABLE)
    if not name or os.name == "nt":
        return None
    if name.isascii() and name.isdigit():  # in a container a group may have no name
        return int(name)
    import grp

    try:
        return grp.getgrnam(name).gr_gid
    except (KeyError, ValueError):
        advice = "give the name or number of one"
        raise InvalidInput(
            f"{VARIABLE}={name!r} names no group of this machine; {advice}"
        ) from None


def _fault(status: os.stat_result) -> Fault | None:
    if os.name == "nt":  # files there have no such modes and owners
        return None
    rights, me = (status.st_mode, status.st_uid, status.st_gid), os.geteuid()
    # Look up the group only if it matters, since that may go over a network.
    return None if fault(*rights, me, None) is None else fault(*rights, me, shared_group())


def _message(path: Path, status: os.stat_result, wrong: Fault) -> str:
    quoted, group = shlex.quote(str(path)), _group_name(status.st_gid)
    mend = f"`chmod go-w {quoted}`"
    has_mode = f"{path} is not trusted: its mode is {stat.S_IMODE(status.st_mode):04o}"
    if wrong is Fault.OTHERS_WRITE:
        return f"{has_mode}, so every account of this machine may write it; run {mend}"
    trust = f"set {VARIABLE}={group} to trust all that belongs to that group"
    if wrong is Fault.GROUP_WRITES:
        return f"{has_mode}, so the group {group} may write it; run {mend}, or {trust}"
    owner, me = _user_name(status.st_uid), _user_name(os.geteuid())
    return (
        f"{path} is not trusted: it belongs to {owner} (group {group}), and Lamina runs as {me};"
        f" run Lamina as {owner}, or `chown {me} {quoted}` if it should be yours, or {trust}"
    )


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # as in many containers
        return str(uid)


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
