"""What strangers say: sentences and talks of many people and trades, with what a careful reader
would note down."""

from __future__ import annotations

from benchmarks.claims import counted, invented, score

from lamina.engines.claims import attributes

SURE = 0.6  # unless the settings say otherwise
PRECISION, RECALL = 0.83, 0.46
PROPOSED = 0.5  # claims that only a lower setting lets in
FOUND = 0.55  # of what is said, by these


def test_most_claims_of_strangers_are_right_and_most_of_what_they_say_is_found() -> None:
    """S1, R9: rules are made for anybody, not for the conversations that they were tuned on."""
    judged, labels = counted(invented())
    reached = score(judged, labels, SURE)
    assert reached.precision >= PRECISION, [one.claim for one in judged if one.label is None]
    assert reached.recall >= RECALL
    assert score(judged, labels, PROPOSED).recall >= FOUND


def test_surer_claims_are_right_more_often() -> None:
    """S6: a threshold of confidence chooses between few claims and wrong ones."""
    judged, labels = counted(invented())
    steps = [score(judged, labels, threshold).precision for threshold in (0.5, 0.7, 0.85)]
    assert steps == sorted(steps)


def test_what_strangers_say_is_labelled_with_what_can_be_known() -> None:
    """S1: every label of the collection has a subject, an attribute that facts know,
    and a value."""
    labels = [label for session in invented() for turn in session.labels for label in turn]
    assert labels
    assert all(
        label["subject"] and label["value"] and attributes.known(label["attribute"])
        for label in labels
    )
