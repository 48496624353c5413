"""Proposals as the command line makes and shows them, and the full screen as a person uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from lamina import Operator
from lamina.surfaces.cli.reviewer.app import ReviewApp
from tests.surfaces.conftest import Call


def proposed(call: Call, value: str, key: str = "drink") -> str:
    return str(call("profile", "propose", key, value, "--reason", "said so", "--json").json["id"])


def state(call: Call, record_id: str) -> str:
    return str(call("inspect", record_id, "--json").json["state"])


Step = str | Callable[[], object]
ROUNDS = 20  # in which a screen settles


class Shown(list[str]):
    """The screens after each step, and the app that showed them."""

    app: ReviewApp


def reviewed(op: Operator, *steps: Step, size: tuple[int, int] = (80, 24)) -> Shown:
    """Press keys, or let others do something between them; return what was on the screen."""
    shown = Shown()
    shown.app = ReviewApp(op, op._scope.clock)

    async def go() -> None:
        async with shown.app.run_test(size=size) as pilot:
            shown.append(await settled(pilot))
            for step in steps:
                if callable(step):
                    step()
                else:
                    await pilot.press(step)
                told = await settled(pilot)
                if shown.app.is_running:
                    shown.append(told)

    asyncio.run(go())
    return shown


async def settled(pilot: Pilot[Any]) -> str:
    """Wait until the screen stays as it is: a busy machine lays it out in several rounds."""
    before = ""
    for _ in range(ROUNDS):
        await pilot.pause()
        await pilot.pause()
        if not pilot.app.is_running or (now := screen(pilot.app)) == before:
            break
        before = now
    return before


def screen(app: App[Any]) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)
