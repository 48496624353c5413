"""One line for each memory (C4): a short handle, the day, who said it, and the text. Pure."""

from __future__ import annotations

from functools import cached_property

from lamina.model.record import Hit, Layer, Outdated, Record, Trust
from lamina.search.context.aim import Aim
from lamina.search.context.item import Item
from lamina.search.context.plain import DOT, name, plain
from lamina.search.context.sentences import LEAST, Sentences, shortened
from lamina.text import words

HANDLE = 6  # characters that identify an id; its end is the most distinctive part
NOT_CONFIRMED = "instruction, not confirmed"  # the part of a score that says so
LEGEND = f"[id{DOT}day{DOT}who] … = cut"
FACTS = 300  # characters of facts in a line with the turn that they rest on
VALUES = 60  # characters of what is no longer so
MORE = 1.0  # the least content that a turn adds to its facts
# Layers of facts and instructions, which have no speaker.
UNSPOKEN = (Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC, Layer.WORLD)


def handle(record: Record) -> str:
    """Return the end of an id, by which the record can be found."""
    return record.id[-HANDLE:]


def label(hit: Hit, shared_by: str | None = None) -> str:
    """Write a label with the origin of a memory."""
    record = hit.record
    parts = [handle(record)]
    if record.layer is not Layer.PROFILE:  # for which the date does not matter
        at = record.occurred_at
        parts.append(f"{at.day} {at:%B} {at.year}")
    if record.speaker is not None and record.layer not in UNSPOKEN:
        parts.append(name(record.speaker))
    if record.trust is Trust.EXTERNAL:
        parts.append(f"external {name(record.source or '')}".strip())
    if NOT_CONFIRMED in hit.parts:
        parts.append("not confirmed")
    if shared_by is not None:
        parts.append(f"shared by {name(shared_by)}")
    if hit.duplicates:
        parts.append(f"{words.counted(hit.duplicates, 'near-copy', 'near-copies')} not shown")
    return f"[{DOT.join(parts)}] "


def over(outdated: Outdated, room: int = FACTS) -> str:
    """Write what does not hold of a text, which may say other things that do, and what holds."""
    parts = []
    if outdated.values or not outdated.rejected:
        parts.append(f"no longer {_values(outdated.values)}".rstrip())
    if outdated.rejected:
        parts.append(f"rejected: {_values(outdated.rejected)}")
    if outdated.now:
        most = max(LEAST, room - len("; ".join((" (", *parts, "now: "))))
        parts.append(f"now: {shortened(plain('; '.join(outdated.now)), min(FACTS, most))}")
    return f"({'; '.join(parts)})"


def _values(values: tuple[str, ...]) -> str:
    return shortened(plain(", ".join(values)), VALUES) if values else ""


class Lines:
    """The lines of one context; each text is parsed once, however often its line is rewritten."""

    def __init__(self, aim: Aim, shared_by: str | None = None) -> None:
        self._aim = aim
        self._shared_by = shared_by
        self._read: dict[str, Sentences] = {}

    def of(self, item: Item) -> Line:
        """Begin a new line for an item."""
        said = (item.record if item.saying is None else item.saying).content
        if said not in self._read:
            self._read[said] = Sentences(said, self._aim)
        return Line(item, self._read[said], self._shared_by)


class Line:
    """An item as it appears in the text, within the room that it is given."""

    def __init__(self, item: Item, sentences: Sentences, shared_by: str | None = None) -> None:
        self.item = item
        self.label = label(item.hit, shared_by)
        self.said = ""
        self._sentences = sentences

    @property
    def text(self) -> str:
        return self.label + self.said

    @property
    def is_cut(self) -> bool:
        return self.said != self._within(1 << 30)

    def fill(self, room: int) -> bool:
        """Write as much as fits into `room` characters; tell whether that is anything."""
        self.said = self._within(room)
        return bool(self.said)

    def _within(self, room: int) -> str:
        behind = self._behind(room)
        if not self._facts:
            said = self._sentences.within(room - len(behind))
            return said + behind if said else ""
        left = room - len(self._before) - len(behind)
        if not self._before or left < LEAST:
            return shortened(self._facts, room)
        return f"{self._before}{self._sentences.within(left)}{behind}"

    @cached_property
    def _facts(self) -> str:
        item = self.item
        if item.saying is None:
            return ""
        facts = "; ".join(plain(one.content) for one in (item.record, *item.others))
        return shortened(facts, FACTS)

    @cached_property
    def _says_more(self) -> bool:
        """Tell whether a turn contains more than its facts."""
        saying = self.item.saying
        return saying is not None and Aim(saying.content[:FACTS]).beyond(self._facts) >= MORE

    @cached_property
    def _before(self) -> str:
        return f"{self._facts} — “" if self._facts and self._says_more else ""

    def _behind(self, room: int) -> str:
        """Write what holds now, in at most half of the room: the rest is for what was said."""
        if self._facts and not self._before:
            return ""
        quoted, outdated = "”" if self._before else "", self.item.outdated
        return quoted if outdated is None else f"{quoted} {over(outdated, room // 2)}"
