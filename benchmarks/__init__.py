"""Benchmarks: each prints a table, none is a timed test."""

import os

os.environ.setdefault("LAMINA_MAINTENANCE", "off")  # jobs in the background would be measured, too
