"""The list of equivalent mutants names mutants that exist."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from tests.cases import check_all
from tests.mutation.bench import PROGRAM, module_of
from tests.mutation.equivalent import REASONS
from tests.mutation.operators import mutants

MODULES = {module_of(path): path for path in PROGRAM.rglob("*.py")}


@cache
def keys(module: str) -> frozenset[str]:
    return frozenset(mutant.key for mutant in mutants(MODULES[module], module))


def test_every_equivalent_mutant_can_still_be_made() -> None:
    """A key that no longer matches a line of the source excuses nothing; the nearest
    ones are shown."""

    def check(key: str) -> None:
        module = max((name for name in MODULES if key.startswith(f"{name}.")), key=len)
        near = get_close_matches(key, keys(module), 3, 0.5) if key not in keys(module) else []
        assert key in keys(module), "\n".join(("now it may be one of", *near))

    check_all(REASONS, check)
