"""Memories that say the same: the second joins the first as evidence, when it may, and goes
to the archive."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from lamina import Memory, Operator
from lamina.embedders.wordllama import WordLlama
from lamina.engines.promotion import Action
from lamina.model.record import Layer, Record, State, Trust
from tests.conftest import CONTRACTS, Desk, contents, move, size, verified

TEA = "green tea keeps its taste for a year in a closed tin"
ALIKE = "green tea keeps its taste for a year in a closed tin."
OTHER = "the quarterly report is due on Friday"


@pytest.fixture
def op(desk: Desk) -> Operator:
    return opened(desk)


def opened(desk: Desk, rules: str = "deduplicate: 0.95\n", **more: Any) -> Operator:
    """An operator's handle on a home that joins what is alike."""
    desk.home.mkdir(parents=True, exist_ok=True)
    (desk.home / "retention_rules.yaml").write_text(rules)
    return desk.operator(**more)


def important(mem: Memory, content: str, **fields: Any) -> Record:
    return mem.remember(content, importance=0.9, kind="fact", **fields)


def promoted(mem: Memory, content: str, **fields: Any) -> Record:
    """A memory that was promoted before."""
    made = important(mem, content, **fields)
    assert mem.run_once()["promoted"] == 1
    return mem.get(made.id)


def planned(mem: Memory) -> list[tuple[str, str | None]]:
    return [(decision.action.value, decision.twin) for decision in mem.plan_promotion()]


def test_a_twin_joins_as_evidence(op: Operator) -> None:
    """L7: a near-duplicate becomes evidence of the memory that it repeats, and leaves for the
    archive, not for the index."""
    first = promoted(op, TEA)
    second = important(op, ALIKE)
    assert planned(op) == [("join", first.id)]
    assert op.run_once() == {
        "ok": True,
        "promoted": 0,
        "rotated": False,
        "remaining": 0,
        "threshold": 0.7,
    }
    joined = op.get(first.id)
    assert joined.evidence == (second.id,)
    assert joined.last_verified is not None
    assert joined.last_verified > second.created_at
    assert op.get(second.id).archived
    assert [file.why for file in op.archives()] == ["duplicate"]
    assert contents(op.recall_similar(TEA)) == [TEA]
    assert verified(op)


def test_evidence_grows_and_keeps_what_was_there(op: Operator) -> None:
    """L7, P1: each repetition is one more piece of evidence behind what the memory had, and every
    piece resolves."""
    first = promoted(op, TEA, evidence=["./notes.md"])
    again = [important(op, TEA).id, important(op, ALIKE).id]
    op.run_once()
    again.append(important(op, TEA).id)
    op.run_once()
    assert op.get(first.id).evidence == ("./notes.md", *again)
    assert contents(op.get(one) for one in again) == [TEA, ALIKE, TEA]
    assert [event.action for event in op.history(first.id)] == [
        "remember",
        "promote",
        "deduplicate",
        "deduplicate",
    ]
    assert verified(op)


def test_twins_that_come_together(op: Operator) -> None:
    """L7: of several alike in one run the first is promoted and the others join it, whatever else
    comes between."""
    made = [important(op, text) for text in (TEA, OTHER, ALIKE, TEA)]
    assert planned(op) == [
        ("promote", None),
        ("promote", None),
        ("join", made[0].id),
        ("join", made[0].id),
    ]
    assert op.run_once()["promoted"] == 2
    assert op.get(made[0].id).evidence == (made[2].id, made[3].id)
    assert op.get(made[0].id).layer is Layer.SEMANTIC
    assert {contents(op.list())[0], contents(op.list())[1]} == {TEA, OTHER}


def test_a_second_run_changes_nothing(op: Operator) -> None:
    """L5, L7: running it again right away finds nothing to do."""
    promoted(op, TEA)
    important(op, ALIKE)
    op.run_once()
    before = size(op), op.archives()
    assert op.run_once()["promoted"] == 0
    assert (size(op), op.archives()) == before


def test_what_is_not_promoted_is_not_joined(op: Operator) -> None:
    """L7: a repetition that nobody finds important stays where it is."""
    promoted(op, TEA)
    op.remember(TEA, importance=0.2)
    assert planned(op) == [("keep", None)]


@pytest.mark.parametrize("rules", ["promote_threshold: 0.7\n", "deduplicate: 0\n"])
def test_without_the_setting_nothing_is_joined(desk: Desk, rules: str) -> None:
    """L7: it is off until somebody sets it."""
    op = opened(desk, rules)
    promoted(op, TEA)
    important(op, TEA)
    assert planned(op) == [("promote", None)]


@pytest.mark.parametrize(
    ("least", "joins"),
    [(1.0, [True, False, False]), (0.95, [True, True, False]), (0.5, [True, True, True])],
)
def test_the_setting_is_a_cosine(desk: Desk, least: float, joins: list[bool]) -> None:
    """L7: at 1 only the same words are one, lower also the like, by the same cosines that
    a search knows."""
    texts = [TEA, ALIKE, "for green tea a closed tin does well"]
    vectors = WordLlama().embed([TEA, *texts]).astype(np.float16).astype(np.float64)
    assert [bool(cosine >= least - 1e-3) for cosine in vectors[1:] @ vectors[0]] == joins
    op = opened(desk, f"deduplicate: {least}\n")
    promoted(op, TEA)
    for text, expected in zip(texts, joins, strict=True):
        made = op.remember(text, importance=0.9)
        assert (op.plan_promotion()[0].action is Action.JOIN) == expected, text
        move(op, made.id, state=State.TOMBSTONED)


# Who may join whom


@pytest.mark.parametrize(("first", "second"), [("ana", "ben"), (None, "ben"), ("ana", None)])
def test_never_across_users(
    desk: Desk, op: Operator, first: str | None, second: str | None
) -> None:
    """R12, L7: what one user's memory says is no evidence in another's, nor in what all share, also
    within one run."""
    promoted(desk.operator(user=first), TEA)
    important(desk.operator(user=second), TEA)
    assert planned(op) == [("promote", None)]
    important(desk.operator(user=first), OTHER)
    important(desk.operator(user=second), OTHER)
    assert [action for action, _ in planned(op)] == ["promote"] * 3


def test_the_same_user_joins(desk: Desk) -> None:
    """R12, L7: within one user's memories it works as without users, whoever runs it."""
    ana = opened(desk, user="ana")
    first = promoted(ana, TEA)
    second = important(ana, TEA)
    desk.operator().run_once()
    assert ana.get(first.id).evidence == (second.id,)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("less", [Trust.AGENT, Trust.EXTERNAL])
def test_the_less_trusted_is_no_evidence(op: Operator, less: Trust, together: bool) -> None:
    """V8: a text from outside that repeats what is known does not stand for it; it is kept on its
    own, as what happened."""
    first = important(op, TEA) if together else promoted(op, TEA)
    second = important(op, TEA, trust=less)
    op.run_once()
    assert op.get(first.id).evidence == ()
    assert op.get(second.id).promoted_at
    assert op.get(second.id).layer is (Layer.EPISODIC if less is Trust.EXTERNAL else Layer.SEMANTIC)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("less", [Trust.AGENT, Trust.EXTERNAL])
def test_the_less_trusted_does_not_swallow(op: Operator, less: Trust, together: bool) -> None:
    """V8: whoever plants a text first does not keep a trusted memory that says the same from
    becoming known."""
    first = important(op, TEA, trust=less) if together else promoted(op, TEA, trust=less)
    second = important(op, TEA)
    op.run_once()
    known = op.get(second.id)
    assert (known.layer, known.trust, known.archived) == (Layer.SEMANTIC, Trust.OPERATOR, None)
    assert op.get(first.id).trust is less


@pytest.mark.parametrize("state", [State.CONSTRAINED, State.SUPERSEDED, State.TOMBSTONED])
def test_only_what_is_active_has_twins(op: Operator, state: State) -> None:
    """R3, L7: what waits for review, was replaced or set aside takes nothing in."""
    first = promoted(op, TEA)
    move(op, first.id, state=state)
    important(op, TEA)
    assert planned(op) == [("promote", None)]


def test_what_was_archived_has_no_twins(op: Operator) -> None:
    """L7: a memory that has left takes nothing in; the new one takes its place."""
    promoted(op, TEA)
    op.prune(layers=["semantic"])
    important(op, TEA)
    assert planned(op) == [("promote", None)]


@pytest.mark.parametrize("layer", ["episodic", "semantic", "procedural", "profile", "world"])
def test_every_long_term_layer_has_twins(op: Operator, layer: str) -> None:
    """L7: wherever in long-term memory it says the same."""
    first = op.remember(TEA, layer=layer, metadata=CONTRACTS[layer])
    important(op, TEA)
    assert planned(op) == [("join", first.id)]


# Without an embedder, and with much to compare


def test_a_broken_embedder_is_told(desk: Desk) -> None:
    """L7, S6: where nothing can be compared everything is promoted, and `status()` says that
    nothing was joined."""
    away = {
        "recall.embedders": ["openai:gone"],
        "recall.endpoint": "http://127.0.0.1:9/v1",
        "recall.timeout_ms": 2000,
    }
    op = opened(desk, settings=away)
    important(op, TEA)
    important(op, TEA)
    assert op.run_once() == {
        "ok": True,
        "promoted": 2,
        "rotated": False,
        "remaining": 0,
        "threshold": 0.7,
    }
    told = [problem for problem in op.status()["problems"] if "nothing was deduplicated" in problem]
    assert len(told) == 1
    op.run_once()
    assert [
        problem for problem in op.status()["problems"] if "nothing was deduplicated" in problem
    ] == told


@pytest.mark.parametrize("indexed", [False, True])
def test_among_many(op: Operator, indexed: bool) -> None:
    """L7: of hundreds, each entry finds the memory that is nearest to it, as if
    all were compared."""
    chance = random.Random(7)
    words = (
        "garden river bicycle coffee sister report office winter music holiday doctor train "
        "lemon window letter bridge"
    ).split()
    texts = list(dict.fromkeys(" ".join(chance.sample(words, 6)) for _ in range(300)))
    made = op.remember_many([{"content": text, "layer": "episodic"} for text in texts])
    if indexed:
        op.index()
    chosen = chance.sample(range(len(texts)), 40)
    for place in chosen:
        important(op, texts[place] + chance.choice(["", ".", "!"]))
    vectors = WordLlama().embed(texts).astype(np.float64)
    for place, (action, twin) in zip(chosen, planned(op), strict=True):
        cosines = vectors @ vectors[place]
        best = {made[n].id for n in np.flatnonzero(cosines >= cosines.max() - 1e-3)}
        assert action == "join"
        assert twin in best
