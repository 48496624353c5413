"""What was said later of what was found: chosen by the words that both share."""

from __future__ import annotations

from datetime import timedelta

from lamina.model.record import Record
from lamina.search.context import sequels
from tests.conftest import START
from tests.unit.search.test_context_parts import hit

GOAL = "To whom do I send the chapter?"
SUPERVISOR = hit(1, "My supervisor is Prof. Moser, for the thesis on bike sharing.")


def chosen(source: Record, *later: str) -> str | None:
    """The text of the sequel that is chosen among some later sayings."""
    wanted = sequels.telling(source, GOAL)
    found = sequels.sequel(source, wanted, [hit(n, text) for n, text in enumerate(later, 10)])
    return None if found is None else found.record.content


def test_a_sequel_shares_a_name_and_says_that_something_changed() -> None:
    """C3: what shares most of what is told is chosen; without a word of change there is none."""
    kainz = "Prof. Moser is on sabbatical, so Dr. Kainz is it from now on."
    moser = "Prof. Moser sent me a postcard."
    assert chosen(SUPERVISOR.record, moser, kainz) == kainz
    assert chosen(SUPERVISOR.record, moser) is None
    assert chosen(SUPERVISOR.record, "I moved to Graz, it is quiet now.") is None


def test_only_the_same_speaker_goes_on_later() -> None:
    """C3: what was said before it, or by somebody else, is no sequel."""
    text = "Prof. Moser has changed to another university."
    earlier = START - timedelta(days=1)
    wanted = sequels.telling(SUPERVISOR.record, GOAL)
    for one in (hit(2, text, speaker="Ben"), hit(3, text, occurred_at=earlier), SUPERVISOR):
        assert sequels.sequel(SUPERVISOR.record, wanted, [one]) is None
    later = hit(4, text)
    assert sequels.sequel(SUPERVISOR.record, wanted, [later]) == later


def test_an_assistant_says_nothing_that_is_followed() -> None:
    """C3: sequels are looked for of what people said, among the first hits."""
    told = [hit(n, "My boat is in Split.") for n in range(1, 6)]
    answer = hit(9, "Your boat is in Split.", speaker="assistant")
    note = hit(8, "The boat is in Split.", speaker=None)
    found = sequels.sources([answer, note, *told])
    assert found == [one.record for one in told[: sequels.FIRST]]


def test_a_sequel_stands_behind_what_it_follows() -> None:
    """C3: a sequel that was found itself is moved up, and is there once."""
    first, second, third = (hit(n, f"number {n}") for n in (1, 2, 3))
    placed = sequels.placed((first, second, third), {first.record.id: third})
    assert [one.record.id for one in placed] == [one.record.id for one in (first, third, second)]
    assert placed[1].parts == {"sequel": first.score}
