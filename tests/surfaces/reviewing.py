"""Proposals as the command line makes and shows them, and the full screen as a person uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lamina import Operator
from lamina.surfaces.cli.reviewer.app import ReviewApp
from tests.surfaces.conftest import Call


def proposed(call: Call, value: str, key: str = "drink") -> str:
    return str(call("profile", "propose", key, value, "--reason", "said so", "--json").json["id"])


def state(call: Call, record_id: str) -> str:
    return str(call("inspect", record_id, "--json").json["state"])


Step = str | Callable[[], object]


class Shown(list[str]):
    """The screens after each step, and the app that showed them."""

    app: ReviewApp


def reviewed(op: Operator, *steps: Step, size: tuple[int, int] = (80, 24)) -> Shown:
    """Press keys, or let others do something between them; return what was on the screen."""
    shown = Shown()
    shown.app = ReviewApp(op, op._scope.clock)

    async def go() -> None:
        async with shown.app.run_test(size=size) as pilot:
            await pilot.pause()
            shown.append(screen(shown.app))
            for step in steps:
                if callable(step):
                    step()
                else:
                    await pilot.press(step)
                await pilot.pause()
                await pilot.pause()
                if shown.app.is_running:
                    shown.append(screen(shown.app))

    asyncio.run(go())
    return shown


def screen(app: ReviewApp) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)
