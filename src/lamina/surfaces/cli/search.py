"""Commands that find memories: search, context, index, and the models that search by meaning."""

from __future__ import annotations

from typing import Any

import click

from lamina.memory.scope import MODELS
from lamina.search import RANKERS
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILSAFE, Session, command, shared_by
from lamina.surfaces.cli.remember import LAYERS, STATES, kinds, metadata_of
from lamina.surfaces.cli.times import past

NOTHING = 4
UNKNOWN = "unknown: the store could not be read"


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    search(group)
    context(group)
    index(group)
    models(group)


def search(group: click.Group) -> None:
    @command(group, "search", 'lamina search "when does the user want reports" --explain')
    @click.argument("query")
    @click.option("--limit", type=int, default=10, show_default=True, help="at most so many")
    @click.option(
        "--layer", "layers", type=LAYERS, multiple=True, help="only this layer; may be repeated"
    )
    @click.option(
        "--state", "states", type=STATES, multiple=True, help="only this state (default active)"
    )
    @click.option("--kind", "kinds", multiple=True, shell_complete=kinds, help="only this kind")
    @click.option("--tag", "tags", multiple=True, help="with any of these tags")
    @click.option("--all-tag", "all_tags", multiple=True, help="with every one of these tags")
    @click.option(
        "--meta", "metadata", multiple=True, metavar="K=V", help="with this value in its metadata"
    )
    @click.option(
        "--since", callback=past, help="not before: a day, a time, or how long ago, such as 7d"
    )
    @click.option("--until", callback=past, help="before: a day, a time, or how long ago")
    @click.option(
        "--as-of", callback=past, help="what was true then: a day, a time, or how long ago"
    )
    @click.option(
        "--known-at", callback=past, help="what the store knew then: a day, a time, or how long ago"
    )
    @click.option(
        "--ranker",
        type=click.Choice(RANKERS),
        default=RANKERS[0],
        show_default=True,
        help="how to rank",
    )
    @click.option("--explain", is_flag=True, help="draw the parts of each score")
    @shared_by
    @click.pass_context
    def run(
        context: click.Context,
        /,
        session: Session,
        query: str,
        explain: bool,
        shared_by: str | None,
        metadata: tuple[str, ...],
        states: tuple[str, ...],
        **filters: Any,
    ) -> None:
        """Find memories that answer QUERY. Without a match it says so and exits with 4; with 5 if the store cannot be read."""
        found = session.viewer(shared_by).search(
            query, metadata=metadata_of(metadata), states=states or None, **filters
        )
        if session.json:
            output.show_json({**found.to_dict(), "confidence": found.confidence})
        elif found:
            output.hits(found, explain)
        else:
            click.echo(_nothing(session, shared_by) if found.is_whole else UNKNOWN)
        if not session.json:
            output.notes(found.notes)
        session.tells_outage = not found.is_whole
        context.exit(0 if found else NOTHING if found.is_whole else EXIT_FAILSAFE)


def _nothing(session: Session, shared_by: str | None) -> str:
    """That nothing was found; where there is nothing to find, perhaps another agent was meant."""
    is_empty = shared_by is None and not session.memory().status()["records"]
    return "nothing relevant" + (session.other_agents() if is_empty else "")


def context(group: click.Group) -> None:
    @command(group, "context", 'lamina context "prepare the weekly report" --max-chars 1000')
    @click.argument("goal")
    @click.option(
        "--max-chars", type=int, default=2000, show_default=True, help="how long the text may be"
    )
    @shared_by
    @click.pass_context
    def run(
        context: click.Context,
        /,
        session: Session,
        goal: str,
        max_chars: int,
        shared_by: str | None,
    ) -> None:
        """Print what profile, procedures and facts say about GOAL, fenced for a model to read. Exits with 4 for nothing."""
        made = session.viewer(shared_by).memory_context(goal, max_chars=max_chars)
        if session.json:
            found: dict[str, Any] = {
                "text": made.text,
                "items": [hit.to_dict() for hit in made.items],
            }
            output.show_json({**found, "notes": made.notes} if made.notes else found)
        else:
            click.echo(made.text or (_nothing(session, shared_by) if made.is_whole else UNKNOWN))
            output.notes(made.notes)
        session.tells_outage = not made.is_whole
        context.exit(0 if made.items else NOTHING if made.is_whole else EXIT_FAILSAFE)


def index(group: click.Group) -> None:
    @command(group, "index", "lamina index")
    def run(session: Session) -> None:
        """Make the vectors that are still missing, such as after an import or for another embedder.

        Vectors of embedders that the settings no longer name are removed then.
        """
        with output.progress("embedding") as advance:
            number = session.memory().index(advance)
        if session.json:
            output.show_json({"embedded": number})
        else:
            click.echo(f"{number:,} vector{'' if number == 1 else 's'} made; the index is complete")


def models(group: click.Group) -> None:
    @group.group("model")
    def model_group() -> None:
        """Models that search by meaning."""

    @command(model_group, "list", "lamina model list")
    def show(session: Session) -> None:
        """List the known models, and which are here."""
        from lamina.embedders import models

        found = models.listed(session.home.path / MODELS)
        if session.json:
            output.show_json(found)
            return
        rows = [
            (
                "here" if one.here else "not here",
                one.name,
                output.size(one.bytes),
                one.licence,
                one.what,
            )
            for one in found
        ]
        output.table(
            ("", "model", "size", "licence", "what it is"), rows, wide="what it is", right=("size",)
        )

    @command(model_group, "pull", "lamina model pull minilm")
    @click.argument("name")
    def fetch(session: Session, name: str) -> None:
        """Fetch the weights of the model NAME, check them, and make them ready."""
        from lamina.embedders import models

        with output.progress("fetching") as advance:
            path = models.pull(name, session.home.path / MODELS, advance)
        if session.json:
            output.show_json({"path": str(path)})
        else:
            click.echo(f"{name} is in {path}")
            click.echo(
                'use it with recall.embedders = ["wordllama", "minilm"] in config.toml, then `lamina index`'
            )
