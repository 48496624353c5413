"""Promises of awareness: what waits for somebody is listed, and what is settled is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines import awareness
from lamina.engines.awareness import (
    DATE,
    ESCALATION,
    PENDING,
    REQUEST,
    REVIEW,
    Days,
    answers,
)
from lamina.model.record import Layer, Record, State, iso
from lamina.text import dates
from tests.conftest import START
from tests.unit.engines.samples import MIDNIGHT, record

TODAY = START.date()
DAY = timedelta(days=1)


def memory(
    seq: int,
    kind: str = "crumb",
    content: str = "text",
    metadata: dict[str, Any] | None = None,
    **fields: Any,
) -> Record:
    return record(seq, metadata or {}, kind=kind, content=content, layer=Layer.SHORT_TERM, **fields)


def pending(
    records: Iterable[Record],
    answered: Set[str],
    today: date,
    days: Mapping[str, Days],
    answered_today: Set[str] = frozenset(),
) -> list[dict[str, Any]]:
    """What is open, where the days of texts are known."""

    def days_of(one: Record) -> Days:
        return days.get(one.id, Days())

    return awareness.pending(records, answered, today, days_of, answered_today)


def why(*records: Record, today: date = TODAY) -> list[str]:
    """The reasons, with the answers and dates that the records themselves give."""
    spans = {
        one.id: Days(
            [(found.start, found.end) for found in dates.find(one.content, one.occurred_at)]
        )
        for one in records
    }
    return [item["why"] for item in pending(records, answers(records), today, spans)]


def test_a_request_waits_for_its_result() -> None:
    """L12: a request is pending until a result cites it."""
    request = memory(1, "request")
    assert why(request) == [REQUEST]
    assert why(request, memory(2, "result", evidence=(request.id,))) == []
    assert why(request, memory(2, "result")) == [REQUEST]


@pytest.mark.parametrize(
    "named", [{"answers": "ID"}, {"answers": ["x", "ID"]}, {"request_id": "ID"}]
)
@pytest.mark.parametrize("kind", ["request", "escalation"])
def test_an_answer_may_name_what_it_answers(kind: str, named: dict[str, Any]) -> None:
    """L12: any record may say in its metadata what it answers."""
    open_ = memory(1, kind)
    metadata = {
        name: open_.id if value == "ID" else [open_.id, "x", 5] for name, value in named.items()
    }
    assert why(open_, memory(2, "crumb", metadata=metadata)) == []


def test_request_and_result_may_share_an_id() -> None:
    """L12: a result with the request_id of a request answers it; another request with that
    id does not."""
    request, again = (
        memory(1, "request", metadata={"request_id": "r-17"}),
        memory(2, "request", metadata={"request_id": "r-17"}),
    )
    assert why(request, again) == [REQUEST, REQUEST]
    assert why(request, memory(3, "result", metadata={"request_id": "r-17"})) == []
    assert why(request, memory(3, "result", metadata={"request_id": "r-18"})) == [REQUEST]


@pytest.mark.parametrize("kind", ["project", "preference", "crumb", "request"])
def test_what_only_sums_up_answers_nothing(kind: str) -> None:
    """L12: a request that is evidence of a summary is as open as before."""
    request = memory(1, "request")
    assert REQUEST in why(request, memory(2, kind, evidence=(request.id,)))


def test_an_answer_that_was_taken_back_is_none() -> None:
    """L12: a result that was forgotten answers nothing."""
    request = memory(1, "request")
    assert why(request, memory(2, "result", evidence=(request.id,), state=State.TOMBSTONED)) == [
        REQUEST
    ]


def test_a_status_of_pending_is_pending() -> None:
    """L12, R6: whatever says of itself that it is pending, is."""
    assert why(memory(1, "action", metadata={"status": "Pending "})) == [PENDING]
    assert (
        why(
            memory(1, "action", metadata={"status": ["pending"]}),
            memory(2, "action", metadata={"status": "failure"}),
        )
        == []
    )


@pytest.mark.parametrize("status", ["success", "DONE", "resolved", "cancelled"])
@pytest.mark.parametrize("kind", ["request", "escalation"])
def test_what_is_done_is_not_pending(kind: str, status: str) -> None:
    """L12: a request or escalation whose own status says that it is settled is not listed."""
    assert why(memory(1, kind, metadata={"status": status})) == []


def test_escalations_wait_for_an_answer() -> None:
    """L12, R6: an escalation is pending until something cites it, and so is an error that was
    escalated to somebody."""
    escalation, error = (
        memory(1, "escalation"),
        memory(2, "error", metadata={"escalated_to": "Aegis"}),
    )
    assert why(escalation, error) == [ESCALATION, ESCALATION]
    assert why(escalation, error, memory(3, "action", evidence=(escalation.id, error.id))) == []
    assert (
        why(
            memory(2, "error", metadata={"escalated_to": None}),
            memory(3, "error", metadata={"escalated_to": ""}),
        )
        == []
    )


@pytest.mark.parametrize("layer", [Layer.PROFILE, Layer.SEMANTIC, Layer.PROCEDURAL])
def test_reviews_wait(layer: Layer) -> None:
    """L12, V1: what is constrained waits for a person."""
    assert why(record(1, {}, layer=layer, state=State.CONSTRAINED)) == [REVIEW]


def test_a_proposal_waits_since_it_was_made() -> None:
    """L12: not since the day that it is about; what was said waits since it was said."""
    long_ago = START - 400 * DAY
    proposal = record(2, {}, state=State.CONSTRAINED, occurred_at=long_ago, created_at=START)
    asked = memory(1, "request", occurred_at=START - DAY, created_at=START)
    told = pending([proposal, asked], frozenset(), TODAY, {})
    assert [(one["why"], one["at"]) for one in told] == [
        (REQUEST, iso(START - DAY)),
        (REVIEW, iso(START)),
    ]


@pytest.mark.parametrize("state", [State.SUPERSEDED, State.TOMBSTONED])
def test_what_is_gone_is_not_pending(state: State) -> None:
    """L12: what was replaced or hidden waits for nobody."""
    assert (
        why(
            memory(1, "request", state=state),
            memory(2, metadata={"status": "pending"}, state=state),
        )
        == []
    )


@pytest.mark.parametrize(("days", "listed"), [(-1, False), (0, True), (7, True), (8, False)])
def test_a_day_that_has_come(days: int, listed: bool) -> None:
    """L12: a memory about a day that lay ahead is listed on that day and for a week,
    with the day."""
    trip = memory(1, content="the trip is on 2026-05-11")
    came = date(2026, 5, 11) + days * DAY
    found = pending(
        [trip], frozenset(), came, {trip.id: Days([(date(2026, 5, 11), date(2026, 5, 12))])}
    )
    assert [(item["why"], item["due"]) for item in found] == (
        [(DATE, "2026-05-11")] if listed else []
    )


def test_a_day_that_was_past_does_not_come() -> None:
    """L12: what already lay behind when it was remembered, or was on that very day, is a memory and
    no appointment."""
    records = [memory(1, content="we met on 2026-04-30"), memory(2, content="today is 2026-05-01")]
    assert why(*records, today=TODAY) == why(*records, today=TODAY + DAY) == []
    old = memory(
        3, content="see you on 2026-05-02", occurred_at=START - 30 * DAY, created_at=START + 3 * DAY
    )
    assert why(old, today=TODAY + 3 * DAY) == []


def test_the_latest_of_several_days_counts() -> None:
    """L12: of the days of one text the latest that has come is the one that is due."""
    one = memory(1)
    spans = [(TODAY + day * DAY, TODAY + (day + 1) * DAY) for day in (1, 3, 20)]
    (found,) = pending([one], frozenset(), TODAY + 4 * DAY, {one.id: Days(spans)})
    assert found["due"] == "2026-05-04"


def test_an_item_is_short_and_plain() -> None:
    """L12: an item says what, why and since when, on one line that steers no terminal."""
    one = memory(1, "request", content="call\nBen \x1b[31m" + "x" * 500)
    (found,) = pending([one], frozenset(), TODAY, {})
    assert list(found) == ["id", "why", "kind", "content", "at"]
    assert (found["id"], found["kind"], found["at"]) == (one.id, "request", iso(one.occurred_at))
    assert found["content"].startswith("call Ben <U+001B>[31mxxx")
    assert len(found["content"]) == awareness.WIDTH


def test_the_oldest_comes_first_and_each_once() -> None:
    """L12: the list is in the order of time, and a memory with several reasons is listed
    with the first."""
    both = memory(2, "request", metadata={"status": "pending", "escalated_to": "Aegis"})
    assert [
        item["id"][-1]
        for item in pending(
            [memory(3, "request"), both, both, memory(1, "request")], frozenset(), TODAY, {}
        )
    ] == [
        *("1", "2", "3"),
    ]
    assert why(both) == [REQUEST]


values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.text())
    | st.dictionaries(st.text(), st.text())
)


@given(
    st.lists(
        st.builds(
            memory,
            st.integers(1, 50),
            st.sampled_from(["request", "result", "escalation", "crumb", "error"]),
            metadata=st.dictionaries(
                st.sampled_from(["status", "escalated_to", "request_id", "answers"]), values
            ),
            state=st.sampled_from(State),
        ),
        max_size=8,
    )
)
def test_no_metadata_breaks_it(records: list[Record]) -> None:
    """L12: whatever stands in the metadata, the list is made, without a memory that is not there or
    comes twice."""
    found = pending(records, answers(records), TODAY, {})
    ids = [item["id"] for item in found]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {one.id for one in records}


def test_reasons_are_those_that_the_docs_name() -> None:
    """L12: programs that read the list know these words."""
    assert (awareness.REQUEST, awareness.PENDING) == ("request without a result", "status pending")
    assert (awareness.ESCALATION, awareness.REVIEW) == ("unanswered escalation", "waits for review")
    assert awareness.DATE == "the day has come"


@pytest.mark.parametrize("kind", ["result", "action", "decision"])
def test_what_came_of_a_request_answers_it(kind: str) -> None:
    """L12: a result, an action or a decision that cites a request settles it."""
    request = memory(1, "request")
    assert why(request, memory(2, kind, evidence=(request.id,))) == []


def test_a_day_may_come_on_the_day_it_is_stored() -> None:
    """L12: what was said before and is stored on the very day is not too late."""
    one = memory(1, occurred_at=MIDNIGHT - timedelta(days=3), created_at=MIDNIGHT)
    spans = {one.id: Days([(TODAY, TODAY + timedelta(days=1))])}
    assert [told_["due"] for told_ in pending([one], frozenset(), TODAY, spans)] == [
        TODAY.isoformat()
    ]


def test_what_waits_is_told_in_200_characters() -> None:
    """L12: a longer text is cut."""
    requests = [memory(seq, "request", content="x" * (199 + seq)) for seq in (1, 2)]
    told_ = [one["content"] for one in pending(requests, frozenset(), TODAY, {})]
    assert told_ == ["x" * 200, "x" * 199 + "…"]


def test_only_texts_name_what_is_answered() -> None:
    """L12: whatever else somebody wrote beside them."""
    assert awareness.answers(
        [memory(1, metadata={"answers": ["a", 5, None], "request_id": "b"})]
    ) == {"a", "b"}
    assert awareness.answers([memory(1, metadata={"answers": 5})]) == frozenset()


def test_a_day_that_recurs() -> None:
    """L12: a recurring day is due on that day alone, once for each time: an answer settles the time
    at which it comes, and a status of done all of them."""
    one = memory(1, "request", "call Ana every Monday", occurred_at=START - DAY)
    again = {one.id: Days(is_again=True)}
    earlier = memory(2, "result", evidence=(one.id,), occurred_at=START - timedelta(hours=20))
    now = memory(3, "result", evidence=(one.id,), occurred_at=START)

    def due(*answering: Record, days: Any = again, record: Record = one) -> list[Any]:
        settled, today = answers(answering), answers(answering, since=TODAY)
        found = pending([record], settled, TODAY, days, today)
        return [(item["why"], item.get("due")) for item in found]

    assert due() == [(REQUEST, None)]
    assert due(earlier) == [(DATE, TODAY.isoformat())]
    assert due(earlier, now) == []
    assert due(earlier, days={}) == []
    done = memory(4, content="every Monday", metadata={"status": "done"}, occurred_at=START - DAY)
    assert due(record=done, days={done.id: Days(is_again=True)}) == []
    said_today = memory(5, content="every Friday")
    assert due(record=said_today, days={said_today.id: Days(is_again=True)}) == []


def test_days_are_only_read_where_they_matter() -> None:
    """L12: a request is open whatever its text says, which may be long, as there may be many."""
    asked = [memory(seq, "request", content=f"book table {seq} for tomorrow") for seq in (1, 2)]
    said = memory(3, content="the dentist, tomorrow")
    read: list[str] = []

    def days_of(one: Record) -> Days:
        read.append(one.id)
        return Days()

    found = awareness.pending([*asked, said], frozenset(), TODAY, days_of)
    assert [item["why"] for item in found] == [REQUEST, REQUEST]
    assert read == [said.id]
