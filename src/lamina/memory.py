"""The verbs that every surface calls. A handle has an authority, a scope and a clock; it translates nothing."""

from __future__ import annotations

import builtins
import getpass
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import platformdirs
from msgspec import structs

from lamina import clock as clocks
from lamina import config, rules, text
from lamina.clock import Clock
from lamina.errors import Conflict, Corrupt, InvalidInput, LaminaError, NotFound, Refused
from lamina.formats import ours
from lamina.home import Home, agent_name, shown, user_name
from lamina.model import Actor, Draft, Event, Hits, Layer, Record, Role, State
from lamina.recall import keyword
from lamina.runs import Run, ending
from lamina.store import backup, verify
from lamina.store.reads import Read
from lamina.store.records import Filter
from lamina.store.store import Store
from lamina.store.transaction import Transaction

RANKERS = ("keyword",)
Times = datetime | str | float | None


class Memory:
    """An agent's handle: it remembers, reads and proposes within its own agent and user."""

    def __init__(self, home: Home, store: Store, user: str | None, actor: Actor, clock: Clock, settings: config.Settings):
        self.home = home
        self.agent = store.agent
        self.user = user
        self.actor = actor
        self.settings = settings
        self._store = store
        self._clock = clock
        self._kinds: tuple[str, ...] = rules.KINDS + settings["kinds.extra"]
        self._draft = rules.Drafter(actor, user, self._kinds, settings["content.max_bytes"]).draft

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Write what is buffered and let go of every file."""
        self._store.close()

    def remember(
        self,
        content: str,
        kind: str | None = None,
        layer: str | None = None,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        evidence: Sequence[str] | None = None,
        source: str | None = None,
        speaker: str | None = None,
        session: str | None = None,
        at: Times = None,
        key: str | None = None,
        **more: Any,
    ) -> Record:
        """Store one memory; it is durable when this returns. The same key again returns the same record."""
        item = {
            "content": content,
            "kind": kind,
            "layer": layer,
            "tags": tags,
            "importance": importance,
            "metadata": metadata,
            "evidence": evidence,
            "source": source,
            "speaker": speaker,
            "session": session,
            "at": at,
            "key": key,
            **more,
        }
        return self._store_drafts([self._draft(item)])[0]

    def remember_short(
        self, content: str, tags: Sequence[str] | None = None, importance: float | None = None, **more: Any
    ) -> Record:
        """Store one short-term memory."""
        return self.remember(content, layer=Layer.SHORT_TERM, tags=tags, importance=importance, **more)

    def remember_many(self, items: Iterable[Mapping[str, Any]]) -> builtins.list[Record]:
        """Store many memories in one transaction: all of them, or none and an error that names the item."""
        drafts = []
        for index, item in enumerate(items):
            try:
                drafts.append(self._draft(item))
            except LaminaError as error:
                raise type(error)(f"item {index}: {error.message}", item=index, **error.details) from None
        return self._store_drafts(drafts)

    def get(self, record_id: str) -> Record:
        """The record with this id, whatever its state."""
        record = self._visible(record_id)
        self._audit("get", (record.id,))
        return record

    def list(
        self,
        layers: Collection[str] | None = None,
        states: Collection[str] | None = (State.ACTIVE,),
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        limit: int = 50,
    ) -> builtins.list[Record]:
        """Records, newest first. Working memory only when its layer is named; all states when `states` is None."""
        chosen = self._filter(layers, states, kinds, tags, since, until)
        found = self._store.listed(chosen, rules.limit(limit))
        self._audit("list", tuple(record.id for record in found))
        return found

    def search(
        self,
        query: str,
        limit: int = 10,
        layers: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        states: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        ranker: str = "keyword",
        run_id: str | None = None,
    ) -> Hits:
        """The best matches with the parts of their scores, or nothing at all: `limit` is an upper bound."""
        if ranker not in RANKERS:
            raise InvalidInput(f"unknown ranker {ranker!r}; known are {', '.join(RANKERS)}", known=[*RANKERS])
        asked, most = rules.query(query), rules.limit(limit)
        chosen = self._filter(layers, states or (State.ACTIVE,), kinds, tags, since, until, run_id)
        words = text.terms(asked)
        found = self._store.matches(text.match_any(words), chosen, keyword.pool(most)) if words else []
        hits = keyword.rank(found, self._clock(), most)
        self._audit("search", tuple(hit.record.id for hit in hits), query=asked)
        return hits

    def history(self, record_id: str) -> builtins.list[Event]:
        """Everything that ever happened to a record, oldest first."""
        record = self._visible(record_id)
        self._audit("history", (record.id,))
        return self._store.history(record.id)

    def run(self, task: str) -> Run:
        """Begin a run: a place for working memory that ends with the task."""
        draft = self._draft({"content": task, "layer": Layer.WORKING, "kind": "action"}, run_id="new")
        with self._store.change(self.actor, "run.open", self._clock()) as transaction:
            (opening,) = transaction.insert([structs.replace(draft, run_id=transaction.next_id())])
        return Run(self, opening)

    def runs(self) -> builtins.list[Run]:
        """Runs that were not closed, such as those of a process that died."""
        found = self._store.open_runs(self.user)
        self._audit("runs", tuple(record.id for record, _ in found))
        return [Run(self, record, number - 1) for record, number in found]

    def add_note(self, run_id: str, item: Mapping[str, Any]) -> Record:
        """Store a note in a run. `Run.note` is the way to call this."""
        return self._store_drafts([self._draft(item, run_id)], "run.note")[0]

    def close_run(self, run_id: str, task: str, summary: str | None, failure: BaseException | str | None) -> Record | None:
        """Set a run's notes aside and keep its ending, in one step. `Run.close` is the way to call this."""
        with self._store.change(self.actor, "run.close", self._clock()) as transaction:
            rows = [row for row in transaction.run(run_id) if self._in_scope(self._store.record(row))]
            if not rows:
                raise Refused(f"the run {task!r} is closed already")
            notes = [self._store.record(row) for row in rows]
            made = None
            if summary is not None or self.settings["runs.episodes"]:
                (made,) = transaction.insert([ending(task, notes, summary, failure, self._draft)])
            for row, note in zip(rows, notes, strict=True):
                rules.check_move(note.state, State.TOMBSTONED, self.actor.role)
                transaction.update(row, state=State.TOMBSTONED)
        return made

    def status(self) -> dict[str, Any]:
        """What is in the store, where its bytes are, and what needs attention."""
        head = self._store.head()
        problems = [self._store.reads.problem] if self._store.reads.problem else []
        return {
            "home": str(self.home.path),
            "agent": self.agent,
            "user": self.user,
            "store": self._store.id,
            "records": self._store.counts(self.user),
            "events": head.seq,
            "head": head.hash.hex(),
            "open_runs": len(self._store.open_runs(self.user)),
            "violations": self.home.count_violations(),
            "bytes": sizes(self._store.folder),
            "problems": problems,
        }

    def _store_drafts(self, drafts: Sequence[Draft], action: str = "remember") -> builtins.list[Record]:
        if not drafts:
            return []
        with self._store.change(self.actor, action, self._clock()) as transaction:
            for draft in drafts:
                if draft.key is not None:
                    return [self._insert_once(transaction, one) for one in drafts]
            return transaction.insert(drafts)

    def _insert_once(self, transaction: Transaction, draft: Draft) -> Record:
        existing = transaction.find_key(draft.key, draft.user) if draft.key is not None else None
        if existing is None:
            return transaction.insert([draft])[0]
        if existing.content != draft.content:
            raise Conflict(f"the key {shown(draft.key)} was used for another text, in record {existing.id}", record=existing.id)
        return existing

    def _visible(self, record_id: object) -> Record:
        """A record within this handle's scope. One outside it looks like one that does not exist, and is noted."""
        if isinstance(record_id, str):
            record = self._store.get(record_id)
            if record is not None and self._in_scope(record):
                return record
            if record is not None:
                self._violation("read another user's record", record_id)
            elif clocks.is_id(record_id) and clocks.tag_of(record_id) != clocks.agent_tag(self.agent):
                self._violation("read another agent's record", record_id)
        raise NotFound(f"there is no record {shown(record_id)}")

    def _in_scope(self, record: Record) -> bool:
        return self.user is None or record.user in (None, self.user)

    def _violation(self, attempt: str, value: object) -> None:
        self.home.log_violation(self._clock(), self.actor, attempt, value)

    def _filter(
        self,
        layers: Collection[str] | None,
        states: Collection[str] | None,
        kinds: Collection[str] | None,
        tags: Collection[str] | None,
        since: Times,
        until: Times,
        run_id: str | None = None,
    ) -> Filter:
        return Filter(
            self.user,
            tuple(rules.one_of(Layer, value, "layer") for value in several(layers, "layers")),
            tuple(rules.one_of(State, value, "state") for value in several(states, "states")),
            tuple(rules.kind(value, self._kinds) for value in several(kinds, "kinds")),
            rules.tags(several(tags, "tags")),
            None if since is None else clocks.moment(since, "since"),
            None if until is None else clocks.moment(until, "until"),
            run_id,
        )

    def _audit(self, action: str, found: tuple[str, ...], **note: Any) -> None:
        if self.user is not None:
            note["user"] = self.user
        self._store.reads.add(Read(self._clock(), self.actor, action, found, note))


class Operator(Memory):
    """A person's handle: everything an agent can do, and what only a person may."""

    def audit_log(self, limit: int = 50) -> builtins.list[Event]:
        """The newest changes first."""
        self._check_whole("audit log")
        return self._store.events(rules.limit(limit))

    def audit_reads(self, limit: int = 50) -> builtins.list[Read]:
        """The newest reads first, of this process and of every other that has written its own."""
        self._check_whole("audit log")
        return self._store.reads.latest(rules.limit(limit))

    def audit_head(self) -> dict[str, Any]:
        """What fixes the whole history as it is now. Keep it elsewhere, and `audit_verify` will notice a rewrite."""
        changes, reads = self._store.head(), self._store.reads.head()
        return {
            "agent": self.agent,
            "store": self._store.id,
            "events": {"seq": changes.seq, "hash": changes.hash.hex()},
            "reads": {"seq": reads.seq, "hash": reads.hash.hex()},
        }

    def audit_verify(
        self, head: Mapping[str, Any] | None = None, progress: verify.Progress | None = None
    ) -> dict[str, verify.Report]:
        """Check every row against the chain, and both chains against a head that was kept elsewhere."""
        expected = _expected_head(head, self._store.id)
        report = {"events": self._store.verify(expected.get("events"), progress)}
        report["reads"] = self._store.reads.verify(expected.get("reads"))
        return report

    def reindex(self) -> None:
        """Make the full-text index anew from the records."""
        self._store.reindex(self.actor, self._clock())

    def backup(self, to: Path | str | None = None) -> Path:
        """A complete, checked copy of the store as it is now."""
        self._check_whole("backup")
        self._store.reads.flush()
        return self._store.backup(self._clock(), None if to is None else Path(to).absolute())

    def restore(self, folder: Path | str, progress: verify.Progress | None = None) -> dict[str, Any]:
        """Replace the store by a backup of it. What it replaces is backed up first, and the trail says so."""
        self._check_whole("restore")
        return self._store.restore(Path(folder).absolute(), self.actor, self._clock(), progress)

    def export(
        self,
        path: Path | str | None = None,
        *,
        public: bool = False,
        force: bool = False,
        progress: verify.Progress | None = None,
    ) -> Path:
        """Write every record, in every state, with its events, as JSON that another program can read."""
        self._check_whole("export")
        target = Path(path).absolute() if path else self._store.folder / "exports" / f"{backup.stamp(self._clock())}.json"
        if not public and not force and path is not None:
            ours.refuse_work_tree(target)
        write = ours.write_public if public else ours.write
        number = write(self._store, target, progress, force=force)
        self._store.reads.add(Read(self._clock(), self.actor, "export", (), {"path": str(target), "records": number}))
        return target

    def import_(self, path: Path | str, trust: bool = False, progress: verify.Progress | None = None) -> dict[str, Any]:
        """Take in an export: everything into an empty store of the same agent, else record by record as `external`."""
        self._check_whole("import")
        source = Path(path).absolute()
        report = ours.read(self._store, source, self.actor, self._clock(), trust=trust, progress=progress)
        if report["mode"] == "restored":
            # The trail is the imported one to the byte, so this is said in the other trail.
            self._store.reads.add(Read(self._clock(), self.actor, "import", (), {"path": str(source), **report}))
        return report

    def _check_whole(self, verb: str) -> None:
        """Some verbs concern the whole store, which a handle for one user must not see."""
        if self.user is not None:
            raise Refused(f"{verb} concerns all users of {self.agent}; open the handle without a user")


def connect(
    role: Role,
    agent: str | None = None,
    user: str | None = None,
    home: Path | str | None = None,
    clock: Clock | None = None,
    actor: str | None = None,
    surface: str = "python",
    settings: Mapping[str, Any] | None = None,
    store_id: str | None = None,
) -> Memory:
    """Open a handle. Without arguments, `LAMINA_HOME`, `LAMINA_AGENT` and `LAMINA_USER` decide, then the defaults."""
    now = clocks.checked(clock or clocks.system_clock)
    place = Home(home_path(home))
    agent = agent if agent is not None else os.environ.get("LAMINA_AGENT") or "default"
    who = Actor(role, actor or (agent_label(agent) if role is Role.AGENT else local_user()), surface)
    scope = user_name(user if user is not None else os.environ.get("LAMINA_USER") or None)
    values = config.load(place.path, settings)
    try:
        folder = place.prepare(agent_name(agent))
        store = Store.open(folder, agent, values, now(), store_id=store_id)
    except (InvalidInput, Refused) as error:
        place.log_violation(now(), who, error.message, agent)
        raise
    make: Callable[..., Memory] = Operator if role is Role.OPERATOR else Memory
    return make(place, store, scope, who, now, values)


def home_path(given: Path | str | None = None) -> Path:
    """Where memories live: as given, as `LAMINA_HOME` says, or in the platform's folder for a user's data."""
    return Path(given or os.environ.get("LAMINA_HOME") or platformdirs.user_data_path("lamina"))


def agent_label(agent: object) -> str:
    return agent if isinstance(agent, str) and len(agent) <= 64 else "unknown"


def local_user() -> str:
    """The person at this machine, as far as the operating system knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this user id, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "operator"


def several(values: Collection[str] | None, name: str) -> tuple[Any, ...]:
    """A filter's values. A bare text is a mistake that would otherwise be taken letter by letter."""
    if values is None:
        return ()
    if isinstance(values, str) or not isinstance(values, Collection):
        raise InvalidInput(f"{name} {values!r} is not a list; write [{values!r}]")
    return tuple(values)


def sizes(folder: Path) -> dict[str, int]:
    """Bytes under an agent's folder by part: each file or folder at its top."""
    parts: dict[str, int] = {}
    for entry in sorted(folder.iterdir()):
        files = entry.rglob("*") if entry.is_dir() and not entry.is_symlink() else [entry]
        name = entry.name.removesuffix("-wal").removesuffix("-shm")
        parts[name] = parts.get(name, 0) + sum(_size(file) for file in files)
    return parts


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if not path.is_dir() else 0
    except FileNotFoundError:  # another process has just removed it
        return 0


def _expected_head(head: Mapping[str, Any] | None, store_id: str) -> Mapping[str, Any]:
    """An exported head, when it has the form of one and belongs to this store."""
    if head is None:
        return {}
    try:
        chains = {name: {"seq": int(head[name]["seq"]), "hash": str(head[name]["hash"])} for name in ("events", "reads")}
        origin = head["store"]
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("this is not a head as `lamina audit head` prints it") from None
    if origin != store_id:
        raise Corrupt(f"this head is of the store {shown(origin)}, but this store is {store_id}: it was exchanged")
    return chains
