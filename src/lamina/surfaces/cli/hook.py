"""Commands that other programs call: hooks of coding agents, and what captures messages from elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import click

from lamina.errors import LaminaError
from lamina.memory.agent import Memory
from lamina.model.clock import system_clock
from lamina.model.record import Trust
from lamina.surfaces.cli.invocation import EXIT_FAILSAFE, Session, command
from lamina.surfaces.hooks import problems, switches
from lamina.text.words import reveal

SURFACE = "hook"
LATE_SECONDS = 600.0


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    hook(group)
    capture(group)


def hook(group: click.Group) -> None:
    @command(group, "hook", "lamina --agent sky hook user-prompt < event.json")
    @click.argument("event", required=False)
    @click.option(
        "--plain", is_flag=True, help="read a text instead of JSON, and print the context as it is"
    )
    @click.option(
        "--late", metavar="KEY", hidden=True, help="keep what an earlier call had no time for"
    )
    @click.pass_context
    def run(
        context: click.Context, session: Session, event: str | None, plain: bool, late: str | None
    ) -> None:
        """Serve one EVENT of a coding agent: JSON in, JSON out, in time, and always with exit code 0.

        EVENT is session-start, user-prompt, stop, subagent-start, subagent-stop, pre-compact or session-end; without one,
        the field hook_event_name says which it is. What goes wrong is told in `lamina status`.
        """
        if (
            _is_program()
        ):  # threads of numpy's are started at once, spin, and have nothing to do here
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if _is_typed():  # a person tries it, and would only see it run out of time
            click.echo(f"lamina hook: standard input is a terminal; {_expected(plain)}", err=True)
            _write(b"" if plain else b"{}\n")
            return
        from lamina.surfaces.hooks.handler import Call, Wanted

        chosen = switches.read(os.environ)
        tell = _teller(session, event or "hook")
        for problem in (
            *chosen.problems,
            *(f"{word} means nothing to a hook" for word in context.args),
        ):
            tell(problem)
        wanted = Wanted(
            event, plain, late or f"hook-{os.urandom(8).hex()}", is_late=late is not None
        )
        call = Call(
            wanted,
            chosen,
            lambda: session.agent_handle(SURFACE),
            lambda memory: _upkeep(session, memory),
            tell,
        )
        thread = threading.Thread(target=call.run, args=(_stdin(),), daemon=True)
        thread.start()
        thread.join(LATE_SECONDS if late else chosen.timeout_ms / 1000)
        is_late = thread.is_alive()
        unkept = call.unkept  # before anything is told: the thread goes on
        _write(call.answer())
        if is_late:
            tell(f"the memory did not answer within {chosen.timeout_ms} ms")
            if unkept and late is None:
                _hand_over(session, context, wanted.key, call.data, tell)
        if is_late or _is_program():
            _leave()

    # An agent takes the exit code of wrong usage for a refusal of what its user has just said.
    run.context_settings = {
        **run.context_settings,
        "ignore_unknown_options": True,
        "allow_extra_args": True,
    }


def excuse(session: Session, problem: str) -> None:
    """Answer an agent whose call cannot be understood: it hears nothing and goes on, and what was wrong is told."""
    _teller(session, SURFACE)(problem)
    _write(b"{}\n")


def capture(group: click.Group) -> None:
    @command(
        group,
        "capture",
        "curl -sN ntfy.sh/my-topic/json | lamina --agent milton capture --source ntfy",
    )
    @click.option(
        "--source", type=click.Choice(["ntfy"]), required=True, help="whose lines are read"
    )
    @click.option(
        "--trusted",
        is_flag=True,
        help="trust the messages as the agent's own words, not as text from outside",
    )
    @click.pass_context
    def run(context: click.Context, session: Session, source: str, trusted: bool) -> None:
        """Store each message on standard input as a request, until it ends or Ctrl-C.

        The same message is stored once. A line that is none is told with its number, and the others go on.
        """
        from lamina.surfaces.hooks import ntfy

        def told(line: int, problem: str) -> None:
            click.echo(f"line {line}: {reveal(problem)}", err=True)

        counts = ntfy.Counts()
        with session.agent_handle("capture") as memory:
            trust = None if trusted else Trust.EXTERNAL
            is_spooled = False
            try:
                for record in ntfy.stored(memory, _stdin(), told, counts, trust):
                    is_spooled |= record.stored_in != "store"
                    if sys.stderr.isatty():
                        click.echo(f"\r{counts.stored} stored", nl=False, err=True)
            except KeyboardInterrupt:  # how one ends what listens for ever
                pass
            if memory.outage is None:
                _upkeep(session, memory)
        _summary(session, counts.to_dict())
        outage = memory.outage if is_spooled else None  # else the store has all of them by now
        if outage is not None:
            click.echo(f"the fail-safe has some of them: {reveal(str(outage))}", err=True)
        context.exit(1 if counts.failed else EXIT_FAILSAFE if outage is not None else 0)


def _summary(session: Session, counts: dict[str, int]) -> None:
    if session.json:
        import msgspec

        click.echo(msgspec.json.encode(counts))
        return
    if sys.stderr.isatty():
        click.echo(err=True)
    click.echo(
        ", ".join(
            f"{number} {name}" for name, number in counts.items() if number or name == "stored"
        )
    )


def _is_typed() -> bool:
    """Whether standard input is a terminal."""
    with contextlib.suppress(AttributeError, ValueError):  # there is none, or it is closed
        return sys.stdin.isatty()
    return False


def _expected(plain: bool) -> str:
    from lamina.surfaces.hooks.protocol import EXPECTED

    return "the text of a message is expected there" if plain else EXPECTED


def _stdin() -> BinaryIO | None:
    """Standard input as bytes; there is none in a process that was started without."""
    return getattr(sys.stdin, "buffer", None)


def _teller(session: Session, hook: str) -> Callable[[str], None]:
    """What tells a problem to whoever looks at the status, and to standard error, which agents show on request."""

    def tell(problem: str) -> None:
        told = [problem]
        try:
            unkept = problems.note(session.home, session.agent, system_clock(), hook, problem)
            told += [f"this is not in the status: {unkept}"] if unkept else []
        except LaminaError as error:  # such as a home that cannot be one
            told.append(error.message)
        for one in told:
            with contextlib.suppress(OSError, ValueError):  # nobody listens
                click.echo(f"lamina hook: {reveal(one)}", err=True)

    return tell


def _write(answer: bytes) -> None:
    """Answer the agent, if it still listens."""
    if sys.stdout is None:  # it was closed before we began
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - it is there until the end
    try:
        click.echo(answer, nl=False)
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # or Python complains when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _hand_over(
    session: Session,
    context: click.Context,
    key: str | None,
    data: bytes,
    tell: Callable[[str], None],
) -> None:
    """Have another process keep what this one has no time for. The key makes sure that it is kept once."""
    import subprocess
    import tempfile

    whose = ["--home", str(session.home.path), "--agent", session.agent]
    user = context.find_root().params.get("user")
    given = [str(context.params["event"])] if context.params["event"] else []
    flags = ["--late", str(key), *(["--plain"] if context.params["plain"] else [])]
    program = [
        sys.executable,
        "-P",
        "-m",
        "lamina.surfaces.cli.main",
        *whose,
        *(["--user", user] if user else []),
    ]
    try:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            subprocess.Popen(  # noqa: S603 - our own program, and no shell
                [*program, "hook", *flags, *given],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    except OSError as error:
        tell(f"the message is not kept: {error.strerror}")


def _is_program() -> bool:
    """Whether this process is there for this command alone."""
    return Path(sys.argv[0]).name in ("lamina", "lamina.exe") or Path(sys.argv[0]) == Path(
        __file__
    ).with_name("main.py")


def _leave() -> None:
    """End the process at once, whatever its other thread is waiting for, and without taking everything apart first.

    The store is safe from that; the agent's time is not.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


def _upkeep(session: Session, memory: Memory) -> None:
    """Start the jobs that are due, where the settings say that hooks do."""
    if memory.settings["maintenance"] != "auto":
        return
    from lamina.surfaces.maintenance import start_if_due

    with session.scheduler() as scheduler:
        start_if_due(scheduler.orchestrator(), session.home.path, session.agent)
