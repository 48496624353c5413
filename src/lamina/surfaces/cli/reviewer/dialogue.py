"""Talk with a person: show screens, take keys, and ask questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from lamina.surfaces.cli.reviewer import frame, terminal
from lamina.surfaces.cli.reviewer.frame import Hints, Pager, Size
from lamina.surfaces.cli.reviewer.terminal import Screen
from lamina.surfaces.cli.reviewer.texts import line

BACK = ("q", terminal.ESCAPE)
READING = (("q", "back"), ("↑↓ space", "scroll"))
ASKING = (("Enter", "done"), ("Esc", "cancel"))
SURE = (("y", "yes"), ("any other key", "no"))
ERROR, GOOD, QUESTION = "red", "green", "bold"
CLEAR = "\x15"  # Ctrl-U

Lines = Callable[[int], Sequence[Text]]  # by the width of the screen


class Dialogue:
    """Draws one screen after the other; a message is shown once, below the next of them."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._message = Text()
        self._drawn: tuple[Text, Sequence[Text]] = Text(), ()

    @property
    def size(self) -> Size:
        return self._screen.size

    def tell(self, message: str, style: str = "") -> None:
        """Show a message below the next screen."""
        self._message = line(message, style)

    def key(self, title: Text, body: Sequence[Text], hints: Hints) -> str:
        """Draw a screen, and wait for a key."""
        self._drawn = title, body
        self._draw(self._message, hints)
        key = self._screen.read()
        if key != terminal.RESIZED:
            self._message = Text()
        return key

    def page(self, title: str, lines: Lines, pager: Pager, hints: Hints) -> str:
        """Draw the part of a text that its pager stands at, until a key does something else."""
        message = self._message
        made: Sequence[Text] = ()
        made_for = 0
        while True:
            width, height = self.size
            if width != made_for:  # it may take a while to make
                made, made_for = lines(width), width
            key = self.key(Text.assemble(" ", line(title)), pager.part(made, height), hints)
            if key != terminal.RESIZED and not pager.moved(key):
                return key
            self._message = message

    def read(self, title: str, lines: Lines) -> None:
        """Show a text until the person goes back."""
        pager = Pager()
        while self.page(title, lines, pager, READING) not in (*BACK, terminal.ENTER):
            pass

    def help(self) -> None:
        self.read("help", frame.helping)

    def answer(self, question: Text, hints: Hints) -> str:
        """Ask a question below what is on the screen, and return the key that answers it."""
        while True:
            self._draw(question, hints)
            if (key := self._screen.read()) != terminal.RESIZED:
                return key

    def is_sure(self, question: str) -> bool:
        return self.answer(line(question, "bold yellow"), SURE) in ("y", "Y")

    def ask(self, question: str) -> str | None:
        """Ask for a line of text; None when it was cancelled."""
        typed = ""
        while True:
            room = max(8, self.size[0] - len(question) - 2)
            shown = Text.assemble((f"{question} ", QUESTION), line(typed).plain[-room:], "▏")
            key = self.answer(shown, ASKING)
            if key == terminal.ENTER:
                return typed.strip()
            if key == terminal.ESCAPE:
                return None
            typed = _edited(typed, key)

    def forget(self) -> None:
        """Drop what was typed before the next screen is seen: it was not meant for that."""
        self._screen.forget()

    def watch(self, what: str, total: int) -> Callable[[int], bool]:
        """Return what shows how far something is and says if it may go on: Ctrl-C stops it."""

        def go_on(number: int) -> bool:
            if total > 1:
                self._draw(Text(f"{what} {number} of {total}; Ctrl-C stops", QUESTION), ())
            return not self._screen.interrupted()

        return go_on

    def _draw(self, message: Text, hints: Hints) -> None:
        self._screen.show(frame.framed(*self._drawn, message, hints, self.size))


def _edited(typed: str, key: str) -> str:
    if key == terminal.ERASE:
        return typed[:-1]
    if key == CLEAR:
        return ""
    if key.startswith(terminal.PASTED):
        return typed + " ".join(key.removeprefix(terminal.PASTED).split())
    return typed + key if len(key) == 1 and key.isprintable() else typed
