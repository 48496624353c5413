"""Counts what the tests here have probed, over all workers, for the report."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import FULL
from tests.security.tally import PROBES, Line, added, ordered, probe
from tests.surfaces import served


@pytest.fixture(autouse=True)
def _counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test counts belongs to it alone."""
    probe.taken()
    yield
    request.node.user_properties.append((PROBES, probe.taken()))


@pytest.fixture(autouse=True)
def _requests_counted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request to a server is a probe where no test counts them itself."""
    if request.path.stem in ("test_http", "test_console"):
        ask = served.Served.ask

        def counted(*arguments: Any, **more: Any) -> served.Answer:
            probe()
            return ask(*arguments, **more)

        monkeypatch.setattr(served.Served, "ask", counted)


class Reporter:
    """Hears of every test, also of those that other workers ran."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "tests/security/" in report.nodeid:
            added(self.lines, report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = ordered(self.lines.values())
        written = os.environ.get("LAMINA_SECURITY_REPORT")
        if written:
            Path(written).write_bytes(msgspec.json.encode(lines))
        elif FULL:
            for line in lines:
                terminalreporter.write_line(
                    f"{line.corpus:12} {line.probes:8,} probes  {line.failures} failures"
                )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Reporter())
