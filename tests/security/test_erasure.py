"""Erasure (P5): a word that only one memory has is found in no byte of the home afterwards, however
it is looked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import lamina
from lamina import Memory, Operator
from lamina.home.tokens import Tokens
from lamina.memory import opening as handles
from lamina.memory.sleep.facts import FactWriter
from lamina.store.index import whole
from lamina.store.tables import learned
from tests.conftest import Desk
from tests.security.erasing import MARK, STAYS, holding

SETTINGS = {"mirrors.jsonl": "sky", "runs.episodes": True}


def as_content(memory: Memory) -> str:
    return memory.remember(f"the key to the {MARK} lies under the mat").id


def as_tag(memory: Memory) -> str:
    return memory.remember("something with a label", tags=[MARK, "garden"]).id


def as_speaker(memory: Memory) -> str:
    turns = [
        {"speaker": f"Mr {MARK}", "text": "I moved to Lisbon."},
        {"speaker": "Ben", "text": "Good for you."},
    ]
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
def test_a_word_that_only_one_memory_has_is_found_nowhere_afterwards(
    desk: Desk, place: Callable[[Memory], str]
) -> None:
    """P5: content, tag, speaker, metadata, source, key, evidence, queries and reasons leave every
    byte of the home."""
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
    """P5, P1: what lies in the archive is erased there; its neighbours in the file stay, and are
    still what was archived."""
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
    assert [
        change.after.get("erased")
        for event in operator.history(gone.id)[-1:]
        for change in event.changes
    ] == [1]


def test_an_import_does_not_bring_it_back(desk: Desk, tmp_path: Path) -> None:
    """P5: neither an export from before, nor its lines without ids, nor a retry with
    the same key."""
    operator = desk.operator(settings=SETTINGS)
    gone = operator.remember(f"the {MARK} is here", key="call-1")
    operator.remember("an ordinary day")
    export = operator.export(tmp_path / "before.json")
    operator.sync_mirrors()
    lines = tmp_path / "lines.jsonl"
    written = (desk.folder() / "jsonl" / "short_term.jsonl").read_text().splitlines()
    lines.write_text(
        "".join(
            json.dumps({**json.loads(line), "id": f"old-{place}"}) + "\n"
            for place, line in enumerate(written)
        )
    )
    certificate = operator.erase(gone.id)
    assert [one["place"] for one in certificate.unreached] == [str(export)]
    assert operator.import_(export)["taken"] == 0
    report = operator.import_(lines)
    assert (report["taken"], [one["message"] for one in report["rejected"]]) == (
        1,
        ["this text was erased here; an import does not bring it back"],
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
    """P5: `erase(user=…)` answers a request: her memories, her queries, what was shared with or
    made of them."""
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
    """P3, P5: a grant says what it gives; when nothing has that tag any more, the grant
    is gone too."""
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
        ids.append(
            operator.remember(
                f"a {MARK} on day {number}" if number % 2 else f"a dull day {number}"
            ).id
        )
        if number % 2:
            operator.get(ids[-1])
        else:
            operator.forget(ids[-1])
    operator._scope.store.reads.flush()
    operator.learn()
    operator.erase(*ids[1::2])
    assert learned.load(operator._scope.store.database.reader(), "importance") is None
    operator.close()
    assert holding(desk.home, MARK) == []


def test_violations_are_masked_where_they_stand(desk: Desk) -> None:
    """P2, P5: a violation that names an erased word stays a violation."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here")
    desk.home.joinpath("violations.jsonl").write_text(
        f'{{"at":"x","value":"{MARK}"}}\n{{"value":"{STAYS}"}}\n'
    )
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
    assert {
        path.name: MARK in path.read_text() for path in (desk.folder() / "erasures").iterdir()
    } == {"0001.json": False}


EVERYDAY = "we went to the market and then we came home again"


def told_by_everybody(operator: Operator) -> None:
    """Memories that have every word of the sentence, in other orders."""
    for said in (
        "then home to the market",
        "we came again",
        "and we went",
        "the market again, and then home we came to",
    ):
        operator.remember(said)


@pytest.mark.parametrize(
    "said",
    [EVERYDAY, "昨天我们去了市场然后回家", "Занзибарит лежит в подвале", "Ünüvar gehört dazu"],
)
def test_a_sentence_is_known_by_its_order_and_in_every_script(desk: Desk, said: str) -> None:
    """P5, Q8: everyday words, words with accents and scripts without spaces are looked
    for as well."""
    operator = desk.operator()
    told_by_everybody(operator)
    gone = operator.remember(said)
    kept = operator.remember("something else", evidence=[gone.id, operator.remember("a page").id])
    operator.search(said)
    operator.forget(kept.id, f"because {said.upper()}")
    stray = desk.folder() / "stray.json"
    stray.write_text(json.dumps({"said": said}))
    damaged = desk.folder() / "damaged" / "1"
    damaged.mkdir(parents=True)
    (damaged / "memory.db").write_bytes(b"\0\1" + said.encode() + b"\0")
    certificate = operator.erase(gone.id)
    assert [one["place"] for one in certificate.unreached] == ["agents/sky/stray.json"]
    assert not damaged.exists()
    operator.close()
    for path in desk.home.rglob("*"):
        assert path == stray or not path.is_file() or said.encode() not in path.read_bytes()
    again = desk.operator()
    assert again.search("market").outcome == "found"
    assert all(read.note.get("query") != said for read in again.audit_reads(100))
    assert again.history(kept.id)[-1].reason is None


def test_what_sleeps_meanwhile_does_not_bring_it_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5, S1: a turn that is erased while sleep reads it becomes no fact."""
    operator, other = desk.operator(), desk.operator()
    operator.remember_conversation(
        [{"speaker": "Ana", "text": f"I live in {MARK.title()}."}], session="s1"
    )
    said = FactWriter._said

    def erased_meanwhile(self: FactWriter, *given: Any) -> Any:
        found = list(said(self, *given))
        monkeypatch.setattr(FactWriter, "_said", said)
        other.erase(session="s1")
        return iter(found)

    monkeypatch.setattr(FactWriter, "_said", erased_meanwhile)
    operator.sleep()
    assert operator.facts() == []
    operator.close()
    other.close()
    assert holding(desk.home, MARK) == []


def test_what_was_read_before_is_not_stored_after(desk: Desk) -> None:
    """P5: a model that was learned, a vector that was made and an ending that was told meanwhile
    are not kept."""
    operator, other = desk.operator(), desk.operator()
    with operator.run(f"find the {MARK}") as run:
        run.note("looking")
        other.erase(run.id)
    (ending,) = operator.list(layers=["episodic"])
    assert MARK not in ending.content
    gone = operator.remember(f"the {MARK} is here")
    with operator._scope.store.database.moment() as connection:
        waiting = whole.unseen(connection, 0, 100)
    other.erase(gone.id)
    operator.index()
    numbers = {
        number
        for (number,) in operator._scope.store.database.reader().execute(
            "SELECT record FROM vectors"
        )
    }
    assert gone.seq in {number for number, _ in waiting}
    assert gone.seq not in numbers
    operator.close()
    other.close()
    assert holding(desk.home, MARK) == []


def test_two_who_erase_the_same_do_not_disturb_each_other(desk: Desk) -> None:
    """P5: who comes second is told that it is gone, and whatever is erased later is erased."""
    handles = [desk.operator(), desk.operator()]
    gone, later = (
        handles[0].remember(f"the {MARK} is here"),
        handles[0].remember("and something else"),
    )

    def erased(operator: Operator) -> int | str:
        try:
            return operator.erase(gone.id).number
        except lamina.NotFound as error:
            return error.code

    with ThreadPoolExecutor(2) as people:
        assert {*people.map(erased, handles)} == {1, "not_found"}
    assert handles[0].erase(later.id).number == 2
    assert handles[0].status()["problems"] == []


def test_no_copy_holds_what_was_looked_for(desk: Desk) -> None:
    """P5: the list of words that an erasure looks for is in no backup, and gone when it is done."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here")
    operator.backup()
    operator.erase(gone.id)
    assert [path.name for path in (desk.folder() / "erasures").iterdir()] == ["0001.json"]
    (copy,) = (desk.folder() / "backups").iterdir()
    with closing(apsw.Connection(str(copy / "memory.db"))) as connection:
        assert MARK not in str(list(connection.execute("SELECT todo FROM erasures")))
        assert "known" not in str(
            list(connection.execute("SELECT todo FROM erasures WHERE todo LIKE '%words%'"))
        )


@pytest.mark.parametrize("reads", ["buffered", "strict"])
def test_what_others_asked_just_before_goes_too(desk: Desk, reads: str) -> None:
    """P5: a question that another handle has not yet written is written without its words, and
    later ones whole."""
    settings = {"audit.reads": reads}
    operator, asking = desk.operator(settings=settings), desk.agent(user="ben", settings=settings)
    gone = operator.remember(f"the {MARK} is here")
    asking.search(f"where is the {MARK}?")
    assert operator.erase(gone.id).is_complete
    asking.search(f"where is the {STAYS}?")
    asking.close()
    assert holding(desk.home, MARK) == []
    told = [
        read.note.get("query", "") for read in operator.audit_reads() if read.action == "search"
    ]
    assert [STAYS in query for query in told] == [True, False]
    assert operator.audit_verify()["reads"].ok


def test_a_guests_questions_go_too(desk: Desk) -> None:
    """P3, P5: what another agent asked, where something was shared, leaves that agent's trail."""
    operator = desk.operator()
    gone = operator.remember(f"the {MARK} is here", tags=["shared"])
    guest = desk.agent("sentinel")
    operator.grant("sentinel", tag="shared")
    guest.shared("sky").search(f"where is the {MARK}?")
    guest.close()
    assert operator.erase(gone.id).is_complete
    operator.close()
    assert holding(desk.home, MARK) == []
    with lamina.operator("sentinel", home=desk.home) as other:
        assert other.audit_verify()["reads"].ok


def test_a_user_who_only_asked_is_erased_too(desk: Desk) -> None:
    """P5: queries and tokens of a person go, and other agents that know them are named."""
    hers = desk.agent(user=MARK)
    hers.search("what do you know about me?")
    hers.close()
    desk.agent("sentinel", user=MARK).remember("she was here")
    operator = desk.operator()
    _, secret = Tokens(desk.home).create("sky", MARK, desk.clock())
    certificate = operator.erase(user=MARK)
    assert certificate.records == []
    assert [one["place"] for one in certificate.unreached] == ["agents/sentinel"]
    assert Tokens(desk.home).find(secret, desk.clock()) is None
    operator.close()
    assert [path for path in holding(desk.home, MARK) if "sentinel" not in path] == []
    with pytest.raises(lamina.NotFound):
        desk.operator().erase(user="nobody")


def test_a_store_that_was_damaged_is_restored_without_it(desk: Desk, tmp_path: Path) -> None:
    """P3, P5: over a damaged store, too, what was erased stays so, and every grant is given anew or
    not at all."""
    operator = desk.operator()
    desk.agent("sentinel").close()
    gone = operator.remember(f"the {MARK} is here")
    operator.grant("sentinel", layer="short_term")
    elsewhere = operator.backup(tmp_path / "usb")
    operator.erase(gone.id)
    operator.close()
    (desk.folder() / "memory.db").write_bytes(b"nonsense" * 1000)
    handles.restore(elsewhere, "sky", desk.home, desk.clock)
    again = desk.operator()
    assert again.get(gone.id).kind == "erased"
    assert again.grants() == []


def test_one_users_erasure_bars_no_other(desk: Desk, tmp_path: Path) -> None:
    """P2, P5: keys and texts of others are theirs, and what anybody might say is never barred."""
    hers, his = desk.agent(user="ana"), desk.agent(user="ben")
    hers.remember("Thank you!", key="m-1")
    desk.operator().erase(user="ana")
    assert his.remember("something else", key="m-1").user == "ben"
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        json.dumps({"content": "Thank you!", "timestamp": "2026-05-01T08:00:00Z"}) + "\n"
    )
    assert desk.operator().import_(lines)["taken"] == 1
