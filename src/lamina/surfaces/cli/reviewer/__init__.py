"""The full-screen reviewer of `lamina review`.

It shows the queue, and each proposal beside what it would replace; confirmations can be undone.
"""

from __future__ import annotations

from lamina.surfaces.cli.reviewer.reviewer import Reviewer, start

__all__ = ["Reviewer", "start"]
