"""`lamina review` in a terminal: the queue, each proposal beside what it would replace, and decisions that can be undone."""

from __future__ import annotations

from lamina.surfaces.cli.reviewer.reviewer import Reviewer, start

__all__ = ["Reviewer", "start"]
