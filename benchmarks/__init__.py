"""Benchmarks: each prints a table, and none is a timed test."""

import os

os.environ.setdefault("LAMINA_MAINTENANCE", "off")  # background jobs would be measured, too
