"""The promises that tests make of a memory in a file, kept by one on PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FULL
from tests.servers.everywhere import Copied

ROOT = Path(__file__).parents[2]
# Some run always, all of them with LAMINA_FAULTS=full. Tests that make many homes would make them
# in one database.
ALWAYS = (
    "tests/unit/memory/test_agent.py",
    "tests/unit/memory/test_reviews.py",
    "tests/unit/memory/test_runs.py",
    "tests/unit/memory/test_statements.py",
    "tests/unit/memory/test_full_id.py",
    "tests/unit/store/test_outbox.py",
    "tests/unit/store/test_facets.py",
    "tests/unit/search/test_late.py",
)
REST = (
    "tests/unit/search/test_context.py",
    "tests/unit/search/test_semantic.py",
    "tests/unit/store/test_events.py",
    "tests/unit/store/test_snapshot.py",
    "tests/unit/store/test_verify.py",
    "tests/unit/mirrors/test_sync.py",
    "tests/unit/memory/test_conversations.py",
    "tests/unit/memory/test_profiles.py",
    "tests/unit/memory/test_proposals.py",
    "tests/unit/memory/test_reader.py",
    "tests/unit/memory/test_sharing.py",
    "tests/unit/memory/test_night.py",
    "tests/unit/memory/test_fact_updates.py",
)
# The same on a server that finds the candidates of searches itself.
SERVED_ALWAYS = ("tests/security/test_sharing_isolation.py",)
SERVED_REST = ("tests/security/test_recall_isolation.py", "tests/unit/search/test_context.py")


@pytest.mark.parametrize("path", ALWAYS + REST if FULL else ALWAYS)
def test_the_same_tests_on_postgres(quick_postgres: Copied, path: str) -> None:
    """B3: what a file of tests promises of a memory holds wherever the memory is kept."""
    run("tests.servers.everywhere", path)


@pytest.mark.parametrize("path", SERVED_ALWAYS + SERVED_REST if FULL else SERVED_ALWAYS)
def test_the_same_isolation_where_the_server_searches(quick_postgres: Copied, path: str) -> None:
    """B3, R9: nobody finds more of others' memories when the server names the candidates."""
    run("tests.servers.served", path)


def run(plugin: str, path: str) -> None:
    command = [
        *(sys.executable, "-m", "pytest", "-q"),
        *("-p", plugin, "-p", "no:cacheprovider", path),
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-3000:]
