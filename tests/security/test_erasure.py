"""Erasure (P5): a word that only one memory has is found in no byte of the home afterwards, however it is looked for."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lamina
from lamina import Memory, Operator
from tests.conftest import Desk

MARK = "zanzibarite4711"
STAYS = "lapislazuli"
SETTINGS = {"mirrors.jsonl": "sky", "runs.episodes": True}


def forms(word: str) -> Iterator[bytes]:
    """How a word may stand in bytes: plain, in UTF-16, and as base64 from each of its three beginnings."""
    yield word.encode()
    yield word.encode("utf-16-le")
    for start in range(3):
        coded = base64.b64encode(b"\0" * start + word.encode())
        yield coded[(0, 2, 3)[start] : -4]


def holding(home: Path, word: str) -> list[str]:
    """The files that hold a word in any form and any case."""
    found = []
    for path in sorted(home.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            small = data.lower()
            if any(form in data or form.lower() in small for form in forms(word)):
                found.append(str(path.relative_to(home)))
    return found


def as_content(memory: Memory) -> str:
    return memory.remember(f"the key to the {MARK} lies under the mat").id


def as_tag(memory: Memory) -> str:
    return memory.remember("something with a label", tags=[MARK, "garden"]).id


def as_speaker(memory: Memory) -> str:
    turns = [{"speaker": f"Mr {MARK}", "text": "I moved to Lisbon."}, {"speaker": "Ben", "text": "Good for you."}]
    return memory.remember_conversation(turns, session="talk", keep_raw=True)[0].id


def as_metadata(memory: Memory) -> str:
    return memory.remember("a visit", metadata={"place": {"name": ["near", MARK]}}).id


def as_source(memory: Memory) -> str:
    return memory.remember("a page", source=f"web:{MARK}.example").id


def as_key(memory: Memory) -> str:
    return memory.remember("a retried call", key=f"call-{MARK}").id


def as_evidence(memory: Memory) -> str:
    return memory.remember("a file", evidence=[f"/srv/{MARK}.pdf"]).id


def as_accented(memory: Memory) -> str:
    return memory.remember(f"Das {MARK.upper()} gehört Ana").id


PLACES: list[Callable[[Memory], str]] = [
    as_content,
    as_tag,
    as_speaker,
    as_metadata,
    as_source,
    as_key,
    as_evidence,
    as_accented,
]


def lived_in(desk: Desk, place: Callable[[Memory], str]) -> tuple[Operator, str]:
    """A home in which a memory was read, indexed, proposed from, copied and slept over."""
    operator = desk.operator(settings=SETTINGS)
    operator.remember(f"the neighbour has a {STAYS} in his garden")
    record_id = place(operator)
    for number in range(300):
        operator.remember(f"memory {number} of an ordinary day")
    operator.search(MARK)
    operator.search(f"who has the {MARK}?", ranker="keyword")
    operator.query_relevant(MARK)
    operator.index()
    proposal = operator.propose_profile("hides", f"a {MARK}", f"said {MARK}", [record_id])
    operator.confirm(proposal.id, f"because of {MARK}")
    operator.forget(proposal.id, f"no more {MARK}")
    operator.run_once()
    operator.sleep()
    operator.pending()
    operator.export()
    operator.backup()
    return operator, record_id


@pytest.mark.parametrize("place", PLACES)
def test_a_word_that_only_one_memory_has_is_found_nowhere_afterwards(desk: Desk, place: Callable[[Memory], str]) -> None:
    """P5: content, tag, speaker, metadata, source, key, evidence, queries and reasons leave every byte of the home."""
    operator, record_id = lived_in(desk, place)
    assert len(holding(desk.home, MARK)) > 3
    certificate = operator.erase(record_id)
    assert certificate.unreached == []
    assert holding(desk.home, MARK) == []
    assert holding(desk.home, STAYS) != []
    operator.reindex()
    operator.index()
    operator.backup()
    operator.run_once()
    operator.sleep()
    operator.close()
    assert holding(desk.home, MARK) == []
    again = desk.operator(settings=SETTINGS)
    assert all(report.ok for report in again.audit_verify().values())
    assert again.get(record_id).content == "[erased]"
    assert again.search(STAYS).outcome == "found"
    again.close()
    assert holding(desk.home, MARK) == []


def test_an_archived_memory_leaves_its_file(desk: Desk) -> None:
    """P5, P1: what lies in the archive is erased there; its neighbours in the file stay, and are still what was archived."""
    operator = desk.operator()
    gone = operator.remember(f"old news of {MARK}", tags=["old"])
    kept = operator.remember(f"old news of {STAYS}", tags=["old"])
    alone = operator.remember(f"more of {MARK}", tags=["older"])
    operator.prune(tags=["old"])
    operator.prune(tags=["older"])
    certificate = operator.erase(gone.id, alone.id)
    assert (certificate.asked_for, certificate.unreached) == (2, [])
    assert holding(desk.home, MARK) == []
    assert operator.get(kept.id).archived is not None
    assert [record.id for record in operator.search_archive("old news")] == [kept.id]
    assert operator.audit_verify()["events"].ok
    assert [change.after.get("erased") for event in operator.history(gone.id)[-1:] for change in event.changes] == [1]


def test_an_import_does_not_bring_it_back(desk: Desk, tmp_path: Path) -> None:
    """P5: neither an export from before, nor its lines without ids, nor a retry with the same key."""
    operator = desk.operator(settings=SETTINGS)
    gone = operator.remember(f"the {MARK} is here", key="call-1")
    operator.remember("an ordinary day")
    export = operator.export(tmp_path / "before.json")
    operator.sync_mirrors()
    lines = tmp_path / "lines.jsonl"
    written = (desk.folder() / "jsonl" / "short_term.jsonl").read_text().splitlines()
    lines.write_text(
        "".join(json.dumps({**json.loads(line), "id": f"old-{place}"}) + "\n" for place, line in enumerate(written))
    )
    certificate = operator.erase(gone.id)
    assert [one["place"] for one in certificate.unreached] == [str(export)]
    assert operator.import_(export)["taken"] == 0
    report = operator.import_(lines)
    assert (report["taken"], [one["message"] for one in report["rejected"]]) == (
        1,
        ["what this says was erased here; an import does not bring it back"],
    )
    with pytest.raises(lamina.Conflict, match="erased"):
        operator.remember("something else", key="call-1")
    operator.close()
    assert holding(desk.home, MARK) == []


def test_a_restored_backup_does_not_bring_it_back(desk: Desk, tmp_path: Path) -> None:
    """P5: a backup from elsewhere that still has it is restored without it."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here")
    archived = operator.remember(f"and {MARK} was there", tags=["old"])
    operator.prune(tags=["old"])
    elsewhere = operator.backup(tmp_path / "usb")
    operator.erase(gone.id, archived.id)
    assert operator.restore(elsewhere)["erased_again"] == 2
    assert operator.get(gone.id).kind == "erased"
    assert operator.audit_verify()["events"].ok
    operator.close()
    assert holding(desk.home, MARK) == []


def test_everything_of_a_user_goes_in_one_step(desk: Desk) -> None:
    """P5: `erase(user=…)` answers a request: her memories, her queries, what was shared with or made of them."""
    operator, other = desk.operator(), desk.agent(user="ben")
    hers = desk.agent(user=f"ana-{MARK}")
    said = hers.remember(f"I hide a {MARK}")
    hers.search("where is it?")
    hers.propose_profile("hides", MARK, "she said so", [said.id])
    his = other.remember(f"Ben likes {STAYS}")
    operator.remember("nobody's memory")
    hers.close()
    certificate = operator.erase(user=f"ana-{MARK}")
    assert certificate.asked_for == 2
    assert operator.erasable(his.id)["records"] == [his.id]
    operator.close()
    assert holding(desk.home, MARK) == []
    assert other.get(his.id).content == f"Ben likes {STAYS}"
    with pytest.raises(lamina.NotFound):
        other.get(said.id)


def test_a_grant_on_an_erased_tag_goes_with_it(desk: Desk) -> None:
    """P3, P5: a grant says what it gives; when nothing has that tag any more, the grant is gone too."""
    operator = desk.operator()
    desk.agent("sentinel").close()
    gone = operator.remember("a secret garden", tags=[MARK])
    operator.grant("sentinel", tag=MARK)
    operator.grant("sentinel", record=gone.id)
    operator.erase(gone.id)
    assert operator.grants(include_ended=True) == []
    assert operator.audit_verify()["events"].ok
    operator.close()
    assert holding(desk.home, MARK) == []


def test_what_was_learned_is_forgotten(desk: Desk) -> None:
    """P5: a model of importance that has learned words of an erased memory is dropped."""
    operator = desk.operator()
    ids = []
    for number in range(60):
        ids.append(operator.remember(f"a {MARK} on day {number}" if number % 2 else f"a dull day {number}").id)
        if number % 2:
            operator.get(ids[-1])
        else:
            operator.forget(ids[-1])
    operator._store.reads.flush()
    operator.learn()
    operator.erase(*ids[1::2])
    assert operator._store.learned("importance") is None
    operator.close()
    assert holding(desk.home, MARK) == []


def test_violations_are_masked_where_they_stand(desk: Desk) -> None:
    """P2, P5: a violation that names an erased word stays a violation."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here")
    desk.home.joinpath("violations.jsonl").write_text(f'{{"at":"x","value":"{MARK}"}}\n{{"value":"{STAYS}"}}\n')
    operator.erase(gone.id)
    assert [MARK in line for line in desk.violations()] == [False, False]
    assert STAYS in desk.violations()[1]


def test_a_file_that_nobody_knows_is_named(desk: Desk) -> None:
    """P5: the certificate lists what it could not reach, and the program says so."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here")
    stray = desk.folder() / "notes-of-ana.txt"
    stray.write_text(f"do not forget {MARK}")
    certificate = operator.erase(gone.id)
    assert not certificate.is_complete
    assert [one["place"] for one in certificate.unreached] == ["agents/sky/notes-of-ana.txt"]
    assert MARK not in str(certificate.to_dict())
    assert {path.name: MARK in path.read_text() for path in (desk.folder() / "erasures").iterdir()} == {"0001.json": False}
