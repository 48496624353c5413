"""Choose the few memories that an agent should read now, fenced as data.

What it has heard in the same session is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lamina.engines import awareness
from lamina.engines.profile import is_standing
from lamina.memory.agent import Memory
from lamina.model.record import Hit, Layer
from lamina.search import context, echoes
from lamina.surfaces.hooks import last_session
from lamina.surfaces.hooks.capture import SOURCE
from lamina.surfaces.hooks.switches import Switches
from lamina.text import fence, words

# What is known goes before what was merely said.
KNOWN = (Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC)
SAID = (Layer.EPISODIC, Layer.SHORT_TERM)
# Characters of a message that are searched with: it begins with what it is about.
ASKED = 4000
# A question that was kept says nothing about its answer.
QUESTIONS = ("?", "\uff1f", "\u061f", "\u037e")
SMALL = frozenset("a again an just now please the".split())  # words without a meaning of their own
# "Is Ana in Porto?" and "tell me whether she is" are answered by a memory with the same words.
HELPERS = frozenset(
    "am are can could did do does had has have is may might must should was were will would".split()
)
WHETHER = frozenset(("if", "whether"))
# So many more hits are looked at, since some were said in this very session; then more, where most
# were.
BESIDE = (12, 200)
ENTRIES = 100  # of the profile, among which standing instructions are looked for
IN_A_ROW = 2  # messages that hooks kept, before another memory has its turn


def before(memory: Memory, message: str, session: str | None, switches: Switches) -> str:
    """Gather what is remembered about a message or a task, within the caps."""
    query, limit = fence.unfenced(message)[:ASKED], switches.context_limit
    if not limit or switches.context_max_chars < context.LEAST:
        return ""
    known = memory.search(query, limit, layers=KNOWN)
    hits = chosen(known, _said(memory, query, session, limit), limit)
    return context.make_context(hits, switches.context_max_chars).text


def at_start(memory: Memory, about: str, switches: Switches) -> str:
    """Gather what helps at the start of a session: pending items, the profile, the folder."""
    limit, room = switches.context_limit, switches.context_max_chars
    if not limit or room < context.LEAST:
        return ""
    waiting = pending(memory.pending(), limit, room // 2)
    room -= len(waiting) + 2
    last = last_session.told(memory, switches.project, room)
    room -= len(last) + 2
    entries = memory.list(layers=(Layer.PROFILE,), limit=ENTRIES)
    entries.sort(key=lambda record: not is_standing(record))  # instructions hold in every session
    profile = [Hit(record, 0.0, {}) for record in entries[:limit]]
    related = memory.search(about, limit, layers=KNOWN) if words.is_visible(about) else ()
    hits = list({hit.record.id: hit for hit in (*profile, *related)}.values())[:limit]
    known = context.make_context(hits, room).text if room >= context.LEAST else ""
    return "\n\n".join(filter(None, (waiting, last, known)))


def _said(memory: Memory, query: str, session: str | None, limit: int) -> list[Hit]:
    """Find what was said about it and is news to the agent."""
    news: list[Hit] = []
    for beside in BESIDE:
        hits = memory.search(query, limit + beside, layers=SAID)
        news = fresh(hits, query, session)
        if len(news) >= limit or len(hits) < limit + beside:
            break
    return mixed(news)


def mixed(said: Sequence[Hit]) -> list[Hit]:
    """Mix in memories that no hook has kept: at least one of three, as long as there are any.

    Else the order stays. Users say what they want over and over; what others noted about it
    belongs beside that.
    """
    kept = deque(hit for hit in said if hit.record.source == SOURCE)
    noted = deque(hit for hit in said if hit.record.source != SOURCE)
    rank = {hit.record.id: number for number, hit in enumerate(said)}
    order: list[Hit] = []
    in_a_row = 0
    while kept and noted:
        is_noted = in_a_row == IN_A_ROW or rank[noted[0].record.id] < rank[kept[0].record.id]
        order.append((noted if is_noted else kept).popleft())
        in_a_row = 0 if is_noted else in_a_row + 1
    return [*order, *kept, *noted]


def fresh(hits: Iterable[Hit], query: str, session: str | None) -> list[Hit]:
    """Leave out what the agent has heard in this session, what it asks, and what was asked."""
    asked = words.asked(query)
    return [
        hit
        for hit in hits
        if (session is None or hit.record.session != session)
        and words.asked(hit.record.content) != asked
        and not (hit.record.source == SOURCE and is_idle(hit.record.content, asked))
    ]


def is_idle(prompt: str, asked: Sequence[str]) -> bool:
    """Tell whether a kept prompt adds nothing to these words: it asks, or they contain it."""
    if prompt.endswith(QUESTIONS) or echoes.only_asks(prompt):
        return True
    if not asked or asked[0] in HELPERS or not WHETHER.isdisjoint(asked):
        return False
    rest = iter(asked)
    return all(word in rest for word in words.asked(prompt) if word not in SMALL)


def chosen(known: Sequence[Hit], said: Sequence[Hit], limit: int) -> list[Hit]:
    """Choose from what is known and what was said; where one has little, the other has more."""
    from_said = min(len(said), max(limit // 3, limit - len(known)))
    return [*known[: limit - from_said], *said[:from_said]]


def pending(items: Sequence[Mapping[str, Any]], limit: int, room: int) -> str:
    """List what waits for a person. Proposals are only counted: their text is not agreed to yet."""
    reviews = sum(item["why"] == awareness.REVIEW for item in items)
    waiting = words.counted(reviews, "proposal waits", "proposals wait")
    lines = [f"[{waiting} for a person; `lamina review` shows them]"] if reviews else []
    room -= len(fence.fenced("")) + sum(map(len, lines)) + 1
    for item in [item for item in items if item["why"] != awareness.REVIEW][:limit]:
        day = f"due {item['due']}" if "due" in item else item["at"][:10]
        content = fence.tamed(words.reveal(item["content"]))
        line = f"[pending {item['id']}; {item['why']}; {day}]\n| {content}"
        if len(line) >= room:
            break
        lines.append(line)
        room -= len(line) + 1
    return fence.fenced("\n".join(lines)) if lines else ""
