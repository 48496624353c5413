"""Written cases: small stores, prompts, and the lines that a context must and must not have.

They are in `context_cases.json`, and are ours. `python -m benchmarks.context --cases` runs them.

The prompts in `context_prompts.json` and `context_prompts_held_out.json` use other words than the
memories; their writer did not know how memories are found. The latter are only counted.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import lamina
from lamina import Memory

CASES = Path(__file__).with_suffix(".json")
PROMPTS = tuple(
    Path(__file__).with_name(f"context_prompts{part}.json") for part in ("", "_held_out")
)


class Outcome(NamedTuple):
    """A prompt, what is missing from its context, and the noise in it."""

    store: str
    prompt: str
    missing: tuple[str, ...]
    noise: tuple[str, ...]
    kind: str = ""

    @property
    def is_good(self) -> bool:
        return not self.missing and not self.noise


@contextmanager
def filled(told: Mapping[str, Any]) -> Iterator[Memory]:
    """Yield the store of a case: a confirmed profile, explicit memories, a conversation."""
    home = Path(tempfile.mkdtemp(prefix="lamina-cases-"))
    try:
        with lamina.operator(home.name, home=home) as operator:  # its own agent, on a server too
            known = [operator.remember(text) for text in told.get("memories", ())]
            if told.get("profile"):
                patch = {**told["profile"], "instructions": told["instructions"]}
                operator.upsert_user_profile(patch, [known[0].id])
            if told["turns"]:
                turns = [{"speaker": who, "text": text} for who, text in told["turns"]]
                operator.remember_conversation(turns, session="earlier")
            operator.index()
            yield operator
    finally:
        shutil.rmtree(home, ignore_errors=True)


def outcomes(path: Path = CASES, *, slept: bool = False) -> Iterator[Outcome]:
    """Ask every prompt of every store."""
    for told in json.loads(path.read_text("utf-8")):
        with filled(told) as memory:
            if slept:
                memory.sleep()
                memory.index()
            for case in told["cases"]:
                text = memory.context(case["prompt"]).text
                yield Outcome(
                    told["name"],
                    case["prompt"],
                    tuple(one for one in case["needs"] if one not in text),
                    tuple(one for one in case["never"] if one in text),
                    case.get("kind", ""),
                )


def show(screen: Console) -> None:
    """Print how many cases are right, and what is wrong with the others."""
    for title, slept in (("written cases", False), ("written cases, after sleep", True)):
        every = list(outcomes(slept=slept))
        good = sum(one.is_good for one in every)
        screen.print(f"{title}: {good} of {len(every)}")
        for one in (one for one in every if not one.is_good):
            missing = f"; missing {', '.join(one.missing)}" if one.missing else ""
            noise = f"; noise {', '.join(one.noise)}" if one.noise else ""
            screen.print(f"  {one.store}: {one.prompt}{missing}{noise}")
    screen.print(_in_other_words())


def _in_other_words() -> Table:
    """Count the prompts whose context has what they need, and those without noise, by kind."""
    table = Table(
        "prompts", "slept", "kind", "asked", "found", "without noise", title="other words"
    )
    for path in PROMPTS:
        for slept in (False, True):
            by_kind: dict[str, list[Outcome]] = defaultdict(list)
            for one in outcomes(path, slept=slept):
                by_kind[one.kind].append(one)
            for kind, every in by_kind.items():
                found = sum(not one.missing for one in every)
                quiet = sum(not one.noise for one in every)
                row = (path.stem, "yes" if slept else "", kind, len(every), found, quiet)
                table.add_row(*map(str, row))
    return table
