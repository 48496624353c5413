"""Build a context from gathered memories (C1-C8): ordered sections within one budget. Pure.

What always applies comes first, and does not depend on the question, so that a prompt cache can
hold it. Everything else is chosen in the order of one search and then put into its section: what is
known before what was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import structs

from lamina.model.record import Hit, Layer, Record
from lamina.search.context import lines, nights, noise
from lamina.search.context.aim import Aim
from lamina.search.context.item import Context, Gathered, Item, Section
from lamina.search.context.lines import Line, Lines
from lamina.search.context.packing import ENOUGH, packed
from lamina.text import fence, words

ALWAYS = 3  # at most one third of the budget is for what always applies
STANDING = 240  # characters of a text that always applies
LONG = 1000  # characters by which texts are compared
STEM = 4  # letters that make two words of one source the same
AHEAD = 6  # items before facts whose source turns were not found
AGAIN = 8  # attempts to fit a number of tokens
REASONS = ("words", "meaning", "model", "late", "who")  # parts of a score other than the day
CHANCE = 0.05  # their sum for two unrelated texts
# Layers of what holds now or was explicitly remembered; the rest is what somebody said.
KNOWN = (Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC, Layer.WORLD)


def build(gathered: Gathered, budget: int, most: int | None = None) -> Context:
    """Build the context within a number of characters and of memories outside the first section.

    Its text is empty if there is nothing to tell.
    """
    room = budget - len(fence.fenced(lines.LEGEND))
    always = _always(gathered, room // ALWAYS)
    room -= _length(always)
    room -= sum(len(_header(section)) + 1 for section in (Section.KNOWN, Section.SAID))
    standing = [line.item.record for line in always]
    begun = Lines(Aim(gathered.goal), gathered.shared_by)

    def write(some: Gathered, share: float) -> list[Line]:
        return packed(islice(_news(some, standing), most), room, begun, share)

    return _context(gathered, [*always, *nights.told(gathered, write)])


def build_limited(gathered: Gathered, budget: int) -> Context:
    """Build a context of hits that were already chosen: all of them, in order (Q9).

    The first section has no limit of its own.
    """
    always = [Item(hit, Section.ALWAYS, _why(hit)) for hit in gathered.standing]
    found = [
        Item(
            hit,
            section_of(hit.record),
            f"rank {rank}, score {hit.score:.2f}",
            outdated=hit.outdated,
        )
        for rank, hit in enumerate(gathered.found, 1)
    ]
    items = [*always, *found]
    headers = sum(len(_header(section)) + 1 for section in {item.section for item in items})
    room = budget - len(fence.fenced(lines.LEGEND)) - headers
    begun = Lines(Aim(gathered.goal), gathered.shared_by)
    return _context(gathered, packed(items, room, begun))


def build_within(
    gathered: Gathered, tokens: int, count: Callable[[str], int], most: int | None = None
) -> Context:
    """Build the context within a number of tokens, using the given counter."""
    characters = tokens * 4
    made = build(gathered, characters, most)
    for _ in range(AGAIN):
        number = count(made.text)
        if number <= tokens:
            break
        characters = int(characters * min(0.97, tokens / number))
        made = build(gathered, characters, most)
    else:
        return structs.replace(made, text="", items=(), reasons=())
    return made


def fit(
    hits: Sequence[Hit],
    budget: int,
    goal: str = "",
    notes: Iterable[str] = (),
    shared_by: str | None = None,
    *,
    is_whole: bool = True,
) -> Context:
    """Put hits into a fence in order, as many as fit, without selecting."""
    gathered = Gathered(goal, notes=tuple(notes), shared_by=shared_by, is_whole=is_whole)
    items = [
        Item(hit, Section.KNOWN, f"hit {rank}", outdated=hit.outdated)
        for rank, hit in enumerate(hits, 1)
    ]
    room = budget - len(fence.fenced(lines.LEGEND))
    return _context(gathered, packed(items, room, Lines(Aim(goal), shared_by)), is_divided=False)


def _context(gathered: Gathered, made: Sequence[Line], *, is_divided: bool = True) -> Context:
    rows = [line for line in made if not is_divided]
    text = [line.text for line in rows]
    for section in Section if is_divided else ():
        own = [line for line in made if line.item.section is section]
        rows += own
        text += [_header(section), *(line.text for line in own)] if own else []
    items = tuple(line.item for line in rows)
    return Context(
        fence.fenced("\n".join([lines.LEGEND, *text])) if rows else "",
        tuple(item.hit for item in items),
        tuple(dict.fromkeys(gathered.notes)),
        gathered.is_whole,
        items,
    )


def _header(section: Section) -> str:
    return f"[{section}]"


def _length(made: Sequence[Line]) -> int:
    if not made:
        return 0
    return len(_header(Section.ALWAYS)) + 1 + sum(len(line.text) + 1 for line in made)


def _always(gathered: Gathered, room: int) -> list[Line]:
    """Write what always applies, in order; nothing here depends on the question."""
    made: list[Line] = []
    left = room - len(_header(Section.ALWAYS)) - 1
    begun = Lines(Aim(""), gathered.shared_by)
    for hit in gathered.standing:
        if _is_in(hit.record, [line.item.record for line in made]):
            continue
        line = begun.of(Item(hit, Section.ALWAYS, _why(hit), outdated=hit.outdated))
        space = min(STANDING, left - len(line.label) - 1)
        if space < ENOUGH:
            break
        if line.fill(space):
            made.append(line)
            left -= len(line.text) + 1
    return made


def _why(hit: Hit) -> str:
    return f"always: {next(iter(hit.parts), 'profile')}" if hit.score == 0 else "found"


def _news(gathered: Gathered, standing: Sequence[Record]) -> Iterator[Item]:
    """Yield items other than what always applies, best first, without repetitions."""
    chosen = _chosen(gathered, {one.id for one in standing})
    news = (item for item in chosen if _is_new(item, standing))
    return _once(news, {_meaning(one) for one in standing})


def _chosen(gathered: Gathered, shown: set[str]) -> Iterator[Item]:
    """Yield what was found and what binds, without what was told before, best first.

    Noise is detected lazily: most hits are never examined.
    """
    told = gathered.told | shown
    bound = [
        Item(hit, section_of(hit.record), f"topic: {topic}", bound=True)
        for hit, topic in gathered.bound
        if hit.record.id not in told and hit.outdated is None
    ]
    told |= {item.record.id for item in bound}
    asked = words.asked(gathered.goal)
    is_about = any(hit.parts.get("words") for hit in gathered.found)
    found = [
        (rank, hit)
        for rank, hit in enumerate(gathered.found, 1)
        if hit.record.id not in told
        and hit.score >= 0  # there is more evidence against the others than for them
        and not (is_about and _has_only_the_day(hit))
    ]
    yield from bound
    for item in _in_turn(_together(found)):
        if item.saying is not None or not _is_noise(item.record, asked):
            yield item


def _has_only_the_day(hit: Hit) -> bool:
    """Tell whether a memory was found only by its day: "tonight" is not what is asked for."""
    reasons = sum(hit.parts.get(name, 0.0) for name in REASONS)
    return bool(hit.parts.get("time")) and reasons < CHANCE


def _in_turn(items: list[Item]) -> list[Item]:
    """Put facts whose source turns were not found after the first items.

    After a night there are many of them, short and rarely what is asked for: sleep must not push
    out what was served before (C3).
    """
    alone = [item for item in items if item.saying is None and nights.is_of_sleep(item.record)]
    others = [
        item for item in items if item.saying is not None or not nights.is_of_sleep(item.record)
    ]
    return [*others[:AHEAD], *alone, *others[AHEAD:]]


def _once(items: Iterable[Item], known: set[frozenset[str]]) -> Iterator[Item]:
    """Leave out items with the same words as earlier ones (C5)."""
    for item in items:
        meaning = _meaning(item.record)
        if item.saying is not None or meaning not in known:
            known.add(meaning)
            yield item


def _is_new(item: Item, standing: Sequence[Record]) -> bool:
    """Tell whether an item or its source turn says more than what always applies."""
    said = (item.record,) if item.saying is None else (item.record, item.saying)
    return not all(_is_in(one, standing) for one in said)


def _is_in(record: Record, standing: Iterable[Record]) -> bool:
    """Tell whether a record that always applies was made from the same turn and says all of it."""
    own = {record.id, *record.evidence}
    return any(
        not own.isdisjoint(one.evidence) and _stems(record) <= _stems(one) for one in standing
    )


def _stems(record: Record) -> set[str]:
    return {word[:STEM] for word in _meaning(record)}


def _meaning(record: Record) -> frozenset[str]:
    """Collect the words of a text; for a long one, those of its beginning."""
    return frozenset(words.terms(record.content[:LONG]))


def _is_noise(record: Record, asked: Sequence[str]) -> bool:
    if noise.is_bookkeeping(record) or noise.adds_nothing(record, asked):
        return True
    return section_of(record) is Section.SAID and noise.tells_nothing(record)


def section_of(record: Record) -> Section:
    """Return the section: what holds or was explicitly remembered, or what somebody said."""
    if record.layer in KNOWN:
        return Section.KNOWN
    is_turn = record.speaker is not None and record.session is not None
    is_explicit = record.layer is Layer.SHORT_TERM and not is_turn
    return Section.KNOWN if is_explicit and record.source != noise.KEPT else Section.SAID


def _together(found: Sequence[tuple[int, Hit]]) -> list[Item]:
    """Join a fact with the turn that it rests on (C3) into one item at the better of their places.

    If a fact rests on several turns, it is joined with the best.
    """
    hits = {hit.record.id: hit for _, hit in found}
    resting: dict[str, list[Hit]] = {}
    source: dict[str, str] = {}
    for _, hit in found:
        if hit.record.layer is not Layer.SEMANTIC:
            continue
        # A corrected fact rests on a turn that says something else.
        known = [
            one
            for one in hit.record.evidence
            if one in hits and hit.record.content not in _held_now(hits[one])
        ]
        if said := min(known, key=[*hits].index, default=None):
            resting.setdefault(said, []).append(hit)
            source[hit.record.id] = said
    items: list[Item] = []
    done: set[str] = set()
    for rank, hit in found:
        one = hit.record
        said = source.get(one.id, one.id if one.id in resting else None)
        if one.id in done:
            continue
        why = f"rank {rank}, score {hit.score:.2f}"
        if said is None:
            items.append(Item(hit, section_of(one), why, outdated=hit.outdated))
            continue
        first, *others = resting[said]
        done |= {said, *(each.record.id for each in resting[said])}
        beside = tuple(each.record for each in others)
        saying = hits[said]
        items.append(Item(first, Section.KNOWN, why, beside, saying.record, saying.outdated))
    return items


def _held_now(said: Hit) -> tuple[str, ...]:
    """List what holds in the place of what was said."""
    return () if said.outdated is None else said.outdated.now
