"""Promises about sharing (P3): off by default, exactly what was granted, for as long as it holds,
with a trace at both."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import Conflict, LaminaError, NotFound, Refused
from lamina.memory.shared import Guest
from lamina.model import hashing
from lamina.model.record import Record, State
from lamina.search import RANKERS
from lamina.store.tables import events, grants
from tests.conftest import (
    CONTRACTS,
    START,
    Desk,
    contents,
    digest,
    move,
    quietly,
    size,
    supersede,
    verified,
)

UNKNOWN = "0" * 26
EVERY_STATE = [state.value for state in State]


@pytest.fixture
def sky(desk: Desk) -> Operator:
    """The operator of the agent that gives."""
    return desk.operator("sky")


@pytest.fixture
def milton(desk: Desk) -> Memory:
    """The agent that reads."""
    return desk.agent("milton")


def fact(handle: Operator, content: str, *tags: str, **more: Any) -> Record:
    return handle.remember(
        content, layer="semantic", metadata=CONTRACTS["semantic"], tags=tags, **more
    )


def seen(guest: Guest) -> set[str]:
    return set(contents(guest.list(limit=10_000)))


def message(call: Callable[..., object], *given: Any, **more: Any) -> dict[str, Any]:
    """The error of a call that must fail, as every surface shows it."""
    with pytest.raises(LaminaError) as error:
        call(*given, **more)
    return error.value.to_dict()


def test_nothing_is_shared_by_default(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3, P2: an agent that shares nothing looks like one that does not exist, and both attempts
    are logged."""
    fact(sky, "the boiler is old")

    def files() -> list[str]:
        """All but the trails of reads, which note the attempts of whoever makes them."""
        found = (path.name for path in (desk.home / "agents").rglob("*"))
        return sorted(name for name in found if not name.startswith("reads.db"))

    before = files()
    silent, missing = (message(milton.shared, name) for name in ("sky", "aegis"))
    assert json.dumps(silent).replace("sky", "aegis") == json.dumps(missing)
    assert silent["error"]["code"] == "not_found"
    assert files() == before
    assert [json.loads(line)["attempt"] for line in desk.violations()] == [
        "reach an agent that shares nothing"
    ] * 2
    assert milton.sharing() == []


@pytest.mark.parametrize("agent", ["../sky", "Sky", "", None, 5, "sky/../sky", "con", "milton"])
def test_only_other_agents_share(sky: Operator, milton: Memory, agent: Any) -> None:
    """P3, P2: a name that no agent can have, or one's own, is an error that says so."""
    assert message(milton.shared, agent)["error"]["code"] == "invalid_input"


def test_a_linked_folder_shares_nothing(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P2: a link in the place of an agent is nobody."""
    sky.grant("milton", layer="semantic")
    (desk.home / "agents" / "aegis").symlink_to(desk.folder("sky"))
    assert message(milton.shared, "aegis")["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("what", "covered"),
    [
        ({"layer": "semantic"}, {"the boiler is old", "the tea is green"}),
        ({"tag": " House "}, {"the boiler is old", "the door is red"}),
        ({"record": None}, {"the boiler is old"}),
    ],
    ids=["layer", "tag", "record"],
)
def test_a_grant_covers_exactly_what_it_names(
    sky: Operator, milton: Memory, what: dict[str, Any], covered: set[str]
) -> None:
    """P3: a layer, a tag or one record, by every verb and ranker, and nothing else; when
    it ends, nothing."""
    boiler = fact(sky, "the boiler is old", "house")
    others = [
        fact(sky, "the tea is green"),
        sky.remember("the door is red", tags=["house"]),
        sky.remember("the cat is shy"),
    ]
    given = sky.grant("milton", **({"record": boiler.id} if "record" in what else what))
    guest = milton.shared("sky")
    assert seen(guest) == covered
    assert set(contents(guest.query_recent())) == covered
    for ranker in RANKERS:
        for content in (
            "the boiler is old",
            "the tea is green",
            "the door is red",
            "the cat is shy",
        ):
            found = contents(guest.search(content, ranker=ranker))
            assert set(found) <= covered
            assert (content in found) == (content in covered)
    assert (
        f"[{boiler.id[-6:]}·1 May 2026·shared by sky] the boiler is old"
        in guest.memory_context("boiler").text
    )
    assert set(contents(guest.query_relevant("the"))) <= covered
    assert set(contents(guest.recall_similar("the boiler is old", top_k=50))) <= covered
    assert guest.get(boiler.id) == boiler
    for other in others:
        if other.content in covered:
            assert guest.get(other.id) == other
        else:
            assert str(message(guest.get, other.id)).replace(other.id, UNKNOWN) == str(
                message(guest.get, UNKNOWN)
            )
    sky.revoke_grant(given.number)
    assert seen(guest) == set()
    assert not any(guest.search("the boiler is old", ranker=ranker) for ranker in RANKERS)
    assert message(guest.get, boiler.id)["error"]["code"] == "not_found"
    assert message(milton.shared, "sky")["error"]["code"] == "not_found"


def test_a_grant_expires(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3: at its time it ends, also for a handle that was open; whoever ends it again is told that
    it has."""
    fact(sky, "the boiler is old")
    given = sky.grant("milton", layer="semantic", expires=START + timedelta(hours=1))
    guest = milton.shared("sky")
    desk.clock.step = timedelta(0)
    desk.clock.set(START + timedelta(minutes=59))
    assert seen(guest) == {"the boiler is old"}
    assert [one.number for one in milton.sharing()] == [given.number]
    desk.clock.set(START + timedelta(hours=1))
    assert seen(guest) == set()
    assert not guest.search("the boiler is old")
    assert milton.sharing() == sky.grants() == []
    assert [one.number for one in sky.grants(include_ended=True)] == [given.number]
    with pytest.raises(Refused, match="ended already"):
        sky.revoke_grant(given.number)
    assert sky.grant("milton", layer="semantic").number != given.number


def test_what_was_ended_stays_ended(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3: a clock that is set back opens nothing again."""
    fact(sky, "the boiler is old")
    given = sky.grant("milton", layer="semantic")
    then = desk.clock()
    desk.clock.jump(timedelta(days=1))
    guest = milton.shared("sky")
    sky.revoke_grant(given.number, reason="enough")
    desk.clock.set(then)
    assert seen(guest) == set()
    assert milton.sharing() == []


def test_a_guest_sees_what_is_believed(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3, R3: neither proposals nor what was put aside; what was superseded only for a question
    about its time."""
    old, new = fact(sky, "the boiler is old"), fact(sky, "the boiler is new")
    doubted, gone = fact(sky, "the boiler is blue"), fact(sky, "the boiler is gone")
    sky.grant("milton", layer="semantic")
    sky.grant("milton", tag="notes")
    with sky.run("boiler") as run:
        run.note("the boiler of the run", tags=["notes"])
        then = desk.clock()
        desk.clock.jump(timedelta(hours=1))
        move(sky, doubted.id, state=State.CONSTRAINED)
        move(sky, gone.id, state=State.TOMBSTONED)
        supersede(sky, old.id, new.id)
        move(sky, old.id, valid_to=desk.clock())
        guest = milton.shared("sky")
        assert seen(guest) == {"the boiler is new"}
        assert set(contents(guest.list(states=EVERY_STATE, layers=["working", "semantic"]))) == {
            "the boiler is new"
        }
        assert message(guest.list, states=["tombstoned"])["error"]["code"] == "refused"
        for ranker in RANKERS:
            now = guest.search("the boiler is", ranker=ranker, states=EVERY_STATE)
            assert set(contents(now)) == {"the boiler is new"}
            was = guest.search("the boiler is", ranker=ranker, as_of=then)
            assert set(contents(was)) == {"the boiler is old", "the boiler is new"}
            known = guest.search("the boiler is", ranker=ranker, known_at=then)
            assert set(contents(known)) == {"the boiler is old", "the boiler is new"}
            assert not guest.search(
                "the boiler of the run", ranker=ranker, run_id=run.id, layers=["working"]
            )
    for record in (old, doubted, gone):
        assert message(guest.get, record.id)["error"]["code"] == "not_found"


def test_the_archive_is_not_shared(sky: Operator, milton: Memory) -> None:
    """P3, R3: what has left the store has left what others read."""
    record = fact(sky, "the boiler is old", "house")
    sky.grant("milton", record=record.id)
    sky.grant("milton", tag="house")
    guest = milton.shared("sky")
    assert sky.prune(tags=["house"])["pruned"] == 1
    assert seen(guest) == set()
    assert message(guest.get, record.id)["error"]["code"] == "not_found"
    assert [one.tag for one in milton.sharing()] == ["house"]


def test_known_at_shows_what_is_granted_now(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3, Q10: a record that was in a granted layer once, and no longer is, is not seen
    as it was."""
    record = sky.remember("the boiler is old")
    then = desk.clock()
    desk.clock.jump(timedelta(hours=1))
    sky.grant("milton", layer="short_term")
    sky.grant("milton", layer="profile")
    guest = milton.shared("sky")
    assert contents(guest.search("boiler", known_at=then)) == ["the boiler is old"]
    move(sky, record.id, layer="episodic")
    assert not guest.search("boiler", known_at=then)
    sky.grant("milton", layer="episodic")
    (hit,) = guest.search("boiler", known_at=then)
    assert hit.record.layer == "short_term"


def test_users_share_their_own(desk: Desk, sky: Operator) -> None:
    """P3, R12: a user's operator gives what is that user's, and a reader for a user gets that
    user's and nobody's."""
    for user in ("ana", "ben", None):
        fact(desk.operator("sky", user), f"the boiler of {user}")
    desk.agent("milton")
    own = desk.operator("sky", "ana").grant("milton", layer="semantic")
    assert own.user == "ana"
    assert (
        seen(desk.agent("milton").shared("sky"))
        == seen(desk.agent("milton", "ana").shared("sky"))
        == {"the boiler of ana"}
    )
    assert message(desk.agent("milton", "ben").shared, "sky")["error"]["code"] == "not_found"
    every = sky.grant("milton", layer="semantic")
    assert seen(desk.agent("milton", "ben").shared("sky")) == {
        "the boiler of ben",
        "the boiler of None",
    }
    assert len(seen(desk.agent("milton").shared("sky"))) == 3
    ana = desk.operator("sky", "ana")
    assert [one.number for one in ana.grants()] == [own.number]
    with pytest.raises(NotFound):
        ana.revoke_grant(every.number)


def test_a_user_shares_a_record_of_nobody(desk: Desk, sky: Operator) -> None:
    """P3, R12: what a handle sees it can give by name; the record of another user it cannot."""
    everybodys, bens = (
        fact(sky, "the boiler is old"),
        fact(desk.operator("sky", "ben"), "the boiler of ben"),
    )
    milton, ana = desk.agent("milton"), desk.operator("sky", "ana")
    ana.grant("milton", record=everybodys.id)
    assert seen(milton.shared("sky")) == {"the boiler is old"}
    assert message(ana.grant, "milton", record=bens.id)["error"]["code"] == "not_found"
    sky.grant("milton", record=bens.id)
    assert [one.record for one in desk.agent("milton", "ana").sharing()] == [everybodys.id]


def test_every_use_is_in_both_trails(sky: Operator, milton: Memory, desk: Desk) -> None:
    """P3, P4: who read what is told at both; what was asked only at the one who asked."""
    record = fact(sky, "the boiler is old")
    sky.grant("milton", layer="semantic")
    guest = milton.shared("sky")
    guest.list()
    guest.search("zanzibar boiler")
    guest.get(record.id)
    guest.query_relevant("boiler")
    guest.query_recent()
    guest.recall_similar("the boiler is old")
    guest.memory_context("boiler", {"semantic": 1})
    milton.close()
    verbs = [
        "list",
        "search",
        "get",
        "query_relevant",
        "query_recent",
        "recall_similar",
        "memory_context",
    ]
    given = [read for read in sky.audit_reads() if read.action.startswith("shared.")][::-1]
    assert [read.action for read in given] == [f"shared.{verb}" for verb in verbs]
    assert {str(read.actor) for read in given} == {"agent:milton"}
    assert all(
        read.note == {"shared_with": "milton"} and read.records == (record.id,) for read in given
    )
    taken = [
        read
        for read in desk.operator("milton").audit_reads()
        if read.note.get("shared_by") == "sky"
    ][::-1]
    assert [(read.action, read.records) for read in taken] == [
        (verb, (record.id,)) for verb in verbs
    ]
    assert taken[1].note["query"] == "zanzibar boiler"
    assert b"zanzibar" not in b"".join(
        path.read_bytes() for path in desk.folder("sky").glob("*.db*")
    )
    assert verified(sky)
    assert verified(desk.operator("milton"))


def test_others_do_not_teach_what_matters(sky: Operator, milton: Memory) -> None:
    """P3, L8: what a guest reads is no sign that this store's operator wants it."""
    record = fact(sky, "the boiler is old")
    sky.grant("milton", layer="semantic")
    for _ in range(5):
        milton.shared("sky").get(record.id)
    milton.close()
    assert sky._parts.importance.accesses() == {}


def test_a_guest_changes_nothing(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3, P4: reading as a guest changes no byte of the memory, and there are no
    verbs that would."""
    fact(sky, "the boiler is old")
    sky.grant("milton", layer="semantic")
    sky.close()
    before = digest(desk.folder("sky") / "memory.db")
    with milton.shared("sky") as guest:
        guest.search("boiler")
        for verb in (
            "remember",
            "history",
            "pending",
            "search_archive",
            "status",
            "run",
            "forget",
            "export",
            "propose_profile",
        ):
            assert not hasattr(guest, verb)
    assert digest(desk.folder("sky") / "memory.db") == before


def test_guests_close_with_their_handle(desk: Desk, sky: Operator) -> None:
    """P3: what a handle has opened is closed with it."""
    milton = desk.agent("milton")
    sky.grant("milton", layer="semantic")
    guest = milton.shared("sky")
    milton.close()
    assert message(guest.list)["error"]["code"] == "store_unavailable"


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda op, record: op.grant("sky", layer="semantic"), "invalid_input"),
        (lambda op, record: op.grant("aegis", layer="semantic"), "not_found"),
        (lambda op, record: op.grant("../milton", layer="semantic"), "invalid_input"),
        (lambda op, record: op.grant(7, layer="semantic"), "invalid_input"),
        (lambda op, record: op.grant("milton"), "invalid_input"),
        (lambda op, record: op.grant("milton", layer="semantic", tag="house"), "invalid_input"),
        (lambda op, record: op.grant("milton", tag="house", record=record), "invalid_input"),
        (lambda op, record: op.grant("milton", layer="working"), "invalid_input"),
        (lambda op, record: op.grant("milton", layer="attic"), "invalid_input"),
        (lambda op, record: op.grant("milton", layer=3), "invalid_input"),
        (lambda op, record: op.grant("milton", tag="  "), "invalid_input"),
        (lambda op, record: op.grant("milton", tag=["house"]), "invalid_input"),
        (lambda op, record: op.grant("milton", record=UNKNOWN), "not_found"),
        (lambda op, record: op.grant("milton", record="no id"), "not_found"),
        (lambda op, record: op.grant("milton", record=b"x"), "not_found"),
        (
            lambda op, record: op.grant(
                "milton", layer="semantic", expires=START - timedelta(days=1)
            ),
            "invalid_input",
        ),
        (
            lambda op, record: op.grant("milton", layer="semantic", expires="tomorrow"),
            "invalid_input",
        ),
        (
            lambda op, record: op.grant("milton", layer="semantic", expires=datetime(2027, 1, 1)),
            "invalid_input",
        ),
        (lambda op, record: op.grant("milton", layer="semantic", expires=True), "invalid_input"),
        (lambda op, record: op.grant("milton", layer="semantic", reason=" "), "invalid_input"),
        (lambda op, record: op.revoke_grant(99), "not_found"),
        (lambda op, record: op.revoke_grant(-1), "not_found"),
        (lambda op, record: op.revoke_grant(1 << 80), "not_found"),
        (lambda op, record: op.revoke_grant("1"), "invalid_input"),
        (lambda op, record: op.revoke_grant(True), "invalid_input"),
        (lambda op, record: op.revoke_grant(1, reason=5), "invalid_input"),
    ],
)
def test_bad_grants_leave_no_trace(
    sky: Operator, milton: Memory, call: Callable[[Operator, str], object], code: str
) -> None:
    """P3: to oneself, to a missing agent, for the past, for nothing or two things: an error that
    says so, and no event."""
    record = fact(sky, "the boiler is old").id
    before = size(sky)
    assert message(call, sky, record)["error"]["code"] == code
    assert size(sky) == before
    assert sky.grants(include_ended=True) == []
    assert verified(sky)


def test_what_nobody_could_see_is_not_granted(sky: Operator, milton: Memory) -> None:
    """P3: a record that was put aside, archived, or belongs to a run."""
    gone, filed = fact(sky, "the boiler is gone"), fact(sky, "the boiler is filed", "old")
    move(sky, gone.id, state=State.TOMBSTONED)
    sky.prune(tags=["old"])
    note = sky.run("boiler").note("the boiler of the run")
    before = size(sky)
    for record, code in ((gone, "refused"), (filed, "refused"), (note, "invalid_input")):
        assert message(sky.grant, "milton", record=record.id)["error"]["code"] == code
    assert size(sky) == before


def test_nothing_is_granted_twice(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3: the error names the grant that is there; for another agent, another user or after its end
    it is another one."""
    desk.agent("aegis")
    first = sky.grant("milton", tag="house")
    before = size(sky)
    with pytest.raises(Conflict, match=f"grant {first.number}") as error:
        sky.grant("milton", tag="HOUSE ", expires=START + timedelta(days=30))
    assert error.value.details == {"grant": first.number}
    assert size(sky) == before
    sky.grant("aegis", tag="house")
    desk.operator("sky", "ana").grant("milton", tag="house")
    sky.revoke_grant(first.number)
    assert sky.grant("milton", tag="house").number > first.number
    with pytest.raises(Refused, match="ended already"):
        sky.revoke_grant(first.number)


def test_only_operators_grant(desk: Desk, milton: Memory) -> None:
    """V7: an agent's handle has no such verb."""
    for verb in ("grant", "revoke_grant", "grants"):
        assert not hasattr(desk.agent("sky"), verb)


def test_grants_do_not_lead_further(desk: Desk) -> None:
    """P3: what is shared with an agent is not shared by it, and a circle shows nothing more."""
    agents = ("sky", "milton", "aegis")
    operators = {name: desk.operator(name) for name in agents}
    for name, operator in operators.items():
        fact(operator, f"the boiler of {name}", "house")
        operator.remember(f"the diary of {name}", tags=["private"])
    for giver, reader in (
        ("sky", "milton"),
        ("milton", "aegis"),
        ("aegis", "sky"),
        ("milton", "sky"),
    ):
        operators[giver].grant(reader, tag="house")
    for reader, givers in (
        ("milton", {"sky"}),
        ("aegis", {"milton"}),
        ("sky", {"aegis", "milton"}),
    ):
        handle = desk.agent(reader)
        assert {one.giver for one in handle.sharing()} == givers
        for giver in givers:
            assert seen(handle.shared(giver)) == {f"the boiler of {giver}"}
        for other in {*agents} - givers - {reader}:
            assert message(handle.shared, other)["error"]["code"] == "not_found"
        assert {record.agent for record in handle.list()} == {reader}


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("UPDATE grants SET ended_at = NULL", "grant"),
        ("UPDATE grants SET agent = 'aegis'", "grant"),
        ("UPDATE grants SET tag = 'diary'", "grant"),
        ("UPDATE grants SET salt = zeroblob(16)", "grant"),
        ("DELETE FROM grants", "grant"),
        (
            (
                "INSERT INTO grants (number, agent, layer, granted_at, salt) VALUES (99, "
                "'milton', 'semantic', 0, zeroblob(16))"
            ),
            "grant 99",
        ),
    ],
)
def test_verify_notices_a_changed_grant(
    desk: Desk, sky: Operator, milton: Memory, statement: str, place: str
) -> None:
    """P3, P4: a grant that is made, changed or removed behind our back does not agree
    with the trail."""
    given = sky.grant("milton", tag="house", expires=START + timedelta(days=30))
    sky.revoke_grant(given.number)
    assert verified(sky)
    quietly(desk.folder("sky") / "memory.db", statement)
    report = sky.audit_verify()["events"]
    assert [problem.place.startswith(place) for problem in report.problems] == [True]


def test_the_chain_holds_no_words_of_a_grant(sky: Operator, milton: Memory) -> None:
    """P4: what was granted and why is in the note, which can be erased; the event has
    salted hashes only."""
    sky.grant("milton", tag="zanzibar", reason="zanzibar it is")
    (event, *_) = sky.audit_log(1)
    assert event.note == {"to": "milton", "covers": "tag zanzibar", "reason": "zanzibar it is"}
    assert "zanzibar" not in "".join(
        body for body, _ in events.bodies(sky._scope.store.database.reader())
    )


def test_erased_words_leave_with_their_grants(sky: Operator, milton: Memory) -> None:
    """P5: grants that name an erased record, tag or user are taken out, and the trail agrees."""
    record = fact(sky, "the boiler is old")
    numbers = [
        sky.grant("milton", **what).number
        for what in ({"record": record.id}, {"tag": "zanzibar"}, {"layer": "world"})
    ]
    sky.revoke_grant(numbers[1])
    with sky._scope.store.change(sky.actor, "test", sky._scope.clock()) as transaction:
        assert grants.remove(transaction, [record.id], ["zanzibar"], "ana") == numbers[:2]
        assert len(grants.ending(transaction.cursor.connection, numbers)) == 1
    assert [one.number for one in sky.grants(include_ended=True)] == numbers[2:]
    assert verified(sky)
    assert sky.grant("milton", tag="house").number > max(numbers)


def test_an_export_carries_grants(
    desk: Desk, sky: Operator, milton: Memory, tmp_path: Path
) -> None:
    """P3, H5: restored by an operator who trusts the file they hold as before, to the byte;
    otherwise they do not come."""
    fact(sky, "the boiler is old")
    sky.revoke_grant(sky.grant("milton", tag="house").number)
    sky.grant("milton", layer="semantic", expires=START + timedelta(days=30))
    first = sky.export(tmp_path / "first.json")
    with Desk(tmp_path / "other", desk.clock) as other:
        restored = other.operator("sky")
        report = restored.import_(first, trust=True)
        assert (report["mode"], report["grants"]) == ("restored", 1)
        assert restored.export(tmp_path / "second.json").read_bytes() == first.read_bytes()
        assert restored.grants(include_ended=True) == sky.grants(include_ended=True)
        assert verified(restored)
        assert seen(other.agent("milton").shared("sky")) == {"the boiler is old"}
        merged = other.operator("aegis")
        assert merged.import_(first, trust=True)["left_out"]["grants"] == 1
        assert merged.grants(include_ended=True) == []


def test_an_export_with_altered_grants_is_refused(
    desk: Desk, sky: Operator, milton: Memory, tmp_path: Path
) -> None:
    """P3, H5: a grant that was put into the file, changed in it or taken out of it
    makes it altered."""
    sky.grant("milton", tag="house")
    export = json.loads(sky.export(tmp_path / "export.json").read_text("utf-8"))
    (grant,) = export["grants"]
    for altered in (
        [],
        [{**grant, "tag": "diary"}],
        [grant, {**grant, "number": 9}],
        [{**grant, "layer": "world"}],
    ):
        (tmp_path / "altered.json").write_text(json.dumps({**export, "grants": altered}), "utf-8")
        with Desk(tmp_path / "other", desk.clock) as other:
            assert (
                message(other.operator("sky").import_, tmp_path / "altered.json", True)["error"][
                    "code"
                ]
                == "corrupt"
            )


@pytest.mark.parametrize(
    "told",
    [5, [5], [{}], [{"grant": []}], [{"grant": {}, "hash": "x"}], [{"grant": "x", "hash": 7}]],
)
def test_a_chain_that_tells_nonsense_of_grants_is_refused(
    desk: Desk, sky: Operator, tmp_path: Path, told: Any
) -> None:
    """P3, P4: also when its hashes are right."""
    sky.remember("tea")
    export = json.loads(sky.export(tmp_path / "export.json").read_text("utf-8"))
    body = {**json.loads(export["events"][0]["body"]), "details": {"grants": told}}
    encoded = hashing.encode(body)
    export["events"] = [
        {"body": encoded.decode(), "hash": hashing.chain_hash(sky._scope.store.seed, encoded).hex()}
    ]
    (tmp_path / "export.json").write_text(json.dumps(export), "utf-8")
    with Desk(tmp_path / "other", desk.clock) as other:
        assert (
            message(other.operator("sky").import_, tmp_path / "export.json", True)["error"]["code"]
            == "corrupt"
        )


def test_a_store_that_cannot_be_read_is_told(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3: what the others share is listed all the same."""
    sky.grant("milton", layer="semantic")
    (desk.home / "agents" / "broken").mkdir()
    (desk.home / "agents" / "broken" / "memory.db").write_bytes(b"no database at all" * 100)
    assert [one.giver for one in milton.sharing()] == ["sky"]
    assert ["broken" in problem for problem in milton.status()["problems"]] == [True]


def test_an_old_store_is_left_as_it_is(desk: Desk, milton: Memory) -> None:
    """P3: a store from before grants shares nothing, and is not migrated by who asks."""
    folder = desk.home / "agents" / "sky"
    folder.mkdir(mode=0o700)
    old = Path(__file__).parents[2] / "golden" / "schema_4.db"
    (folder / "memory.db").write_bytes(old.read_bytes())
    assert milton.sharing() == []
    assert message(milton.shared, "sky")["error"]["code"] == "not_found"
    assert (folder / "memory.db").read_bytes() == old.read_bytes()


def test_what_is_not_shared_orders_nothing(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P3, Q5: facts that a guest may not see say nothing about which of two shared turns is the
    newer truth."""
    question = "where do I work as an engineer"
    turns = [
        sky.remember(
            f"I work at {firm} as an engineer",
            layer="episodic",
            tags=["house"],
            importance=importance,
            at=at,
        )
        for firm, importance, at in (
            ("Initech", 1.0, START - timedelta(days=20)),
            ("Acme", 0.1, START - timedelta(days=10)),
        )
    ]
    sky.grant("milton", tag="house")
    guest = milton.shared("sky")
    now = desk.clock.now
    before = guest.search(question).to_dict()
    assert not any("renewed" in hit.parts for hit in sky.search(question, tags=["house"]))
    facts = [
        sky.remember(
            f"job: {record.content}",
            layer="semantic",
            metadata={**CONTRACTS["semantic"], "attribute": "job", "subject": "I"},
            evidence=[record.id],
            at=record.occurred_at,
        )
        for record in turns
    ]
    supersede(sky, facts[0].id, facts[1].id)
    desk.clock.set(now)
    assert guest.search(question).to_dict() == before
    assert any("renewed" in hit.parts for hit in sky.search(question, tags=["house"]))


def test_violations_are_shown(desk: Desk, sky: Operator, milton: Memory) -> None:
    """P2: newest first, counted by what was tried; a line that is none is counted
    and breaks nothing."""
    record = fact(sky, "the boiler is old")
    for call in (
        lambda: milton.get(record.id),
        lambda: milton.shared("sky"),
        lambda: milton.shared("Ob'scure"),
    ):
        message(call)
    with (desk.home / "violations.jsonl").open("ab") as log:
        log.write(b'\xff\xfe\n{"at": 5}\nnonsense\n')
    message(milton.shared, "aegis")
    found = sky.audit_violations(limit=2)
    assert [one.value for one in found.entries] == ["'aegis'", '"Ob\'scure"']
    assert found.unreadable == 3
    assert sky.status()["violations"] == 7
    assert sky.status()["violations_by_attempt"] == {
        "unreadable line": 3,
        "reach an agent that shares nothing": 2,
        "agent name … is not allowed": 1,
        "reach another agent's record": 1,
    }
    with pytest.raises(Refused):
        desk.operator("sky", "ana").audit_violations()


def test_a_restored_backup_gives_nothing_back(desk: Desk) -> None:
    """P3: a grant that was ended since the backup was made stays ended."""
    operator = desk.operator()
    desk.agent("sentinel").close()
    kept, ended = (
        operator.grant("sentinel", layer="semantic"),
        operator.grant("sentinel", tag="tea"),
    )
    backup = operator.backup()
    operator.revoke_grant(ended.number)
    operator.restore(backup)
    assert [one.number for one in operator.grants()] == [kept.number]
    assert operator.audit_verify()["events"].ok
