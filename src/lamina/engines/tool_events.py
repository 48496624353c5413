"""Note what matters later about tool use: what failed, what fixed it, what was committed. Pure.

Design choices:

- A change is noted while a command fails, and a new file always: most other edits only repeat what
the repository shows.
- A command that failed is fixed when it passes, or one that covers it does: `pytest` covers
  `pytest tests/test_rows.py::test_last`.
- A pipe hides the exit status of a command, so there its output decides.
- Only the few lines of an output that name the error are kept. They are `external`: anyone may have
written them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from lamina.model.record import Record
from lamina.text.patterns import bounded

FAILED, CHANGED, CREATED, FIXED = "failed", "changed", "created", "fixed"
COMMITTED, TESTED = "committed", "tested"
FIELD = "tool_use"  # of the metadata, where a note says what it is about
LINE = 300  # characters of a line that are examined
LINES = 400  # of an output, half of them at its end
SHORT, ERROR, LONG = 70, 200, 160  # characters of a line of code, of an error, of a command
MOST_ERRORS = 2
MOST_CHANGES = 3
# Commands that always succeed, so that they do not tell how the work went.
ASIDE = frozenset("cd echo export printf pushd popd set sleep source true".split())
EXIT = bounded(
    r"\s*(?:Error: )?(?:exit|process|command)\w{0,2}\b.{0,40}\b(?:code|status)\b.{0,20}",
    re.IGNORECASE,
)
SUMMARY = bounded(
    r"\b\d{1,7} (?:passed|passing|failed|failing|failures?|errors?)\b|^\s*Ran \d{1,7} tests?\b"
)
BAD_SUMMARY = bounded(r"\b[1-9]\d{0,6} (?:failed|failing|failures?|errors?)\b")
PASSES = bounded(r"\b\d{1,7} (?:passed|passing)\b|^\s*Ran \d{1,7} tests?\b")
# Forms in which lines name an error, most informative first.
NAMES_ERROR = (
    bounded(r"^\s*(?:FAILED|FAIL:|--- FAIL:)\s+\S"),
    bounded(r"^E\s+\S|\b\w{1,60}(?:Error|Exception)\b\s?[:(]"),
    bounded(r"^\s*(?:panic:|fatal:|error\[\w{1,20}\]:|npm ERR!)"),
    bounded(r"^\s*[^\s:]{1,200}:\d{1,6}(?::\d{1,6})?:? \S"),  # a place, as compilers write it
    bounded(r"\b(?:error|failed|not found|no such file|undefined|cannot|denied)\b", re.IGNORECASE),
)
SURE = NAMES_ERROR[:3]  # these occur only in errors
MARK = bounded(r"^E\s+")
COMMIT = bounded(r"^\[([^\]\s]{1,100})(?: \([a-z -]{1,20}\))? ([0-9a-f]{7,40})\] (.{1,200})")


class ToolUse(msgspec.Struct, frozen=True):
    """One use of a tool: a command or a file, the output, and whether it failed, if known."""

    tool: str = ""
    command: str | None = None
    path: str | None = None
    before: str = ""  # the text that was replaced in the file
    after: str = ""
    output: str = ""
    failed: bool | None = None
    is_new: bool = False  # the file did not exist before


class Note(msgspec.Struct, frozen=True):
    """Something worth remembering about a tool use. `external` means that it quotes output."""

    event: str
    content: str
    kind: str
    importance: float
    external: bool
    about: dict[str, str]

    @property
    def metadata(self) -> dict[str, Any]:
        return {FIELD: {"event": self.event, **self.about}}


def notes(use: ToolUse, earlier: Iterable[Record]) -> list[Note]:
    """List what is worth remembering about a use, given the notes of its session so far."""
    told = [about for record in earlier if (about := about_of(record)) is not None]
    if use.command is None:
        return _of_file(use, told)
    lines = _lines(use.output)
    summary = next((line for line in reversed(lines) if SUMMARY.search(line)), "")
    if _has_failed(use, lines, summary):
        return _of_failure(use.command, lines, told)
    found = [*_of_fix(use.command, told), *_of_commit(use.command, lines)]
    if PASSES.search(summary):
        found.append(_of_tests(use.command, summary))
    return found


def about_of(record: Record) -> dict[str, str] | None:
    """Return what a note is about; None for any other record."""
    about = record.metadata.get(FIELD)
    if not isinstance(about, dict) or not isinstance(about.get("event"), str):
        return None
    return {name: value for name, value in about.items() if isinstance(value, str)}


def still_failing(told: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """List the failures that have not been fixed, oldest first."""
    broken: list[dict[str, str]] = []
    for about in told:
        command = about.get("command", "")
        if about["event"] == FIXED:
            broken = [one for one in broken if not is_covered(one.get("command", ""), command)]
        elif about["event"] == FAILED:
            broken.append(about)
    return broken


def is_covered(failed: str, passed: str) -> bool:
    """Tell if a command that passed also did what a command that failed had to do."""
    last = [*_steps(failed)][-1:]
    return any(_covers(step, wanted) for wanted in last for step in _steps(passed))


def _covers(step: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell if one of two commands of a program only names its targets more precisely."""
    if step[0] != wanted[0]:
        return False
    short, long = sorted((step[1:], wanted[1:]), key=len)
    return all(any(_is_within(one, other) for other in long) for one in short)


def _is_within(one: str, other: str) -> bool:
    return one == other or other.startswith((f"{one}/", f"{one}:")) or one.startswith(f"{other}:")


def _steps(command: str) -> Iterator[list[str]]:
    """Split a shell command line into commands, each with its program and its targets."""
    for sign in ("&&", "||", "\n"):
        command = command.replace(sign, ";")
    for part in command.split(";"):
        words = part.partition("|")[0].split()
        while words and "=" in words[0]:  # a variable that is set for the command
            del words[0]
        plain = [word for word in words if not word.startswith(("-", ">", "<", "2>", "&"))]
        if plain and plain[0] not in ASIDE:
            yield [plain[0].rpartition("/")[2], *plain[1:20]]


def _has_failed(use: ToolUse, lines: Sequence[str], summary: str) -> bool:
    """Tell if a command failed: by its exit status, or else by its output."""
    is_hidden = use.failed is None or (not use.failed and "|" in (use.command or ""))
    if not is_hidden:
        return bool(use.failed)
    if summary:
        return BAD_SUMMARY.search(summary) is not None
    return use.failed is None and any(one.search(line) for one in SURE for line in lines)


def _of_failure(command: str, lines: Sequence[str], told: Sequence[dict[str, str]]) -> list[Note]:
    error = _error(lines)
    if not error:  # for example a search that found nothing
        return []
    fixes = sum(about["event"] == FIXED for about in told)
    about = {"command": _cut(command, LONG), "error": error, "after": str(fixes)}
    content = f"`{about['command']}` failed: {error}"
    return [Note(FAILED, content, "error", 0.3, True, about)]


def _of_file(use: ToolUse, told: Sequence[dict[str, str]]) -> list[Note]:
    if not use.path or use.failed:
        return []
    path = _cut(use.path, LONG)
    if use.is_new:
        return [Note(CREATED, f"created {path}", "action", 0.2, False, {"path": path})]
    if not (use.before or use.after) or not still_failing(told):
        return []
    old, new = difference(use.before, use.after)
    about = {"path": path, "old": old, "new": new}
    return [Note(CHANGED, f"changed {_change(about)}", "action", 0.2, False, about)]


def _of_fix(command: str, told: Sequence[dict[str, str]]) -> list[Note]:
    fixed = [one for one in still_failing(told) if is_covered(one.get("command", ""), command)]
    if not fixed:
        return []
    since = next(number for number, about in enumerate(told) if about is fixed[0])
    changes = [one for one in told[since:] if one["event"] in (CHANGED, CREATED)]
    change = "; ".join(map(_change, _by_file(changes))) or "nothing was edited"
    # The first error is the actual problem; later ones may result from attempts to fix it.
    error, short = fixed[0].get("error", ""), _cut(command, LONG)
    content = f"`{short}` passes again. It had failed: {error} - Changed in between: {change}"
    about = {"command": short, "error": error, "change": change, "attempts": str(len(fixed))}
    return [Note(FIXED, content, "result", 0.6, True, about)]


def _by_file(changes: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Combine the changes of each of the last few files: the first state and the last one."""
    by_path: dict[str, dict[str, str]] = {}
    for about in changes:
        path = about.get("path", "")
        first = by_path.pop(path, about)
        by_path[path] = {**about, "old": first.get("old", "")}
    return [*by_path.values()][-MOST_CHANGES:]


def _change(about: dict[str, str]) -> str:
    """Write in a line which file was changed, and how."""
    path, old, new = (about.get(name, "") for name in ("path", "old", "new"))
    if not old and not new:
        return path
    return f"{path}: {f'`{old}`' if old else 'nothing'} became {f'`{new}`' if new else 'nothing'}"


def _of_commit(command: str, lines: Sequence[str]) -> Iterator[Note]:
    commits = [step for step in _steps(command) if step[0] == "git" and "commit" in step[1:]]
    if not commits:
        return
    for line in lines:
        if found := COMMIT.match(line):
            about = {"hash": found[2], "message": found[3]}
            yield _commit(f"committed {found[2]}: {found[3]}", about)
            return
    is_quiet = any(word in command.split() for word in ("-q", "--quiet"))
    if is_quiet and "--dry-run" not in command and (message := _message(command)):
        yield _commit(f"committed: {message}", {"hash": "", "message": message})


def _commit(content: str, about: dict[str, str]) -> Note:
    return Note(COMMITTED, content, "result", 0.5, True, about)


def _message(command: str) -> str:
    """Parse the message of a commit from its command, if it is given literally."""
    try:
        words = shlex.split(command, comments=False)
    except ValueError:  # unclosed quotes
        return ""
    marked = (after for sign, after in pairwise(words) if sign in ("-m", "-am"))
    first = next(marked, "").strip().partition("\n")[0]
    return "" if first.startswith("$(") else _cut(first, LONG)


def _of_tests(command: str, summary: str) -> Note:
    result = _cut(summary.strip(" =*-"), SHORT)
    about = {"command": _cut(command, LONG), "result": result}
    return Note(TESTED, f"`{about['command']}`: {result}", "result", 0.3, True, about)


def _error(lines: Sequence[str]) -> str:
    """Return the lines that name the error, or else the last line."""
    said = [line for line in lines if not EXIT.fullmatch(line)]
    for pattern in NAMES_ERROR:
        found = [_unmarked(line) for line in said if pattern.search(line)]
        if found:
            return _cut("; ".join(dict.fromkeys(found[:MOST_ERRORS])), ERROR)
    return _cut(said[-1].strip(), ERROR) if said else ""


def _unmarked(line: str) -> str:
    """Strip the sign by which pytest marks error lines."""
    mark = MARK.match(line)
    return line[mark.end() if mark else 0 :].strip()


def difference(before: str, after: str) -> tuple[str, str]:
    """Return the first line that a change removed, and the first that it added."""
    old = "" if not before else _first_line(before, after)
    return old, _first_line(after, before) if before else ""


def _first_line(text: str, other: str) -> str:
    there = {line.strip() for line in other.splitlines()}
    lines = (line.strip() for line in text.splitlines())
    return _cut(next((line for line in lines if line and line not in there), ""), SHORT)


def _lines(output: str) -> list[str]:
    """List the first and last non-empty lines of an output, each cut."""
    lines = [line[:LINE].rstrip() for line in output.splitlines() if line.strip()]
    half = LINES // 2
    return lines if len(lines) <= LINES else [*lines[:half], *lines[-half:]]


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
