"""Go through the queue with a person: keys come in, screens go out, and decisions are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import click
from rich.text import Text

from lamina.engines.review import Proposal
from lamina.errors import InvalidInput, LaminaError
from lamina.memory.operator import Operator
from lamina.memory.reviews import what_stays
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
DIGITS = 6  # of the number of a row
AGREEING = (("y", "yes"), ("n", "no"), ("↑↓ space", "scroll"))


def start(invocation: Invocation) -> None:
    """Let the person at this terminal go through what waits."""
    invocation.check_operator("review")
    if invocation.json or not Terminal.is_here():
        raise InvalidInput(
            "`lamina review` alone needs a terminal;"
            " `lamina review list` prints what waits, also with --json"
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
        click.echo(reviewer.summary())


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
        """The number of proposals that waited when the queue was last read."""
        return len(self._all)

    def summary(self) -> str:
        """Say in a line what was decided and what is left."""
        left = {0: "nothing waits", 1: "1 still waits"}
        waits = left.get(self.waiting, f"{self.waiting} still wait")
        return f"{self._decisions.summary()}; {waits}"

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
        """The proposals that have the words of the filter."""
        wanted = normalise(self._words).split()
        if not wanted:
            return self._all
        return [one for one in self._all if all(word in _searched(one) for word in wanted)]

    @property
    def _current(self) -> Proposal | None:
        shown = self._shown
        return shown[self._cursor] if shown else None

    def _show_queue(self) -> str:
        size, user = self._person.size, self._operator.user
        whose = self._operator.agent + (f" for {user}" if user else "")
        shown = Queue(
            self._shown, self.waiting, self._clock(), whose, self._cursor, self._top, self._marked
        )
        shown = shown._replace(words=self._words, top=queue.top(shown, size[1]))
        self._top = shown.top
        hints = QUEUE if shown.proposals else EMPTY
        return self._person.key(queue.title(shown), queue.lines(shown, size), hints)

    def _move(self, by: int) -> bool:
        """Move the cursor, and tell if it could move."""
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
        alike = [one for one in self._shown if origin(one) == origin(current)]
        rivals = [one for one in self._shown if _key_of(one) == _key_of(current)]
        choices = {
            "s": (f"from {origin(current)}", alike),
            "k": (f"of {place(current.record)}", rivals),
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
            marked = f"{len(self._marked)} marked"
            self._person.tell(f"{marked}; c confirms them and r rejects them, after a preview")

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
        """Show the proposal under the cursor; after a decision, the next one there."""
        while (proposal := self._current) is not None and self._review(proposal):
            pass

    def _review(self, proposal: Proposal) -> bool:
        """Review one proposal, and tell if to go on with the one under the cursor then."""
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
        """Do what a key says about a proposal, and tell if that changed the queue."""
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
        """Read what a person wants to know about a proposal."""
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
            why = "it cannot be confirmed, as said above; r rejects it, s skips it"
            self._person.tell(why, ERROR)
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
        """Ask for a reason; None when the person thinks better of it."""
        reason = self._person.ask(question)
        if not reason:
            self._person.tell("nothing was done: a rejection needs a reason")
        return reason or None

    def _has_read(self, pager: Pager) -> bool:
        """Tell if everything was on the screen, or the person goes on without."""
        question = f"{pager.unread} lines were not shown yet; go on without them?"
        return not pager.unread or self._person.is_sure(question)

    def _show_evidence(self) -> None:
        if (proposal := self._current) is None:
            return
        try:
            found = [(one, self._evidence(one)) for one in proposal.record.evidence]
        except LaminaError as error:
            self._person.tell(error.message, ERROR)
        else:
            title = f"evidence of {place(proposal.record)}"
            self._person.read(title, lambda width: detail.evidence(found, width))

    def _show_history(self) -> None:
        if (proposal := self._current) is None:
            return
        try:
            events = self._operator.history(proposal.record.id)
        except LaminaError as error:
            self._person.tell(error.message, ERROR)
        else:
            record_id = proposal.record.id
            title = f"history of {record_id}"
            self._person.read(title, lambda width: detail.history(events, record_id, width))

    # Many proposals

    def _decide_many(self, verb: str) -> None:
        """Decide about what is marked, or else about the row under the cursor, after a preview."""
        marked = [one for one in self._shown if one.record.id in self._marked]
        chosen = marked or self._shown[self._cursor : self._cursor + 1]
        steps = batch.plan(chosen, verb)
        possible = [step.proposal for step in steps if step.possible]
        if not possible:
            why = f": {steps[0].effect}" if steps else ""
            self._person.tell(f"nothing to {verb}{why}", ERROR)
            return
        reason = self._reason(f"why reject {_number(chosen)}?") if verb == REJECT else None
        if verb == REJECT and reason is None:
            return
        if not self._agrees(verb, steps, reason):
            self._person.tell("nothing was done")
            return
        go_on = self._person.watch(DONE[verb], len(possible))
        outcomes = self._decisions.decide(verb, possible, reason, go_on)
        self._unmark()
        self._reload()
        self._report(outcomes, len(possible) - len(outcomes))

    def _agrees(self, verb: str, steps: Sequence[batch.Step], reason: str | None) -> bool:
        """Ask if the person agrees to what would happen."""
        number, pager = sum(step.possible for step in steps), Pager()
        left_out = f", leave out {len(steps) - number}" if number < len(steps) else ""
        title = f"{verb} {number}{left_out}" + (f", {because(reason)}" if reason else "")
        while True:
            self._person.tell(f"{verb} {number}? y/N", QUESTION)
            lines = partial(batch.preview, steps)
            key = self._person.page(title, lines, pager, AGREEING)
            if key in ("y", "Y"):
                return self._has_read(pager)
            if key in (*BACK, "n", "N", terminal.ENTER):
                return False

    def _report(self, outcomes: Sequence[Outcome], untried: int) -> None:
        """Report one outcome in a line, several on a page."""
        if len(outcomes) != 1 or untried:
            self._person.read("what was done", partial(batch.summary, outcomes, untried))
            return
        (one,) = outcomes
        if one.error is not None:
            self._person.tell(one.error, ERROR)
        else:
            hint = " (u takes it back)" if one.done == DONE[CONFIRM] else ""
            record = one.proposal.record
            lines = [*saying(record)]
            if one.done == DONE[REJECT]:
                lines += what_stays(record, self._evidence, self._operator.resting_on)
            self._person.tell(f"{one.done}{hint}: {' · '.join(lines)}", GOOD)

    def _undo(self) -> bool:
        """Take back what was confirmed last, and tell if that changed the queue."""
        last = self._decisions.last
        if not last:
            self._person.tell("nothing was confirmed in this session that could be taken back")
            return False
        question = f"take {len(last)} back that were confirmed together?"
        if len(last) > 1 and not self._person.is_sure(question):
            return False
        outcomes = self._decisions.undo()
        reloaded = self._reload()
        places = {one.record.id: number for number, one in enumerate(self._shown)}
        self._cursor = places.get(last[0].record.id, self._cursor)
        self._report(outcomes, 0)
        return reloaded


def _searched(proposal: Proposal) -> str:
    """Join all that the words of a filter are looked for in."""
    record = proposal.record
    about = (place(record), origin(proposal), record.trust)
    return normalise(" ".join((*about, record.content, record.user or "", record.id)))


def _key_of(proposal: Proposal) -> tuple[str, str | None]:
    return normalise(place(proposal.record)), proposal.record.user


def _number(chosen: Sequence[Proposal]) -> str:
    return "1 proposal" if len(chosen) == 1 else f"{len(chosen)} proposals"
