"""Commands that connect coding agents to a memory: install, uninstall."""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lamina.errors import InvalidInput, NotFound
from lamina.home import extras, settings
from lamina.memory.opening import home_path
from lamina.model.clock import system_clock
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.words import reveal

if TYPE_CHECKING:
    from lamina.surfaces.install.agents import Root
    from lamina.surfaces.install.installer import Plan
    from lamina.surfaces.install.records import Records

DEFAULT_AGENT = "default"
SETTINGS = "settings"  # the record of what an install sets in our own config.toml
in_project = click.option(
    "--project", is_flag=True, help="for everybody in the project of this folder, not only for you"
)
unasked = click.option("--yes", is_flag=True, help="do not ask")


@command("install", "lamina install claude-code")
@click.argument("agent", required=False)
@in_project
@unasked
@click.option("--list", "listed", is_flag=True, help="list the coding agents on this machine")
def install(
    invocation: Invocation, agent: str | None, project: bool, yes: bool, listed: bool
) -> int:
    """Connect the coding agent AGENT to the memory: tools, hooks and instructions.

    AGENT is claude-code, codex, cursor, gemini, copilot, opencode, windsurf, zed or cline. The
    change of its configuration is shown first; `lamina uninstall AGENT` undoes it.
    """
    invocation.check_operator("install")
    if listed or agent is None:
        return _list(invocation)
    from lamina.surfaces.install import agents, installer
    from lamina.surfaces.install.records import Records

    found, records = agents.named(agent), Records(invocation.home)
    at = agents.root(Path.cwd().resolve() if project else None)
    words = _command(invocation, at)
    has_mcp = importlib.util.find_spec("mcp") is not None
    wanted = agents.changes(found, at, words, with_tools=has_mcp)
    plan = installer.plan_install(records, found.name, at.project, wanted)
    plans = [plan, *_own_settings(invocation, records)]
    if not _agreed(invocation, plans, yes, f"connect {found.title} to the memory"):
        return EXIT_FAILED
    installer.carry_out(records, plans, system_clock())
    _report(invocation, plan, "installed")
    if not invocation.json:
        _advise(invocation, found.note, has_mcp)
    return 0


@command("uninstall", "lamina uninstall claude-code")
@click.argument("agent")
@in_project
@unasked
def uninstall(invocation: Invocation, agent: str, project: bool, yes: bool) -> int:
    """Undo `lamina install AGENT`. Other edits of the same files, and all memories, stay."""
    invocation.check_operator("uninstall")
    from lamina.surfaces.install import agents, installer
    from lamina.surfaces.install.records import Records

    found, records = agents.named(agent), Records(invocation.home)
    folder = Path.cwd().resolve() if project else None
    plan = installer.plan_uninstall(records, found.name, folder)
    if plan is None:
        where = f"in {folder}" if folder else "for this user"
        hint = "; `lamina install --list` shows what is installed"
        raise NotFound(f"{found.title} is not connected to a memory {where}{hint}")
    plans = [plan]
    left = [one for one in records.all() if one.agent not in (SETTINGS, found.name)]
    if not left and (own := installer.plan_uninstall(records, SETTINGS, None)):
        plans.append(own)
    if not _agreed(invocation, plans, yes, f"disconnect {found.title}"):
        return EXIT_FAILED
    installer.carry_out(records, plans, system_clock())
    _report(invocation, plan, "uninstalled")
    return 0


def _command(invocation: Invocation, at: Root) -> list[str]:
    """Build the command that starts Lamina, with the home, the agent and the user of this call."""
    from lamina.surfaces.install import agents

    words = agents.program(portable=at.project is not None)
    if at.project is None and invocation.home.path != home_path_by_default():
        words += ["--home", str(invocation.home.path)]
    if invocation.agent != DEFAULT_AGENT:
        words += ["--agent", invocation.agent]
    return [*words, *(["--user", invocation.user] if invocation.user else [])]


def home_path_by_default() -> Path:
    """Return the home that is used without any option or variable."""
    import platformdirs

    return home_path(platformdirs.user_data_path("lamina"))


def _own_settings(invocation: Invocation, records: Records) -> list[Plan]:
    """Plan our own settings: hooks keep what matters later, unless a person has set this."""
    from lamina.surfaces.install import installer
    from lamina.surfaces.install.edits import Block

    capture = settings.load(invocation.home.path).values.get("hooks.capture")
    if capture is None or (capture.origin != "default" and records.find(SETTINGS, None) is None):
        return []
    path = invocation.home.path / settings.FILE_NAME
    wanted = {path: [Block("toml", 'hooks.capture = "all"', first=True)]}
    try:
        return [installer.plan_install(records, SETTINGS, None, wanted)]
    except InvalidInput:  # the file has a table of that name, in which a person may have set it
        return []


def _agreed(invocation: Invocation, plans: list[Plan], yes: bool, question: str) -> bool:
    """Show the changes, and ask whether to make them."""
    changes = "".join(plan.diff() for plan in plans)
    if not changes or yes:
        return True
    if invocation.json:
        raise InvalidInput("--json cannot ask; add --yes")
    for line in changes.splitlines():
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(reveal(line), fg=colour)
    if output.confirmed(f"{question}?"):
        return True
    click.echo("nothing was changed", err=True)
    return False


def _report(invocation: Invocation, plan: Plan, done: str) -> None:
    paths = [str(file.path) for file in plan.changes]
    if invocation.json:
        scope = "user" if plan.project is None else "project"
        output.show_json({"agent": plan.agent, "scope": scope, done: True, "changed": paths})
        return
    for path in paths:
        click.echo(f"changed {reveal(path)}")
    click.echo(f"{plan.agent}: {done}" if paths else f"{plan.agent}: nothing to change")


def _advise(invocation: Invocation, note: str, has_mcp: bool) -> None:
    """Describe what is left to do, and what does not work."""
    from lamina.surfaces.install import agents

    if not has_mcp:
        output.attention(f"without tools, which need mcp: {extras.remedy('mcp')}", err=True)
    if agents.is_passing():
        remedy = "install it for good, with `uv tool install` or `pipx install`"
        output.attention(f"this lamina lies in a cache that may be cleared; {remedy}", err=True)
    if settings.load(invocation.home.path)["maintenance"] == "off":
        output.attention(
            "maintenance is off, so no job runs automatically; see docs/running.md", err=True
        )
    if note:
        click.echo(note)
    click.echo("start a new session there; `lamina doctor` says whether hooks and tools are called")


def _list(invocation: Invocation) -> int:
    """Show which agents are on this machine, and which are connected."""
    from lamina.surfaces.install import agents
    from lamina.surfaces.install.records import Records

    at, records = agents.root(), Records(invocation.home).all()
    rows: list[dict[str, Any]] = []
    for one in agents.AGENTS.values():
        marks = [str(at.path(mark)) for mark in one.marks if at.path(mark).exists()]
        known = [record.project or "user" for record in records if record.agent == one.name]
        gets = ["tools", *(["hooks"] if one.user.hooks else [])]
        gets += ["instructions"] if one.user.text or one.project.text else []
        rows.append({"agent": one.name, "found": marks, "installed": known, "gets": gets})
    if invocation.json:
        output.show_json(rows)
        return 0
    output.table(
        ("agent", "found", "installed", "gets"),
        [
            (row["agent"], *(", ".join(row[name]) for name in ("found", "installed", "gets")))
            for row in rows
        ],
        wraps=("found", "installed"),
        wide="found",
    )
    names = [row["agent"] for row in rows if row["found"] and not row["installed"]]
    if names:
        click.echo("\n" + "\n".join(f"lamina install {shlex.quote(name)}" for name in names))
    return 0
