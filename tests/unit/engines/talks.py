"""A conversation and its summary, which tests of summaries are made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from lamina.engines.summary import Summary, plan
from lamina.model.record import Layer, Record
from tests.conftest import START
from tests.unit.engines.samples import record

NOW = START + timedelta(days=100)


TALK = (
    ("Ana", "Hey Ben! Good to see you! How have you been?"),
    (
        "Ben",
        (
            "Hi Ana! I'm doing great, thanks for asking. I moved to Lisbon last Friday and "
            "started at Nordwind on 2 May 2026."
        ),
    ),
    ("Ana", "Wow, that's amazing! I'm so proud of you. What is the flat like?"),
    (
        "Ben",
        (
            "It was hard to find. The flat has three rooms and a balcony over the harbour, and "
            "costs 900 euros."
        ),
    ),
    (
        "Ana",
        "Sounds great. You really deserve it, you know. Things like that make life worth living!",
    ),
    ("Ben", "Thanks! Your kind words mean a lot to me. And what about you?"),
    (
        "Ana",
        (
            "I adopted a greyhound called Biscuit from the shelter in Porto. The vet says that "
            "Biscuit is allergic to chicken."
        ),
    ),
    ("Ben", "Aww, so cute! Dogs bring so much joy, don't they? You must be so happy."),
    (
        "Ana",
        (
            "Yes, totally! It means a lot. I love it. We are planning to visit you next month, "
            "if that is fine."
        ),
    ),
    ("Ben", "Of course! Can't wait. Let's keep in touch, take care and see you soon!"),
    (
        "Ana",
        (
            "Great! Bye! Have a good day, and good luck with everything! I hope that all goes "
            "well for you."
        ),
    ),
    (
        "Ben",
        (
            "You too! It was so good to talk to you. Thank you for everything, and all the best "
            "for you and everyone!"
        ),
    ),
) * 2


def turn(seq: int, content: str, **fields: Any) -> Record:
    """A turn of a conversation, a minute after the one before it."""
    when = START + timedelta(minutes=seq)
    values: dict[str, Any] = {
        "metadata": {},
        "content": content,
        "layer": Layer.EPISODIC,
        "kind": "user_interaction",
        "session": "s1",
        "occurred_at": when,
        "created_at": when,
    }
    return record(seq, **values | fields)


def talk(
    lines: Sequence[tuple[str | None, str]] = TALK, first: int = 1, **fields: Any
) -> list[Record]:
    return [
        turn(first + place, said, speaker=speaker, **fields)
        for place, (speaker, said) in enumerate(lines)
    ]


def one(turns: Sequence[Record], **more: Any) -> Summary:
    (made,) = plan(turns, (), NOW, **more)
    return made
