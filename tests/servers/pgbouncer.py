"""PgBouncer in transaction mode before a PostgreSQL, where the package of the system has it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.servers.postgres import NOBODY, USER, Postgres
from tests.servers.processes import HOST, Server, free_port

PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
# A few processes of the server for everybody: who relied on the state of a session would meet that
# of another.
CONFIG = """
[databases]
* = host={host} port={server}
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
server_connect_timeout = 1
server_login_retry = 0.1
query_wait_timeout = 5
"""


def program() -> str | None:
    return shutil.which("pgbouncer", path=PLACES)


class PgBouncer(Server):
    """A proxy that hands each transaction to any process of the server behind it."""

    name: ClassVar[str] = "pgbouncer"
    polite: ClassVar[int] = signal.SIGINT

    def __init__(self, server: Postgres, size: int = 4) -> None:
        super().__init__()
        self.server = server
        self.port = free_port()
        users, config = self.folder / "users.txt", self.folder / "pgbouncer.ini"
        users.write_text(f'"{USER}" "{server.password}"\n', "utf-8")
        config.write_text(
            CONFIG.format(host=HOST, server=server.port, port=self.port, users=users, size=size),
            "utf-8",
        )
        self._config = config
        if os.geteuid() == 0:
            for path in (self.folder, users, config):
                os.chown(path, NOBODY, NOBODY)

    @classmethod
    def missing(cls) -> str | None:
        return None if program() else "the system has no pgbouncer: apt install pgbouncer"

    def url(self, database: str) -> str:
        return self.server.url(database, port=self.port)

    def command(self) -> list[str]:
        return [program() or "", str(self._config)]

    def identity(self) -> Mapping[str, Any]:
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def ready(self) -> bool:
        import psycopg

        try:
            with psycopg.connect(self.url(USER), connect_timeout=5) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.OperationalError:
            return False
