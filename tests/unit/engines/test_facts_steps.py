"""What a claim does to facts, written out: each step as a whole, what a record keeps of a fact, and
what is read from it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from lamina.engines import fact_lists, facts
from lamina.engines.decision import Effect
from lamina.engines.facts import Fact, Source, Step
from lamina.model.record import Layer, State, Trust
from tests.cases import every
from tests.unit.engines.claimed import DAY, START, claim
from tests.unit.engines.samples import record


def on(day: float) -> datetime:
    return START + day * DAY


def fact(value: str, day: int = 0, attribute: str = "lives_in", **more: Any) -> Fact:
    """A fact that holds since a day, and was said only then."""
    known: dict[str, Any] = {
        "negated": False,
        "state": State.ACTIVE,
        "valid_to": None,
        "trust": Trust.AGENT,
        "said": (on(day),),
    }
    known |= {
        "record": f"fact-{value}",
        "user": None,
        "subject": "Ana",
        "confidence": 0.8,
        "voices": ("ana",),
        "evidence": (),
    }
    return Fact(
        attribute=attribute,
        value=value,
        valid_from=on(day),
        last_verified=on(day),
        **{**known, **more},
    )


def heard(day: float, voice: str = "ana", trust: Trust = Trust.AGENT) -> Source:
    """A turn of a day."""
    return Source("turn", "episode", None, on(day), voice, trust, 0.5)


def over(one: Fact, day: float | None) -> Fact:
    return structs.replace(one, state=State.SUPERSEDED, valid_to=None if day is None else on(day))


# Steps


def test_what_is_new_ends_nothing() -> None:
    """S2: it holds since it was said."""
    assert facts.decide([], claim("lives_in", "Porto", 3), heard(3)) == Step(
        Effect.NEW, "not known before", valid_from=on(3)
    )


def test_a_change_says_what_it_ends() -> None:
    """S2: the one value that held, until then, and in words."""
    porto = fact("Porto")
    step = facts.decide([porto], claim("lives_in", "Lisbon", 4), heard(4))
    assert step == Step(
        Effect.CHANGE,
        "ends 'Porto'",
        (porto,),
        None,
        on(4),
        None,
        changed=((porto, over(porto, 4)),),
        earlier=(),
    )
    pets = [fact("cat", 1, "pet"), fact("dog", 2, "pet")]
    step = facts.decide(pets, claim("pet", "", 5, negated=True), heard(5))
    assert (step.why, step.ends) == ("ends 'cat', 'dog'", tuple(pets))
    assert [after.valid_to for _, after in step.changed] == [on(5), on(5)]


def test_a_correction_begins_where_the_mistake_did() -> None:
    """S2: the mistake had never been so, and has no end; a denial beside it does not
    say since when."""
    porto = fact("Porto", 2)
    step = facts.decide([porto], claim("lives_in", "Lisbon", 4, corrects=True), heard(4))
    assert step == Step(
        Effect.CHANGE,
        "takes back 'Porto'",
        (porto,),
        None,
        on(2),
        None,
        ((porto, over(porto, None)),),
        (),
    )
    denied = fact("Lisbon", 1, negated=True)
    step = facts.decide([denied, porto], claim("lives_in", "Lisbon", 4, corrects=True), heard(4))
    assert step.valid_from == on(2)
    assert dict(step.changed)[denied] == over(denied, 2)


def test_what_comes_late_ends_where_the_next_begins() -> None:
    """S2: it is a past value that ended nothing, and the newer one is named."""
    lisbon = fact("Lisbon", 9)
    step = facts.decide([lisbon], claim("lives_in", "Porto", 4), heard(20))
    assert step == Step(Effect.PAST, "something newer is known", (), lisbon, on(4), on(9), (), ())
    step = facts.decide([lisbon], claim("lives_in", "Lisbon", 4), heard(20))
    assert step == Step(Effect.REPEAT, "held before it was known", (), lisbon, on(4), None, (), ())


def test_the_first_thing_that_came_after_counts() -> None:
    """S2: of two later values the earlier one."""
    later = [fact("Faro", 9), fact("Lisbon", 7)]
    step = facts.decide(later, claim("lives_in", "Porto", 4), heard(20))
    assert (step.fact, step.valid_to) == (later[1], on(7))


def test_what_was_said_again_is_cut_in_two() -> None:
    """S2, Q10: what comes between leaves a first part that ended, and the fact holds again since it
    was repeated."""
    porto = fact("Porto", 1, said=(on(1), on(6), on(9)))
    step = facts.decide([porto], claim("lives_in", "Lisbon", 3), heard(20))
    assert step.changed == ((porto, structs.replace(porto, valid_from=on(6))),)
    assert step.earlier == (over(porto, 3),)
    assert (step.effect, step.fact, step.valid_from, step.valid_to) == (
        Effect.PAST,
        porto,
        on(3),
        on(6),
    )


def test_a_part_of_no_time_is_none() -> None:
    """S2: what comes between at the very moment at which the other began leaves no first part."""
    porto = fact("Porto", 1, said=(on(1), on(6)))
    step = facts.decide([porto], claim("lives_in", "Lisbon", 1), heard(20))
    assert step.earlier == ()
    assert step.changed == ((porto, structs.replace(porto, valid_from=on(6))),)


def test_what_was_a_mistake_comes_after_nothing() -> None:
    """S2: a value that was taken back is no reason to end another where it would have begun."""
    mistake = over(fact("Lisbon", 9), None)
    step = facts.decide([mistake], claim("lives_in", "Porto", 4), heard(20))
    assert step == Step(Effect.NEW, "not known before", valid_from=on(4))


def test_a_repetition_is_one_of_the_last_that_holds() -> None:
    """S2: and it is known already only from the same voice, of the same time, and
    not said later."""
    porto = fact("Porto", 1)
    said_again = Step(Effect.REPEAT, "says what is known", fact=porto)
    known_already = Step(Effect.KNOWN, "known already", fact=porto)
    assert facts.decide([porto], claim("lives_in", "Porto", 1), heard(1)) == known_already
    assert facts.decide([porto], claim("lives_in", "Porto", 1), heard(1, "ben")) == said_again
    assert facts.decide([porto], claim("lives_in", "Porto", 1), heard(2)) == said_again
    assert facts.decide([porto], claim("lives_in", "Porto", 2), heard(2)) == said_again
    unverified = structs.replace(porto, last_verified=None)
    step = facts.decide([unverified], claim("lives_in", "Porto", 1), heard(1))
    assert step == known_already._replace(fact=unverified)
    twice = [fact("tea", 1, "likes"), fact("green tea", 2, "likes")]
    assert facts.decide(twice, claim("likes", "tea", 5), heard(5)).fact == twice[1]


def test_who_is_outside_proposes_against_what_it_would_end() -> None:
    """V8: the active rivals are named, and nothing else; what is repeated from outside is known."""
    tea, coffee = fact("tea", 1, "likes"), fact("coffee", 2, "likes")
    outside = heard(5, "page", Trust.EXTERNAL)
    waits = "who says so is trusted less: a person decides"
    assert facts.decide([tea, coffee], claim("likes", "mate", 5), outside) == Step(
        Effect.PROPOSE, waits, ()
    )
    assert facts.decide([tea, coffee], claim("likes", "mate", 5, replaces="tea"), outside) == Step(
        Effect.PROPOSE, waits, (tea,)
    )
    repeated = "known already, and who repeats it is trusted less"
    known_already = Step(Effect.KNOWN, repeated, fact=tea)
    assert facts.decide([tea, coffee], claim("likes", "tea", 5), outside) == known_already
    assert facts.decide([over(tea, 3)], claim("likes", "tea", 2), outside) == Step(
        Effect.PROPOSE, waits, ()
    )
    correction = claim("likes", "mate", 5, corrects=True)
    assert facts.decide([tea, coffee], correction, outside) == Step(
        Effect.PROPOSE, waits, (coffee,)
    )


def test_an_operators_past_is_no_agents_to_change() -> None:
    """V8: what an operator said and what ended since is protected too, and is not
    named as active."""
    past = over(fact("Porto", 1, trust=Trust.OPERATOR), 9)
    step = facts.decide([past], claim("lives_in", "Faro", 4), heard(20))
    assert (step.effect, step.ends) == (Effect.PROPOSE, ())
    assert (
        facts.decide([fact("Porto", 1)], claim("lives_in", "Faro", 4), heard(4)).effect
        is Effect.CHANGE
    )


def test_denying_all_of_nothing() -> None:
    """S2: nothing is known of it, and nothing becomes of it; to deny one value is a fact."""
    step = facts.decide([], claim("pet", "", 1, negated=True), heard(1))
    assert step == Step(Effect.KNOWN, "nothing of that is known")
    assert facts.decide([], claim("pet", "cat", 1, negated=True), heard(1)).effect is Effect.NEW


def test_a_correction_takes_back_the_last_of_many() -> None:
    """S2: one of the things that somebody likes, but the only place where she lives; and nothing
    that was denied."""
    likes = [
        fact("tea", 1, "likes"),
        fact("coffee", 2, "likes"),
        fact("beer", 3, "likes", negated=True),
    ]
    step = facts.decide(likes, claim("likes", "mate", 5, corrects=True), heard(5))
    assert step.ends == (likes[1],)
    assert facts.decide(likes, claim("likes", "mate", 5), heard(5)).ends == ()


@every(
    ("known", "said", "ends"),
    [
        (fact("Porto"), claim("lives_in", "Faro", 5), True),
        (fact("Porto", negated=True), claim("lives_in", "Faro", 5), False),
        (fact("Porto", negated=True), claim("lives_in", "Porto", 5), True),
        (fact("", negated=True), claim("lives_in", "Porto", 5), True),
        (fact("Porto"), claim("lives_in", "Faro", 5, negated=True), False),
        (fact("Porto"), claim("lives_in", "Porto", 5, negated=True), True),
        (fact("Porto"), claim("lives_in", "", 5, negated=True), True),
        (fact("tea", attribute="likes"), claim("likes", "milk", 5), False),
        (fact("tea", attribute="likes"), claim("dislikes", "tea", 5), True),
        (fact("tea", attribute="likes"), claim("dislikes", "milk", 5), False),
        (fact("tea", attribute="likes", negated=True), claim("dislikes", "tea", 5), False),
        (fact("tea", attribute="likes"), claim("dislikes", "tea", 5, negated=True), False),
        (
            fact("tea", attribute="likes", negated=True),
            claim("dislikes", "tea", 5, negated=True),
            True,
        ),
        (fact("tea", attribute="likes"), claim("likes", "milk", 5, replaces="tea"), True),
        (
            fact("tea", attribute="likes", negated=True),
            claim("likes", "milk", 5, replaces="tea"),
            False,
        ),
    ],
)
def test_what_cannot_hold_beside_a_claim(known: Fact, said: Any, ends: bool) -> None:
    """S2: one value of those that are single, a value and its denial, liking and disliking, and
    what it says it replaces."""
    assert facts.decide([known], said, heard(5)).ends == ((known,) if ends else ())


# What becomes of facts


def test_the_facts_after_a_change() -> None:
    """S2: those that stay as they were, what ended, its first part, and the new one at the end,
    with its source."""
    porto, said_by = fact("Porto", 1, said=(on(1), on(6))), heard(20)
    said = claim("lives_in", "Lisbon", 3)
    step = facts.decide([porto], said, said_by)
    again, first, made = facts.after([porto], said, said_by, step, "new")
    assert (again, first) == (structs.replace(porto, valid_from=on(6)), over(porto, 3))
    assert made == Fact(
        *(
            "new",
            None,
            "Ana",
            "lives_in",
            "Lisbon",
            False,
            State.SUPERSEDED,
            on(3),
            on(6),
            on(20),
            0.8,
            Trust.AGENT,
        ),
        *(("turn",), ("ana",), (on(3),)),
    )
    assert facts.after([porto], said, said_by, step, None) == [again, first]
    assert not facts.is_over(porto, again)
    assert facts.is_over(porto, over(porto, 3))


def test_a_new_fact_is_active_since_its_time() -> None:
    """S2: without a time of its own in the step, since that of the claim."""
    said = claim("pet", "cat", 3, negated=True)
    made = facts.made("new", said, heard(5), Step(Effect.NEW, ""))
    assert (made.state, made.valid_from, made.valid_to, made.negated) == (
        State.ACTIVE,
        on(3),
        None,
        True,
    )
    assert facts.made(
        "new", said, heard(5), Step(Effect.NEW, "", valid_from=on(2))
    ).valid_from == on(2)


def test_a_fact_after_it_was_repeated() -> None:
    """S2, V8: another voice takes half of the doubt, times how sure it is; each source, voice and
    time is there once."""
    porto = fact("Porto", 3, confidence=0.6, evidence=("old",), said=(on(3),))
    said = claim("lives_in", "Porto", 1)
    once = facts.repeated(porto, said, heard(9, "ben"), on(1))
    assert once == structs.replace(
        porto,
        valid_from=on(1),
        last_verified=on(9),
        confidence=pytest.approx(0.6 + 0.4 * 0.5 * 0.8),
        evidence=("old", "turn"),
        voices=("ana", "ben"),
        said=(on(1), on(3)),
    )
    twice = facts.repeated(once, said, heard(5, "ben"))
    assert twice == once
    assert facts.surer(porto, said, heard(9, "page", Trust.EXTERNAL)) == 0.6
    unverified = structs.replace(porto, last_verified=None)
    assert facts.repeated(unverified, said, heard(2)).last_verified == on(2)
    trusted = structs.replace(porto, trust=Trust.OPERATOR)
    assert facts.repeated(trusted, said, heard(9)).said == (on(3),)
    assert facts.repeated(porto, said, heard(9, trust=Trust.OPERATOR)).said == (on(1), on(3))


def test_a_fact_holds_from_its_beginning_until_before_its_end() -> None:
    """S2, Q10: at the first moment, and no longer at the last; what was superseded without an end
    never did."""
    ended = over(fact("Porto", 2), 4)
    assert [ended.holds(on(day)) for day in (1.999, 2, 3.999, 4)] == [False, True, True, False]
    assert [over(fact("Porto", 2), None).holds(on(day)) for day in (1, 2, 9)] == [
        False,
        False,
        False,
    ]
    assert fact("Porto", 2).holds(on(2))


def test_said_after_is_the_next_time() -> None:
    """S2: later than the moment, while it held, and the first of them."""
    porto = over(fact("Porto", 1, said=(on(1), on(8), on(4), on(6))), 7)
    assert porto.said_after(on(1)) == on(4)
    assert porto.said_after(on(4)) == on(6)
    assert porto.said_after(on(6)) is None


# What a record keeps


def test_what_a_fact_keeps_beside_its_words() -> None:
    """R9: where it came from, what it says, whose word it is, since when, and the rule; whether
    only one can be active."""
    assert facts.metadata_of(claim("lives_in", "Porto", 1), heard(3)) == {
        "origin": "sleep",
        "topic_tags": ["lives_in"],
        "source_episode": "episode",
        "subject": "Ana",
        "attribute": "lives_in",
        "value": "Porto",
        "voices": ["ana"],
        "said": ["2026-05-02T00:00:00.000000Z"],
        "span": [0, 5],
        "rule": "test",
        "single": True,
    }
    many = facts.metadata_of(claim("likes", "tea", 5, negated=True), heard(3))
    assert {name: many[name] for name in ("negated", "when", "said")} == {
        "negated": True,
        "when": "2026-05-06T00:00:00.000000Z",
        "said": ["2026-05-04T00:00:00.000000Z"],
    }
    assert "single" not in many


KEPT = {"subject": "Ana", "attribute": "lives_in", "value": "Porto"}


def test_a_fact_is_read_from_its_record() -> None:
    """R9: all of it, in its own times."""
    metadata = {
        **KEPT,
        "negated": True,
        "voices": ["ana", "ben"],
        "said": ["2026-05-02T00:00:00Z", "2026-05-04T00:00:00Z"],
    }
    fields = {
        "valid_from": on(1),
        "valid_to": on(9),
        "last_verified": on(5),
        "confidence": 0.7,
        "evidence": ("e",),
        "user": "u",
    }
    kept = record(
        1, metadata, layer=Layer.SEMANTIC, state=State.SUPERSEDED, trust=Trust.OPERATOR, **fields
    )
    assert facts.fact_of(kept) == Fact(
        *(
            kept.id,
            "u",
            "Ana",
            "lives_in",
            "Porto",
            True,
            State.SUPERSEDED,
            on(1),
            on(9),
            on(5),
            0.7,
            Trust.OPERATOR,
        ),
        *(("e",), ("ana", "ben"), (on(1), on(3))),
    )
    assert facts.fact_of(kept).slot == ("u", "ana", "lives_in")


def test_what_a_record_does_not_say_follows_from_its_times() -> None:
    """R9: it holds since it happened, and was said then and when it was verified; `negated` is true
    or nothing."""
    kept = record(1, {**KEPT, "negated": "yes", "voices": "ana"}, layer=Layer.SEMANTIC)
    read = facts.fact_of(kept)
    assert (read.valid_from, read.said, read.voices, read.negated) == (
        kept.occurred_at,
        (kept.occurred_at,) * 2,
        (),
        False,
    )
    verified = structs.replace(kept, last_verified=on(7))
    assert facts.fact_of(verified).said == (kept.occurred_at, on(7))


@pytest.mark.parametrize(
    ("change", "layer"),
    [
        ({"subject": None}, Layer.SEMANTIC),
        ({"value": 5}, Layer.SEMANTIC),
        ({"attribute": "colour of the moon"}, Layer.SEMANTIC),
        ({"attribute": None}, Layer.SEMANTIC),
        ({}, Layer.EPISODIC),
    ],
)
def test_what_is_no_fact(change: dict[str, Any], layer: Layer) -> None:
    """R9: without a subject and a value in words, an attribute that is known, or
    in another layer."""
    assert facts.is_fact(record(1, KEPT, layer=Layer.SEMANTIC))
    assert not facts.is_fact(record(1, {**KEPT, **change}, layer=layer))
    assert not facts.is_fact(record(1, {"subject": "Ana", "value": "x"}, layer=Layer.SEMANTIC))


def test_a_fact_as_plain_values() -> None:
    """R9: times in one form, and states and trust as words."""
    told = over(fact("Porto", 1, evidence=("e",)), 4).to_dict()
    assert told == {
        "record": "fact-Porto",
        "user": None,
        "subject": "Ana",
        "attribute": "lives_in",
        "value": "Porto",
        "negated": False,
        "state": "superseded",
        "valid_from": "2026-05-02T00:00:00.000000Z",
        "valid_to": "2026-05-05T00:00:00.000000Z",
        "last_verified": "2026-05-02T00:00:00.000000Z",
        "confidence": 0.8,
        "trust": "agent",
        "evidence": ["e"],
        "voices": ("ana",),
        "groundless": False,
    }


# Words


@pytest.mark.parametrize("article", "a an the my our his her their some".split())
def test_each_article_says_nothing(article: str) -> None:
    """S2: a value with it is the same, even of what differs with every word."""
    assert facts.same_value("did", f"{article} dog", "dog")


@pytest.mark.parametrize(
    "word", "wife husband partner girlfriend boyfriend fiancé fiancée spouse".split()
)
def test_each_word_for_a_partner_names_nobody(word: str) -> None:
    """S2: it is who is known."""
    assert facts.says(fact("Ben", attribute="partner"), claim("partner", word.upper()))


def test_values_without_words() -> None:
    """S2: two of them are the same, and none is the beginning of another."""
    assert facts.same_value("likes", "the", "")
    assert not facts.same_value("likes", "the", "tea")
    assert not facts.same_value("lives_in", "", "Porto")
    assert not facts.same_value("birthday", "May", "3 May")


def test_facts_by_their_places() -> None:
    """S2: those of a place in the order in which they began, and by their ids where
    they began together."""
    records = [
        record(3, KEPT, layer=Layer.SEMANTIC, valid_from=on(4)),
        record(
            2, {**KEPT, "value": "Faro", "subject": "ANA"}, layer=Layer.SEMANTIC, valid_from=on(1)
        ),
        record(1, {**KEPT, "value": "Lisbon"}, layer=Layer.SEMANTIC, valid_from=on(4)),
        record(
            4,
            {**KEPT, "attribute": "dislikes", "value": "tea"},
            layer=Layer.SEMANTIC,
            valid_from=on(0),
        ),
        record(5, {}, layer=Layer.SEMANTIC),
    ]
    found = fact_lists.by_slot(fact_lists.of_records(records))
    assert {place: [one.value for one in some] for place, some in found.items()} == {
        (None, "ana", "likes"): ["tea"],
        (None, "ana", "lives_in"): ["Faro", "Lisbon", "Porto"],
    }
    chosen = fact_lists.chosen(records, None, "lives_in")
    assert [one.value for one in chosen] == ["Faro", "Lisbon", "Porto"]


def test_what_is_known_as_somebody_might_have_said_it() -> None:
    """S2: the same words, since the same time, as sure."""
    one = fact("Porto", 2, confidence=0.7)
    said = facts.known_claim(one)
    assert (said.subject, said.attribute, said.value, said.start, said.end) == (
        "Ana",
        "lives_in",
        "Porto",
        0,
        0,
    )
    assert (said.at, said.confidence, said.rule, said.negated) == (on(2), 0.7, "known", False)


def test_a_plan_is_one_since_it_was_made() -> None:
    """Q10: the time of a claim is never later than when it was said."""
    assert facts.since(claim("plan", "trip", 9), heard(2)) == on(2)
    assert facts.since(claim("plan", "trip", 1), heard(2)) == on(1)
    assert facts.since(claim("plan", "trip", 2), heard(2)) == on(2) == START + timedelta(days=2)


def test_what_holds_since_a_day_began_then() -> None:
    """S2: it ends what held until then, not only from when it was told."""
    porto = fact("Porto", 1)
    told = structs.replace(claim("lives_in", "Graz", 20), since=on(4))
    step = facts.decide([porto], told, heard(20))
    assert (step.effect, step.valid_from) == (Effect.CHANGE, on(4))
    assert [after.valid_to for _, after in step.changed] == [on(4)]


def test_what_was_told_in_between_held_in_between() -> None:
    """S2: what is said to hold since long ago holds now; what was said after that is not undone."""
    lisbon = fact("Lisbon", 9)
    told = structs.replace(claim("lives_in", "Graz", 20), since=on(4))
    step = facts.decide([lisbon], told, heard(20))
    assert (step.effect, step.valid_from) == (Effect.CHANGE, on(20))
    assert [after.valid_to for _, after in step.changed] == [on(20)]


def test_a_known_fact_is_older_than_it_seemed() -> None:
    """S2: said again with its beginning, it holds since then."""
    graz = fact("Graz", 9)
    told = structs.replace(claim("lives_in", "Graz", 20), since=on(4))
    step = facts.decide([graz], told, heard(20))
    assert (step.effect, step.valid_from) == (Effect.REPEAT, on(4))
