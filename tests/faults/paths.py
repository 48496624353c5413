"""Every way in which something comes to the disk: what there is before, what is done, and what is looked at afterwards."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

import lamina
from lamina import Layer, config, operator_key
from lamina.access import Access
from lamina.model import Actor, Draft, Record, Role, Trust
from lamina.store import opening
from lamina.store.migrations import STEPS

from .harness import in_words

AGENT = "sky"
# The clock of every process here: it stands still, so that what is made is always the same.
NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
LATER = datetime(2027, 6, 1, 8, 0, tzinfo=UTC)
KEY = "a long operator key"
TURNS = ["I live in Porto.", "I love tea.", "I work at Acme."]
FOREIGN = '{"ts": 1699999990, "type": "short", "content": "a note of Sky", "importance": 0.3}\n' * 2
# What a record has of its own: who it is, and when it was written.
OWN = ("id", "seq", "agent", "created_at", "updated_at", "archived")
# A verb that was done already is refused, and that is well.
DONE_ALREADY = (lamina.Refused, lamina.Conflict, lamina.NotFound)

Step = Callable[[lamina.Operator], object]


def describe(record: Record, said: dict[str, str]) -> str:
    """A record as text, in which other records are what they say."""
    fields = {name: value for name, value in structs.asdict(record).items() if name not in OWN}
    return json.dumps({**in_words(fields, said), "is archived": record.archived is not None}, sort_keys=True, default=str)


def everything(operator: lamina.Operator) -> Any:
    """All records and where they stand, without ids and the times of writing."""
    records = operator.list(layers=list(Layer), states=None, limit=10_000)
    records += operator.search_archive("memory", limit=1000)
    said = {record.id: record.content for record in records}
    return Counter(describe(record, said) for record in records)


class WritePath(NamedTuple):
    """One way to the disk."""

    do: Step
    furnish: Step = lambda operator: operator.remember("memory before", key="before")
    view: Step = everything
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed
    # Whether it comes to the disk as a whole or not at all. Otherwise the next attempt finishes what was begun.
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
    with lamina.operator(AGENT, home=home, clock=lambda: now, actor="ana", key=KEY, settings=settings_of(path)) as operator:
        yield operator


def done(path: WritePath, operator: lamina.Operator) -> None:
    """Do it; or find that it was done."""
    with suppress(*DONE_ALREADY):
        path.do(operator)


# What is done


def remember(operator: lamina.Operator) -> object:
    return operator.remember("memory now", tags=["now"], evidence=["https://example.org/"], key="now")


def remember_many(operator: lamina.Operator) -> object:
    return operator.remember_many({"content": f"memory {n}", "tags": ["many"], "key": f"k{n}"} for n in range(20))


def converse(operator: lamina.Operator) -> object:
    turns = [{"speaker": "Ana", "text": text} for text in TURNS]
    return operator.remember_conversation(turns, session="one", key="talk", keep_raw=True)


def begin_run(operator: lamina.Operator) -> object:
    run = operator.run("task")
    return [run.note(f"note {n}") for n in range(3)]


def end_runs(operator: lamina.Operator) -> object:
    return [run.close("memory of the run") for run in operator.runs()]


def first(operator: lamina.Operator, text: str) -> str:
    """The id of the oldest record that says something."""
    records = operator.list(layers=list(Layer), states=None, limit=1000)
    return min((one for one in records if one.content.startswith(text)), key=lambda one: one.seq).id


def forget_before(operator: lamina.Operator) -> object:
    return operator.forget(first(operator, "memory before"))


def forgotten(operator: lamina.Operator) -> None:
    operator.remember("memory before", key="before")
    forget_before(operator)


def undo_forgetting(operator: lamina.Operator) -> object:
    event = next(event for event in operator.audit_log(100) if event.action == "forget")
    return operator.undo(event.seq)


def propose(operator: lamina.Operator) -> object:
    return operator.propose_profile("drink", "tea", "said so", [first(operator, "memory before")])


def proposed(operator: lamina.Operator) -> object:
    operator.remember("memory before", source="radio")
    return propose(operator)


def waiting(operator: lamina.Operator) -> str:
    found = operator.list(layers=["profile"], states=["constrained"])
    if not found:
        raise lamina.NotFound("nothing waits")
    return found[0].id


def some(operator: lamina.Operator) -> None:
    for n in range(6):
        operator.remember_short(f"memory {n}", ["old"] if n % 2 else [], n / 6, key=f"key {n}")


def some_archived(operator: lamina.Operator) -> None:
    some(operator)
    operator.prune(tags=["old"])


def bring_back(operator: lamina.Operator) -> object:
    found = operator.search_archive("memory", limit=10)
    return operator.restore_archived(*(one.id for one in found if one.content in ("memory 1", "memory 3")))


def talked(operator: lamina.Operator) -> object:
    turns = [{"speaker": "Ana", "text": text, "at": f"2026-05-0{n + 1}T08:00:00Z"} for n, text in enumerate(TURNS)]
    return operator.remember_conversation(turns, session="one")


def exported_elsewhere(operator: lamina.Operator) -> None:
    """An export of another agent, beside a memory of this one."""
    operator.remember("memory before", key="before")
    with lamina.operator("milton", home=operator.home.path, clock=lambda: NOW) as other:
        some(other)
        other.export(operator.home.path / "incoming.json")


def import_ours(operator: lamina.Operator) -> object:
    return operator.import_(operator.home.path / "incoming.json")


def foreign_lines(operator: lamina.Operator) -> None:
    operator.remember("memory before", key="before")
    (operator.home.path / "incoming.jsonl").write_text(FOREIGN)


def import_lines(operator: lamina.Operator) -> object:
    return operator.import_(operator.home.path / "incoming.jsonl", format="sky")


def saved(operator: lamina.Operator) -> None:
    """A backup, and something that came after it."""
    operator.remember("memory before", key="before")
    operator.backup(folder_of(operator) / "backups" / "copy")
    operator.remember("memory after the copy")


def folder_of(operator: lamina.Operator) -> Path:
    return operator.home.agent_folder(AGENT)


def go_back(operator: lamina.Operator) -> object:
    return operator.restore(folder_of(operator) / "backups" / "copy")


def save(operator: lamina.Operator) -> object:
    to = folder_of(operator) / "backups" / "copy"
    return None if to.exists() else operator.backup(to)


def saves(operator: lamina.Operator) -> Any:
    """The memories, and what each backup holds that has its name: never half of one."""
    held = []
    for folder in sorted((folder_of(operator) / "backups").glob("*")):
        if not folder.name.endswith(".tmp"):
            to = operator.home.path.parent / f"{operator.home.path.name} looked at"
            with lamina.operator(AGENT, home=to, clock=lambda: LATER) as other:
                other.restore(folder)
                held.append(sorted(one.content for one in other.list(limit=1000)))
    return everything(operator), held


def write_export(operator: lamina.Operator) -> object:
    to = operator.home.path / "export.json"
    return None if to.exists() else operator.export(to)


def exports(operator: lamina.Operator) -> Any:
    """The memories, and what an export holds that has its name: never half of one."""
    path = operator.home.path / "export.json"
    return everything(operator), path.exists() and len(path.read_bytes().splitlines()) > 1


def erase(operator: lamina.Operator) -> object:
    found = [one for one in operator.list(limit=100) if one.content == "memory before"]
    return operator.erase(*(one.id for one in found)) if found else operator.resume_erasures()


def erasures(operator: lamina.Operator) -> Any:
    operator.resume_erasures()
    return everything(operator), [len(one.records) for one in operator.erasures()]


def take_store(home: Path) -> None:
    database = home / "agents" / AGENT / "memory.db"
    database.rename(home / "aside")
    database.write_bytes(b"no database" * 1000)


def bring_store(home: Path) -> None:
    (home / "aside").replace(home / "agents" / AGENT / "memory.db")


def spooled(home: Path) -> None:
    """A memory that waits beside the store, which is well again."""
    take_store(home)
    with opened(PATHS["is kept in the fail-safe"], home, NOW) as operator:
        remember(operator)
    bring_store(home)


def sync_mirrors(operator: lamina.Operator) -> object:
    remember(operator)
    return operator.sync_mirrors()


def mirrored(operator: lamina.Operator) -> Any:
    operator.sync_mirrors()
    seen = everything(operator)
    assert all(found.ok for found in operator.verify_mirrors().values())
    return seen


def make_token(operator: lamina.Operator) -> object:
    access = Access(operator.home.path)
    return len(access.tokens()) > 1 or access.create(AGENT, None, NOW, name="second")


def tokens(operator: lamina.Operator) -> Any:
    return sorted(str(token.name) for token in Access(operator.home.path).tokens())


def lock_home(operator: lamina.Operator) -> None:
    operator_key.change(operator.home.path, KEY)


def locks(operator: lamina.Operator) -> Any:
    if operator_key.is_set(operator.home.path):
        operator_key.check(operator.home.path, KEY)
    return operator_key.is_set(operator.home.path)


def with_a_neighbour(operator: lamina.Operator) -> None:
    operator.remember("memory before", tags=["shared"])
    lamina.open("milton", home=operator.home.path).close()


def share(operator: lamina.Operator) -> object:
    return operator.grants() or operator.grant("milton", tag="shared", reason="asked")


def shares(operator: lamina.Operator) -> Any:
    return [(grant.agent, grant.tag) for grant in operator.grants()]


def set_tool(operator: lamina.Operator) -> object:
    return operator.world.set_tool({"name": "hammer", "description": "hits nails"})


def tools(operator: lamina.Operator) -> Any:
    return operator.world.sync() and operator.world.tools()


def make_older(home: Path) -> None:
    """The store as the version before this one had it."""
    folder = home / "agents" / AGENT
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    values, ana = config.load(home, None, {}), Actor(Role.OPERATOR, "ana", "test")
    with (
        closing(opening.opened(folder, AGENT, values, NOW, steps=STEPS[:-1])) as store,
        store.change(ana, "remember", NOW) as transaction,
    ):
        transaction.insert([Draft("memory before", Trust.OPERATOR)])


def index(operator: lamina.Operator) -> object:
    some_more = [f"memory number {n}" for n in range(4)]
    operator.remember_many({"content": text, "key": text} for text in some_more)
    return operator.index()


PATHS = {
    "makes the home": WritePath(remember, is_first=True),
    "remembers": WritePath(remember, elsewhere="test_syscalls"),
    "remembers and folds the log": WritePath(remember, settings={"store.checkpoint_pages": 1}, elsewhere="test_syscalls"),
    "remembers many": WritePath(remember_many),
    "keeps a conversation": WritePath(converse, elsewhere="test_index"),
    "ends a run": WritePath(end_runs, begin_run),
    "forgets": WritePath(forget_before),
    "undoes": WritePath(undo_forgetting, forgotten, elsewhere="test_reviews"),
    "corrects": WritePath(
        lambda o: o.correct(first(o, "memory before"), "memory corrected", "a slip"), elsewhere="test_reviews"
    ),
    "confirms": WritePath(lambda o: o.confirm(waiting(o)), proposed, elsewhere="test_reviews"),
    "rejects": WritePath(lambda o: o.reject(waiting(o), "no"), proposed, elsewhere="test_reviews"),
    "revokes": WritePath(lambda o: o.revoke("radio", "it lies"), proposed, elsewhere="test_reviews"),
    "proposes": WritePath(propose),
    "promotes and archives": WritePath(lambda o: o.run_once(), some, is_whole=False, elsewhere="test_lifecycle"),
    "prunes": WritePath(lambda o: o.prune(tags=["old"]), some, elsewhere="test_lifecycle"),
    "brings back": WritePath(bring_back, some_archived, is_whole=False, elsewhere="test_lifecycle"),
    "sleeps": WritePath(lambda o: o.sleep(), talked, is_whole=False, elsewhere="test_sleep"),
    "indexes": WritePath(index, is_whole=False, settings={"recall.embedders": ["wordllama"]}, elsewhere="test_index"),
    "imports an export": WritePath(import_ours, exported_elsewhere, is_whole=False),
    "imports lines": WritePath(import_lines, foreign_lines, is_whole=False),
    "comes to a new schema": WritePath(remember, take=make_older, is_whole=False),
    "exports": WritePath(write_export, view=exports),
    "backs up": WritePath(save, view=saves),
    "goes back to a backup": WritePath(go_back, saved, elsewhere="test_lifecycle"),
    "erases": WritePath(erase, view=erasures, elsewhere="test_erasure"),
    "is kept in the fail-safe": WritePath(
        remember,
        settings={"failsafe": "on", "store.retry_ms": 0},
        take=take_store,
        bring=bring_store,
        elsewhere="test_failsafe",
    ),
    "replays the fail-safe": WritePath(
        lambda o: o.replay_failsafe(), settings={"failsafe": "on"}, take=spooled, by_opening=True, elsewhere="test_failsafe"
    ),
    "mirrors in lines": WritePath(sync_mirrors, view=mirrored, settings={"mirrors.jsonl": "sky"}),
    "makes a token": WritePath(make_token, lambda o: Access(o.home.path).create(AGENT, None, NOW, name="first"), tokens),
    "locks the home": WritePath(lock_home, view=locks),
    "shares": WritePath(share, with_a_neighbour, shares),
    "sets a tool": WritePath(set_tool, view=tools, is_whole=False),
}
