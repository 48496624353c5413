"""What a mutant is: a program with one mistake, of which each kind is made once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation.operators import control, mutants


def made(folder: Path, source: str) -> dict[str, str]:
    """The whole source of each mutant, by what it says in the place of the old line."""
    path = folder / "module.py"
    path.write_text(source, "utf-8")
    found = {}
    for one in mutants(path, "module"):
        old = one.mutation.apply()
        found[one.after] = ast.unparse(ast.fix_missing_locations(one.tree))
        one.mutation._replace(value=old).apply()
    return found


@pytest.mark.parametrize(
    ("line", "mistakes"),
    [
        ("return a < b", {"return a <= b", "return None"}),
        ("return a and not b", {"return a or not b", "return a and b", "return None"}),
        ("x = y[1:]", {"x = y[2:]", "x = y[:]", "x = None"}),
        ("return max(a, key=b)", {"return min(a, key=b)", "return max(a)", "return None"}),
        ("return [c for c in a if c]", {"return [c for c in a]", "return None"}),
        ("raise ValueError('a' + 'b')", {"pass"}),
        ("print(f'{a + 1}')", {"pass"}),
        ("x: Literal[1] = 2", {"x: Literal[1] = 3"}),
    ],
)
def test_each_mistake_is_made_once(tmp_path: Path, line: str, mistakes: set[str]) -> None:
    """Operators, bounds, signs, arguments, conditions and results; the words of errors and types
    are left alone."""
    found = made(tmp_path, f"def f(a, b, y):\n    {line}\n")
    assert set(found) == mistakes
    for after, source in found.items():
        assert source == ast.unparse(ast.parse(f"def f(a, b, y):\n    {after}\n"))


def test_what_a_module_says_when_it_is_loaded_is_told_apart(tmp_path: Path) -> None:
    """Constants, fields and defaults belong to no function, since a function that is there already
    does not hold them."""
    path = tmp_path / "module.py"
    path.write_text(
        '"""Words."""\nMOST = 5\nclass A:\n    """Words."""\n    low = 1\n    def f(self, '
        "by=2): return by * 3\n"
    )
    told = {(one.function, one.after.partition(":")[0]) for one in mutants(path, "module")}
    assert told == {
        ("", "MOST = 6"),
        ("", "low = 2"),
        ("", "def f(self, by=3)"),
        ("A.f", "return by / 3"),
        ("A.f", "return by * 4"),
        ("A.f", "return None"),
    }


def test_the_control_is_the_program_itself(tmp_path: Path) -> None:
    """What has to survive differs in nothing."""
    path = tmp_path / "module.py"
    path.write_text("x = 1\n")
    one = control(path, "module")
    one.mutation.apply()
    assert ast.unparse(one.tree) == "x = 1"
