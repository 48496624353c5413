"""Propose procedures from tasks that succeeded repeatedly (S3). Pure.

Design choices:

- A workflow is the purpose of a run, or named in metadata as `workflow` or `task`. A `tool` is a
step of a workflow, never one by itself.
- Successes are counted per execution: what different tools did within an hour is one execution, and
a retry belongs to it.
- A procedure consists of the steps that most of its successes share, in the newest words. Numbers
and days that change each time do not distinguish tasks or steps.
- How often it succeeded, and when, is not in its text: otherwise the text would change every night,
and a rejected procedure would return (V6).
- Nothing is proposed that a procedure of that workflow already says, whether active, waiting,
rejected or replaced; nor before three more successes than that one was based on. External
records do not count (V8).
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
from lamina.text import dates, fence, words
from lamina.text.normal_forms import normal

ORIGIN = "sleep"
FEWEST = 3  # successes
SUCCEEDED = frozenset(
    "success succeeded successful ok okay done complete completed finished passed".split()
)
FAILED = frozenset("failure failed fail error aborted crashed timeout cancelled canceled".split())
# The metadata that names what was done, most stable name first.
NAMES = ("workflow", "run", "task")
OCCASION = timedelta(hours=1)
MOST_EVIDENCE = 100  # newest successes
LOOKED_AT = 20  # of these, whose steps are read
MOST_STEPS = 12
LONGEST_TASK, LONGEST_STEP, LONGEST_NAME, LONGEST_SLUG = 2000, 240, 120, 60
ALIKE = 0.6  # the share of common words that makes two steps the same
SAME = 0.8  # the share of a procedure's words with which another one says the same

# The parts of a task's name that change each time it is done.
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
    """A procedure, and the successes that support it."""

    slug: str
    content: str  # what to do, step by step
    why: str  # how often it succeeded, when last, and how it failed
    evidence: tuple[str, ...]  # the records of the successes, oldest first
    successes: int
    failures: int
    trust: Trust
    importance: float
    occurred_at: datetime  # the last success
    user: str | None
    tags: tuple[str, ...]

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of its record."""
        counts = {
            "successes": self.successes,
            "failures": self.failures,
            "last_success": iso(self.occurred_at),
        }
        return {"workflow": self.slug, "canonical": False, "origin": ORIGIN, **counts}


class Outcome(NamedTuple):
    """The record of how a task ended."""

    record: Record
    name: str
    succeeded: bool
    tool: str | None


class Execution(NamedTuple):
    """One execution of a workflow: its outcomes, in order."""

    outcomes: tuple[Outcome, ...]

    @property
    def succeeded(self) -> bool:
        """True if its ending says so, or, without an ending, if each tool finally succeeded."""
        if self.outcomes[-1].tool is None:
            return self.outcomes[-1].succeeded
        return all({one.tool: one.succeeded for one in self.outcomes}.values())

    @property
    def last(self) -> Record:
        return self.outcomes[-1].record


class Step(NamedTuple):
    """A step as it was written, the words that identify it, and whether it forbids something."""

    said: str
    words: frozenset[str]
    denied: bool


def plan(
    runs: Sequence[Record], known: Sequence[Record], now: datetime, notes: Iterable[Record] = ()
) -> list[Workflow]:
    """Propose procedures, sorted by user and name.

    `known` are the procedural records in any state. `notes` are the notes of the runs, which have
    more details than their endings.
    """
    written = {note.id: note for note in notes if note.trust is not Trust.EXTERNAL}
    groups: dict[tuple[str, str], dict[str, Outcome]] = {}
    for record in runs:
        outcome = _outcome(record)
        if outcome is not None and record.occurred_at <= now:
            groups.setdefault((record.user or "", _key(outcome.name)), {})[record.id] = outcome
    procedures: dict[str, list[Record]] = {}
    for record in sorted(known, key=_age):
        if record.layer is Layer.PROCEDURAL:
            procedures.setdefault(_key(str(record.metadata.get("workflow", ""))), []).append(record)
    workflows = (
        _workflow(groups[user, key].values(), procedures.get(key, ()), written)
        for user, key in sorted(groups)
    )
    return [workflow for workflow in workflows if workflow is not None]


def slug(name: str) -> str:
    """Make a stable name: the given slug, or else its words, with a hash if some were lost."""
    if len(name) <= rules.MAX_LABEL and rules.SLUG.fullmatch(name):
        return name
    plain = words.normalise(name)
    bare = normal("NFKD", plain)
    joined = "-".join(re.findall("[a-z0-9]+", bare.encode("ascii", "ignore").decode()))
    is_foreign = any(letter.isalnum() and not letter.isascii() for letter in bare)
    is_whole = not is_foreign and not SIGN.search(plain)
    if is_whole and 0 < len(joined) <= LONGEST_SLUG:
        return joined
    digest = hashlib.blake2b(plain.encode(), digest_size=4).hexdigest()
    return f"{joined[:LONGEST_SLUG].strip('-') or 'workflow'}-{digest}"


def _key(name: str) -> str:
    """Return the same key for `morning_briefing` and "Morning briefing"."""
    return SEPARATOR.sub("-", slug(name))


def _age(record: Record) -> tuple[datetime, int, str]:
    return record.occurred_at, record.seq, record.id


def _outcome(record: Record) -> Outcome | None:
    """Read how a task ended, if a record is about one that may be learned from."""
    is_active = record.layer is Layer.EPISODIC and record.state is State.ACTIVE
    if not is_active or record.trust is Trust.EXTERNAL:
        return None
    status, tool = (_normalised(record.metadata.get(field)) for field in ("status", "tool"))
    if status not in SUCCEEDED and status not in FAILED:
        return None
    for field in NAMES:
        name = record.metadata.get(field)
        if isinstance(name, str) and words.is_visible(name := name[:LONGEST_TASK]):
            stable = name if field == "workflow" else _unvaried(name, record.occurred_at)
            return Outcome(record, stable, status in SUCCEEDED, tool or None)
    return None


def _normalised(value: object) -> str:
    return words.normalise(value) if isinstance(value, str) else ""


def _unvaried(task: str, when: datetime) -> str:
    """Remove the days and numbers that change each time, unless nothing else is left."""
    rest = task
    for mention in reversed(dates.find(task, when)):
        if not mention.relative:
            rest = rest[: mention.place] + rest[mention.place + len(mention.phrase) :]
    if (plain := VARYING.sub(" ", rest)) == task:
        return task
    parts = plain.split()
    while parts and parts[-1].strip(MARKS).casefold() in HANGING:
        parts.pop()
    plain = " ".join(parts).strip(MARKS)
    return plain if words.WORD.search(plain) else task


def _workflow(
    outcomes: Iterable[Outcome], known: Sequence[Record], notes: Mapping[str, Record]
) -> Workflow | None:
    """Build the procedure of one task; None if it succeeded too rarely or is already known."""
    executions = list(_executions(outcomes))
    successes = [one for one in executions if one.succeeded]
    if len(successes) < FEWEST:
        return None
    failures, last = [one for one in executions if not one.succeeded], successes[-1].last
    others = [record for record in known if record.user in (None, last.user)]
    steps = _shared([_steps(success, notes) for success in successes[-LOOKED_AT:][::-1]])
    if _unknown(successes, others) < FEWEST or any(_says(record, steps) for record in others):
        return None
    evidence = (outcome for success in successes[-MOST_EVIDENCE:] for outcome in success.outcomes)
    sources = [outcome.record for outcome in evidence if outcome.succeeded]
    tags = dict.fromkeys(tag for record in sources for tag in record.tags)
    return Workflow(
        slug=_used_slug(successes, others),
        content=_content(_title(successes[-1].outcomes[-1].name), steps),
        why=_why(successes, failures),
        evidence=tuple(record.id for record in sources),
        successes=len(successes),
        failures=len(failures),
        trust=rules.lowest_trust(record.trust for record in sources),
        importance=max(record.importance for record in sources),
        occurred_at=last.occurred_at,
        user=last.user,
        tags=tuple(tags)[: rules.MAX_TAGS],
    )


def _executions(outcomes: Iterable[Outcome]) -> Iterator[Execution]:
    """Group outcomes into executions of a workflow. Duplicates count once."""
    distinct = {
        (one.record.occurred_at, one.record.content, one.tool, one.succeeded): one
        for one in sorted(outcomes, key=_newest_first)
    }
    current: list[Outcome] = []
    for outcome in sorted(distinct.values(), key=lambda one: _age(one.record)):
        if current and not _goes_on(current, outcome):
            yield Execution(tuple(current))
            current = []
        current.append(outcome)
    if current:
        yield Execution(tuple(current))


def _newest_first(outcome: Outcome) -> tuple[int, str]:
    return -outcome.record.seq, outcome.record.id


def _goes_on(current: Sequence[Outcome], outcome: Outcome) -> bool:
    """Tell if an outcome continues an execution: another tool, a retry, or its ending."""
    first, last, record = current[0].record, current[-1], outcome.record
    is_near = record.occurred_at - first.occurred_at <= OCCASION
    is_together = (first.run_id, first.session) == (record.run_id, record.session)
    latest = {step.tool: step.succeeded for step in current}
    is_open = last.tool is not None and not latest.get(outcome.tool, False)
    return is_near and is_together and is_open


def _unknown(successes: Sequence[Execution], known: Sequence[Record]) -> int:
    """Count the successes since the last one on which a procedure is based."""
    cited = {reference for record in known for reference in record.evidence}
    for count, success in enumerate(reversed(successes)):
        if any(outcome.record.id in cited for outcome in success.outcomes):
            return count
    return len(successes)


def _says(record: Record, steps: Sequence[Step]) -> bool:
    """Tell if a procedure includes nearly all of some steps; without steps, any does."""
    there = {word for step in _split(record.content) for word in _marked(step)}
    wanted = {word for step in steps for word in _marked(step)}
    return len(wanted & there) >= SAME * len(wanted)


def _marked(step: Step) -> Iterator[str]:
    """Mark the words of a prohibition, so that they differ from those of the opposite step."""
    return (f"not {word}" if step.denied else word for word in step.words)


def _steps(execution: Execution, notes: Mapping[str, Record]) -> list[Step]:
    """List the steps of one execution: from the notes of its runs, or else from its records."""
    steps: list[Step] = []
    for record, _, succeeded, tool in execution.outcomes:
        noted = [notes[reference] for reference in record.evidence if reference in notes]
        noted = [note for note in noted if note.id != note.run_id]  # the first is the task itself
        if noted:
            steps += [step for note in sorted(noted, key=_age) for step in _split(note.content)]
        elif succeeded and record.content != f"Run ended: {record.metadata.get('run')}":
            steps += _split(record.content, tool)
    return steps[:LOOKED_AT]


def _split(content: str, tool: str | None = None) -> list[Step]:
    """Split a text into lines and sentences as steps, the last one with the tool."""
    parts = STEP_END.split(fence.unfenced(content)[: LONGEST_STEP * LOOKED_AT])
    lines = [line for part in parts if (line := BULLET.sub("", part, count=1).strip())]
    if lines and tool is not None and tool not in words.normalise(lines[-1]):
        lines[-1] = f"{lines[-1].rstrip('.')} ({tool})"
    steps = (Step(words.one_line(line, LONGEST_STEP), *_identity(line)) for line in lines)
    return [step for step in steps if step.words]


def _identity(line: str) -> tuple[frozenset[str], bool]:
    """Return the words of a step that are the same each time, and whether it is a prohibition."""
    found = frozenset(word for word in words.asked(line) if not word[0].isdigit())
    return (found - words.STOP_WORDS - DENIALS) or found, not DENIALS.isdisjoint(found)


def _shared(executions: Sequence[Sequence[Step]]) -> list[Step]:
    """List the steps that most executions have, in their usual order; the newest one is the first.

    If they share none, return the steps of the newest execution that has any.
    """
    kinds: list[list[Step]] = []  # each step in its different wordings
    places: list[dict[int, float]] = []  # by execution, the relative position of the step, 0 to 1
    for number, steps in enumerate(executions):
        for place, step in enumerate(steps):
            alike = (kind for kind, others in enumerate(kinds) if _is_alike(step, others[0]))
            kind = next(alike, len(kinds))
            if kind == len(kinds):
                kinds.append([])
                places.append({})
            kinds[kind].append(step)
            places[kind].setdefault(number, (place + 1) / (len(steps) + 1))
    common = [kind for kind, done in enumerate(places) if 2 * len(done) > len(executions)]
    common.sort(key=lambda kind: (round(sum(places[kind].values()) / len(places[kind]), 6), kind))
    shared = [_in_general(kinds[kind]) for kind in common]
    newest = next((list(steps) for steps in executions if steps), [])
    return (shared or newest)[:MOST_STEPS]


def _in_general(wordings: Sequence[Step]) -> Step:
    """Return a step in its newest words, with a placeholder for each number that changes."""
    newest = wordings[0]
    always = frozenset.intersection(*(frozenset(NUMBER.findall(step.said)) for step in wordings))
    said = NUMBER.sub(lambda number: number[0] if number[0] in always else "…", newest.said)
    return newest._replace(said=said)


def _is_alike(one: Step, other: Step) -> bool:
    shared, either = one.words & other.words, one.words | other.words
    return one.denied == other.denied and len(shared) >= ALIKE * len(either)


def _used_slug(successes: Sequence[Execution], known: Sequence[Record]) -> str:
    """Return the name in use: that of a known procedure, or else the newest given slug."""
    names = [str(record.metadata.get("workflow", "")) for record in known]
    names = names or [success.outcomes[-1].name for success in successes]
    return next((name for name in reversed(names) if name == slug(name)), slug(names[-1]))


def _title(name: str) -> str:
    """Make a headline from the name of a task."""
    spaced = SEPARATOR.sub(" ", name) if rules.SLUG.fullmatch(name) else name
    title = words.one_line(fence.tamed(spaced), LONGEST_NAME).rstrip(".:")
    return title[:1].upper() + title[1:]


def _content(title: str, steps: Sequence[Step]) -> str:
    if not steps:
        return f"{title}: it succeeded, but nobody noted how."
    numbered = (f"{number}. {step.said}" for number, step in enumerate(steps, 1))
    return "\n".join([f"{title}:", *numbered])


def _why(successes: Sequence[Execution], failures: Sequence[Execution]) -> str:
    """Describe how often it succeeded, when last, and how it failed."""
    newest = day(successes[-1].last.occurred_at.date())
    success = f"succeeded {_times_word(len(successes))}, last on {newest}"
    if not failures:
        return success
    last = failures[-1].last
    failure = last.metadata.get("failure")
    how = words.one_line(failure if isinstance(failure, str) else last.content, LONGEST_NAME)
    when = f"{'last ' * (len(failures) > 1)}on {day(last.occurred_at.date())}"
    return f"{success}; failed {_times_word(len(failures))}, {when}: {how}"


def _times_word(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
