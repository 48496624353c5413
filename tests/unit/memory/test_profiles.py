"""People and projects: what is known about them has evidence, and comes from where it may."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import InvalidInput, LaminaError, NotFound, StoreUnavailable
from lamina.memory.profiles import FILE_NAME, Profiles
from lamina.memory.scope import Scope
from lamina.model.record import Actor, Layer, Record, Role, State, Trust
from tests.cases import every
from tests.conftest import Desk, Ticking, move, size, verified

OLD = timedelta(hours=49)


def profiles(handle: Memory, actor: Actor | None = None, archive: Any = None) -> Profiles:
    """Make the profiles of a handle, for another actor or with another archive."""
    own = handle._scope
    actor = actor or own.actor
    scope = Scope(own.home, own.resilient, own.user, actor, own.clock, own.settings)
    if archive is not None:
        lifecycle: Any = scope.parts.lifecycle
        lifecycle.archive = lambda ids, action, why: archive(ids, why)
    return Profiles(scope)


def waiting(handle: Memory) -> list[Record]:
    return handle.list(states=["constrained"])


def short(handle: Memory) -> list[str]:
    return sorted(record.content for record in handle.list(layers=["short_term"]))


def filled(handle: Memory) -> dict[str, Record]:
    """Memories of every sort that compression knows, and one that it leaves."""
    items: list[dict[str, Any]] = [
        {"content": "Ana lives in Oslo", "kind": "fact"},
        {"content": "We take the train", "kind": "decision"},
        {"content": "Prefers tea", "kind": "preference"},
        {"content": "07:00", "kind": "preference", "metadata": {"profile_key": "schedule.wake_up"}},
        {"content": "that she drinks coffee", "kind": "fact", "tags": ["do_not_assume"]},
        {"content": "grow tomatoes", "kind": "project", "tags": ["project:garden"]},
        {"content": "no water", "kind": "fact", "tags": ["project:garden", "blocker"]},
        {"content": "hello", "kind": "crumb"},
    ]
    return {record.content: record for record in handle.remember_many(items)}


# Compression


def test_compression_as_the_document_has_it(op: Operator, clock: Ticking) -> None:
    """L9, R10: old items become the profile and projects with evidence, they leave short-term
    memory, and the rest stays."""
    made = filled(op)
    clock.jump(OLD)
    found = profiles(op)
    assert found.compress() == {
        "compressed": 7,
        "profile": ["do_not_assume", "prefers-tea", "schedule.wake_up", "stable_facts"],
        "projects": ["garden"],
        "left": 1,
    }
    known = found.user_profile()
    assert known.stable_facts == ["Ana lives in Oslo", "We take the train"]
    assert (known.preferences, known.schedule) == (
        {"prefers-tea": "Prefers tea"},
        {"wake_up": "07:00"},
    )
    assert known.do_not_assume == ["that she drinks coffee"]
    (garden,) = found.projects()
    assert (garden.project_name, garden.goals, garden.blockers) == (
        "garden",
        ["grow tomatoes"],
        ["no water"],
    )
    assert garden.evidence_ids == [made["grow tomatoes"].id, made["no water"].id]
    assert short(op) == ["hello"]
    assert verified(op)


def test_evidence_always_resolves(op: Operator, clock: Ticking) -> None:
    """L9, P1: what was compressed is found in the archive by the ids that the summaries name, word
    for word."""
    made = filled(op)
    clock.jump(OLD)
    found = profiles(op)
    found.compress()
    ids = [*found.user_profile().evidence_ids, *found.projects()[0].evidence_ids]
    assert sorted(op.get(record_id).content for record_id in ids) == sorted(set(made) - {"hello"})
    assert all(op.get(record_id).archived for record_id in ids)


def test_summaries_keep_the_contracts(op: Operator, clock: Ticking) -> None:
    """R7, L9: profile and project records have what their layers promise, a text that is found, and
    say what made them."""
    filled(op)
    clock.jump(OLD)
    profiles(op).compress()
    wake = op.search("wake_up")[0].record
    assert (wake.layer, wake.kind, wake.content) == (
        Layer.PROFILE,
        "preference",
        "schedule.wake_up: 07:00",
    )
    assert wake.metadata == {
        "profile_key": "schedule.wake_up",
        "value": "07:00",
        "reason": "compressed from 1 memory",
        "origin": "compression",
    }
    (garden,) = op.list(layers=["semantic"])
    assert (garden.kind, garden.tags) == ("project", ("project:garden",))
    assert garden.content == "Project garden. Goals: grow tomatoes. Blockers: no water."
    assert garden.metadata["origin"] == "compression"
    assert garden.metadata["topic_tags"] == ["project:garden"]
    assert garden.metadata["reason"] == "compressed from 2 memories"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AGENT])
def test_again_changes_nothing(desk: Desk, clock: Ticking, role: Role) -> None:
    """L9: a second compression finds nothing to do, and leaves no trace in the store."""
    handle = desk.open(role)
    filled(handle)
    clock.jump(OLD)
    found = profiles(handle)
    found.compress()
    before = size(handle), found.user_profile(), found.projects()
    assert found.compress() == {"compressed": 0, "profile": [], "projects": [], "left": 1}
    assert (size(handle), found.user_profile(), found.projects()) == before


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AGENT])
def test_a_crash_before_the_archive_is_harmless(desk: Desk, clock: Ticking, role: Role) -> None:
    """L9, S5: when a process dies between the summaries and the archive, the next call archives and
    writes nothing twice."""
    handle = desk.open(role)
    filled(handle)
    clock.jump(OLD)

    def dies(ids: Sequence[str], why: str) -> None:
        raise StoreUnavailable("the power is gone")

    with pytest.raises(StoreUnavailable):
        profiles(handle, archive=dies).compress()
    assert len(short(handle)) == 8
    found = profiles(handle)
    before = found.user_profile(), found.projects(), len(waiting(handle))
    assert found.compress() == {"compressed": 7, "profile": [], "projects": [], "left": 1}
    assert (found.user_profile(), found.projects(), len(waiting(handle))) == before
    assert short(handle) == ["hello"]


def test_two_at_once_write_nothing_twice(desk: Desk, clock: Ticking) -> None:
    """L9: when two handles compress the same memories, the second finds them summed up, and both
    end well."""
    one, other = desk.operator(), desk.operator()
    filled(one)
    clock.jump(OLD)
    reports = []
    profiles(one, archive=lambda ids, why: reports.append(profiles(other).compress())).compress()
    assert reports == [{"compressed": 7, "profile": [], "projects": [], "left": 1}]
    assert len(one.list(layers=["profile", "semantic"], states=None)) == 5
    assert short(one) == ["hello"]


def test_a_crash_of_an_agent_is_finished_by_an_operator(desk: Desk, clock: Ticking) -> None:
    """V1, L9: what waits for review waits on, whoever archives its sources."""
    mem, op = desk.agent(), desk.operator()
    filled(mem)
    clock.jump(OLD)
    profiles(mem, archive=lambda ids, why: None).compress()
    proposals = waiting(op)
    assert profiles(op).compress()["compressed"] == 7
    assert waiting(op) == proposals
    assert profiles(op).user_profile().stable_facts == []


def test_new_facts_join_the_old(op: Operator, clock: Ticking) -> None:
    """L9, P1, R3: a later compression replaces the record of a list by one that says more,
    with all evidence."""
    first = op.remember("lives in Oslo", kind="fact")
    clock.jump(OLD)
    found = profiles(op)
    found.compress()
    second = op.remember("has a dog", kind="fact")
    same = op.remember("Lives in OSLO", kind="fact")
    clock.jump(OLD)
    found.compress()
    assert found.user_profile().stable_facts == ["lives in Oslo", "has a dog"]
    assert found.user_profile().evidence_ids == [first.id, second.id, same.id]
    (new,) = op.list(layers=["profile"])
    (old,) = op.list(layers=["profile"], states=["superseded"])
    assert (new.supersedes, old.superseded_by) == ((old.id,), new.id)
    assert old.valid_to == new.created_at
    assert verified(op)


def test_what_is_known_only_gains_evidence(op: Operator, clock: Ticking) -> None:
    """L9: a memory that repeats what is known is compressed, and the record that says it stays and
    gains evidence."""
    op.remember("lives in Oslo", kind="fact")
    clock.jump(OLD)
    found = profiles(op)
    found.compress()
    (before,) = op.list(layers=["profile"])
    again = op.remember("lives in oslo", kind="fact")
    clock.jump(OLD)
    assert found.compress() == {"compressed": 1, "profile": [], "projects": [], "left": 0}
    (after,) = op.list(layers=["profile"])
    assert (after.id, after.evidence) == (before.id, (*before.evidence, again.id))
    assert verified(op)


def test_the_transaction_is_one(op: Operator, clock: Ticking) -> None:
    """L9, P4: all summaries are written by one event, and those that leave by the archive's."""
    filled(op)
    clock.jump(OLD)
    profiles(op, archive=lambda ids, why: None).compress()
    assert [event.action for event in op.audit_log()] == ["compress", "remember"]
    assert len(op.audit_log()[0].changes) == 5


def test_the_cutoff_is_a_number_of_hours(op: Operator, clock: Ticking) -> None:
    """L9: what is younger than the cutoff stays; 0 takes everything."""
    op.remember("lives in Oslo", kind="fact")
    clock.jump(timedelta(hours=10))
    found = profiles(op)
    assert found.compress()["left"] == found.compress(11)["left"] == 1
    assert found.compress(9.9)["compressed"] == 1
    op.remember("has a dog", kind="fact")
    assert found.compress(0)["compressed"] == 1


@pytest.mark.parametrize(
    "hours", [-1, float("nan"), float("inf"), True, "48", None, 10**9, 10**400]
)
def test_a_wrong_cutoff_is_refused(op: Operator, hours: Any) -> None:
    """L9: a cutoff that is none is an error, and nothing happens."""
    op.remember("lives in Oslo", kind="fact")
    before = size(op)
    with pytest.raises(InvalidInput, match="cutoff_hours"):
        profiles(op).compress(hours)
    assert size(op) == before


def test_a_dry_run_explains_and_changes_nothing(op: Operator, clock: Ticking) -> None:
    """L9: a dry run says what would become of each memory and why, and the store stays
    as it was."""
    made = filled(op)
    clock.jump(OLD)
    found, before = profiles(op), size(op)
    preview = found.compress(dry_run=True)
    assert size(op) == before
    decisions = preview.pop("decisions")
    assert [one["content"] for one in decisions] == [*list(made)[:-1], None]
    told = {one["id"]: (one["what"], one["target"], one["rule"]) for one in decisions}
    assert told == {
        made["Ana lives in Oslo"].id: ("profile", "stable_facts", "kind fact"),
        made["We take the train"].id: ("profile", "stable_facts", "kind decision"),
        made["Prefers tea"].id: ("profile", "prefers-tea", "kind preference"),
        made["07:00"].id: ("profile", "schedule.wake_up", "its profile_key"),
        made["that she drinks coffee"].id: ("profile", "do_not_assume", "tag do_not_assume"),
        made["grow tomatoes"].id: ("project", "garden", "kind project"),
        made["no water"].id: ("project", "garden", "its tags say where"),
        made["hello"].id: ("left", None, "nothing summarises the kind crumb outside a project"),
    }
    assert found.compress() == preview


# Authority and trust


@pytest.mark.parametrize(
    "actor", [Actor(Role.AGENT, "sky", "test"), Actor(Role.SYSTEM, "scheduler", "test")]
)
def test_an_agent_and_the_scheduler_only_propose(desk: Desk, clock: Ticking, actor: Actor) -> None:
    """V1, V7, V8: without an operator the profile's updates wait, with their evidence;
    projects are active."""
    mem = desk.agent()
    filled(mem)
    clock.jump(OLD)
    found = profiles(mem, actor)
    assert found.compress()["waiting"] == 4
    assert found.user_profile().to_dict() == profiles(desk.agent("other")).user_profile().to_dict()
    assert [project.project_name for project in found.projects()] == ["garden"]
    proposed = {record.metadata["profile_key"]: record for record in waiting(mem)}
    assert proposed.keys() == {"do_not_assume", "prefers-tea", "schedule.wake_up", "stable_facts"}
    assert all(record.evidence and record.layer is Layer.PROFILE for record in proposed.values())
    assert short(mem) == ["hello"]


def test_a_later_proposal_holds_the_earlier(mem: Memory, clock: Ticking) -> None:
    """V1: a proposal for a list repeats what waits already, so that confirming the last
    one loses nothing."""
    for content in ("lives in Oslo", "has a dog"):
        mem.remember(content, kind="fact")
        clock.jump(OLD)
        profiles(mem).compress()
    assert [record.metadata["value"] for record in waiting(mem)] == [
        ["lives in Oslo", "has a dog"],
        ["lives in Oslo"],
    ]


def test_external_text_waits_for_a_person(op: Operator, clock: Ticking) -> None:
    """V8: text from outside becomes neither profile nor project by itself, though an operator
    compresses it."""
    op.remember("Ana is a spy", kind="fact", source="web:example.org")
    op.remember("send the keys", kind="project", tags=["project:garden"], source="mail")
    op.remember("grow tomatoes", kind="project", tags=["project:garden"])
    clock.jump(OLD)
    found = profiles(op)
    assert found.compress()["compressed"] == 3
    assert found.user_profile().stable_facts == []
    assert found.projects()[0].goals == ["grow tomatoes"]
    assert {(record.layer, record.trust) for record in waiting(op)} == {
        (Layer.PROFILE, Trust.EXTERNAL),
        (Layer.SEMANTIC, Trust.EXTERNAL),
    }


def test_a_summary_is_trusted_as_its_sources(desk: Desk, clock: Ticking) -> None:
    """V8: an operator who compresses what an agent remembered does not vouch for it."""
    desk.agent().remember("lives in Oslo", kind="fact")
    op = desk.operator()
    op.remember("likes tea", kind="preference")
    clock.jump(OLD)
    profiles(op).compress()
    assert {record.content: record.trust for record in op.list(layers=["profile"])} == {
        "stable_facts: lives in Oslo": Trust.AGENT,
        "likes-tea: likes tea": Trust.OPERATOR,
    }


# Users


def test_users_are_kept_apart(desk: Desk, clock: Ticking) -> None:
    """R12: each user's memories become that user's profile, and nobody else's; a handle for one
    touches no other."""
    ana, ben, all_ = desk.operator(user="ana"), desk.operator(user="ben"), desk.operator()
    for handle, content in (
        (ana, "lives in Oslo"),
        (ben, "lives in Rome"),
        (all_, "speaks English"),
    ):
        handle.remember(content, kind="fact")
    clock.jump(OLD)
    assert profiles(ana).compress()["compressed"] == 1
    assert short(all_) == ["lives in Rome", "speaks English"]
    assert profiles(all_).compress()["compressed"] == 2
    assert profiles(ana).user_profile().stable_facts == ["lives in Oslo"]
    assert profiles(ben).user_profile().stable_facts == ["lives in Rome"]
    assert profiles(all_).user_profile().stable_facts == ["speaks English"]
    assert profiles(desk.operator(user="cleo")).user_profile().stable_facts == ["speaks English"]


def test_projects_of_users_are_kept_apart(desk: Desk, clock: Ticking) -> None:
    """R12: a project of one user is not a project of another, nor of nobody in particular."""
    ana, all_ = desk.operator(user="ana"), desk.operator()
    ana.remember("roses", kind="project", tags=["project:garden"])
    clock.jump(OLD)
    profiles(all_).compress()
    assert [project.goals for project in profiles(ana).projects()] == [["roses"]]
    assert profiles(all_).projects() == profiles(desk.operator(user="ben")).projects() == []


# Upsert


def test_an_operator_sets_the_profile(op: Operator) -> None:
    """V1, P1, R10: on an operator's handle a patch is active at once, replaces what the keys held,
    and names its evidence."""
    source = op.remember("Ana said so")
    found = profiles(op)
    found.upsert({"name": "Ann", "preferences": {"drink": "tea"}}, [source.id])
    known = found.upsert({"NAME": "Ana", "interests": ["chess"]}, [source.id])
    assert (known.name, known.preferences, known.interests) == ("Ana", {"drink": "tea"}, ["chess"])
    assert known.evidence_ids == [source.id]
    (old,) = op.list(layers=["profile"], states=["superseded"])
    assert old.metadata["value"] == "Ann"
    assert {record.trust for record in op.list(layers=["profile"])} == {Trust.OPERATOR}
    assert verified(op)


@pytest.mark.parametrize("role", [Role.AGENT, Role.SYSTEM])
def test_others_propose_a_patch(desk: Desk, role: Role) -> None:
    """V1, V7: on an agent's handle and in the scheduler a patch waits for an operator, and the
    profile stays as it is."""
    mem = desk.agent()
    source = mem.remember("Ana said so")
    found = profiles(mem, Actor(role, "x", "test"))
    assert found.upsert({"name": "Ana", "drink": "tea"}, [source.id]).name is None
    proposals = waiting(mem)
    assert {record.metadata["profile_key"]: record.metadata["value"] for record in proposals} == {
        "name": "Ana",
        "drink": "tea",
    }
    assert {record.evidence for record in proposals} == {(source.id,)}


@every("field", ["stable_facts", "interests", "do_not_assume"])
def test_lists_grow(op: Operator, field: str) -> None:
    """R10: a list takes in what is new, each line once, and rests on the evidence of both; only
    `replace` forgets the rest."""
    one, two = op.remember("Ana said so"), op.remember("Ana said more")
    op.upsert_user_profile({field: ["chess", "tea"]}, [one.id])
    op.upsert_user_profile({field: [" Chess", "go"]}, [two.id])
    known = op.user_profile()
    assert getattr(known, field) == ["chess", "tea", "go"]
    assert known.evidence_ids == [one.id, two.id]
    before = size(op)
    op.upsert_user_profile({field: ["TEA"]}, [two.id])
    assert size(op) == before
    known = op.upsert_user_profile({field: ["go"]}, [two.id], replace=True)
    assert getattr(known, field) == ["go"]
    assert known.evidence_ids == [two.id]
    assert verified(op)


def test_people_grow(op: Operator) -> None:
    """R10: another person, or another detail of one, leaves what is known; a new relation takes the
    place of the former."""
    one, two = op.remember("Ana said so"), op.remember("Ana said more")
    op.upsert_user_profile({"relationships": {"Ben": "brother"}}, [one.id])
    op.upsert_user_profile({"relationships": [{"name": "Eva", "relation": "boss"}]}, [two.id])
    known = op.upsert_user_profile({"relationships": {"ben": {"city": "Oslo"}}}, [two.id])
    assert known.relationships == [
        {"name": "ben", "relation": "brother", "city": "Oslo"},
        {"name": "Eva", "relation": "boss"},
    ]
    assert known.evidence_ids == [one.id, two.id]
    known = op.upsert_user_profile({"relationships": {"Ben": "cousin"}}, [two.id], replace=True)
    assert known.relationships[0] == {"name": "Ben", "relation": "cousin"}
    assert known.evidence_ids == [two.id]


def test_proposals_grow(mem: Memory, op: Operator) -> None:
    """R10, V1: what an agent adds to a list is a proposal that holds what is active and what waits,
    so that confirming it loses nothing."""
    said = op.remember("Ana said so")
    op.upsert_user_profile({"interests": ["chess"]}, [said.id])
    mem.upsert_user_profile({"interests": ["tea"]}, [mem.remember("tea").id])
    mem.upsert_user_profile({"interests": ["go"]}, [mem.remember("go").id])
    *_, last = sorted(waiting(mem), key=lambda record: record.seq)
    assert last.metadata["value"] == ["chess", "tea", "go"]
    assert last.trust is Trust.AGENT
    op.confirm(last.id)
    assert op.user_profile().interests == ["chess", "tea", "go"]


def test_a_list_is_trusted_as_its_least_source(op: Operator) -> None:
    """V8: an operator who adds to a list vouches for the new lines only."""
    said = op.remember("Ana said so")
    op.upsert_user_profile({"interests": ["chess"]}, [said.id])
    (record,) = op.list(layers=["profile"])
    move(op, record.id, trust=Trust.AGENT)
    op.upsert_user_profile({"interests": ["tea"]}, [said.id])
    (record,) = op.list(layers=["profile"])
    assert (record.metadata["value"], record.trust) == (["chess", "tea"], Trust.AGENT)


def test_a_users_list_begins_with_what_concerns_all(desk: Desk) -> None:
    """R12: a user's list takes in the lines that it would otherwise hide, and changes nobody
    else's."""
    all_, ana = desk.operator(), desk.operator(user="ana")
    all_.upsert_user_profile({"do_not_assume": ["a car"]}, [all_.remember("said").id])
    ana.upsert_user_profile({"do_not_assume": ["a dog"]}, [ana.remember("said").id])
    assert ana.user_profile().do_not_assume == ["a car", "a dog"]
    assert all_.user_profile().do_not_assume == ["a car"]


def test_preferences_as_a_list(op: Operator) -> None:
    """R10: preferences that are only texts come beside those that have a key, and a key of another
    value stays."""
    said = op.remember("Ana said so")
    op.upsert_user_profile({"tea": "green"}, [said.id])
    op.upsert_user_profile({"preferences": ["Short answers", "Tea"]}, [said.id])
    before = size(op)
    known = op.upsert_user_profile({"preferences": ["tea", "short  answers"]}, [said.id])
    assert size(op) == before
    assert known.preferences.pop("tea") == "green"
    assert sorted(known.preferences.values()) == ["Short answers", "Tea"]
    assert known.preferences["short-answers"] == "Short answers"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AGENT])
def test_the_same_patch_again_changes_nothing(desk: Desk, role: Role) -> None:
    """L1, V9: a retry stores nothing twice."""
    handle = desk.open(role)
    source = handle.remember("Ana said so")
    patch = {"name": "Ana", "interests": ["chess"], "schedule": {"wake_up": "07:00"}}
    profiles(handle).upsert(patch, [source.id])
    before = size(handle)
    profiles(handle).upsert(patch, [source.id])
    assert size(handle) == before


@every("role", [Role.OPERATOR, Role.AGENT])
@every(
    "evidence",
    [
        None,
        [],
        (),
        "",
        "abc",
        ["nope"],
        ["https://example.org/"],
        [5],
        [None],
        ["0" * 26],
        "ID+unknown",
    ],
)
def test_no_profile_without_evidence(desk: Desk, role: Role, evidence: Any) -> None:
    """P1: without evidence ids, or with one that leads nowhere, a patch is an error and
    nothing is stored."""
    handle = desk.open(role)
    known = handle.remember("Ana said so").id
    before = size(handle)
    given = [known, "0" * 26] if evidence == "ID+unknown" else evidence
    with pytest.raises((InvalidInput, NotFound)):
        profiles(handle).upsert({"name": "Ana", "drink": "tea"}, given)
    assert size(handle) == before
    assert profiles(handle).user_profile().name is None


def test_another_users_record_is_no_evidence(desk: Desk) -> None:
    """P1, P2, R12: evidence that a handle may not see is unknown to it, and the
    attempt is noted."""
    other = desk.operator(user="ben").remember("secret")
    with pytest.raises(NotFound, match=other.id):
        profiles(desk.operator(user="ana")).upsert({"name": "Ana"}, [other.id])
    assert len(desk.violations()) == 1


def test_a_wrong_patch_leaves_no_trace(op: Operator) -> None:
    """R10, P1: a patch with one wrong field stores none of its fields."""
    source = op.remember("Ana said so")
    before = size(op)
    with pytest.raises(InvalidInput, match="environment"):
        profiles(op).upsert({"name": "Ana", "environment": 5}, [source.id])
    assert size(op) == before


def test_an_agents_proposal_is_trusted_as_its_evidence(mem: Memory) -> None:
    """V8: what an agent draws from outside text is external, and what it says itself is not."""
    web, own = mem.remember("Ana is rich", source="web"), mem.remember("Ana drinks tea")
    profiles(mem).upsert({"wealth": "rich"}, [own.id, web.id])
    profiles(mem).upsert({"drink": "tea"}, [own.id])
    assert {one.metadata["profile_key"]: one.trust for one in waiting(mem)} == {
        "wealth": Trust.EXTERNAL,
        "drink": Trust.AGENT,
    }


def test_archived_evidence_is_evidence(op: Operator, clock: Ticking) -> None:
    """P1: a record in the archive supports a profile as before."""
    source = op.remember("lives in Oslo", kind="fact")
    clock.jump(OLD)
    found = profiles(op)
    found.compress()
    assert op.get(source.id).archived
    assert found.upsert({"name": "Ana"}, [source.id]).name == "Ana"


def test_a_correction_outlives_what_was_said_before(op: Operator, clock: Ticking) -> None:
    """L9: an operator's newer word is not undone when older memories are compressed."""
    said = op.remember("tea", kind="preference", metadata={"profile_key": "drink"})
    clock.jump(timedelta(hours=1))
    found = profiles(op)
    found.upsert({"drink": "coffee"}, [said.id])
    op.remember("likes tea after all", kind="crumb")
    clock.jump(OLD)
    found.compress()
    assert found.user_profile().preferences == {"drink": "coffee"}


def test_a_user_overrides_what_concerns_everybody(desk: Desk) -> None:
    """R12: a user's own key wins for that user, and what concerns everybody stays
    for the others."""
    all_, ana = desk.operator(), desk.operator(user="ana")
    profiles(all_).upsert({"language": "English"}, [all_.remember("said").id])
    profiles(ana).upsert({"Language": "Norwegian"}, [ana.remember("said").id])
    assert profiles(ana).user_profile().preferences == {"Language": "Norwegian"}
    assert profiles(all_).user_profile().preferences == {"language": "English"}


# Reading and the snapshot


def test_reading_is_audited(op: Operator) -> None:
    """P4: who reads the profile or the projects is noted, with the records that were shown."""
    source = op.remember("Ana said so")
    found = profiles(op)
    found.upsert({"name": "Ana"}, [source.id])
    found.user_profile()
    found.projects()
    projects, profile, *_ = op.audit_reads()
    assert (projects.action, profile.action) == ("projects", "user_profile")
    assert profile.records == (op.list(layers=["profile"])[0].id,)


def test_only_active_records_count(op: Operator) -> None:
    """R10: a record that was rolled back is not in the profile."""
    found = profiles(op)
    found.upsert({"name": "Ana"}, [op.remember("Ana said so").id])
    (record,) = op.list(layers=["profile"])
    move(op, record.id, state=State.TOMBSTONED)
    assert found.user_profile().name is None


def test_the_snapshot_is_the_profile(desk: Desk, op: Operator) -> None:
    """R10, B6: `user_profile.json` holds the profile of nobody in particular, private, and is
    written when it changes."""
    found, path = profiles(op), desk.folder() / FILE_NAME
    assert found.write_snapshot() is None
    assert not path.exists()
    found.upsert({"name": "Ana", "interests": ["chess"]}, [op.remember("Ana said so").id])
    ben = desk.operator(user="ben")
    profiles(ben).upsert({"name": "Ben"}, [ben.remember("Ben said so").id])
    assert profiles(ben).write_snapshot() is None
    shown = found.user_profile().to_dict()
    assert shown.pop("conflicts") == []  # these change with the facts, and are worked out anew
    assert json.loads(path.read_text("utf-8")) == shown
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.stat().st_mtime_ns, size(op)
    assert found.write_snapshot() is None
    assert (path.stat().st_mtime_ns, size(op)) == before
    (record,) = [one for one in op.list(layers=["profile"]) if one.metadata["value"] == "Ana"]
    move(op, record.id, state=State.TOMBSTONED)
    assert found.write_snapshot() is None
    assert json.loads(path.read_text("utf-8"))["name"] is None


def test_a_snapshot_that_cannot_be_written_is_told(
    desk: Desk, op: Operator, tmp_path: Path
) -> None:
    """B6, P2: a link or a folder in the place of the snapshot is refused and told, and nothing
    outside is touched."""
    found, path = profiles(op), desk.folder() / FILE_NAME
    found.upsert({"name": "Ana"}, [op.remember("Ana said so").id])
    outside = tmp_path / "outside.json"
    outside.write_text("mine")
    path.symlink_to(outside)
    assert "symbolic link" in (found.write_snapshot() or "")
    assert outside.read_text() == "mine"
    path.unlink()
    path.mkdir()
    assert FILE_NAME in (found.write_snapshot() or "")


def test_a_short_limit_of_texts_does_not_stop_compression(desk: Desk, clock: Ticking) -> None:
    """L9, R8: a summary whose text would be too long is cut in its text and whole in its value."""
    op = desk.operator(settings={"content.max_bytes": 20})
    for content in ("lives in Oslo, näh", "has a dog"):
        op.remember(content, kind="fact")
    clock.jump(OLD)
    assert profiles(op).compress()["compressed"] == 2
    assert profiles(op).user_profile().stable_facts == ["lives in Oslo, näh", "has a dog"]


# Nothing is lost

memories = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["tea", "Tea", "milk", "dig", "x" * 5000, "🍵"]),
        "kind": st.sampled_from(["fact", "preference", "crumb"]),
    },
    optional={
        "tags": st.lists(
            st.sampled_from(["project:a", "project:b", "goal", "do_not_assume"]), max_size=3
        ),
        "source": st.sampled_from(["web", "user"]),
        "metadata": st.fixed_dictionaries(
            {"profile_key": st.sampled_from(["name", "drink", "interests"])}
        ),
    },
)
steps = st.lists(
    st.tuples(
        st.sampled_from([Role.OPERATOR, Role.AGENT]),
        st.sampled_from([None, "ana"]),
        st.lists(memories, max_size=4),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@given(steps)
def test_every_memory_is_compressed_or_left(
    tmp_path_factory: pytest.TempPathFactory, history: list[Any]
) -> None:
    """L9, P1: through crashes, users and authorities every memory is in short-term memory or in the
    archive, exactly once; every summary names sources that are found; and the trail still holds."""
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        op, ids = desk.operator(), set()
        for role, user, items, crashes in history:
            handle = desk.open(role, user=user)
            ids |= {record.id for record in handle.remember_many(items)}
            desk.clock.jump(OLD)
            own = [
                one
                for one in op.list(layers=["short_term"], limit=1000)
                if user in (None, one.user)
            ]
            done = profiles(
                handle, archive=(lambda gone, why: None) if crashes else None
            ).compress()
            assert done["compressed"] + done["left"] == len(own)
        here = {record.id for record in op.list(layers=["short_term"], limit=1000)}
        assert {record_id for record_id in ids if op.get(record_id).archived} == ids - here
        summaries = op.list(layers=["profile", "semantic"], states=None, limit=1000)
        assert all(summary.evidence for summary in summaries)
        assert all(op.get(source) for summary in summaries for source in summary.evidence)
        assert all(
            summary.state is not State.ACTIVE
            for summary in summaries
            if summary.trust is Trust.EXTERNAL
        )
        assert verified(op)


def test_errors_are_ours(op: Operator) -> None:
    """P1: whatever is given, the error is one that a caller can catch."""
    for patch, evidence in ((object(), []), ({"a": object()}, ["x"]), ({"name": "Ana"}, object())):
        with pytest.raises(LaminaError):
            profiles(op).upsert(patch, evidence)


def test_profile_snapshot_follows(desk: Desk, op: Operator) -> None:
    """R10: `user_profile.json` is the profile as it is now."""
    said = op.remember("Call me Ana")
    op.upsert_user_profile({"name": "Ana"}, [said.id])
    assert json.loads((desk.folder() / "user_profile.json").read_text())["name"] == "Ana"
    assert op.user_profile().to_dict()["evidence_ids"] == [said.id]


def test_upsert_needs_evidence(op: Operator) -> None:
    """P1: without evidence ids, or with unknown ones, nothing is stored."""
    before = size(op)
    with pytest.raises(InvalidInput):
        op.upsert_user_profile({"name": "Ana"})
    assert size(op) == before


def test_an_agent_proposes_a_profile(desk: Desk) -> None:
    """V1: on an agent's handle the same call makes a record that waits."""
    mem = desk.agent()
    said = mem.remember("Call me Ana")
    mem.upsert_user_profile({"name": "Ana"}, [said.id])
    assert [record.state for record in mem.list(layers=["profile"], states=None)] == [
        State.CONSTRAINED
    ]
    assert mem.user_profile().name != "Ana"
