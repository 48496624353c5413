"""Tools and integrations: check them, describe them in words, and keep them in editable files."""

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
# The hashes of what we wrote last: they tell an edit from a file that is merely outdated.
WRITTEN = ".written.json"
TOOL, INTEGRATION = "tool", "integration"
# While files are written, their notes also have the hashes of their earlier content.
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
    """A problem of a file, or of one of its entries. Such a file is left unchanged."""

    file: str
    message: str
    line: int | None = None
    field: str | None = None

    def to_dict(self) -> dict[str, Any]:
        fields = msgspec.structs.asdict(self)
        return {name: value for name, value in fields.items() if value is not None}


class World(NamedTuple):
    """The definitions and configs in the files, by name, and the problems of reading them."""

    tools: dict[str, Given]
    integrations: dict[str, Given]
    problems: list[Problem]


class telling:  # noqa: N801 - it is used like a function
    """Turn errors about a file inside the block into problems with it."""

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
    """Turn a tool, as MCP, OpenAI or Anthropic describe it, into a memory."""
    checked = _checked(definition, TOOL, "a tool definition")
    inner = _unwrapped(checked)
    if not isinstance(inner, Mapping) or "name" not in inner:
        raise InvalidInput(
            'a tool definition needs a name: {"name": …, "description": …, "parameters": {…}}'
        )
    name = entry_name(inner["name"], TOOL)
    if not isinstance(inner.get("description", ""), str):
        sort = type(inner["description"]).__name__
        raise InvalidInput(f"tool {name}: description is a {sort}, not a text")
    for schema in SCHEMAS:
        if not isinstance(inner.get(schema, {}), Mapping):
            sort = type(inner[schema]).__name__
            raise InvalidInput(f"tool {name}: {schema} is a {sort}, not a mapping")
    return _item(TOOL, name, checked, _tool_words(name, inner))


def integration(name: object, config: object) -> dict[str, Any]:
    """Turn the config of an integration into a memory."""
    name = entry_name(name, INTEGRATION)
    checked = _checked(config, f"{INTEGRATION} {name}", "a config")
    description = checked.get("description")
    in_title = ("description",) if isinstance(description, str) else ()
    words = [_title(INTEGRATION, name, description), *_facts(checked, in_title)]
    return _item(INTEGRATION, name, checked, words)


def entry_name(value: object, kind: str) -> str:
    """Return a name that is a valid file name on every system; raise for any other."""
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
    """Tell whether an entry may have this name."""
    try:
        return bool(entry_name(value, TOOL))
    except InvalidInput:
        return False


def parsed(data: bytes, place: str) -> Any:
    """Parse the JSON of a file; raise an error that says where it is wrong."""
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place} is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{place}, line {error.lineno}: this is not JSON: {error.msg}", line=error.lineno
        ) from None
    # Nested too deeply; or a duplicate key, or a number with thousands of digits.
    except (RecursionError, ValueError) as error:
        raise InvalidInput(f"{place} cannot be read: {error}") from None


def read_files(folder: Path) -> World:
    """Read the files. A bad file or entry becomes a problem, and does not stop the others."""
    world = World({}, {}, [])
    refuse_link(folder)
    for number, definition in enumerate(_definitions(folder / TOOLS, world.problems), 1):
        with telling(world.problems, TOOLS):
            _read_tool(definition, number, world.tools)
    files = _integration_files(folder)
    folded = Counter(file.stem.casefold() for file in files)
    for file in files:
        place = f"{INTEGRATIONS}/{one_line(file.name)}"
        with telling(world.problems, place):
            if folded[file.stem.casefold()] > 1:
                raise Conflict(
                    f"{place}: another file has this name in other letters; keep one of them"
                )
            config = parsed(_read(file, place) or b"", place)
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
    """Update the files, except those to keep; return those written or removed.

    First note what will be written, beside what was there before: then nothing that a crash leaves
    behind looks like an edit. Do not note edits that were taken from a person: until they are
    stored, only the file has them. `note_taken` does so afterwards.
    """
    named = {entry_name(_tool_name(definition), TOOL): definition for definition in tools}
    contents = {
        file_of(INTEGRATION, entry_name(name, INTEGRATION)): pretty(config)
        for name, config in integrations.items()
    }
    if named or (folder / TOOLS).exists():
        contents[TOOLS] = pretty([named[name] for name in sorted(named)])
    stems = [file.stem for file in _integration_files(folder) if is_name(file.stem)]
    present = [file_of(INTEGRATION, stem) for stem in stems]
    gone = [name for name in present if name not in contents and name not in keep]
    wanted = [name for name in sorted(contents) if name not in keep]
    changed = [name for name in wanted if not _holds(folder / name, contents[name])]
    if not contents and not gone and not (folder / WRITTEN).exists():
        return []
    for place in (folder, folder / INTEGRATIONS):
        refuse_link(place)
        make_private_folder(place)
    before = written(folder)
    notes = _without_taken(_notes(named, integrations, keep, before), before, taken)
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
    """Collect the hashes that files may still have for each entry about to change."""
    former: dict[str, dict[str, str]] = {}
    for kind, key in FORMER.items():
        old, new, still = before.get(kind, {}), notes[kind], before.get(key, {})
        changing = {name for name in {*old, *new} if old.get(name) != new.get(name)}
        former[key] = {}
        for name in {*changing, *still}:
            hashes = [*still.get(name, "").split(), old.get(name, NOTHING)]
            former[key][name] = " ".join(dict.fromkeys(hashes))
    return former


def written(folder: Path) -> dict[str, dict[str, str]]:
    """Read the hashes of what we wrote last, by kind and name.

    Without them everything counts as edited, which loses nothing.
    """
    data = _read(folder / WRITTEN, WRITTEN) or b"{}"
    try:
        return msgspec.json.decode(data, type=dict[str, dict[str, str]])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}


def note_taken(folder: Path, taken: Mapping[tuple[str, str], Given | None]) -> None:
    """Note what was taken from the files as ours, or as gone: once stored, it is not an edit."""
    known = written(folder)
    for (kind, name), value in taken.items():
        entries = known.setdefault(kind, {})
        if value is None:
            entries.pop(name, None)
        else:
            entries[name] = digest(value)
    write_private(folder / WRITTEN, hashing.encode(known))


def digest(value: Given) -> str:
    """Hash a definition or config, whatever its layout in a file."""
    return hashlib.sha256(hashing.encode(value)).hexdigest()


def file_of(kind: str, name: str) -> str:
    """Return the path of an entry's file, relative to the folder."""
    return TOOLS if kind == TOOL else f"{INTEGRATIONS}/{name}.json"


def pretty(value: Any) -> bytes:
    """Write JSON for people, with the same bytes for the same value."""
    return msgspec.json.format(hashing.encode(value), indent=2) + b"\n"


def _checked(value: object, owner: str, what: str) -> Given:
    """Return a mapping that JSON can represent and that holds no secret; raise for any other value.

    Secrets are looked for first, so that no message shows them.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{owner}: {what} is a mapping, not a {type(value).__name__}")
    secrets = detection.in_mapping(value)
    if secrets:
        path, kind = secrets[0]
        raise InvalidInput(
            f"{owner}: the field {path} holds a secret ({kind}), which is never stored;"
            ' put it into an environment variable and write the name of that, as in "${NAME}"',
            field=path,
            fields=[secret.path for secret in secrets],
        )
    hashing.check_json(value, owner)
    return value


def _unwrapped(definition: Given) -> Any:
    """Remove the wrapping that OpenAI puts around a tool."""
    wrapped = definition.get("type") == "function" and "function" in definition
    return definition["function"] if wrapped else definition


def _tool_name(definition: Given) -> object:
    inner = _unwrapped(definition)
    return inner.get("name") if isinstance(inner, Mapping) else None


def _item(kind: str, name: str, definition: Given, words: Iterable[str]) -> dict[str, Any]:
    return {
        "content": "\n".join(words)[:MAX_WORDS],
        "layer": Layer.WORLD,
        "kind": "data",
        "tags": [kind, name],
        "metadata": {"world": kind, "name": name, HELD[kind]: definition},
    }


def _title(kind: str, name: str, description: object) -> str:
    title = f"{kind.capitalize()} {name}"
    if isinstance(description, str) and description.strip():
        return f"{title}: {description.strip()}"
    return title


def _tool_words(name: str, inner: Given) -> Iterator[str]:
    """Describe in words what a tool does and takes, for people and searches."""
    yield _title(TOOL, name, inner.get("description"))
    for schema in (inner[key] for key in SCHEMAS if key in inner):
        fields, required = schema.get("properties"), schema.get("required")
        names = required if isinstance(required, (list, tuple)) else ()
        for field, about in fields.items() if isinstance(fields, Mapping) else ():
            yield _parameter(field, about, field in names)
    yield from _facts(inner, TOLD_ELSEWHERE)


def _parameter(name: str, about: object, is_required: bool) -> str:
    schema = about if isinstance(about, Mapping) else {}
    sort, description = schema.get("type"), schema.get("description")
    marks = ([sort] if isinstance(sort, str) else []) + (["required"] if is_required else [])
    words = f"- {name}"
    if marks:
        words += f" ({', '.join(marks)})"
    return f"{words}: {description}" if isinstance(description, str) else words


def _facts(definition: Given, without: Collection[str]) -> Iterator[str]:
    """Yield a line for every plain value; for a secret, the name of its variable."""
    kept = {key: value for key, value in definition.items() if key not in without}
    for leaf in detection.leaves(kept):
        if leaf.is_key or leaf.value in (None, ""):
            continue
        variables = detection.referred(leaf)
        if variables:
            yield f"{leaf.path}: from the environment variable {', '.join(variables)}"
        elif not detection.names_secret(leaf.name):
            is_text = isinstance(leaf.value, str)
            yield f"{leaf.path}: {leaf.value if is_text else hashing.encode(leaf.value).decode()}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object in which no key hides another."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same key twice")
    return value


def _definitions(file: Path, problems: list[Problem]) -> list[Any]:
    with telling(problems, file.name):
        data = _read(file, file.name)
        definitions = [] if data is None else parsed(data, file.name)
        if not isinstance(definitions, list):
            raise InvalidInput(f"{file.name} is not a list of tool definitions")
        return definitions
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
        files = place.iterdir() if place.is_dir() else ()
        return sorted(
            file for file in files if file.suffix == ".json" and not file.name.startswith(".")
        )
    except OSError as error:
        raise StoreUnavailable(f"{place} cannot be read: {error.strerror}") from error


def _read(file: Path, place: str) -> bytes | None:
    """Read a file of ours; None if there is no such file."""
    refuse_link(file)
    try:
        if not file.exists():
            return None
        if not file.is_file() or file.stat().st_size > MAX_FILE:
            raise InvalidInput(f"{place} is not a file of at most {MAX_FILE:,} bytes")
        return file.read_bytes()
    except PermissionError as error:  # a person has set this, and can change it
        raise InvalidInput(f"{place} cannot be read: {error.strerror}") from None
    # A disk error: nothing is wrong with the content of the file, and nothing in it needs repair.
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be read: {error.strerror}") from error


def _holds(file: Path, content: bytes) -> bool:
    """Tell whether a file has this content; one that cannot be read is rewritten."""
    refuse_link(file)
    try:
        return file.is_file() and file.read_bytes() == content
    except OSError:
        return False


def _remove(files: list[Path]) -> None:
    """Remove files so that a power cut does not bring them back."""
    for file in files:
        try:
            file.unlink(missing_ok=True)
            fsync_folder(file.parent)
        except OSError as error:
            raise StoreUnavailable(f"{file} cannot be removed: {error.strerror}") from error


def _without_taken(notes: Given, before: Given, taken: Collection[tuple[str, str]]) -> Given:
    """Return notes in which the taken entries are as before, or missing."""
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
    """Hash what is about to be written; files to keep keep their hashes."""
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
    hashes = {name: digest(definition) for name, definition in tools.items()}
    if TOOLS in keep:
        hashes = before.get(TOOL, {})
    return {TOOL: hashes, INTEGRATION: {**kept, **own}}
