"""The numbers as tables: in the terminal, and as Markdown between two markers of a page."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.peers.quality import SETS
from benchmarks.peers.rounds import KINDS
from benchmarks.peers.venvs import PEERS

BEGIN, END = "<!-- numbers: written by `make bench-peers` -->", "<!-- end of the numbers -->"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
PLACE = re.compile(r"/\S*lamina-peers-\w+")
UNIT = {"default": "Lamina's embedder", "fake": "made-up vectors"}


class Sheet(NamedTuple):
    """One table, and the reasons behind its dashes."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    notes: list[str]


class Cells:
    """Builds the cells of one sheet; a dash has a number, and the number a reason."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def dash(self, reason: str) -> str:
        return f"–{self.note(reason)}"

    def note(self, reason: str) -> str:
        reason = PLACE.sub("…", reason)  # the name of a deleted folder means nothing
        if reason not in self.notes:
            self.notes.append(reason)
        return str(self.notes.index(reason) + 1).translate(RAISED)

    def times(self, own: Sequence[float], ours: float | None) -> str:
        """Show median and 95th percentile in milliseconds, and the median relative to Lamina's."""
        ratio = f" ({statistics.median(own) / ours:.1f}×)" if ours else ""
        return f"{_ms(statistics.median(own))} / {_ms(_late(own))}{ratio}"


def sheets(results: Mapping[str, Any]) -> list[Sheet]:
    made: list[Sheet] = []
    for embedder, sizes in results["sizes"].items():
        for size in sorted(sizes, key=int):
            made.append(_searching(results, sizes[size], int(size), embedder))
            made.append(_writing(results, sizes[size], int(size), embedder))
    if results["safety"]:
        made.append(_safety(results))
    if results["quality"]:
        made.append(_quality(results))
    return made


def _searching(
    results: Mapping[str, Any], told: Mapping[str, Any], size: int, embedder: str
) -> Sheet:
    cells, rows = Cells(), []
    for name, label in _peers(results):
        own = told.get(name, {})
        reason = _absent(results, own, name, size)
        row = [label]
        for kind in KINDS:
            own_reason = reason or own["cannot"].get(kind) or own["failed"].get(kind)
            row.append(
                cells.dash(own_reason)
                if own_reason
                else cells.times(own["search"][kind], own["ours"].get(kind))
            )
        if reason is None and "filtered_hits" in own:
            row[-1] += f", {own['filtered_hits']:.1f} found"
        row.append(f"{100 * own['neighbours']:.0f} %" if "neighbours" in own else "–")
        rows.append(row)
    columns = ("", *(f"{kind}, ms" for kind in KINDS), "true neighbours")
    return Sheet(f"{size:,} memories, searching ({UNIT[embedder]})", columns, rows, cells.notes)


def _writing(
    results: Mapping[str, Any], told: Mapping[str, Any], size: int, embedder: str
) -> Sheet:
    cells, rows = Cells(), []
    for name, label in _peers(results):
        own = told.get(name, {})
        reason = _absent(results, own, name, size)
        if reason:
            rows.append([label, *[cells.dash(reason)] * 7])
            continue
        rate = size / own["bulk_seconds"]
        ours = own["ours"]
        ratio = f" ({rate * ours['bulk_seconds'] / size:.2f}×)" if ours.get("bulk_seconds") else ""
        importing = own["cannot"].get("import")
        rows.append(
            [
                label,
                f"{rate:,.0f}/s{ratio}",
                cells.times(own["add"], ours.get("add"))
                if own.get("add")
                else cells.dash(own["failed"].get("add", "not measured")),
                cells.dash(importing) if importing else _median(own, "import"),
                _median(own, "open"),
                _median(own, "first"),
                f"{own['peak'] / 1e6:,.0f} MB" if "peak" in own else "–",
                f"{own['disk'] / size:,.0f}",
            ]
        )
    columns = (
        "",
        "bulk",
        "single add, ms",
        "import, ms",
        "open, ms",
        "first search, ms",
        "peak memory",
        "bytes per memory",
    )
    return Sheet(
        f"{size:,} memories, writing and opening ({UNIT[embedder]})", columns, rows, cells.notes
    )


def _safety(results: Mapping[str, Any]) -> Sheet:
    cells, rows = Cells(), []
    for name, label in _peers(results):
        own = results["safety"].get(name)
        reason = results["peers"][name]["missing"] or ("not measured" if own is None else None)
        if reason:
            rows.append([label, *[cells.dash(reason)] * 5])
            continue
        assert own is not None
        rows.append(
            [
                label,
                *_forced(own["forced"], cells),
                *_writers(own["writers"], cells),
                _kills(own["kills"], cells),
            ]
        )
    columns = (
        "",
        "forced writes per add",
        "survives a power cut",
        "four writers: acknowledged",
        "of these there",
        "after five kills -9",
    )
    return Sheet("What is kept", columns, rows, cells.notes)


def _forced(told: Mapping[str, Any], cells: Cells) -> list[str]:
    if "failed" in told:
        return [cells.dash(told["failed"])] * 2
    each = told["calls"] / told["adds"]
    return [
        f"{each:.1f}",
        "yes, as far as forced writes tell" if each >= 1 else "no" if each == 0 else "not each add",
    ]


def _writers(told: Mapping[str, Any], cells: Cells) -> list[str]:
    if "asked" not in told:
        return [cells.dash(told["failed"])] * 2
    marks = [cells.note(f"{number} times: {error}") for error, number in told["errors"].items()]
    if "failed" in told:
        marks.append(cells.note(f"afterwards: {told['failed']}"))
    lost = told["acknowledged"] - told["there"]
    return [
        f"{told['acknowledged']} of {told['asked']}{' '.join(marks)}",
        f"{told['there']} of {told['acknowledged']}" + (f", {lost} lost" if lost else ""),
    ]


def _kills(told: Sequence[Mapping[str, Any]], cells: Cells) -> str:
    marks = sorted({cells.note(one["failed"]) for one in told if "failed" in one})
    counted = [one for one in told if "acknowledged" in one]
    if not counted:
        return f"–{' '.join(marks)}"
    acknowledged, there = (
        sum(one["acknowledged"] for one in counted),
        sum(one["there"] for one in counted),
    )
    lost = f", {acknowledged - there} lost" if there < acknowledged else ""
    return f"{there} of {acknowledged} there{lost}{' '.join(marks)}"


def _quality(results: Mapping[str, Any]) -> Sheet:
    cells, rows = Cells(), []
    for name, label in _peers(results):
        own = results["quality"].get(name, {"sets": {}, "failed": {}})
        row = [label]
        for data in SETS:
            if data in own["sets"]:
                row.append(
                    " / ".join(f"{mark:.3f}".lstrip("0") for mark in own["sets"][data]["marks"])
                )
            else:
                row.append(
                    cells.dash(
                        results["peers"][name]["missing"] or own["failed"].get(data, "not measured")
                    )
                )
        rows.append(row)
    asked = {
        data: max(
            (q["sets"].get(data, {}).get("questions", 0) for q in results["quality"].values()),
            default=0,
        )
        for data in SETS
    }
    columns = ("", *(f"{data} ({asked[data]} questions)" for data in SETS))
    return Sheet("Finding: recall among 5 / among 10 / nDCG among 10", columns, rows, cells.notes)


def _peers(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    told = results["peers"]
    return [
        (peer.name, f"{peer.label} {told[peer.name]['version']}")
        for peer in PEERS
        if peer.name in told
    ]


def _absent(results: Mapping[str, Any], own: Mapping[str, Any], name: str, size: int) -> str | None:
    """Say why there is nothing at this size; None if there is something."""
    if results["peers"][name]["missing"]:
        return str(results["peers"][name]["missing"])
    if not own:
        return "not measured"
    failed, minutes = own["failed"].get("fill") or own["failed"].get("open"), own["minutes"]
    if "reached" not in own:
        return str(failed)
    if own["reached"] < size:
        why = f" ({own['failed']['fill']})" if "fill" in own["failed"] else ""
        return f"{own['reached']:,} of {size:,} were there after {minutes:g} minutes{why}"
    if "search" not in own or not own["search"]:
        return f"{size:,} were given, but: {failed} (limit: {minutes:g} minutes)"
    return None


def _median(own: Mapping[str, Any], what: str) -> str:
    return _ms(statistics.median(own[what])) if own.get(what) else "–"


def _late(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def _ms(seconds: float) -> str:
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def show(results: Mapping[str, Any], console: Console) -> None:
    for sheet in sheets(results):
        drawn = Table(title=sheet.title, title_justify="left", box=None, pad_edge=False)
        for column in sheet.columns:
            drawn.add_column(column, justify="right" if column else "left")
        for row in sheet.rows:
            drawn.add_row(*row)
        console.print(drawn)
        for number, note in enumerate(sheet.notes, 1):
            console.print(f"{str(number).translate(RAISED)} {note}", markup=False)
        console.print()


def markdown(results: Mapping[str, Any]) -> str:
    """Write the same as Markdown for a page."""
    runs = results["runs"]
    parts = [
        f"- {run['what']}: {run['at']}, {run['machine']},"
        f" limit {run['minutes']:g} minutes; {_together(run)}"
        for run in runs
    ]
    for sheet in sheets(results):
        parts += ["", f"### {sheet.title}", "", "| " + " | ".join(sheet.columns) + " |"]
        parts.append("|" + "|".join("---:" if column else "---" for column in sheet.columns) + "|")
        parts += [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in sheet.rows
        ]
        parts.append("")
        parts += [
            f"{str(number).translate(RAISED)} {_safe(note)}  "
            for number, note in enumerate(sheet.notes, 1)
        ]
    return "\n".join(part.rstrip() if not part.endswith("  ") else part for part in parts).strip()


def _together(run: Mapping[str, Any]) -> str:
    """Name the peers that a run measured together."""
    labels = [peer.label for peer in PEERS if peer.name in run["peers"]]
    return "all in one run" if len(labels) == len(PEERS) else f"in one run: {'; '.join(labels)}"


def _safe(note: str) -> str:
    return note.replace("<", "&lt;").replace("|", "\\|")


def write(results: Mapping[str, Any], page: Path) -> None:
    """Put the tables between the markers of a page."""
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no place for the numbers: {BEGIN} … {END}")
    page.write_text(f"{before}{BEGIN}\n\n{markdown(results)}\n\n{END}{after}", "utf-8")
