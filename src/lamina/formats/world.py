"""Tools and integrations as they are written down: checked, told in words, and kept in files that people edit."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lamina.errors import Conflict, InvalidInput, LaminaError, Refused, StoreUnavailable
from lamina.home.folder import (
    DEVICES,
    fsync_folder,
    make_private_folder,
    refuse_link,
    write_private,
)
from lamina.model import hashing
from lamina.model.record import Layer
from lamina.text.secrets import detection
from lamina.text.words import one_line, shown

TOOLS, INTEGRATIONS = "tools.json", "integrations"
WRITTEN = ".written.json"  # what we wrote last, so that an edit can be told from a file that is merely older
TOOL, INTEGRATION = "tool", "integration"
# While files are written, their notes also have the hashes of what was there before.
FORMER = {TOOL: "former tool", INTEGRATION: "former integration"}
NOTHING = "-"
HELD = {TOOL: "definition", INTEGRATION: "config"}
SCHEMAS = ("parameters", "input_schema", "inputSchema")
TOLD_ELSEWHERE = frozenset(("name", "description", "type", "function", *SCHEMAS))
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
MAX_FILE = 16 * 1024 * 1024
MAX_WORDS = 8000

Given = Mapping[str, Any]


class Problem(msgspec.Struct, frozen=True):
    """What is wrong with a file, or with one entry of it. Such a file is left as it is."""

    file: str
    message: str
    line: int | None = None
    field: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            name: value for name, value in msgspec.structs.asdict(self).items() if value is not None
        }


class World(NamedTuple):
    """What the files say: definitions and configs by name, and what could not be read."""

    tools: dict[str, Given]
    integrations: dict[str, Given]
    problems: list[Problem]


class telling:  # noqa: N801 - it is used like a function
    """Errors about a file inside the block become problems of it."""

    def __init__(self, problems: list[Problem], file: str) -> None:
        self._problems = problems
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if not isinstance(error, (InvalidInput, Conflict, Refused)):
            return False
        message = error.message if self._file in error.message else f"{self._file}: {error.message}"
        details: dict[str, Any] = {
            name: error.details[name] for name in ("line", "field") if name in error.details
        }
        self._problems.append(Problem(self._file, message, **details))
        return True


def tool(definition: object) -> dict[str, Any]:
    """A tool as a memory to store. It may come as MCP, OpenAI and Anthropic describe tools."""
    given = _checked(definition, TOOL, "a tool definition")
    inner = _inner(given)
    if not isinstance(inner, Mapping) or "name" not in inner:
        raise InvalidInput(
            'a tool definition needs a name: {"name": …, "description": …, "parameters": {…}}'
        )
    name = entry_name(inner["name"], TOOL)
    if not isinstance(inner.get("description", ""), str):
        raise InvalidInput(
            f"tool {name}: description is a {type(inner['description']).__name__}, not a text"
        )
    for schema in SCHEMAS:
        if not isinstance(inner.get(schema, {}), Mapping):
            raise InvalidInput(
                f"tool {name}: {schema} is a {type(inner[schema]).__name__}, not a mapping"
            )
    return _item(TOOL, name, given, _tool_words(name, inner))


def integration(name: object, config: object) -> dict[str, Any]:
    """The config of an integration as a memory to store."""
    called = entry_name(name, INTEGRATION)
    given = _checked(config, f"{INTEGRATION} {called}", "a config")
    about = given.get("description")
    words = [
        _titled(INTEGRATION, called, about),
        *_facts(given, ("description",) if isinstance(about, str) else ()),
    ]
    return _item(INTEGRATION, called, given, words)


def entry_name(value: object, kind: str) -> str:
    """A name that can be a file's on every system."""
    if isinstance(value, str) and detection.in_text(value):
        raise InvalidInput(
            f"the name of this {kind} looks like a secret; choose another", field="name"
        )
    if not isinstance(value, str) or not NAME.fullmatch(value):
        allowed = "use letters, digits, _, - and ., at most 64, beginning with a letter, digit or _"
        raise InvalidInput(f"{kind} name {shown(value, 80)} is not allowed: {allowed}")
    if value.split(".")[0].casefold() in DEVICES:
        raise InvalidInput(
            f"{kind} name {value!r} is not allowed: it names a device on some systems"
        )
    return value


def is_name(value: object) -> bool:
    try:
        return bool(entry_name(value, TOOL))
    except InvalidInput:
        return False


def parsed(data: bytes, place: str) -> Any:
    """JSON from a file, or the error that says where it is none."""
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place} is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{place}, line {error.lineno}: this is not JSON: {error.msg}", line=error.lineno
        ) from None
    except (
        RecursionError,
        ValueError,
    ) as error:  # nested too deep, a key twice, a number of thousands of digits
        raise InvalidInput(f"{place} cannot be read: {error}") from None


def read_files(folder: Path) -> World:
    """What people and we have written. A bad file or entry is told, everything else is read."""
    world = World({}, {}, [])
    refuse_link(folder)
    for number, definition in enumerate(_definitions(folder / TOOLS, world.problems), 1):
        with telling(world.problems, TOOLS):
            _read_tool(definition, number, world.tools)
    files = _integration_files(folder)
    spelled = Counter(file.stem.casefold() for file in files)
    for file in files:
        place = f"{INTEGRATIONS}/{one_line(file.name)}"
        with telling(world.problems, place):
            if spelled[file.stem.casefold()] > 1:
                raise Conflict(
                    f"{place}: another file has this name in other letters; keep one of them"
                )
            config = parsed(_bytes(file, place) or b"", place)
            integration(file.stem, config)
            world.integrations[file.stem] = config
    return world


def write_files(
    folder: Path,
    tools: Iterable[Given],
    integrations: Mapping[str, Given],
    keep: Collection[str] = (),
    taken: Collection[tuple[str, str]] = (),
) -> list[str]:
    """Bring the files into line, except those to keep; which were written or removed.

    Note what is to be written first, beside what was there before: then nothing that a crash leaves
    behind looks like an edit. Do not note what was taken from a person: until it is stored, the file
    is all that has it. `note_taken` is for then.
    """
    named = {entry_name(_named(definition), TOOL): definition for definition in tools}
    contents = {
        file_of(INTEGRATION, entry_name(name, INTEGRATION)): pretty(config)
        for name, config in integrations.items()
    }
    if named or (folder / TOOLS).exists():
        contents[TOOLS] = pretty([named[name] for name in sorted(named)])
    present = [
        file_of(INTEGRATION, file.stem) for file in _integration_files(folder) if is_name(file.stem)
    ]
    gone = [name for name in present if name not in contents and name not in keep]
    changed = [
        name
        for name in sorted(contents)
        if name not in keep and not _holds(folder / name, contents[name])
    ]
    if not contents and not gone and not (folder / WRITTEN).exists():
        return []
    for place in (folder, folder / INTEGRATIONS):
        refuse_link(place)
        make_private_folder(place)
    before = written(folder)
    notes = _as_before(_notes(named, integrations, keep, before), before, taken)
    if changed or gone:
        _note(folder, {**notes, **_former(notes, before)})
    for name in changed:
        write_private(folder / name, contents[name])
    _remove([folder / name for name in gone])
    _note(folder, notes)
    return [*changed, *gone]


def _note(folder: Path, notes: Given) -> None:
    encoded = hashing.encode(notes)
    if not _holds(folder / WRITTEN, encoded):
        write_private(folder / WRITTEN, encoded)


def _former(notes: Given, before: Given) -> Given:
    """What the files may still hold of each entry that is about to change."""
    former: dict[str, dict[str, str]] = {}
    for kind, key in FORMER.items():
        old, new, still = before.get(kind, {}), notes[kind], before.get(key, {})
        changing = {name for name in {*old, *new} if old.get(name) != new.get(name)}
        told = {
            name: [*still.get(name, "").split(), old.get(name, NOTHING)]
            for name in {*changing, *still}
        }
        former[key] = {name: " ".join(dict.fromkeys(hashes)) for name, hashes in told.items()}
    return former


def written(folder: Path) -> dict[str, dict[str, str]]:
    """The hashes of what we wrote last, by kind and name. Without them all counts as edited, which loses nothing."""
    try:
        return msgspec.json.decode(
            _bytes(folder / WRITTEN, WRITTEN) or b"{}", type=dict[str, dict[str, str]]
        )
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def note_taken(folder: Path, taken: Mapping[tuple[str, str], Given | None]) -> None:
    """Note what was taken from the files as written by us, or as gone: now that it is stored, it is no edit."""
    known = written(folder)
    for (kind, name), value in taken.items():
        entries = known.setdefault(kind, {})
        if value is None:
            entries.pop(name, None)
        else:
            entries[name] = digest(value)
    write_private(folder / WRITTEN, hashing.encode(known))


def digest(value: Given) -> str:
    """What tells one definition or config from another, however it is laid out."""
    return hashlib.sha256(hashing.encode(value)).hexdigest()


def file_of(kind: str, name: str) -> str:
    """Where an entry is written, seen from the folder."""
    return TOOLS if kind == TOOL else f"{INTEGRATIONS}/{name}.json"


def pretty(value: Any) -> bytes:
    """JSON for people, the same bytes for the same value."""
    return msgspec.json.format(hashing.encode(value), indent=2) + b"\n"


def _checked(value: object, owner: str, what: str) -> Given:
    """A mapping that JSON can hold and that holds no secret. Secrets are looked for first: no message shows them."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{owner}: {what} is a mapping, not a {type(value).__name__}")
    found = detection.in_mapping(value)
    if found:
        path, kind = found[0]
        raise InvalidInput(
            f"{owner}: the field {path} holds a secret ({kind}), which is never stored; put it into an environment variable"
            ' and write the name of that, as in "${NAME}"',
            field=path,
            fields=[field.path for field in found],
        )
    hashing.check_json(value, owner)
    return value


def _inner(definition: Given) -> Any:
    """A tool without the wrapping that OpenAI gives it."""
    wrapped = definition.get("type") == "function" and "function" in definition
    return definition["function"] if wrapped else definition


def _named(definition: Given) -> object:
    inner = _inner(definition)
    return inner.get("name") if isinstance(inner, Mapping) else None


def _item(kind: str, name: str, given: Given, words: Iterable[str]) -> dict[str, Any]:
    return {
        "content": "\n".join(words)[:MAX_WORDS],
        "layer": Layer.WORLD,
        "kind": "data",
        "tags": [kind, name],
        "metadata": {"world": kind, "name": name, HELD[kind]: given},
    }


def _titled(kind: str, name: str, about: object) -> str:
    return f"{kind.capitalize()} {name}" + (
        f": {about.strip()}" if isinstance(about, str) and about.strip() else ""
    )


def _tool_words(name: str, inner: Given) -> Iterator[str]:
    """What a tool does and takes, for people and searches."""
    yield _titled(TOOL, name, inner.get("description"))
    for schema in (inner[key] for key in SCHEMAS if key in inner):
        fields, required = schema.get("properties"), schema.get("required")
        for field, about in fields.items() if isinstance(fields, Mapping) else ():
            yield _parameter(
                field, about, isinstance(required, (list, tuple)) and field in required
            )
    yield from _facts(inner, TOLD_ELSEWHERE)


def _parameter(name: str, about: object, required: bool) -> str:
    given = about if isinstance(about, Mapping) else {}
    sort, words = given.get("type"), given.get("description")
    marks = ([sort] if isinstance(sort, str) else []) + (["required"] if required else [])
    return (
        f"- {name}"
        + (f" ({', '.join(marks)})" if marks else "")
        + (f": {words}" if isinstance(words, str) else "")
    )


def _facts(given: Given, without: Collection[str]) -> Iterator[str]:
    """A line for every plain value. Where a secret belongs, only the name of its variable is told."""
    for leaf in detection.leaves(
        {key: value for key, value in given.items() if key not in without}
    ):
        if leaf.is_key or leaf.value in (None, ""):
            continue
        variables = detection.referred(leaf)
        if variables:
            yield f"{leaf.path}: from the environment variable {', '.join(variables)}"
        elif not detection.names_secret(leaf.name):
            yield f"{leaf.path}: {leaf.value if isinstance(leaf.value, str) else hashing.encode(leaf.value).decode()}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which no key may hide another."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def _definitions(file: Path, problems: list[Problem]) -> list[Any]:
    with telling(problems, file.name):
        data = _bytes(file, file.name)
        found = [] if data is None else parsed(data, file.name)
        if not isinstance(found, list):
            raise InvalidInput(f"{file.name} is not a list of tool definitions")
        return found
    return []


def _read_tool(definition: object, number: int, tools: dict[str, Given]) -> None:
    try:
        name = tool(definition)["metadata"]["name"]
    except LaminaError as error:
        raise type(error)(f"{TOOLS}, entry {number}: {error.message}", **error.details) from None
    if name.casefold() in map(str.casefold, tools):
        raise Conflict(f"{TOOLS}, entry {number}: there is another tool {name!r}; keep one of them")
    assert isinstance(definition, Mapping)
    tools[name] = definition


def _integration_files(folder: Path) -> list[Path]:
    place = folder / INTEGRATIONS
    refuse_link(place)
    try:
        found = place.iterdir() if place.is_dir() else ()
        return sorted(
            file for file in found if file.suffix == ".json" and not file.name.startswith(".")
        )
    except OSError as error:
        raise StoreUnavailable(f"{place} cannot be read: {error.strerror}") from error


def _bytes(file: Path, place: str) -> bytes | None:
    """What a file of ours holds; nothing when there is none."""
    refuse_link(file)
    try:
        if not file.exists():
            return None
        if not file.is_file() or file.stat().st_size > MAX_FILE:
            raise InvalidInput(f"{place} is not a file of at most {MAX_FILE:,} bytes")
        return file.read_bytes()
    except PermissionError as error:  # somebody has made it so, and can mend it
        raise InvalidInput(f"{place} cannot be read: {error.strerror}") from None
    except OSError as error:  # the disk: nothing is wrong with what the file says, and nothing to be repaired there
        raise StoreUnavailable(f"{file} cannot be read: {error.strerror}") from error


def _holds(file: Path, content: bytes) -> bool:
    """Whether a file needs no writing; what cannot be read is written anew."""
    refuse_link(file)
    try:
        return file.is_file() and file.read_bytes() == content
    except OSError:
        return False


def _remove(files: list[Path]) -> None:
    """Take files away so that a power cut does not bring them back."""
    for file in files:
        try:
            file.unlink(missing_ok=True)
            fsync_folder(file.parent)
        except OSError as error:
            raise StoreUnavailable(f"{file} cannot be removed: {error.strerror}") from error


def _as_before(notes: Given, before: Given, taken: Collection[tuple[str, str]]) -> Given:
    """Notes in which some entries are as they were before, or not there."""
    return {
        kind: {
            **{name: own for name, own in entries.items() if (kind, name) not in taken},
            **{name: old for name, old in before.get(kind, {}).items() if (kind, name) in taken},
        }
        for kind, entries in notes.items()
    }


def _notes(
    tools: Mapping[str, Given],
    integrations: Mapping[str, Given],
    keep: Collection[str],
    before: Given,
) -> Given:
    """The hashes of what is about to be written; files to keep keep theirs."""
    own = {
        name: digest(config)
        for name, config in integrations.items()
        if file_of(INTEGRATION, name) not in keep
    }
    kept = {
        name: old
        for name, old in before.get(INTEGRATION, {}).items()
        if file_of(INTEGRATION, name) in keep
    }
    return {
        TOOL: before.get(TOOL, {})
        if TOOLS in keep
        else {name: digest(value) for name, value in tools.items()},
        INTEGRATION: {**kept, **own},
    }
