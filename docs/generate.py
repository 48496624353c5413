"""Write docs/reference.md from the program; `make docs` runs it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from fastapi import FastAPI

import lamina
from lamina import errors
from lamina.home import settings as config
from lamina.memory.agent import Memory
from lamina.memory.browsing import Browsing
from lamina.memory.operator import Operator
from lamina.memory.pool import Pool
from lamina.memory.runs import Run
from lamina.memory.shared import Guest
from lamina.memory.world import WorldModel
from lamina.surfaces.cli.main import cli, memory
from lamina.surfaces.hooks import Hooks, Switches, protocol, switches
from lamina.surfaces.http import routes
from lamina.surfaces.mcp import tools
from lamina.surfaces.mcp.schemas import schema

TARGET = Path(__file__).parent / "reference.md"
LONGEST = 100  # of a line of code
INTERNAL = "is the way to call this"
MODULES = re.compile(r"\b(?:builtins|lamina\.\w+)\.")


def reference() -> str:
    """The whole page."""
    parts = ["# Reference", "", "Made by `make docs` from the program itself.", ""]
    sections: dict[str, Callable[[], Iterator[str]]] = {
        "Settings": settings,
        "Errors": exceptions,
        "Python": verbs,
        "HTTP routes": http_routes,
        "MCP tools": mcp_tools,
        "Hook events": hook_events,
        "Commands": commands,
    }
    parts += [f"- [{name}](#{name.lower().replace(' ', '-')})" for name in sections]
    for name, lines in sections.items():
        parts += ["", f"## {name}", "", *lines()]
    return "\n".join(parts).rstrip() + "\n"


def settings() -> Iterator[str]:
    yield (
        'In `config.toml` of the home (`[audit]` `reads = "strict"`), over it the environment,'
        " over it an argument."
    )
    yield ""
    yield "| setting | default | environment | meaning |"
    yield "|---|---|---|---|"
    for setting in config.SETTINGS:
        name, default = f"`{setting.name}`", f"`{setting.default!r}`"
        variable = "only in the file" if setting.file_only else f"`{setting.variable}`"
        yield f"| {name} | {default} | {variable} | {setting.help} |"
    yield ""
    yield (
        "`LAMINA_HOME`, `LAMINA_AGENT`, `LAMINA_USER` are the defaults of the program's options;"
        " `LAMINA_ROLE=agent` makes it"
    )
    yield (
        "refuse what only an operator may do,"
        " and every other agent and user than the two that are set."
    )
    yield (
        "`LAMINA_SHARED_GROUP` names the group, by name or number, that shares the home:"
        " what belongs to it is trusted."
    )
    yield "No file can set it, since anyone who may write to the home could write that file."


def exceptions() -> Iterator[str]:
    yield "| exception | code | meaning |"
    yield "|---|---|---|"
    for error in every_error(errors.LaminaError):
        yield f"| `{error.__name__}` | `{error.code}` | {error.__doc__} |"


def every_error(kind: type[errors.LaminaError]) -> Iterator[type[errors.LaminaError]]:
    """An error and everything that is one of its kind, as far as errors.py has them."""
    yield kind
    for narrower in kind.__subclasses__():
        if narrower.__module__ == errors.__name__:
            yield from every_error(narrower)


def verbs() -> Iterator[str]:
    for function in (lamina.open, lamina.operator, lamina.pool):
        yield from entry(f"lamina.{function.__name__}", function)
    for title, kind, known in (
        ("An agent's handle", Memory, ()),
        ("An operator's handle, which can also do all of the above", Operator, dir(Memory)),
        ("A pool, from `lamina.pool()`", Pool, ()),
        ("A run, from `memory.run(task)`", Run, ()),
        ("Another agent's memory, from `memory.shared(agent)`", Guest, ()),
        ("Leafing through, `memory.browsing`", Browsing, ()),
        ("The world model, `memory.world`", WorldModel, ()),
        ("Hooks, from `lamina.surfaces.hooks`", Hooks, ()),
    ):
        yield f"### {title}"
        yield ""
        for name, function in methods(kind):
            if name not in known or getattr(Memory, name, None) is not function:
                yield from entry(name, function)


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public verbs of a class by name, but those that only another class calls."""
    for name, function in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and INTERNAL not in (function.__doc__ or ""):
            yield name, function


def entry(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """A verb as one would write it, and what it does."""
    assert function.__doc__, name
    yield "```python"
    yield called(name, inspect.signature(function))
    yield "```"
    yield ""
    yield " ".join(function.__doc__.split())
    yield ""


def called(name: str, signature: inspect.Signature) -> str:
    """A signature on one line, or with each argument on its own when that is too long."""
    given = [one for one in signature.parameters.values() if one.name != "self"]
    words: list[str] = []
    for one in given:
        if one.kind is one.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        words.append(parameter(one))
    end = f" -> {MODULES.sub('', str(signature.return_annotation))}: ..."
    line = f"def {name.rpartition('.')[2]}({', '.join(words)}){end}"
    if len(line) <= LONGEST:
        return line
    return f"def {name.rpartition('.')[2]}(\n    " + ",\n    ".join(words) + f",\n){end}"


def parameter(one: inspect.Parameter) -> str:
    stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    kind = "" if one.annotation is one.empty else f": {MODULES.sub('', str(one.annotation))}"
    default = "" if one.default is one.empty else f" = {literal(one.default)}"
    return f"{stars}{one.name}{kind}{default}"


def literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def http_routes() -> Iterator[str]:
    yield (
        "`GET` and `HEAD`, with a token; see [http.md](http.md)."
        " The console has pages of its own: [console.md](console.md)."
    )
    yield ""
    app = FastAPI()
    app.include_router(routes.router)
    for path, methods in app.openapi()["paths"].items():
        asked = methods["get"]
        yield f"### GET {path}"
        yield ""
        yield asked["description"]
        yield ""
        given = [one for one in asked.get("parameters", ()) if one["in"] == "query"]
        if given:
            yield from table(
                (one["name"], one["required"], one.get("description", "")) for one in given
            )


def mcp_tools() -> Iterator[str]:
    yield "What a program that speaks MCP can call; see [mcp.md](mcp.md)."
    yield ""
    for tool in tools.EVERY:
        yield f"### Tool {tool.name}"
        yield ""
        yield tool.description
        yield ""
        asked = schema(tool.arguments)
        given = asked["properties"].items()
        if given:
            yield from table(
                (name, name in asked.get("required", ()), described(value)) for name, value in given
            )
        yield f"It answers {', '.join(f'`{name}`' for name in schema(tool.answer)['properties'])}."
        yield ""


def described(value: dict[str, Any]) -> str:
    """Describe a value by its schema, or by that of one of the types that it may have."""
    found = [value, *value.get("anyOf", ())]
    return next((one["description"] for one in found if "description" in one), "")


def table(rows: Iterator[tuple[str, bool, str]]) -> Iterator[str]:
    """The arguments of something, those that it needs in bold."""
    yield "| argument | meaning |"
    yield "|---|---|"
    for name, needed, meaning in rows:
        yield f"| **`{name}`** (needed) | {meaning} |" if needed else f"| `{name}` | {meaning} |"
    yield ""


def hook_events() -> Iterator[str]:
    yield "What `lamina hook EVENT` serves; see [hooks.md](hooks.md)."
    yield ""
    yield "| event | its names in other programs |"
    yield "|---|---|"
    for event, names in protocol.EVENTS.items():
        yield f"| `{event}` | {', '.join(f'`{name}`' for name in names)} |"
    yield ""
    yield f"Switches are read from the environment, also with the prefix `{switches.PREFIXES[1]}`:"
    yield ""
    yield "| variable | default |"
    yield "|---|---|"
    for field in msgspec.structs.fields(Switches):
        if field.name != "problems":
            variable = f"{switches.PREFIXES[0]}{field.name.upper()}"
            yield f"| `{variable}` | `{str(field.default).lower()}` |"


def commands() -> Iterator[str]:
    for path, command in walk(cli, "lamina"):
        with click.Context(
            command, info_name=path, terminal_width=100, help_option_names=["-h", "--help"]
        ) as context:
            yield f"### {path}"
            yield ""
            yield "```text"
            yield command.get_help(context).rstrip()
            yield "```"
            yield ""


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and everything under it, in the order of their names.

    What is under `memory` has its place elsewhere: it is the same commands again.
    """
    yield path, command
    if isinstance(command, click.Group) and command is not memory:
        for name in command.list_commands(click.Context(command)):
            yield from walk(command.commands[name], f"{path} {name}")


if __name__ == "__main__":
    TARGET.write_text(reference(), "utf-8")
