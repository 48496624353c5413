"""What is done with memories in the fault tests, what there is before it, and what is
looked at afterwards."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

import lamina
from lamina import Layer
from lamina.home import settings
from lamina.memory import importance as experience
from lamina.memory.profiles import FILE_NAME as PROFILE
from lamina.model.record import Actor, Draft, Record, Role, Trust
from lamina.store.tables import learned
from lamina.store.tables.migrations import STEPS
from lamina.store.upkeep import opening
from lamina.surfaces.hooks import capture as keeping
from lamina.surfaces.hooks import ntfy
from lamina.surfaces.mcp import asking
from lamina.surfaces.review.decisions import Verb

from .harness import in_words

AGENT = "sky"
# The clock of every process here: it stands still, so that what is made is always the same.
NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
LATER = datetime(2027, 6, 1, 8, 0, tzinfo=UTC)
TURNS = ["I live in Porto.", "I love tea.", "I work at Acme."]
FOREIGN = '{"ts": 1699999990, "type": "short", "content": "a note of Sky", "importance": 0.3}\n' * 2
# A line that is no memory in between.
SPOILED = FOREIGN.replace("\n", '\n{"content": \n', 1)
CALLS_OF_NTFY = "".join(
    f'{{"id": "m{n}", "event": "message", "time": 1750000000, "message": "memory of call {n}"}}\n'
    for n in range(3)
)
# What a record has of its own: who it is, and when it was written.
OWN = ("id", "seq", "agent", "created_at", "updated_at", "archived")

Step = Callable[[lamina.Operator], object]


def describe(record: Record, said: dict[str, str]) -> str:
    """A record as text, in which other records are what they say."""
    fields = {name: value for name, value in structs.asdict(record).items() if name not in OWN}
    return json.dumps(
        {**in_words(fields, said), "is archived": record.archived is not None},
        sort_keys=True,
        default=str,
    )


def everything(operator: lamina.Operator) -> Any:
    """All records and where they stand, without ids and the times of writing."""
    records = operator.list(layers=list(Layer), states=None, limit=10_000)
    records += operator.search_archive("memory", limit=1000)
    said = {record.id: record.content for record in records}
    return Counter(describe(record, said) for record in records)


def remember(operator: lamina.Operator) -> object:
    return operator.remember(
        "memory now", tags=["now"], evidence=["https://example.org/"], key="now"
    )


def remember_many(operator: lamina.Operator) -> object:
    return operator.remember_many(
        {"content": f"memory {n}", "tags": ["many"], "key": f"k{n}"} for n in range(20)
    )


def converse(operator: lamina.Operator) -> object:
    turns = [{"speaker": "Ana", "text": text} for text in TURNS]
    return operator.remember_conversation(turns, session="one", key="talk", keep_raw=True)


def take_notes(operator: lamina.Operator) -> object:
    """A run with two notes; who comes after a fault goes on with it."""
    run = next(iter(operator.runs()), None) or operator.run("task")
    said = [record.content for record in operator.list(layers=["working"])]
    return [run.note(text) for text in ("memory one", "memory two") if text not in said]


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


def promote_before(operator: lamina.Operator) -> object:
    return operator.promote(first(operator, "memory before"))


def forgotten(operator: lamina.Operator) -> None:
    operator.remember("memory before", key="before")
    forget_before(operator)


def undo_forgetting(operator: lamina.Operator) -> object:
    event = next(event for event in operator.audit_log(100) if event.action == "forget")
    return operator.undo(event.seq)


def correct(operator: lamina.Operator) -> object:
    return operator.correct(first(operator, "memory before"), "memory corrected", "a slip")


def propose(operator: lamina.Operator) -> object:
    return operator.propose_profile("drink", "tea", "said so", [first(operator, "memory before")])


def proposed(operator: lamina.Operator) -> object:
    operator.remember("memory before", source="radio")
    return propose(operator)


def rejected(operator: lamina.Operator) -> None:
    proposed(operator)
    operator.reject(waiting(operator), "no")


def proposed_twice(operator: lamina.Operator) -> None:
    """Two values that wait."""
    operator.remember("memory before")
    for key, value in (("drink", "tea"), ("city", "Porto")):
        operator.propose_profile(key, value, "said so", [first(operator, "memory before")])


def confirm_all(operator: lamina.Operator) -> None:
    """Confirm what still waits, with one snapshot of the profile at the end."""
    with operator.batch():
        for record in operator.list(layers=["profile"], states=["constrained"]):
            operator.confirm(record.id)


def lift(operator: lamina.Operator) -> object:
    (found,) = operator.list(layers=["profile"], states=["tombstoned"])
    return operator.lift(found.id, "it is so after all")


def lifted(operator: lamina.Operator) -> Any:
    """The records, and how often something was let in again."""
    return everything(operator), sum(event.action == "lift" for event in operator.audit_log(1000))


def believed_twice(operator: lamina.Operator) -> None:
    """A value of the profile in the place of another."""
    operator.remember("memory before")
    for drink in ("tea", "coffee"):
        operator.confirm(
            operator.propose_profile(
                "drink", drink, "said so", [first(operator, "memory before")]
            ).id
        )


def roll_back(operator: lamina.Operator) -> object:
    found = operator.list(layers=["profile"], states=None)
    return operator.rollback(
        next(one.id for one in found if one.metadata["value"] == "coffee"), "a slip"
    )


def upsert(operator: lamina.Operator) -> object:
    return operator.upsert_user_profile(
        {"drink": "tea", "city": "Porto"}, [first(operator, "memory before")]
    )


def profiles(operator: lamina.Operator) -> Any:
    """The records, and what the snapshot of the profile tells others."""
    path = folder_of(operator) / PROFILE
    return everything(operator), sorted(json.loads(path.read_bytes())) if path.exists() else None


def propose_correction(operator: lamina.Operator) -> object:
    wrong = first(operator, "memory before")
    return operator.propose_correction(wrong, "memory of another", "misheard")


def ask_to_forget(operator: lamina.Operator) -> object:
    return operator.request_forget(first(operator, "memory before"), "not wanted")


def one_fact(operator: lamina.Operator) -> None:
    contract = {"origin": "test", "topic_tags": []}
    operator.remember("Ana lives in Porto", layer="semantic", kind="fact", metadata=contract)


def call_outdated(operator: lamina.Operator) -> object:
    return operator.feedback(first(operator, "Ana lives"), "outdated")


def facts_twice(operator: lamina.Operator) -> None:
    contract = {"origin": "test", "topic_tags": ["boiler"]}
    for how in ("old", "loud"):
        operator.remember(
            f"memory that the boiler is {how}", layer="semantic", kind="fact", metadata=contract
        )


def steps_twice(operator: lamina.Operator) -> None:
    for text in ("Run make check, then push", "run  make check then push!"):
        operator.remember(
            text, layer="procedural", metadata={"workflow": "deploy", "canonical": False}
        )


def waiting(operator: lamina.Operator) -> str:
    found = operator.list(layers=["profile"], states=["constrained"])
    if not found:
        raise lamina.NotFound("nothing waits")
    return found[0].id


def answer_a_client(operator: lamina.Operator) -> None:
    """Confirm what a client of MCP has asked a person about."""
    proposal = waiting(operator)
    found = next(one for one in operator.proposals() if one.record.id == proposal)
    asked = asking.worded(operator, found)
    assert asked is not None
    done = asking.decide(operator, proposal, asked, {"decision": "confirm"})
    if done is not Verb.CONFIRM:  # as an error would say it
        raise lamina.StoreUnavailable(done)


def ruled(rules: str) -> Step:
    """Some memories that say nearly the same, and rules for them."""

    def furnish(operator: lamina.Operator) -> None:
        (operator.home.path / "retention_rules.yaml").write_text(rules)
        for n in range(8):
            content, importance = (
                (f"memory {n}", n % 4 / 10) if n % 4 else ("memory that says the same", 0.9)
            )
            more = {"kind": ("crumb", "preference")[n % 2], "key": f"key {n}"}
            operator.remember_short(content, ["old"] if n % 3 == 1 else [], importance, **more)

    return furnish


def much_decided(operator: lamina.Operator) -> None:
    """So much that was wanted or not that something can be learned of it."""
    wanted: list[str] = []
    for n in range(50):
        about = "weather" if n % 2 else "garden"
        made = operator.remember(f"memory of the {about}, number {n}", tags=[about], kind="crumb")
        operator.forget(made.id) if n % 2 else wanted.append(made.id)
    # What was read counts for half a year, and is learned from much later.
    options = {"failsafe": "off", "recall.embedders": ["none"]}
    with lamina.open(AGENT, home=operator.home.path, clock=lambda: LATER, settings=options) as mem:
        for record_id in wanted:
            mem.get(record_id)


def learnt(operator: lamina.Operator) -> Any:
    """The memories, and whether anything is learned."""
    return everything(operator), learned.load(
        operator._scope.store.database.reader(), experience.NAME
    ) is not None


def keep_message(operator: lamina.Operator) -> object:
    """What a hook does with a message and its reply."""
    return keeping.keep(operator, "memory of a message", "memory of a reply", "one", "hook-1")


def note_tool_use(operator: lamina.Operator) -> object:
    """What a hook does with the use of a tool."""
    use = {"command": "git commit", "output": "[main 3fa94c1] memory of a commit", "failed": False}
    return operator.remember_tool_use(use, "one")


def capture(operator: lamina.Operator) -> None:
    """What `lamina capture` does with the messages of ntfy."""
    counts, problems = ntfy.Counts(), list[str]()
    list(
        ntfy.store_messages(
            operator,
            io.BytesIO(CALLS_OF_NTFY.encode()),
            lambda line, why: problems.append(why),
            counts,
            Trust.EXTERNAL,
        )
    )
    assert not counts.bad, problems
    if counts.failed:
        raise lamina.StoreUnavailable(problems[0])


def read_strictly(operator: lamina.Operator) -> object:
    return reads_of(operator) or operator.get(first(operator, "memory before"))


def reads_of(operator: lamina.Operator) -> Any:
    return [read.action for read in operator.audit_reads(1000) if read.action == "get"]


def be_refused(operator: lamina.Operator) -> None:
    """An agent tries what only operators may. It is refused whatever the disk does; if that is not
    in the trail, the handle says so."""
    if refusals_of(operator):
        return
    options = {"failsafe": "off", "recall.embedders": ["none"]}
    with lamina.open(AGENT, home=operator.home.path, clock=lambda: LATER, settings=options) as mem:
        try:
            mem.remember("written into the profile", layer="profile")
        except lamina.Refused:
            if mem.problems:
                raise lamina.StoreUnavailable(mem.problems[0]) from None
            return
        raise AssertionError("the agent was not refused")


def refusals_of(operator: lamina.Operator) -> Any:
    return [(refusal.verb, refusal.count) for refusal in operator.audit_refusals(1000)]


def some(operator: lamina.Operator) -> None:
    for n in range(6):
        operator.remember_short(f"memory {n}", ["old"] if n % 2 else [], n / 6, key=f"key {n}")


def some_archived(operator: lamina.Operator) -> None:
    some(operator)
    operator.prune(tags=["old"])


def bring_back(operator: lamina.Operator) -> object:
    found = operator.search_archive("memory", limit=10)
    return operator.restore_archived(
        *(one.id for one in found if one.content in ("memory 1", "memory 3"))
    )


def talked(operator: lamina.Operator) -> object:
    turns = [
        {"speaker": "Ana", "text": text, "at": f"2026-05-0{n + 1}T08:00:00Z"}
        for n, text in enumerate(TURNS)
    ]
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


def spoiled_lines(operator: lamina.Operator) -> None:
    operator.remember("memory before", key="before")
    (operator.home.path / "incoming.jsonl").write_text(SPOILED)


def import_lines(operator: lamina.Operator) -> object:
    return operator.import_(operator.home.path / "incoming.jsonl", format="sky")


def folder_of(operator: lamina.Operator) -> Path:
    return operator.home.agent_folder(AGENT)


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


def make_older(home: Path) -> None:
    """The store as the version before this one had it."""
    folder = home / "agents" / AGENT
    shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    values, ana = settings.load(home, None, {}), Actor(Role.OPERATOR, "ana", "test")
    with (
        closing(opening.opened(folder, AGENT, values, NOW, steps=STEPS[:-1])) as store,
        store.change(ana, "remember", NOW) as transaction,
    ):
        transaction.insert([Draft("memory before", Trust.OPERATOR)])


def index(operator: lamina.Operator) -> object:
    some_more = [f"memory number {n}" for n in range(4)]
    operator.remember_many({"content": text, "key": text} for text in some_more)
    return operator.index()


def set_aside(operator: lamina.Operator) -> Any:
    """The memories, and the lines that are none."""
    path = operator.home.path / "incoming.jsonl.rejected"
    return everything(operator), path.exists() and path.read_text().splitlines()
