"""The profile and the projects: read them, set them with evidence, compress into them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from lamina.engines import compression, profile
from lamina.engines.compression import (
    ORIGIN,
    Decision,
    Plan,
    Shelf,
    Summaries,
    Summary,
    Target,
)
from lamina.engines.profile import ProjectMemory, UserProfile
from lamina.engines.tastes import Contradiction
from lamina.errors import InvalidInput, LaminaError
from lamina.home.folder import make_private_folder, refuse_link, write_private
from lamina.memory import profile_facts
from lamina.memory.scope import Part
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.record import Draft, Layer, Record, Role, State, Trust
from lamina.store.core.transaction import Transaction
from lamina.store.tables import records
from lamina.store.tables.records import Filter, Row
from lamina.text import words

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

FILE_NAME = "user_profile.json"
EVERY = 1 << 31
WIDTH = 200
Rejected = Callable[[Record | Draft], str | None]
Former = dict[tuple[str | None, Shelf, str], list[Record]]


class Profiles(Part):
    """What is known about people and projects. Without a user, what concerns no user."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self._snapshot_path = scope.resilient.path_of(FILE_NAME)

    def user_profile(self, project: str | None = None) -> UserProfile:
        """Return the profile of the user; without a user, the profile that belongs to no user.

        With a project, leave out what applies only to other projects.
        """
        chosen = [*profile.by_key(self._in_scope(self._people(State.ACTIVE))).values()]
        if project is not None:
            name = rules.label(project, "project")
            chosen = [record for record in chosen if profile.is_for(record, name)]
        self._scope.audit("user_profile", tuple(record.id for record in chosen))
        found = self.conflicts([*chosen])
        return structs.replace(
            profile.project_profile(chosen), conflicts=[one.to_dict() for one in found]
        )

    def conflicts(self, entries: Sequence[Record] | None = None) -> list[Contradiction]:
        """List what the profile says, here or in the given records, that the facts contradict."""
        if entries is None:
            entries = self._people(State.ACTIVE)
        return profile_facts.conflicts(self._store, entries, self._scope.user)

    def projects(self) -> list[ProjectMemory]:
        """Return the status of each project, by name."""
        chosen = profile.by_name(self._in_scope(self._projects(State.ACTIVE))).values()
        self._scope.audit("projects", tuple(record.id for record in chosen))
        return profile.project_memories(chosen)

    def upsert(self, patch: object, evidence_ids: object, *, replace: bool = False) -> UserProfile:
        """Set keys of the profile: at once for an operator, as proposals for others.

        Lists and facts about a person grow, unless `replace` says to drop the old values.
        """
        profile.patch_items(patch)  # an invalid patch is refused before the store is accessed
        evidence = _checked_ids(evidence_ids)
        with self._store.change(
            self._scope.actor, "profile.upsert", self._scope.clock()
        ) as transaction:
            active, waiting = self._people(State.ACTIVE), self._waiting_here()
            known = profile.by_key(self._in_scope(active))
            summaries = Summaries(known.values(), waiting)
            former = self._former()
            taken = {key: record.metadata.get("value") for key, record in known.items()}
            for key, value in profile.patch_items(patch, taken):
                made = self._given(transaction, key, value, evidence)
                if not replace and profile.grows(key):
                    made = self._grown(made, self._bases(summaries, made))
                slot = self._scope.user, Shelf.PROFILE, words.normalise(key)
                proposed = [one for one in waiting if _has_key(one, key)]
                self._set(transaction, made, former.get(slot, []), proposed)
        return self.user_profile()

    def compress(self, cutoff_hours: float = 48, dry_run: bool = False) -> dict[str, Any]:
        """Sum up short-term memories older than `cutoff_hours`, and archive them.

        All summaries are written in one transaction before any memory is archived. A crash in
        between is harmless: the next call only archives what is already evidence of a summary.
        """
        hours, now = _checked_hours(cutoff_hours), self._scope.clock()
        if dry_run:
            with self._store.snapshot():
                plans = self._plans(
                    now, hours, self._store.rejections.of, self._store.rejections.allowance(now)
                )
                decisions = [
                    self._explained(one) for plan in plans.values() for one in plan.decisions
                ]
            self._scope.audit(
                "compress", tuple(one["id"] for one in decisions if one["content"] is not None)
            )
            return {**_report(plans.values()), "decisions": decisions}
        with self._store.change(self._scope.actor, "compress", now) as transaction:
            plans, former = (
                self._plans(now, hours, transaction.guard.rejected, transaction.guard.allowance()),
                self._former(),
            )
            for user, plan in plans.items():
                self._apply(transaction, user, plan, former)
        done = [record_id for plan in plans.values() for record_id in plan.compressed]
        if done:
            self._scope.parts.lifecycle.archive(done, "compress", "compressed")
        return _report(plans.values())

    def write_snapshot(self) -> str | None:
        """Write the profile without a user to `user_profile.json`; return the problem, if any."""
        path = self._snapshot_path
        try:
            refuse_link(path.parent)
            refuse_link(path)
            if _content(path) == self._snapshot():
                return None
            # Processes write one after another, each the state of its own time.
            with self._store.change(self._scope.actor, "snapshot", self._scope.clock()):
                make_private_folder(path.parent)
                write_private(path, self._snapshot())
        except LaminaError as error:
            return error.message
        return None

    @property
    def _may_confirm(self) -> bool:
        return self._scope.actor.role is Role.OPERATOR

    def _given(
        self, transaction: Transaction, key: str, value: Any, evidence: tuple[str, ...]
    ) -> Draft:
        """Draft a given value of the profile, trusted no more than its evidence."""
        reason = f"given by {self._scope.actor}"
        made = structs.replace(
            self._of_profile(key, value, reason, {"evidence": evidence}),
            user=self._scope.user,
            state=State.ACTIVE if self._may_confirm else State.CONSTRAINED,
        )
        transaction.check_evidence(made, self._scope.note_crossing)
        return made if self._may_confirm else transaction.derived(made)

    def _bases(self, summaries: Summaries, made: Draft) -> list[Summary]:
        """List what a draft of the profile adds to; for a proposal, also the waiting ones."""
        return summaries.bases(
            Shelf.PROFILE,
            words.normalise(made.metadata["profile_key"]),
            constrained=not self._may_confirm,
            external=made.trust is Trust.EXTERNAL,
        )

    def _grown(self, made: Draft, bases: Sequence[Summary]) -> Draft:
        """Add a draft to what is known under its key, merging evidence and trust."""
        key, given = made.metadata["profile_key"], made.metadata["value"]
        value = profile.grown(key, [base.value for base in bases], given)
        kept = [base for base in bases if profile.still_says(key, value, base.value)]
        if not kept:
            return made
        evidence = [source for base in kept for source in base.evidence] + [*made.evidence]
        drafted = self._of_profile(key, value, made.metadata["reason"], {})
        return structs.replace(
            made,
            content=drafted.content,
            metadata=drafted.metadata,
            evidence=tuple(dict.fromkeys(evidence))[-compression.MOST_EVIDENCE :],
            trust=rules.lowest_trust((made.trust, *(base.trust for base in kept))),
        )

    def _waiting_here(self) -> list[Record]:
        waiting = self._people(State.CONSTRAINED)
        return [record for record in waiting if record.user == self._scope.user]

    def _people(self, state: State) -> list[Record]:
        return self._store.listed(Filter(self._scope.user, (Layer.PROFILE,), (state,)), EVERY)

    def _projects(self, state: State) -> list[Record]:
        chosen = Filter(
            self._scope.user,
            (Layer.SEMANTIC,),
            (state,),
            ("project",),
            metadata=(("origin", ORIGIN),),
        )
        return self._store.listed(chosen, EVERY)

    def _in_scope(self, records: Sequence[Record]) -> list[Record]:
        return [record for record in records if record.user in (None, self._scope.user)]

    def _snapshot(self) -> bytes:
        return _written(
            profile.project_profile(one for one in self._people(State.ACTIVE) if one.user is None)
        )

    def _plans(
        self, now: datetime, hours: float, rejected: Rejected, allowance: int
    ) -> dict[str | None, Plan]:
        """Plan for each user with short-term memories; a user's handle plans for that user only.

        `rejected` knows the values to keep out, `allowance` the number of proposals left today.
        """
        if self._may_confirm:
            allowance = EVERY
        stay: dict[str | None, list[Decision]] = {}
        items: dict[str | None, list[Record]] = {}
        with self._store.read() as db:
            entries = records.short_term(db, self._scope.user)
        for entry in entries:
            if self._scope.user in (None, entry.user):
                left = compression.staying(
                    entry.id, entry.kind, entry.tags, entry.since, now, hours
                )
                if left is not None:  # mostly so, and then its text is not needed
                    stay.setdefault(entry.user, []).append(left)
                elif (record := self._store.get(entry.id)) is not None:
                    items.setdefault(entry.user, []).append(record)
        active = [*self._people(State.ACTIVE), *self._projects(State.ACTIVE)]
        waiting = [*self._people(State.CONSTRAINED), *self._projects(State.CONSTRAINED)]
        plans: dict[str | None, Plan] = {}
        for user in sorted({*items, *stay}, key=lambda user: user or ""):
            own = [record for record in active if record.user in (None, user)]
            proposed = [
                record for record in waiting if record.user == user and rejected(record) is None
            ]
            plan = compression.plan(
                items.get(user, []),
                own,
                proposed,
                now,
                hours,
                may_confirm=self._may_confirm,
                is_rejected=_rejecting(rejected, user),
                most_proposals=allowance,
            )
            allowance -= sum(summary.constrained for summary in plan.summaries)
            plans[user] = structs.replace(plan, decisions=(*plan.decisions, *stay.get(user, [])))
        return plans

    def _explained(self, decision: Decision) -> dict[str, Any]:
        """Describe a decision for people."""
        told = {
            "id": decision.record,
            "what": decision.fate.value,
            "target": decision.target,
            "rule": decision.rule,
        }
        record = self._store.get(decision.record) if decision.target is not None else None
        return {**told, "content": words.one_line(record.content, WIDTH) if record else None}

    def _apply(
        self, transaction: Transaction, user: str | None, plan: Plan, former: Former
    ) -> None:
        for joined in plan.joined:
            row = transaction.find(joined.record.id)
            assert row is not None, "nobody else can write now"
            transaction.update(
                row,
                evidence=tuple(
                    dict.fromkeys((*self._store.record(row).evidence, *joined.evidence))
                ),
            )
        for summary in plan.summaries:
            made = structs.replace(self._drafted(summary), user=user, trust=summary.trust)
            transaction.check_evidence(made, self._scope.note_crossing)
            if summary.constrained:
                transaction.insert([structs.replace(made, state=State.CONSTRAINED)])
            else:
                replaced = former.get((user, summary.shelf, words.normalise(summary.key)), [])
                transaction.replace(_rows(transaction, replaced), made)

    def _former(self) -> Former:
        """Map user, shelf and key to the active records that new ones would replace."""
        found: Former = {}
        for record in self._people(State.ACTIVE):
            key = words.normalise(str(record.metadata.get("profile_key")))
            found.setdefault((record.user, Shelf.PROFILE, key), []).append(record)
        for record in self._projects(State.ACTIVE):
            name = words.normalise(profile.project_name(record) or "")
            found.setdefault((record.user, Shelf.PROJECT, name), []).append(record)
        return found

    def _set(
        self,
        transaction: Transaction,
        made: Draft,
        active: Sequence[Record],
        waiting: Sequence[Record],
    ) -> None:
        """Store a value of the profile, unless it exists with the same evidence or is in review."""
        value = made.metadata["value"]
        if not self._may_confirm:
            if not any(
                profile.same_value(one.metadata.get("value"), value) for one in (*active, *waiting)
            ):
                transaction.insert([made])
            return
        same = [one for one in active if profile.same_value(one.metadata.get("value"), value)]
        if not any(
            one.trust is made.trust and set(made.evidence) <= set(one.evidence) for one in same
        ):
            transaction.replace(_rows(transaction, active), made)

    def _drafted(self, summary: Summary) -> Draft:
        """Draft the record of a summary."""
        number = len(summary.evidence)
        reason = f"compressed from {number:,} {'memory' if number == 1 else 'memories'}"
        more = {
            "evidence": summary.evidence,
            "importance": summary.importance,
            "at": summary.occurred_at,
        }
        if summary.shelf is Shelf.PROFILE:
            return self._of_profile(summary.key, summary.value, reason, more, origin=ORIGIN)
        tag = f"{compression.PROJECT_TAG}{summary.key}"
        metadata = {
            "origin": ORIGIN,
            "topic_tags": [tag],
            "reason": reason,
            "project": {"project_name": summary.key, **summary.value},
        }
        content = (
            profile.content_of_project(summary.key, summary.value)
            .encode()[: self._scope.settings["content.max_bytes"]]
            .decode(errors="ignore")
        )
        item = {"content": content, "kind": "project", "tags": [tag], "metadata": metadata, **more}
        return rules.in_layer(Layer.SEMANTIC, self._scope.draft(item))

    def _of_profile(
        self, key: str, value: Any, reason: str, given: dict[str, Any], **metadata: Any
    ) -> Draft:
        item = profile.item(
            key, value, reason, self._scope.settings["content.max_bytes"], **metadata
        )
        return rules.in_layer(Layer.PROFILE, self._scope.draft({**item, **given}))


def _rejecting(rejected: Rejected, user: str | None) -> Callable[[Target], bool]:
    return lambda target: rejected(_standing_for(target, user)) is not None


def _standing_for(target: Target, user: str | None) -> Draft:
    """Make a memory that says only one line of a summary."""
    said: dict[str, Any] = {"profile_key": target.key, "value": target.value}
    layer = Layer.PROFILE
    if target.shelf is Shelf.PROJECT:
        layer, said = (
            Layer.SEMANTIC,
            {"project": {"project_name": target.key, "lines": [target.value]}},
        )
    return Draft("", Trust.AGENT, layer=layer, metadata=said, user=user)


def _rows(transaction: Transaction, records: Sequence[Record]) -> list[Row]:
    return [row for record in records if (row := transaction.find(record.id)) is not None]


def _has_key(record: Record, key: str) -> bool:
    return profile.same_key(str(record.metadata.get("profile_key")), key)


def _checked_ids(values: object) -> tuple[str, ...]:
    """Check ids of records; at least one is required, since the profile needs evidence."""
    ids = rules.evidence(() if values is None else values)
    if not ids:
        raise InvalidInput(
            "evidence_ids is empty: a profile needs at least one record that supports it"
        )
    others = [item for item in ids if not clocks.is_id(item)]
    if others:
        raise InvalidInput(
            f"evidence_ids holds {words.shown(others[0])}, which is not the id of a record"
        )
    return ids


def _checked_hours(value: object) -> float:
    given = rules.number(value, "cutoff_hours")
    if not 0 <= given <= rules.MAX_HOURS:
        raise InvalidInput(
            f"cutoff_hours {words.shown(value)} is not between 0 and {rules.MAX_HOURS:,}"
        )
    return given


def _written(told: UserProfile) -> bytes:
    """Encode the profile without its conflicts: these change with the facts, a file does not."""
    fields = {name: value for name, value in told.to_dict().items() if name != "conflicts"}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


def _content(path: Path) -> bytes | None:
    """Read a file; None if it is missing or unreadable, and must be rewritten."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return _written(UserProfile())
    except OSError:
        return None


def _report(plans: Collection[Plan]) -> dict[str, Any]:
    written = [summary for plan in plans for summary in plan.summaries]
    waiting = sum(summary.constrained for summary in written)
    report: dict[str, Any] = {
        "compressed": sum(len(plan.compressed) for plan in plans),
        "profile": sorted({summary.key for summary in written if summary.shelf is Shelf.PROFILE}),
        "projects": sorted({summary.key for summary in written if summary.shelf is Shelf.PROJECT}),
        "left": sum(len(plan.left) for plan in plans),
    }
    return {**report, "waiting": waiting} if waiting else report
