"""The small screens over the queue: a question, a reason, a text to edit, a text to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from lamina.surfaces.cli.reviewer.texts import line
from lamina.surfaces.review.decisions import REASONS

Lines = Callable[[int], Sequence[Text]]  # for a given width
BOX = """
    align: center middle;
    & > Vertical {
        width: 90%; max-width: 100; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    & VerticalScroll { height: auto; max-height: 70vh; }
    & .hint { color: $text-muted; }
"""


class Page(VerticalScroll):
    """Lines drawn for the available width; it remembers how many have been visible."""

    DEFAULT_CSS = "Page { scrollbar-gutter: stable; }"

    def __init__(self, lines: Lines, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines = lines
        self._drawn = Static("", expand=True)
        self._seen = 0
        self._number = 0

    def compose(self) -> ComposeResult:
        yield self._drawn

    def on_mount(self) -> None:
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        self.draw()

    def show(self, lines: Lines) -> None:
        """Show another text from its start."""
        self._lines, self._seen = lines, 0
        self.scroll_home(animate=False)
        self.draw()

    def draw(self) -> None:
        """Draw the lines for the current width."""
        width = max(20, self.scrollable_content_region.width)
        made = self._lines(width)
        self._number = len(made)
        self._drawn.update(Text("\n").join(made))
        self._look()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._look()

    def _look(self) -> None:
        in_sight = int(self.scroll_y) + self.scrollable_content_region.height
        self._seen = max(self._seen, in_sight)

    def unread(self, needed: int | None = None) -> int:
        """Count the lines that have not been visible: of all, or of the first `needed`."""
        return max(0, min(needed or self._number, self._number) - self._seen)


class Reading(ModalScreen[bool]):
    """A text to read, and a question about it if there is one."""

    DEFAULT_CSS = f"Reading {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "answer(True)"),
        ("n,q,escape", "answer(False)"),
        ("down,j", "scroll(1)"),
        ("up,k", "scroll(-1)"),
        ("pagedown,space", "scroll(10)"),
        ("pageup", "scroll(-10)"),
    ]

    def __init__(self, title: str, lines: Lines, question: str | None = None) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._page = Page(lines)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(line(self._title, "bold"))
            yield self._page
            hint = f"{self._question}  y yes · n no" if self._question else "q back · ↑↓ scroll"
            yield Static(line(hint), classes="hint")

    def action_answer(self, yes: bool) -> None:
        """Answer and leave; a yes counts only once everything has been visible."""
        if yes and self._question is None:
            return
        if yes and self._page.unread():
            self._page.scroll_page_down(animate=False)
            return
        self.dismiss(yes)

    def action_scroll(self, by: int) -> None:
        """Scroll by some lines."""
        self._page.scroll_relative(y=by, animate=False)


class Reason(ModalScreen[str | None]):
    """Ask for a reason: one from a list, or a typed one; an empty one is no reason."""

    DEFAULT_CSS = f"Reason {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel")]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(line(self._title, "bold"))
            yield OptionList(*(Option(f"{number}  {one}") for number, one in enumerate(REASONS, 1)))
            yield Input(placeholder="another reason, or Enter for none")
            hint = "1–6 or Enter reject · Tab type a reason · Esc back"
            yield Static(line(hint), classes="hint")

    def on_key(self, event: object) -> None:
        """Use a digit to choose the reason with that number, unless a reason is being typed."""
        typed = getattr(event, "character", None)
        if isinstance(self.focused, Input) or not typed or not typed.isdecimal():
            return
        if 1 <= int(typed) <= len(REASONS):
            self.dismiss(REASONS[int(typed) - 1])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(REASONS[event.option_index])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_cancel(self) -> None:
        """Leave without a decision."""
        self.dismiss(None)


class Edit(ModalScreen[str | None]):
    """Edit a text; Ctrl+S confirms it."""

    DEFAULT_CSS = f"Edit {{ {BOX} TextArea {{ height: auto; min-height: 3; max-height: 16; }} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "cancel"),
        ("ctrl+s,f2", "done"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(line(self._title, "bold"))
            yield TextArea(self._text)
            yield Static(line("Ctrl+S or F2 confirm this text · Esc back"), classes="hint")

    def action_done(self) -> None:
        """Confirm the text in its current state."""
        self.dismiss(self.query_one(TextArea).text)

    def action_cancel(self) -> None:
        """Leave without a decision."""
        self.dismiss(None)
