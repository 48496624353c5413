"""How what only some need is installed: the one place that says it. Lamina is on no index of packages, only in its clone."""

from __future__ import annotations


def remedy(extra: str) -> str:
    """What to do when a library of an extra is missing; quoted so that every shell takes it."""
    return f'in a clone of Lamina, run `pip install ".[{extra}]"`'
