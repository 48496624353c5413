"""Erasing: which records go, which stay, what is left of them, and what is asked in vain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import Operator, State
from lamina.store.upkeep import erase
from tests.conftest import CONTRACTS, Desk


@pytest.fixture
def operator(desk: Desk) -> Operator:
    return desk.operator()


def test_an_erased_record_is_a_stub(operator: Operator) -> None:
    """P5: its id still answers, with its layer and when it went, and nothing that it said."""
    gone = operator.remember(
        "Ana has diabetes",
        tags=["health"],
        speaker="Ana",
        metadata={"since": "May"},
        importance=0.9,
    )
    certificate = operator.erase(gone.id, reason="request 17")
    stub = operator.get(gone.id)
    assert (stub.id, stub.layer, stub.state, stub.kind) == (
        gone.id,
        gone.layer,
        State.TOMBSTONED,
        "erased",
    )
    assert (stub.content, stub.tags, stub.speaker, stub.importance) == ("[erased]", (), None, 0.0)
    assert stub.metadata["erased"]["erasure"] == certificate.number == 1
    history = operator.history(gone.id)
    assert [(event.action, event.reason) for event in history] == [
        ("remember", None),
        ("erase", "request 17"),
    ]
    assert operator.list(states=None) == []
    assert operator.status()["records"] == {}


def test_the_certificate_is_kept_and_in_the_trail(operator: Operator, desk: Desk) -> None:
    """P5: what was erased, by whom and when; a file, a row, and a hash in the chain that
    say the same."""
    gone = operator.remember("Ana has diabetes")
    certificate = operator.erase(gone.id)
    assert operator.erasures() == [certificate]
    event = operator.audit_log(1)[0]
    assert (event.action, event.details["erasure"]) == ("erase.certified", 1)
    assert (desk.folder() / "erasures" / "0001.json").is_file()
    assert certificate.to_dict()["complete"] is True


def test_what_was_made_of_it_goes_with_it(operator: Operator) -> None:
    """P5: a proposal, what was confirmed of it and what rests on that alone; the preview names each
    with its reason."""
    said = operator.remember("Ana drinks oolong")
    proposal = operator.propose_profile("drink", "oolong", "she said so", [said.id])
    preview = operator.erasable(said.id)
    assert [one["id"] for one in preview["derived"]] == [proposal.id]
    assert operator.get(said.id).content == "Ana drinks oolong"
    certificate = operator.erase(said.id)
    assert (certificate.asked_for, certificate.derived) == (1, 1)
    assert operator.get(proposal.id).kind == "erased"


def test_what_rests_on_others_too_and_says_nothing_of_it_stays(operator: Operator) -> None:
    """P5: a summary of many that holds no word of the erased one is kept, and flagged."""
    many = [operator.remember(f"the {colour} team won") for colour in ("red", "blue")]
    gone = operator.remember("it rained pomegranates")
    summary = operator.remember("a good week", evidence=[gone.id, *(one.id for one in many)])
    certificate = operator.erase(gone.id)
    assert certificate.kept == [{"id": summary.id, "why": "it rests on other memories too"}]
    assert operator.get(summary.id).evidence[0] == gone.id
    assert operator.get(gone.id).kind == "erased"
    assert operator.audit_verify()["events"].ok


def test_what_it_was_taken_from_stays_and_is_told(operator: Operator) -> None:
    """P5: the preview and the certificate of a fact name the turns that it rests on, as far as
    there are any left."""
    first, second, gone = (
        operator.remember(f"Ana lives in {town}", layer="episodic")
        for town in ("Porto", "Rome", "Lima")
    )
    fact = operator.remember(
        "Ana has moved", evidence=[first.id, second.id, gone.id, "https://example.org/"]
    )
    operator.erase(gone.id)
    rests = [
        {"id": one.id, "why": "what goes was taken from it, and it may say the same"}
        for one in (first, second)
    ]
    assert operator.erasable(fact.id)["kept"] == rests
    assert operator.erasable(fact.id, first.id)["kept"] == rests[1:]
    assert operator.erase(fact.id).kept == rests
    assert operator.get(first.id).content == "Ana lives in Porto"


def test_what_an_operator_wrote_in_other_words_stays(operator: Operator, desk: Desk) -> None:
    """P5, V7: an operator's own words are not a machine's derivation; they are flagged."""
    agent = desk.agent()
    gone = agent.remember("the pin is under the mat")
    written = operator.remember("be careful with what Ana tells", evidence=[gone.id])
    derived = agent.remember("somebody hides something", evidence=[gone.id])
    certificate = operator.erase(gone.id)
    assert [one["id"] for one in certificate.kept] == [written.id]
    assert derived.id in certificate.records


def test_the_same_words_elsewhere_go_only_when_they_rest_on_it(operator: Operator) -> None:
    """P5: another memory that says the same is another memory."""
    gone, twin = operator.remember("Ana lives in Rome"), operator.remember("Ana lives in Rome")
    operator.erase(gone.id)
    assert operator.get(twin.id).content == "Ana lives in Rome"
    assert operator.search("Rome").outcome == "found"


def test_a_session_and_a_source(operator: Operator) -> None:
    """P5: everything of a conversation, or from a source in whatever spelling, wherever it lies."""
    talk = operator.remember_conversation(
        [{"speaker": "Ana", "text": "I am in Rome"}, {"text": "oh"}], session="s1"
    )
    other = operator.remember_conversation(
        [{"speaker": "Ana", "text": "I am in Oslo"}], session="s2"
    )
    page = operator.remember("a page", source="Web:Example", tags=["old"])
    more = operator.remember("another page", source="web:example")
    operator.prune(tags=["old"])
    assert set(operator.erase(session="s1").records) == {talk[0].id, talk[1].id, talk.episode.id}
    assert operator.get(other[0].id).content == "I am in Oslo"
    assert set(operator.erase(source="web:example").records) == {page.id, more.id}


def test_facts_are_made_again_from_what_is_left(operator: Operator) -> None:
    """S2, P5: a fact that two turns told goes with one of them, and comes back from the other at
    the next sleep."""
    first = operator.remember_conversation(
        [{"speaker": "Ana", "text": "I live in Rome."}], session="s1"
    )
    operator.remember_conversation(
        [{"speaker": "Ana", "text": "I live in Rome, as you know."}], session="s2"
    )
    operator.sleep()
    (fact,) = operator.facts("Ana", "lives_in")
    certificate = operator.erase(first[0].id)
    assert certificate.read_again == 1
    assert operator.facts("Ana", "lives_in") == []
    operator.sleep()
    (again,) = operator.facts("Ana", "lives_in")
    assert (again.value, first[0].id in again.evidence) == (fact.value, False)
    assert operator.sleep()["turns"] == 0


def test_a_rejection_outlives_its_reason(operator: Operator, desk: Desk) -> None:
    """V6, P5: when a reason goes with an erased word, the value stays barred."""
    agent = desk.agent()
    gone = agent.remember("the wombat ate it")
    other = agent.remember("Ana likes tea")
    proposal = agent.propose_profile("drink", "tea", "said so", [other.id])
    operator.reject(proposal.id, "no: the wombat")
    operator.erase(gone.id)
    assert operator.history(proposal.id)[-1].reason is None
    assert operator.audit_verify()["events"].ok
    with pytest.raises(lamina.Refused, match="rejected"):
        agent.propose_profile("drink", "tea", "said so", [other.id])


def test_an_export_keeps_the_stubs(operator: Operator, desk: Desk, tmp_path: Path) -> None:
    """H5, P5: a store that is restored from an export knows what was erased, and verifies."""
    gone = operator.remember("it rained")
    operator.remember("it snowed", evidence=[operator.remember("it was cold").id])
    operator.erase(gone.id)
    before = operator.audit_head()["events"]
    export = operator.export(tmp_path / "all.json")
    with lamina.operator("sky", home=tmp_path / "new") as other:
        assert other.import_(export, trust=True)["mode"] == "restored"
        assert other.audit_verify()["events"].ok
        assert other.audit_head()["events"] == before
        assert other.get(gone.id).kind == "erased"


def test_nothing_can_be_done_with_a_stub(operator: Operator, desk: Desk) -> None:
    """P5: it is neither evidence for something new, nor corrected, forgotten, restored
    or erased again."""
    gone = operator.remember("it rained")
    operator.erase(gone.id)
    for verb in (
        lambda: operator.erase(gone.id),
        lambda: operator.forget(gone.id),
        lambda: operator.correct(gone.id, "it snowed", "really"),
        lambda: operator.restore_archived(gone.id),
        lambda: operator.remember("therefore", evidence=[gone.id]),
        lambda: operator.grant("sentinel", record=gone.id),
    ):
        with pytest.raises(lamina.NotFound):
            verb()


def test_undo_does_not_bring_back_what_is_gone(operator: Operator) -> None:
    """V4, P5: an event about an erased record cannot be undone."""
    gone = operator.remember("it rained")
    operator.forget(gone.id)
    event = operator.audit_log(1)[0].seq
    operator.erase(gone.id)
    with pytest.raises(lamina.LaminaError):
        operator.undo(event)
    with pytest.raises(lamina.LaminaError):
        operator.undo(operator.audit_log(2)[1].seq)


@pytest.mark.parametrize(
    ("ids", "which", "error", "words"),
    [
        ((), {}, lamina.InvalidInput, "say what to erase"),
        ((), {"session": "s", "user": "u"}, lamina.InvalidInput, "one of these"),
        ((), {"session": "nowhere"}, lamina.NotFound, "nothing of this session"),
        ((), {"user": "nobody"}, lamina.NotFound, "nothing of this user"),
        ((), {"user": ""}, lamina.InvalidInput, "user name"),
        ((), {"source": ""}, lamina.InvalidInput, "source"),
        (("x",), {}, lamina.NotFound, "there is no record"),
        (("01m7hza9r95d9sfqv8wbw2bvfp",), {}, lamina.NotFound, "there is no record"),
        ((7,), {}, lamina.NotFound, "there is no record"),
    ],
)
def test_bad_requests_leave_no_trace(
    operator: Operator,
    ids: tuple[Any, ...],
    which: dict[str, Any],
    error: type[Exception],
    words: str,
) -> None:
    """P5: whatever is asked wrongly is told so, and nothing is changed."""
    operator.remember("it rained")
    before = operator.audit_head()["events"]
    for verb in (operator.erasable, operator.erase):
        with pytest.raises(error, match=words):
            verb(*ids, **which)
    assert operator.audit_head()["events"] == before


def test_a_reason_does_not_repeat_it(operator: Operator) -> None:
    """P5: a reason that holds the words is refused, before anything is erased."""
    gone = operator.remember("the wombat ate it")
    with pytest.raises(lamina.Refused, match="repeats words"):
        operator.erase(gone.id, reason="the wombat wants it")
    assert operator.get(gone.id).content == "the wombat ate it"
    assert operator.erase(gone.id, reason="a request").number == 1


def test_only_operators_erase(desk: Desk) -> None:
    """V7: an agent has no such verb, and a user's operator reaches that user's memories alone."""
    hers = desk.agent(user="ana").remember("Ana likes tea")
    assert not hasattr(desk.agent(), "erase")
    bens = desk.operator(user="ben")
    with pytest.raises(lamina.NotFound):
        bens.erase(hers.id)
    with pytest.raises(lamina.Refused, match="for the user ben"):
        bens.erase(user="ana")
    with pytest.raises(lamina.NotFound):
        bens.erase(session="s1")
    assert desk.operator(user="ana").erase(hers.id).asked_for == 1
    with pytest.raises(lamina.NotFound):
        desk.agent(user="ben").get(hers.id)


def test_backups_can_be_kept(operator: Operator) -> None:
    """P5: who keeps backups is told that they hold it still; else there is always
    one, without it."""
    gone = operator.remember("the wombat ate it")
    old = operator.backup()
    kept = operator.erase(gone.id, keep_backups=True)
    assert [one["why"] for one in kept.unreached] == ["backups are kept"]
    assert old.is_dir()
    other = operator.remember("the quokka ate it")
    older = operator.backup()
    assert operator.erase(other.id).is_complete
    assert not older.exists()
    assert len(list((old.parent).glob("2*"))) == 2


def test_an_interrupted_erasure_is_resumed(operator: Operator, desk: Desk) -> None:
    """P5: what was begun is finished by the next operator, and until then it can be seen."""
    gone = operator.remember("the wombat ate it")
    erasures = operator._parts.erasures
    erase.begin(
        operator._scope.store,
        operator.actor,
        operator._scope.clock(),
        erasures.wanted((gone.id,), None, None, None),
    )
    assert any("erase --resume" in problem for problem in operator.status()["problems"])
    assert operator.erasures() == []
    (certificate,) = desk.operator().resume_erasures()
    assert (certificate.number, certificate.records) == (1, [gone.id])
    assert operator.status()["problems"] == []
    assert operator.resume_erasures() == []


def test_others_who_mention_somebody_are_counted(operator: Operator, desk: Desk) -> None:
    """P5: only a person can tell whether another memory means the same Ana."""
    desk.agent(user="ana").remember("I like tea")
    operator.remember("Ana was here")
    operator.remember("hello", speaker="Ana")
    assert operator.erasable(user="ana")["mentions"] == 2
    assert operator.erase(user="ana").mentions == 2


@pytest.mark.parametrize("layer", ["episodic", "semantic", "procedural", "profile", "world"])
def test_every_layer_can_be_erased(operator: Operator, layer: str) -> None:
    """P5, R1: whatever a record is, it goes, and the store verifies."""
    gone = operator.remember(f"a {layer} wombat", layer=layer, metadata=CONTRACTS[layer])
    operator.erase(gone.id)
    assert operator.get(gone.id).layer == layer
    assert operator.search("wombat").outcome == "nothing_relevant"
    assert operator.audit_verify()["events"].ok


def test_the_world_model_forgets(operator: Operator, desk: Desk) -> None:
    """W, P5: a tool that is erased is in no file of the world model."""
    tool = operator.world.set_tool(
        {"name": "wombat", "description": "feeds it", "input_schema": {"type": "object"}}
    )
    operator.world.set_tool(
        {"name": "rain", "description": "tells when it rains", "input_schema": {"type": "object"}}
    )
    assert operator.erase(tool.id).is_complete
    files = [path.read_text() for path in desk.folder().joinpath("world_model").rglob("*.json")]
    assert {("wombat" in text) for text in files} == {False}
    assert any("rain" in text for text in files)


def test_working_memory_can_be_erased(operator: Operator) -> None:
    """R8, P5: a note of an open run goes; the run goes on."""
    with operator.run("a task") as run:
        note = run.note("the wombat is loose")
        operator.erase(note.id)
        assert run.note_count == 0
        run.note("all is well")
