"""The command that lists what waits for a person: pending."""

from __future__ import annotations

import click

from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


@command("pending", "lamina pending", needs_known_agent=True)
def pending(invocation: Invocation) -> None:
    """List everything that waits for a person: requests, escalations, reviews, due memories."""
    items = invocation.memory().pending()
    if invocation.json:
        output.show_json(items)
    elif items:
        rows = [
            (item["id"], item["at"][:10], item["why"], item.get("due", ""), item["content"])
            for item in items
        ]
        columns = ("id", "since", "why", "due", "content")
        output.table(columns, rows, wide="content", dispensable=("due", "since"))
    else:
        click.echo("nothing is pending")
