"""Every way in which something comes to the disk: what there is before, what is done, and what is
looked at afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import lamina

from . import chores, deeds
from .chores import KEY
from .deeds import AGENT, LATER, NOW, Step, everything, remember, some, take_store

# A verb that was done already is refused, and that is well.
DONE_ALREADY = (lamina.Refused, lamina.Conflict, lamina.NotFound)


class WritePath(NamedTuple):
    """One way to the disk."""

    do: Step
    furnish: Step = lambda operator: operator.remember("memory before", key="before")
    view: Step = everything
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed
    # Whether it comes to the disk as a whole or not at all. Otherwise the next attempt finishes
    # what was begun.
    is_whole: bool = True
    # Where kills and errors of the disk at each call of this are tested already.
    elsewhere: str | None = None
    # Its home does not exist yet.
    is_first: bool = False
    # Whoever opens the home does it already.
    by_opening: bool = False
    # What somebody else does to the home before the verb, and takes back after the fault.
    take: Callable[[Path], object] = lambda home: None
    bring: Callable[[Path], object] = lambda home: None


def settings_of(path: WritePath) -> dict[str, Any]:
    return {"failsafe": "off", "recall.embedders": ["none"], **path.settings}


@contextmanager
def opened(path: WritePath, home: Path, now: datetime = LATER) -> Iterator[lamina.Operator]:
    with lamina.operator(
        AGENT, home=home, clock=lambda: now, actor="ana", key=KEY, settings=settings_of(path)
    ) as operator:
        yield operator


def done(path: WritePath, operator: lamina.Operator) -> None:
    """Do it; or find that it was done."""
    with suppress(*DONE_ALREADY):
        path.do(operator)


def spooled(home: Path) -> None:
    """A memory that waits beside the store, which is well again."""
    take_store(home)
    with opened(PATHS["is kept in the fail-safe"], home, NOW) as operator:
        remember(operator)
    deeds.bring_store(home)


WORDLLAMA = {"recall.embedders": ["wordllama"]}
LIVES: dict[str, Any] = {"elsewhere": "test_lifecycle", "is_whole": False}
PATHS = {
    "makes the home": WritePath(remember, is_first=True),
    "remembers": WritePath(remember, elsewhere="test_syscalls"),
    "remembers and folds the log": WritePath(
        remember, settings={"store.checkpoint_pages": 1}, elsewhere="test_syscalls"
    ),
    "remembers many": WritePath(deeds.remember_many),
    "keeps a conversation": WritePath(deeds.converse, elsewhere="test_index"),
    "takes notes": WritePath(deeds.take_notes, is_whole=False),
    "ends a run": WritePath(deeds.end_runs, deeds.begin_run),
    "forgets": WritePath(deeds.forget_before),
    "undoes": WritePath(deeds.undo_forgetting, deeds.forgotten, elsewhere="test_reviews"),
    "corrects": WritePath(deeds.correct, elsewhere="test_reviews"),
    "confirms": WritePath(
        lambda o: o.confirm(deeds.waiting(o)), deeds.proposed, elsewhere="test_reviews"
    ),
    "confirms in a client": WritePath(deeds.answer_a_client, deeds.proposed),
    "confirms many": WritePath(
        deeds.confirm_all, deeds.proposed_twice, deeds.profiles, is_whole=False
    ),
    "rejects": WritePath(
        lambda o: o.reject(deeds.waiting(o), "no"), deeds.proposed, elsewhere="test_reviews"
    ),
    "lifts": WritePath(deeds.lift, deeds.rejected, deeds.lifted),
    "rolls back": WritePath(deeds.roll_back, deeds.believed_twice, elsewhere="test_reviews"),
    "revokes": WritePath(
        lambda o: o.revoke("radio", "it lies"), deeds.proposed, elsewhere="test_reviews"
    ),
    "proposes": WritePath(deeds.propose),
    "proposes a correction": WritePath(deeds.propose_correction),
    "asks to forget": WritePath(deeds.ask_to_forget),
    "proposes to compact": WritePath(lambda o: o.compact(create_proposals=True), deeds.facts_twice),
    "proposes to join procedures": WritePath(
        lambda o: o.dedup(create_proposals=True), deeds.steps_twice
    ),
    "sets the profile": WritePath(deeds.upsert, view=deeds.profiles, is_whole=False),
    "promotes and archives": WritePath(lambda o: o.run_once(), some, **LIVES),
    "promotes one": WritePath(deeds.promote_before),
    "rotates": WritePath(lambda o: o.run_once(), deeds.ruled("short_term_max_lines: 3\n"), **LIVES),
    "joins": WritePath(
        lambda o: o.run_once(), deeds.ruled("deduplicate: 0.5\n"), settings=WORDLLAMA, **LIVES
    ),
    "expires": WritePath(
        lambda o: o.run_once(),
        deeds.ruled("promote_threshold: 1\nexpire_after_days: 30\nexpire_below: 0.25\n"),
        **LIVES,
    ),
    "compresses": WritePath(
        lambda o: o.compress_short_to_long(),
        deeds.ruled("promote_threshold: 1\n"),
        deeds.profiles,
        **LIVES,
    ),
    "prunes": WritePath(lambda o: o.prune(tags=["old"]), some, elsewhere="test_lifecycle"),
    "brings back": WritePath(deeds.bring_back, deeds.some_archived, **LIVES),
    "sleeps": WritePath(lambda o: o.sleep(), deeds.talked, is_whole=False, elsewhere="test_sleep"),
    "learns": WritePath(lambda o: o.learn(), deeds.much_decided, deeds.learnt),
    "indexes": WritePath(deeds.index, is_whole=False, settings=WORDLLAMA, elsewhere="test_index"),
    "makes the index anew": WritePath(lambda o: o.reindex(), some, by_opening=True),
    "imports an export": WritePath(deeds.import_ours, deeds.exported_elsewhere, is_whole=False),
    "imports lines": WritePath(deeds.import_lines, deeds.foreign_lines, is_whole=False),
    "imports lines, but not all": WritePath(
        deeds.import_lines, deeds.spoiled_lines, deeds.set_aside, is_whole=False
    ),
    "comes to a new schema": WritePath(remember, take=deeds.make_older, is_whole=False),
    "exports": WritePath(chores.write_export, view=chores.exports),
    "exports for others": WritePath(chores.write_for_others, view=chores.for_others),
    "backs up": WritePath(chores.save, view=chores.saves),
    "goes back to a backup": WritePath(chores.go_back, chores.saved, elsewhere="test_lifecycle"),
    "erases": WritePath(deeds.erase, view=deeds.erasures, elsewhere="test_erasure"),
    "is kept in the fail-safe": WritePath(
        remember,
        settings={"failsafe": "on", "store.retry_ms": 0},
        take=take_store,
        bring=deeds.bring_store,
        elsewhere="test_failsafe",
    ),
    "replays the fail-safe": WritePath(
        lambda o: o.replay_failsafe(),
        settings={"failsafe": "on"},
        take=spooled,
        by_opening=True,
        elsewhere="test_failsafe",
    ),
    "reads strictly": WritePath(
        deeds.read_strictly, view=deeds.reads_of, settings={"audit.reads": "strict"}
    ),
    "is refused": WritePath(deeds.be_refused, view=deeds.refusals_of),
    "keeps what a hook hears": WritePath(deeds.keep_message),
    "notes the use of a tool": WritePath(deeds.note_tool_use),
    "captures messages": WritePath(deeds.capture, is_whole=False),
    "puts an item for LangGraph": WritePath(chores.put_item, chores.with_an_item, chores.items),
    "keeps a session of OpenAI": WritePath(chores.add_turns, view=chores.turns),
    "runs the jobs": WritePath(
        chores.run_jobs,
        chores.furnished_for_jobs,
        chores.jobs_done,
        settings=chores.FOR_JOBS,
        is_whole=False,
    ),
    "mirrors in lines": WritePath(
        chores.sync_mirrors, view=chores.mirrored, settings={"mirrors.jsonl": "sky"}
    ),
    "makes mirrors anew": WritePath(
        chores.rebuild_mirrors,
        view=chores.mirrored,
        settings={"mirrors.jsonl": "milton"},
        by_opening=True,
    ),
    "makes a token": WritePath(chores.make_token, chores.with_a_token, chores.tokens),
    "revokes a token": WritePath(chores.revoke_token, chores.with_a_token, chores.tokens),
    "locks the home": WritePath(chores.lock_home, view=chores.locks),
    "unlocks the home": WritePath(chores.unlock_home, chores.lock_home, chores.locks),
    "changes a setting": WritePath(chores.change_setting, view=chores.written_settings),
    "shares": WritePath(chores.share, chores.with_a_neighbour, chores.shares),
    "ends a grant": WritePath(chores.end_grant, chores.shared, chores.shares),
    "ends all grants": WritePath(chores.end_grants, chores.shared, chores.shares),
    "sets a tool": WritePath(chores.set_tool, view=chores.world, is_whole=False),
    "sets tools": WritePath(chores.set_tools, view=chores.world, is_whole=False),
    "sets an integration": WritePath(chores.set_integration, view=chores.world, is_whole=False),
    "removes an integration": WritePath(
        chores.remove_integration, chores.set_integration, chores.world, is_whole=False
    ),
    "takes in what was edited": WritePath(chores.sync_world, chores.edited, chores.tools),
    "proposes what was edited": WritePath(chores.set_another_tool, chores.edited, chores.kept),
    "confirms what was edited": WritePath(chores.confirm_edit, chores.proposed_edit, chores.kept),
    "proposes the end of a fact": WritePath(deeds.call_outdated, deeds.one_fact),
}
