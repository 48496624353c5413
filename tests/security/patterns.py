"""Every pattern of the package, how it is used, and the texts that would make it slow."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import lamina
from lamina.engines.claims import languages, tongues
from lamina.text.patterns import Bounded
from lamina.text.secrets.patterns import Lazy

ANCHORED = frozenset({"match", "fullmatch"})  # methods that look at one place only
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
MANY = 8  # a repeat of fewer is no loop


class Found(NamedTuple):
    """A pattern, the first name that leads to it, and what is asked of it."""

    name: str
    pattern: re.Pattern[Any]
    longest: int | None  # characters that it is shown at most, where the call enforces that
    method: str  # search, or the one way in which it is used


class Shape(NamedTuple):
    """A text of any length: a beginning, a piece that is repeated, and an end at which
    a match fails."""

    prefix: str
    pump: str
    suffix: str

    def text(self, size: int) -> str:
        return self.prefix + self.pump * max(1, size // len(self.pump)) + self.suffix


# --- which patterns there are
# -----------------------------------------------------------------------------------------


@cache
def modules() -> tuple[ModuleType, ...]:
    """Every module of the package, imported."""
    names = [
        one.name
        for one in pkgutil.walk_packages(lamina.__path__, "lamina.")
        if not one.name.endswith("__main__")
    ]
    imported = tuple(map(importlib.import_module, names))
    for tongue in tongues.ALL:  # compiled when a text needs it
        languages.grammar(tongue)
    return imported


@cache
def everything() -> tuple[Found, ...]:
    """The patterns that modules, classes and whatever they hold lead to, each once."""
    found: dict[tuple[Any, int, int | None], Found] = {}
    for module in modules():
        for name, value in vars(module).items():
            for path, pattern, longest in _held(value, f"{module.__name__}.{name}", set()):
                key = (pattern.pattern, pattern.flags, longest)
                found.setdefault(
                    key, Found(path, pattern, longest, _method(module.__name__, name, path))
                )
    return tuple(found.values())


def _held(
    value: Any, path: str, seen: set[int]
) -> Iterator[tuple[str, re.Pattern[Any], int | None]]:
    if isinstance(value, re.Pattern):
        yield path, value, None
    elif isinstance(value, Bounded):
        yield path, value.compiled, value.longest
    elif isinstance(value, Lazy):
        yield path, re.compile(*value._given), None
    elif id(value) not in seen:
        seen.add(id(value))
        for name, one in _parts(value):
            yield from _held(one, f"{path}{name}", seen)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a container or an object of ours holds."""
    if isinstance(value, Mapping):
        yield from ((f"[{key!r}]", one) for key, one in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from ((f".{name}", getattr(value, name)) for name in value._fields)
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from ((f"[{place}]", one) for place, one in enumerate(value))
    elif isinstance(value, type) and value.__module__.startswith("lamina"):
        yield from ((f".{name}", one) for name, one in list(vars(value).items()))
    elif isinstance(value, FunctionType) and value.__module__.startswith("lamina"):
        yield from (("()", cell.cell_contents) for cell in value.__closure__ or ())
    elif type(value).__module__.startswith("lamina"):
        yield from ((f".{name}", one) for name, one in getattr(value, "__dict__", {}).items())


# --- how they are used
# ------------------------------------------------------------------------------------------------


def _method(module: str, name: str, path: str) -> str:
    """The one method of a constant or a field that is ever called, if it looks at one place only;
    else search."""
    field = path.rpartition(".")[2]
    used = _uses().get(("", field), set()) | (
        _uses().get((module, name), set()) if path == f"{module}.{name}" else set()
    )
    return next(iter(used)) if len(used) == 1 and used <= ANCHORED else "search"


@cache
def _uses() -> Mapping[tuple[str, str], set[str]]:
    """What is called of a constant, by its module and name; every other mention of it counts
    as a search."""
    uses: dict[tuple[str, str], set[str]] = {}
    for module in modules():
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        called = {
            id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
        }
        for node in ast.walk(tree):
            if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(
                node.ctx, ast.Load
            ):
                continue
            if (used := called.get(id(node), "search")) not in ("pattern", "groupindex", "longest"):
                uses.setdefault(_meant(module, node), set()).add(used)
    return uses


def _meant(module: ModuleType, node: ast.Name | ast.Attribute) -> tuple[str, str]:
    """The module and the name of what some words of a module mean; no module if that
    is not known."""
    if isinstance(node, ast.Attribute):
        return _owner(module, node.value), node.attr
    imported = _imports(module).get(node.id)
    return imported or (module.__name__, node.id)


def _owner(module: ModuleType, node: ast.expr) -> str:
    """The name of the module or class that an attribute is taken from, if the words say it."""
    name = node.id if isinstance(node, ast.Name) else ""
    found = vars(module).get(name)
    if isinstance(found, type):
        return f"{found.__module__}.{found.__qualname__}"
    if isinstance(found, ModuleType):
        return found.__name__
    return ".".join(_imports(module).get(name, ()))


@cache
def _imports(module: ModuleType) -> Mapping[str, tuple[str, str]]:
    """Where names come from that a module imports."""
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        one.asname or one.name: (str(line.module), one.name) for line in lines for one in line.names
    }


# --- texts that would make them slow
# ----------------------------------------------------------------------------------

PALETTE = [*"aA1.@-_,'\":/()<>[]#+=?!&%*`~|\\é日ß \n\t", "\u00a0", "\x1f"]
GENERIC = (
    *" \t\n(['\"`<>-_/=*#+,;:!?1aA日\\", " \n", "a@", "a.b@", "a.", "1.", "1,", "--", "a-", "a_", "a/", "a=", "a ", "A ", "Aa",
    "Aa ", "A. ", "a, ", ", ", "; ", ": ", "> ", "| ", "I ", "my ", "and ", "http://", "```", "\"a ", "'a ", "é日 ",
    "\u200d", "\u0301", "\u2600", "\x1f",
)  # fmt: skip
FAILING = ("\x00", "\n a")
CATEGORIES: Mapping[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


def shapes(pattern: re.Pattern[Any]) -> Iterator[Shape]:
    """For every repeat what it repeats, behind what leads to it and before what it cannot end with;
    and common pieces."""
    source = (
        pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    )
    tree = parser.parse(
        source, pattern.flags & ~re.U if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    made = (
        *_pumped(list(tree)),
        *_whole(list(tree)),
        *(Shape("", piece, FAILING[0]) for piece in GENERIC),
    )
    return iter(dict.fromkeys(shape for shape in made if shape.pump))


def _pumped(tree: list[Any]) -> Iterator[Shape]:
    for before, body in _repeats(tree, [""]):
        pieces = _samples(body, 6)
        for prefix in before[:2]:
            for piece in pieces:
                yield from (Shape(prefix, piece, end) for end in FAILING)
                yield Shape("", prefix + piece, FAILING[0])
            yield Shape(prefix, "".join(pieces[:4]), FAILING[0])
            yield from (Shape("", prefix + piece * 30, FAILING[0]) for piece in pieces[:2])


def _whole(tree: list[Any]) -> Iterator[Shape]:
    """All of a pattern again and again, and before what must not follow."""
    ends = [end for inner in _assertions(tree) for end in _samples(inner, 1)]
    for sample in _samples(tree, 2):
        yield from (Shape("", piece, FAILING[0]) for piece in (sample, sample[:-1], f"{sample} "))
        yield from (Shape("", sample, end) for end in dict.fromkeys(ends))


def _assertions(nodes: list[Any]) -> Iterator[list[Any]]:
    for kind, value in nodes:
        for inner in _inside(kind, value):
            yield from _assertions(inner)
            if kind in (sre.ASSERT, sre.ASSERT_NOT):
                yield inner


def _repeats(nodes: list[Any], prefix: list[str]) -> Iterator[tuple[list[str], list[Any]]]:
    """Every repeat of a sequence: some texts that lead to it, and what it repeats."""
    for place, (kind, value) in enumerate(nodes):
        before = [start + sample for start in prefix[:2] for sample in _samples(nodes[:place], 2)][
            :3
        ] or prefix
        if kind in REPEATS:
            _, most, body = value
            if most is sre.MAXREPEAT or most >= MANY:
                yield before, list(body)
        for inner in _inside(kind, value):
            yield from _repeats(inner, before)


def _inside(kind: Any, value: Any) -> list[list[Any]]:
    """The sequences within one node."""
    if kind in REPEATS:
        return [list(value[2])]
    if kind is sre.SUBPATTERN:
        return [list(value[3])]
    if kind is sre.ATOMIC_GROUP:
        return [list(value)]
    if kind is sre.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [list(value[1])]
    if kind is sre.GROUPREF_EXISTS:
        return [list(branch) for branch in value[1:] if branch]
    return []


def _samples(nodes: list[Any], most: int) -> list[str]:
    """A few texts that a sequence matches, as far as single nodes tell."""
    made = [""]
    for kind, value in nodes:
        options = _one(kind, value, most)
        made = (
            list(islice((start + end for end in options for start in made), most))
            if options
            else made
        )
    return made


def _one(kind: Any, value: Any, most: int) -> list[str]:
    if kind is sre.LITERAL:
        return [chr(value)]
    if kind is sre.NOT_LITERAL:
        return [c for c in PALETTE if ord(c) != value][:most]
    if kind is sre.ANY:
        return ["a", " ", "."]
    if kind is sre.IN:
        return _class(value)[:most]
    if kind is sre.BRANCH:
        return [sample for branch in value[1] for sample in _samples(list(branch), 1)][
            : max(most, 6)
        ]
    if kind in REPEATS:
        least, longest, body = value
        return [
            sample * min(max(least, 1 if longest else 0), 60)
            for sample in _samples(list(body), most)
        ]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return []
    inside = _inside(kind, value)
    return _samples(inside[0], most) if inside else []


def _class(items: list[Any]) -> list[str]:
    """Some characters of a class."""
    own = [
        chr(value if kind is sre.LITERAL else value[0])
        for kind, value in items
        if kind in (sre.LITERAL, sre.RANGE)
    ]
    is_negated = items[0][0] is sre.NEGATE
    common = [
        c for c in PALETTE if any(_holds(kind, value, c) for kind, value in items) != is_negated
    ]
    return list(dict.fromkeys(common if is_negated else [*common, *own]))


def _holds(kind: Any, value: Any, character: str) -> bool:
    if kind is sre.LITERAL:
        return bool(ord(character) == value)
    if kind is sre.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return kind is sre.CATEGORY and CATEGORIES[value](character)
