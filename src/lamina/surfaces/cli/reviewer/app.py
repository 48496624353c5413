"""The full screen of `lamina review`: the queue, and everything about the selected proposal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import DataTable, Footer, Input, ProgressBar, Static

from lamina.engines.review import Proposal
from lamina.errors import LaminaError
from lamina.memory.operator import Operator
from lamina.memory.reviews import what_stays
from lamina.model.clock import Clock, system_clock
from lamina.surfaces.cli.reviewer import batch, detail, editing, keys, rows
from lamina.surfaces.cli.reviewer.detail import Opened
from lamina.surfaces.cli.reviewer.screens import Edit, Page, Reading, Reason
from lamina.surfaces.cli.reviewer.texts import line
from lamina.surfaces.cli.reviewer.wording import place, reported
from lamina.surfaces.review import evidence
from lamina.surfaces.review.arrangement import GROUPINGS, ORDERS, Arrangement, following
from lamina.surfaces.review.decisions import (
    Decision,
    Decisions,
    Outcome,
    Verb,
    agreeing,
    is_possible,
)

WIDE = 120  # columns of a screen wide enough for the queue and the proposal side by side
MOST_ROWS = 2000  # of the queue; a search finds the others
TOGETHER = 50  # decisions between two updates of the progress bar
INTERRUPTED = 130
ERROR, GOOD = "bold red", "green"


class ReviewApp(App[None]):
    """The screen on which a person works through the queue."""

    CSS = """
    #title { background: $primary; color: $text; height: 1; }
    #body { layout: vertical; height: 1fr; }
    #queue { height: 2fr; }
    #detail { height: 3fr; border-top: solid $primary; padding: 0 1; }
    #body.wide { layout: horizontal; }
    #body.wide #queue { width: 1fr; height: 1fr; }
    #body.wide #detail { width: 1fr; height: 1fr; border-top: none; border-left: solid $primary; }
    #search, #progress { display: none; }
    #search.shown, #progress.shown { display: block; }
    #message { height: auto; max-height: 3; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "agree", "confirm"),
        Binding("e", "edit", "edit"),
        Binding("r", "reject", "reject"),
        Binding("u", "undo", "undo"),
        Binding("space", "mark", "mark"),
        Binding("slash", "search", "search"),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
        Binding("g", "group", "group"),
        Binding("o", "order", "order"),
        Binding("h", "history", "history"),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("s,n", "move(1)", show=False),
        Binding("a", "mark_all", show=False),
        Binding("ctrl+d", "scroll(10)", show=False),
        Binding("ctrl+u", "scroll(-10)", show=False),
        Binding("ctrl+r,R", "reload", show=False),
        Binding("escape", "clear", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
    ]

    def __init__(self, operator: Operator, clock: Clock = system_clock) -> None:
        super().__init__()
        self._operator = operator
        self._clock = clock
        self._decisions = Decisions(operator)
        self._waiting: Sequence[Proposal] = operator.proposals()
        self._arrangement = Arrangement()
        self._marked: frozenset[str] = frozenset()
        self._rows: list[Sequence[Proposal]] = []  # a proposal each, or a group below its name
        self._title_line = Static(id="title")
        self._body = Container(id="body")
        self._queue: DataTable[Text] = DataTable(
            id="queue", cursor_type="row", cursor_foreground_priority="renderable"
        )
        self._page = Page(lambda _: [], id="detail")
        self._search = Input(id="search", placeholder="show only what has these words")
        self._progress = ProgressBar(id="progress", show_eta=False)
        self._message = Static(id="message")
        self._needed = 0  # lines of the proposal that must have been visible before it is confirmed
        self._is_drawn = False  # keys pressed before drawing do not refer to what is shown now

    def summary(self) -> str:
        """Summarise in a line what was decided and what is left."""
        number = len(self._waiting)
        left = {0: "nothing waits", 1: "1 still waits"}.get(number, f"{number} still wait")
        return f"{self._decisions.summary()}; {left}"

    def compose(self) -> ComposeResult:
        yield self._title_line
        with self._body:
            yield self._queue
            yield self._page
        yield self._search
        yield self._progress
        yield self._message
        yield Footer()

    def on_mount(self) -> None:
        self._queue.focus()
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self._body.set_class(self.size.width >= WIDE, "wide")
        self.call_after_refresh(self._draw)

    # The queue

    @property
    def _here(self) -> Sequence[Proposal]:
        """What the row under the cursor represents: a proposal, or a group."""
        row = self._queue.cursor_row
        return self._rows[row] if 0 <= row < len(self._rows) else ()

    @property
    def _current(self) -> Proposal | None:
        return self._here[0] if len(self._here) == 1 else None

    def _draw(self, row: int | None = None) -> None:
        """Redraw the queue, with the cursor where it was or in a given row."""
        table, groups = self._queue, self._arrangement.groups(self._waiting)
        cursor = table.cursor_row if row is None else row
        shown = [one for group in groups for one in group.proposals][:MOST_ROWS]
        width = self.size.width // (2 if self.size.width >= WIDE else 1)
        room, now = rows.widths(shown, width - 1), self._clock()
        table.clear(columns=True)
        for name, columns in zip(rows.COLUMNS, room, strict=True):
            table.add_column(name, width=columns)
        self._rows = []
        for group in groups:
            if group.name:
                table.add_row(*rows.heading(group.name, len(group.proposals), room))
                self._rows.append(group.proposals)
            for one in group.proposals[: max(0, MOST_ROWS - len(self._rows))]:
                table.add_row(*rows.cells(one, now, one.record.id in self._marked, room))
                self._rows.append([one])
        table.move_cursor(row=max(0, min(cursor, len(self._rows) - 1)), animate=False)
        self._title(len(shown))
        self._open()
        self.call_after_refresh(self._drawn)

    def _drawn(self) -> None:
        self._is_drawn = True

    def _title(self, shown: int) -> None:
        operator, wanted = self._operator, self._arrangement
        whose = operator.agent + (f" for {operator.user}" if operator.user else "")
        parts = [f"{len(self._waiting)} waiting"]
        parts += [f"{shown} with “{wanted.words}”"] if wanted.words else []
        parts += [f"{len(self._marked)} marked"] if self._marked else []
        parts += [f"by {wanted.grouping}"] if GROUPINGS[wanted.grouping] else []
        parts += [f"{wanted.order} first"] if wanted.order != "effect" else []
        self._title_line.update(line(f" review of {whose}: {' · '.join(parts)}"))

    def on_data_table_row_highlighted(self) -> None:
        self._open()

    def _open(self) -> None:
        """Show everything about the row under the cursor."""
        current, group = self._current, self._here
        if current is None:
            text = f"{len(group)} proposals; c, r and space are for all of them"
            empty = "nothing waits for review" if not self._waiting else "nothing matches"
            self._page.show(lambda _: [Text(text if group else empty)])
            return
        try:
            opened = self._opened(current)
        except LaminaError as error:
            self._say(error.message, ERROR)
            return

        def lines(width: int) -> Sequence[Text]:
            change = detail.change(opened, width)
            self._needed = len(change)
            return [*change, Text(), *detail.about(opened, self._clock(), width)]

        self._page.show(lines)

    def _opened(self, proposal: Proposal) -> Opened:
        """Read what a person needs to know about a proposal."""
        refusals = {
            other.id: event
            for other in proposal.similar
            for event in self._operator.history(other.id)
            if event.action == Verb.REJECT
        }
        named = frozenset(proposal.rivals)
        rivals = [one for one in self._waiting if one.record.id in named]
        history = self._operator.history(proposal.record.id)
        rests_on = evidence.read(self._operator, proposal.record.evidence)
        return Opened(proposal, history, rivals, refusals, rests_on)

    def _reload(self) -> None:
        """Read the queue again: others may have decided meanwhile."""
        try:
            self._waiting = self._operator.proposals()
        except LaminaError as error:
            self._say(error.message, ERROR)
            return
        self._marked &= {one.record.id for one in self._waiting}
        self._draw()

    def _say(self, message: str, style: str = "") -> None:
        self._message.update(line(message, style))

    # Viewing

    def action_move(self, by: int) -> None:
        """Move the cursor by some rows."""
        self._queue.move_cursor(row=self._queue.cursor_row + by, animate=False)

    def action_scroll(self, by: int) -> None:
        """Scroll the details of the proposal."""
        self._page.scroll_relative(y=by, animate=False)

    def action_reload(self) -> None:
        """Reload the queue."""
        self._reload()

    def action_group(self) -> None:
        """Group by the next property that proposals may share."""
        grouping = following(GROUPINGS, self._arrangement.grouping)
        self._arrange(self._arrangement._replace(grouping=grouping))

    def action_order(self) -> None:
        """Sort by the next order."""
        self._arrange(self._arrangement._replace(order=following(ORDERS, self._arrangement.order)))

    def action_search(self) -> None:
        """Ask for the words to search for."""
        self._search.add_class("shown")
        self._search.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "search":
            event.input.remove_class("shown")
            self._queue.focus()
            self._arrange(self._arrangement._replace(words=event.value))

    def action_clear(self) -> None:
        """Leave the search, and unmark everything."""
        self._search.remove_class("shown")
        self._search.value = ""
        self._queue.focus()
        self._marked = frozenset()
        self._arrange(self._arrangement._replace(words=""))

    def _arrange(self, wanted: Arrangement) -> None:
        self._arrangement = wanted
        self._draw(0)

    def action_history(self) -> None:
        """Show the history of the proposal."""
        if (current := self._current) is not None:
            events, record_id = self._operator.history(current.record.id), current.record.id
            title = f"history of {record_id}"
            self.push_screen(Reading(title, lambda width: detail.history(events, record_id, width)))

    def action_interrupt(self) -> None:
        """Quit at once; decisions made so far stay."""
        self.exit(return_code=INTERRUPTED)

    def action_help(self) -> None:
        """Show what the keys and signs mean."""
        self.push_screen(Reading("keys and signs", keys.lines))

    # Deciding

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor, or its group."""
        names = {one.record.id for one in self._here}
        known = names <= self._marked
        self._marked = self._marked - names if known else self._marked | names
        self._draw(self._queue.cursor_row + 1)

    def action_mark_all(self) -> None:
        """Mark everything that is shown."""
        self._marked = frozenset(one.record.id for one in self._shown)
        self._draw()

    @property
    def _shown(self) -> list[Proposal]:
        """The proposals that match the search, in the order of the queue."""
        groups = self._arrangement.groups(self._waiting)
        return [one for group in groups for one in group.proposals]

    @property
    def _chosen(self) -> Sequence[Proposal]:
        """The marked proposals, in the order of the queue; if none, those under the cursor.

        Empty while the screen may show another proposal than the person has seen.
        """
        if not self._is_drawn:
            return ()
        return [one for one in self._shown if one.record.id in self._marked] or self._here

    @work
    async def action_agree(self) -> None:
        """Confirm the chosen proposals: one at once, several after a preview."""
        if len(chosen := self._chosen) > 1:
            await self._decide_many(chosen, Verb.CONFIRM, None)
            return
        for one in chosen:
            if not is_possible(one):
                self._say("it cannot be confirmed, as said below; e edits it, r rejects it", ERROR)
            elif await self._has_read():
                self._decide(agreeing(one))

    async def _has_read(self) -> bool:
        """Return whether everything that would change was visible; if not, ask."""
        if not (unread := self._page.unread(self._needed)):
            return True
        question = f"{unread} lines of it were not in sight yet; confirm it without?"
        asked = Reading("not all was shown", _none, question)
        return await self.push_screen_wait(asked)

    @work
    async def action_edit(self) -> None:
        """Edit the text under the cursor, then confirm it."""
        if (current := self._current) is None or not self._is_drawn:
            return
        if (obstacle := editing.obstacle(current.record)) is not None:
            self._say(obstacle, ERROR)
            return
        title = f"edit {place(current.record)}, then confirm"
        edited = await self.push_screen_wait(Edit(title, editing.text(current.record)))
        if edited is not None:
            self._decide(editing.decision(current, edited))

    @work
    async def action_reject(self) -> None:
        """Reject the chosen proposals, with a reason if the person gives one."""
        if not (chosen := self._chosen):
            return
        what = place(chosen[0].record) if len(chosen) == 1 else f"{len(chosen)} proposals"
        reason = await self.push_screen_wait(Reason(f"why reject {what}?"))
        if reason is None:
            self._say("nothing was done")
        elif len(chosen) == 1:
            self._decide(Decision(Verb.REJECT, chosen[0], reason or None))
        else:
            await self._decide_many(chosen, Verb.REJECT, reason or None)

    def _decide(self, decision: Decision) -> None:
        self._is_drawn = False
        (outcome,) = self._decisions.decide([decision])
        self._reload()
        self._report(outcome)

    async def _decide_many(
        self, chosen: Sequence[Proposal], verb: Verb, reason: str | None
    ) -> None:
        """Show what would happen, ask, and decide one after another."""
        steps = batch.plan(chosen, verb)
        possible = [step.decision._replace(reason=reason) for step in steps if step.possible]
        left_out = f", leave out {len(steps) - len(possible)}" if len(possible) < len(steps) else ""
        title = f"{verb} {len(possible)}{left_out}"
        if not possible:
            self._say(f"nothing to {verb}: {steps[0].effect}", ERROR)
            return
        asked = Reading(title, lambda width: batch.preview(steps, width), f"{title}?")
        if not await self.push_screen_wait(asked):
            self._say("nothing was done")
            return
        outcomes = await self._made(possible)
        self._marked = frozenset()
        self._reload()
        await self.push_screen_wait(
            Reading("what was done", lambda width: batch.summary(outcomes, width))
        )

    async def _made(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Decide in small batches to show progress; one undo reverts all of them."""
        outcomes: list[Outcome] = []
        self._progress.add_class("shown")
        for start in range(0, len(decisions), TOGETHER):
            outcomes += self._decisions.decide(
                decisions[start : start + TOGETHER], joined=bool(start)
            )
            self._progress.update(total=len(decisions), progress=len(outcomes))
            await asyncio.sleep(0)
        self._progress.remove_class("shown")
        return outcomes

    @work
    async def action_undo(self) -> None:
        """Undo the last decision; if several were made together, ask first."""
        last = self._decisions.last
        if not last:
            self._say("nothing was decided in this session that could be undone")
            return
        question = f"undo {len(last)} decisions that were made together?"
        asked = Reading("undo", _none, question)
        if len(last) > 1 and not await self.push_screen_wait(asked):
            return
        outcomes = self._decisions.undo()
        self._reload()
        self._go_to(last[0].proposal)
        self._report(next((one for one in outcomes if one.error), outcomes[-1]))

    def _go_to(self, proposal: Proposal) -> None:
        for number, row in enumerate(self._rows):
            if len(row) == 1 and row[0].record.id == proposal.record.id:
                self._queue.move_cursor(row=number, animate=False)

    def _report(self, outcome: Outcome) -> None:
        operator, stays = self._operator, list[str]()
        if outcome.error is None and outcome.done == Verb.REJECT.done:
            find = partial(evidence.found, operator)
            stays = what_stays(outcome.proposal.record, find, operator.resting_on)
        self._say(reported(outcome, *stays), GOOD if outcome.error is None else ERROR)


def _none(_: int) -> Sequence[Text]:
    return ()
