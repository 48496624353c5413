"""Rejected values stay rejected (V6), whoever brings them back, in whatever disguise and by
whatever path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.engines.promotion import Action
from lamina.errors import InvalidInput, NotFound, Refused
from lamina.model.record import Layer, Record, State
from tests.cases import every
from tests.conftest import Desk

# The value "peanut oil", as it may come back: one disguise of each kind that a reader would not
# notice.
DISGUISES = [
    *(
        "Peanut Oil",
        "PEANUT OIL",
        "pEaNuT oIl",
        "peanut  oil",
        " peanut oil ",
        "peanut\toil",
        "peanut\u00a0oil",
        "peanut\u2003oil",
    ),
    *(
        "peanut\u3000oil",
        "peanut-oil",
        "peanut_oil",
        "peanut, oil",
        "peanut oil.",
        "peanut oil!",
        '"peanut oil"',
        "«peanut oil»",
    ),
    *(
        "(peanut oil)",
        "peanutoil",
        "p.e.a.n.u.t oil",
        "ｐｅａｎｕｔ ｏｉｌ",
        "ＰＥＡＮＵＴ　ＯＩＬ",
        "pea\u00adnut oil",
        "pea\u200bnut oil",
    ),
    *(
        "pea\u200cnut oil",
        "pea\u200dnut oil",
        "pea\u2060nut oil",
        "\ufeffpeanut oil",
        "peanut\u034f oil",
        "\u202epeanut oil\u202c",
    ),
    *(
        "\u2066peanut oil\u2069",
        "peanut \u200foil",
        "peanut\U000e0061 oil",
        "\U000e0001peanut oil\U000e007f",
        "peanut\ufe0f oil",
    ),
    *(
        "pe\u0301anut oil",
        "péanut oil",
        "peänut oil",
        "pean\u0308ut oil",
        "pëänüt öïl",
        "рeanut oil",
        "pеanut oil",
        "peаnut oil",
    ),
    *(
        "peanut оil",
        "рeаnut оіl",
        "ρeanut oil",
        "peanut οil",
        "ᴘᴇᴀɴᴜᴛ oil",
        "𝐩𝐞𝐚𝐧𝐮𝐭 𝐨𝐢𝐥",
        "𝓅ℯ𝒶𝓃𝓊𝓉 oil",
        "ⓟⓔⓐⓝⓤⓣ ⓞⓘⓛ",
    ),
    *(
        "pеanut\u200b  ОIL",
        "peanut o1l",
        "pean\u0075t 0il",
        "peanut\n\noil",
        "pe\u2064anut oil",
        "peanut oil\u2028",
        "ᵖᵉᵃⁿᵘᵗ oil",
    ),
]


def rejected(
    mem: Memory, op: Operator, key: str = "cooks_with", value: Any = "peanut oil"
) -> Record:
    said = mem.remember("we cook with peanut oil")
    waiting = mem.propose_profile(key, value, "said so", [said.id])
    return op.reject(waiting.id, "an allergy in the house")


def test_there_are_enough_disguises() -> None:
    """The list is what it says: at least fifty different spellings."""
    assert len(set(DISGUISES)) == len(DISGUISES) >= 50


@every("disguise", DISGUISES)
def test_no_disguise_comes_back_by_proposing(mem: Memory, op: Operator, disguise: str) -> None:
    """V6: the same value in any disguise is refused to the agent and to the operator, and leaves
    nothing behind."""
    rejected(mem, op)
    said = mem.remember("again")
    before = op.status()["records"]
    for propose in (mem.propose_profile, op.propose_profile):
        with pytest.raises(Refused, match="rejected"):
            propose("cooks_with", disguise, "said so", [said.id])
        with pytest.raises(Refused, match="rejected"):
            propose("Cooks_With", [disguise], "said so", [said.id])
    assert op.status()["records"] == before
    assert not op.proposals()


def test_no_disguise_comes_back_by_any_path(
    desk: Desk, mem: Memory, op: Operator, tmp_path: Path
) -> None:
    """V6: upsert, compression, import of both kinds, remembering, correcting: refused, or kept
    where it is not believed."""
    first = rejected(mem, op)
    for disguise in DISGUISES:
        said = mem.remember("again")
        for handle in (mem, op):
            with pytest.raises(Refused, match=first.id):
                handle.upsert_user_profile({"cooks_with": disguise}, [said.id])
        contract = {"profile_key": "cooks_with", "value": disguise, "reason": "so"}
        with pytest.raises(Refused, match=first.id):
            op.remember(
                f"cooks_with: {disguise}", layer="profile", metadata=contract, evidence=[said.id]
            )
        mem.remember(
            disguise, kind="preference", metadata={"profile_key": "cooks_with", "value": disguise}
        )
    lines = [
        {
            "content": d,
            "type": "long",
            "layer": "profile",
            "metadata": {"profile_key": "cooks_with", "value": d, "reason": "x"},
        }
        for d in DISGUISES
    ]
    file = tmp_path / "lines.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    op.import_(file, trust=True)
    desk.clock.jump(desk.clock.step * 1_000_000)
    for handle in (mem, op):
        handle.compress_short_to_long(cutoff_hours=1)
    others = desk.operator("sky", home=tmp_path / "other")
    said = others.remember("elsewhere")
    for disguise in DISGUISES:
        others.upsert_user_profile({"cooks_with": disguise}, [said.id])
    op.import_(others.export(tmp_path / "other.json"), trust=True)
    believed = op.list(layers=["profile"], states=["active", "constrained"], limit=1000)
    assert not [record for record in believed if record.metadata["profile_key"] == "cooks_with"]
    assert "cooks_with" not in op.user_profile().preferences
    assert op.audit_verify()["events"].ok


def test_rejecting_a_compaction_bars_the_joining_alone(mem: Memory, op: Operator) -> None:
    """V2, V6: the same records are not proposed to be joined again, and what they say stays
    as it is."""
    contract = {"origin": "test", "topic_tags": ["boiler"]}
    facts = [
        op.remember(said, layer="semantic", metadata=contract)
        for said in ("The boiler is off", "the boiler is off!")
    ]
    (group,) = mem.compact(create_proposals=True)
    op.reject(group["proposal"], "two boilers")
    (again,) = mem.compact(create_proposals=True)
    assert (again["outcome"], again["rejected"]) == ("rejected before", group["proposal"])
    assert [op.get(fact.id).state for fact in facts] == [State.ACTIVE] * 2
    assert (
        op.remember("The boiler is off", layer="semantic", metadata=contract).state is State.ACTIVE
    )


def test_a_rejected_semantic_value_is_promoted_as_what_happened(mem: Memory, op: Operator) -> None:
    """V6, V8: promotion does not make a fact of what a person rejected as one."""
    op.remember(
        "placeholder", layer="semantic", source="web", metadata={"origin": "test", "topic_tags": []}
    )
    (quarantined,) = op.revoke("web", "not believed")
    op.reject(quarantined.id, "made up")
    told = mem.remember("PlaceHolder", kind="fact", importance=0.9)
    (decision,) = [one for one in mem.plan_promotion() if one.action is Action.PROMOTE]
    assert decision.layer is Layer.EPISODIC
    assert quarantined.id in decision.rule
    mem.run_once()
    assert mem.get(told.id).layer is Layer.EPISODIC
    mem.close()
    assert [read.action for read in op.audit_reads(5)].count("refused") == 1


def test_a_paraphrase_is_let_through_and_shown_as_similar(mem: Memory, op: Operator) -> None:
    """V6: another value is another value; the reviewer sees what was rejected for the same key."""
    first = rejected(mem, op)
    said = mem.remember("it is oil of ground nuts")
    mem.propose_profile("cooks_with", "oil pressed from groundnuts", "said so", [said.id])
    (waiting,) = op.proposals()
    assert [one.id for one in waiting.similar] == [first.id]
    assert waiting.problem is None


def test_what_is_refused_is_told_in_the_trail(mem: Memory, op: Operator) -> None:
    """V6: who tried it again, and what was rejected, stands in the trail of reads."""
    first = rejected(mem, op)
    with pytest.raises(Refused):
        mem.upsert_user_profile({"cooks_with": "PEANUT OIL"}, [mem.remember("x").id])
    mem.close()
    read = next(one for one in op.audit_reads() if one.action == "refused")
    assert read.records == (first.id,)
    assert str(read.actor) == str(mem.actor)
    assert read.note["by"] == "profile.upsert"


def test_lifting_lets_a_value_in_again(mem: Memory, op: Operator) -> None:
    """V6: after `lift` with a reason it can be proposed and confirmed; lifting twice is refused."""
    first = rejected(mem, op)
    with pytest.raises(InvalidInput, match="reason"):
        op.lift(first.id, " ")
    assert op.lift(first.id, "the guest has left").state is State.TOMBSTONED
    with pytest.raises(Refused, match="kept out"):
        op.lift(first.id, "again")
    waiting = mem.propose_profile("cooks_with", "Peanut oil", "said so", [mem.remember("x").id])
    assert op.confirm(waiting.id).state is State.ACTIVE
    assert op.audit_verify()["events"].ok
    with pytest.raises(NotFound):
        op.lift("0" * 26, "why")


def test_rejecting_again_after_lifting_bars_again(mem: Memory, op: Operator) -> None:
    """V6: the last decision counts."""
    op.lift(rejected(mem, op).id, "perhaps")
    second = rejected(mem, op)
    with pytest.raises(Refused, match=second.id):
        mem.propose_profile("cooks_with", "peanut-oil", "said so", [mem.remember("x").id])
    assert op.audit_verify()["events"].ok


def test_users_do_not_bar_each_other(desk: Desk) -> None:
    """V6, R12: what was rejected for one person may be true of another; what concerns everybody
    bars it for each."""
    ana, ben, op = desk.agent(user="ana"), desk.agent(user="ben"), desk.operator()
    waiting = ana.propose_profile("diet", "vegan", "said so", [ana.remember("x").id])
    op.reject(waiting.id, "she is not")
    ben.propose_profile("diet", "vegan", "said so", [ben.remember("x").id])
    nobody = desk.agent()
    with pytest.raises(Refused):
        nobody.propose_profile("diet", "vegan", "said so", [nobody.remember("x").id])
    other = nobody.propose_profile("diet", "raw", "said so", [nobody.remember("x").id])
    op.reject(other.id, "nobody is")
    with pytest.raises(Refused):
        ben.propose_profile("diet", "RAW", "said so", [ben.remember("x").id])


def test_a_line_that_is_active_is_not_barred_with_its_list(mem: Memory, op: Operator) -> None:
    """V6: rejecting a longer list keeps out what is new in it, and nothing that is known."""
    said = op.remember("x")
    op.upsert_user_profile({"interests": ["chess"]}, [said.id])
    waiting = mem.propose_profile("interests", ["chess", "betting"], "said so", [said.id])
    op.reject(waiting.id, "no betting")
    op.upsert_user_profile({"interests": ["chess", "go"]}, [said.id])
    with pytest.raises(Refused):
        op.upsert_user_profile({"interests": ["go", "Betting"]}, [said.id])
    assert op.user_profile().interests == ["chess", "go"]


def test_rejections_survive_export_backup_and_migration(
    desk: Desk, mem: Memory, op: Operator, tmp_path: Path
) -> None:
    """V6, B5: the values are kept out wherever the store goes."""
    rejected(mem, op)
    file = op.export(tmp_path / "all.json")
    backup = op.backup(tmp_path / "backup")
    copy = desk.operator("sky", home=tmp_path / "copy")
    assert copy.import_(file, trust=True)["mode"] == "restored"
    mem.remember("later")
    op.restore(backup)
    for handle in (copy, op):
        with pytest.raises(Refused, match="rejected"):
            handle.propose_profile("cooks_with", "peanut OIL", "said so")
        assert handle.audit_verify()["events"].ok


def test_a_removed_rejection_is_noticed(desk: Desk, mem: Memory, op: Operator) -> None:
    """P4: the table of rejected values is checked against the events, in both directions."""
    import apsw

    first = rejected(mem, op)
    op.close()
    mem.close()
    path = str(desk.folder() / "memory.db")
    connection = apsw.Connection(path)
    connection.execute("DELETE FROM rejected")
    connection.close()
    report = desk.operator().audit_verify()["events"]
    assert [problem.place for problem in report.problems] == [
        f"rejected value of record {first.id}"
    ]
