"""Commands about the archive: archive search, archive list, archive restore."""

from __future__ import annotations

from typing import Any

import click

from lamina.model.record import Record, plain
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import EXIT_NOTHING, Invocation, command

FIELDS = ("number", "file", "why", "lines", "made_at")


@click.group()
def archive() -> None:
    """Archived memories: search, list and restore them."""


@command(
    "search",
    "lamina archive search garmin --since 2026-01-01",
    under=archive,
    needs_known_agent=True,
)
@click.argument("text", default="")
@options.since
@options.until
@click.option(
    "--limit",
    type=int,
    default=100,
    show_default=True,
    help="the most to show, last archived first",
)
def archive_search(invocation: Invocation, text: str, limit: int, **span: Any) -> int:
    """Find TEXT in archived memories: in contents, tags and metadata, as `grep -i` would."""
    records = invocation.memory().search_archive(text, limit, **span)
    if invocation.json:
        output.show_json([record.to_dict() for record in records])
    elif records:
        _show(records)
        if len(records) == limit:
            hint = f"the {limit} that were archived last; there may be more, see --limit"
            click.echo(hint, err=True)
    else:
        click.echo("nothing in the archive holds this")
    return 0 if records else EXIT_NOTHING


def _show(records: list[Record]) -> None:
    rows = [
        (record.id, output.when(record.occurred_at), record.content, record.archived)
        for record in records
    ]
    columns = ("id", "when (UTC)", "content", "file and line")
    output.table(
        columns, rows, wide="content", dispensable=("when (UTC)",), wraps=("file and line",)
    )


@command("list", "lamina archive list", under=archive, needs_known_agent=True)
def archive_list(invocation: Invocation) -> None:
    """List the files of the archive, and why their memories were archived."""
    files = invocation.operator("archive list").archives()
    if invocation.json:
        output.show_json(
            [
                {name: plain(getattr(file, name)) for name in FIELDS}
                | {"sha256": file.sha256.hex()}
                for file in files
            ]
        )
    elif files:
        most = max(file.lines for file in files)
        rows = [
            (
                *(file.file, file.why, output.when(file.made_at), file.lines),
                output.bar(file.lines, most),
            )
            for file in files
        ]
        columns = ("file", "why", "when (UTC)", "lines", "")
        output.table(columns, rows, right=("lines",), dispensable=("", "when (UTC)"))
    else:
        click.echo("nothing is archived")


@command("restore", "lamina archive restore 01k9zq5e7cxxxxxxxxxxxxxxxx", under=archive)
@click.argument("record_ids", metavar="ID...", nargs=-1, required=True)
def archive_restore(invocation: Invocation, record_ids: tuple[str, ...]) -> None:
    """Bring archived records back into the store, with their ids and histories."""
    operator = invocation.operator("archive restore")
    restored = operator.restore_archived(*map(invocation.full_id, record_ids))
    if invocation.json:
        output.show_json([record.to_dict() for record in restored])
    else:
        output.records(restored)
