"""Small mistakes that a program could hold: each mutant is its source with one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SWAPS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *(
        (ast.Lt, ast.LtE),
        (ast.LtE, ast.Lt),
        (ast.Gt, ast.GtE),
        (ast.GtE, ast.Gt),
        (ast.Eq, ast.NotEq),
        (ast.NotEq, ast.Eq),
    ),
    *(
        (ast.Is, ast.IsNot),
        (ast.IsNot, ast.Is),
        (ast.In, ast.NotIn),
        (ast.NotIn, ast.In),
        (ast.And, ast.Or),
        (ast.Or, ast.And),
    ),
    *(
        (ast.Add, ast.Sub),
        (ast.Sub, ast.Add),
        (ast.Mult, ast.Div),
        (ast.Div, ast.Mult),
        (ast.FloorDiv, ast.Mult),
    ),
    *(
        (ast.Mod, ast.Mult),
        (ast.Pow, ast.Mult),
        (ast.BitAnd, ast.BitOr),
        (ast.BitOr, ast.BitAnd),
        (ast.BitXor, ast.BitAnd),
    ),
    *(
        (ast.LShift, ast.RShift),
        (ast.RShift, ast.LShift),
        (ast.Break, ast.Continue),
        (ast.Continue, ast.Break),
    ),
)
OTHER = dict(SWAPS)
PAIRS = (
    "lower upper|lstrip rstrip|find rfind|index rindex|startswith endswith|partition "
    "rpartition|min max|any all"
)
NAMES = {
    one: other for pair in PAIRS.split("|") for one, other in (pair.split(), pair.split()[::-1])
}
ANNOTATIONS = frozenset({"annotation", "returns", "type_comment"})


class Mutation(NamedTuple):
    """One change of a tree: a field of a node, or one place in a field that is a list."""

    node: ast.AST
    field: str
    place: int | None
    value: Any

    @property
    def old(self) -> Any:
        now = getattr(self.node, self.field)
        return now if self.place is None else now[self.place]

    def apply(self) -> Any:
        """Make the change; what stood there before comes back."""
        old = self.old
        if self.place is None:
            setattr(self.node, self.field, self.value)
        else:
            getattr(self.node, self.field)[self.place] = self.value
        return old


class Mutant(NamedTuple):
    """A mutation of a module: where it is, and what it says before and after."""

    module: str
    path: Path
    line: int
    function: str  # the outermost function, or nothing for what runs when the module is loaded
    names: frozenset[str]  # what that statement of the module defines
    before: str
    after: str
    tree: ast.Module
    mutation: Mutation

    @property
    def key(self) -> str:
        """Its name as long as its line stays the same, wherever that moves."""
        return f"{self.module}.{self.function or '(module)'}: {self.before} -> {self.after}"


def mutants(path: Path, module: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    tree = ast.parse(path.read_text("utf-8"))
    found = [
        _described(module, path, tree, function, names, statement, mutation)
        for function, names, whole, root in _parts(tree.body, "")
        for statement, mutation in _within(root, whole)
    ]
    unique = {
        one.key: one for one in found
    }  # where a line says the same twice, the last stands for both
    return sorted(unique.values(), key=lambda one: one.line)


def control(path: Path, module: str) -> Mutant:
    """A module as it is, which has to survive: else the tests would kill whatever
    they are given."""
    tree = ast.parse(path.read_text("utf-8"))
    return Mutant(
        module,
        path,
        0,
        "",
        frozenset(),
        "control",
        "control",
        tree,
        Mutation(tree, "type_ignores", None, []),
    )


def _parts(
    body: list[ast.stmt], owner: str
) -> Iterator[tuple[str, frozenset[str], ast.stmt, ast.AST]]:
    """A module as functions and statements of its own; the defaults of a function are made when the
    module is loaded."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{owner}{statement.name}", frozenset({statement.name}), statement, statement
            yield "", frozenset({statement.name}), statement, statement.args
        elif isinstance(statement, ast.ClassDef):
            yield from _parts(statement.body, f"{owner}{statement.name}.")
        elif not _is_docstring(statement) and not isinstance(
            statement, (ast.Import, ast.ImportFrom, ast.If)
        ):
            bound = {
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            yield "", frozenset(bound), statement, statement


def _within(node: ast.AST, statement: ast.stmt) -> Iterator[tuple[ast.stmt, Mutation]]:
    """The mutations of a node and of all below it, each with the statement that it is in."""
    if isinstance(node, ast.stmt):
        statement = node
    for mutation in _of(node):
        yield statement, mutation
    if isinstance(node, (ast.Raise, ast.JoinedStr)):
        # the words of an error or a sentence are for people; that it is raised and said is a
        # promise
        return
    for field, value in ast.iter_fields(node):
        if field in ANNOTATIONS or (
            field in ("decorator_list", "args") and isinstance(node, ast.FunctionDef)
        ):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_docstring(child):
                continue
            for new in _instead(child):
                yield (
                    child if isinstance(child, ast.stmt) else statement,
                    Mutation(node, field, place, new),
                )
            yield from _within(child, statement)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of(node: ast.AST) -> Iterator[Mutation]:
    """What can be changed in a node without another in its place."""
    match node:
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in NAMES:
            yield Mutation(node, "attr", None, NAMES[name])
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield Mutation(node, "id", None, NAMES[name])
        case ast.Call(keywords=keywords):
            yield from (
                Mutation(node, "keywords", None, [k for k in keywords if k is not one])
                for one in keywords
                if one.arg
            )
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, (ast.UnaryOp, ast.Compare)):
                yield Mutation(node, "test", None, ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=ifs):
            yield from (
                Mutation(node, "ifs", None, [i for i in ifs if i is not one]) for one in ifs
            )
        case ast.Slice(lower=lower, upper=upper):
            yield from (
                Mutation(node, field, None, None)
                for field, end in (("lower", lower), ("upper", upper))
                if end
            )
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=value) if not isinstance(
            value, ast.Constant
        ):
            yield Mutation(node, "value", None, ast.Constant(None))


def _instead(node: ast.AST) -> Iterator[ast.AST]:
    """What could stand in the place of a node."""
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)) | ast.Constant(value=float(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str(value)):
            yield ast.Constant(f"XX{value}XX")
        case ast.Constant(value=bytes(value)):
            yield ast.Constant(b"XX" + value)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Expr() | ast.Raise() | ast.AugAssign():
            yield ast.Pass()
        case ast.Call(func=ast.Name(id="sorted"), args=[first, *_]):
            yield ast.Call(ast.Name("list", ast.Load()), [first], [])
        case _ if type(node) in OTHER:
            yield OTHER[type(node)]()


def _described(
    module: str,
    path: Path,
    tree: ast.Module,
    function: str,
    names: frozenset[str],
    statement: ast.stmt,
    mutation: Mutation,
) -> Mutant:
    before = _head(statement)
    old = mutation.apply()
    after = _head(mutation.value) if isinstance(mutation.value, ast.stmt) else _head(statement)
    mutation._replace(value=old).apply()
    line = getattr(old, "lineno", getattr(mutation.node, "lineno", statement.lineno))
    return Mutant(module, path, line, function, names, *_difference(before, after), tree, mutation)


def _head(statement: ast.stmt) -> str:
    """A statement without the block below it."""
    lines = ast.unparse(statement).splitlines()
    heads = isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.FunctionDef, ast.Try))
    return lines[0] if heads else " ".join(line.strip() for line in lines)


def _difference(before: str, after: str) -> tuple[str, str]:
    """Two long lines are shown around the place where they differ."""
    start = next(
        (place for place, (one, two) in enumerate(zip(before, after, strict=False)) if one != two),
        0,
    )
    begin = max(0, start - 50)
    return before[begin : start + 60], after[begin : start + 60]
