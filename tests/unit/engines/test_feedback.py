"""What became of the memories that a context gave (S4): used when they were quoted, asked for or
marked as helpful; ignored when they were given again and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import InvalidInput
from lamina.engines import feedback
from lamina.engines.feedback import Asked, Given, Said, Served, Verdict
from tests.cases import check_all

NOW = datetime(2026, 11, 5, 9, tzinfo=UTC)
TEXTS = {"server": "The staging server is eu-2 behind the Frankfurt gateway"}
PROMPT = "where is the staging server?"


def after(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def told(text: str, minutes: float = 1, session: str | None = None, record: str = "t") -> Said:
    return Said(after(minutes), record, text, None, session)


def test_what_is_a_quotation() -> None:
    """S4: half of a memory's own words, or four of them; those of the prompt tell nothing."""
    cases = [
        ("Porto it is, then", "Ana lives in Porto", "where does Ana live", True),
        ("so where does Ana live?", "Ana lives in Porto", "where does Ana live", False),
        ("I use the eu-2 box in Frankfurt", TEXTS["server"], PROMPT, True),
        ("the staging server is slow", TEXTS["server"], PROMPT, False),
        ("thanks!", TEXTS["server"], PROMPT, False),
        ("Ana lives", "Ana lives", "Ana lives", False),
        ("", "", "", False),
    ]

    def holds(text: str, memory: str, prompt: str, wanted: bool) -> None:
        assert feedback.quotes(text, memory, prompt) is wanted

    check_all(cases, holds)


def test_a_memory_is_used_when_the_session_goes_on_with_it() -> None:
    """S4: a turn of the session that quotes it, or somebody who asks for it, within a day; without
    a session within an hour."""
    quoted = "then deploy to eu-2 through the Frankfurt gateway"
    cases: list[tuple[str | None, list[Said], list[Asked], bool]] = [
        (None, [told(quoted)], [], True),
        (None, [told(quoted, 61)], [], False),
        (None, [told(quoted, -1)], [], False),
        ("s", [told(quoted, 61, "s")], [], True),
        ("s", [told(quoted, 1, "other")], [], False),
        (None, [told(quoted, record="server")], [], False),
        (None, [], [Asked(after(5), "server")], True),
        (None, [], [Asked(after(5), "other")], False),
        (None, [], [Asked(after(5), "server", "ben")], False),
        (None, [told("thanks")], [], False),
    ]

    def holds(session: str | None, said: list[Said], asked: list[Asked], is_used: bool) -> None:
        one = Given(NOW, ("server",), None, session, PROMPT)
        found = feedback.tally([one], asked, said, TEXTS)
        wanted = Served(1, 1, 0, NOW) if is_used else Served(1, 0, 1)
        assert found == {"server": wanted}

    check_all(cases, holds)


def test_ignored_counts_since_the_last_use() -> None:
    """S4: a memory that was used once begins anew; one without a text is not counted."""
    several = [Given(after(60 * hour), ("server", "gone"), prompt=PROMPT) for hour in range(4)]
    found = feedback.tally(several, [Asked(after(61), "server")], [], TEXTS)
    assert found == {"server": Served(4, 1, 2, after(60))}
    assert feedback.rate(found.values()) == (4, 1)
    assert feedback.rate([]) == (0, 0)


@given(st.permutations(range(6)), st.lists(st.integers(0, 400), max_size=6))
def test_the_order_in_which_reads_are_listed_does_not_matter(
    order: list[int], asked: list[int]
) -> None:
    """S4, Q6: the same reads give the same counts, and none is used more often than it was given."""
    reads = [Given(after(60 * number), ("server",), prompt=PROMPT) for number in range(6)]
    asking = [Asked(after(minute), "server") for minute in asked]
    found = feedback.tally([reads[number] for number in order], asking, [], TEXTS)
    assert found == feedback.tally(reads, asking[::-1], [], TEXTS)
    assert 0 <= found["server"].used <= found["server"].given == 6
    assert found["server"].used + found["server"].ignored <= 6


def test_a_verdict_is_one_of_three() -> None:
    """H3: anything else is an error that names them."""
    assert [feedback.verdict(one.value) for one in Verdict] == list(Verdict)
    for wrong in ("great", "", None, 1, ["helpful"]):
        with pytest.raises(InvalidInput, match="helpful, wrong, outdated"):
            feedback.verdict(wrong)
