"""Tries mutants: each in a process of its own, with the tests that reach it. No file of the program
is ever changed."""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

import pytest

import lamina
from tests.mutation.operators import Mutant, control, mutants
from tests.mutation.reach import Reach, Reached

PROGRAM = Path(lamina.__file__).parent
MEMORY = 8 << 30
WAITING = 20  # seconds on the clock for each of the processor, for what waits and never comes
CONTROLS = 5  # modules that have to survive as they are
PATIENCE = 10  # what survives is looked at again, with so many times the tests
PLAIN = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=no")


class Options(NamedTuple):
    """What to try, and how hard."""

    files: Mapping[str, int | None]  # patterns of files, and how many mutants of each at most
    tests: Sequence[str]
    sample: int | None  # of all
    seed: int
    budget: float
    workers: int
    results: Path
    again: bool
    besides: Sequence[int]  # seeds whose mutants are left out, where not all are tried anyway


class Running(NamedTuple):
    """A process that tries one mutant."""

    mutant: Mutant
    folder: Path
    until: float


class Bench:
    """A pytest session that, instead of its tests, tries mutants in processes forked from it."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._items: dict[str, pytest.Item] = {}
        self._reached: dict[str, Reached] = {}
        self._by_line: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._failed: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or (report.when == "setup" and report.skipped):
            self._failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._look(session.items)
        chosen = self._chosen()
        print(f"{len(chosen):,} mutants, {len(self._reached):,} tests", flush=True)
        with self._options.results.open(
            "a" if self._options.again else "w", encoding="utf-8"
        ) as file:
            for budget in (self._options.budget, PATIENCE * self._options.budget):
                left = []
                for mutant, outcome, by in self._tried(chosen, budget):
                    told = {
                        "key": mutant.key,
                        "module": mutant.module,
                        "line": mutant.line,
                        "outcome": outcome,
                        "by": by,
                    }
                    if mutant.line:
                        file.write(json.dumps(told) + "\n")
                        file.flush()
                    elif outcome not in ("survived", "unreached"):
                        raise pytest.UsageError(f"the tests fail on the program as it is: {told}")
                    if mutant.line and outcome == "survived":
                        left.append(mutant)
                chosen = left
        return True

    # Which tests reach what

    def _look(self, items: Sequence[pytest.Item]) -> None:
        reach = Reach(self._options.results.with_name("reach.json"), PROGRAM)
        missing = reach.missing(items)
        print(f"looking at {len(missing):,} tests of {len(items):,}", flush=True)
        parts = [missing[start :: self._options.workers] for start in range(self._options.workers)]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            targets = [Path(folder, str(number)) for number in range(len(parts))]
            pids = [
                self._watch(reach, part, target)
                for part, target in zip(parts, targets, strict=True)
            ]
            for pid, target in zip(pids, targets, strict=True):
                _, status = os.waitpid(pid, 0)
                reach.learn(target)
                if status:
                    print(f"looking at tests ended early, with status {status}", flush=True)
        self._reached = {name: one for name, one in reach.tests().items() if name in self._items}
        for name, one in sorted(
            self._reached.items(), key=lambda pair: (pair[1].footprint, pair[0])
        ):
            for path, lines in one.lines.items():
                for line in lines:
                    self._by_line[path, line].append(name)

    def _watch(self, reach: Reach, items: Sequence[pytest.Item], target: Path) -> int:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                _quietly(target.with_suffix(".tests"))
                reach.record(items, self._passes, target)
                status = 0
            finally:
                os._exit(status)
        return pid

    def _passes(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self._failed = None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return self._failed is None

    def _chosen(self) -> list[Mutant]:
        options = self._options
        found = sorted(
            (path, most)
            for pattern, most in options.files.items()
            for path in PROGRAM.glob(pattern)
        )
        made = [
            one for path, most in found for one in self._drawn(mutants(path, module_of(path)), most)
        ]
        made = _some(made, options.sample, options.seed)
        if options.again:
            known = {
                told["key"]: told["outcome"]
                for told in map(json.loads, options.results.read_text("utf-8").splitlines())
            }
            made = [one for one in made if known.get(one.key, "killed") != "killed"]
        touched = {one.path: one.module for one in made}
        return [
            *(control(path, module) for path, module in list(touched.items())[:CONTROLS]),
            *made,
        ]

    def _drawn(self, made: list[Mutant], most: int | None) -> list[Mutant]:
        """Some of the mutants of a file, without those that other seeds draw."""
        seen = {
            one.key
            for seed in self._options.besides
            if most is not None
            for one in _some(made, most, seed)
        }
        return [one for one in _some(made, most, self._options.seed) if one.key not in seen]

    def _tests(self, mutant: Mutant, budget: float) -> list[str]:
        """The tests that reach a mutant, those first that reach little else."""
        by_line = self._by_line.get((str(mutant.path), mutant.line), [])
        return self._affordable(by_line if mutant.function else self._users(mutant), budget)

    def _affordable(self, names: Sequence[str], budget: float) -> list[str]:
        """As many tests as the budget allows, and one in any case."""
        chosen: list[str] = []
        for name in names:
            if not chosen or self._reached[name].seconds <= budget:
                chosen.append(name)
                budget -= self._reached[name].seconds
        return chosen

    def _users(self, mutant: Mutant) -> list[str]:
        """Tests of what a module says once: first its own, then those of the lines that name it,
        then all others."""
        path = str(mutant.path)
        used = {
            node.lineno
            for node in ast.walk(mutant.tree)
            if isinstance(node, (ast.Name, ast.Attribute))
            and {getattr(node, "id", ""), getattr(node, "attr", "")} & mutant.names
        }
        lines = sorted((line not in used, line) for at, line in self._by_line if at == path)
        found = {
            name: not_used
            for not_used, line in reversed(lines)
            for name in self._by_line[path, line]
        }
        own = {
            name
            for name in self._reached
            if f"/test_{mutant.path.stem}" in name or self._mentions(name, mutant)
        }
        return sorted(
            own | found.keys(),
            key=lambda name: (
                name not in own,
                found.get(name, True),
                self._reached[name].footprint,
                name,
            ),
        )

    def _mentions(self, name: str, mutant: Mutant) -> bool:
        """Whether a test names the module or what it says, such as a table that is compared
        as a whole."""
        code = getattr(getattr(self._items[name], "obj", None), "__code__", None)
        return code is not None and not {mutant.path.stem, *mutant.names}.isdisjoint(code.co_names)

    # One process for each mutant

    def _tried(self, chosen: Sequence[Mutant], budget: float) -> Iterator[tuple[Mutant, str, str]]:
        waiting, running = list(reversed(chosen)), dict[int, Running]()
        while waiting or running:
            while waiting and len(running) < self._options.workers:
                mutant = waiting.pop()
                tests = self._tests(mutant, budget)
                is_afresh = not mutant.function or not tests
                tests = tests or self._affordable(
                    self._users(mutant), budget
                )  # it may run when the module is loaded
                if not tests:
                    yield mutant, "unreached", ""
                    continue
                folder = Path(tempfile.mkdtemp(prefix="mutant-"))
                allowed = 10 + 2 * sum(self._reached[name].seconds for name in tests)
                pid = os.fork()
                if pid == 0:
                    self._try(
                        mutant if not is_afresh else mutant._replace(function=""),
                        tests,
                        folder,
                        int(allowed),
                    )
                running[pid] = Running(mutant, folder, time.monotonic() + WAITING * allowed)
            yield from _ended(running)

    def _try(self, mutant: Mutant, tests: Sequence[str], folder: Path, seconds: int) -> NoReturn:
        """In a process of its own: make the change, and run the tests until one fails."""
        os.setsid()
        resource.setrlimit(
            resource.RLIMIT_CPU, (seconds, seconds + 5)
        )  # a busy machine must not look like an endless loop
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        _quietly(folder / "tests")
        try:
            os._exit(self._survives(mutant, tests, folder))
        finally:  # whatever was raised, it went past all tests
            os._exit(1)

    def _survives(self, mutant: Mutant, tests: Sequence[str], folder: Path) -> int:
        """0 if it does, 1 if not, 3 if there was nothing to change."""
        mutant.mutation.apply()
        code = compile(ast.fix_missing_locations(mutant.tree), str(mutant.path), "exec")
        if not mutant.function:
            return _afresh(mutant, code, tests)
        importlib.import_module(mutant.module)  # the tests that need it may do so later
        if not _replaced(mutant, code):
            return 3
        items = [self._items[name] for name in tests]
        for item, following in zip(items, (*items[1:], None), strict=False):
            if not self._passes(item, following):
                (folder / "by").write_text(item.nodeid, "utf-8")
                return 1
        return 0


def _some(made: list[Mutant], most: int | None, seed: int) -> list[Mutant]:
    """As many as are wanted, the same with the same seed."""
    return made if most is None or most >= len(made) else random.Random(seed).sample(made, most)


def _quietly(folder: Path) -> None:
    """What this process prints goes nowhere, and its temporary files have a folder of their own."""
    folder.mkdir()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _ended(running: dict[int, Running]) -> Iterator[tuple[Mutant, str, str]]:
    """What has come of processes that ended, or took too long."""
    for pid, one in list(running.items()):
        done, status = os.waitpid(pid, os.WNOHANG)
        late = not done and time.monotonic() > one.until
        if late:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if done or late:
            code = os.waitstatus_to_exitcode(status)
            by = one.folder / "by"
            yield (
                one.mutant,
                "timeout" if late else _outcome(code),
                by.read_text("utf-8") if by.exists() else f"exit {code}",
            )
            shutil.rmtree(one.folder, ignore_errors=True)
            del running[pid]
    time.sleep(0.005)


def _outcome(code: int) -> str:
    return {
        0: "survived",
        3: "untried",
        -signal.SIGXCPU: "timeout",
        -signal.SIGKILL: "timeout",
    }.get(code, "killed")


def _replaced(mutant: Mutant, module: CodeType) -> bool:
    """Give every function that was made from the old code the new one."""
    new = next((code for code in _codes(module) if code.co_qualname == mutant.function), None)
    path = str(mutant.path)
    old = [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, FunctionType)
        and thing.__code__.co_filename == path
        and thing.__code__.co_qualname == mutant.function
    ]
    for function in old:
        if new is not None and function.__code__.co_freevars == new.co_freevars:
            function.__code__ = new
    return bool(old) and new is not None


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class _Mutated(importlib.machinery.SourceFileLoader):
    """Loads the mutant in the place of its module, and finds it for those who ask."""

    def __init__(self, mutant: Mutant, code: CodeType) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._code = code

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> Any:
        if name != self.name:
            return None
        package = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=package
        )

    def get_code(self, fullname: str) -> CodeType:
        return self._code


def _afresh(mutant: Mutant, code: CodeType, tests: Sequence[str]) -> int:
    """What runs when a module is loaded is tried in a session where nothing of ours
    was loaded yet."""
    for name in [
        name for name in sys.modules if name.split(".")[0] in ("lamina", "tests", "benchmarks")
    ]:
        del sys.modules[name]
    sys.meta_path[:] = [
        _Mutated(mutant, code),
        *(one for one in sys.meta_path if "Rewriting" not in type(one).__name__),
    ]
    names = dict.fromkeys(
        name.split("[")[0] for name in tests
    )  # a mutant may change the names behind the bracket
    return 0 if pytest.main([*PLAIN, "-x", *names]) == 0 else 1


def module_of(path: Path) -> str:
    """Name the module that a file of the program holds."""
    return ".".join(path.relative_to(PROGRAM.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )
