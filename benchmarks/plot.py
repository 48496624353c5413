"""Bars and curves as an SVG, written by hand: a few rectangles and lines need no library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

WIDTH, ROW, LEFT = 900, 26, 230
COLOURS = (
    "#4c78a8",
    "#f58518",
    "#54a24b",
    "#e45756",
    "#72b7b2",
    "#b279a2",
    "#9d755d",
    "#888888",
    "#eeca3b",
    "#bab0ac",
)
SIDE = 340
MOST_WRONG = 0.15


STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.t{font-size:16px;font-weight:600}"
    ".s{fill:#666;font-size:11px}"
)


def shares(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Draw a page of bars: for each row, one share of 1 in each column."""
    columns = list(next(iter(rows.values())))
    room, height = (WIDTH - LEFT - 40) / len(columns), 70 + len(rows) * ROW
    parts = [_text(20, 28, title, "t")]
    for column, name in enumerate(columns):
        x, full = LEFT + column * room, room - 60
        parts.append(_text(x, 52, name, "s"))
        for row, (label, values) in enumerate(rows.items()):
            y = 62 + row * ROW
            if column == 0:
                parts.append(_text(20, y + 15, label))
            wide = full * values[name]
            colour = COLOURS[column % len(COLOURS)]
            size = f'width="{wide:.1f}" height="18"'
            parts.append(f'<rect x="{x:.1f}" y="{y}" {size} fill="{colour}"/>')
            parts.append(_text(x + wide + 6, y + 14, f"{values[name]:.3f}", "s"))
    return _page(height, parts)


Panels = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]


def decades(title: str, panels: Panels) -> str:
    """Draw a page of panels, two in a row, with lines over logarithmic axes."""
    parts = [_text(20, 28, title, "t")]
    for place, (name, lines) in enumerate(panels.items()):
        left, top = 60 + place % 2 * (WIDTH // 2), 80 + place // 2 * SIDE
        parts.append(_text(left - 40, top - 14, name, "s"))
        parts.extend(_panel(lines, left, top))
    return _page(60 + (len(panels) + 1) // 2 * SIDE, parts)


def _panel(
    lines: Mapping[str, Sequence[tuple[float, float]]], left: int, top: int
) -> Iterator[str]:
    wide, tall = WIDTH // 2 - 90, SIDE - 110
    across = _span([x for points in lines.values() for x, _ in points])
    up = _span([y for points in lines.values() for _, y in points])

    def x_of(value: float) -> float:
        return left + wide * (math.log10(value) - across[0]) / (len(across) - 1)

    def y_of(value: float) -> float:
        return top + tall * (1 - (math.log10(value) - up[0]) / (len(up) - 1))

    for power in up:
        y = y_of(10.0**power)
        yield f'<line x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(left - 42, y + 4, _rounded(10.0**power), "s")
    for power in across:
        x = x_of(10.0**power)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + tall}" stroke="#eee"/>'
        yield _text(x - 8, top + tall + 16, _rounded(10.0**power), "s")
    x, y = left, top + tall + 34
    for colour, (name, points) in zip(COLOURS, lines.items(), strict=False):
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'<rect x="{x}" y="{y - 6}" width="12" height="4" fill="{colour}"/>'
        yield _text(x + 16, y, name, "s")
        x += 34 + 6 * len(name)


def _rounded(value: float) -> str:
    """Format a power of ten as briefly as people write it."""
    for size, letter in ((10**6, "M"), (10**3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _span(values: Sequence[float]) -> range:
    """Return the powers of ten that enclose the values; at least two."""
    low = math.floor(math.log10(min(values)))
    return range(low, max(math.ceil(math.log10(max(values))), low + 1) + 1)


def _page(height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<style>{STYLE}</style>"
    )
    ground = f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def svg(
    recall: Mapping[str, Mapping[str, Sequence[float]]],
    curves: Mapping[str, Sequence[tuple[float, float]]],
) -> str:
    """Draw a page: recall of every system as bars, and right against wrong refusals as curves."""
    bars = list(_bars(recall))
    top = 60 + (len(recall) + 1) * ROW
    lines = list(_curves(curves, top + 70))
    height = top + 70 + SIDE + 60
    return _page(height, [*bars, *lines])


def _bars(recall: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[str]:
    yield _text(
        20, 28, "Recall: share of the gold turns among the first 5 (dark) and 10 (light)", "t"
    )
    sets = list(next(iter(recall.values())))
    room = (WIDTH - LEFT - 40) / len(sets)
    for column, data in enumerate(sets):
        yield _text(LEFT + column * room, 52, data, "s")
    for row, (system, values) in enumerate(recall.items()):
        y = 62 + row * ROW
        yield _text(20, y + 15, system)
        for column, data in enumerate(sets):
            x, (five, ten) = LEFT + column * room, values[data]
            full = room - 90
            fill = f'height="18" fill="{COLOURS[column]}"'
            start = f'<rect x="{x:.1f}" y="{y}"'
            yield f'{start} width="{full * ten:.1f}" {fill} opacity=".35"/>'
            yield f'{start} width="{full * five:.1f}" {fill}/>'
            yield _text(x + full * ten + 6, y + 14, f"{five:.3f} / {ten:.3f}", "s")


def _curves(curves: Mapping[str, Sequence[tuple[float, float]]], top: int) -> Iterator[str]:
    yield _text(
        20,
        top - 24,
        "Refusals: questions without an answer (up) against answerable ones (right)",
        "t",
    )
    x0, y0 = 60, top + SIDE - 40
    wide, tall = 420, SIDE - 50
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = y0 - share * tall
        yield f'<line x1="{x0}" x2="{x0 + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield _text(x0 - 36, y + 4, f"{share:.0%}", "s")
    for wrong in (0, 0.03, 0.06, 0.09, 0.12, 0.15):
        x = x0 + wide * wrong / MOST_WRONG
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y0}" y2="{y0 - tall}" stroke="#eee"/>'
        yield _text(x - 8, y0 + 16, f"{wrong:.0%}", "s")
    for place, (name, points) in enumerate(sorted(curves.items())):
        colour = COLOURS[place % len(COLOURS)]
        shown = [
            (x0 + wide * wrong / MOST_WRONG, y0 - right * tall)
            for wrong, right in points
            if wrong <= MOST_WRONG
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        start = f'<rect x="{x0 + wide + 30}" y="{top + 8 + place * 24}"'
        yield f'{start} width="14" height="4" fill="{colour}"/>'
        yield _text(x0 + wide + 52, top + 15 + place * 24, name)


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}"'
        + (f' class="{kind}"' if kind else "")
        + f">{escape(words)}</text>"
    )
