"""What is drawn from all mutants: the same with the same seed, and nothing that was seen before."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.bench import Bench, Options
from tests.mutation.operators import Mutant, mutants

SOURCE = "\n".join(f"NAME{number} = {number}" for number in range(100))


def drawn(made: list[Mutant], seed: int, *besides: int, most: int | None = 30) -> set[str]:
    bench = Bench(Options({}, (), None, seed, 1.0, 1, Path(), False, besides))
    return {one.key for one in bench._drawn(made, most)}


def test_what_other_seeds_draw_is_left_out(tmp_path: Path) -> None:
    """A count on mutants that nobody has seen is the sample of a seed without those of others;
    where all are tried, all are."""
    path = tmp_path / "module.py"
    path.write_text(SOURCE, "utf-8")
    made = mutants(path, "module")
    assert drawn(made, 1) == drawn(made, 1)
    assert len(drawn(made, 1)) == 30
    assert drawn(made, 1, 2, 3) == drawn(made, 1) - drawn(made, 2) - drawn(made, 3)
    assert drawn(made, 1, 2) & drawn(made, 2) == set()
    assert len(drawn(made, 1, 2, most=None)) == len(made) == 100
