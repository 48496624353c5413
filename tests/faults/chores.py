"""What is done around the memories in the fault tests: copies, jobs, files of others, and who may
do what."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import lamina
from lamina.formats.world import tool
from lamina.home import operator_key, settings, settings_file
from lamina.home.tokens import Tokens
from lamina.memory.jobs import ACTOR
from lamina.memory.opening import connect
from lamina.model.record import Role
from lamina.store.tables import jobs

from .deeds import AGENT, LATER, NOW, everything, folder_of, remember, some, talked

if TYPE_CHECKING:
    from lamina.surfaces.adapters.langgraph import LaminaStore
    from lamina.surfaces.adapters.openai_agents import LaminaSession

KEY = "a long operator key"
ITEM = (("people",), "ana")
FOR_JOBS = {"failsafe": "off", "recall.embedders": ["wordllama"], "mirrors.jsonl": "sky"}


def sync_mirrors(operator: lamina.Operator) -> object:
    remember(operator)
    return operator.sync_mirrors()


def mirrored(operator: lamina.Operator) -> Any:
    operator.sync_mirrors()
    seen = everything(operator)
    assert all(found.ok for found in operator.verify_mirrors().values())
    return seen


def with_a_token(operator: lamina.Operator) -> None:
    Tokens(operator.home.path).create(AGENT, None, NOW, name="first")


def make_token(operator: lamina.Operator) -> object:
    access = Tokens(operator.home.path)
    return len(access.tokens()) > 1 or access.create(AGENT, None, NOW, name="second")


def tokens(operator: lamina.Operator) -> Any:
    return sorted(str(token.name) for token in Tokens(operator.home.path).tokens())


def lock_home(operator: lamina.Operator) -> None:
    operator_key.change(operator.home.path, KEY)


def locks(operator: lamina.Operator) -> Any:
    if operator_key.is_set(operator.home.path):
        operator_key.check(operator.home.path, KEY)
    return operator_key.is_set(operator.home.path)


def change_setting(operator: lamina.Operator) -> None:
    settings_file.change(operator.home.path, {"sleep.sure": 80, "review.per_day": 50})


def written_settings(operator: lamina.Operator) -> Any:
    path = operator.home.path / settings.FILE_NAME
    return path.read_text() if path.exists() else None


def with_a_neighbour(operator: lamina.Operator) -> None:
    operator.remember("memory before", tags=["shared"])
    lamina.open("milton", home=operator.home.path).close()


def share(operator: lamina.Operator) -> object:
    return operator.grants() or operator.grant("milton", tag="shared", reason="asked")


def shares(operator: lamina.Operator) -> Any:
    return [(grant.agent, grant.tag) for grant in operator.grants()]


def set_tool(operator: lamina.Operator) -> object:
    return operator.world.set_tool({"name": "hammer", "description": "hits nails"})


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


def saved(operator: lamina.Operator) -> None:
    """A backup, and something that came after it."""
    operator.remember("memory before", key="before")
    operator.backup(folder_of(operator) / "backups" / "copy")
    operator.remember("memory after the copy")


def go_back(operator: lamina.Operator) -> object:
    return operator.restore(folder_of(operator) / "backups" / "copy")


def write_for_others(operator: lamina.Operator) -> object:
    to = operator.home.path / "export.jsonl"
    return None if to.exists() else operator.export_as("sky", to)


def for_others(operator: lamina.Operator) -> Any:
    path = operator.home.path / "export.jsonl"
    return everything(operator), path.exists() and json.loads(path.read_bytes())["content"]


def rebuild_mirrors(operator: lamina.Operator) -> object:
    return operator.rebuild_mirrors()


def furnished_for_jobs(operator: lamina.Operator) -> None:
    """Something for every job to do."""
    some(operator)
    talked(operator)


def run_jobs(operator: lamina.Operator) -> None:
    """Do what is due, as `lamina run --once` does. Where a job has failed or a lease was left
    behind, an hour passes first."""
    who: dict[str, Any] = {
        "actor": ACTOR.name,
        "surface": ACTOR.surface,
        "scoped": False,
        "settings": FOR_JOBS,
    }
    with connect(
        Role.SYSTEM, AGENT, None, operator.home.path, operator._scope.clock, **who
    ) as scheduler:
        with scheduler._scope.store.database.moment() as connection:
            known = jobs.states(connection)
        now = max([LATER, *(last.started_at for last in known.values())])
        ended = {name for name, last in known.items() if last.outcome is not None}
        has_failed = not all(
            last.outcome["ok"] for last in known.values() if last.outcome is not None
        )
        orchestrator = scheduler.orchestrator()
        orchestrator._clock = lambda: now + timedelta(hours=has_failed)
        ran = orchestrator.tick()
        assert has_failed or not ended & {one.job for one in ran}, "once in its tick"
        if not ran and orchestrator._due():
            orchestrator._clock = lambda: now + timedelta(hours=1)
            ran = orchestrator.tick()
    for one in ran:
        if not one.ok:
            raise lamina.StoreUnavailable(str(one.outcome["error"]))


def jobs_done(operator: lamina.Operator) -> Any:
    """The memories, and what became of each job. What is left where anybody may look is whole."""
    for path in operator.home.status.glob("*.json"):
        json.loads(path.read_bytes())
    return everything(operator), {job.job: job.outcome for job in operator.jobs() if job.last_run}


def revoke_token(operator: lamina.Operator) -> object:
    access = Tokens(operator.home.path)
    return [access.revoke(token.id) for token in access.tokens()]


def unlock_home(operator: lamina.Operator) -> object:
    return operator_key.remove(operator.home.path)


def shared(operator: lamina.Operator) -> None:
    with_a_neighbour(operator)
    share(operator)


def end_grant(operator: lamina.Operator) -> object:
    return [operator.revoke_grant(grant.number, "no more") for grant in operator.grants()]


def end_grants(operator: lamina.Operator) -> None:
    operator.end_grants_but([], "gone back")


def set_tools(operator: lamina.Operator) -> object:
    return operator.world.set_tools(
        [{"name": name, "description": "hits nails"} for name in ("hammer", "mallet")]
    )


def set_integration(operator: lamina.Operator) -> object:
    return operator.world.set_integration("mail", {"host": "example.org"})


def remove_integration(operator: lamina.Operator) -> None:
    operator.world.remove("integration", "mail")


def edited(operator: lamina.Operator) -> None:
    """A tool of ours, and what a person has made of its file."""
    set_tool(operator)
    path = folder_of(operator) / "world_model" / "tools.json"
    path.write_text(path.read_text().replace("hits nails", "hits thumbs"))


def sync_world(operator: lamina.Operator) -> object:
    return operator.world.sync()


def set_another_tool(operator: lamina.Operator) -> object:
    """A change that has nothing to do with what was edited."""
    return operator.world.set_tool({"name": "mallet", "description": "hits pegs"})


def confirm_edit(operator: lamina.Operator) -> object:
    (proposal,) = [
        one for one in operator.list(layers=["world"], states=None) if "thumbs" in one.content
    ]
    return operator.confirm(proposal.id)


def proposed_edit(operator: lamina.Operator) -> None:
    edited(operator)
    set_another_tool(operator)


def waiting_entries(operator: lamina.Operator) -> list[lamina.Record]:
    return operator.list(layers=["world"], states=["constrained"])


def kept(operator: lamina.Operator) -> Any:
    """What is so, and what somebody edited, be it that it waits or is still in the file alone."""
    waiting = {record.content for record in waiting_entries(operator)}
    return operator.world.tools(), waiting | {
        tool(edit.after)["content"] for edit in operator.world.edited().edits
    }


def tools(operator: lamina.Operator) -> Any:
    """The records alone: who brings them into line with the files has taken in what was edited."""
    return operator.world.tools()


def world(operator: lamina.Operator) -> Any:
    """Records and files, which are the same once they were brought into line."""
    operator.world.sync()
    folder = folder_of(operator) / "world_model"
    files = {
        path.name: json.loads(path.read_bytes())
        for path in folder.rglob("*.json")
        if not path.name.startswith(".")
    }
    return operator.world.tools(), operator.world.integrations(), files


def langgraph(operator: lamina.Operator) -> LaminaStore:
    """The memory as a store of LangGraph; who needs none does not load that."""
    from lamina.surfaces.adapters.langgraph import LaminaStore

    return LaminaStore(operator)


def openai(operator: lamina.Operator) -> LaminaSession:
    """The memory as a session of OpenAI's agents; who needs none does not load that."""
    from lamina.surfaces.adapters.openai_agents import LaminaSession

    return LaminaSession("one", operator)


def put_item(operator: lamina.Operator) -> None:
    """What an agent of LangGraph does with its store, once."""
    if items(operator) != {"memory": "new"}:
        langgraph(operator).put(*ITEM, {"memory": "new"})


def with_an_item(operator: lamina.Operator) -> None:
    langgraph(operator).put(*ITEM, {"memory": "old"})


def items(operator: lamina.Operator) -> Any:
    found = langgraph(operator).get(*ITEM)
    return found and found.value


def add_turns(operator: lamina.Operator) -> object:
    """What an agent of OpenAI does with its session, once."""
    return turns(operator) or asyncio.run(
        openai(operator).add_items([{"role": "user", "content": "memory"}] * 3)
    )


def turns(operator: lamina.Operator) -> Any:
    return asyncio.run(openai(operator).get_items())
