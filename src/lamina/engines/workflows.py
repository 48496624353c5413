"""Tasks that succeeded again and again, as procedures that somebody may confirm (S3). Pure.

What was decided where people differ:

- A workflow is what a run was for, or what metadata calls `workflow` or `task`. A `tool` is a step of one: alone it is none.
- It succeeded as often as it was done: what different tools did within an hour is one time, and so is a retry.
- A procedure is the steps that most of its successes share, in the newest words. Numbers and days that are others each time
  tell neither tasks nor steps apart.
- How often it succeeded, and when, is not in its text: that would make another text of it every night, and what was rejected
  would come back (V6).
- Nothing is proposed that a procedure of that workflow says already, be it active, waiting, rejected or replaced; nor before
  three more successes than that one knew of. What comes from outside does not count (V8).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from lamina.engines.summary import day
from lamina.model import rules
from lamina.model.record import Layer, Record, State, Trust, iso
from lamina.text import dates, fence
from lamina.text import words as text
from lamina.text.normal_forms import normal

ORIGIN = "sleep"
FEWEST = 3  # successes
SUCCEEDED = frozenset(
    "success succeeded successful ok okay done complete completed finished passed".split()
)
FAILED = frozenset("failure failed fail error aborted crashed timeout cancelled canceled".split())
NAMES = ("workflow", "run", "task")  # where metadata says what was done, the most stable name first
OCCASION = timedelta(hours=1)
MOST_EVIDENCE = 100  # successes, the newest
LOOKED_AT = 20  # of these, for their steps
MOST_STEPS = 12
LONGEST_TASK, LONGEST_STEP, LONGEST_NAME, LONGEST_SLUG = 2000, 240, 120, 60
ALIKE = 0.6  # the share of their words that makes two steps one
SAME = 0.8  # the share of a procedure's words with which another one says it already

# What is different each time a task is done.
VARYING = re.compile(r"#\d+\b|\b\d+(?:[-/:.,_]\d+)+\b|\b\d{2,}(?:st|nd|rd|th)?\b")
HANGING = frozenset("for of on from in at to by until since no number and the".split()) | {""}
MARKS = ",:;#/(-"
NUMBER = re.compile(r"\d+(?:[.,:/_-]\d+)*")
SEPARATOR = re.compile("[-_.]")
SIGN = re.compile(r"\w[+#]")
BULLET = re.compile(r"\s*(?:(?:[-*•]|\d{1,2}[.)])\s+)?")
STEP_END = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？])|[\n\r\u2028\u2029]+|;\s+")
DENIALS = frozenset(
    "not no never don doesn cannot without skip nicht kein nie sans jamais nunca sin не нет".split()
)


class Workflow(msgspec.Struct, frozen=True):
    """A procedure, and the successes that speak for it."""

    slug: str
    content: str  # what to do, step by step
    why: str  # how often it succeeded, when last, and how it failed
    evidence: tuple[str, ...]  # the records of the successes, the oldest first
    successes: int
    failures: int
    trust: Trust
    importance: float
    occurred_at: datetime  # the last success
    user: str | None
    tags: tuple[str, ...]

    @property
    def metadata(self) -> dict[str, Any]:
        """What its record keeps."""
        counts = {
            "successes": self.successes,
            "failures": self.failures,
            "last_success": iso(self.occurred_at),
        }
        return {"workflow": self.slug, "canonical": False, "origin": ORIGIN, **counts}


class Told(NamedTuple):
    """A record that tells how a task ended."""

    record: Record
    name: str
    succeeded: bool
    tool: str | None


class Time(NamedTuple):
    """One time that a workflow was done: the records that tell of it, in their order."""

    told: tuple[Told, ...]

    @property
    def succeeded(self) -> bool:
        """What its ending says; without one, whether each of its tools succeeded in the end."""
        if self.told[-1].tool is None:
            return self.told[-1].succeeded
        return all({one.tool: one.succeeded for one in self.told}.values())

    @property
    def last(self) -> Record:
        return self.told[-1].record


class Step(NamedTuple):
    """A step as somebody wrote it, the words by which it is known again, and whether it says what not to do."""

    said: str
    words: frozenset[str]
    denied: bool


def plan(
    runs: Sequence[Record], known: Sequence[Record], now: datetime, notes: Iterable[Record] = ()
) -> list[Workflow]:
    """The procedures to propose, by user and name.

    `known` are the procedural records that there are, in whatever state. `notes` are the notes of the runs, which tell more
    than their endings.
    """
    written = {note.id: note for note in notes if note.trust is not Trust.EXTERNAL}
    groups: dict[tuple[str, str], dict[str, Told]] = {}
    for record in runs:
        told = _told(record)
        if told is not None and record.occurred_at <= now:
            groups.setdefault((record.user or "", _key(told.name)), {})[record.id] = told
    procedures: dict[str, list[Record]] = {}
    for record in sorted(known, key=_age):
        if record.layer is Layer.PROCEDURAL:
            procedures.setdefault(_key(str(record.metadata.get("workflow", ""))), []).append(record)
    found = (
        _workflow(group.values(), procedures.get(key, ()), written)
        for (_, key), group in sorted(groups.items())
    )
    return [workflow for workflow in found if workflow is not None]


def slug(name: str) -> str:
    """A stable name: the given one where it is one, else its words, with a few letters of its hash where these say less."""
    if len(name) <= rules.MAX_LABEL and rules.SLUG.fullmatch(name):
        return name
    plain = text.normalise(name)
    bare = normal("NFKD", plain)
    words = "-".join(re.findall("[a-z0-9]+", bare.encode("ascii", "ignore").decode()))
    is_whole = not any(
        letter.isalnum() and not letter.isascii() for letter in bare
    ) and not SIGN.search(plain)
    if is_whole and 0 < len(words) <= LONGEST_SLUG:
        return words
    digest = hashlib.blake2b(plain.encode(), digest_size=4).hexdigest()
    return f"{words[:LONGEST_SLUG].strip('-') or 'workflow'}-{digest}"


def _key(name: str) -> str:
    """The same for `morning_briefing` and "Morning briefing"."""
    return SEPARATOR.sub("-", slug(name))


def _age(record: Record) -> tuple[datetime, int, str]:
    return record.occurred_at, record.seq, record.id


def _told(record: Record) -> Told | None:
    """How a task ended, when a record tells of one that may be learned from."""
    if (
        record.layer is not Layer.EPISODIC
        or record.state is not State.ACTIVE
        or record.trust is Trust.EXTERNAL
    ):
        return None
    status, tool = (_plain(record.metadata.get(field)) for field in ("status", "tool"))
    if status not in SUCCEEDED and status not in FAILED:
        return None
    for field in NAMES:
        name = record.metadata.get(field)
        if isinstance(name, str) and text.is_visible(name := name[:LONGEST_TASK]):
            stable = name if field == "workflow" else _unvaried(name, record.occurred_at)
            return Told(record, stable, status in SUCCEEDED, tool or None)
    return None


def _plain(value: object) -> str:
    return text.normalise(value) if isinstance(value, str) else ""


def _unvaried(task: str, when: datetime) -> str:
    """A task without the days and numbers that are different each time, unless there is nothing else."""
    rest = task
    for mention in reversed(dates.find(task, when)):
        if not mention.relative:
            rest = rest[: mention.place] + rest[mention.place + len(mention.phrase) :]
    if (plain := VARYING.sub(" ", rest)) == task:
        return task
    words = plain.split()
    while words and words[-1].strip(MARKS).casefold() in HANGING:
        words.pop()
    plain = " ".join(words).strip(MARKS)
    return plain if text.WORD.search(plain) else task


def _workflow(
    told: Iterable[Told], known: Sequence[Record], notes: Mapping[str, Record]
) -> Workflow | None:
    """The procedure that the endings of one task speak for; none when they are too few, or when it is known."""
    times = list(_times(told))
    successes = [time for time in times if time.succeeded]
    if len(successes) < FEWEST:
        return None
    failures, last = [time for time in times if not time.succeeded], successes[-1].last
    others = [record for record in known if record.user in (None, last.user)]
    steps = _shared([_steps(time, notes) for time in successes[-LOOKED_AT:][::-1]])
    if _unknown(successes, others) < FEWEST or any(_says(record, steps) for record in others):
        return None
    sources = [
        one.record for time in successes[-MOST_EVIDENCE:] for one in time.told if one.succeeded
    ]
    return Workflow(
        slug=_given_slug(successes, others),
        content=_content(_title(successes[-1].told[-1].name), steps),
        why=_why(successes, failures),
        evidence=tuple(record.id for record in sources),
        successes=len(successes),
        failures=len(failures),
        trust=rules.lowest_trust(record.trust for record in sources),
        importance=max(record.importance for record in sources),
        occurred_at=last.occurred_at,
        user=last.user,
        tags=tuple(dict.fromkeys(tag for record in sources for tag in record.tags))[
            : rules.MAX_TAGS
        ],
    )


def _times(told: Iterable[Told]) -> Iterator[Time]:
    """How often a workflow was done. What was stored twice was done once."""
    distinct = {
        (one.record.occurred_at, one.record.content, one.tool, one.succeeded): one
        for one in sorted(told, key=_newest_first)
    }
    current: list[Told] = []
    for one in sorted(distinct.values(), key=lambda one: _age(one.record)):
        if current and not _goes_on(current, one):
            yield Time(tuple(current))
            current = []
        current.append(one)
    if current:
        yield Time(tuple(current))


def _newest_first(told: Told) -> tuple[int, str]:
    return -told.record.seq, told.record.id


def _goes_on(current: Sequence[Told], one: Told) -> bool:
    """Whether a record is one more step of what others tell: another tool, a retry, or how it all ended."""
    first, last = current[0].record, current[-1]
    is_near = one.record.occurred_at - first.occurred_at <= OCCASION
    is_together = (first.run_id, first.session) == (one.record.run_id, one.record.session)
    latest = {step.tool: step.succeeded for step in current}
    return is_near and is_together and last.tool is not None and not latest.get(one.tool, False)


def _unknown(successes: Sequence[Time], known: Sequence[Record]) -> int:
    """How many successes there were since the last one that a procedure knows of."""
    cited = {reference for record in known for reference in record.evidence}
    for count, time in enumerate(reversed(successes)):
        if any(one.record.id in cited for one in time.told):
            return count
    return len(successes)


def _says(record: Record, steps: Sequence[Step]) -> bool:
    """Whether a procedure says nearly all that some steps do. One that says anything says more than nothing."""
    there = {word for step in _split(record.content) for word in _marked(step)}
    words = {word for step in steps for word in _marked(step)}
    return len(words & there) >= SAME * len(words)


def _marked(step: Step) -> Iterator[str]:
    """The words of a step, told apart from those of its denial."""
    return (f"not {word}" if step.denied else word for word in step.words)


def _steps(time: Time, notes: Mapping[str, Record]) -> list[Step]:
    """What was done one time: the notes of its runs, or else what its records say."""
    found: list[Step] = []
    for one in time.told:
        noted = [notes[reference] for reference in one.record.evidence if reference in notes]
        noted = [note for note in noted if note.id != note.run_id]  # the first is the task itself
        if noted:
            found += [step for note in sorted(noted, key=_age) for step in _split(note.content)]
        elif one.succeeded and one.record.content != f"Run ended: {one.record.metadata.get('run')}":
            found += _split(one.record.content, one.tool)
    return found[:LOOKED_AT]


def _split(content: str, tool: str | None = None) -> list[Step]:
    """The lines and sentences of a text as steps, the last of them with the tool that did it."""
    said = [
        BULLET.sub("", part, count=1).strip()
        for part in STEP_END.split(fence.unfenced(content)[: LONGEST_STEP * LOOKED_AT])
    ]
    said = [part for part in said if part]
    if said and tool is not None and tool not in text.normalise(said[-1]):
        said[-1] = f"{said[-1].rstrip('.')} ({tool})"
    steps = (Step(text.one_line(part, LONGEST_STEP), *_known_by(part)) for part in said)
    return [step for step in steps if step.words]


def _known_by(said: str) -> tuple[frozenset[str], bool]:
    """The words that are the same each time, and whether one of them denies."""
    words = frozenset(word for word in text.asked(said) if not word[0].isdigit())
    return (words - text.STOP_WORDS - DENIALS) or words, not DENIALS.isdisjoint(words)


def _shared(times: Sequence[Sequence[Step]]) -> list[Step]:
    """The steps that most times have, in the order that they mostly had; without any, those of the newest time that has some.

    The newest time is the first of `times`.
    """
    kinds: list[list[Step]] = []  # the same step in its different words
    places: list[dict[int, float]] = []  # where in which time it was done
    for time, steps in enumerate(times):
        for place, step in enumerate(steps):
            kind = next(
                (number for number, others in enumerate(kinds) if _is_alike(step, others[0])),
                len(kinds),
            )
            if kind == len(kinds):
                kinds.append([])
                places.append({})
            kinds[kind].append(step)
            places[kind].setdefault(time, (place + 1) / (len(steps) + 1))
    common = [kind for kind, done in enumerate(places) if 2 * len(done) > len(times)]
    common.sort(key=lambda kind: (round(sum(places[kind].values()) / len(places[kind]), 6), kind))
    found = [_in_general(kinds[kind]) for kind in common] or next(
        (list(steps) for steps in times if steps), []
    )
    return found[:MOST_STEPS]


def _in_general(wordings: Sequence[Step]) -> Step:
    """A step in its newest words, without the numbers that were others at other times."""
    always = frozenset.intersection(*(frozenset(NUMBER.findall(step.said)) for step in wordings))
    said = NUMBER.sub(
        lambda number: number.group() if number.group() in always else "…", wordings[0].said
    )
    return wordings[0]._replace(said=said)


def _is_alike(one: Step, other: Step) -> bool:
    return one.denied == other.denied and len(one.words & other.words) >= ALIKE * len(
        one.words | other.words
    )


def _given_slug(successes: Sequence[Time], known: Sequence[Record]) -> str:
    """The name that is in use: of a procedure that there is, or else the newest that is a slug as it was given."""
    given = [str(record.metadata.get("workflow", "")) for record in known] + [
        time.told[-1].name for time in successes
    ]
    if known:
        given = given[: len(known)]
    return next((name for name in reversed(given) if name == slug(name)), slug(given[-1]))


def _title(name: str) -> str:
    """What was done, as a headline."""
    words = SEPARATOR.sub(" ", name) if rules.SLUG.fullmatch(name) else name
    title = text.one_line(fence.tamed(words), LONGEST_NAME).rstrip(".:")
    return title[:1].upper() + title[1:]


def _content(title: str, steps: Sequence[Step]) -> str:
    if not steps:
        return f"{title}: it succeeded, but nobody noted how."
    return "\n".join(
        [f"{title}:", *(f"{number}. {step.said}" for number, step in enumerate(steps, 1))]
    )


def _why(successes: Sequence[Time], failures: Sequence[Time]) -> str:
    """How often it succeeded, when last, and how it failed."""
    said = f"succeeded {_times_word(len(successes))}, last on {day(successes[-1].last.occurred_at.date())}"
    if not failures:
        return said
    last = failures[-1].last
    failure = last.metadata.get("failure")
    how = text.one_line(failure if isinstance(failure, str) else last.content, LONGEST_NAME)
    when = f"{'last ' * (len(failures) > 1)}on {day(last.occurred_at.date())}"
    return f"{said}; failed {_times_word(len(failures))}, {when}: {how}"


def _times_word(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
