"""What a network learns from: labels as targets, and texts made of others (needs no PyTorch)."""

from __future__ import annotations

import random

import numpy as np
from benchmarks.labelled import Mention, blended, mean, target, text, unlabelled, with_hurried
from benchmarks.variations import Said, Variations

from lamina.engines.claims import tagger

SENTENCE = "My sister Mia lives in Rome, keep it short."
ROW = {
    "text": SENTENCE,
    "facts": [
        {"about": "user", "attribute": "sister", "value": "Mia", "status": "holds"},
        {"about": "Mia", "attribute": "lives in", "value": "Rome", "status": "holds"},
    ],
    "instructions": ["keep it short"],
}
SAID = [
    Said("My sister Mia lives in Rome. She paints 12 walls.", is_talk=False),
    Said("Hey Tom, I adopted a puppy. He is called Rex.", is_talk=True),
]


def test_a_target_says_what_the_labels_say() -> None:
    """S1: each word has one class, values begin where they were labelled, and name whom they are
    about."""
    read = text(ROW)
    wanted = target(read)
    begins = {read.given.words[place] for place in np.flatnonzero(wanted.classes[:, 1])}
    assert begins == {"mia", "rome"}
    assert (wanted.classes.sum(axis=1) == 1).all()
    about = {
        read.given.words[place]: ("", *read.given.words)[whom.argmax()]
        for place, whom in wanted.about
    }
    assert about == {"mia": "", "rome": "mia"}
    ordered = [word for word, is_one in zip(read.given.words, wanted.orders, strict=True) if is_one]
    assert ordered == ["keep", "it", "short"]


def test_labels_and_what_a_teacher_says_count_by_halves() -> None:
    """S1: where nobody has labelled anything, only the teacher counts."""
    told = target(text({**ROW, "facts": []}))
    half = blended(target(text(ROW)), told, 0.5)
    assert sorted(set(half.classes[:, 1])) == [0.0, 0.5]
    assert (half.classes.sum(axis=1) == 1).all()
    unknown = target(unlabelled(SENTENCE, is_talk=False))
    assert (blended(unknown, told, 0.5).classes == told.classes).all()
    assert np.allclose(mean([told, target(text(ROW))]).classes.sum(axis=1), 1)


def test_variations_are_texts_like_those_they_are_made_of() -> None:
    """S1: as many as are wanted, of both kinds, the same each time, and never empty."""
    real = ["I want to plan a trip. My budget is 300 euros."]
    made = list(Variations(SAID, real, seed=3).take(200))
    assert len(made) == 200
    assert {one.is_talk for one in made} == {False, True}
    assert all(one.text.strip() for one in made)
    assert made == list(Variations(SAID, real, seed=3).take(200))
    assert any("sister" in one.text and "Mia" not in one.text for one in made)


def test_a_hurried_text_keeps_its_labels() -> None:
    """S1: without capitals and most marks, each value is still one."""
    listed = with_hurried([text(ROW)] * 40, random.Random(5))
    assert len(listed) > 40
    for one in listed:
        assert len(one.values or ()) == 2
        assert len(one.given.marks[0]) == tagger.MARKS


def test_what_is_over_is_learned_from_every_label() -> None:
    """S1, S2: from values that have ended and from mentions that are over; a teacher says it of
    every word."""
    facts = [
        {"about": "user", "attribute": "sister", "value": "Mia", "status": "holds"},
        {"about": "Mia", "attribute": "lives in", "value": "Rome", "status": "ended"},
    ]
    ended = text({"text": SENTENCE, "facts": facts})
    wanted = target(ended)
    words = ended.given.words
    assert {words[place] for place in np.flatnonzero(wanted.marked)} == {"mia", "rome"}
    assert {words[place] for place in np.flatnonzero(wanted.over)} == {"rome"}
    mentioned = unlabelled(SENTENCE, is_talk=False)
    mentioned = mentioned._replace(
        mentions=(Mention(words.index("rome"), words.index("rome") + 1, True),)
    )
    assert (target(mentioned).over == wanted.over).all()
    assert not target(mentioned).is_noted
    told = target(unlabelled(SENTENCE, is_talk=False))
    half = blended(wanted, told._replace(over=np.full(len(words), 0.4, np.float32)), 0.5)
    assert np.isclose(half.over[words.index("rome")], 0.7)
    assert np.isclose(half.over[words.index("sister")], 0.4)
    assert half.marked.all()
