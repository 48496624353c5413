"""Two readers of the same turns: each fact is told once, with who finds it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lamina.memory.sleep.comparison import BOTH, MODEL, RULES, compared

PLANS = st.lists(
    st.fixed_dictionaries(
        {"source": st.sampled_from("abc"), "fact": st.sampled_from(["Ana: 1", "Ana: 2"])}
    ),
    unique_by=lambda told: (told["source"], told["fact"]),
)


@given(PLANS, PLANS)
def test_each_fact_is_told_once(rules: list[dict[str, str]], model: list[dict[str, str]]) -> None:
    """S6: nothing is lost, nothing is told twice, the turns stay together, and the mark is true."""
    found = compared(rules, model)
    told = [{name: one[name] for name in ("source", "fact")} for one in found]
    assert len(told) == len({(one["source"], one["fact"]) for one in [*rules, *model]})
    for one, mark in zip(told, (one["found_by"] for one in found), strict=True):
        assert (one in rules, one in model) == (mark in (BOTH, RULES), mark in (BOTH, MODEL))
    turns = [one["source"] for one in told]
    changes = [turn for turn, before in zip(turns, [None, *turns], strict=False) if turn != before]
    assert len(changes) == len(set(changes))


def test_a_fact_in_other_letters_is_the_same() -> None:
    """S6: case and spaces make no other fact; what both find is told as the model has it."""
    [one] = compared(
        [{"source": "a", "fact": "Ana likes tea", "effect": "new"}],
        [{"source": "a", "fact": "Ana likes  Tea", "effect": "repeat"}],
    )
    assert (one["found_by"], one["effect"]) == (BOTH, "repeat")
