"""What the matrix of docs/faults.md rests on: every verb and every command of the program, and the
write paths behind it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

import click

import lamina
from lamina.embedders import models
from lamina.home import operator_key, settings_file
from lamina.home.tokens import Tokens
from lamina.memory import migrate, opening
from lamina.memory.agent import Memory
from lamina.memory.browsing import Browsing
from lamina.memory.jobs import Orchestrator
from lamina.memory.operator import Operator
from lamina.memory.runs import Run
from lamina.memory.shared import Guest
from lamina.memory.world import WorldModel
from lamina.surfaces.adapters.langgraph import LaminaStore
from lamina.surfaces.adapters.openai_agents import LaminaSession
from lamina.surfaces.cli.main import cli, memory
from lamina.surfaces.hooks import Hooks

# Whose verbs are the program. Who may decide has all verbs of who may not.
OWNERS: tuple[type | ModuleType, ...] = (
    *(
        Operator,
        Run,
        Guest,
        Browsing,
        WorldModel,
        Hooks,
        Tokens,
        Orchestrator,
        LaminaStore,
        LaminaSession,
    ),
    *(operator_key, settings_file, migrate, models, opening),
)
# What is broken in other folders than this one, or is no part of a home.
SERVERS = "tests/servers"
CACHE = "a cache, made anew from the network"
# These begin with a store that cannot be opened, which the others need.
RESTORES = "tests/faults/test_restores.py"


def _asking(verb: str, *given: object) -> Callable[[Operator, str], object]:
    return lambda operator, record: getattr(operator, verb)(*given)


# The rows of the matrix, each with the write paths that it stands for.
ROWS: Mapping[str, tuple[str, ...]] = {
    "the first memory makes the home": ("makes the home",),
    "remember": ("remembers", "remembers and folds the log"),
    "remember many": ("remembers many",),
    "a conversation with its file": ("keeps a conversation",),
    "notes and the end of a run": ("takes notes", "ends a run"),
    "correct, undo, confirm, reject, roll back, revoke": (
        *("corrects", "undoes", "confirms", "confirms in a client", "confirms many", "rejects"),
        *("rolls back", "revokes"),
    ),
    "forget, lift": ("forgets", "lifts"),
    "propose: a value, a correction, to forget, to compact, to join": (
        *("proposes", "proposes a correction", "asks to forget"),
        *("proposes to compact", "proposes to join procedures", "proposes the end of a fact"),
    ),
    "set the profile, with its snapshot": ("sets the profile",),
    "promote, join, expire, compress, prune, rotate": (
        *("promotes and archives", "promotes one", "joins", "expires", "compresses", "prunes"),
        "rotates",
    ),
    "bring back from the archive": ("brings back",),
    "sleep": ("sleeps",),
    "learn what is important": ("learns",),
    "index, and make it anew": ("indexes", "makes the index anew"),
    "import: an export, lines of another system": (
        "imports an export",
        "imports lines",
        "imports lines, but not all",
    ),
    "export, backup": ("exports", "exports for others", "backs up"),
    "go back to a backup": ("goes back to a backup",),
    "go back over a damaged store, begin anew": (),
    "erase": ("erases",),
    "kept in the fail-safe, replayed": ("is kept in the fail-safe", "replays the fail-safe"),
    "a new schema": ("comes to a new schema",),
    "the audit of reads, where it is strict": ("reads strictly",),
    "the audit of what is refused": ("is refused",),
    "hooks, capture": (
        *("keeps what a hook hears", "notes the use of a tool", "captures messages"),
    ),
    "stores and sessions of frameworks": (
        "puts an item for LangGraph",
        "keeps a session of OpenAI",
    ),
    "jobs by the timetable": ("runs the jobs",),
    "mirror in JSONL, and anew": ("mirrors in lines", "makes mirrors anew"),
    "tokens, operator key, settings": (
        "makes a token",
        "revokes a token",
        "locks the home",
        "unlocks the home",
        "changes a setting",
    ),
    "grants": ("shares", "ends a grant", "ends all grants"),
    "tools and integrations": (
        *(
            "sets a tool",
            "sets tools",
            "sets an integration",
            "removes an integration",
            "takes in what was edited",
        ),
        *("proposes what was edited", "confirms what was edited"),
    ),
}

# Verbs that write, and by which paths.
WRITES: Mapping[str, tuple[str, ...]] = {
    "Operator.backup": ("backs up",),
    "Operator.catch_up": ("replays the fail-safe",),
    "Operator.close": ("indexes", "mirrors in lines", "reads strictly", "is refused"),
    "Operator.compact": ("proposes to compact",),
    "Operator.compress_short_to_long": ("compresses",),
    "Operator.batch": ("confirms many",),
    "Operator.confirm": ("confirms", "confirms in a client"),
    "Operator.correct": ("corrects",),
    "Operator.dedup": ("proposes to join procedures",),
    "Operator.end_grants_but": ("ends all grants",),
    "Operator.erase": ("erases",),
    "Operator.export": ("exports",),
    "Operator.export_as": ("exports for others",),
    "Operator.feedback": ("asks to forget", "proposes the end of a fact", "reads strictly"),
    "Operator.forget": ("forgets",),
    "Operator.grant": ("shares",),
    "Operator.import_": ("imports an export", "imports lines", "imports lines, but not all"),
    "Operator.index": ("indexes",),
    "Operator.learn": ("learns",),
    "Operator.lift": ("lifts",),
    "Operator.promote": ("promotes one",),
    "Operator.propose_correction": ("proposes a correction",),
    "Operator.propose_profile": ("proposes",),
    "Operator.prune": ("prunes",),
    "Operator.rebuild_mirrors": ("makes mirrors anew",),
    "Operator.reindex": ("makes the index anew",),
    "Operator.reject": ("rejects",),
    "Operator.remember": (
        "makes the home",
        "remembers",
        "remembers and folds the log",
        "is kept in the fail-safe",
    ),
    "Operator.remember_conversation": ("keeps a conversation",),
    "Operator.remember_many": ("remembers many",),
    "Operator.remember_short": ("remembers",),
    "Operator.remember_tool_use": ("notes the use of a tool",),
    "Operator.replay_failsafe": ("replays the fail-safe",),
    "Operator.request_forget": ("asks to forget",),
    "Operator.restore": ("goes back to a backup",),
    "Operator.restore_archived": ("brings back",),
    "Operator.resume_erasures": ("erases",),
    "Operator.revoke": ("revokes",),
    "Operator.revoke_grant": ("ends a grant",),
    "Operator.rollback": ("rolls back",),
    "Operator.run": ("takes notes",),
    "Operator.run_once": ("promotes and archives", "rotates", "joins", "expires"),
    "Operator.sleep": ("sleeps",),
    "Operator.sync_mirrors": ("mirrors in lines",),
    "Operator.undo": ("undoes",),
    "Operator.upsert_user_profile": ("sets the profile",),
    "Run.close": ("ends a run",),
    "Run.note": ("takes notes",),
    "Guest.close": ("reads strictly", "is refused"),
    "WorldModel.remove": ("removes an integration",),
    "WorldModel.set_integration": ("sets an integration",),
    "WorldModel.set_tool": ("sets a tool",),
    "WorldModel.set_tools": ("sets tools",),
    "WorldModel.sync": ("takes in what was edited",),
    "WorldModel.follow": ("confirms what was edited",),
    "WorldModel.write": ("proposes what was edited", "confirms what was edited"),
    "Hooks.after_message": ("keeps what a hook hears",),
    "Hooks.after_tool": ("notes the use of a tool",),
    "Hooks.close": ("keeps what a hook hears",),
    "Tokens.create": ("makes a token",),
    "Tokens.revoke": ("revokes a token",),
    "Orchestrator.run": ("runs the jobs",),
    "Orchestrator.tick": ("runs the jobs",),
    "LaminaStore.abatch": ("puts an item for LangGraph",),
    "LaminaStore.batch": ("puts an item for LangGraph",),
    "LaminaSession.add_items": ("keeps a session of OpenAI",),
    "LaminaSession.clear_session": ("forgets",),
    "LaminaSession.pop_item": ("forgets",),
    "operator_key.change": ("locks the home",),
    "operator_key.remove": ("unlocks the home",),
    "settings_file.change": ("changes a setting",),
    "migrate.move": (SERVERS,),
    "opening.begin_anew": (RESTORES,),
    "opening.refuse": ("is refused",),
    "opening.connect": ("makes the home", "comes to a new schema"),
    "opening.restore": (RESTORES,),
    "models.fetch": (CACHE,),
    "models.pull": (CACHE,),
}

# Verbs that leave the store and every file as they are, but for the audit of reads. `test_matrix`
# asks each of a store.
PLAIN = (
    *(
        "archives",
        "audit_head",
        "audit_log",
        "audit_reads",
        "audit_refusals",
        "audit_verify",
        "audit_violations",
        "erasures",
        "facts",
    ),
    *(
        "failsafe_status",
        "grants",
        "jobs",
        "list",
        "mirrors",
        "orchestrator",
        "pending",
        "plan_promotion",
        "projects",
    ),
    *(
        "proposals",
        "query_recent",
        "recap",
        "runs",
        "sharing",
        "status",
        "user_profile",
        "verify_mirrors",
    ),
)
READS: Mapping[str, Callable[[Operator, str], object]] = {
    **{verb: _asking(verb) for verb in PLAIN},
    **{
        verb: _asking(verb, "memory")
        for verb in (
            "context",
            "memory_context",
            "query_relevant",
            "recall_similar",
            "search",
            "search_archive",
        )
    },
    "compacted": lambda operator, record: operator.compacted("s1"),
    "contents": lambda operator, record: operator.contents([record]),
    "erasable": lambda operator, record: operator.erasable(record),
    "explain_importance": lambda operator, record: operator.explain_importance("memory"),
    "full_id": lambda operator, record: operator.full_id(record[-6:]),
    "get": lambda operator, record: operator.get(record),
    "history": lambda operator, record: operator.history(record),
    "prunable": lambda operator, record: operator.prunable(older_than_days=0),
    "resting_on": lambda operator, record: operator.resting_on(record),
    "lost_evidence": lambda operator, record: operator.lost_evidence(record),
    "revocable": lambda operator, record: operator.revocable("radio"),
    "shared": lambda operator, record: operator.shared("milton").list(),
    "timeline": lambda operator, record: operator.timeline("Ana"),
}
# The same of the others: they ask those above, or look into a file.
LOOKS = (
    "Run.search",
    *(
        f"Guest.{verb}"
        for verb in (
            "context",
            "full_id",
            "get",
            "list",
            "memory_context",
            "query_recent",
            "query_relevant",
            "recall_similar",
            "search",
        )
    ),
    *(
        f"Browsing.{verb}"
        for verb in (
            "archived",
            "browse",
            "conversations",
            "growth",
            "learned_from",
            "moves",
            "open_items",
            "replacements",
        )
    ),
    *(f"WorldModel.{verb}" for verb in ("edited", "integrations", "records", "tools")),
    *(f"Hooks.{verb}" for verb in ("before_message", "on_spawn", "on_start")),
    *(f"Tokens.{verb}" for verb in ("find", "tokens")),
    *(f"Orchestrator.{verb}" for verb in ("is_stopping", "is_waiting", "outlook", "pause")),
    *(
        "LaminaSession.get_items",
        "operator_key.check",
        "operator_key.is_set",
        "settings_file.put",
        "settings_file.take_out",
        "migrate.advice",
        "migrate.has_arrived",
    ),
    *("models.is_here", "models.listed"),
    *(
        "opening.agent_label",
        "opening.before_restore",
        "opening.chosen_agent",
        "opening.chosen_user",
        "opening.look",
    ),
    *("opening.home_path", "opening.local_user"),
)

# Commands of the program: the verbs that each may call, those that write at least.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "agents": (),
    "archive list": ("Operator.archives",),
    "archive restore": ("Operator.restore_archived",),
    "archive search": ("Operator.search_archive",),
    "audit head": ("Operator.audit_head",),
    "audit log": ("Operator.audit_log", "Operator.audit_reads", "Operator.audit_refusals"),
    "audit verify": ("Operator.audit_verify",),
    "audit violations": ("Operator.audit_violations",),
    "backup": ("Operator.backup",),
    "capture": ("Operator.remember",),
    "completion": (),
    "compress": ("Operator.compress_short_to_long",),
    "config": (),
    "config set": ("settings_file.change",),
    "config unset": ("settings_file.change",),
    "context": ("Operator.context",),
    "correct": ("Operator.correct",),
    "demo": (),
    "doctor": (),
    "erase": ("Operator.erase",),
    "erasures": ("Operator.erasures",),
    "export": ("Operator.export", "Operator.export_as"),
    "facts": ("Operator.facts",),
    "failsafe replay": ("Operator.replay_failsafe",),
    "failsafe status": ("Operator.failsafe_status",),
    "forget": ("Operator.forget",),
    "grant": ("Operator.grant",),
    "grants": ("Operator.grants",),
    "hook": ("Hooks.after_message", "Hooks.after_tool"),
    "import": ("Operator.import_",),
    "importance explain": ("Operator.explain_importance",),
    "importance learn": ("Operator.learn",),
    "index": ("Operator.index",),
    "init": ("settings_file.change",),
    "install": (),
    "inspect": ("Operator.get",),
    "key remove": ("operator_key.remove",),
    "key set": ("operator_key.change",),
    "key status": ("operator_key.is_set",),
    "list": ("Operator.list",),
    "mcp": (
        *("Operator.remember", "Operator.propose_profile", "Operator.request_forget"),
        "Operator.propose_correction",
    ),
    "migrate": ("migrate.move",),
    "mirror rebuild": ("Operator.rebuild_mirrors",),
    "mirror status": ("Operator.mirrors",),
    "mirror sync": ("Operator.sync_mirrors",),
    "mirror verify": ("Operator.verify_mirrors",),
    "model list": ("models.listed",),
    "model pull": ("models.pull",),
    "pending": ("Operator.pending",),
    "procedural dedup": ("Operator.dedup",),
    "profile propose": ("Operator.propose_profile",),
    "profile show": ("Operator.user_profile",),
    "project show": ("Operator.projects",),
    "promote": ("Operator.run_once", "Operator.promote"),
    "prune": ("Operator.prune",),
    "recap": ("Operator.recap",),
    "reindex": ("Operator.reindex",),
    "remember": ("Operator.remember",),
    "restore": (
        *("opening.restore", "opening.begin_anew"),
        *("Operator.restore", "Operator.end_grants_but"),
    ),
    "review": ("Operator.confirm", "Operator.reject", "Operator.correct"),
    "review confirm": ("Operator.confirm",),
    "review lift": ("Operator.lift",),
    "review list": ("Operator.proposals",),
    "review reject": ("Operator.reject",),
    "revoke": ("Operator.revoke",),
    "revoke-grant": ("Operator.revoke_grant",),
    "rollback": ("Operator.rollback",),
    "run": ("Orchestrator.run", "Orchestrator.tick"),
    "runs close": ("Run.close",),
    "runs list": ("Operator.runs",),
    "search": ("Operator.search",),
    "semantic compact": ("Operator.compact",),
    "serve": (
        "Tokens.create",
        "Operator.remember",
        "Operator.propose_profile",
        "Operator.request_forget",
    ),
    "shared": ("Operator.sharing",),
    "sleep": ("Operator.sleep",),
    "status": ("Operator.status",),
    "timeline": ("Operator.timeline",),
    "token create": ("Tokens.create",),
    "token list": ("Tokens.tokens",),
    "token revoke": ("Tokens.revoke",),
    "undo": ("Operator.undo",),
    "uninstall": (),
    "world integration set": ("WorldModel.set_integration",),
    "world list": ("WorldModel.records", "WorldModel.edited", "Operator.proposals"),
    "world remove": ("WorldModel.remove",),
    "world show": ("WorldModel.records",),
    "world sync": ("WorldModel.sync",),
    "world tool add": ("WorldModel.set_tool", "WorldModel.set_tools"),
}

# Tools for models.
TOOLS: Mapping[str, str] = {
    "remember": "Operator.remember",
    "search": "Operator.search",
    "recall_context": "Operator.context",
    "propose": "Operator.propose_profile",
    "request_forget": "Operator.request_forget",
    "status": "Operator.status",
    "get": "Operator.get",
    "recent": "Operator.query_recent",
    "facts": "Operator.facts",
    "timeline": "Operator.timeline",
    "pending": "Operator.pending",
    "correct": "Operator.propose_correction",
    **({"feedback": "Operator.feedback"} if hasattr(Operator, "feedback") else {}),
}

# Events of coding agents: what is told is read, what was said is kept.
EVENTS: Mapping[str, str] = {
    "session-start": "Hooks.on_start",
    "user-prompt": "Hooks.after_message",
    "stop": "Hooks.after_message",
    "subagent-start": "Hooks.on_spawn",
    "subagent-stop": "Hooks.after_message",
    "tool-use": "Hooks.after_tool",
    "pre-compact": "Hooks.close",
    "post-compact": "Operator.compacted",
    "notification": "Hooks.on_start",
    "session-end": "Hooks.close",
}


def verbs() -> Iterator[str]:
    """Every public verb of the program, with its owner."""
    assert issubclass(Operator, Memory)
    assert lamina.Operator is Operator
    for owner in OWNERS:
        name = owner.__name__.rpartition(".")[2]
        own = owner.__name__ if isinstance(owner, ModuleType) else None
        # A framework's own methods call those that we have written for it.
        inherited = (
            set(dir(owner.__mro__[1]))
            if name in ("LaminaStore", "LaminaSession") and isinstance(owner, type)
            else set()
        )
        for verb, function in inspect.getmembers(owner, inspect.isfunction):
            if verb.startswith("_") or (own is not None and function.__module__ != own):
                continue
            if verb not in inherited or verb in vars(owner):
                yield f"{name}.{verb}"


def commands(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command that can be called, by its words; those under `memory` are the same ones
    again."""
    if command is memory:
        return
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    if command.invoke_without_command and path:
        yield " ".join(path)
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*path, name))
