"""What a hook tells an agent: few memories that matter now, fenced as data, and none that the agent has just heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lamina.engines import awareness
from lamina.memory.agent import Memory
from lamina.model.record import Hit, Layer
from lamina.search import context, echoes
from lamina.surfaces.hooks.capture import SOURCE
from lamina.surfaces.hooks.switches import Switches
from lamina.text import fence
from lamina.text import words as text

KNOWN = (
    Layer.PROFILE,
    Layer.PROCEDURAL,
    Layer.SEMANTIC,
)  # what is known goes before what was merely said
SAID = (Layer.EPISODIC, Layer.SHORT_TERM)
ASKED = (
    4000  # characters of a message that are searched with: what it is about stands at its beginning
)
QUESTIONS = (
    "?",
    "\uff1f",
    "\u061f",
    "\u037e",
)  # a question that was kept says nothing about its answer
SMALL = frozenset("a again an just now please the".split())  # words that tell nothing
# "Is Ana in Porto?" and "tell me whether she is" are answered by somebody who said the same words.
HELPERS = frozenset(
    "am are can could did do does had has have is may might must should was were will would".split()
)
WHETHER = frozenset(("if", "whether"))
BESIDE = (
    12,
    200,
)  # so many more are looked at, since some were said in this very session; then more, where most were
IN_A_ROW = 2  # messages that hooks kept, before something else has its turn


def before(memory: Memory, message: str, session: str | None, switches: Switches) -> str:
    """What is remembered about a message or a task, within the caps."""
    asked, limit = fence.unfenced(message)[:ASKED], switches.context_limit
    if not limit or switches.context_max_chars < context.LEAST:
        return ""
    known = memory.search(asked, limit, layers=KNOWN)
    return context.made(
        chosen(known, _said(memory, asked, session, limit), limit), switches.context_max_chars
    ).text


def at_start(memory: Memory, about: str, switches: Switches) -> str:
    """What is good to know when a session begins: what is pending, who the user is, and what is known about the place."""
    limit, room = switches.context_limit, switches.context_max_chars
    if not limit or room < context.LEAST:
        return ""
    waiting = pending(memory.pending(), limit, room // 2)
    room -= len(waiting) + 2
    people = [Hit(record, 0.0, {}) for record in memory.list(layers=(Layer.PROFILE,), limit=limit)]
    place = memory.search(about, limit, layers=KNOWN) if text.is_visible(about) else ()
    hits = list({hit.record.id: hit for hit in (*people, *place)}.values())[:limit]
    known = context.made(hits, room).text if room >= context.LEAST else ""
    return "\n\n".join(filter(None, (waiting, known)))


def _said(memory: Memory, asked: str, session: str | None, limit: int) -> list[Hit]:
    """What was said about it, and tells something."""
    told: list[Hit] = []
    for beside in BESIDE:
        hits = memory.search(asked, limit + beside, layers=SAID)
        told = fresh(hits, asked, session)
        if len(told) >= limit or len(hits) < limit + beside:
            break
    return mixed(told)


def mixed(said: Sequence[Hit]) -> list[Hit]:
    """In their order, except that of three at least one is no message that a hook kept, as long as there is such a one.

    Users say what they want over and over; what somebody else noted about it stands beside that.
    """
    kept = deque(hit for hit in said if hit.record.source == SOURCE)
    noted = deque(hit for hit in said if hit.record.source != SOURCE)
    place = {hit.record.id: number for number, hit in enumerate(said)}
    found: list[Hit] = []
    in_a_row = 0
    while kept and noted:
        is_noted = in_a_row == IN_A_ROW or place[noted[0].record.id] < place[kept[0].record.id]
        found.append((noted if is_noted else kept).popleft())
        in_a_row = 0 if is_noted else in_a_row + 1
    return [*found, *kept, *noted]


def fresh(hits: Iterable[Hit], asked: str, session: str | None) -> list[Hit]:
    """The hits that tell an agent something: not what it has heard in this session, nor what it asks, nor what was asked."""
    words = text.asked(asked)
    return [
        hit
        for hit in hits
        if (session is None or hit.record.session != session)
        and text.asked(hit.record.content) != words
        and not (hit.record.source == SOURCE and is_idle(hit.record.content, words))
    ]


def is_idle(prompt: str, words: Sequence[str]) -> bool:
    """Whether a prompt that was kept tells nothing to whoever says these words: it asks, or they hold it as it is."""
    if prompt.endswith(QUESTIONS) or echoes.only_asks(prompt):
        return True
    if not words or words[0] in HELPERS or not WHETHER.isdisjoint(words):
        return False
    rest = iter(words)
    return all(word in rest for word in text.asked(prompt) if word not in SMALL)


def chosen(known: Sequence[Hit], said: Sequence[Hit], limit: int) -> list[Hit]:
    """What is known, and beside it some of what was said; where one has little, the other has more."""
    kept = min(len(said), max(limit // 3, limit - len(known)))
    return [*known[: limit - kept], *said[:kept]]


def pending(items: Sequence[Mapping[str, Any]], limit: int, room: int) -> str:
    """What waits for somebody. Of what waits for a review only the number is told: nobody has agreed to its text yet."""
    reviews = sum(item["why"] == awareness.REVIEW for item in items)
    waiting = text.counted(reviews, "proposal waits", "proposals wait")
    lines = [f"[{waiting} for a person; `lamina review` shows them]"] if reviews else []
    room -= len(fence.fenced("")) + sum(map(len, lines)) + 1
    for item in [item for item in items if item["why"] != awareness.REVIEW][:limit]:
        day = f"due {item['due']}" if "due" in item else item["at"][:10]
        line = f"[pending {item['id']}; {item['why']}; {day}]\n| {fence.tamed(text.reveal(item['content']))}"
        if len(line) >= room:
            break
        lines.append(line)
        room -= len(line) + 1
    return fence.fenced("\n".join(lines)) if lines else ""
