"""The command that coding agents call at their events: hook."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click

from lamina.errors import LaminaError
from lamina.home import calls
from lamina.home.settings import load
from lamina.memory.agent import Memory
from lamina.model.clock import system_clock
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.hooks import problems, switches
from lamina.text.words import reveal

SURFACE = "hook"
LATE_SECONDS = 600.0
# Agents take the exit code for wrong usage as a veto of what their user has just said.
LENIENT = {"ignore_unknown_options": True, "allow_extra_args": True}


@command("hook", "lamina --agent sky hook user-prompt < event.json", context_settings=LENIENT)
@click.argument("event", required=False)
@click.option(
    "--plain", is_flag=True, help="read a text instead of JSON, and print the context as it is"
)
@click.option(
    "--late", metavar="KEY", hidden=True, help="keep what an earlier call had no time for"
)
@click.pass_context
def hook(
    context: click.Context, invocation: Invocation, event: str | None, plain: bool, late: str | None
) -> None:
    """Serve one EVENT of a coding agent: JSON in, JSON out, in time, and always with exit code 0.

    EVENT is session-start, user-prompt, tool-use, stop, subagent-start, subagent-stop, pre-compact,
    post-compact, notification or session-end; without EVENT, the field hook_event_name names it.
    `lamina status` reports errors.
    """
    if _is_program():  # numpy's threads would start at once and spin, without any work here
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if _is_typed():  # a person is trying it, and would only see it time out
        click.echo(f"lamina hook: standard input is a terminal; {_expected(plain)}", err=True)
        _write(b"" if plain else b"{}\n")
        return
    from lamina.surfaces.hooks.handler import CallOptions, HookCall

    chosen = switches.read(os.environ)
    report = _reporter(invocation, event or SURFACE)
    ignored = [f"{word} means nothing to a hook" for word in context.args]
    for problem in (*chosen.problems, *ignored):
        report(problem)
    wanted = CallOptions(
        event, plain, late or f"hook-{os.urandom(8).hex()}", is_late=late is not None
    )

    def connect() -> Memory:
        return invocation.agent_handle(SURFACE)

    def captured() -> str:
        return str(load(invocation.home.path)["hooks.capture"])

    call = HookCall(
        wanted,
        chosen,
        connect,
        lambda memory: start_jobs(invocation, memory),
        report,
        captured,
    )
    stdin = getattr(sys.stdin, "buffer", None)  # a process may be started without it
    thread = threading.Thread(target=call.run, args=(stdin,), daemon=True)
    thread.start()
    thread.join(LATE_SECONDS if late else chosen.timeout_ms / 1000)
    is_late = thread.is_alive()
    unkept = call.unkept  # read before reporting anything: the thread goes on
    _write(call.answer())
    _note_call(invocation, report)
    if is_late:
        report(f"the memory did not answer within {chosen.timeout_ms} ms")
        if unkept and late is None:
            _hand_over(invocation, context, wanted.key, call.data, report)
    if is_late or _is_program():
        _leave()


def excuse(invocation: Invocation, problem: str) -> None:
    """Answer a call that cannot be understood with nothing, and report the problem."""
    _reporter(invocation, SURFACE)(problem)
    _write(b"{}\n")


def start_jobs(invocation: Invocation, memory: Memory) -> None:
    """Start the due jobs, if the settings allow hooks to do so."""
    if memory.settings["maintenance"] != "auto":
        return
    from lamina.surfaces.maintenance import start_if_due

    with invocation.scheduler() as scheduler:
        start_if_due(scheduler.orchestrator(), invocation.home.path, invocation.agent)


def _note_call(invocation: Invocation, report: Callable[[str], None]) -> None:
    """Note that an agent calls its hooks, for `lamina doctor`."""
    try:
        problem = calls.note(invocation.home, invocation.agent, calls.HOOK, system_clock())
    except LaminaError as error:  # such as an invalid home
        problem = error.message
    if problem is not None:
        report(f"this call is not noted: {problem}")


def _is_typed() -> bool:
    """Return whether standard input is a terminal."""
    with contextlib.suppress(AttributeError, ValueError):  # it is missing or closed
        return sys.stdin.isatty()
    return False


def _expected(plain: bool) -> str:
    from lamina.surfaces.hooks.protocol import EXPECTED

    return "the text of a message is expected there" if plain else EXPECTED


def _reporter(invocation: Invocation, hook: str) -> Callable[[str], None]:
    """Return a function that notes a problem for the status, and prints it if agents show it."""

    def report(problem: str) -> None:
        lines = [problem]
        try:
            unkept = problems.note(invocation.home, invocation.agent, system_clock(), hook, problem)
            lines += [f"this is not in the status: {unkept}"] if unkept else []
        except LaminaError as error:  # such as an invalid home
            lines.append(error.message)
        for line in lines:
            with contextlib.suppress(OSError, ValueError):  # standard error is closed
                click.echo(f"lamina hook: {reveal(line)}", err=True)

    return report


def _write(answer: bytes) -> None:
    """Answer the agent, if it is still listening."""
    if sys.stdout is None:  # it was closed before we started
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - it is there until the end
    try:
        click.echo(answer, nl=False)
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):  # otherwise Python complains at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _hand_over(
    invocation: Invocation,
    context: click.Context,
    key: str | None,
    data: bytes,
    report: Callable[[str], None],
) -> None:
    """Start another process to store what this one has no time for; the key prevents duplicates."""
    import subprocess
    import tempfile

    user = context.find_root().params.get("user")
    command = [sys.executable, "-P", "-m", "lamina"]
    command += ["--home", str(invocation.home.path), "--agent", invocation.agent]
    command += [*(["--user", user] if user else []), "hook", "--late", str(key)]
    command += ["--plain"] if context.params["plain"] else []
    command += [str(context.params["event"])] if context.params["event"] else []
    try:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            subprocess.Popen(  # noqa: S603 - our own program, and no shell
                command,
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
    except OSError as error:
        report(f"the message is not kept: {error.strerror}")


def _is_program() -> bool:
    """Return whether this process runs only this command."""
    program = Path(sys.argv[0])
    started = (Path(__file__).with_name("main.py"), Path(__file__).parents[2] / "__main__.py")
    return program.name in ("lamina", "lamina.exe") or program in started


def _leave() -> None:
    """End the process at once, without waiting for its other thread or cleaning up.

    This cannot harm the store, and the agent does not have to wait.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)
