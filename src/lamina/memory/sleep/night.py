"""One night: facts, then preferences, summaries, workflows and importance from all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines import aging, profile, summary, tastes, workflows
from lamina.engines.aging import Adjusted
from lamina.engines.facts import ORIGIN
from lamina.engines.feedback import Served
from lamina.engines.review import REJECT
from lamina.engines.summary import Summary
from lamina.engines.tastes import Taste
from lamina.engines.workflows import Workflow
from lamina.errors import Interrupted, InvalidInput
from lamina.memory import profile_facts
from lamina.memory.feedback import LEARNED_FROM
from lamina.memory.sleep import comparison, reading
from lamina.memory.sleep.facts import ACTION, FactWriter, Progress
from lamina.memory.sleep.recaps import Recaps
from lamina.model import rules
from lamina.model.record import Draft, Layer, Record, Role, State
from lamina.store.core.transaction import EVERY, Transaction
from lamina.store.tables.records import Filter
from lamina.store.tables.sleep import Aging
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

# It quotes no fact, since a request is not erased together with a fact.
UNSUPPORTED = "the facts do not support it any more; `lamina profile show` says why"
Rejected = Callable[[Draft], str | None]


class Sleep:
    """Turn conversations into facts, preferences, summaries and workflows."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def run(
        self,
        dry_run: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
        model: str | None = None,
    ) -> dict[str, Any]:
        """Sleep one night, or with `dry_run` only plan it; `stop` is called between texts.

        With `model`, compare what that model would find with what the rules find.
        """
        self._scope.check_whole("sleep")
        rules.progress(progress)
        rules.stop(stop)
        if model is not None:
            return self._compare(model, dry_run)

        def check() -> None:
            if stop is not None and not dry_run and stop():
                raise Interrupted

        listener = reading.listener(self._scope.settings, self._scope.clock)
        night = Night(self._scope, FactWriter(self._scope, listener, check), check)
        if dry_run:
            return {**night.plan(), **listener.used, "notes": listener.notes}
        report = night.run(progress)
        if listener.has_model and not report.get("stopped"):
            report |= self._recaps(listener, check)
        report |= {**listener.used, "notes": listener.notes}
        self._scope.changed(report["turns"])
        if not report.get("stopped"):
            self._scope.parts.derived.settle()
        return report

    def _recaps(self, listener: reading.Listener, check: Callable[[], None]) -> dict[str, Any]:
        """Have the model sum up the last sessions."""
        try:
            return {"recaps": Recaps(self._scope, listener, check).write()}
        except Interrupted:
            return {"stopped": True}

    def _compare(self, model: str, dry_run: bool) -> dict[str, Any]:
        """Plan a night by rules; report for each fact whether rules, a model or both find it."""
        if not isinstance(model, str):
            raise InvalidInput(f"model {shown(model)} is not the name of a model")
        if not dry_run:
            raise InvalidInput("a model is named for a dry run; sleep uses that of sleep.model")
        alone = reading.model_alone(self._scope.settings, model, self._scope.clock)
        night = Night(self._scope, FactWriter(self._scope, reading.Listener()))
        plan = night.plan(beside=FactWriter(self._scope, alone))
        return {**plan, **alone.used, "notes": alone.notes}


class Night:
    """One night, for all users of a store.

    Each step is one transaction, and a second night finds nothing to do.
    """

    def __init__(
        self, scope: Scope, knowledge: FactWriter, check: Callable[[], None] = lambda: None
    ) -> None:
        """`check` is called between the steps; it raises Interrupted if the night should end."""
        self._scope = scope
        self._store = scope.store
        self._knowledge = knowledge
        self._check = check

    def run(self, progress: Progress | None = None) -> dict[str, Any]:
        """Read what is new and do the other steps; `stopped` if it ended early."""
        read = self._knowledge.consolidate(progress)
        steps = {
            "preferences": self._propose_tastes,
            "summaries": self._sum_up,
            "workflows": self._propose_workflows,
            "adjusted": self._adjust,
        }
        done: dict[str, Any] = {
            "turns": read.pop("turns", 0),
            "facts": dict(sorted(read.items())),
            **dict.fromkeys(steps, 0),
        }
        try:
            for name, step in steps.items():
                self._check()
                done[name] = self._apply(step)
        except Interrupted:
            done["stopped"] = True
        return {**done, "waiting": self._store.night.count_waiting()}

    def plan(self, beside: FactWriter | None = None) -> dict[str, Any]:
        """Report what a night would do, and why; preferences are based on the current facts.

        Its facts are compared with those that another reader, `beside`, finds.
        """
        with self._store.snapshot():
            rejected = self._store.rejections.of
            told = [one.to_dict() for one in self._knowledge.plan()]
            if beside is not None:
                told = comparison.compared(told, [one.to_dict() for one in beside.plan()])
            return {
                "facts": told,
                "preferences": [_told(one) for one in self._tastes(rejected)],
                "summaries": [
                    {"why": one.why, "content": one.content} for one in self._summaries()
                ],
                "workflows": [
                    {"why": one.why, "content": one.content} for one in self._workflows()
                ],
                "adjusted": [
                    {"why": one.why, "content": self._content(one.entry.id)} for one in self._aged()
                ],
                "waiting": self._store.night.count_waiting(),
            }

    def _apply(self, work: Callable[[Transaction], int]) -> int:
        with self._store.change(self._scope.actor, ACTION, self._scope.clock()) as transaction:
            return work(transaction)

    def _propose_tastes(self, transaction: Transaction) -> int:
        """Propose values of the profile; newer knowledge replaces our earlier proposals."""
        made = 0
        for taste in self._tastes(transaction.guard.rejected):
            is_change = taste.value is not None or taste.ends
            if is_change and not self._may_propose(transaction):
                break
            for former in taste.replaces:
                row = transaction.find(former)
                assert row is not None, "nobody else can write now"
                transaction.update(row, state=State.TOMBSTONED)
            if taste.value is not None:
                transaction.insert([self._of_taste(taste)])
            for record in map(self._store.get, taste.ends):
                assert record is not None, "nobody else can write now"
                self._scope.parts.proposals.ask_to_forget(transaction, record, UNSUPPORTED)
            made += bool(is_change)
        return made

    def _sum_up(self, transaction: Transaction) -> int:
        made = self._summaries()
        transaction.sum_up([turn for one in made for turn in one.evidence])
        return len(transaction.insert([self._of_summary(one) for one in made]))

    def _propose_workflows(self, transaction: Transaction) -> int:
        made = 0
        for workflow in self._workflows():
            draft = self._of_workflow(workflow)
            if transaction.guard.rejected(draft) is None and self._may_propose(transaction):
                transaction.insert([draft])
                made += 1
        return made

    def _adjust(self, transaction: Transaction) -> int:
        """Lower the importance of unwanted records, and raise that of wanted ones."""
        chosen = {one.entry.seq: one for one in self._aged()}
        rows = transaction.unchanged([(one.entry.seq, one.entry.event) for one in chosen.values()])
        for row in rows:
            transaction.update(row, importance=chosen[row[0]].importance)
        transaction.age(
            [(row[1], chosen[row[0]].entry.original, chosen[row[0]].importance) for row in rows]
        )
        return len(rows)

    def _aged(self) -> list[Adjusted]:
        now, parts = self._scope.clock(), self._scope.parts
        wanted, served = parts.importance.accesses(), parts.feedback.served(LEARNED_FROM)
        entries = [
            structs.replace(
                _aging(one, wanted.get(one.id)), ignored=served.get(one.id, Served()).ignored
            )
            for one in self._store.night.aging()
        ]
        return aging.plan((self._as_given(one.entry) for one in aging.plan(entries, now)), now)

    def _as_given(self, entry: aging.Usage) -> aging.Usage:
        """Mark an entry whose importance was stated: it differs from our own judgement."""
        record = self._store.get(entry.id)
        judged = (
            None if record is None else self._scope.parts.importance.judge(structs.asdict(record))
        )
        return structs.replace(entry, given=entry.original != judged)

    def _content(self, record_id: str) -> str:
        record = self._store.get(record_id)
        return "" if record is None else record.content

    def _may_propose(self, transaction: Transaction) -> bool:
        return self._scope.actor.role is Role.OPERATOR or transaction.guard.allowance() > 0

    def _tastes(self, rejected: Rejected) -> list[Taste]:
        known = profile_facts.facts_of_profiles(self._store, None)

        def is_rejected(user: str | None, key: str, value: str) -> bool:
            item = profile.item(key, value, ORIGIN, len(value) + rules.MAX_LABEL)
            made = structs.replace(
                self._scope.draft(item), layer=Layer.PROFILE, state=State.CONSTRAINED, user=user
            )
            return rejected(made) is not None

        active, waiting = (
            profile_facts.people(self._store, state) for state in (State.ACTIVE, State.CONSTRAINED)
        )
        planned = tastes.plan(known, active, waiting, is_rejected)
        by_id = {record.id: record for record in active}
        return [one for taste in planned if (one := self._undecided(taste, by_id)) is not None]

    def _undecided(self, taste: Taste, active: Mapping[str, Record]) -> Taste | None:
        """Drop what a person was already asked: a removal, or a list without a value."""
        if taste.value is not None:
            return None if taste.dropped and self._is_declined(taste) else taste
        proposals = self._scope.parts.proposals
        ends = tuple(one for one in taste.ends if not proposals.earlier_request(active[one]))
        return structs.replace(taste, ends=ends) if ends or taste.replaces else None

    def _is_declined(self, taste: Taste) -> bool:
        """Return whether a person rejected this value, which does not bar one in the profile."""
        place = Filter(taste.user, (Layer.PROFILE,), (State.TOMBSTONED,))
        return any(
            record.user == taste.user
            and profile.same_key(str(record.metadata.get("profile_key")), taste.key)
            and tastes.says_the_same(record.metadata.get("value"), taste.value)
            and self._store.history(record.id)[-1].action == REJECT
            for record in self._store.listed(place, EVERY)
        )

    def _summaries(self) -> list[Summary]:
        now = self._scope.clock()
        return summary.plan(*self._store.night.unsummarised(now), now)

    def _workflows(self) -> list[Workflow]:
        now = self._scope.clock()
        runs, notes = self._store.night.endings(now)
        known = self._store.listed(Filter(None, (Layer.PROCEDURAL,)), EVERY)
        return workflows.plan(runs, known, now, notes)

    def _of_taste(self, taste: Taste) -> Draft:
        count = len(taste.evidence)
        reason = f"said in {count:,} {'memory' if count == 1 else 'memories'}"
        if taste.dropped:
            reason = f"{reason}; without what the facts contradict"
        item = profile.item(
            taste.key, taste.value, reason, self._store.settings["content.max_bytes"], origin=ORIGIN
        )
        made = rules.in_layer(
            Layer.PROFILE, self._scope.draft({**item, "evidence": taste.evidence})
        )
        trust = rules.lowest_trust((made.trust, taste.trust))
        return structs.replace(made, state=State.CONSTRAINED, user=taste.user, trust=trust)

    def _of_summary(self, one: Summary) -> Draft:
        metadata = one.metadata
        item: dict[str, Any] = {
            "content": one.content,
            "kind": "insight",
            "layer": Layer.EPISODIC,
            "tags": one.tags,
            "metadata": metadata,
        }
        item |= {
            "evidence": one.evidence,
            "importance": one.importance,
            "at": one.occurred_at,
            "session": one.session,
            "project": one.project,
        }
        made = self._scope.draft(item)
        return structs.replace(
            made, user=one.user, trust=rules.lowest_trust((made.trust, one.trust))
        )

    def _of_workflow(self, one: Workflow) -> Draft:
        item: dict[str, Any] = {
            "content": one.content,
            "kind": "insight",
            "tags": one.tags,
            "metadata": one.metadata,
        }
        item |= {"evidence": one.evidence, "importance": one.importance, "at": one.occurred_at}
        made = rules.in_layer(Layer.PROCEDURAL, self._scope.draft(item))
        trust = rules.lowest_trust((made.trust, one.trust))
        return structs.replace(made, state=State.CONSTRAINED, user=one.user, trust=trust)


def _told(taste: Taste) -> dict[str, Any]:
    """Describe a proposal for the profile; without a value, it proposes a removal."""
    told = {"key": taste.key, "value": taste.value}
    return {**told, "why": _reasons(taste)} if taste.dropped else told


def _reasons(taste: Taste) -> str:
    """Explain what contradicts values of the profile."""
    return "; ".join(dict.fromkeys(one.why for one in taste.dropped))


def _aging(one: Aging, wanted: tuple[float, datetime] | None) -> aging.Usage:
    number, last = wanted or (0.0, None)
    return aging.Usage(
        one.id,
        one.seq,
        one.event,
        one.layer,
        one.importance,
        one.original,
        one.created_at,
        last,
        int(number),
    )
