"""Say how to install an optional library. Lamina is in no package index, only in its clone."""

from __future__ import annotations


def remedy(extra: str) -> str:
    """Say what to do if a library of an extra is missing, quoted so that any shell takes it."""
    return f'in a clone of Lamina, run `pip install ".[{extra}]"`'
