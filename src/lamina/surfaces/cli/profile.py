"""Commands about people and projects: profile show, profile propose, project show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from lamina.engines.profile import SECTIONS, ProjectMemory, UserProfile, same_key
from lamina.errors import NotFound
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.correct import show_changed
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import normalise, shown


@click.group()
def profile() -> None:
    """What is known about a person."""


@command("show", "lamina --user ana profile show", under=profile, needs_known_agent=True)
def profile_show(invocation: Invocation) -> None:
    """Show the profile: the user's, or that of the records without a user."""
    found = invocation.memory().user_profile()
    if invocation.json:
        output.show_json(found.to_dict())
    elif found.last_updated is None:
        click.echo("nothing is known yet; a profile is proposed, or comes of `lamina compress`")
    else:
        output.pairs([*_lines_of_profile(found)])


@command(
    "propose", 'lamina profile propose wake_up 06:30 --reason "said so on Monday"', under=profile
)
@options.text("key", "the same as KEY")
@options.text("value", "the same as VALUE")
@click.option("--reason", required=True, help="why this is believed")
@click.option(
    "--evidence", multiple=True, metavar="ID", help="a record that it rests on; agents need one"
)
def profile_propose(
    invocation: Invocation, key: str, value: str, reason: str, evidence: tuple[str, ...]
) -> None:
    """Propose VALUE for KEY of the profile; VALUE may be JSON. It waits for `review confirm`."""
    references = invocation.evidence(evidence)
    proposed = invocation.memory().propose_profile(
        key, options.value_from(value), reason, references
    )
    show_changed(invocation, "proposed", proposed)


@click.group()
def project() -> None:
    """The status of projects."""


@command("show", "lamina project show garden", under=project, needs_known_agent=True)
@click.argument("name", required=False)
def project_show(invocation: Invocation, name: str | None) -> None:
    """Show the project NAME, or all of them in a line each.

    These are the projects that memories belong to. `lamina compress` adds goals, blockers and next
    steps, from memories tagged project:NAME.
    """
    projects, is_whole = _projects(invocation)
    if name is not None:
        _show_project(invocation, projects, name)
    elif invocation.json:
        output.show_json([_as_dict(*project) for project in projects])
    elif projects:
        _table_of_projects(projects)
        if not is_whole:
            click.echo("there are more memories than are counted: these are the newest")
    else:
        click.echo(
            "no projects yet; `lamina remember TEXT --project NAME` makes one, and so do hooks"
        )


def _projects(invocation: Invocation) -> tuple[list[tuple[ProjectMemory, int]], bool]:
    """List projects by name with the numbers of their memories; and whether all were counted."""
    memory = invocation.memory()
    browsed = memory.browsing.browse(limit=1)
    numbers = browsed.counts["project"]
    states = {one.project_name: one for one in memory.projects()}
    names = sorted({*states, *numbers}, key=normalise)
    listed = [(states.get(name, ProjectMemory(name)), numbers.get(name, 0)) for name in names]
    return listed, browsed.is_whole


def _show_project(
    invocation: Invocation, projects: list[tuple[ProjectMemory, int]], name: str
) -> None:
    alike = [one for one in projects if same_key(one[0].project_name, name)]
    exact = [one for one in alike if one[0].project_name == name]
    found = next(iter([*exact, *alike]), None)
    if found is None:
        raise NotFound(f"there is no project {shown(name)}; `lamina project show` lists them")
    if invocation.json:
        output.show_json(_as_dict(*found))
        return
    chosen, number = found
    lines = [("project", chosen.project_name), ("memories", number)]
    lines += [(section, line) for section in SECTIONS for line in getattr(chosen, section)]
    output.pairs([*lines, *(("evidence", record_id) for record_id in chosen.evidence_ids)])


def _as_dict(project: ProjectMemory, number: int) -> dict[str, Any]:
    return {**project.to_dict(), "memories": number}


def _table_of_projects(projects: list[tuple[ProjectMemory, int]]) -> None:
    rows = []
    for project, number in projects:
        lists = (project.goals, project.blockers, project.next_steps)
        latest = (project.next_steps or project.goals or [""])[-1]
        rows.append((project.project_name, number, *map(len, lists), latest))
    columns = ("project", "memories", "goals", "blockers", "next steps", "latest")
    output.table(columns, rows, wide="latest", right=columns[1:5])


def _lines_of_profile(found: UserProfile) -> Iterator[tuple[str, Any]]:
    """List the fields that have values; fields with several values get a line for each."""
    for name, value in found.to_dict().items():
        if name == "evidence_ids":
            yield "evidence", f"{len(value)} record{'' if len(value) == 1 else 's'}"
        elif name == "conflicts":
            for one in value:
                yield "conflict", f"{one['key']} {one['value']}: {one['why']}"
        elif isinstance(value, dict):
            for entry, item in value.items():
                yield f"{name}.{entry}", _as_text(item)
        elif isinstance(value, list):
            for item in value:
                yield name, _as_text(item)
        elif value is not None:
            yield name, value


def _as_text(value: Any) -> Any:
    """Format the content of a list or a mapping as one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_as_text(item)}" for name, item in value.items())
    return ", ".join(str(_as_text(item)) for item in value) if isinstance(value, list) else value
