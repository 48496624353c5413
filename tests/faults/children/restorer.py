"""Restores a backup, begins anew, or moves a memory to another database when told, so that a fault
can be put around it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lamina.home.folder import Home
from lamina.memory import migrate, opening
from tests.faults.forgotten import LATER, damage, furnish
from tests.faults.harness import AGENT

from .common import nursery


class Restorer:
    """A process that opens handles of its own, as the commands do. Its clock stands still."""

    def restore(self, home: str, source: str, url: str = "") -> None:
        os.environ["LAMINA_STORE_URL"] = url
        opening.restore(source, AGENT, home, lambda: LATER)

    def begin_anew(self, home: str) -> None:
        opening.begin_anew(AGENT, home, lambda: LATER)

    def move(self, home: str, to: str, url: str = "") -> None:
        os.environ["LAMINA_STORE_URL"] = url
        migrate.move(Home(home), AGENT, to)


def warm() -> None:
    """Do everything once that needs no server, so that what is traced later is not Python finding
    its modules."""
    with tempfile.TemporaryDirectory() as folder:
        home, usb = Path(folder, "home"), Path(folder, "usb")
        furnish(home, usb)
        restorer = Restorer()
        restorer.restore(str(home), str(usb))
        damage(home)
        restorer.restore(str(home), str(usb))
        damage(home)
        restorer.begin_anew(str(home))


if __name__ == "__main__":
    nursery(Restorer, warm)
