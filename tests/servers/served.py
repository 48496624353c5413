"""Tests that were written for files, on a PostgreSQL that finds the candidates of every search:
`pytest -p tests.servers.served tests/security/test_recall_isolation.py`."""

from __future__ import annotations

import pytest

from lamina.store.tables.postgres import candidates
from tests.servers.everywhere import (  # noqa: F401 - the fixtures and hooks of this plugin
    _on_postgres,
    copied_postgres,
    pytest_collection_modifyitems,
)


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server search every store, with an index or without."""
    monkeypatch.setenv("LAMINA_STORE_SEARCH_ABOVE", "0")
    monkeypatch.setattr(candidates, "is_ready", lambda connection, spaces: True)
