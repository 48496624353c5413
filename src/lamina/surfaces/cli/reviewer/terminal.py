"""Use a terminal as a whole screen and single keys, and leave it as it was."""

from __future__ import annotations

import codecs
import os
import re
import select
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console, ConsoleDimensions, Group
from rich.text import Text

try:
    import termios
    import tty
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

UP, DOWN, LEFT, RIGHT = "up", "down", "left", "right"
PAGE_UP, PAGE_DOWN, HOME, END = "page up", "page down", "home", "end"
ENTER, ESCAPE, ERASE, RESIZED = "enter", "escape", "erase", "resized"
INTERRUPT = "\x03"
PASTED = "pasted:"  # and what was pasted
NAMES: Mapping[str, str] = {
    "\r": ENTER,
    "\n": ENTER,
    "\x1b": ESCAPE,
    "\x7f": ERASE,
    "\b": ERASE,
    "\x04": ESCAPE,
    **{
        f"\x1b{lead}{end}": name
        for lead in "[O"
        for end, name in zip("ABCDHF", (UP, DOWN, RIGHT, LEFT, HOME, END), strict=True)
    },
    **{
        f"\x1b[{n}~": name
        for n, name in {1: HOME, 4: END, 5: PAGE_UP, 6: PAGE_DOWN, 7: HOME, 8: END}.items()
    },
    **{
        f"\xe0{end}": name
        for end, name in zip("HPMKGO", (UP, DOWN, RIGHT, LEFT, HOME, END), strict=True)
    },
}
# What is pasted is one key: its lines must not be taken for commands.
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"
KEY = re.compile(
    r"\x1b\[200~(?P<paste>.*?)(?:\x1b\[201~|\Z)"
    r"|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO[A-Za-z]|\x1b[^[O\x1b]|.",
    re.S,
)
PARTIAL = re.compile(r"\x1b(?:O|\[[0-9;?]*[ -/]*)?\Z")
# Lines are cut and not wrapped, and pastes are marked as such.
ON, OFF = "\x1b[?7l\x1b[?2004h", "\x1b[?2004l\x1b[?7h"
PATIENCE = 0.2  # seconds to wait for the other half of a key
USUAL = 80, 24  # of a terminal that does not know its size


class Screen(Protocol):
    """The part of a terminal that a reviewer needs."""

    @property
    def size(self) -> tuple[int, int]: ...
    def show(self, lines: Sequence[Text]) -> None: ...
    def read(self) -> str: ...
    def interrupted(self) -> bool: ...
    def forget(self) -> None: ...


class Terminal:
    """The terminal of this process.

    Keys that are typed ahead are kept; Ctrl-C is seen between two keys alone.
    """

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._keys: deque[str] = deque()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial = ""
        self._size = self.size

    @staticmethod
    def is_here() -> bool:
        """Tell if this process has a terminal that can show a screen."""
        return sys.stdin.isatty() and sys.stdout.isatty() and not Console().is_dumb_terminal

    @property
    def size(self) -> tuple[int, int]:
        """Its columns and lines as they are now, whatever COLUMNS said when it was opened."""
        width, height = os.get_terminal_size(sys.stdout.fileno())
        return width or USUAL[0], height or USUAL[1]

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the whole screen and every key, until this ends."""
        with _key_by_key():
            try:
                self._console.set_alt_screen(True)
                self._console.show_cursor(False)
                self._write(ON)
                yield
            finally:
                self._write(OFF)
                self._console.show_cursor(True)
                self._console.set_alt_screen(False)

    def _write(self, codes: str) -> None:
        self._console.file.write(codes)
        self._console.file.flush()

    def show(self, lines: Sequence[Text]) -> None:
        self._console.size = ConsoleDimensions(*self.size)
        self._console.update_screen(Group(*lines))

    def read(self) -> str:
        """Return the next key by its name; Ctrl-C raises."""
        while not self._keys:
            self._listen(PATIENCE)
            if self.size != self._size:
                self._size = self.size
                self._keys.append(RESIZED)
        key = self._keys.popleft()
        if key == INTERRUPT:
            raise KeyboardInterrupt
        return key

    def interrupted(self) -> bool:
        """Tell if Ctrl-C was pressed while something else was done."""
        self._listen(0)
        if INTERRUPT not in self._keys:
            return False
        self._keys.clear()
        return True

    def forget(self) -> None:
        """Drop what was typed ahead; only Ctrl-C still counts."""
        if self.interrupted():
            self._keys.append(INTERRUPT)
        else:
            self._keys.clear()

    def _listen(self, patience: float) -> None:
        """Take what was typed; half a key waits for its other half, unless that does not come."""
        if termios is None:
            if patience:
                self._keys.append(NAMES.get(key := click.getchar(), key))
        elif select.select([sys.stdin], [], [], patience)[0]:
            read = os.read(sys.stdin.fileno(), 4096)
            # Nothing to read means that the terminal is gone.
            self._take(self._decoder.decode(read) if read else INTERRUPT)
        elif self._partial and not self._partial.startswith(PASTE):
            self._keys += keys(self._partial)
            self._partial = ""

    def _take(self, typed: str) -> None:
        typed = self._partial + typed
        whole = typed[: _half(typed)]
        self._partial = typed[len(whole) :]
        self._keys += keys(whole)


def _half(typed: str) -> int:
    """Find where half a key or half a paste begins, or the end."""
    pasted = typed.find(PASTE, typed.rfind(PASTE_END) + 1)
    half = PARTIAL.search(typed) if pasted < 0 else None
    return pasted if pasted >= 0 else half.start() if half else len(typed)


@contextmanager
def _key_by_key() -> Iterator[None]:
    """Let keys arrive at once and unseen; Ctrl-C is one of them."""
    if termios is None:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSADRAIN)  # which keeps what was typed ahead
        mode = termios.tcgetattr(sys.stdin)
        mode[3] &= ~termios.ISIG
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, mode)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def keys(typed: str) -> Iterator[str]:
    """Name the keys that were typed; a letter is its own name."""
    for found in KEY.finditer(typed):
        pasted = found.group("paste")
        yield PASTED + pasted if pasted is not None else NAMES.get(found.group(), found.group())
