"""Adjust steps for records that state a fact themselves, and for uncertain claims. Pure."""

from __future__ import annotations

from lamina.engines.decision import Effect
from lamina.engines.facts import Source, Step, is_trusted_less, taken_back
from lamina.model.record import State


def restated(step: Step, source: Source) -> Step:
    """Let a record replace the fact that says the same."""
    fact = step.fact
    if fact is None or step.effect not in (Effect.REPEAT, Effect.KNOWN):
        return step
    if source.record == fact.record or is_trusted_less(source.trust, fact):
        return step
    begin = min(step.valid_from or fact.valid_from, fact.valid_from)
    return step._replace(
        effect=Effect.PAST if fact.valid_to else Effect.CHANGE,
        fact=None,
        valid_from=begin,
        valid_to=fact.valid_to,
        changed=((fact, taken_back(fact)), *step.changed),
        restates=fact,
    )


def retold(step: Step) -> Step:
    """Let a record of a past state replace the fact that it ends, as its history."""
    if step.effect is not Effect.END:
        return step
    *others, (fact, ended) = step.changed
    return step._replace(
        effect=Effect.PAST,
        fact=None,
        valid_from=ended.valid_from,
        valid_to=ended.valid_to,
        changed=(*others, (fact, taken_back(fact))),
        restates=fact,
    )


def doubted(step: Step) -> Step:
    """Let a person decide about an uncertain claim; if it is nothing new, change nothing."""
    if step.effect is Effect.PROPOSE:
        return step
    if step.effect not in (Effect.NEW, Effect.CHANGE):
        return Step(Effect.KNOWN, "not sure enough to change what is known")
    ends = tuple(fact for fact in step.ends if fact.state is State.ACTIVE)
    return Step(Effect.PROPOSE, "not sure enough: a person decides", ends)
