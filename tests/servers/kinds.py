"""Every kind of server that there is."""

from __future__ import annotations

from tests.servers.chroma import Chroma
from tests.servers.postgres import Postgres
from tests.servers.processes import Server
from tests.servers.weaviate import Weaviate

KINDS: tuple[type[Server], ...] = (Postgres, Chroma, Weaviate)
