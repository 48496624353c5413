"""Commands about proposals: review list, confirm, reject and lift, and the full-screen reviewer."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import click

from lamina.engines.review import Proposal
from lamina.errors import LaminaError, Refused
from lamina.home import extras
from lamina.memory.reviews import what_stays
from lamina.model.clock import system_clock
from lamina.model.record import Record, State
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.correct import show_changed
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.surfaces.review import evidence
from lamina.text.words import one_line, reveal

DONE = {"confirm": "confirmed", "reject": "rejected"}
LISTED = 50  # proposals to list
REPLACED = 3  # records that a proposal would replace, to name in the table
AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))

yes_to_several = click.option("--yes", is_flag=True, help="do not ask when there are several")


@click.group(invoke_without_command=True, epilog="Example:  lamina review")
@click.option("--plain", is_flag=True, help="ask question by question, without a full screen")
@click.option("--browser", is_flag=True, help="decide on a page of this machine, for one browser")
@click.option("--port", type=int, default=0, help="with --browser: the port; 0 takes a free one")
@click.pass_context
def review(context: click.Context, plain: bool, browser: bool, port: int) -> None:
    """Proposals that wait for a person; without a command, go through them one by one."""
    if context.invoked_subcommand is not None:
        return
    if browser:
        _browse(context.obj, port)
    else:
        from lamina.surfaces.cli.reviewer import start

        start(context.obj, plain=plain)


def _browse(invocation: Invocation, port: int) -> None:
    """Serve the page to one browser until the person finishes there, or presses Ctrl-C."""
    try:
        from lamina.surfaces.review.browser.serving import Serving
    except ModuleNotFoundError as error:
        raise Refused(f"--browser needs {error.name}; {extras.remedy('http')}") from None
    operator = invocation.reviewer("browser")
    serving = Serving(operator, invocation.refusals("browser"), port)
    if invocation.json:
        output.show_json({"url": serving.url, "link": serving.link})
    else:
        click.echo(f"open this link, which works once: {serving.link}")
        click.echo("Ctrl-C or the button Finish ends it")
        if sys.stdin.isatty():
            webbrowser.open(serving.link)
    try:
        serving.run()
    finally:
        operator.close()


@command("list", "lamina review list --limit 20", under=review, needs_known_agent=True)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"the most to show (default {LISTED}; with --json all)",
)
@click.option(
    "--after",
    metavar="ID",
    help="only proposals after this one, such as the last one of the previous list",
)
@options.state_option("constrained, as all proposals are")
def review_list(
    invocation: Invocation, limit: int | None, after: str | None, states: tuple[str, ...]
) -> None:
    """List waiting proposals, with their age, source, trust, and what they would replace."""
    if others := [state for state in states if state != State.CONSTRAINED]:
        raise click.UsageError(
            f"only constrained records wait for review; `lamina list --state {others[0]}` lists"
            " others"
        )
    most = limit if limit or invocation.json else LISTED
    previous = None if after is None else invocation.full_id(after)
    proposals = invocation.memory().proposals(most, previous)
    if invocation.json:
        output.show_json([proposal.to_dict() for proposal in proposals])
    elif proposals:
        _show(proposals)
        if proposals.left:
            last = proposals[-1].record.id
            click.echo(f"{proposals.left:,} more: `lamina review list --after {last}`")
    else:
        click.echo("nothing waits for review" if after is None else "nothing comes after that")


def _show(proposals: Sequence[Proposal]) -> None:
    """Print proposals as a table, and below it why some cannot be confirmed."""
    now = system_clock()
    rows = []
    for proposal in proposals:
        record, others = proposal.record, proposal.replaces
        replaced = ", ".join(f"…{other.id[-6:]}" for other in others[:REPLACED])
        replaced += "…" if len(others) > REPLACED else ""
        source = record.source or proposal.by
        about = (_age(now, proposal.since), source, record.trust.value)
        rows.append((record.id, *about, record.content, replaced))
    columns = ("id", "age", "source", "trust", "content", "replaces")
    output.table(columns, rows, wide="content", right=("age",), dispensable=("source", "replaces"))
    for proposal in proposals:
        record_id = proposal.record.id
        if proposal.problem is not None:
            click.echo(f"{record_id} cannot be confirmed: {reveal(proposal.problem)}")
        for other in proposal.similar:
            similar = f"{record_id} is similar to {other.id}, which was rejected"
            click.echo(f"{similar}: {one_line(other.content, 80)}")


def _age(now: datetime, then: datetime) -> str:
    """Describe how long ago a moment was, in one unit."""
    seconds = max(0.0, (now - then).total_seconds())
    return next((f"{seconds / size:.0f} {unit}" for size, unit in AGES if seconds >= size), "now")


@command("confirm", "lamina review confirm 01k9zq5e7cxxxxxxxxxxxxxxxx", under=review)
@click.argument("record_ids", metavar="ID...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="all proposals that can be confirmed")
@options.reason
@yes_to_several
def review_confirm(
    invocation: Invocation,
    record_ids: tuple[str, ...],
    everything: bool,
    reason: str | None,
    yes: bool,
) -> int:
    """Activate the proposal ID and supersede what it replaces, unless that has changed
    meanwhile.
    """
    operator = invocation.operator("review confirm")
    chosen = _chosen_ids(invocation, record_ids, everything, lambda one: one.problem is None)
    return _decide(invocation, "confirm", chosen, lambda one: operator.confirm(one, reason), yes)


@command(
    "reject", 'lamina review reject 01k9zq5e7cxxxxxxxxxxxxxxxx --reason "not so"', under=review
)
@click.argument("record_ids", metavar="ID...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="all waiting proposals")
@click.option("--reason", help="why; in a terminal it is asked for")
@yes_to_several
def review_reject(
    invocation: Invocation,
    record_ids: tuple[str, ...],
    everything: bool,
    reason: str | None,
    yes: bool,
) -> int:
    """Reject the proposal ID, or withdraw the active fact ID, and keep its value out, no matter who
    proposes it again.
    """
    operator = invocation.operator("review reject")
    chosen = _chosen_ids(invocation, record_ids, everything, lambda one: True)
    if reason is None:
        reason = output.answer("why (may stay empty)")
    rejected: list[Record] = []

    def decide(record_id: str) -> Record:
        rejected.append(operator.reject(record_id, reason))
        return rejected[-1]

    code = _decide(invocation, "reject", chosen, decide, yes)
    if not invocation.json:
        for record in rejected:
            for line in what_stays(record, partial(evidence.found, operator), operator.resting_on):
                click.echo(line)
    return code


def _chosen_ids(
    invocation: Invocation,
    record_ids: Sequence[str],
    everything: bool,
    is_wanted: Callable[[Proposal], bool],
) -> Sequence[str]:
    if everything == bool(record_ids):
        raise click.UsageError("give the ids of proposals, or --all")
    if everything:
        return [one.record.id for one in invocation.memory().proposals() if is_wanted(one)]
    return [invocation.full_id(record_id) for record_id in record_ids]


def _decide(
    invocation: Invocation,
    verb: str,
    chosen: Sequence[str],
    decide: Callable[[str], Record],
    yes: bool,
) -> int:
    """Decide about one proposal, or about several after a preview; each decision is separate."""
    if not chosen:
        message = f"nothing waits that can be {DONE[verb]}"
        output.show_json([]) if invocation.json else click.echo(message)
        return 0
    if len(chosen) == 1:
        show_changed(invocation, DONE[verb], decide(chosen[0]))
        return 0
    if not yes:
        waiting = {one.record.id: one for one in invocation.memory().proposals()}
        if not invocation.json:
            _show([waiting[record_id] for record_id in chosen if record_id in waiting])
        several = f"{verb} {len(chosen)} proposals"
        if not output.confirmed(f"{several}?"):
            raise Refused(f"nothing was done; use --yes to {several} without a question")
    with invocation.operator(f"review {verb}").batch():
        outcomes = [_outcome(verb, record_id, decide) for record_id in chosen]
    if invocation.json:
        output.show_json(outcomes)
    else:
        rows = [
            (one["id"], one["outcome"], one.get("error", {}).get("message", "")) for one in outcomes
        ]
        output.table(("id", "outcome", "why"), rows, wide="why", wraps=("why",))
    return EXIT_FAILED if any(one["outcome"] == "failed" for one in outcomes) else 0


def _outcome(verb: str, record_id: str, decide: Callable[[str], Record]) -> dict[str, Any]:
    """Decide about one of several; if that fails, the others are decided nonetheless."""
    try:
        return {"id": record_id, "outcome": DONE[verb], "state": decide(record_id).state.value}
    except LaminaError as error:
        return {"id": record_id, "outcome": "failed", **error.to_dict()}


@command(
    "lift",
    'lamina review lift 01k9zq5e7cxxxxxxxxxxxxxxxx --reason "it is so after all"',
    under=review,
)
@click.argument("record_id", metavar="ID")
@click.option("--reason", required=True, help="why")
def review_lift(invocation: Invocation, record_id: str, reason: str) -> None:
    """Allow the value of the rejected proposal or fact ID again, so that it can be proposed."""
    operator = invocation.operator("review lift")
    show_changed(invocation, "lifted", operator.lift(invocation.full_id(record_id), reason))
