"""Read YAML settings files into frozen structs; an error names the file, the line and the value.

PyYAML parses and msgspec checks. What both leave open is here: who may own such a file, how large
it may be, which YAML features are forbidden, when it is read again, and the error messages.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args

import msgspec

from lamina.errors import InvalidInput, Refused
from lamina.home import ownership
from lamina.text.words import meant, one_line, shown

if TYPE_CHECKING:
    from yaml import MappingNode, Node, SafeLoader

MOST_BYTES = 1024 * 1024
# Characters of one plain value; some of YAML's notations for numbers are very slow to parse.
LONGEST = 1000
# A step of the path that msgspec appends to an error, such as $.every[0].minutes.
STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
TYPE_NAMES = {bool: "true or false", float: "a number", int: "a whole number", str: "a text"}

Value = TypeVar("Value")
Values = TypeVar("Values", bound=msgspec.Struct)


class InvalidField(InvalidInput, ValueError):  # noqa: N818
    """A struct refuses the value of its field `key`, or the item `index` in it.

    It is also a `ValueError`, because msgspec adds the path of the struct to these.
    """


class Place(NamedTuple):
    """A part of a file: a key, or the entry `name` in the list of a key."""

    key: str
    name: str = ""


def load(path: Path, base: Values) -> Values:
    """Read the values of a file over those of `base`, key by key. A missing file changes nothing.

    Keys and types are those of the class, which forbids unknown fields. When it is created, it may
    refuse more with an `InvalidField`.
    """
    return load_shared(path, base, lambda place: True)[0]


def load_shared(
    path: Path, base: Values, is_ours: Callable[[Place], bool]
) -> tuple[Values, tuple[Place, ...]]:
    """Read a file that another program may also use; also return the places that are not ours.

    Of those nothing is read, whatever they contain. What is ours is checked as by `load`.
    """
    text = _read(path)
    root = None if text is None else _parse(path, text)
    others = () if root is None else tuple(_take_out(root, is_ours))
    return _converted(path, base, str(text), root), others


def _converted(path: Path, base: Values, text: str, root: Node | None) -> Values:
    values = None if root is None else _constructed(path, text, root)
    if values is None:
        return base
    if isinstance(values, dict):
        for name, value in values.items():
            if value is None and isinstance(getattr(base, name, None), tuple):
                values[name] = ()  # a list whose entries are all commented out
        values = msgspec.structs.asdict(base) | values
    try:
        return msgspec.convert(values, type(base))
    except msgspec.ValidationError as error:
        line, problem = _explain(error, type(base), root)
        raise _wrong(path, line, problem) from None


class Watched(Generic[Value]):
    """The value of a file, read again when that changes. A bad file leaves the last good value."""

    def __init__(self, path: Path, read: Callable[[Path], Value]) -> None:
        self.path = path
        self.problem: str | None = None
        self._read = read
        self._seen: tuple[int, ...] | None = None
        self._good: tuple[Value] | None = None

    def current(self) -> Value:
        """Return the value in force. Raise only if there has never been a good one."""
        stamp = _stamp(self.path)  # before reading, so that a change during it is noticed next time
        if self._good is not None and stamp == self._seen:
            return self._good[0]
        try:
            self._good, self.problem = (self._read(self.path),), None
        except (InvalidInput, Refused) as error:
            self.problem = error.message
            if self._good is None:
                raise
            import logging  # which takes longer than reading a file

            problem = "%s; what was read before stays in force"
            logging.getLogger("lamina").warning(problem, error.message)
        self._seen = stamp
        return self._good[0]


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return the file's status. If it has changed, the file has to be read again."""
    try:
        status = path.stat()
    except OSError:  # missing, or not accessible: reading it will tell
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _read(path: Path) -> str | None:
    """Read the text of a file; None if there is no file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is not a file")
        with ownership.opened(path) as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise InvalidInput(
            f"{path} has more than {MOST_BYTES:,} bytes, which is too long for settings"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _wrong(path, line, f"the byte {raw[error.start]:#04x} is not UTF-8") from None


@cache
def _loader() -> type[SafeLoader]:
    """Create a loader that refuses what PyYAML would accept. Importing yaml takes long."""
    import yaml

    def problem(node: Node, message: str) -> yaml.constructor.ConstructorError:
        return yaml.constructor.ConstructorError(None, None, message, node.start_mark)

    class Loader(yaml.SafeLoader):
        def flatten_mapping(self, node: MappingNode) -> None:
            """Check the keys, and merge nothing: with `<<`, a short file could grow without end."""
            lines: dict[str, int] = {}
            for key, _ in node.value:
                is_name = key.tag.endswith(":str") and key.value.isidentifier()
                if not is_name or not node.tag.endswith(":map"):
                    raise problem(key, f"unknown key {_written(key)}")
                if first := lines.get(key.value):
                    again = f"{key.value} is here a second time; the first is in line {first}"
                    raise problem(key, again)
                lines[key.value] = _line(key)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            if node.id == "scalar" and len(node.value) > LONGEST:
                length = f"a value of {len(node.value):,} characters; {LONGEST:,} are allowed"
                raise problem(node, length)
            try:
                return super().construct_object(node, deep)
            except (ValueError, LookupError, AttributeError):  # a text that is tagged as a number
                raise problem(node, f"{_written(node)} cannot be read as {node.tag}") from None

    return Loader


def _parse(path: Path, text: str) -> Node | None:
    """Parse a text into nodes; None for an empty one."""
    root: Node | None = _reading(path, text, lambda loader: loader.get_single_node())
    return root


def _constructed(path: Path, text: str, root: Node) -> Any:
    """Construct plain values from nodes.

    Aliases share one object, and the conversion follows the types: neither can grow without limit.
    """
    return _reading(path, text, lambda loader: loader.construct_document(root))


def _reading(path: Path, text: str, step: Callable[[SafeLoader], Any]) -> Any:
    """Run one step of reading a text, and explain errors in words for people."""
    import yaml

    try:
        loader = _loader()(text)
    except yaml.reader.ReaderError as error:
        line, character = text.count("\n", 0, error.position) + 1, shown(text[error.position])
        raise _wrong(path, line, f"not valid YAML: it holds the character {character}") from None
    try:
        return step(loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else loader.line
        is_syntax = not isinstance(error, yaml.constructor.ConstructorError)
        problem = ("not valid YAML: " if is_syntax else "") + one_line(str(error.problem), 300)
    except (ValueError, OverflowError):  # an escape or a version with a number that is too large
        line, problem = loader.line, "not valid YAML: a number in it is too large"
    except RecursionError:
        line, problem = loader.line, "it is nested too deeply"
    raise _wrong(path, line + 1, problem)


def _take_out(root: Any, is_ours: Callable[[Place], bool]) -> Iterator[Place]:
    """Remove from a mapping, and from the lists in it, what is not ours; yield the places."""
    if root.id != "mapping":
        return
    ours = []
    for key, value in root.value:
        # A key that is not a text, such as a merge key, is kept, and refused later.
        is_text = key.id == "scalar" and key.tag.endswith(":str")
        if not is_text or is_ours(Place(key.value)):
            ours.append((key, value))
            if is_text and value.id == "sequence":
                yield from _take_out_entries(key.value, value, is_ours)
        else:
            names = map(_name, value.value) if value.id == "sequence" else ()
            yield from [Place(key.value, name) for name in names if name] or [Place(key.value)]
    root.value = ours


def _take_out_entries(key: str, entries: Any, is_ours: Callable[[Place], bool]) -> Iterator[Place]:
    """Remove named entries that are not ours from a list; those without a name stay."""
    places = [Place(key, _name(entry)) for entry in entries.value]
    mine = [not place.name or is_ours(place) for place in places]
    entries.value = [entry for entry, is_mine in zip(entries.value, mine, strict=True) if is_mine]
    yield from (place for place, is_mine in zip(places, mine, strict=True) if not is_mine)


def _name(item: Any) -> str:
    """Return the name of an entry: its text, or its value of `name`."""
    if item.id == "mapping":
        names = (value for key, value in item.value if key.value == "name")
        item = next(names, item)
    return str(item.value) if item.id == "scalar" else ""


def _wrong(path: Path, line: int, message: str) -> InvalidInput:
    return InvalidInput(f"{path}, line {line}: {message}", file=str(path), line=line)


def _explain(error: msgspec.ValidationError, kind: Any, root: Node | None) -> tuple[int, str]:
    """Find the line that an error of msgspec is about, and say what would be correct."""
    refusal = error.__cause__
    problem, _, where = str(error).removeprefix(str(refusal)).partition(" - at ")
    steps: list[Any] = [name or int(index) for name, index in STEP.findall(where)]
    if isinstance(refusal, InvalidField):
        return _line(_locate(kind, root, [*steps, *refusal.details.values()])[1]), refusal.message
    kind, node = _locate(kind, root, steps)
    name = next((step for step in reversed(steps) if isinstance(step, str)), "")
    known = list(getattr(kind, "__struct_fields__", ()))
    if "unknown field" in problem:
        key = next(key for key, _ in node.value if key.value not in known)
        hint = meant(key.value, known) or f"; known are {', '.join(known)}"
        return _line(key), f"unknown key {key.value}{hint}"
    if "missing" in problem:
        right = f"{problem.split('`')[1]} is missing"
    elif known:
        right = f"{_written(node)} is not a mapping of {', '.join(known)}"
    elif node.tag.endswith(":null"):
        right = f"{name} has no value"
    elif "out of range" in problem:
        right = f"{name} = {_written(node)} is too large"
    else:
        right = f"{name} = {_written(node)} is not {TYPE_NAMES.get(kind, 'a list')}"
        right += "; put it into quotes" if kind is str and node.id == "scalar" else ""
    return _line(node), right


def _locate(kind: Any, node: Any, steps: list[Any]) -> tuple[Any, Any]:
    """Follow a path through the types and nodes of a file."""
    for step in steps:
        if isinstance(step, int):
            kind, node = get_args(kind)[0], node.value[step]
        else:
            kind = {field.name: field.type for field in msgspec.structs.fields(kind)}[step]
            node = next((value for key, value in node.value if key.value == step), node)
    return kind, node


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _written(node: Any) -> str:
    """Return a value as written in the file."""
    if node.id != "scalar":
        return "a list" if node.id == "sequence" else "a mapping"
    is_quoted = node.style is not None or not node.value
    return shown(node.value) if is_quoted else one_line(node.value, 200)
