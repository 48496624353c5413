"""The shared system of record on PostgreSQL: the same statements, spelled as it wants them. It needs `lamina[postgres]`."""

from __future__ import annotations

from lamina.errors import InvalidInput

try:
    import psycopg  # noqa: F401 - whether it is there
except ImportError as error:
    needed = f"store.url needs psycopg ({error}); `pip install 'lamina[postgres]'`"
    raise InvalidInput(needed, place="psycopg") from error
