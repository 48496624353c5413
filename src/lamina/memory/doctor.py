"""Examine an installation: the checks only read, and say what to do."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lamina.engines.claims import Turn
from lamina.errors import LaminaError
from lamina.failsafe import spool
from lamina.home import ownership
from lamina.home import settings as config
from lamina.home.folder import LATELY, Home
from lamina.home.retention import PRESETS, RetentionFile
from lamina.home.schedule import Timetable
from lamina.home.tokens import FILE_NAME as TOKENS
from lamina.mirrors import configured
from lamina.model.clock import Clock, system_clock
from lamina.store.engine import disk_space
from lamina.store.upkeep import inspection, read_only
from lamina.text.words import counted, shown

Progress = Callable[[int, int], None]
SAID = "I live in Porto. My sister Mia has a cat."  # a model must extract something from it
# The costs of a better search: the model, and time and space for each memory.
RECOMMENDED = (
    "a sentence model finds more: `lamina model pull e5` (34 MB; 10 to 50 ms and 1 to 5 kB for each"
    " memory, 10 ms more for a search)"
)
LOW_SPACE = 200 * 1000 * 1000
NETWORK_TYPES = frozenset(
    "9p afs ceph cifs davfs fuse.rclone fuse.s3fs fuse.sshfs glusterfs lustre ncpfs nfs nfs4"
    " smb2 smb3 smbfs vboxsf".split()
)
# Services that copy single files without regard to SQLite, which corrupts a database.
SYNC_FOLDERS = (
    "dropbox",
    "onedrive",
    "google drive",
    "googledrive",
    "my drive",
    "nextcloud",
    "owncloud",
    "mobile documents",
)
SYNC_MARKS = (".stfolder", ".dropbox", ".owncloudsync.log", ".nextcloudsync.log")


class Finding(msgspec.Struct, frozen=True):
    """The result of one check: ok, warn or fail, and what to do about it."""

    level: str
    check: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


def examine(
    home: Home, agent: str, progress: Progress | None = None, clock: Clock = system_clock
) -> Iterator[Finding]:
    """Run every check, from the installation to the store. Nothing is changed."""
    yield Finding("ok", "python", f"{sys.version.split()[0]}, SQLite {inspection.sqlite_version()}")
    if distrust := untrusted(home.path):
        yield Finding("fail", "home", distrust)
        return  # anyone may have written its files
    yield settings(home)
    yield from rules_files(home)
    yield from embedders(home)
    yield from model(home, clock())
    if not home.path.is_dir():
        yield Finding("ok", "home", f"{home.path} does not exist yet; the first memory makes it")
        return
    yield from placed(home.path)
    yield from writable(home, agent)
    yield space(home.path)
    yield from private(home, agent)
    yield violations(home, clock())
    folder = home.agent_folder(agent)
    yield waiting(home, folder)
    yield from (
        Finding(*found)
        for found in inspection.inspect(folder, agent, _in_force(home).placed(agent), progress)
    )
    yield from mirrors(home, agent)


def untrusted(path: Path) -> str | None:
    """Explain why the home must not be used: others may write to it, or its group is unknown."""
    try:
        ownership.shared_group()
        return ownership.problem(path, path.stat())
    except OSError:  # it does not exist yet, or is not visible
        return None
    except LaminaError as error:
        return error.message


def settings(home: Home) -> Finding:
    try:
        loaded = config.load(home.path)
    except LaminaError as error:
        return Finding("fail", "settings", error.message)
    if wrong := [*configured.contradictions(loaded)]:
        return Finding("fail", "settings", "; ".join(wrong))
    changed = [value.setting.name for value in loaded.values.values() if value.origin != "default"]
    return Finding(
        "ok", "settings", f"changed: {', '.join(changed)}" if changed else "all at their defaults"
    )


def _in_force(home: Home) -> config.Settings:
    """Load the settings, or their defaults if they are invalid, which is reported separately."""
    try:
        return config.load(home.path)
    except LaminaError:
        return config.defaults()


def rules_files(home: Home) -> Iterator[Finding]:
    """Check that the two files of rules for the jobs can be read."""
    try:
        RetentionFile(home.path).current()
    except LaminaError as error:
        yield Finding("fail", "rules", error.message)
    try:
        note = Timetable(home.path).current().note
    except LaminaError as error:
        yield Finding("fail", "rules", error.message)
    else:
        if note is not None:
            yield Finding("ok", "rules", note)


def embedders(home: Home) -> Iterator[Finding]:
    """Check that each embedder in the settings can embed a text."""
    from lamina.search import is_quick
    from lamina.search.engine import embedders_of

    try:
        values = config.load(home.path)
        made = embedders_of(values, home.path / "models")
    except LaminaError as error:
        yield Finding("fail", "embedders", error.message)
        return
    for embedder in made:
        try:
            embedder.embed(["Is anybody there?"])
            yield Finding("ok", "embedders", f"{embedder.name} works")
        except LaminaError as error:
            yield Finding("fail", "embedders", f"{error.message}; searches go by words alone")
    if made and is_quick([embedder.name for embedder in made]):
        yield Finding("ok", "embedders", RECOMMENDED)


def model(home: Home, now: datetime) -> Iterator[Finding]:
    """Check whether the configured language model can read a conversation, and how well."""
    values = _in_force(home)
    name, variable = values["sleep.model"], values["sleep.key_variable"]
    if not name:
        yield Finding("ok", "model", "none is set (sleep.model): rules read conversations")
        return
    if variable and not os.environ.get(variable):
        problem = f"{variable}, which sleep.key_variable names, is not set: no key is sent"
        yield Finding("warn", "model", problem)
    from lamina.memory.sleep import reading

    try:
        reader = reading.model(values)
        found = reader.extract([Turn(SAID, "Ana", now)])
    except LaminaError as error:
        yield Finding("fail", "model", f"{error.message}; rules read instead")
        return
    known = f"answers within {values['sleep.timeout_ms'] / 1000:g} seconds, in {reader.format}"
    if any(found):
        yield Finding("ok", "model", f"{shown(name)} {known}")
    else:
        yield Finding("warn", "model", f"{shown(name)} {known}, but finds nothing in {shown(SAID)}")


def placed(path: Path) -> Iterator[Finding]:
    """Check that SQLite's locks work in the home, and that no service copies its files."""
    kind = file_system(path)
    if kind in NETWORK_TYPES:
        yield Finding(
            "fail",
            "place",
            f"{path} is on a network file system ({kind}), where SQLite is unsafe; move it",
        )
    service = synchronised(path)
    if service:
        yield Finding(
            "fail",
            "place",
            f"{path} is synchronised ({service}), which can damage a live database; move it",
        )
    if above := replaceable(path):
        yield Finding("warn", "place", f"somebody else could replace the home: {above}")
    if kind not in NETWORK_TYPES and not service:
        yield Finding("ok", "place", f"{path} is on a local file system ({kind or 'unknown'})")


def replaceable(path: Path) -> str | None:
    """Explain why another account could replace the home: a folder above it is not trusted."""
    problems = (ownership.problem_above(folder, folder.stat()) for folder in path.parents)
    return next(filter(None, problems), None)


def file_system(path: Path, mounts: str | None = None) -> str:
    """Name the file system that holds a path, if the operating system tells."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text("utf-8", errors="replace")
        except OSError:
            return ""
    found = ("", "")
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, fields[2])
    return found[1]


def synchronised(path: Path) -> str:
    """Name the synchronising service whose folder a path is in, if any."""
    for folder in (path, *path.parents):
        if any(folder.name.lower().startswith(name) for name in SYNC_FOLDERS):
            return folder.name
        for mark in SYNC_MARKS:
            if (folder / mark).exists():
                return mark
    return ""


def writable(home: Home, agent: str) -> Iterator[Finding]:
    """Check that the home can be written."""
    found = disk_space.closed(home.path) or disk_space.closed(home.agent_folder(agent))
    if found:
        yield Finding(
            "fail", "home", f"{found}; check its permissions, and how its disk is mounted"
        )


def space(path: Path) -> Finding:
    if told := disk_space.full(path):
        return Finding("fail", "space", told)
    free = shutil.disk_usage(path).free
    if free < LOW_SPACE:
        return Finding(
            "warn", "space", f"only {free // 1_000_000} MB are free; a full disk stops every write"
        )
    return Finding("ok", "space", f"{free / 1e9:.1f} GB free")


def private(home: Home, agent: str) -> Iterator[Finding]:
    """Check that no one else on this machine could read a memory."""
    if os.name == "nt":
        return
    group = ownership.shared_group()
    open_to_others = [path for path in _ours(home, agent) if _is_open(path.lstat(), group)]
    if open_to_others:
        first, number = open_to_others[0], counted(len(open_to_others), "file is", "files are")
        yield Finding(
            "warn", "private", f"{number} open to others, such as {first}; chmod go= them"
        )
    else:
        yield Finding("ok", "private", "files 0600, folders 0700")


def _is_open(found: os.stat_result, group: int | None) -> bool:
    """Return whether a file is accessible to anyone but the group that shares the home."""
    return bool(stat.S_IMODE(found.st_mode) & (0o007 if found.st_gid == group else 0o077))


def _ours(home: Home, agent: str) -> Iterator[Path]:
    folder = home.agent_folder(agent)
    top = (home.path, home.violations, home.path / TOKENS, folder.parent, folder)
    yield from (path for path in top if path.exists())
    if folder.is_dir():
        yield from (path for path in folder.rglob("*") if not path.is_symlink())


def mirrors(home: Home, agent: str) -> Iterator[Finding]:
    """Check that each mirror is reachable, and how far behind it is."""
    values = _in_force(home)
    if problem := configured.missing_key(values):
        yield Finding("warn", "mirrors", problem)
    if not configured.names(values):
        return
    from lamina.mirrors.upkeep import statuses
    from lamina.search.engine import embedders_of

    try:
        store = read_only.attached(home.agent_folder(agent), agent, values)
    except LaminaError:  # reported separately
        return
    if store is None:
        return
    try:
        made = configured.mirrors(
            store, values, lambda: next(iter(embedders_of(values, home.path / "models")), None)
        )
        for one in statuses(store, made):
            yield Finding(
                "fail" if one.problem else "ok" if one.ok else "warn",
                "mirrors",
                f"{one.name} {one.told}",
            )
        configured.close(made)
    except LaminaError as error:
        yield Finding("fail", "mirrors", error.message)
    finally:
        store.close()


def waiting(home: Home, folder: Path) -> Finding:
    """Check that the fail-safe is empty, also at the path of another preset."""
    try:
        own = spool.spool(folder, _in_force(home)["preset"])
        problems = own.problems()
    except LaminaError as error:
        return Finding("fail", "failsafe", error.message)
    for place in sorted({spool.spool(folder, preset).folder for preset in PRESETS} - {own.folder}):
        if spool.Spool(place).is_waiting():
            problems.append(
                f"{place} was the fail-safe under another preset; move its files to {own.folder}"
            )
    return (
        Finding("warn", "failsafe", "; ".join(problems))
        if problems
        else Finding("ok", "failsafe", "nothing waits")
    )


def violations(home: Home, now: datetime) -> Finding:
    number = sum(home.violations_by_attempt(now).values())
    if number:
        attempts = counted(number, "attempt to cross a boundary", "attempts to cross a boundary")
        return Finding(
            "warn",
            "isolation",
            f"{attempts} in the last {LATELY.days} days; `lamina audit violations` lists them",
        )
    return Finding(
        "ok", "isolation", f"no attempt to cross a boundary in the last {LATELY.days} days"
    )
