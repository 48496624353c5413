"""Denials and retractions (S2): what they take back, whatever words it was said in."""

from __future__ import annotations

from tests.cases import every

from .holding import claims

# What was said before, the denial, and what it denies.
DENIALS = [
    ("We use Redis for the cache.", "We are not using Redis.", "habit", "use Redis for the cache"),
    ("Our cache is Redis.", "We don't use Redis any more.", "has:cache", "Redis"),
    ("We're using Redis.", "We don't use Redis.", "does:be using", "Redis"),
    (
        "We deploy with Helm.",
        "We're not deploying with Helm any longer.",
        "does:deploy with",
        "Helm",
    ),
    ("I live in Berlin.", "I don't live in Berlin.", "lives_in", "Berlin"),
    ("We deploy with Helm.", "We're not using Bazel.", "does:be using", "Bazel"),
    ("I have a sister.", "I don't have a sister.", "sibling", "sister"),
    ("Hello.", "I never said that I work at Acme.", "employer", "Acme"),
    ("I'm allergic to latex.", "I was never allergic to latex.", "allergy", "latex"),
    ("My brother is Nils.", "Nils is not my brother.", "sibling", "Nils"),
    ("Hello.", "I have no sister.", "sibling", "sister"),
    ("Hello.", "I have no pets.", "pet", ""),
    ("Hello.", "We don't have any children.", "child", ""),
    ("Hello.", "Mia is not my sister.", "sibling", "Mia"),
    ("Hello.", "I don't have a dog any more.", "pet", "dog"),
]


@every(("before", "denial", "attribute", "value"), DENIALS)
def test_a_denial_is_about_what_was_said(
    before: str, denial: str, attribute: str, value: str
) -> None:
    """S2: it denies what was said before in the same words; and it never claims that it is so."""
    found = claims(before, denial)[len(claims(before)) :]
    assert [(one.attribute, one.value, one.negated) for one in found] == [(attribute, value, True)]
    assert not any(one.corrects for one in found)


@every(
    ("told", "attribute", "value"),
    [
        ("My sister is Mia. / I misspoke, I have no sister.", "sibling", "sister"),
        ("We're using Redis. / Scrap that, we are not using Redis.", "does:be using", "Redis"),
        ("I work at Acme. / That's wrong, I never worked at Acme.", "employer", "Acme"),
        ("I live in Berlin. / It's not true that I live in Berlin.", "lives_in", "Berlin"),
        ("I have a dog. / Scrap that.", "pet", "dog"),
        ("I have a dog. / Oh no, please ignore what I just said!", "pet", "dog"),
        ("I live in Berlin. / Forget what I said about Berlin.", "lives_in", "Berlin"),
        ("I have two cats. / Correction: I have no cats.", "pet", "cats"),
    ],
)
def test_a_retraction_takes_back_what_never_was_so(told: str, attribute: str, value: str) -> None:
    """S2: "I misspoke", "scrap that" and the like deny it from its beginning on."""
    last = claims(*told.split(" / "))[-1]
    assert (last.attribute, last.value, last.negated, last.corrects) == (
        attribute,
        value,
        True,
        True,
    )


def test_what_takes_nothing_back() -> None:
    """S2: errands with such words, and retractions of nothing, claim nothing; what was said before
    the last turn is not meant."""
    assert len(claims("I have a dog.", "Write me a poem about rain.", "Scrap that.")) == 1
    for told in ("Scrap that.", "Forget what I said about Berlin.", "Ignore my last message."):
        assert claims("Hello there.", told) == []
    assert not any(one.corrects for one in claims("I have a dog.", "Scrap the old draft, please."))


@every(
    ("told", "value", "reason"),
    [
        ("We decided to use Postgres because the licence is simple.", "use Postgres",
         "the licence is simple"),
        ("We've agreed to postpone the launch, since QA found a bug.", "postpone the launch",
         "QA found a bug"),
        ("We chose React over Vue because the team knows it", "React", "the team knows it"),
        ("We settled on Hetzner due to the price.", "Hetzner", "the price"),
        ("We settled on Hetzner.", "Hetzner", ""),
        ("I decided to sell the car because it is too old.", "sell the car", "it is too old"),
        ("Decision: we use Stripe because it supports SEPA.", "use Stripe", "it supports SEPA"),
    ],
)  # fmt: skip
def test_a_decision_has_its_reason(told: str, value: str, reason: str) -> None:
    """S1: what several decide is a decision, and so is what somebody gives a reason for."""
    decided = [one for one in claims(told) if one.attribute == "decision"]
    assert [(one.value, one.reason) for one in decided] == [(value, reason)]
    assert not any(one.attribute == "did" for one in claims(told))


def test_a_plan_may_have_a_reason_too() -> None:
    """S1: what one person decides without a reason stays a plan."""
    (plan,) = claims("I've decided to take a gap year.")
    assert (plan.attribute, plan.reason) == ("plan", "")
    plan = next(one for one in claims("I plan to visit Rome because I love it.") if one.reason)
    assert (plan.attribute, plan.value, plan.reason) == ("plan", "visit Rome", "I love it")
