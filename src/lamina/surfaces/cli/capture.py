"""The command that stores messages from elsewhere: capture."""

from __future__ import annotations

import sys

import click

from lamina.model.record import Trust
from lamina.surfaces.cli.hook import start_jobs
from lamina.surfaces.cli.invocation import EXIT_FAILED, EXIT_FAILSAFE, Invocation, command
from lamina.text.words import reveal


@command("capture", "curl -sN ntfy.sh/my-topic/json | lamina --agent milton capture --source ntfy")
@click.option(
    "--source", type=click.Choice(["ntfy"]), required=True, help="the program that writes the lines"
)
@click.option(
    "--trusted",
    is_flag=True,
    help="trust the messages as the agent's own words, not as text from outside",
)
def capture(invocation: Invocation, source: str, trusted: bool) -> int:
    """Store each message on standard input as a request, until it ends or Ctrl-C.

    The same message is stored once. A line that is not a message is reported with its number, and
    the others are processed.
    """
    from lamina.surfaces.hooks import ntfy

    def report(line: int, problem: str) -> None:
        click.echo(f"line {line}: {reveal(problem)}", err=True)

    counts = ntfy.Counts()
    lines = getattr(sys.stdin, "buffer", None)
    with invocation.agent_handle("capture") as memory:
        trust = None if trusted else Trust.EXTERNAL
        is_spooled = False
        try:
            for record in ntfy.store_messages(memory, lines, report, counts, trust):
                is_spooled |= record.stored_in != "store"
                if sys.stderr.isatty():
                    click.echo(f"\r{counts.stored} stored", nl=False, err=True)
        except KeyboardInterrupt:  # the way to end a program that listens forever
            pass
        if memory.outage is None:
            start_jobs(invocation, memory)
    _show(invocation, counts.to_dict())
    outage = memory.outage if is_spooled else None  # otherwise the store has all of them by now
    if outage is not None:
        click.echo(f"the fail-safe has some of them: {reveal(str(outage))}", err=True)
    if counts.failed:
        return EXIT_FAILED
    return 0 if outage is None else EXIT_FAILSAFE


def _show(invocation: Invocation, counts: dict[str, int]) -> None:
    if invocation.json:
        import msgspec

        click.echo(msgspec.json.encode(counts))
        return
    if sys.stderr.isatty():
        click.echo(err=True)
    shown = [f"{number} {name}" for name, number in counts.items() if number or name == "stored"]
    click.echo(", ".join(shown))
