"""Every door of a memory, and every way through it: verbs, commands, routes, pages, tools and hooks
as the program has them."""

from __future__ import annotations

import inspect
import io
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import click
from docs.generate import methods, walk
from fastapi.routing import APIRoute
from mcp import Client

from lamina import Memory, Operator
from lamina.memory.browsing import Browsing
from lamina.memory.runs import Run
from lamina.memory.shared import Guest
from lamina.memory.world import WorldModel
from lamina.surfaces.cli.main import cli, run
from lamina.surfaces.cli.options import either
from lamina.surfaces.hooks import Hooks, Switches, protocol
from lamina.surfaces.hooks import handler as call
from lamina.surfaces.http.console.page import PageRoute
from lamina.surfaces.mcp import tools
from lamina.surfaces.mcp.schemas import schema
from tests.security.pools import FISHING, Attack, given
from tests.surfaces.mcp_harness import said
from tests.surfaces.served import Served

Arguments = dict[str, tuple[str, bool]]
# What is not called, and why. Everything else that the program has is, also what it will have
# tomorrow.
ENDS_THE_HANDLE = ("close",)
NOT_CALLED = {
    "serve": "a server, which the probes over HTTP ask",
    "mcp": "a server, which the probes over MCP ask",
    "hook": "reads events, which the probes of hooks send",
    "run": "runs until it is stopped",
    "capture": "reads messages until they end",
    "review": "asks a person",
    "migrate": "needs another database; tests/servers has it",
    "model pull": "asks the network",
    "key set": "asks for a key, and locks out the probes after it",
    "key remove": "asks for a key",
    "config set": "changes how the probes after it are answered",
    "config unset": "changes how the probes after it are answered",
}
OPTIONAL = re.compile("None|Times|Any")  # kinds of arguments that may be left empty
PATIENT = Switches(timeout_ms=60_000, store_responses=True)


class Probe(NamedTuple):
    """One attempt: through which door and verb, with what, and how it is made."""

    door: str
    verb: str
    given: str
    call: Callable[[], object]


class Keys(NamedTuple):
    """The handles of one attacker."""

    mem: Memory
    op: Operator
    run: Run
    guest: Guest | None
    hooks: Hooks


def signed(function: Callable[..., Any]) -> Arguments:
    """The arguments of a verb, with their kinds."""
    found = {}
    for name, one in inspect.signature(function).parameters.items():
        is_needed = one.default is one.empty and one.kind not in (
            one.VAR_KEYWORD,
            one.VAR_POSITIONAL,
        )
        if name != "self":
            found[name] = (str(one.annotation), is_needed)
    return found


def called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> object:
    """Call a verb by its arguments' names, those with a star spread out."""
    words: list[Any] = []
    fields: dict[str, Any] = {}
    for name, one in inspect.signature(function).parameters.items():
        if name not in arguments or (
            arguments[name] is None and one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        ):
            continue
        if one.kind is one.VAR_POSITIONAL:
            words += arguments[name]
        elif one.kind is one.VAR_KEYWORD:
            fields |= arguments[name]
        else:
            fields[name] = arguments[name]
    return function(*words, **fields)


def python(keys: Keys, attack: Attack, chance: random.Random, most: int) -> Iterator[Probe]:
    """Every public verb of every handle."""
    held: list[tuple[str, type, object]] = [
        ("memory", Memory, keys.mem),
        ("operator", Operator, keys.op),
        ("run", Run, keys.run),
    ]
    held += [("world", WorldModel, keys.op.world), ("hooks", Hooks, keys.hooks)]
    held += [("browsing", Browsing, keys.mem.browsing)]
    held += [("guest", Guest, keys.guest)] if keys.guest else []
    for title, kind, handle in held:
        for name, function in methods(kind):
            if name in ENDS_THE_HANDLE or (
                kind is Operator and getattr(Memory, name, None) is function
            ):
                continue
            verb = getattr(handle, name)
            arguments_of = signed(function)
            for arguments in given(attack, arguments_of, chance, most):
                if any(
                    value is None and not OPTIONAL.search(arguments_of[one][0])
                    for one, value in arguments.items()
                ):
                    continue
                yield Probe(
                    "Python", f"{title}.{name}", repr(arguments), partial(called, verb, arguments)
                )


def words(command: click.Command, arguments: Mapping[str, Any]) -> list[str]:
    """Arguments as somebody would type them."""
    options, plain = [], []
    for one in command.params:
        value = arguments.get(one.name or "")
        if value is None or value is False:
            continue
        values = [str(each) for each in value] if isinstance(value, list) else [str(value)]
        if isinstance(one, click.Argument):
            plain += values if one.nargs == -1 else values[:1]
        elif value is True:
            options.append(one.opts[0])
        else:
            options += [
                word
                for each in (values if one.multiple else values[:1])
                for word in (one.opts[0], each)
            ]
    return [*options, "--", *(word.replace("\0", "") for word in plain)]


def typed(command: click.Command) -> Arguments:
    """The arguments of a command, without those for how it prints and other spellings of the same,
    and with a yes to whatever it asks."""
    return {
        one.name: (
            "bool" if getattr(one, "is_flag", False) else one.type.name,
            one.required or (isinstance(one, click.Argument) and one.callback is either),
        )
        for one in command.params
        if one.name
        and one.name not in ("json_", "json", "yes")
        and not one.name.startswith("also_")
    }


def commands(whose: list[str], attack: Attack, chance: random.Random, most: int) -> Iterator[Probe]:
    """Every command of the program, with and without `--json`."""
    for path, command in walk(cli, ""):
        name = path.strip()
        if name in NOT_CALLED or isinstance(command, click.Group):
            continue
        yes = ["--yes"] if any(one.name == "yes" for one in command.params) else []
        for number, arguments in enumerate(given(attack, typed(command), chance, most)):
            line = [
                *whose,
                *name.split(),
                *yes,
                *(["--json"] if number % 2 else []),
                *words(command, arguments),
            ]
            yield Probe("CLI", name, repr(line), partial(run, line))


def described(parameters: Iterable[Mapping[str, Any]]) -> Arguments:
    return {one["name"]: (json.dumps(one["schema"]), one["required"]) for one in parameters}


def address(path: str, arguments: Mapping[str, Any]) -> str:
    """A path with what it needs, and a query with the rest."""
    asked = {
        name: value
        for name, value in arguments.items()
        if value is not None and f"{{{name}}}" not in path
    }
    for name in arguments.keys() - asked.keys():
        path = path.replace(f"{{{name}}}", quote(str(arguments[name]), safe=""))
    return f"{path}?{urlencode(asked, doseq=True)}" if asked else path


def routes(
    served: Served, token: str, attack: Attack, chance: random.Random, most: int
) -> Iterator[Probe]:
    """Every route of the API, as it describes itself; on each, also another agent and another user
    are asked for."""
    for path, told in served.ask("/openapi.json").json["paths"].items():
        arguments = {
            **described(told["get"].get("parameters", ())),
            "agent": ("", False),
            "user": ("", False),
        }
        yield from _asked("HTTP", path, served, token, given(attack, arguments, chance, most))


def pages(
    served: Served, token: str, attack: Attack, chance: random.Random, most: int
) -> Iterator[Probe]:
    """Every page of the console, with the fields of its own form."""
    for route in console_routes(served):
        fields: Arguments = dict.fromkeys(route.param_convertors, ("str", True))
        for parameter in route.dependant.query_params:
            model = getattr(parameter.field_info.annotation, "model_fields", {})
            fields |= {
                name: (str(field.annotation), field.is_required()) for name, field in model.items()
            }
        fields = {name: kind for name, kind in fields.items() if name not in ("theme", "of")}
        yield from _asked("console", route.path, served, token, given(attack, fields, chance, most))


def console_routes(served: Served) -> list[APIRoute]:
    """The pages, wherever they hang."""
    app: Any = served.app
    found, waiting = [], [*app._app.routes]
    while waiting:
        route = waiting.pop()
        waiting += [
            *getattr(route, "routes", ()),
            *getattr(getattr(route, "original_router", None), "routes", ()),
        ]
        if isinstance(route, PageRoute):
            found.append(route)
    return sorted(found, key=lambda route: route.path)


def _asked(
    door: str, verb: str, served: Served, token: str, ways: Iterable[dict[str, Any]]
) -> Iterator[Probe]:
    for arguments in ways:
        path = address(verb, arguments)
        yield Probe(door, verb, path, partial(answer, served, path, token))


def answer(served: Served, path: str, token: str) -> str:
    found = served.ask(path, token)
    assert found.status < 500, (path, found)
    return f"{found.status} {found.headers} {found.body.decode()}"


async def tool_calls(
    client: Client, attack: Attack, chance: random.Random, most: int
) -> list[tuple[Probe, str]]:
    """Every tool, with what each has answered."""
    made = []
    for tool in tools.EVERY:
        asked = schema(tool.arguments)
        kinds = {
            name: (json.dumps(kind), name in asked.get("required", ()))
            for name, kind in asked["properties"].items()
        }
        for arguments in given(attack, kinds, chance, most):
            result = await client.call_tool(tool.name, arguments)
            told = f"{said(result)} {json.dumps(result.structured_content)}"
            made.append((Probe("MCP", tool.name, repr(arguments), lambda: None), told))
    return made


def events(keys: Keys, attack: Attack, chance: random.Random, most: int) -> Iterator[Probe]:
    """Every event of every program that calls hooks, with others' sessions and files
    in its fields."""
    fields = [
        *protocol.MESSAGES,
        *protocol.REPLIES,
        *protocol.TASKS,
        *protocol.SESSIONS,
        "cwd",
        "transcript_path",
        "command",
        "output",
    ]
    for event, names in protocol.EVENTS.items():
        for name in (*names, event):
            for _ in range(most):
                chosen = {
                    field: chance.choice([*FISHING, *attack.ids])
                    for field in chance.sample(fields, 4)
                }
                data = json.dumps(
                    {"hook_event_name": name, **chosen, "prompt": chance.choice(FISHING)}
                ).encode()
                yield Probe("hooks", event, data.decode(), partial(heard, keys.mem, data))


def heard(memory: Memory, data: bytes) -> str:
    """What a hook answers to an event, and what it tells of its troubles."""
    told: list[str] = []
    made = call.HookCall(
        call.CallOptions(None, False),
        PATIENT,
        lambda: memory,
        lambda memory: None,
        told.append,
        captured=lambda: "all",
    )
    made.run(io.BytesIO(data))
    return made.answer().decode() + " ".join(told)
