"""Commands about memories: remember, list, inspect, and runs."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from lamina.errors import InvalidInput, NotFound
from lamina.model.clock import is_id
from lamina.model.record import Layer, Record, State, plain
from lamina.model.rules import KINDS
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILSAFE, Session, command, shared_by
from lamina.surfaces.cli.times import past

LAYERS = click.Choice([layer.value for layer in Layer])
LISTS = ("topic_tags", "evidence_refs")  # metadata that is a list of texts
STATES = click.Choice([state.value for state in State])


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    remember(group)
    listing(group)
    inspect(group)
    runs(group)


def kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """How a shell completes a kind."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def remember(group: click.Group) -> None:
    @command(
        group,
        "remember",
        'lamina remember "User wants daily reports at 7am" --kind preference --tag reports',
    )
    @click.argument("text")
    @click.option("--kind", shell_complete=kinds, help="what sort of memory (default crumb)")
    @click.option("--layer", type=LAYERS, help="where it starts (default short_term)")
    @click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")
    @click.option("--importance", type=float, help="0 to 1")
    @click.option("--score", type=float, help="the same as importance, 0 to 10")
    @click.option(
        "--meta", "metadata", multiple=True, metavar="K=V", help="metadata; V may be JSON"
    )
    @click.option(
        "--evidence", multiple=True, metavar="ID", help="a record id, URL or path that supports it"
    )
    @click.option(
        "--source", help="where it comes from; tool, web, mail and import are not trusted"
    )
    @click.option("--speaker", help="who said it")
    @click.option("--session", help="the conversation it belongs to")
    @click.option(
        "--at",
        callback=past,
        help="when it happened: a day, a time with its zone, or how long ago (default now)",
    )
    @click.option("--key", help="an idempotency key: the same key stores once")
    def run(
        session: Session,
        /,
        text: str,
        metadata: tuple[str, ...],
        evidence: tuple[str, ...],
        **fields: Any,
    ) -> None:
        """Store TEXT as a memory; with - the text is read from standard input."""
        content = _standard_input() if text == "-" else text
        fields["evidence"] = session.evidence(evidence)
        with _secrets_told_here(), _metadata_as_typed():
            stored = session.memory().remember(content, metadata=metadata_of(metadata), **fields)
        _show(session, stored)
        if stored.stored_in != "store":
            click.get_current_context().exit(EXIT_FAILSAFE)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8: {error.reason} at byte {error.start}"
        ) from None


@contextmanager
def _metadata_as_typed() -> Iterator[None]:
    """What a layer needs is told as it is typed here."""
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


def metadata_of(pairs: tuple[str, ...]) -> dict[str, Any] | None:
    """Metadata from words of the form NAME=VALUE."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInput(f"--meta {pair!r} is not of the form NAME=VALUE")
        found[name] = value_of(value)
    return found or None


def value_of(text: str) -> Any:
    """JSON where it is JSON, and the text as it stands where it is not."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


@contextmanager
def _secrets_told_here() -> Iterator[None]:
    """The log is silent about secrets meanwhile: `_show` tells of them, with what to do, and once is enough."""
    log = logging.getLogger("lamina.secrets")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _show(session: Session, stored: Record) -> None:
    if session.json:
        output.show_json(stored.to_dict())
    else:
        done = "remembered" if stored.stored_in == "store" else "kept in the fail-safe"
        click.echo(
            f"{done} {stored.id}  {stored.layer.value}  {stored.kind}  importance {stored.importance:.2f}"
        )
    if session.memory().secrets:
        kinds = ", ".join(session.memory().secrets)
        kept = (
            "was redacted"
            if session.memory().settings["secrets.capture"] == "redact"
            else "is in it"
        )
        hint = "" if kept == "was redacted" else f"; `lamina erase {stored.id}` removes it for good"
        output.attention(f"what looks like a secret {kept}: {kinds}{hint}", err=True)


def listing(group: click.Group) -> None:
    @command(group, "list", "lamina list --layer semantic --tag garmin --limit 20")
    @click.option(
        "--layer", "layers", type=LAYERS, multiple=True, help="only this layer; may be repeated"
    )
    @click.option(
        "--state", "states", type=STATES, multiple=True, help="only this state (default active)"
    )
    @click.option(
        "--all", "every", is_flag=True, help="records in every state and layer, working memory too"
    )
    @click.option("--kind", "kinds", multiple=True, shell_complete=kinds, help="only this kind")
    @click.option("--tag", "tags", multiple=True, help="with any of these tags")
    @click.option(
        "--since", callback=past, help="not before: a day, a time, or how long ago, such as 7d"
    )
    @click.option("--until", callback=past, help="before: a day, a time, or how long ago")
    @click.option("--limit", type=int, default=50, show_default=True, help="at most so many")
    @shared_by
    def run(
        session: Session,
        states: tuple[str, ...],
        every: bool,
        shared_by: str | None,
        **filters: Any,
    ) -> None:
        """List memories, newest first."""
        if every and not filters["layers"]:
            filters["layers"] = tuple(Layer)
        chosen = None if every else states or (State.ACTIVE,)
        found = session.viewer(shared_by).list(states=chosen, **filters)
        if session.json:
            output.show_json([record.to_dict() for record in found])
        elif found:
            output.records(found, every_user=session.memory().user is None)
        elif (
            any(value for name, value in filters.items() if name != "limit") or states or shared_by
        ):
            click.echo("no memory matches")
        else:
            click.echo("no memories here" + session.other_agents())


def inspect(group: click.Group) -> None:
    @command(group, "inspect", "lamina inspect 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_id", metavar="ID")
    @shared_by
    def run(session: Session, record_id: str, shared_by: str | None) -> None:
        """Show everything about the record ID: its fields, its evidence and its history, which is not shared."""
        memory = session.memory()
        if shared_by is not None:
            seen = memory.shared(shared_by).get(session.full_id(record_id, shared_by))
            output.show_json(seen.to_dict()) if session.json else output.record(seen)
            return
        whole = session.full_id(record_id)
        found, history = memory.get(whole), memory.history(whole)
        if session.json:
            output.show_json({**found.to_dict(), "history": [event.to_dict() for event in history]})
            return
        grounds = [one for one in found.evidence if is_id(one)]
        output.record(
            found, memory.contents(grounds) if grounds and found.stored_in == "store" else {}
        )
        click.echo("\nhistory")
        output.events(history)


def runs(group: click.Group) -> None:
    @group.group("runs")
    def runs_group() -> None:
        """Working memory of runs that were not closed."""

    @command(runs_group, "list", "lamina runs list")
    def show(session: Session) -> None:
        """List runs that are open, such as those of a process that died."""
        found = session.memory().runs()
        if session.json:
            fields = ("id", "task", "started_at", "note_count")
            output.show_json(
                [{name: plain(getattr(run, name)) for name in fields} for run in found]
            )
        elif found:
            output.table(
                ("id", "started (UTC)", "notes", "task"),
                [(run.id, output.when(run.started_at), run.note_count, run.task) for run in found],
                wide="task",
                right=("notes",),
            )
        else:
            click.echo("no open runs")

    @command(
        runs_group, "close", 'lamina runs close 01k9zq5e7cxxxxxxxxxxxxxxxx --summary "report sent"'
    )
    @click.argument("run_id", metavar="ID")
    @click.option("--summary", help="what came of it; kept as an episodic memory")
    @click.option("--failed", help="why it failed")
    def close(session: Session, run_id: str, summary: str | None, failed: str | None) -> None:
        """Close the run ID: its notes are set aside, and its ending is kept."""
        open_runs = {run.id: run for run in session.memory().runs()}
        whole = session.full_id(run_id)
        if whole not in open_runs:
            raise NotFound(f"there is no open run {whole}")
        with _secrets_told_here():
            ending = open_runs[whole].close(summary, failed)
        if ending is not None:
            _show(session, ending)
        else:
            click.echo("closed")
