"""Topics in which plans must respect a person's constraints: allergy, diet, days, access. Pure.

"Suggest a restaurant" shares no word with "allergic to peanuts". A prompt has a topic if one of its
words is similar in meaning to a word of the topic; constraints are found by their own words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamina.embedders.wordllama import shared
from lamina.errors import EmbedderFailed
from lamina.model.record import Record
from lamina.search.context.aim import Aim
from lamina.text import cues, persons, words

NEAR = 0.4
DIET = (
    "allergy allergies allergic intolerant intolerance vegetarian vegan pescatarian halal kosher"
    " gluten lactose coeliac celiac diet dietary diabetic diabetes pregnant alcohol"
)
ACCESS = (
    "wheelchair crutches accessible accessibility disability disabled deaf blind stairs elevator"
    " seasick carsick claustrophobic vertigo"
)
DAYS = (
    "unavailable away holiday vacation sabbath shabbat ramadan weekends weekdays mornings evenings"
    " never busy"
)
EVERYDAY = frozenset(DAYS.split())
OVER = ("did", "visited")  # attributes of facts about what has happened
GAP = "…"  # the place of the value in the attribute of what a thing does: "bakery sells …"
LONGEST = 400  # characters; longer turns are about other things, too
# For each topic: words that indicate it, and the words of its constraints.
TOPICS: Mapping[str, tuple[str, str]] = {
    "food": (
        "restaurant food meal eat cook bake recipe lunch dinner breakfast snack dessert pizza fish"
        " ingredients wine grocery menu",
        DIET,
    ),
    "travel": (
        "travel trip flight hotel vacation weekend itinerary tourism beach",
        f"{ACCESS} {DIET} {DAYS} passport visa",
    ),
    "events": (
        "party wedding birthday anniversary celebration concert venue guests picnic",
        f"{DIET} {ACCESS} {DAYS}",
    ),
    "places": ("restaurant cafe cinema theatre museum venue", ACCESS),
    "plans": ("schedule appointment calendar meeting reservation booking", f"{DAYS} {ACCESS}"),
}


def topics(prompt: str) -> list[str]:
    """Name the topics of a prompt."""
    terms = words.terms(Aim(prompt).text)
    if not terms:
        return []
    return [topic for topic, nearness in _nearness(terms).items() if nearness >= NEAR]


def binding(found: Sequence[str], *, in_talk: bool = False) -> str:
    """Return the words by which constraints in these topics are found.

    Between people, words for days are everyday words and no constraints.
    """
    listed = dict.fromkeys(word for topic in found for word in TOPICS[topic][1].split())
    return " ".join(word for word in listed if not in_talk or word not in EVERYDAY)


def bound_in(record: Record, found: Sequence[str]) -> str:
    """Name the topics that a memory constrains, by its own words."""
    told = set(words.terms(record.content))
    own = [one for one in found if not told.isdisjoint(words.terms(TOPICS[one][1]))]
    return ", ".join(own or found)


def is_stated(record: Record, wanted: str) -> bool:
    """Tell whether people state a constraint of their own, in some of the wanted words.

    A memory that is not a turn was explicitly remembered, whoever it is about.
    """
    text = record.content
    if len(text) > LONGEST or set(words.terms(wanted)).isdisjoint(words.terms(text)):
        return False
    if record.speaker is None and record.session is None:
        return True
    if cues.of(text, record.speaker) & (cues.ASSISTANT | cues.ASKS):
        return False
    return persons.tells_of_speaker(text, words.asked(text))


def binds(record: Record) -> bool:
    """Tell whether a memory that was found by these words can be a constraint.

    What somebody did in the past is none: "went camping two weekends ago". Neither is what a thing
    does: "the bakery on the corner sells vegan bread".
    """
    attribute = str(record.metadata.get("attribute", ""))
    if GAP in attribute:
        return False
    if attribute not in OVER:
        return True
    return not set(words.terms(record.content)).isdisjoint(words.terms(DIET))


def _nearness(terms: Sequence[str]) -> dict[str, float]:
    """Return each topic's similarity to the nearest word; identity without word vectors."""
    try:
        said = shared().embed(terms)
        return {topic: float((said @ _vectors(topic).T).max()) for topic in TOPICS}
    except EmbedderFailed:
        return {
            topic: float(not set(those.split()).isdisjoint(terms))
            for topic, (those, _) in TOPICS.items()
        }


@lru_cache
def _vectors(topic: str) -> NDArray[np.float32]:
    return shared().embed(TOPICS[topic][0].split())
