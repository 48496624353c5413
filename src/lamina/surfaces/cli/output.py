"""How things look in a terminal: tables, bars and plain JSON. Nothing that was stored can steer the terminal."""

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
from lamina.text.words import counted, is_invisible, one_line, reveal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR = 24
PIPED_WIDTH = 200
LEAST = 28  # of the wide column
CUT = 10  # of it where nothing else can be left out
WRAPPED = 16  # of a column that goes on in the next line
GAP = 2
PATIENCE = 1.0
SAID = 100  # characters of what evidence says
STATE_STYLES = {
    State.ACTIVE: "green",
    State.CONSTRAINED: "yellow",
    State.SUPERSEDED: "dim",
    State.TOMBSTONED: "red",
}


def show_json(value: Any) -> None:
    """One JSON value, as programs expect it."""
    click.echo(escaped(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def escaped(json: str) -> str:
    """The same JSON, with whatever a terminal would obey or nobody would see written as escapes.

    JSON itself wants that only for the oldest control characters; terminals obey U+009B as well.
    """
    strange = [
        one for one in {*json} if one != "\n" and (not one.isprintable() or is_invisible(one))
    ]
    units = {one: one.encode("utf-16-be").hex() for one in strange}
    return json.translate(
        {
            ord(one): "".join(f"\\u{code[n : n + 4]}" for n in range(0, len(code), 4))
            for one, code in units.items()
        }
    )


def console() -> Console:
    """A terminal of its real width, or a pipe that cuts nothing off too early."""
    from rich.console import Console

    width, height = shutil.get_terminal_size()
    # With the height given as well, since a terminal that calls itself dumb is taken for one of 80 columns otherwise.
    width = width if sys.stdout.isatty() else PIPED_WIDTH
    return Console(width=width, height=height, highlight=False, markup=False, emoji=False)


def attention(told: str, *, err: bool = False) -> None:
    """What nobody should overlook, though the command was done."""
    click.echo(click.style("attention: ", fg="yellow") + reveal(told), err=err)


def when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    wide: str = "",
    right: Sequence[str] = (),
    dispensable: Sequence[str] = (),
    reluctantly: Sequence[str] = (),
    wraps: Sequence[str] = (),
) -> None:
    """A table whose wide column takes what is left of the line. A narrow terminal does without some, and says so.

    First goes what is dispensable, then the wide column is cut, then goes what is left out reluctantly.
    What is too long is cut; or, in a column that wraps, it goes on in the next line, and a pipe has lines as long as need be.
    """
    screen = console()
    cells = [[_cell(value) for value in row] for row in rows]
    natural = [
        max([len(name), *(row[place].cell_len for row in cells)])
        for place, name in enumerate(columns)
    ]
    least = {**dict.fromkeys(wraps, WRAPPED), **({wide: LEAST} if wide else {})}
    widths = [
        min(width, least.get(name, width)) for name, width in zip(columns, natural, strict=True)
    ]
    if wraps and not screen.is_terminal:
        whole = [
            natural[place] if name in wraps else widths[place] for place, name in enumerate(columns)
        ]
        screen.width = max(screen.width, _line(whole, range(len(whole))))
    bare = [
        name
        for name in (*wraps, *dispensable)
        if cells and not any(row[columns.index(name)].cell_len for row in cells)
    ]
    shown = _fitting(columns, widths, [*bare, *dispensable], screen.width)
    if wide:  # where nothing can be left out, it is cut
        widths[columns.index(wide)] -= max(
            0, min(_line(widths, shown) - screen.width, widths[columns.index(wide)] - CUT)
        )
    if (
        screen.is_terminal
    ):  # and at last, also what is missed is left out: half of everything is of no use to anybody
        shown = _fitting(
            columns,
            widths,
            [*reluctantly, *(name for name in reversed(columns[1:]) if name != wide)],
            screen.width,
            shown,
        )
    share = [(name, screen.width // 4) for name in wraps]
    for name, most in (*share, *((name, screen.width) for name in (wide, *wraps) if name)):
        place, spare = columns.index(name), screen.width - _line(widths, shown)
        if place in shown and spare > 0:
            widths[place] += max(0, min(spare, min(most, natural[place]) - widths[place]))
    screen.width = max(screen.width, _line(widths, shown))
    _print(screen, _drawn(columns, widths, shown, cells, right, wraps))
    if gone := [
        name
        for place, name in enumerate(columns)
        if place not in shown and name and name not in bare
    ]:
        click.secho(f"not shown at this width: {', '.join(gone)}", dim=True, err=True)


def _drawn(
    columns: Sequence[str],
    widths: Sequence[int],
    shown: Sequence[int],
    cells: Sequence[Sequence[Any]],
    right: Sequence[str],
    wraps: Sequence[str],
) -> Table:
    """The table itself, of the columns that are shown, each as wide as was decided."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for place in shown:
        name, width = columns[place], widths[place]
        justify: Any = "right" if name in right else "left"
        made.add_column(
            name,
            justify=justify,
            no_wrap=name not in wraps,
            overflow="fold",
            min_width=width,
            max_width=width,
        )
        for row in cells:
            if (
                name not in wraps
            ):  # beside a cell of several lines the end of another one is not marked otherwise
                row[place].truncate(width, overflow="ellipsis")
    for row in cells:
        made.add_row(*(row[place] for place in shown))
    return made


def _print(screen: Console, made: Table) -> None:
    """Print a table; in a pipe its lines end where their last word does."""
    if screen.is_terminal:
        screen.print(made)
        return
    with screen.capture() as captured:
        screen.print(made)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _fitting(
    columns: Sequence[str],
    widths: Sequence[int],
    dispensable: Sequence[str],
    room: int,
    among: Sequence[int] | None = None,
) -> list[int]:
    """The places of the columns that fit into a line, after some were left out in this order."""
    shown = list(range(len(columns)) if among is None else among)
    for name in dispensable:
        if _line(widths, shown) <= room:
            break
        if columns.index(name) in shown:
            shown.remove(columns.index(name))
    return shown


def _line(widths: Sequence[int], shown: Iterable[int]) -> int:
    return sum(widths[place] + GAP for place in shown) - GAP


def _cell(value: Any) -> Any:
    from rich.text import Text

    if isinstance(value, Text):
        return value
    if isinstance(value, State):
        return Text(value.value, style=STATE_STYLES[value])
    return Text(one_line(str(value)) if value is not None else "")


def records(found: Sequence[Record], every_user: bool = False) -> None:
    """Records as a table, a line each; the rest of a record is in `inspect`. Of several users, each with its own."""
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
    last = ("imp.", "tags", "when (UTC)", "kind", "layer")
    table(names, rows, wide="content", right=("imp.",), dispensable=last, wraps=("tags",))


def record(found: Record, said: Mapping[str, str] = MappingProxyType({})) -> None:
    """Everything about one record, a field a line; empty fields are left out. Evidence with what it says, if known."""
    from lamina.text import dates

    fields = found.to_dict()
    shown = {
        name: value
        for name, value in fields.items()
        if value not in (None, [], {}, "") and name != "content"
    }
    console().print(reveal(found.content), style="bold")
    spoken = [
        f"{one}: {one_line(said[one], SAID)}" if one in said else one for one in found.evidence
    ]
    fields_of = {name: [_plain(value)] for name, value in shown.items()} | (
        {"evidence": spoken} if said else {}
    )
    pairs(
        [
            (name if not place else "", one)
            for name, lines in fields_of.items()
            for place, one in enumerate(lines)
        ]
    )
    for mention in dates.find(found.content, found.occurred_at):
        last = mention.end - timedelta(days=1)
        days = f"{mention.start}" if mention.start == last else f"{mention.start} to {last}"
        console().print(f'speaks of {days} ("{one_line(mention.phrase)}")', style="dim")


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return msgspec.json.encode(value).decode() if isinstance(value, Mapping) else str(value)


def confirmed(question: str) -> bool:
    """Whether a person says yes. Where nobody can be asked, that is a no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():  # somebody has pressed Ctrl-C
            raise
        return False


def pairs(items: Sequence[tuple[str, Any]]) -> None:
    """Names and values, aligned. A path is never broken: whoever copies it needs the whole of it."""
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
    """Hits as a table, or with the parts of each score drawn as bars."""
    if not explain:
        rows = [(f"{hit.score:.3f}", *_short(hit.record)) for hit in found]
        columns = ("score", "id", "when (UTC)", "layer", "content")
        table(columns, rows, wide="content", right=("score",), dispensable=("layer", "when (UTC)"))
        return
    best = max(
        (value for hit in found for value in (hit.score, *map(abs, hit.parts.values()))),
        default=1.0,
    )
    for place, hit in enumerate(found, 1):
        explained(place, hit, best)


def _short(found: Record) -> tuple[str, str, str, str]:
    return found.id, when(found.occurred_at), _layer(found), found.content


def _layer(found: Record) -> str:
    """Where a memory lives, and that the store does not have it yet, if that is so."""
    return (
        found.layer.value
        if found.stored_in == "store"
        else f"{found.layer.value} ({found.stored_in})"
    )


def notes(found: Sequence[str]) -> None:
    """What could not be used to answer; beside the answer, so that programs which read it are not disturbed."""
    for note in found:
        click.echo(click.style("note: ", fg="yellow") + reveal(note), err=True)


def explained(place: int, hit: Hit, best: float) -> None:
    """One hit with its score taken apart."""
    from rich.text import Text

    screen = console()
    screen.print(
        Text(f"{place}. {one_line(hit.record.content)}", style="bold"),
        overflow="ellipsis",
        no_wrap=True,
    )
    screen.print(
        Text(
            f"   {hit.record.id}  {_layer(hit.record)}  {when(hit.record.occurred_at)}", style="dim"
        )
    )
    for name, value in hit.parts.items():
        drawn = (
            Text(bar(value, best), style="cyan")
            if value >= 0
            else Text(less(value, best), style="red")
        )
        screen.print(Text(f"   {name:<12}{value:7.3f}  ") + drawn)
    screen.print(Text(f"   {'= score':<12}{hit.score:7.3f}"))
    if hit.duplicates:
        copies = counted(
            hit.duplicates, "near-copy from outside is", "near-copies from outside are"
        )
        screen.print(Text(f"   {copies} not shown", style="yellow"))


def less(value: float, best: float) -> str:
    """A bar of what is taken off, which looks unlike one of what is added, also without colours."""
    return "░" * max(1, round(BAR * -value / best)) if best > 0 else ""


def bar(value: float, best: float) -> str:
    """A bar in eighths of a character."""
    eighths = round(BAR * 8 * max(0.0, value) / best) if best > 0 else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def events(found: Sequence[Event]) -> None:
    """Changes as a table, with what they did."""
    rows = [
        (e.seq, when(e.at), e.action, e.actor, e.surface, _summary(e), e.reason or "")
        for e in found
    ]
    columns = ("event", "when (UTC)", "action", "actor", "surface", "what", "reason")
    table(
        columns,
        rows,
        wide="what",
        right=("event",),
        dispensable=("surface", "actor", "reason", "when (UTC)"),
        wraps=("reason",),
    )


def _summary(event: Event) -> str:
    if not event.changes and event.details.get("grants"):
        numbers = ", ".join(str(one["grant"]) for one in event.details["grants"])
        return f"grant {numbers}" + (
            f": {event.note['to']} may read {event.note['covers']}"
            if "covers" in event.note
            else ""
        )
    if not event.changes:
        return msgspec.json.encode(event.details).decode() if event.details else ""
    first = event.changes[0]
    rest = f" and {len(event.changes) - 1} more" if len(event.changes) > 1 else ""
    return f"{first.record} {_moved(first)}{rest}"


def _moved(change: Change) -> str:
    """What became of one record: where it began, or what it was before and is now."""
    if not change.before:
        return str(change.after.get("layer", ""))
    if "erased" in change.before:
        return "erased"
    if "archived" in change.before:
        return "archive → store" if change.after.get("archived") is None else "store → archive"
    name = next((name for name in ("state", "layer") if name in change.before), None)
    return f"{change.before[name]} → {change.after[name]}" if name else ", ".join(change.before)


def reads(found: Sequence[Read]) -> None:
    """Reads as a table: who looked for what, and how much came back."""
    rows = [
        (
            when(r.at),
            r.action,
            str(r.actor),
            r.actor.surface,
            len(r.records),
            r.note.get("user") or "",
            _query(r),
        )
        for r in found
    ]
    columns = ("when (UTC)", "action", "actor", "surface", "records", "user", "query")
    table(columns, rows, wide="query", right=("records",), dispensable=("surface", "actor", "user"))


def _query(read: Read) -> str:
    return str(read.note.get("query") or read.note.get("path") or "")


def size(number: int) -> str:
    """Bytes for people."""
    value = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal for work that takes longer than a second; silent for everything else."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    display = Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
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
