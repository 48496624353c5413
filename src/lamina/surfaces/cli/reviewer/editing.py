"""Offer the text of a proposal for editing, in a form that can be confirmed. Pure."""

from __future__ import annotations

from lamina.engines import profile, review
from lamina.model.record import Layer, Record
from lamina.surfaces.review.decisions import Decision, Verb, agreeing
from lamina.text.words import reveal

FORGETS = "a request to forget has no text to edit; c forgets the record, r refuses"
PROJECT = "the summary of a project cannot be edited; r rejects it"


def obstacle(record: Record) -> str | None:
    """Explain why the text of a proposal cannot be edited, if so."""
    if review.to_forget(record) is not None:
        return FORGETS
    return PROJECT if profile.project_name(record) is not None else None


def text(record: Record) -> str:
    """Return what a person edits: the value of a profile entry, or else the whole text.

    Hidden and control characters are spelled out, since input fields do not do this themselves.
    """
    if record.layer is Layer.PROFILE and "value" in record.metadata:
        return _visible("\n".join(profile.texts_of(record.metadata["value"])))
    return _visible(record.content)


def _visible(text: str) -> str:
    return "\t".join(map(reveal, text.split("\t")))


def decision(proposal: review.Proposal, edited: str) -> Decision:
    """Confirm a proposal with the edited text, or unchanged if nothing was edited."""
    changed = edited.strip() != text(proposal.record).strip()
    made = agreeing(proposal, edited.strip() if changed else None)
    assert made.verb is Verb.CONFIRM, "requests to forget are not edited"
    return made
