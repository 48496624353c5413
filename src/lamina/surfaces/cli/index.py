"""Commands about searching by meaning: index, and the models for vectors."""

from __future__ import annotations

from pathlib import Path

import click

from lamina.memory.scope import MODELS
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


@command("index", "lamina index", needs_known_agent=True)
def index(invocation: Invocation) -> None:
    """Compute missing vectors, for example after an import or a change of embedder.

    Vectors of embedders that the settings no longer name are then removed.
    """
    with output.progress("embedding") as advance:
        number = invocation.memory().index(advance)
    if invocation.json:
        output.show_json({"embedded": number})
    else:
        click.echo(f"{number:,} vector{'' if number == 1 else 's'} computed; the index is complete")


@click.group()
def model() -> None:
    """Models that search by meaning."""


@command("list", "lamina model list", under=model)
def model_list(invocation: Invocation) -> None:
    """List the known models, and which are installed."""
    from lamina.embedders import models

    known = models.listed(invocation.home.path / MODELS)
    if invocation.json:
        output.show_json(known)
        return
    here = {True: "here", False: "not here"}
    rows = [
        (here[model.here], model.name, output.size(model.bytes), model.licence, model.what)
        for model in known
    ]
    columns = ("", "model", "size", "licence", "what it is")
    output.table(columns, rows, wide="what it is", right=("size",))


@command("pull", "lamina model pull e5", under=model)
@click.argument("name")
@click.option(
    "--from",
    "given",
    type=click.Path(path_type=Path),
    help="A file, folder or archive that has the model, instead of a download.",
)
def model_pull(invocation: Invocation, name: str, given: Path | None) -> None:
    """Download the weights of the model NAME, check them, and prepare them."""
    from lamina.embedders import models

    with output.progress("fetching") as advance:
        path = models.pull(name, invocation.home.path / MODELS, advance, given)
    if invocation.json:
        output.show_json({"path": str(path)})
        return
    click.echo(f"{name} is in {path}")
    setting = f'recall.embedders = ["wordllama", "{name}"]'
    click.echo(f"use it with {setting} in config.toml, then `lamina index`")
