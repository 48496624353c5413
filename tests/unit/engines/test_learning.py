"""What is learned from an operator: something where there is something, nothing from chance, and always the same."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lamina.engines import importance, learning
from lamina.engines.learning import Example, Model
from lamina.errors import InvalidInput
from lamina.model.record import Trust

KINDS = ("crumb", "crumb", "fact", "action", "error", "decision")
TAGS = ("garmin", "weather", "family", "code", "music")
WORDS = "rent piano dentist marathon bread release train holiday tax roof 紅茶".split()
SOURCES = (None, "calendar", "web:news")

Policy = Callable[[Example], float]


def likes_garmin(memory: Example) -> float:
    return 0.95 if "garmin" in memory.tags else 0.05 if "weather" in memory.tags else 0.5


def likes_tea(memory: Example) -> float:
    return 0.95 if "紅茶" in memory.content else 0.2


def agrees(memory: Example) -> float:
    return importance.score(memory.kind, memory.content, memory.tags, memory.metadata)


def contradicts(memory: Example) -> float:
    return 0.1 if agrees(memory) > 0.5 else 0.9 if agrees(memory) < 0.5 else 0.5


def throws_a_coin(_memory: Example) -> float:
    return 0.5


def likes_nearly_all(memory: Example) -> float:
    return 0.3 if "weather" in memory.tags else 0.95


def history(policy: Policy, number: int, seed: int = 0) -> list[Example]:
    """Decisions of a simulated operator."""
    chance = random.Random(seed)
    made = []
    for place in range(number):
        memory = Example(
            kind=chance.choice(KINDS),
            content=f"{' '.join(chance.choices(WORDS, k=4))} {seed}-{place}",
            tags=tuple(dict.fromkeys(chance.choices(TAGS, k=chance.randint(0, 2)))),
            metadata={"status": chance.choice(("success", "failure"))}
            if chance.random() < 0.3
            else {},
            source=chance.choice(SOURCES),
            liked=False,
        )
        made.append(structs.replace(memory, liked=chance.random() < policy(memory)))
    return made


def learned(policy: Policy, number: int = 300, seed: int = 0) -> Model:
    model = learning.learn(history(policy, number, seed))
    assert model is not None
    return model


def known(memory: Example) -> tuple[Any, ...]:
    return (
        *(memory.kind, memory.content, memory.tags, memory.metadata),
        *(memory.source, memory.speaker, memory.trust),
    )


def error(scores: list[float], memories: list[Example]) -> float:
    """The mean squared difference between scores and what was liked."""
    return sum(
        (score - memory.liked) ** 2 for score, memory in zip(scores, memories, strict=True)
    ) / len(memories)


@pytest.mark.parametrize("number", [0, 1, learning.FEWEST - 1])
def test_it_is_silent_while_there_is_little(number: int) -> None:
    """L8: below 40 examples nothing is learned, however clear they are."""
    examples = [
        Example(
            kind="crumb",
            content=f"note {place}",
            tags=("a",) if place % 2 else ("b",),
            liked=place % 2 > 0,
        )
        for place in range(number)
    ]
    assert learning.learn(examples) is None


def test_it_speaks_when_forty_examples_are_clear() -> None:
    """L8: 40 examples are enough where they leave no doubt, and the reason is the one that there is."""
    examples = [
        Example(
            kind="crumb",
            content=f"note {place}",
            tags=("a",) if place % 2 else ("b",),
            liked=place % 2 > 0,
        )
        for place in range(learning.FEWEST)
    ]
    model = learning.learn(examples)
    assert model is not None
    assert (
        model.score("crumb", "new", ["a"], {}) > 0.7 > 0.3 > model.score("crumb", "new", ["b"], {})
    )


@pytest.mark.parametrize("liked", [0, 9, 91, 100])
def test_it_is_silent_while_one_side_is_missing(liked: int) -> None:
    """L8: from an operator who liked, or disliked, fewer than ten nothing is learned."""
    examples = [
        Example(
            kind="crumb",
            content=f"note {place}",
            tags=("a",) if place < liked else ("b",),
            liked=place < liked,
        )
        for place in range(100)
    ]
    assert learning.learn(examples) is None


def test_it_learns_what_is_liked() -> None:
    """L8: what is tagged like liked memories goes up, like disliked ones down, and anything else hardly moves."""
    model = learned(likes_garmin)
    up, down, other = (
        model.score("crumb", "Something new", tags, {})
        for tags in (["garmin"], ["weather"], ["code"])
    )
    assert up >= 0.75
    assert down <= 0.25
    assert abs(other - 0.5) <= 0.12
    others = history(likes_garmin, 500, seed=1)
    tables = [agrees(memory) for memory in others]
    assert (
        error([model.score(*known(memory)) for memory in others], others)
        < error(tables, others) - 0.05
    )


def test_it_learns_words_of_any_language() -> None:
    """L8, Q8: the tables know English words alone; what a Japanese word is worth to this operator is learned."""
    model = learned(likes_tea)
    assert model.score("crumb", "紅茶", (), {}) > model.score("crumb", "珈琲", (), {}) + 0.2


@pytest.mark.parametrize("policy", [throws_a_coin, agrees])
def test_it_learns_nothing_from_chance(policy: Policy) -> None:
    """L8: from random decisions, and from those that agree with the tables, comes no model, or one that is no worse."""
    for seed in range(6):
        model = learning.learn(history(policy, 300, seed))
        others = history(policy, 300, seed + 100)
        tables = error([agrees(memory) for memory in others], others)
        assert (
            model is None
            or error([model.score(*known(memory)) for memory in others], others) <= tables
        )


def test_the_level_stays() -> None:
    """L8: an operator who likes nearly everything does not make everything important: the average stays where it was."""
    examples = history(likes_nearly_all, 400)
    model = learning.learn(examples)
    assert model is not None
    assert model.liked / model.examples > 0.7
    tables = sum(agrees(memory) for memory in examples) / len(examples)
    assert (
        abs(sum(model.score(*known(memory)) for memory in examples) / len(examples) - tables) < 0.05
    )


def test_a_text_learned_by_heart_is_no_understanding() -> None:
    """L8: the same few texts judged again and again teach nothing about others, so there is no model."""
    texts = [f"alpha{place} beta{place} gamma{place}" for place in range(8)]
    examples = [
        Example(kind="crumb", content=text, liked=place % 2 > 0) for place, text in enumerate(texts)
    ] * 20
    assert learning.learn(examples) is None
    assert learning.learn([structs.replace(one, content="same") for one in examples]) is None


CHILD = """
import random, sys
import msgspec
from lamina.engines import learning
from tests.unit.engines.test_learning import history, likes_garmin
examples = history(likes_garmin, 200)
random.Random(sys.argv[1]).shuffle(examples)
model = learning.learn(examples)
sys.stdout.buffer.write(msgspec.json.encode(model))
"""


def test_the_same_examples_give_the_same_bytes() -> None:
    """L8, Q6: the model is the same to the byte in whatever order and process its examples come."""
    models = set()
    for order, seed in (("a", "0"), ("b", "1"), ("c", "424242")):
        command = [sys.executable, "-c", CHILD, order]
        models.add(
            subprocess.run(
                command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
            ).stdout
        )
    assert models == {msgspec.json.encode(learned(likes_garmin, 200))}


def test_a_model_is_json() -> None:
    """L8: a model that was stored and read again is the same, and all its weights have names that people can read."""
    model = learned(likes_garmin)
    assert msgspec.json.decode(msgspec.json.encode(model), type=Model) == model
    assert list(model.weights) == sorted(model.weights)
    assert all("=" in name for name in model.weights)
    assert (model.examples, model.gain > learning.LEAST_GAIN) == (300, True)


def test_the_strongest_reasons_are_told() -> None:
    """L8: the explanation names what was learned beside the reasons of the tables, the strongest first."""
    scored = learned(likes_garmin).explain("decision", "A new watch", ["garmin"], {})
    names = [reason.name for reason in scored.reasons]
    assert names[:2] == ["kind=decision", "learned tag=garmin"]
    assert names[-1] == "learned otherwise"
    assert len(names) <= 1 + learning.TOLD + 1


@pytest.mark.parametrize(
    ("kind", "content", "tag"),
    [("crumb", "x", "a"), ("escalation", "ASAP", "goal"), ("action", "Read", "log")],
)
def test_without_weights_the_tables_speak(kind: str, content: str, tag: str) -> None:
    """L8: a model that knows nothing of a memory leaves the score of the tables as it is, whatever that is."""
    model = Model({}, 1.0, 0.0, 40, 20, 0.1)
    assert model.explain(kind, content, (tag,), {}) == importance.explain(kind, content, (tag,), {})


def test_the_tables_keep_some_say() -> None:
    """L8: from an operator who decides against the tables it is learned to do so, yet they keep a quarter of their say."""
    model = learned(contradicts)
    assert learning.KEPT <= model.tables < 1
    others = history(contradicts, 500, seed=1)
    scores, tables = (
        [model.score(*known(memory)) for memory in others],
        [agrees(memory) for memory in others],
    )
    assert error(scores, others) < error(tables, others) - 0.05


weights = st.dictionaries(
    st.sampled_from(
        [
            "kind=crumb",
            "tag=a",
            "tag=b",
            "word=tea",
            "sign=question",
            "length=short",
            "trust=agent",
            "status=failure",
        ]
    ),
    st.floats(-5, 5),
)
models = st.builds(
    Model, weights, st.floats(0.25, 1.75), st.floats(-5, 5), st.just(40), st.just(20), st.just(0.1)
)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
)


@given(
    models,
    st.sampled_from(["crumb", "error", "recipe"]),
    st.sampled_from(["tea?", "", "critical tea", "Read trace", "紅茶"]) | st.text(max_size=60),
    st.lists(st.sampled_from(["a", "b", "critical", "trivial"]), max_size=4),
    st.dictionaries(st.sampled_from(["status", "retry", "tool"]), values | st.just("failure")),
    st.none() | st.text(max_size=5),
)
def test_score_and_explanation_agree(
    model: Model,
    kind: str,
    content: str,
    tags: list[str],
    metadata: dict[str, Any],
    source: str | None,
) -> None:
    """L8: for any model and memory the score is between 0 and 1 with two decimals, and the sum of its explanation."""
    scored = model.explain(kind, content, tags, metadata, source)
    assert (
        model.score(kind, content, tags, metadata, source)
        == scored.importance
        == round(scored.importance, 2)
    )
    assert 0 <= scored.importance <= 1
    assert math.isclose(
        sum(reason.amount for reason in scored.reasons), scored.importance, abs_tol=1e-9
    )


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, learning.MOST_WEIGHT + 1])
def test_a_weight_is_a_sensible_number(weight: float) -> None:
    """L8: an example whose weight would drown all others, or is none, is an error that shows it."""
    with pytest.raises(InvalidInput, match="weight"):
        learning.learn([Example(kind="crumb", content="x", liked=True, weight=weight)])


def test_weights_count() -> None:
    """L8: an example of weight 3 teaches what three do."""
    heavy = [structs.replace(one, weight=3.0) for one in history(likes_garmin, 200)]
    light, strong = learned(likes_garmin, 200), learning.learn(heavy)
    assert strong is not None
    assert strong.weights["tag=garmin"] > light.weights["tag=garmin"] > 0


def test_absurd_examples_do_no_harm() -> None:
    """L8: whatever metadata, labels and texts the examples have, learning ends, with the same lesson."""
    absurd: dict[str, Any] = {
        "status": ["failure"],
        "retry": math.nan,
        "tool": {"a": 1},
        "category": "c" * 1000,
        "workflow": "",
    }
    examples = [
        structs.replace(
            one,
            metadata=absurd,
            speaker="s" * 256,
            trust=Trust.EXTERNAL,
            content=one.content + "\n" * 300,
        )
        for one in history(likes_garmin, 300)
    ]
    model = learning.learn(examples)
    assert model is not None
    assert model.weights["tag=garmin"] > 1 > 0 > model.weights["tag=weather"]
    assert not any(name.startswith(("status=", "tool=")) for name in model.weights)


def test_rare_words_are_not_kept() -> None:
    """L8, P6: a word of fewer than five examples is in no model, and a model has a limited number of words."""
    examples = [
        structs.replace(
            one,
            content=f"{one.content} {'hunter2' if place < 4 else ''} "
            + " ".join(f"w{place % 7}x{n}" for n in range(40)),
        )
        for place, one in enumerate(history(likes_garmin, 400))
    ]
    model = learning.learn(examples)
    assert model is not None
    words = [name for name in model.weights if name.startswith("word=")]
    assert "word=hunter2" not in words
    assert 0 < len(words) <= learning.MOST_WORDS


def test_scoring_needs_no_numpy() -> None:
    """L8: a model is loaded and used without numpy, which only learning needs."""
    code = (
        "import sys\nfrom lamina.engines.learning import Model\n"
        "Model({'tag=a': 1.0}, 1.0, 0.0, 40, 20, 0.1).explain('crumb', 'x', ['a'], {})\n"
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
