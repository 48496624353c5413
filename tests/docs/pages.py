"""The documents as programs: their blocks, and a story that is run block by block and compared with
what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from lamina.surfaces.cli.main import cli, run

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = "reference.md"
EXPORT = re.compile(r"^export (\w+)=(\S+)", re.M)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
END = 6  # characters of an id that stand for it
CALLED = re.compile(rf"{ID.pattern}|\b[0-9a-hjkmnp-tv-z]{{{END}}}\b")
# What differs from run to run. Scores fall a little with every moment that a memory grows older.
MASKS = (
    (ID, "ID"),
    (re.compile(r"(?<=\[)[0-9a-hjkmnp-tv-z]{6}(?=[·\]])"), "HANDLE"),
    (re.compile(r"^[0-9a-hjkmnp-tv-z]{6}(?=  )", re.M), "HANDLE"),  # in the first column
    (re.compile(r"(?<=·)\d{1,2} [A-Z][a-z]+ \d{4}(?=[·\]])"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d)?"), "TIME"),
    (re.compile(r"head [0-9a-f]{16}"), "head HASH"),
    (re.compile(r"operator:\S+"), "operator"),
    (re.compile(r"-?\b\d\.\d{3}\b"), "SCORE"),
    (re.compile(r"[·█░●]{20,100}"), "BAR"),  # in a timeline, whose end is today
    (re.compile(r"\b\d+(?= links)"), "SOME"),  # jobs read, too: one more on the quarter of an hour
)
ANYTHING = "…"
FAILURES = ("Error:", "nothing relevant", '{"error"')

cli.list_commands(
    click.Context(cli)
)  # commands are read in the order of the program, whichever of them a story runs first


class Block(NamedTuple):
    """A fenced block of a page: its language, what it says, and the line where it begins."""

    language: str
    text: str
    line: int


def pages() -> list[Path]:
    """Every page that people wrote."""
    return sorted(
        page for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")] if page.name != GENERATED
    )


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in BLOCK.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return BLOCK.sub("", page.read_text("utf-8"))


def exported(page: Path) -> dict[str, str]:
    """The variables that a page has its readers export before anything else."""
    first = next((block.text for block in blocks(page) if block.language == "sh"), "")
    return dict(EXPORT.findall(first))


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console, and what it is said to print."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def masked(text: str) -> str:
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; an ellipsis on it stands for anything,
    several lines too."""
    pattern = ".*".join(re.escape(part) for part in masked(shown).split(ANYTHING))
    return re.fullmatch(pattern, masked(printed), re.S) is not None


class Story:
    """A page that is lived through from top to bottom. Ids on the page stand for those that the
    store really gave."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.ids: dict[str, str] = {}

    def live(self, *languages: str) -> int:
        """Run every block in one of the languages; how many commands and programs there were."""
        count = 0
        found = blocks(self.page)
        for block, after in zip(found, [*found[1:], Block("", "", 0)], strict=True):
            if block.language not in languages:
                continue
            if block.language == "python":
                self._check(
                    block, self._python(block), after.text if after.language == "text" else ""
                )
                count += 1
            else:
                for command, expected in commands(block):
                    self._check(block, self._command(command, expected), expected)
                    count += 1
        return count

    def _check(self, block: Block, printed: str, shown: str) -> None:
        if not shown.strip():
            return
        where = f"{self.page.name}, the block at line {block.line}"
        assert is_as_shown(shown, printed), (
            f"{where} shows\n{masked(shown)}\nbut this is printed\n{masked(printed)}"
        )
        self.ids.update(zip(ID.findall(shown), ID.findall(printed), strict=False))

    def _python(self, block: Block) -> str:
        namespace: dict[str, Any] = {"__name__": "__main__"}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block.text, f"{self.page.name}:{block.line}", "exec"), namespace)
        finish_jobs()
        return printed.getvalue()

    def _command(self, command: str, expected: str) -> str:
        known = self.ids | {shown[-END:]: real[-END:] for shown, real in self.ids.items()}
        given, arguments = piped(CALLED.sub(lambda found: known.get(found[0], found[0]), command))
        terminal = io.TextIOWrapper(io.BytesIO(), "utf-8")
        with (
            contextlib.redirect_stdout(terminal),
            contextlib.redirect_stderr(terminal),
            standard_input(given),
        ):
            code = run(arguments)
        finish_jobs()
        terminal.seek(0)
        printed = terminal.read()
        assert bool(code) == expected.startswith(FAILURES), (
            f"{self.page.name}: {command} ends with {code}: {printed}"
        )
        return printed


def finish_jobs() -> None:
    """Wait for what was started in the background: a reader is slower than any job."""
    for thread in threading.enumerate():
        if thread.name == "lamina-upkeep":
            thread.join()


def piped(command: str) -> tuple[str, list[str]]:
    """The arguments of `lamina`, and what `echo` writes into it."""
    words = shlex.split(command, comments=True)
    given = ""
    if words[0] == "echo":
        given = words[1]
        words = words[words.index("|") + 1 :]
    assert words[0] == "lamina", command
    return given, words[1:]


@contextlib.contextmanager
def standard_input(given: str) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    try:
        yield
    finally:
        sys.stdin = before
