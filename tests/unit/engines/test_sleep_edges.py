"""The edges of what sleep makes: when a conversation is long enough, what is a sentence, and which runs are one workflow."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina.engines import summary, workflows
from lamina.model.record import Layer
from tests.cases import every

from .test_profile import record
from .test_summary import talk, turn
from .test_workflows import ended

MIDNIGHT = datetime(2026, 5, 1, tzinfo=UTC)
LATER = MIDNIGHT + timedelta(days=100)

# Summaries


def test_a_conversation_is_long_from_eight_turns_and_2000_characters_on() -> None:
    """S3: with one turn or one character less it is left as it is."""

    def summed_up(turns: int, characters: int) -> bool:
        told_ = f"I moved to Lisbon on {characters} May 2026. " + "x" * 3000
        first = told_[: characters - 10 * (turns - 1)]
        return bool(
            summary.plan(
                [turn(1, first), *(turn(2 + number, "0123456789") for number in range(turns - 1))],
                (),
                LATER,
            )
        )

    assert summed_up(8, 2000)
    assert not summed_up(7, 2000)
    assert not summed_up(8, 1999)


def test_the_oldest_conversation_is_summed_up_first() -> None:
    """S3, Q6: by when it ended, whatever order the turns came in."""
    late, early = talk(first=500, session="late"), talk(first=1, session="early")
    assert [made.session for made in summary.plan([*late, *early], (), LATER)] == ["early", "late"]


def test_a_summary_is_known_by_what_it_keeps() -> None:
    """S3: its origin and its sentences; one of the two is not enough. It keeps who took part."""
    (made,) = summary.plan(talk(), (), LATER)
    assert set(made.metadata) == {"origin", "participants", "sentences"}
    assert made.metadata["participants"] == ["Ana", "Ben"]
    assert len(made.sentences) <= 12
    assert summary.is_summary(record(1, made.metadata))
    for name in ("origin", "sentences"):
        assert not summary.is_summary(
            record(1, {key: value for key, value in made.metadata.items() if key != name})
        )


@pytest.mark.parametrize("fence_", ["```", "~~~"])
def test_code_holds_no_sentence(fence_: str) -> None:
    """S3: between fences of either kind; what stands around them does."""
    content = f"Look at this.\n{fence_}\nprint(1). exit().\n{fence_}\nIt works."
    assert [content[one.start : one.end] for one in summary.spans(content)] == [
        "Look at this.",
        "It works.",
    ]


@every("word", "Mr Mrs Ms Dr Prof St vs e.g i.e approx Inc".split())
def test_a_short_form_ends_no_sentence(word: str) -> None:
    """S3: a point behind it belongs to the word."""
    content = f"We met {word}. Smith today. It rained."
    assert [content[one.start : one.end] for one in summary.spans(content)] == [
        f"We met {word}. Smith today.",
        "It rained.",
    ]


# Workflows


def test_workflows_come_by_user_and_name() -> None:
    """S3, Q6: in one order, and what one user did is not counted for another."""
    runs = [
        ended(seq, name=name, user=user)
        for seq, (user, name) in enumerate([(u, n) for u in ("ben", "ana") for n in "ba"] * 3, 1)
    ]
    made = [(one.user, one.slug) for one in workflows.plan(runs, (), LATER)]
    assert made == [("ana", "a"), ("ana", "b"), ("ben", "a"), ("ben", "b")]


def test_the_newest_hundred_successes_are_the_evidence() -> None:
    """S3: of more, the older ones are counted and not named."""
    runs = [ended(seq) for seq in range(1, 111)]
    (made,) = workflows.plan(runs, (), LATER)
    assert made.successes == 110
    assert made.evidence == tuple(run.id for run in runs[10:])


def test_steps_of_different_runs_are_different_times() -> None:
    """S3: two tools within an hour are one time when they belong to one run or session, and two when they do not."""
    times = [timedelta(days=day, minutes=minute) for day in (1, 2, 3) for minute in (0, 1)]

    def runs(session: str) -> list[Any]:
        return [
            ended(
                seq,
                metadata={"tool": f"t{seq % 2}"},
                session=session.format(seq),
                occurred_at=MIDNIGHT + when,
            )
            for seq, when in enumerate(times, 1)
        ]

    assert workflows.plan(runs("s"), (), LATER)[0].successes == 3
    assert workflows.plan(runs("s{}"), (), LATER)[0].successes == 6


@pytest.mark.parametrize(
    ("name", "plain"), [("朝の briefing", False), ("Morning briefing", True), ("C++ build", False)]
)
def test_a_name_that_says_less_in_plain_letters_has_a_hash(name: str, plain: bool) -> None:
    """S3: two names of other letters do not become one slug."""
    assert (re.search(r"-[0-9a-f]{8}$", workflows.slug(name)) is None) is plain


def test_a_denied_step_is_another_step() -> None:
    """S3: a procedure that says what not to do does not say what to do."""
    runs = [ended(seq, "Restart the server. Clear the cache.") for seq in (1, 2, 3)]
    (made,) = workflows.plan(runs, (), LATER)
    same = {"workflow": made.slug, "canonical": False}
    said_ = record(50, same, layer=Layer.PROCEDURAL, content="Restart the server. Clear the cache.")
    denied = record(
        50,
        same,
        layer=Layer.PROCEDURAL,
        content="Do not restart the server. Never clear the cache.",
    )
    assert workflows.plan(runs, [said_], LATER) == []
    assert len(workflows.plan(runs, [denied], LATER)) == 1
