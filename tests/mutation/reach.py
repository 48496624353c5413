"""Which lines each test reaches and how long it takes: recorded once, and again only for
tests that changed."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

SLOWEST = 8.0  # seconds of the processor that a test may take with somebody looking on
LOOKS = 2000  # lines of one function in one test: what has not shown by then hardly will
Run = Callable[[pytest.Item, pytest.Item | None], bool]


class Reached(NamedTuple):
    """One test that passed."""

    seconds: float
    lines: dict[str, list[int]]  # by the path of a file

    @property
    def footprint(self) -> int:
        return sum(map(len, self.lines.values()))


class Tracer:
    """Notes each line of the program that runs. A function that has shown all or been seen enough
    is left alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._waiting: dict[CodeType, set[int]] = {}
        self._looks: dict[CodeType, int] = {}

    def watched(
        self, run: Run, item: pytest.Item, following: pytest.Item | None
    ) -> tuple[bool, dict[str, list[int]]]:
        """Whether a test passes, and the lines that it reaches."""
        self._waiting, self._looks = {}, {}
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            passed = run(item, following)
        finally:
            sys.settrace(None)
            threading.settrace(None)
        found: dict[str, set[int]] = defaultdict(set)
        for code, left in self._waiting.items():
            found[code.co_filename] |= _lines(code) - left
        return passed, {path: sorted(lines) for path, lines in found.items()}

    def _call(self, frame: FrameType, event: str, value: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self._folder):
            return None
        if code not in self._waiting:
            self._waiting[code], self._looks[code] = _lines(code), LOOKS
        return self._line(frame, "line", value)

    def _line(self, frame: FrameType, event: str, value: Any) -> Any:
        waiting = self._waiting[frame.f_code]
        if event == "line":
            waiting.discard(frame.f_lineno)
            self._looks[frame.f_code] -= 1
        return self._line if waiting and self._looks[frame.f_code] > 0 else None


def _lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line is not None}


class Reach:
    """The record of all tests, in a file beside the program that it was made for."""

    def __init__(self, path: Path, source: Path) -> None:
        self._path, self._source = path, source
        self._files: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        program = _digest(sorted(source.rglob("*.py")))
        if self._files.get("program") != program:
            self._files = {"program": program}

    def missing(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """The tests of files that are new or changed."""
        digests = {path: _digest([path]) for path in {item.path for item in items}}
        new = {
            path
            for path, digest in digests.items()
            if self._files.get(str(path), {}).get("digest") != digest
        }
        self._files |= {str(path): {"digest": digests[path], "tests": {}} for path in new}
        return [item for item in items if item.path in new]

    def record(self, items: Sequence[pytest.Item], run: Run, target: Path) -> None:
        """Run tests and look on; each that passes is a line of a file at once, whatever the next
        one does to the process."""
        tracer = Tracer(self._source)
        signal.signal(signal.SIGPROF, _too_slow)
        with target.open("w", encoding="utf-8") as file:
            for item, following in zip(items, (*items[1:], None), strict=False):
                began = time.perf_counter()
                signal.setitimer(signal.ITIMER_PROF, SLOWEST)
                try:
                    passed, lines = tracer.watched(run, item, following)
                except pytest.fail.Exception:  # it was stopped outside of the test itself
                    continue
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                if passed:
                    file.write(
                        json.dumps(
                            [str(item.path), item.nodeid, time.perf_counter() - began, lines]
                        )
                        + "\n"
                    )
                    file.flush()

    def learn(self, told: Path) -> None:
        for path, name, seconds, lines in map(json.loads, told.read_text("utf-8").splitlines()):
            self._files[path]["tests"][name] = [seconds, lines]
        known = {
            name: file for name, file in self._files.items() if name == "program" or file["tests"]
        }
        self._path.write_text(json.dumps(known), "utf-8")

    def tests(self) -> dict[str, Reached]:
        files = (value for name, value in self._files.items() if name != "program")
        return {name: Reached(*told) for file in files for name, told in file["tests"].items()}


def _too_slow(number: int, frame: FrameType | None) -> None:
    pytest.fail("too slow to be run for every mutant")


def _digest(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
