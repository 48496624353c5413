"""PostgreSQL as the shared system of record, with the same statements in its dialect.

It needs the extra `postgres`.
"""

from __future__ import annotations

from lamina.errors import InvalidInput
from lamina.home import extras

try:
    import psycopg  # noqa: F401 - to check that it is installed
except ImportError as error:
    needed = f"store.url needs psycopg ({error}); {extras.remedy('postgres')}"
    raise InvalidInput(needed, place="psycopg") from error
