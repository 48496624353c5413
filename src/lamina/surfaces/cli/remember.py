"""The command that stores a memory: remember."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lamina.errors import InvalidInput
from lamina.model.record import Record
from lamina.surfaces.cli import init, options, output
from lamina.surfaces.cli.invocation import EXIT_FAILSAFE, Invocation, command
from lamina.surfaces.cli.times import past

LISTS = ("topic_tags", "evidence_refs")  # metadata fields that are lists of texts


@command(
    "remember", 'lamina remember "User wants daily reports at 7am" --kind preference --tag reports'
)
@click.argument("text")
@options.kind_of_new
@click.option("--layer", type=options.LAYER, help="where it starts (default short_term)")
@options.tags_of_new
@click.option("--importance", type=float, help="0 to 1")
@click.option("--score", type=float, help="the same as importance, 0 to 10")
@options.metadata_of_new
@click.option(
    "--evidence", multiple=True, metavar="ID", help="a record id, URL or path that supports it"
)
@click.option("--source", help="where it comes from; tool, web, mail and import are not trusted")
@click.option("--speaker", help="who said it; an operator's `I` is `user`")
@click.option("--session", help="the conversation it belongs to")
@click.option("--project", help="the project it belongs to")
@click.option(
    "--at",
    callback=past,
    help="when it happened: a day, a time with its zone, or how long ago (default now)",
)
@click.option("--key", help="an idempotency key: the same key stores once")
def remember(
    invocation: Invocation,
    /,
    text: str,
    metadata: tuple[str, ...],
    evidence: tuple[str, ...],
    **fields: Any,
) -> int:
    """Store TEXT as a memory; with - the text is read from standard input."""
    content = _standard_input() if text == "-" else text
    if init.can_ask(invocation) and init.is_first(invocation):
        init.begin(invocation, {})
    fields["metadata"] = options.metadata_from(metadata)
    fields["evidence"] = invocation.evidence(evidence)
    with secrets_unlogged(), _metadata_as_options():
        stored = invocation.memory().remember(content, **fields)
    show_stored(invocation, stored)
    return 0 if stored.stored_in == "store" else EXIT_FAILSAFE


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise options.not_utf8(error) from None


@contextmanager
def _metadata_as_options() -> Iterator[None]:
    """Name the metadata that a layer needs in the terms of the command line."""
    try:
        yield
    except InvalidInput as error:
        missing = error.details.get("missing")
        if not isinstance(missing, list):
            raise
        typed = " ".join(
            f"--meta '{name}=[\"…\"]'" if name in LISTS else f"--meta {name}=…" for name in missing
        )
        raise InvalidInput(f"{error.message}: {typed}", **error.details) from None


@contextmanager
def secrets_unlogged() -> Iterator[None]:
    """Silence the log about secrets: `show_stored` reports them, with what to do."""
    log = logging.getLogger("lamina.secrets")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def show_stored(invocation: Invocation, stored: Record) -> None:
    """Print a stored record, and a warning if it contains a secret."""
    if invocation.json:
        output.show_json(stored.to_dict())
    else:
        done = "remembered" if stored.stored_in == "store" else "kept in the fail-safe"
        shown = (f"{done} {stored.id}", stored.layer.value, stored.kind)
        click.echo("  ".join((*shown, f"importance {stored.importance:.2f}")))
    memory = invocation.memory()
    if not memory.secrets:
        return
    if memory.settings["secrets.capture"] == "redact":
        kept, hint = "was redacted", ""
    else:
        kept, hint = "is in it", f"; `lamina erase {stored.id}` removes it permanently"
    kinds = ", ".join(memory.secrets)
    output.attention(f"what looks like a secret {kept}: {kinds}{hint}", err=True)
