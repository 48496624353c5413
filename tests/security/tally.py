"""How many probes each corpus has made, and how many of them failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

# Which file belongs to which corpus, so that the report has one line for each kind of attack.
CORPORA: dict[str, str] = {
    "test_isolation": "isolation",
    "test_recall_isolation": "isolation",
    "test_sharing_isolation": "isolation",
    "test_every_door": "isolation",
    "test_poisoning": "poisoning",
    "test_repetition": "repetition",
    "test_injection": "injection",
    "test_http": "HTTP",
    "test_console": "console",
    "test_review": "review",
    "test_mcp": "MCP",
    "test_hooks": "hooks",
    "test_files": "paths",
    "test_foreign_files": "paths",
    "test_paths": "paths",
    "test_unicode": "Unicode",
    "test_patterns": "time",
    "test_erasure": "erasure",
    "test_erased_everywhere": "erasure",
    "test_locks": "locks",
    "test_failsafe": "fail-safe",
    "test_secrets": "secrets",
    "test_refusals": "refusals",
    "test_network": "network",
    "test_report": "report",
}
PROBES = "probes"  # the property of a test's report that holds its number


class Line(msgspec.Struct):
    """What one corpus has done."""

    corpus: str
    tests: int = 0
    probes: int = 0
    failures: int = 0
    skipped: int = 0
    seconds: float = 0.0


class Tally:
    """Counts the probes of the test that is running; a test that counts nothing is one probe."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, number: int = 1) -> None:
        self.made += number

    def taken(self) -> int:
        """The number so far, and from here on none."""
        made, self.made = self.made, 0
        return made


probe = Tally()


def corpus_of(node: str) -> str:
    """The corpus of a test by the name of its file; one that is in none stands for itself."""
    name = node.partition("::")[0].rpartition("/")[2].removesuffix(".py")
    return CORPORA.get(name, name)


def added(lines: dict[str, Line], report: Any) -> None:
    """Put the report of one phase of a test into its line."""
    line = lines.setdefault(corpus_of(report.nodeid), Line(corpus_of(report.nodeid)))
    line.seconds += report.duration
    if report.failed:
        line.failures += 1
    if report.skipped:
        line.skipped += 1
    if report.when == "call":
        line.tests += 1
    counted = dict(report.user_properties).get(PROBES)
    if (
        report.when == "teardown" and counted is not None
    ):  # a test that was skipped has probed nothing
        line.probes += max(1, counted)


def ordered(lines: Iterable[Line]) -> list[Line]:
    """In the order of the corpora, as far as they have one."""
    known = list(dict.fromkeys(CORPORA.values()))
    return sorted(
        lines,
        key=lambda line: (
            known.index(line.corpus) if line.corpus in known else len(known),
            line.corpus,
        ),
    )
