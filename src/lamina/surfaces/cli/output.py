"""Print tables, bars and plain JSON, so that no stored text can control the terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click
import msgspec

from lamina.model.record import Change, Event, Hit, Hits, Record, State
from lamina.store.tables.reads import Read
from lamina.store.tables.refusals import Refusal
from lamina.text.words import counted, is_invisible, one_line, reveal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

BAR = 24  # characters of the longest bar
PIPED_WIDTH = 200
# Minimum widths: of a table's wide column, of the same if more columns would have to go, and of
# a column that wraps.
READABLE, CUT, WRAPPED = 28, 10, 16
GAP = 2  # spaces between columns
PATIENCE = 1.0  # seconds before a progress bar appears
QUOTED = 100  # characters of a quoted piece of evidence
STATE_STYLES = {
    State.ACTIVE: "green",
    State.CONSTRAINED: "yellow",
    State.SUPERSEDED: "dim",
    State.TOMBSTONED: "red",
}


def show_json(value: Any) -> None:
    """Print one JSON value, as programs expect it."""
    click.echo(escaped(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def escaped(json: str) -> str:
    """Escape in JSON everything that a terminal would obey, and everything invisible.

    JSON itself requires this only for the C0 control characters; terminals also obey U+009B.
    """
    strange = [c for c in {*json} if c != "\n" and (not c.isprintable() or is_invisible(c))]
    return json.translate({ord(c): _escape(c) for c in strange})


def _escape(character: str) -> str:
    code = character.encode("utf-16-be").hex()
    return "".join(f"\\u{code[start : start + 4]}" for start in range(0, len(code), 4))


def console() -> Console:
    """Return a console of the terminal's real width, or a wider one for a pipe."""
    from rich.console import Console

    width, height = shutil.get_terminal_size()
    if not sys.stdout.isatty():
        width = PIPED_WIDTH
    # Set the height as well: otherwise rich assumes that a dumb terminal has 80 columns.
    return Console(width=width, height=height, highlight=False, markup=False, emoji=False)


def attention(message: str, *, err: bool = False) -> None:
    """Print a warning that must not be missed, although the command succeeded."""
    click.echo(click.style("attention: ", fg="yellow") + reveal(message), err=err)


def line(text: str, *, err: bool = False) -> None:
    """Print a line; where a terminal is too narrow for it, break it between words."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = click.wrap_text(text, shutil.get_terminal_size().columns, subsequent_indent="  ")
    click.echo(text, err=err)


def when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    wide: str | None = None,
    right: Sequence[str] = (),
    dispensable: Sequence[str] = (),
    wraps: Sequence[str] = (),
) -> None:
    """Print a table; a narrow terminal omits some columns, and says which.

    The wide column is cut at the end of the line, and wrapping columns continue on the next one;
    all others are complete. In a pipe every row is one line, and nothing is omitted.
    """
    screen = console()
    drawn = [[_cell(value) for value in row] for row in rows]
    cells = {name: [row[number] for row in drawn] for number, name in enumerate(columns)}
    if wide is not None and wide not in wraps:
        for cell in cells[wide]:
            cell.no_wrap, cell.overflow = True, "ellipsis"
    if not screen.is_terminal:
        wide, wraps = None if wide in wraps else wide, ()
    widths = {name: max([len(name), *(cell.cell_len for cell in cells[name])]) for name in columns}
    widths |= {name: min(widths[name], WRAPPED) for name in wraps if name != wide}
    shown, least = [*columns], READABLE
    if screen.is_terminal:
        empty = [name for name in dispensable if not any(cells[name])]
        shown, least = _fitting(columns, widths, wide, empty, dispensable, screen.width), CUT
    # If a line is still too long, let the terminal break it: rich would break the ids.
    screen.width = max(screen.width, _line(widths, shown, wide, least))
    spare = max(0, screen.width - _line(widths, shown, wide, READABLE))
    most = {name: widths[name] + spare for name in wraps if name != wide}
    _print(screen, {name: cells[name] for name in shown}, wide, right, most)
    gone = [name for name in columns if name and name not in shown and any(cells[name])]
    if gone:
        click.secho(f"not shown at this width: {', '.join(gone)}", dim=True, err=True)


def _fitting(
    columns: Sequence[str],
    widths: Mapping[str, int],
    wide: str | None,
    empty: Sequence[str],
    dispensable: Sequence[str],
    room: int,
) -> list[str]:
    """Omit columns until the others fit into a line.

    Empty ones go before the wide one is cut, dispensable ones before it is too narrow to read,
    and others, from the right, before it is too narrow for a word.
    """
    shown = [*columns]
    others = [name for name in reversed(columns[1:]) if name != wide]
    uncut = widths[wide] if wide is not None else 0
    for names, least in ((empty, uncut), (dispensable, READABLE), (others, CUT)):
        for name in names:
            if name in shown and _line(widths, shown, wide, least) > room:
                shown.remove(name)
    return shown


def _line(widths: Mapping[str, int], shown: Sequence[str], wide: str | None, least: int) -> int:
    """Return the width of a line in which the wide column has width `least`."""
    parts = [min(widths[name], least) if name == wide else widths[name] for name in shown]
    return sum(parts) + GAP * (len(parts) - 1)


def _print(
    screen: Console,
    cells: Mapping[str, Sequence[Text]],
    wide: str | None,
    right: Sequence[str],
    most: Mapping[str, int],
) -> None:
    """Let rich lay out the columns; it narrows the wide one and those with a maximum width.

    Rich knows no minimum width for a column that it narrows: the wide one keeps its width because
    the others cannot exceed their maximum.
    """
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for name in cells:
        justify: Any = "right" if name in right else "left"
        is_whole = name != wide and name not in most
        made.add_column(
            name, justify=justify, no_wrap=is_whole, max_width=most.get(name), overflow="fold"
        )
    for row in zip(*cells.values(), strict=True):
        made.add_row(*row)
    if screen.is_terminal:
        screen.print(made)
        return
    with screen.capture() as captured:
        screen.print(made)
    # In a pipe, lines have no trailing spaces.
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _cell(value: Any) -> Text:
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if isinstance(value, State):
        return Text(value.value, style=STATE_STYLES[value])
    return Text(one_line(str(value)) if value is not None else "")


def records(found: Sequence[Record], every_user: bool = False) -> None:
    """Print records as a table, one line each, with their users if there may be several."""
    columns: list[tuple[str, Callable[[Record], Any]]] = [
        ("id", lambda r: r.id),
        ("when (UTC)", lambda r: when(r.occurred_at)),
        ("layer", _layer),
        ("kind", lambda r: r.kind),
        ("imp.", lambda r: f"{r.importance:.2f}"),
        ("content", lambda r: r.content),
        ("tags", lambda r: " ".join(r.tags)),
    ]
    if any(r.state is not State.ACTIVE for r in found):
        columns.insert(3, ("state", lambda r: r.state))
    if every_user and any(r.user is not None for r in found):
        columns.insert(1, ("user", lambda r: r.user))
    rows = [[value(r) for _, value in columns] for r in found]
    names = [name for name, _ in columns]
    dispensable = ("imp.", "tags", "when (UTC)", "kind", "layer")
    table(names, rows, wide="content", right=("imp.",), dispensable=dispensable, wraps=("tags",))


def record(found: Record, contents: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print everything about one record; evidence with its text, if that is known."""
    from lamina.text import dates

    console().print(reveal(found.content), style="bold")
    lines: list[tuple[str, str]] = []
    for name, value in found.to_dict().items():
        if name == "content" or value in (None, [], {}, ""):
            continue
        if name == "evidence" and contents:
            quotes = [_quoted(reference, contents) for reference in found.evidence]
            lines += zip((name, *[""] * (len(quotes) - 1)), quotes, strict=True)
        else:
            lines.append((name, _as_text(value)))
    pairs(lines)
    for mention in dates.find(found.content, found.occurred_at):
        last = mention.end - timedelta(days=1)
        days = f"{mention.start}" if mention.start == last else f"{mention.start} to {last}"
        console().print(f'speaks of {days} ("{one_line(mention.phrase)}")', style="dim")


def _quoted(reference: str, contents: Mapping[str, str]) -> str:
    """Append to an id of evidence what the record says."""
    if reference not in contents:
        return reference
    return f"{reference}: {one_line(contents[reference], QUOTED)}"


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return msgspec.json.encode(value).decode() if isinstance(value, Mapping) else str(value)


def confirmed(question: str) -> bool:
    """Ask a person, and return the answer; if no person can be asked, return False."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():  # Ctrl-C was pressed
            raise
        return False


def answer(question: str) -> str | None:
    """Ask the person at a terminal; None if there is none, or no answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    return str(click.prompt(question, default="", show_default=False, err=True)).strip() or None


def pairs(items: Sequence[tuple[str, Any]]) -> None:
    """Print names and values, aligned. Paths are never broken, so that they can be copied."""
    from rich.table import Table
    from rich.text import Text

    screen, longest = console(), max((len(name) for name, _ in items), default=0)
    for name, value in items:
        cell = _cell(value)
        if Path(cell.plain).is_absolute():
            screen.print(Text.assemble((f"{name:<{longest + GAP}}", "cyan"), cell), soft_wrap=True)
            continue
        made = Table.grid(padding=(0, GAP))
        made.add_column(style="cyan", no_wrap=True, min_width=longest)
        made.add_column(overflow="fold")
        made.add_row(name, cell)
        screen.print(made)


def hits(found: Hits, explain: bool) -> None:
    """Print hits as a table, or with the parts of each score drawn as bars."""
    if explain:
        scores = (value for hit in found for value in (hit.score, *map(abs, hit.parts.values())))
        best = max(scores, default=1.0)
        for rank, hit in enumerate(found, 1):
            _explain(rank, hit, best)
        return
    rows = []
    for hit in found:
        record = hit.record
        about = (record.id, when(record.occurred_at), _layer(record))
        said = f"{record.content} {_over(hit)}".rstrip()
        rows.append((f"{hit.score:.3f}", *about, said))
    columns = ("score", "id", "when (UTC)", "layer", "content")
    table(columns, rows, wide="content", right=("score",), dispensable=("layer", "when (UTC)"))


def _over(hit: Hit) -> str:
    """Write what a hit says that does not hold."""
    if hit.outdated is None:
        return ""
    from lamina.search.context.lines import over

    return over(hit.outdated)


def _layer(found: Record) -> str:
    """Name the layer of a record, and where it is if the store does not have it yet."""
    layer = found.layer.value
    return layer if found.stored_in == "store" else f"{layer} ({found.stored_in})"


def notes(found: Sequence[str]) -> None:
    """Print what could not be used for an answer, on standard error to keep it separate."""
    for note in found:
        click.echo(click.style("note: ", fg="yellow") + reveal(note), err=True)


def _explain(rank: int, hit: Hit, best: float) -> None:
    """Print one hit with the parts of its score."""
    from rich.text import Text

    screen, record = console(), hit.record
    title = Text(f"{rank}. {one_line(record.content)}", style="bold")
    screen.print(title, overflow="ellipsis", no_wrap=True)
    about = f"   {record.id}  {_layer(record)}  {when(record.occurred_at)}"
    screen.print(Text(about, style="dim"))
    if over := _over(hit):
        screen.print(Text(f"   {reveal(over)}", style="yellow"))
    for name, value in hit.parts.items():
        draw, style = (bar, "cyan") if value >= 0 else (less, "red")
        drawn = Text(draw(value, best), style=style)
        screen.print(Text(f"   {name:<12}{value:7.3f}  ") + drawn)
    screen.print(Text(f"   {'= score':<12}{hit.score:7.3f}"))
    if hit.duplicates:
        one, many = "near-copy from outside is", "near-copies from outside are"
        screen.print(Text(f"   {counted(hit.duplicates, one, many)} not shown", style="yellow"))


def less(value: float, best: float) -> str:
    """Draw a bar for a deduction, which looks different even without colours."""
    return "░" * max(1, round(BAR * -value / best)) if best > 0 else ""


def bar(value: float, best: float) -> str:
    """Draw a bar in eighths of a character."""
    eighths = round(BAR * 8 * max(0.0, value) / best) if best > 0 else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def events(found: Sequence[Event]) -> None:
    """Print changes as a table, with their effects."""
    rows = [
        (e.seq, when(e.at), e.action, e.actor, e.surface, _summary(e), e.reason or "")
        for e in found
    ]
    columns = ("event", "when (UTC)", "action", "actor", "surface", "what", "reason")
    dispensable = ("surface", "actor", "reason", "when (UTC)")
    table(columns, rows, wide="what", right=("event",), dispensable=dispensable, wraps=("reason",))


def _summary(event: Event) -> str:
    """Describe in one line what an event changed."""
    if event.changes:
        first, more = event.changes[0], len(event.changes) - 1
        return f"{first.record} {_transition(first)}" + (f" and {more} more" if more else "")
    if grants := event.details.get("grants"):
        numbers, note = ", ".join(str(grant["grant"]) for grant in grants), event.note
        may_read = f": {note['to']} may read {note['covers']}" if "covers" in note else ""
        return f"grant {numbers}{may_read}"
    return msgspec.json.encode(event.details).decode() if event.details else ""


def _transition(change: Change) -> str:
    """Describe a record's first state, or its states before and after a change."""
    if not change.before:
        return str(change.after.get("layer", ""))
    if "erased" in change.before:
        return "erased"
    if "archived" in change.before:
        return "archive → store" if change.after.get("archived") is None else "store → archive"
    name = next((name for name in ("state", "layer") if name in change.before), None)
    return f"{change.before[name]} → {change.after[name]}" if name else ", ".join(change.before)


def reads(found: Sequence[Read]) -> None:
    """Print reads as a table: who searched for what, and how much was found."""
    rows = []
    for read in found:
        actor, note = read.actor, read.note
        query = str(note.get("query") or note.get("path") or "")
        about = (when(read.at), read.action, str(actor), actor.surface, len(read.records))
        rows.append((*about, note.get("user") or "", query))
    columns = ("when (UTC)", "action", "actor", "surface", "records", "user", "query")
    table(columns, rows, wide="query", right=("records",), dispensable=("surface", "actor", "user"))


def refusals(found: Sequence[Refusal]) -> None:
    """Print refusals as a table: who tried what, how often, and which permission was missing."""
    rows = [
        (
            *(when(one.at), str(one.actor), one.actor.surface, one.verb, one.lacks),
            *(f"{one.count:,}", ", ".join(one.records)),
        )
        for one in found
    ]
    columns = ("when (UTC)", "actor", "surface", "tried", "lacks", "times", "records")
    table(columns, rows, wide="records", right=("times",), dispensable=("surface", "actor"))


def size(number: int) -> str:
    """Write a number of bytes for people."""
    value = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on the terminal while work takes longer than a second."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    parts = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    display = Progress(
        TextColumn("{task.description}"),
        *parts,
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    task = display.add_task(label, total=None, start=True)
    started = time.monotonic()

    def advance(done: int, total: int) -> None:
        if not display.live.is_started and time.monotonic() - started > PATIENCE:
            display.start()
        display.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        if display.live.is_started:
            display.stop()
