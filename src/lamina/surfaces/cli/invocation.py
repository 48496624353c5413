"""One invocation of the program: its options, the handle of its command, and its exit codes."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from lamina.errors import Forbidden, InvalidInput, LaminaError, NotFound
from lamina.failsafe.outage import Outage
from lamina.failsafe.spool import Spool, spool
from lamina.home import operator_key
from lamina.home.folder import AGENT_NAME, Home, agent_name, user_name
from lamina.home.settings import Settings, load, stated
from lamina.memory.agent import Memory
from lamina.memory.opening import (
    agent_label,
    before_restore,
    begin_anew,
    chosen_agent,
    chosen_user,
    connect,
    home_path,
    local_user,
    refuse,
    restore,
)
from lamina.memory.refusals import leave_once
from lamina.model.clock import is_part, system_clock
from lamina.model.record import Actor, Role
from lamina.store.tables.refusals import Refusal
from lamina.surfaces.cli import output
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.memory.operator import Operator
    from lamina.memory.shared import Guest
    from lamina.store.upkeep.restore import Outlook

Function = TypeVar("Function", bound=Callable[..., Any])
EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_NOTHING, EXIT_FAILSAFE = 1, 2, 3, 4, 5
EXIT_INTERRUPTED = 130
SURFACE = "cli"
ELLIPSIS = "…."
NAMED = 10  # agents of a home to list in an error


class Invocation:
    """The options of the program, and the handle for its command."""

    def __init__(self, home: Path | None, agent: str | None, user: str | None, json: bool) -> None:
        self.json = json
        self.tells_outage = False  # the answer itself reports that the store is unavailable
        self.starts_jobs = False  # even if nothing was written
        self._home = home
        self._agent = agent
        self._user = user
        self._memory: Memory | None = None
        self._is_new = self._is_new_home = False
        self._key: str | None = os.environ.get(operator_key.VARIABLE) or None

    @property
    def home(self) -> Home:
        return Home(home_path(self._home))

    @property
    def agent(self) -> str:
        return chosen_agent(self._agent, self.home.path)

    @property
    def user(self) -> str | None:
        """The person whose memories are meant, by the options, the environment or the settings."""
        if (chosen := chosen_user(self._user)) is not None:
            return chosen
        return stated(self.home.path, "user") or None

    def memory(self, *, replay: bool = True) -> Memory:
        """Open the handle when a command first needs it, with the permissions of the caller."""
        if self._memory is None:
            self._check_bounds()
            self._is_new = self.agent not in self.home.agents()
            self._is_new_home = _needs_known_agent() and not self.home.path.exists()
            self._refuse_unknown()
            options = (self._role(), self._agent, self.user, self._home)
            self._memory = connect(*options, surface=SURFACE, key=self._key, replay=replay)
        return self._memory

    def spool(self) -> Spool:
        """Return the fail-safe of the agent as it is: nothing is opened or replayed."""
        self._check_bounds()
        return spool(self.home.agent_folder(self.agent), load(self.home.path)["preset"])

    def agent_handle(self, surface: str) -> Memory:
        """Open another handle with only an agent's permissions, even for an operator."""
        self._check_bounds(surface)
        return connect(Role.AGENT, self._agent, self.user, self._home, surface=surface)

    def viewer(self, shared_by: str | None) -> Memory | Guest:
        """Return this agent's own memory, or what another agent shares with it."""
        return self.memory() if shared_by is None else self.memory().shared(shared_by)

    def full_id(self, typed: str, shared_by: str | None = None) -> str:
        """Complete an id of which the beginning or the end was typed.

        Case does not matter, and an ellipsis is allowed before it, as in tables.
        """
        return self.viewer(shared_by).full_id(typed.lower().lstrip(ELLIPSIS))

    def evidence(self, references: Sequence[str]) -> list[str]:
        """Complete the ids among references; leave everything else unchanged."""
        return [
            self.full_id(reference) if is_part(reference.lower().lstrip(ELLIPSIS)) else reference
            for reference in references
        ]

    def _role(self) -> Role:
        """Grant only an agent's permissions without the key, if operators need one."""
        return Role.AGENT if self.is_locked else role()

    def scheduler(self) -> Memory:
        """Open a handle for the jobs: with the system's permissions, over records of all users."""
        from lamina.memory.jobs import ACTOR

        self._check_bounds()
        options = (Role.SYSTEM, self._agent, None, self._home)
        return connect(*options, actor=ACTOR.name, surface=ACTOR.surface, scoped=False)

    def _check_bounds(self, surface: str = SURFACE) -> None:
        """Refuse other agents and users than those that the environment sets for an agent.

        A name that an operator has misspelt is wrong usage, not an attempt to cross a boundary.
        """
        if role() is not Role.AGENT:
            agent_name(self.agent)
            user_name(self.user)
            return
        actor = Actor(Role.AGENT, self._name(), surface)
        for what, asked in (("agent", self.agent), ("user", self._user)):
            own = os.environ.get(f"LAMINA_{what.upper()}")
            if own and asked not in (None, own):
                attempt = f"open another {what}'s memory"
                now = system_clock()
                self.home.log_violation(now, actor, attempt, asked)
                refusal = Refusal(now, actor, attempt, "access")
                leave_once(self.home, chosen_agent(None, self.home.path), refusal, is_logged=True)
                raise NotFound(f"there is no {what} {shown(asked)} here")

    @property
    def _settings(self) -> Settings:
        return load(self.home.path).placed(self.agent)

    def _refuse_unknown(self) -> None:
        """Refuse an unknown agent for a command that needs a known one: its name is misspelt."""
        if not self._is_new or not _needs_known_agent() or role() is Role.AGENT:
            return
        names = [*self.home.agents()]
        # On a server there may be agents without a folder here.
        if not names or not AGENT_NAME.fullmatch(self.agent) or self._settings["store.url"]:
            return
        known = ", ".join([*names[:NAMED], *(["…"] if len(names) > NAMED else [])])
        raise NotFound(
            f"there is no agent {self.agent} in {self.home.path}, which has {known};"
            " choose one with --agent"
        )

    def operator(self, verb: str) -> Operator:
        """Return the handle for a verb that only an operator may use."""
        self.check_operator(verb)
        return cast("Operator", self.memory())

    def reviewer(self, surface: str) -> Operator:
        """Open a handle for a person who decides outside of this terminal."""
        self.check_operator("review")
        options = (Role.OPERATOR, self._agent, self._user, self._home)
        return cast("Operator", connect(*options, surface=surface, key=self._key))

    @property
    def is_locked(self) -> bool:
        """Whether operators need a key that this process was not given."""
        return operator_key.is_set(self.home.path) and self._key is None

    def decider(self, surface: str, key: str | None = None) -> Operator:
        """Open a handle for a person who decides through another program; it never prompts."""
        options = (Role.OPERATOR, self._agent, self.user, self._home)
        given = self._key if key is None else key
        return cast("Operator", connect(*options, surface=surface, key=given))

    def refusals(self, surface: str) -> Callable[[str, str], None]:
        """Return a function that notes a surface's refusals in the trail, without a user's name."""
        actor = Actor(Role.AGENT, "nobody", surface)

        def leave(asked: str, lacks: str) -> None:
            refuse(self.home, self.agent, None, Refusal(system_clock(), actor, asked, lacks))

        return leave

    def before_restore(self, folder: Path) -> Outlook:
        """Report what restoring a backup would do."""
        return before_restore(folder, self.agent, self._home, surface=SURFACE, key=self._key)

    def restore(self, folder: Path, progress: Callable[[int, int], None]) -> dict[str, Any]:
        """Replace the store with a backup, whatever state the store is in."""
        where = (folder, self.agent, self._home)
        return restore(*where, surface=SURFACE, progress=progress, key=self._key)

    def damage(self) -> str | None:
        """Explain why the store cannot be read, if it is damaged."""
        from lamina.store.upkeep.restore import damage

        return damage(self.home.agent_folder(self.agent), self.agent, self._settings)

    def begin_anew(self) -> dict[str, Any]:
        """Set aside a damaged store, and begin an empty one."""
        return begin_anew(self.agent, self._home, surface=SURFACE, key=self._key)

    def other_agents(self) -> str:
        """Name the other agents of the home if nothing was found: a name may be misspelt."""
        others = [name for name in self.home.agents() if name != self.agent]
        return f"; this home also has the agents {', '.join(others)}" if others else ""

    def check_operator(self, verb: str) -> None:
        """Refuse a verb that only an operator may use, before anything is opened."""
        try:
            self._check_authority(verb)
        except Forbidden as error:
            error.is_noted = True
            actor = Actor(role(), self._name(), SURFACE)
            refusal = Refusal(system_clock(), actor, verb, error.lacks)
            refuse(self.home, self.agent, self._user, refusal, _words())
            raise

    def _check_authority(self, verb: str) -> None:
        if role() is not Role.OPERATOR:
            raise Forbidden(
                f"{verb} is for operators, and LAMINA_ROLE=agent says that this is an agent",
                lacks="operator",
            )
        if not operator_key.is_set(self.home.path):
            return
        if self._key is None and sys.stdin.isatty():
            self._key = str(click.prompt("operator key", hide_input=True, err=True))
        operator_key.check(self.home.path, self._key)

    def _name(self) -> str:
        """Name the caller: the agent, or the person at this machine."""
        chosen = chosen_agent(None, self.home.path)
        return agent_label(chosen) if role() is Role.AGENT else local_user()

    def close(self) -> None:
        """Close the handle, and start the due jobs if the command wrote something."""
        if self._memory is None:
            return
        memory, self._memory = self._memory, None
        if memory.outage is not None and not self._is_reported(memory.outage):
            output.attention(str(memory.outage), err=True)
        memory.close()
        has_failed = isinstance(sys.exc_info()[1], LaminaError)
        # Programs expect the error as the only object on standard error.
        if self._is_new_home and not memory.wrote and not (self.json and has_failed):
            output.attention(f"there was no home {self.home.path}; it is new and empty", err=True)
        if memory.wrote and self._is_new and (others := self.other_agents()):
            output.attention(f"this is the first memory of {shown(self.agent)}{others}", err=True)
        is_asked = memory.wrote or self.starts_jobs
        if is_asked and memory.outage is None and memory.settings["maintenance"] == "auto":
            from lamina.surfaces.maintenance import start_if_due

            try:
                with self.scheduler() as scheduler:
                    start_if_due(scheduler.orchestrator(), self.home.path, self.agent)
            except LaminaError as error:  # the command itself has succeeded
                output.attention(error.message, err=True)

    def _is_reported(self, outage: Outage) -> bool:
        """Return whether the answer, or the error that ends the command, names the outage."""
        if self.tells_outage:
            return True
        failure = sys.exc_info()[1]
        return isinstance(failure, LaminaError) and outage.cause in failure.message


def role() -> Role:
    """Return the role of this shell: operator, unless LAMINA_ROLE says agent."""
    name = os.environ.get("LAMINA_ROLE") or "operator"
    if name not in ("operator", "agent"):
        raise InvalidInput(f"LAMINA_ROLE={name!r} is neither operator nor agent")
    return Role(name)


class Command(click.Command):
    """A command that returns its exit code, or nothing for success."""

    # A command that is useless without a memory must not create one for a misspelt name.
    needs_known_agent = False

    def invoke(self, context: click.Context) -> None:
        context.exit(super().invoke(context) or 0)

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence in full, whatever its length: lists wrap it."""
        first, _, _ = inspect.cleandoc(self.help or "").partition("\n\n")
        return " ".join(first.split()).partition(". ")[0].removesuffix(".")


def command(
    name: str,
    example: str,
    *,
    under: click.Group | None = None,
    needs_known_agent: bool = False,
    **settings: Any,
) -> Callable[[Function], Command]:
    """Turn a function into a command that takes --json and whose help ends with an example."""

    def decorate(function: Function) -> Command:
        epilog = f"Example:  {example}"
        made = click.command(name, Command, epilog=epilog, **settings)(click.pass_obj(function))
        made.needs_known_agent = needs_known_agent
        made.params.append(
            click.Option(
                ["--json"],
                is_flag=True,
                expose_value=False,
                callback=_set_json,
                help="print JSON for programs",
            )
        )
        if under is not None:
            under.add_command(made)
        return made

    return decorate


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().obj.json = True


def _words() -> Iterator[str]:
    """Yield the texts that were passed to the command, which may be ids of records."""
    context = click.get_current_context(silent=True)
    for value in () if context is None else context.params.values():
        yield from [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()


def _needs_known_agent() -> bool:
    """Return whether the current command is useless for a new agent, in that agent's own memory."""
    context = click.get_current_context(silent=True)
    if context is None or context.params.get("shared_by"):
        return False
    return isinstance(context.command, Command) and context.command.needs_known_agent
