"""Store what `benchmarks.scale` has measured, and draw it as curves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks import plot

FILE = Path(__file__).with_name("growth.json")
DRAWN = Path(__file__).parents[1] / "docs" / "scale.svg"
DIGITS = 3
# Each panel: what is counted, and its lines with the figure that each shows.
PANELS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "a question, by memories of an agent (ms)": (
        "memories",
        {name: name for name in ("first", "warm", "keyword", "filtered")},
    ),
    "memory and disk, by memories of an agent (MB)": (
        "memories",
        {"the process": "megabytes", "on disk": "megabytes on disk"},
    ),
    "a question, by users of an agent (ms)": (
        "users",
        {name: name for name in ("open", "open as a new user", "first", "warm")},
    ),
    "a process, by agents that it serves (ms, MB)": (
        "agents",
        {"opened and asked, ms": "asked", "kept for searches, MB": "megabytes kept"},
    ),
}
Curves = dict[str, dict[int, dict[str, float]]]  # kind, number, figure


def read() -> Curves:
    """Return all measurements so far."""
    kept = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return {
        kind: {int(number): figures for number, figures in points.items()}
        for kind, points in kept.items()
    }


def keep(kind: str, number: int, figures: Mapping[str, float]) -> None:
    """Add a point, or replace the figures that were measured again."""
    curves = read()
    point = curves.setdefault(kind, {}).setdefault(number, {})
    point.update({name: float(f"{value:.{DIGITS}g}") for name, value in figures.items()})
    ordered = {kind: dict(sorted(points.items())) for kind, points in curves.items()}
    FILE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


def draw() -> None:
    """Draw all curves that were measured."""
    curves = read()
    panels = {
        title: {
            line: [(number, point[name]) for number, point in curves[kind].items() if name in point]
            for line, name in lines.items()
        }
        for title, (kind, lines) in PANELS.items()
    }
    DRAWN.write_text(plot.decades("Growth, in milliseconds of the processor", panels), "utf-8")


if __name__ == "__main__":
    draw()
