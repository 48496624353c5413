"""Goes through the queue with a person: keys come in, screens go out, and decisions go to the operator's handle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import click
from rich.text import Text

from lamina.engines.review import Proposal
from lamina.errors import InvalidInput, LaminaError
from lamina.memory.operator import Operator
from lamina.memory.reviews import staying
from lamina.model import clock as clocks
from lamina.model.clock import Clock
from lamina.surfaces.cli.invocation import Invocation
from lamina.surfaces.cli.review import evidence_of
from lamina.surfaces.cli.reviewer import batch, detail, queue, terminal
from lamina.surfaces.cli.reviewer.batch import CONFIRM, DONE, REJECT, Outcome
from lamina.surfaces.cli.reviewer.decisions import Decisions
from lamina.surfaces.cli.reviewer.detail import Opened
from lamina.surfaces.cli.reviewer.dialogue import BACK, ERROR, GOOD, QUESTION, Dialogue
from lamina.surfaces.cli.reviewer.frame import Pager
from lamina.surfaces.cli.reviewer.queue import Queue
from lamina.surfaces.cli.reviewer.terminal import Screen, Terminal
from lamina.surfaces.cli.reviewer.texts import line
from lamina.surfaces.cli.reviewer.wording import because, origin, place, saying
from lamina.text.words import normalise

# The first matter most, and the last two: a narrow screen shows only these.
QUEUE = (
    ("Enter", "open"),
    ("c", "confirm"),
    ("r", "reject"),
    ("space", "mark"),
    ("u", "undo"),
    ("a", "mark many"),
    ("/", "filter"),
    ("e", "evidence"),
    ("h", "history"),
    ("↑↓", "move"),
    ("?", "help"),
    ("q", "quit"),
)
EMPTY = (("u", "undo"), ("/", "filter"), ("R", "reload"), ("?", "help"), ("q", "quit"))
DETAIL = (
    ("c", "confirm"),
    ("r", "reject"),
    ("s", "skip"),
    ("e", "evidence"),
    ("h", "history"),
    ("u", "undo"),
    ("←→", "others"),
    ("?", "help"),
    ("q", "back"),
)
CHOOSING = (("s k a n", "mark"), ("any other key", "back"))
DIGITS = 6
AGREEING = (("y", "yes"), ("n", "no"), ("↑↓ space", "scroll"))


def start(invocation: Invocation) -> None:
    """Let whoever sits at this terminal go through what waits."""
    invocation.check_operator("review")
    if invocation.json or not Terminal.is_here():
        raise InvalidInput(
            "`lamina review` alone needs a terminal; `lamina review list` prints what waits, also with --json"
        )
    screen = Terminal()
    reviewer = Reviewer(invocation.operator("review"), screen)
    if not reviewer.waiting:
        click.echo("nothing waits for review")
        return
    try:
        with screen.taken():
            reviewer.run()
    finally:
        click.echo(reviewer.told())


class Reviewer:
    """A person's way through the queue."""

    def __init__(
        self, operator: Operator, screen: Screen, clock: Clock = clocks.system_clock
    ) -> None:
        self._operator = operator
        self._clock = clock
        self._person = Dialogue(screen)
        self._decisions = Decisions(operator)
        self._evidence = evidence_of(operator)
        self._all: Sequence[Proposal] = operator.proposals()
        self._cursor = self._top = 0
        self._marked: frozenset[str] = frozenset()
        self._words = ""

    @property
    def waiting(self) -> int:
        """How many proposals waited when the queue was last read."""
        return len(self._all)

    def told(self) -> str:
        """What came of it all, in a line."""
        left = (
            f"{self.waiting} still wait"
            if self.waiting > 1
            else "1 still waits"
            if self.waiting
            else "nothing waits"
        )
        return f"{self._decisions.told()}; {left}"

    def run(self) -> None:
        """Show the queue and do what the keys say, until `q`."""
        acts = {**self._moves(), **self._acts()}
        digits = ""
        while (key := self._show_queue()) != "q":
            digits = digits + key if key.isdecimal() and len(digits) < DIGITS else ""
            if digits:
                self._move(int(digits) - 1 - self._cursor)
            elif key in acts:
                acts[key]()

    def _moves(self) -> Mapping[str, Callable[[], object]]:
        def page(sign: int) -> None:
            self._move(sign * queue.rows(self._person.size[1]))

        def end(sign: int) -> None:
            self._move(sign * self.waiting)

        return {
            **dict.fromkeys((terminal.DOWN, "j", "n", "s"), partial(self._move, 1)),
            **dict.fromkeys((terminal.UP, "k", "p"), partial(self._move, -1)),
            **dict.fromkeys((terminal.HOME, "g"), partial(end, -1)),
            **dict.fromkeys((terminal.END, "G"), partial(end, 1)),
            terminal.PAGE_DOWN: partial(page, 1),
            terminal.PAGE_UP: partial(page, -1),
        }

    def _acts(self) -> Mapping[str, Callable[[], object]]:
        return {
            **dict.fromkeys((terminal.ENTER, terminal.RIGHT), self._open),
            " ": self._mark,
            "a": self._mark_many,
            terminal.ESCAPE: self._unmark,
            "c": partial(self._decide_many, CONFIRM),
            "r": partial(self._decide_many, REJECT),
            "u": self._undo,
            "e": self._show_evidence,
            "h": self._show_history,
            "/": self._filter,
            "R": self._reload,
            "?": self._person.help,
        }

    # The queue

    @property
    def _shown(self) -> Sequence[Proposal]:
        """What waits and has the words that were asked for."""
        wanted = normalise(self._words).split()
        return (
            [one for one in self._all if all(word in _searched(one) for word in wanted)]
            if wanted
            else self._all
        )

    @property
    def _current(self) -> Proposal | None:
        shown = self._shown
        return shown[self._cursor] if shown else None

    def _show_queue(self) -> str:
        size = self._person.size
        whose = self._operator.agent + (
            f" for {self._operator.user}" if self._operator.user else ""
        )
        shown = Queue(
            self._shown, self.waiting, self._clock(), whose, self._cursor, self._top, self._marked
        )
        shown = shown._replace(words=self._words, top=queue.top(shown, size[1]))
        self._top = shown.top
        return self._person.key(
            queue.title(shown), queue.lines(shown, size), QUEUE if shown.proposals else EMPTY
        )

    def _move(self, by: int) -> bool:
        """Whether the cursor could move."""
        before = self._cursor
        self._cursor = max(0, min(self._cursor + by, len(self._shown) - 1))
        return self._cursor != before

    def _mark(self) -> None:
        if (proposal := self._current) is not None:
            self._marked ^= {proposal.record.id}
            self._move(1)

    def _unmark(self) -> None:
        self._marked = frozenset()

    def _mark_many(self) -> None:
        """Mark all that share something with the row under the cursor."""
        if (current := self._current) is None:
            return
        choices = {
            "s": (
                f"from {origin(current)}",
                [one for one in self._shown if origin(one) == origin(current)],
            ),
            "k": (
                f"of {place(current.record)}",
                [one for one in self._shown if _key_of(one) == _key_of(current)],
            ),
            "a": ("all that are shown", self._shown),
            "n": ("none of them", ()),
        }
        body = [
            Text.assemble(f"  {key}  {len(found):>5}  ", line(name))
            for key, (name, found) in choices.items()
        ]
        key = self._person.key(Text(" mark which rows?"), [Text(), *body], CHOOSING)
        if key in choices:
            self._marked = frozenset(one.record.id for one in choices[key][1])
            self._person.tell(
                f"{len(self._marked)} marked; c confirms them and r rejects them, after a preview"
            )

    def _filter(self) -> None:
        words = self._person.ask("show only what has:")
        if words is not None:
            self._words, self._cursor, self._marked = words, 0, frozenset()

    def _reload(self) -> bool:
        """Read what waits now: others may have decided meanwhile."""
        try:
            self._all = self._operator.proposals()
        except LaminaError as error:
            self._person.tell(error.message, ERROR)
            return False
        self._marked &= {one.record.id for one in self._all}
        self._move(0)
        return True

    # One proposal

    def _open(self) -> None:
        """Show the proposal under the cursor, and after a decision the one that stands there then."""
        while (proposal := self._current) is not None and self._review(proposal):
            pass

    def _review(self, proposal: Proposal) -> bool:
        """Whether to go on with the one that is under the cursor afterwards."""
        try:
            opened = self._opened(proposal)
        except LaminaError as error:
            self._reload()
            self._person.tell(error.message, ERROR)
            return False
        pager, title = Pager(), detail.title(opened, self._cursor + 1, len(self._shown))
        while True:
            hints = DETAIL if proposal.problem is None else DETAIL[1:]
            key = self._person.page(
                title, lambda width: detail.lines(opened, self._clock(), width), pager, hints
            )
            if key in BACK:
                return False
            if key in ("p", terminal.LEFT):
                return self._move(-1) or True
            if key in ("s", "n", terminal.RIGHT):
                return self._go_on()
            if self._has_changed(key, proposal, pager):
                return True

    def _go_on(self) -> bool:
        if self._move(1):
            return True
        self._person.tell("that was the last one")
        return False

    def _has_changed(self, key: str, proposal: Proposal, pager: Pager) -> bool:
        """Do what a key says about a proposal; whether the queue is another one now."""
        if key == "c":
            return self._confirm(proposal, pager)
        if key == "r":
            return self._reject(proposal)
        if key == "u":
            return self._undo()
        reading = {"e": self._show_evidence, "h": self._show_history, "?": self._person.help}
        if key in reading:
            reading[key]()
        return False

    def _opened(self, proposal: Proposal) -> Opened:
        """A proposal with what its judge wants to know."""
        refusals = {}
        for other in proposal.similar:
            for event in self._operator.history(other.id):
                if event.action == REJECT:
                    refusals[other.id] = event
        named = frozenset(proposal.rivals)
        rivals = [one for one in self._all if one.record.id in named]
        return Opened(proposal, self._operator.history(proposal.record.id), rivals, refusals)

    def _confirm(self, proposal: Proposal, pager: Pager) -> bool:
        if proposal.problem is not None:
            self._person.tell(
                "it cannot be confirmed, as said above; r rejects it, s skips it", ERROR
            )
            return False
        return self._has_read(pager) and self._decide(CONFIRM, proposal, None)

    def _reject(self, proposal: Proposal) -> bool:
        reason = self._reason("why reject it?")
        return reason is not None and self._decide(REJECT, proposal, reason)

    def _decide(self, verb: str, proposal: Proposal, reason: str | None) -> bool:
        outcomes = self._decisions.decide(verb, [proposal], reason)
        self._report(outcomes, 0)
        self._person.forget()
        return self._reload()

    def _reason(self, question: str) -> str | None:
        """Why; nothing when a person thinks better of it."""
        given = self._person.ask(question)
        if not given:
            self._person.tell("nothing was done: a rejection needs a reason")
        return given or None

    def _has_read(self, pager: Pager) -> bool:
        """Whether everything was on the screen, or a person goes on without."""
        return not pager.unread or self._person.is_sure(
            f"{pager.unread} lines were not shown yet; go on without them?"
        )

    def _show_evidence(self) -> None:
        if (proposal := self._current) is None:
            return
        try:
            found = [(one, self._evidence(one)) for one in proposal.record.evidence]
        except LaminaError as error:
            self._person.tell(error.message, ERROR)
        else:
            self._person.read(
                f"evidence of {place(proposal.record)}", lambda width: detail.evidence(found, width)
            )

    def _show_history(self) -> None:
        if (proposal := self._current) is None:
            return
        try:
            events = self._operator.history(proposal.record.id)
        except LaminaError as error:
            self._person.tell(error.message, ERROR)
        else:
            record_id = proposal.record.id
            self._person.read(
                f"history of {record_id}", lambda width: detail.history(events, record_id, width)
            )

    # Many proposals

    def _decide_many(self, verb: str) -> None:
        """Decide about what is marked, or else about the row under the cursor, after a look at what that would do."""
        chosen = [one for one in self._shown if one.record.id in self._marked] or self._shown[
            self._cursor :
        ][:1]
        steps = batch.plan(chosen, verb)
        possible = [step.proposal for step in steps if step.possible]
        if not possible:
            self._person.tell(
                f"nothing to {verb}: {steps[0].effect}" if steps else f"nothing to {verb}", ERROR
            )
            return
        reason = self._reason(f"why reject {_number(chosen)}?") if verb == REJECT else None
        if verb == REJECT and reason is None:
            return
        if not self._agrees(verb, steps, reason):
            self._person.tell("nothing was done")
            return
        outcomes = self._decisions.decide(
            verb, possible, reason, self._person.watch(DONE[verb], len(possible))
        )
        self._unmark()
        self._reload()
        self._report(outcomes, len(possible) - len(outcomes))

    def _agrees(self, verb: str, steps: Sequence[batch.Step], reason: str | None) -> bool:
        """Whether a person agrees to what would happen."""
        number, pager = sum(step.possible for step in steps), Pager()
        left_out = f", leave out {len(steps) - number}" if number < len(steps) else ""
        title = f"{verb} {number}{left_out}" + (f", {because(reason)}" if reason else "")
        while True:
            self._person.tell(f"{verb} {number}? y/N", QUESTION)
            key = self._person.page(
                title, lambda width: batch.preview(steps, width), pager, AGREEING
            )
            if key in ("y", "Y"):
                return self._has_read(pager)
            if key in (*BACK, "n", "N", terminal.ENTER):
                return False

    def _report(self, outcomes: Sequence[Outcome], untried: int) -> None:
        """Tell what came of one in a line, of several on a page."""
        if len(outcomes) != 1 or untried:
            self._person.read(
                "what was done", lambda width: batch.summary(outcomes, untried, width)
            )
            return
        (one,) = outcomes
        if one.error is not None:
            self._person.tell(one.error, ERROR)
        else:
            hint = " (u takes it back)" if one.done == DONE[CONFIRM] else ""
            record = one.proposal.record
            stays = (
                staying(record, self._evidence, self._operator.resting_on)
                if one.done == DONE[REJECT]
                else []
            )
            self._person.tell(f"{one.done}{hint}: {' · '.join([*saying(record), *stays])}", GOOD)

    def _undo(self) -> bool:
        """Take back what was confirmed last; whether the queue is another one now."""
        last = self._decisions.last
        if not last:
            self._person.tell("nothing was confirmed in this session that could be taken back")
            return False
        if len(last) > 1 and not self._person.is_sure(
            f"take {len(last)} back that were confirmed together?"
        ):
            return False
        outcomes = self._decisions.undo()
        reloaded = self._reload()
        places = {one.record.id: number for number, one in enumerate(self._shown)}
        self._cursor = places.get(last[0].record.id, self._cursor)
        self._report(outcomes, 0)
        return reloaded


def _searched(proposal: Proposal) -> str:
    """What the words of a filter are looked for in."""
    record = proposal.record
    return normalise(
        " ".join(
            (
                place(record),
                origin(proposal),
                record.trust,
                record.content,
                record.user or "",
                record.id,
            )
        )
    )


def _key_of(proposal: Proposal) -> tuple[str, str | None]:
    return normalise(place(proposal.record)), proposal.record.user


def _number(chosen: Sequence[Proposal]) -> str:
    return "1 proposal" if len(chosen) == 1 else f"{len(chosen)} proposals"
