"""Settings files in YAML, read into frozen values. What is wrong with one is told with its file, its line and its value."""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from lamina.errors import InvalidInput, Refused
from lamina.home import ownership
from lamina.text.words import one_line, shown

if TYPE_CHECKING:
    from yaml import MappingNode, SafeLoader, ScalarNode, SequenceNode

    Node = MappingNode | SequenceNode | ScalarNode

log = logging.getLogger("lamina")

MOST_BYTES = 1024 * 1024
LONGEST = 1000  # characters of one plain value; some of YAML's ways to write numbers take very long to read
TYPE_NAMES = {bool: "true or false", float: "a number", int: "a whole number", str: "a text"}
NODE_NAMES = {"sequence": "list", "mapping": "mapping"}
NULL = "tag:yaml.org,2002:null"
PLAIN = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "str"))

Value = TypeVar("Value")
Values = TypeVar("Values", bound=msgspec.Struct)


def load(path: Path, base: Values) -> Values:
    """The values of a file in the place of those of `base`, key by key. A file that is not there changes nothing.

    Keys and types are those of the class. It may refuse more when it is made, by an `InvalidInput` whose `key` (and
    `index`, in a list) says what it is about.
    """
    text = _text(path)
    if text is None:
        return base
    loader, root = _parsed(path, text)
    return (
        base
        if root is None or root.tag == NULL
        else _File(path, loader).struct(type(base), root, base)
    )


class Stamp(NamedTuple):
    """How a file looks from outside. Another look means that it has to be read again."""

    changed: int
    touched: int
    size: int
    number: int


class Watched(Generic[Value]):
    """What a file says, read again when the file has changed. A bad file leaves the last good value in force."""

    def __init__(self, path: Path, read: Callable[[Path], Value]) -> None:
        self.path = path
        self.problem: str | None = None
        self._read = read
        self._seen: Stamp | None = None
        self._good: tuple[Value] | None = None

    def current(self) -> Value:
        """The value in force. Raises only when there has never been a good one."""
        stamp = _stamp(
            self.path
        )  # before reading, so that a change meanwhile is seen the next time
        if self._good is not None and stamp == self._seen:
            return self._good[0]
        try:
            self._good, self.problem = (self._read(self.path),), None
        except (InvalidInput, Refused) as error:
            self.problem = error.message
            if self._good is None:
                raise
            log.warning("%s; what was read before stays in force", error.message)
        self._seen = stamp
        return self._good[0]


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:  # nothing there, or nothing that we may see: reading it says which
        return None
    return Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _text(path: Path) -> str | None:
    """The text of a file, or None when there is none."""
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


def _parsed(path: Path, text: str) -> tuple[SafeLoader, Any]:
    """The tree of nodes in a text, which know their lines, or None when it says nothing."""
    import yaml

    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line, character = text.count("\n", 0, error.position) + 1, shown(text[error.position])
        raise _wrong(path, line, f"not valid YAML: it holds the character {character}") from None
    try:
        return loader, loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _wrong(
            path,
            mark.line + 1 if mark else 1,
            f"not valid YAML: {one_line(str(error.problem), 200)}",
        ) from None
    except (ValueError, OverflowError):  # an escape or a version whose number is too large
        raise _wrong(path, loader.line + 1, "not valid YAML: a number in it is too large") from None
    except RecursionError:
        raise _wrong(path, loader.line + 1, "it is nested too deeply") from None


def _wrong(path: Path, line: int, message: str) -> InvalidInput:
    return InvalidInput(f"{path}, line {line}: {message}", file=str(path), line=line)


class _File:
    """One parsed file. The walk follows the types, so no nesting and no alias makes it longer than the types allow."""

    def __init__(self, path: Path, loader: SafeLoader) -> None:
        self._path = path
        self._loader = loader

    def struct(self, kind: type[Values], node: Node, base: Values | None = None) -> Values:
        """A mapping as a value of this class; what it does not say comes from `base`, or from the class."""
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        given = self._pairs(node, list(fields))
        for name, field in fields.items():
            if field.required and base is None and name not in given:
                raise self._blame(node, f"{name} is missing")
        values = {
            name: self._value(fields[name].type, value, name) for name, value in given.items()
        }
        try:
            return kind(**values) if base is None else msgspec.structs.replace(base, **values)
        except InvalidInput as error:
            place = given.get(str(error.details.get("key")), node)
            index = error.details.get("index")
            raise self._blame(
                place.value[index] if isinstance(index, int) else place, error.message
            ) from None

    def _pairs(self, node: Node, known: list[str]) -> dict[str, Node]:
        """The values of a mapping by their keys, each of which is known and there once."""
        if node.id != "mapping":
            raise self._blame(node, f"{_written(node)} is not a mapping of {', '.join(known)}")
        places: dict[str, Node] = {}
        pairs: dict[str, Node] = {}
        for key, value in node.value:
            name = key.value if key.id == "scalar" else ""
            if name not in known:
                raise self._blame(key, f"unknown key {_written(key)}{_hint(name, known)}")
            if name in places:
                raise self._blame(
                    key,
                    f"{name} is here a second time; the first is in line {_place(places[name])}",
                )
            places[name], pairs[name] = key, value
        return pairs

    def _value(self, kind: Any, node: Node, name: str) -> Any:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self.struct(kind, node)
        if get_origin(kind) is tuple:
            return self._items(get_args(kind)[0], node, name)
        if node.tag == NULL:
            raise self._blame(node, f"{name} has no value")
        found = self._scalar(node, name) if node.id == "scalar" else node
        try:
            if kind is float and type(found) is int:
                found = float(found)
        except OverflowError:
            raise self._blame(node, f"{name} = {_written(node)} is too large") from None
        if type(found) is not kind:
            quotes = "; put it into quotes" if kind is str and node.id == "scalar" else ""
            raise self._blame(node, f"{name} = {_written(node)} is not {TYPE_NAMES[kind]}{quotes}")
        return found

    def _items(self, kind: Any, node: Node, name: str) -> tuple[Any, ...]:
        if node.tag == NULL:  # a list whose entries are all commented out
            return ()
        if node.id != "sequence":
            raise self._blame(node, f"{name} = {_written(node)} is not a list")
        return tuple(self._value(kind, item, name) for item in node.value)

    def _scalar(self, node: Node, name: str) -> object:
        if len(node.value) > LONGEST:
            raise self._blame(
                node,
                f"{name} has a value of {len(node.value):,} characters; {LONGEST:,} are allowed",
            )
        try:
            # What is neither a text nor a number, such as a date, fits no type of ours and is left as it is.
            return self._loader.construct_object(node) if node.tag in PLAIN else node
        except (ValueError, LookupError):  # such as a text that is said to be a number
            raise self._blame(
                node, f"{name} = {_written(node)} cannot be read as {node.tag}"
            ) from None

    def _blame(self, node: Node, message: str) -> InvalidInput:
        return _wrong(self._path, _place(node), message)


def _place(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _written(node: Node) -> str:
    """A value as it stands in the file."""
    if node.id != "scalar":
        return f"a {NODE_NAMES[node.id]}"
    quoted = getattr(node, "style", None) is not None or not node.value
    return shown(node.value) if quoted else one_line(node.value, 200)


def _hint(name: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
