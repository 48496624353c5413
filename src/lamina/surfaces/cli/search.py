"""The command that finds memories: search."""

from __future__ import annotations

from typing import Any

import click

from lamina.search import RANKERS
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import EXIT_FAILSAFE, EXIT_NOTHING, Invocation, command
from lamina.surfaces.cli.times import past


@command(
    "search",
    'lamina search "when does the user want reports" --explain',
    needs_known_agent=True,
)
@options.text("query", "the same as QUERY")
@click.option("--limit", type=int, default=10, show_default=True, help="the most to show")
@options.layers
@options.states
@options.kinds
@options.tags
@click.option("--all-tag", "all_tags", multiple=True, help="with every one of these tags")
@click.option(
    "--meta", "metadata", multiple=True, metavar="K=V", help="with this value in its metadata"
)
@options.since
@options.until
@options.session
@options.project
@options.as_of
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
@options.shared_by
def search(
    invocation: Invocation,
    /,
    query: str,
    explain: bool,
    shared_by: str | None,
    metadata: tuple[str, ...],
    states: tuple[str, ...],
    **filters: Any,
) -> int:
    """Find memories that answer QUERY.
    Without a match it says so and exits with 4; with 5 if the store cannot be read.
    """
    options.check_asked(query, "QUERY")
    filters |= {"metadata": options.metadata_from(metadata), "states": states or None}
    hits = invocation.viewer(shared_by).search(query, **filters)
    invocation.tells_outage = not hits.is_whole
    if invocation.json:
        output.show_json({**hits.to_dict(), "confidence": hits.confidence})
    else:
        if hits:
            output.hits(hits, explain)
        else:
            click.echo(nothing_found(invocation, shared_by, hits.is_whole))
        output.notes(hits.notes)
    return 0 if hits else exit_code_of_nothing(hits.is_whole)


def nothing_found(invocation: Invocation, shared_by: str | None, is_whole: bool) -> str:
    """Report that nothing was found; if the memory is empty, suggest another agent."""
    if not is_whole:
        return "unknown: the store could not be read"
    is_empty = shared_by is None and not invocation.memory().status()["records"]
    return "nothing relevant" + (invocation.other_agents() if is_empty else "")


def exit_code_of_nothing(is_whole: bool) -> int:
    """Distinguish "there is nothing" from "the store could not be read"."""
    return EXIT_NOTHING if is_whole else EXIT_FAILSAFE
