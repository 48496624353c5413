"""What one invocation of the command line knows: its options, its handle, and how to show things."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from lamina.errors import InvalidInput, Refused
from lamina.handles import connect, home_path, set_aside
from lamina.home import Home
from lamina.memory import Memory
from lamina.model import Role
from lamina.operators import Operator

Function = TypeVar("Function", bound=Callable[..., Any])


class Session:
    """Options of the program, and the handle that its command works with."""

    def __init__(self, home: Path | None, agent: str | None, user: str | None, json: bool) -> None:
        self.json = json
        self._home = home
        self._agent = agent
        self._user = user
        self._memory: Memory | None = None

    @property
    def home(self) -> Home:
        return Home(home_path(self._home))

    @property
    def agent(self) -> str:
        return self._agent or os.environ.get("LAMINA_AGENT") or "default"

    def memory(self) -> Memory:
        """The handle, opened when a command first needs it, with the authority of whoever runs the program."""
        if self._memory is None:
            self._memory = connect(role(), self._agent, self._user, self._home, surface="cli")
        return self._memory

    def operator(self, verb: str) -> Operator:
        """The handle for a verb that only a person may use."""
        if role() is not Role.OPERATOR:
            raise Refused(f"{verb} is for operators, and LAMINA_ROLE=agent says that this is an agent")
        return cast(Operator, self.memory())

    def set_aside(self) -> Path:
        """Move a store that cannot be opened out of the way."""
        return set_aside(self.agent, self._home)

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None


def role() -> Role:
    """The authority of this shell: the person's, unless the environment says that an agent runs it."""
    name = os.environ.get("LAMINA_ROLE", "operator")
    if name not in ("operator", "agent"):
        raise InvalidInput(f"LAMINA_ROLE={name!r} is neither operator nor agent")
    return Role(name)


def command(group: click.Group, name: str, example: str) -> Callable[[Function], click.Command]:
    """Register a command whose help ends with an example and which takes --json, like all of them."""

    def register(function: Function) -> click.Command:
        made = group.command(name, epilog=f"Example:  {example}")(click.pass_obj(function))
        made.params.append(
            click.Option(["--json"], is_flag=True, expose_value=False, callback=_set_json, help="print JSON for programs")
        )
        return made

    return register


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().obj.json = True
