"""Draw docs/review.svg by the program itself: `lamina review` with a few proposals."""

from __future__ import annotations

import asyncio
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import lamina
from lamina.surfaces.cli.reviewer.app import ReviewApp

TARGET = Path(__file__).parent / "review.svg"
SIZE = (110, 30)
FONTS = re.compile(r"@font-face \{[^}]*\}\s*")  # they would be fetched from elsewhere
NUMBERS = re.compile(r"terminal-[0-9]+")  # which differ from run to run
TALK = (
    ("Ana", "Good morning! Two things before we start."),
    ("Ana", "I moved to Porto last week, and I only drink green tea now."),
    ("assistant", "Porto it is. Green tea, then."),
    ("Ana", "And please keep answers short."),
)


def now() -> datetime:
    return datetime(2026, 11, 17, 9, 30, tzinfo=UTC)


async def picture(home: str) -> str:
    """Make a small store, open the reviewer on it, and take a picture."""
    memory = lamina.open(agent="demo", home=home, clock=now)
    operator = lamina.operator(agent="demo", home=home, clock=now)
    turns = memory.remember_conversation(
        [{"speaker": who, "text": said} for who, said in TALK], session="monday"
    )
    first = memory.propose_profile("drink", "black tea", "said so", [turns[0].id])
    operator.confirm(first.id)
    for key, value, turn in (
        ("drink", "green tea", 1),
        ("home", "Porto", 1),
        ("communication_style", "short answers", 3),
    ):
        memory.propose_profile(key, value, "she said so", [turns[turn].id])
    secret = memory.remember("The guest network is called blue-heron")
    memory.request_forget(secret.id, "it is not worth keeping")
    app = ReviewApp(operator, now)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await pilot.pause()
        drawn = app.export_screenshot(title="lamina review")
    memory.close()
    operator.close()
    return NUMBERS.sub("terminal", FONTS.sub("", drawn))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        TARGET.write_text(asyncio.run(picture(folder)))
