"""Commands about people and projects: profile, project, compress, and what is pending."""

from __future__ import annotations

from typing import Any

import click

from lamina.engines.profile import SECTIONS, ProjectMemory, UserProfile, same_key
from lamina.errors import NotFound
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import reveal, shown


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    show_profile(group)
    show_project(group)
    compress(group)
    pending(group)


def subgroup(group: click.Group, name: str, help: str) -> click.Group:
    """The group of this name, which another file may have made already."""
    found = group.commands.get(name)
    if isinstance(found, click.Group):
        return found
    made = click.Group(name, help=help)
    group.add_command(made)
    return made


def show_profile(group: click.Group) -> None:
    @command(
        subgroup(group, "profile", "What is known about a person."),
        "show",
        "lamina --user ana profile show",
    )
    def run(session: Session) -> None:
        """Show the profile: the user's, or that of the records without a user."""
        found = session.memory().user_profile()
        if session.json:
            output.show_json(found.to_dict())
        elif found.last_updated is None:
            click.echo("nothing is known yet; a profile is proposed, or comes of `lamina compress`")
        else:
            output.pairs(_lines_of_profile(found))


def show_project(group: click.Group) -> None:
    @command(
        subgroup(group, "project", "Where projects stand."), "show", "lamina project show garden"
    )
    @click.argument("name", required=False)
    def run(session: Session, name: str | None) -> None:
        """Show the project NAME, or all of them in a line each."""
        found = session.memory().projects()
        if name is not None:
            found = [project for project in found if same_key(project.project_name, name)]
            if not found:
                raise NotFound(
                    f"there is no project {shown(name)}; `lamina project show` lists them"
                )
        if session.json:
            told = [project.to_dict() for project in found]
            output.show_json(told if name is None else told[0])
        elif name is not None:
            output.pairs(_lines_of_project(found[0]))
        elif found:
            _table_of_projects(found)
        else:
            click.echo(
                "no projects yet; memories tagged project:NAME become one by `lamina compress`"
            )


def compress(group: click.Group) -> None:
    @command(group, "compress", "lamina compress --hours 48 --dry-run")
    @click.option(
        "--hours", type=float, default=48, show_default=True, help="only what is older than this"
    )
    @click.option(
        "--dry-run", is_flag=True, help="only show what would become of each memory, and why"
    )
    @click.option(
        "--limit",
        type=click.IntRange(1),
        default=50,
        show_default=True,
        help="lines of a dry run at most",
    )
    def run(session: Session, hours: float, dry_run: bool, limit: int) -> None:
        """Sum up old short-term memories in the profile and in projects, and archive those that are summed up."""
        memory = session.memory()
        done = memory.compress_short_to_long(hours, dry_run=dry_run)
        if session.json:
            output.show_json(done)
            return
        if dry_run:
            _table_of_decisions(session, done["decisions"], limit)
        click.echo(_told(done, dry_run))
        for problem in () if dry_run else memory.status()["problems"]:
            output.attention(problem, err=True)


def pending(group: click.Group) -> None:
    @command(group, "pending", "lamina pending")
    def run(session: Session) -> None:
        """List what waits for somebody: requests, escalations, reviews, and days that have come."""
        found = session.memory().pending()
        if session.json:
            output.show_json(found)
        elif found:
            rows = [
                (one["id"], one["at"][:10], one["why"], one.get("due", ""), one["content"])
                for one in found
            ]
            columns = ("id", "since", "why", "due", "content")
            output.table(columns, rows, wide="content", dispensable=("due", "since"))
        else:
            click.echo("nothing is pending")


def _lines_of_profile(found: UserProfile) -> list[tuple[str, Any]]:
    """The fields that say something; those that hold several things take a line for each."""
    lines: list[tuple[str, Any]] = []
    for name, value in found.to_dict().items():
        if name == "evidence_ids":
            lines.append(("evidence", f"{len(value)} record{'' if len(value) == 1 else 's'}"))
        elif isinstance(value, dict):
            lines += [(f"{name}.{entry}", _plain(item)) for entry, item in value.items()]
        elif isinstance(value, list):
            lines += [(name, _plain(item)) for item in value]
        elif value is not None:
            lines.append((name, value))
    return lines


def _lines_of_project(found: ProjectMemory) -> list[tuple[str, Any]]:
    lines = [("project", found.project_name)]
    lines += [(section, line) for section in SECTIONS for line in getattr(found, section)]
    return [*lines, *(("evidence", record_id) for record_id in found.evidence_ids)]


def _table_of_projects(found: list[ProjectMemory]) -> None:
    rows = [
        (
            one.project_name,
            len(one.goals),
            len(one.blockers),
            len(one.next_steps),
            (one.next_steps or one.goals or [""])[-1],
        )
        for one in found
    ]
    columns = ("project", "goals", "blockers", "next steps", "latest")
    output.table(columns, rows, wide="latest", right=columns[1:4])


def _table_of_decisions(session: Session, decisions: list[dict[str, Any]], limit: int) -> None:
    """What changes comes first."""
    ordered = sorted(decisions, key=lambda one: one["what"] == "left")
    contents = session.memory().contents([one["id"] for one in ordered[:limit]])
    rows = [
        (one["id"], one["what"], one["target"], one["rule"], contents.get(one["id"], ""))
        for one in ordered[:limit]
    ]
    if rows:
        columns = ("id", "what", "where", "why", "content")
        output.table(columns, rows, wide="content", dispensable=("id",), wraps=("where", "why"))
    if len(ordered) > limit:
        click.echo(f"and {len(ordered) - limit:,} more; see --limit")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(item)}" for name, item in value.items())
    return ", ".join(str(_plain(item)) for item in value) if isinstance(value, list) else value


def _told(done: dict[str, Any], dry_run: bool) -> str:
    """What was done, in a sentence."""
    number, waiting = done["compressed"], done.get("waiting", 0)
    parts = [
        f"{number:,} {'memory' if number == 1 else 'memories'} {'to compress' if dry_run else 'compressed'}"
    ]
    parts += [f"{name}: {', '.join(done[name])}" for name in ("profile", "projects") if done[name]]
    if waiting:
        parts.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} for review")
    return reveal("; ".join([*parts, f"{done['left']:,} left"]))
