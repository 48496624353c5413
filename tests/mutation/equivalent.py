"""Mutants that nobody could tell from the program, with the reason why: a line
of equivalent.jsonl each."""

from __future__ import annotations

import json
from pathlib import Path

_LINES = Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()
REASONS = {f"lamina.{row['mutant']}": row["why"] for row in map(json.loads, _LINES)}
