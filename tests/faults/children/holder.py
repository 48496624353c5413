"""Another program with the file open: it holds the lock for writing until it is told to let go.

It has to be a process of its own. Two copies of SQLite in one process do not see
each other's locks.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing

from .common import say


def main(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        say(outcome="held")
        sys.stdin.readline()
        connection.execute("ROLLBACK")


if __name__ == "__main__":
    main(*sys.argv[1:])
