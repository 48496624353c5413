"""Outlives whoever started a server, so that no process and no folder is left behind: run as a
script of its own.

It is told the process id of the server line by line, 0 for none. When it is told END, or its input
ends, or its parent is gone, however that came, it ends what still runs and removes the folder.
"""

import os
import select
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

# Said aloud, because a forked child of the parent would keep the input open.
END = -1
LOOK_SECONDS = 1.0
GRACE_SECONDS = 5.0


def state(pid: int) -> str:
    """One letter as in `ps`: T is stopped, Z has ended; nothing if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(") ")[2][:1]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def family(pid: int) -> list[int]:
    """A process and all that descend from it, parents first."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def send(pids: list[int], number: int) -> None:
    """A signal to each that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def halt(pid: int) -> list[int]:
    """Halt a process and then its children, of which it cannot have new ones any more;
    all of them."""
    send([pid], signal.SIGSTOP)
    members = family(pid)
    send(members, signal.SIGSTOP)
    return members


def kill(pid: int) -> list[int]:
    """End a process and its children with no chance to clean up; all of them."""
    members = halt(pid)
    send(members, signal.SIGKILL)
    return members


def end(pid: int, polite: int) -> None:
    """End a server as it wants to be ended, or by force after a while."""
    send(family(pid), signal.SIGCONT)
    send([pid], polite)
    deadline = time.monotonic() + GRACE_SECONDS
    while state(pid) not in ("", "Z"):
        if time.monotonic() > deadline:
            kill(pid)
        time.sleep(0.02)


def told() -> int:
    """The last process id that was heard when there is nobody any more who could say another."""
    parent, pid, heard = os.getppid(), 0, b""
    while os.getppid() == parent:
        if select.select([0], [], [], LOOK_SECONDS)[0]:
            read = os.read(0, 4096)
            if not read:
                break
            *lines, heard = (heard + read).split(b"\n")
            for line in lines:
                if int(line) == END:
                    return pid
                pid = int(line)
    return pid


def main(folder: str, polite: int) -> None:
    pid = told()
    if pid:
        end(pid, polite)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
