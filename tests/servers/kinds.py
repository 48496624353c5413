"""Every kind of server that there is."""

from __future__ import annotations

from typing import TypeVar

import pytest

from tests.servers import fetch
from tests.servers.chroma import Chroma
from tests.servers.postgres import Postgres
from tests.servers.processes import Server
from tests.servers.weaviate import Weaviate

KINDS: tuple[type[Server], ...] = (Postgres, Chroma, Weaviate)
Kind = TypeVar("Kind", bound=Server)


def there(kind: type[Kind], *, required: bool = fetch.REQUIRED) -> type[Kind]:
    """A kind of server that can be had; a test that needs another is not run, which is a failure
    where servers are required."""
    reason = kind.missing()
    if reason is not None:
        message = f"not run: {kind.name} ({reason})"
        if required:
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    return kind
