"""The stores that need no server, each held to the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.contract.remembering import Remembering
from tests.contract.stores import StoreContract, Stored


class TestSQLite(StoreContract):
    """B1: one SQLite database per agent, the default."""


class TestSQLiteStrict(Stored, Remembering):
    """B1, P4: what is remembered and found again, with reads that are durable first."""

    settings: ClassVar[Mapping[str, Any]] = {"audit.reads": "strict"}
