"""Say how an optional library is installed. Lamina is on no package index, only in its clone."""

from __future__ import annotations


def remedy(extra: str) -> str:
    """Say what to do if a library of an extra is missing; quoted so that every shell takes it."""
    return f'in a clone of Lamina, run `pip install ".[{extra}]"`'
