"""The shared system of record on PostgreSQL: the same statements, spelled as it wants them. It needs the extra `postgres`."""

from __future__ import annotations

from lamina.errors import InvalidInput
from lamina.home import extras

try:
    import psycopg  # noqa: F401 - whether it is there
except ImportError as error:
    needed = f"store.url needs psycopg ({error}); {extras.remedy('postgres')}"
    raise InvalidInput(needed, place="psycopg") from error
