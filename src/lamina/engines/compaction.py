"""Group long-term memories that one record could replace: the same, or of one topic. Pure.

Design choices:

- Texts say the same if they differ only in case, width, spacing, accents and ordinary punctuation.
The speaker counts, and so does the day if a date in the text is relative to it. Signs and flags
count too: `a < b` is not `a > b`.
- A summary is not changed until its content is repeated, or something newer is stored about its
topic. Then it grows and keeps its lines. So once everything is confirmed, nothing more is
proposed.
- A text that would take more than half of a summary's room stays separate.
- All active procedures of one workflow are one group, however they differ: a workflow has one
canonical procedure. The steps that only some of them have are listed, so that whoever confirms
the canonical one sees what it leaves out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import msgspec

from lamina.engines import profile
from lamina.engines.review import DIFFERENCES
from lamina.errors import InvalidInput
from lamina.model import hashing, rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.text import dates, fence, lookalikes, words
from lamina.text.normal_forms import normal

ORIGIN = "memory-review"
MOST = 20  # lines that a person can review at once
ROOM = 16 * 1024
MOST_SOURCES = 4000  # so that their ids fit into the metadata; the rest is grouped next time
MOST_TOPICS = 64
MIXED = "insight"  # the kind of a summary of several kinds
BULLET = "\n- "
# Signs with a meaning, though a search ignores them. Flags are case-sensitive.
SIGNS = re.compile(
    r"(?<!\S)(?:--?[^\W\d][\w-]*|\*(?![\w*])|\.+(?:/|(?!\S)))|[<>=≠≤≥|&$@%^+/\\~→←↔]"
)
WITH_YEAR = re.compile(r"\d{4}")

# Where a line of a procedure ends, the bullet or number before it, and where its steps end.
LINE_END = re.compile(r"[\n;→]|->|=>")
MARK = re.compile(r"\A\s*+(?:[-*•]++|\d{1,3}[.)])\s")
STEP_END = re.compile(r"(?<=[.!?])\s|,?\sthen\s")
MOST_DIFFERENCES = 50  # listed steps that only some records have


class Group(msgspec.Struct, frozen=True):
    """Records that say the same or belong together, and the one that would replace them."""

    layer: Layer
    why: str  # for people
    sources: tuple[Record, ...]  # two or more, oldest first
    content: str
    kind: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    importance: float
    confidence: float
    trust: Trust
    occurred_at: datetime
    user: str | None
    speaker: str | None = None


class Item(NamedTuple):
    """A record, its lines in a summary, and their forms for comparison."""

    record: Record
    lines: Mapping[str, str]  # by their forms
    spelled: Mapping[str, str]  # its topics as they are written
    topics: tuple[str, ...]  # the topics under which it may be summarised
    is_page: bool  # a summary of a topic, to which lines can be added

    @property
    def form(self) -> object:
        """A value that is equal for records that say the same."""
        return (self.topics, *self.lines) if self.is_page else next(iter(self.lines))

    @property
    def is_settled(self) -> bool:
        """True if it already summarises other records."""
        return "compacted_from" in self.record.metadata


def compact(records: Sequence[Record], most: int = MOST, max_bytes: int = ROOM) -> list[Group]:
    """Group semantic memories: first those that say the same, then by topic, largest first.

    `most` bounds the lines and the sources of a topic's summary, `max_bytes` its text.
    """
    if not 2 <= most <= MOST_SOURCES:
        raise InvalidInput(f"most {words.shown(most)} is not between 2 and {MOST_SOURCES:,}")
    groups: list[Group] = []
    for of_user in _apart(filter(_is_compactable, records), lambda record: record.user):
        single: list[Item] = []
        for items in _by_form(_items(of_user)):
            if len(items) > 1:
                groups.append(_joined(items))
            else:
                single += items
        groups += [_topic_page(*page) for page in _by_topic(single, most, max_bytes)]
    return groups


def dedup(records: Sequence[Record]) -> list[Group]:
    """Group the active procedures of each workflow; the best of them would replace the others."""
    procedures = (one for one in records if _is_active(one, Layer.PROCEDURAL) and _workflow(one))
    workflows = _apart(procedures, lambda record: (record.user, _workflow(record)))
    return [_canonical(of_workflow) for of_workflow in workflows if len(of_workflow) > 1]


def _apart(records: Iterable[Record], key: Callable[[Record], object]) -> list[list[Record]]:
    """Group records by a key, oldest first, whatever their order."""
    groups: dict[object, list[Record]] = {}
    for record in sorted(records, key=_age):
        groups.setdefault(key(record), []).append(record)
    return list(groups.values())


def _age(record: Record) -> tuple[datetime, int]:
    return record.occurred_at, record.seq


def _is_active(record: Record, layer: Layer) -> bool:
    return record.layer is layer and record.state is State.ACTIVE


def _is_compactable(record: Record) -> bool:
    """Tell if another record may replace this one.

    None may replace the state of a project, or a fact with its own period of validity.
    """
    is_project = record.kind == "project" and record.metadata.get("origin") == "compression"
    is_project = is_project or profile.project_name(record) is not None
    is_timed = record.valid_from is not None or record.valid_to is not None
    is_fact = is_timed or "attribute" in record.metadata
    return _is_active(record, Layer.SEMANTIC) and not is_project and not is_fact


def _items(records: Sequence[Record]) -> list[Item]:
    pages = [_page(record) for record in records]
    texts = [page or (_line(record),) for record, page in zip(records, pages, strict=True)]
    forms, names = _forms(line for lines in texts for line in lines), Names()
    items: list[Item] = []
    for record, page, lines in zip(records, pages, texts, strict=True):
        spelled = names.of(record)
        topics = (record.metadata["topic"],) if page else tuple(spelled)
        by_form = {forms[line]: line for line in lines}
        items.append(Item(record, by_form, spelled, topics, bool(page)))
    return items


def _page(record: Record) -> tuple[str, ...]:
    """Read the lines of a topic's summary; none if a record is not one or has another form."""
    topic = record.metadata.get("topic")
    if not isinstance(topic, str) or record.metadata.get("origin") != ORIGIN:
        return ()
    headline, *lines = record.content.split(BULLET)
    return tuple(map(_one_line, lines)) if headline == _headline(topic) else ()


def _line(record: Record) -> str:
    """Write a record as a line that makes sense elsewhere: with who said it, and when."""
    line = _one_line(record.content)
    mentions = dates.find(line, record.occurred_at)
    if any(not WITH_YEAR.search(mention.phrase) for mention in mentions):
        line = f"{line} (said on {record.occurred_at.date()})"
    return line if record.speaker is None else f"{record.speaker}: {line}"


def _one_line(content: str) -> str:
    line = " ".join(content.split())
    return fence.tamed(line) if fence.OPEN in line else line  # two lines may form a mark if joined


def _forms(lines: Iterable[str]) -> dict[str, str]:
    """Map each text to a form that is equal for texts that say the same."""
    asked = {line: " ".join(words.asked(line)) for line in lines}
    shared = Counter(asked.values())
    # Most texts have unique words and need no further comparison.
    return {line: form if shared[form] == 1 else _form(form, line) for line, form in asked.items()}


def _form(asked: str, line: str) -> str:
    """Combine the words (which distinguish l and 1), the bare form (numbers), and the signs."""
    signs = SIGNS.findall(normal("NFKC", line))
    return "\n".join((asked, lookalikes.bare(line), " ".join(signs)))


def _by_form(items: Sequence[Item]) -> list[list[Item]]:
    """Group items that say the same, as a whole or as a line of a summary, oldest first."""
    held: dict[object, object] = {}
    for item in items:
        if item.is_page:
            held |= {form: item.form for form in item.lines if form not in held}
    groups: dict[object, list[Item]] = {}
    for item in items:
        groups.setdefault(held.get(item.form, item.form), []).append(item)
    return list(groups.values())


def _joined(items: Sequence[Item]) -> Group:
    """Join records that say the same, in the words of the best one; a summary is always best."""
    best = max(items, key=lambda item: (item.is_page, *_worth(item.record), *_age(item.record)))
    sources = _sources(best.record, [item.record for item in items])
    metadata = _metadata(items, sources)
    if best.is_page:
        metadata["topic"] = best.topics[0]
    kept = _fitting({**metadata, **_radar(best.record, sources)}, metadata)
    return _group(f"{len(sources)} records say the same", sources, best.record, kept)


def _worth(record: Record) -> tuple[int, float]:
    return -rules.TRUST_ORDER.index(record.trust), record.importance


def _sources(best: Record, records: Iterable[Record]) -> tuple[Record, ...]:
    """List the records that the best would replace, as many as it can cite, oldest first."""
    others = sorted((record for record in records if record is not best), key=_age)
    return tuple(sorted([best, *others[: MOST_SOURCES - 1]], key=_age))


def _radar(best: Record, sources: Sequence[Record]) -> dict[str, Any]:
    """Keep the metadata of the radar's findings if all are about one repository."""
    fields = {name: best.metadata.get(name) for name in ("origin", *rules.RADAR_CONTRACT)}
    is_whole = not any(value in (None, "") for value in fields.values())
    origins = ([one.metadata.get(name) for name in ("origin", "repo_slug")] for one in sources)
    if fields["origin"] != "radar" or not is_whole or len({*map(hashing.encode, origins)}) > 1:
        return {}
    references: dict[bytes, Any] = {}
    for record in sources:
        given = record.metadata.get("evidence_refs") or ()
        listed = given if isinstance(given, (list, tuple)) else [given]
        references |= {hashing.encode(reference): reference for reference in listed}
    return {**fields, "evidence_refs": list(references.values())}


class Names(dict[str, str]):
    """The names by which topics are compared, cached; empty if unfit for a headline."""

    def __missing__(self, tag: str) -> str:
        name = words.normalise(tag)
        is_short = len(tag) <= rules.MAX_LABEL and len(name) <= rules.MAX_LABEL
        is_line = words.is_visible(name) and words.is_one_line(name)
        self[tag] = name if is_short and is_line and fence.OPEN not in name else ""
        return self[tag]

    def of(self, record: Record) -> dict[str, str]:
        """Return the topics of a record in order, with their spelling."""
        given = record.metadata.get("topic_tags")
        tags = given if isinstance(given, (list, tuple)) else ()
        return {name: tag for tag in tags if isinstance(tag, str) and (name := self[tag])}


def _by_topic(
    items: Sequence[Item], most: int, max_bytes: int
) -> Iterator[tuple[str, list[Item], Mapping[str, str]]]:
    """Group items by topic, each once, with their lines; larger topics come first."""
    members: dict[str, list[Item]] = {}
    for item in _joining(items):
        for topic in item.topics:
            members.setdefault(topic, []).append(item)
    left = Counter({topic: len(group) for topic, group in members.items()})
    taken: set[str] = set()
    queue = [(-size, topic) for topic, size in left.items()]
    heapify(queue)
    while queue:
        size, topic = heappop(queue)
        if -size != left[topic]:  # another topic has taken some of them
            heappush(queue, (-left[topic], topic))
            continue
        free = [item for item in members[topic] if item.record.id not in taken]
        for chunk, lines in _chunks(topic, free, most, max_bytes):
            yield topic, chunk, lines
            taken |= {item.record.id for item in chunk}
            left.subtract(one for item in chunk for one in item.topics)


def _joining(items: Sequence[Item]) -> Iterator[Item]:
    """Limit each item's topics: a summary joins only topics with newer items."""
    newest: dict[str, int] = {}
    for item in items:
        for topic in () if item.is_settled else item.topics:
            newest[topic] = max(item.record.seq, newest.get(topic, 0))
    for item in items:
        if item.is_settled:
            seq = item.record.seq
            newer = tuple(topic for topic in item.topics if newest.get(topic, 0) > seq)
            yield item._replace(topics=newer)
        else:
            yield item


def _chunks(
    topic: str, items: Iterable[Item], most: int, max_bytes: int
) -> Iterator[tuple[list[Item], Mapping[str, str]]]:
    """Group two or more items whose lines fit into one summary.

    No item takes more than half of it, so at most one is left over.
    """
    room = max_bytes - len(_headline(topic).encode())
    chunk: list[Item] = []
    lines: dict[str, str] = {}
    size = 0
    for item in items:
        if 2 * len(item.lines) > most or 2 * _size(item.lines) > room:
            continue
        added = {form: line for form, line in item.lines.items() if form not in lines}
        if len(chunk) == most or len(lines) + len(added) > most or size + _size(added) > room:
            yield chunk, lines
            chunk, lines, size, added = [], {}, 0, dict(item.lines)
        chunk.append(item)
        lines |= added
        size += _size(added)
    if len(chunk) > 1:
        yield chunk, lines


def _size(lines: Mapping[str, str]) -> int:
    return sum(len(BULLET) + len(line.encode()) for line in lines.values())


def _headline(topic: str) -> str:
    return f"About {topic}:"


def _topic_page(topic: str, items: Sequence[Item], lines: Mapping[str, str]) -> Group:
    """Summarise what records say about a topic, each line once."""
    sources = tuple(item.record for item in items)
    kinds = {record.kind for record in sources}
    metadata = {**_metadata(items, sources), "topic": topic}
    group = _group(f"{len(sources)} records about {topic}", sources, sources[0], metadata)
    return msgspec.structs.replace(
        group,
        content=BULLET.join([_headline(topic), *lines.values()]),
        kind=kinds.pop() if len(kinds) == 1 else MIXED,
        # As a whole it is only as certain as its least certain line.
        confidence=min(record.confidence for record in sources),
        speaker=None,
    )


def _metadata(items: Iterable[Item], sources: Sequence[Record]) -> dict[str, Any]:
    topics: dict[str, str] = {}
    for item in items:
        topics |= item.spelled  # the newest spelling wins
    return {
        "origin": ORIGIN,
        "topic_tags": list(topics.values())[:MOST_TOPICS],
        "compacted_from": [record.id for record in sources],
    }


def _workflow(record: Record) -> str | None:
    name = record.metadata.get("workflow")
    return name if isinstance(name, str) and rules.SLUG.fullmatch(name) else None


def _rank(record: Record) -> tuple[object, ...]:
    """Rank a record by how well it could replace those that say the same."""
    is_canonical = record.metadata.get("canonical") is True
    return (is_canonical, *_worth(record), len(record.content), *_age(record))


def _canonical(records: Sequence[Record]) -> Group:
    """Choose the best procedure of a workflow, and list where the others differ."""
    best = max(records, key=_rank)
    sources = _sources(best, records)
    workflow, differing = _workflow(best), _differences(sources)
    ids = [record.id for record in sources]
    least = {"workflow": workflow, "canonical": True, "duplicates": ids}
    found = {DIFFERENCES: differing} if differing else {}
    why = f"{len(sources)} records of the workflow {workflow} "
    why += f"differ in {words.counted(len(differing), 'step')}" if differing else "say the same"
    own = {name: value for name, value in best.metadata.items() if name != DIFFERENCES}
    return _group(why, sources, best, _fitting({**own, **least, **found}, least))


def _differences(records: Sequence[Record]) -> list[dict[str, Any]]:
    """List the steps that only some procedures have, in order, with the ids of these."""
    steps = [_steps(record.content) for record in records]
    forms = _forms(step for listed in steps for step in listed)
    holders: dict[str, tuple[str, dict[str, None]]] = {}
    for record, listed in zip(records, steps, strict=True):
        for step in listed:
            holders.setdefault(forms[step], (step, {}))[1][record.id] = None
    partial = ((step, ids) for step, ids in holders.values() if len(ids) < len(records))
    found = [{"step": step, "in": list(ids)} for step, ids in partial]
    return found[:MOST_DIFFERENCES]


def _steps(content: str) -> list[str]:
    """Split a procedure into its steps, without numbers and bullets."""
    lines = (MARK.sub("", f"{line} ") for line in LINE_END.split(content))
    parts = (part for line in lines for part in STEP_END.split(line))
    return [step for part in parts if (step := _one_line(part).rstrip(" .,!"))]


def _fitting(metadata: Mapping[str, Any], least: Mapping[str, Any]) -> Mapping[str, Any]:
    return metadata if len(hashing.encode(metadata)) <= rules.MAX_METADATA_BYTES else least


def _group(
    why: str, sources: tuple[Record, ...], best: Record, metadata: Mapping[str, Any]
) -> Group:
    """Build a group with the best source's words, the highest confidence and the lowest trust."""
    tags = dict.fromkeys(tag for record in sources for tag in record.tags)
    return Group(
        layer=best.layer,
        why=why,
        sources=sources,
        content=best.content,
        kind=best.kind,
        tags=tuple(tags)[: rules.MAX_TAGS],
        metadata=metadata,
        importance=max(record.importance for record in sources),
        confidence=max(record.confidence for record in sources),
        trust=rules.lowest_trust(record.trust for record in sources),
        occurred_at=max(record.occurred_at for record in sources),
        user=best.user,
        speaker=best.speaker,
    )
