"""A number, a day or a time that is told anew takes the place of the known one (S2, S7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import Turn, quantities
from lamina.engines.claims.extraction import extract
from tests.cases import every

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
BEFORE = NOW - timedelta(days=60)


def renewed(first: str, later: str) -> list[str]:
    """List the values that a later message gives another quantity, as they are then."""
    (known,) = extract([Turn(first, "Ann", BEFORE)])
    (told,) = extract([Turn(later, "Ann", NOW)], known)
    return [f"{one.replaces} -> {one.value}" for one in told if one.rule == quantities.RULE]


@every(
    ("first", "later", "wanted"),
    [
        (
            "I run the debating club on Wednesdays.",
            "Debating's been bumped to Fridays because the hall is full of badminton.",
            ["run the debating club on Wednesdays -> run the debating club on Fridays"],
        ),
        (
            "My radio call sign is Eagle 2.",
            "My call sign has become Eagle 1.",
            ["Eagle 2 -> Eagle 1"],
        ),
        (
            "My days off are tues/wed.",
            "ok new schedule just dropped, I'm off sun/mon from here on!!",
            [],  # the words name nothing, and it may be another thing
        ),
        (
            "My loupes are 2.5x.",
            "Have upgraded to 4x loupes and my neck thanks me.",
            ["2.5x -> 4x"],
        ),
        (
            "The deadline for the report is Friday 20 November.",
            "They pushed the report deadline back to 4 December.",
            ["Friday 20 November -> 4 December"],
        ),
        (
            "Our budget for the kitchen is 180.000 kr.",
            "We have to make do with 125.000 kr instead.",
            [],
        ),
        (
            "I'm on 20 mg of ramipril.",
            "I've gone up to 40 mg of ramipril.",
            ["20 mg of ramipril -> 40 mg of ramipril"],
        ),
        # Exceptions, what others have, what is still so, and what is asked.
        ("I run the debating club on Wednesdays.", "Just this week debating is on Friday.", []),
        ("I run the debating club on Wednesdays.", "Their debating club meets on Fridays.", []),
        ("I run the debating club on Wednesdays.", "Should debating be on Fridays?", []),
        ("I run the debating club on Wednesdays.", "Debating is on Fridays, too.", []),
        (
            "We make do with a food budget of 400 cedis.",
            "The girls have 1,500 cedis for food. We make do with 400 cedis for food.",
            [],
        ),
        # Another thing, beside the one that is known.
        ("The API is on port 8080.", "The admin panel is on port 9090.", []),
        ("I run 5k every Monday.", "I run 10k every Sunday.", []),
        ("I take 20 mg of sertraline.", "I take 10 mg of melatonin.", []),
        ("I meet Anna on Mondays.", "I meet Bob on Tuesdays.", []),
        ("I pay 12 euros a month for Spotify.", "I pay 15 euros a month for Netflix.", []),
        ("I feed the cat at 6:00.", "I feed the baby at 9:00.", []),
        ("I run the debating club on Wednesdays.", "I run the chess club on Fridays.", []),
        ("My backend runs on port 8000.", "My frontend runs on port 3000.", []),
        ("Our standup is at 9:30.", "The marketing team's standup is at 11:00.", []),
        ("My rent is 900 euros.", "Rent in Zurich is 2500 euros, crazy.", []),
        ("My shift starts at 6:00.", "My shift ends at 14:00.", []),
        # Tasks, wishes, subsets, events, and another spelling.
        ("We have 3 cats.", "Write a story about a man with 12 cats.", []),
        ("We have 3 cats.", "2 cats are asleep on my lap.", []),
        ("We have 3 cats.", "We'd like 5 cats.", []),
        ("We have 40 customers.", "3 customers complained.", []),
        ("I read 20 pages a day.", "I read 60 pages on the flight.", []),
        ("I pay 900 euros rent.", "A coffee costs 4 euros now.", []),
        ("Our standup is at 6pm.", "Our standup is at 18:00.", []),
        ("We have two cats.", "We have 2 cats.", []),
        ("My brother is 31 and I'm on 5 mg of ramipril.", "My neighbour takes 10 mg.", []),
    ],
)
def test_another_quantity_replaces_the_known_one(first: str, later: str, wanted: list[str]) -> None:
    """S2: of the same thing, as a rule, and of the same person; nothing else is changed."""
    assert renewed(first, later) == wanted


@every(
    ("text", "wanted"),
    [
        ("standup at 9:30 am", [("9:30 am", "clock")]),
        ("closes at 7pm on the 4th", [("7pm", "clock"), ("the 4th", "date")]),
        ("due 9 Nov, not June 4th", [("9 Nov", "date"), ("June 4th", "date")]),
        ("Mondays and Wednesdays", [("Mondays and Wednesdays", "day of the week")]),
        ("Postgres 16 for 45 usd", [("16", "of postgr"), ("45", "usd")]),
        ("$54.99 monthly", [("$54.99", "$")]),
        ("82kg, two kids", [("82", "kg"), ("two", "kid")]),
        ("nothing to count", []),
    ],
)
def test_quantities_are_found_with_what_they_count(
    text: str, wanted: list[tuple[str, str]]
) -> None:
    """S2: times, dates, days, and numbers with a unit or with the word before them."""
    found = quantities.quantities(text)
    assert [(text[one.start : one.end]) for one in found] == [told for told, _ in wanted]
    assert all(kind in one.kinds for one, (_, kind) in zip(found, wanted, strict=True))


@given(st.text(alphabet="a1.,:/€ -khmond", max_size=60))
def test_every_quantity_is_a_part_of_its_text(text: str) -> None:
    """S2: they are in order, apart from each other, and none is empty."""
    ends = [0, *(one.end for one in quantities.quantities(text))]
    starts = [*(one.start for one in quantities.quantities(text)), len(text)]
    assert all(end <= start for end, start in zip(ends, starts, strict=True))
    assert all(one.start < one.end for one in quantities.quantities(text))
