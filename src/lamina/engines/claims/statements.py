"""What a clause states by itself: the rules of its verbs, and of its words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lamina.engines.claims import (
    Claim,
    attributes,
    events,
    possessions,
    rule,
    states,
    tastes,
    values,
    words,
)
from lamina.engines.claims.predicates import Predicate
from lamina.engines.claims.rule import Phrase, Rule
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import Span
from lamina.text import words as text

RULES = rule.by_verb((*states.RULES, *possessions.RULES, *tastes.RULES, *events.RULES))
PHRASES = (*states.PHRASES, *possessions.PHRASES, *tastes.PHRASES, *events.PHRASES)
VERBS = frozenset(RULES) | words.DEEDS | words.PARTICIPLES
# What comes after these words is part of something else: "when I run", "how we grow".
ASIDE = frozenset(
    "when while how what why where if that which before after until once whenever".split()
)
ABOUT = frozenset({"what", "which", "as"})
ANY, ANY_ING, ANY_ED = "*", "*ing", "*ed"
YOURS = re.compile(r"\byou(?:r|rs|rself|'re|'ve)?\b", re.I)
# What can be said of people alone, so that an unknown word before it is a name.
PERSONAL = frozenset(
    "works_at works_as job lives living moved married_to married got_status status aged turned pets_named diet a_diet"
    " allergic".split()
)


def ruled(said: Said, clause: Clause, predicate: Predicate, about: str) -> list[Claim]:
    """What the first rule that fits makes of a verb."""
    by_verb = RULES.get(predicate.word, ())
    by_ending = next(
        (
            RULES.get(ending, ())
            for ending in (ANY_ING, ANY_ED)
            if predicate.word.endswith(ending[1:])
        ),
        (),
    )
    for one in (*by_verb, *by_ending, *RULES.get(ANY, ())):
        if (
            predicate.kind not in one.kinds
            or predicate.word in one.but
            or (predicate.negated and one.denied == rule.DROPPED)
        ):
            continue
        if clause.link in (ASIDE if one.attribute == "habit" else ABOUT):
            continue
        if one.when and not rule.TIMES[one.when].search(said.plain, clause.start, clause.end):
            continue
        if made := list(_made(said, clause, predicate, one, about)):
            return made
    return []


def _made(
    said: Said, clause: Clause, predicate: Predicate, one: Rule, about: str
) -> Iterator[Claim]:
    found = one.between.match(said.plain, predicate.after, predicate.end)
    if not found:
        return
    attribute, negated = one.attribute, predicate.negated
    if negated and one.denied and not predicate.ended:
        attribute, negated = one.denied, one.denied == one.attribute
    begin = found.span("value") if "value" in one.between.groupindex else (found.end(), found.end())
    old = (found.groupdict().get("old") or "").strip() or None
    for span in _spans(said.plain, predicate, one, begin):
        if YOURS.search(said.plain, *span):
            continue  # about who listens
        words = (min(predicate.subject.start, span[0]), span[1])
        yield said.claim(
            about,
            attribute,
            span,
            words,
            one.confidence,
            one.name,
            negated=negated,
            replaces=old,
            within=clause,
        )


def _spans(plain: str, predicate: Predicate, one: Rule, begin: Span) -> list[Span]:
    """The values that a rule finds."""
    if one.value == "verb":
        return [(predicate.at, predicate.after)]
    if one.value == "deed":
        spans = values.cut("doing", plain, predicate.at, predicate.end)
        if predicate.kind != "got" and (
            predicate.word in words.LIGHT or ANY_ED in one.verbs
        ):  # what was done must be said
            return [span for span in spans if not values.is_vague(plain[predicate.after : span[1]])]
        if one.attribute != "did" or predicate.kind == "got":
            return spans
        rest = [(span, plain[predicate.after : span[1]]) for span in spans]
        return [
            span
            for span, said in rest
            if predicate.word in words.ALONE or (said and not values.is_vague(said))
        ]
    return values.cut(one.value, plain, begin[0], predicate.end) if one.value else [begin]


def phrased(said: Said, clause: Clause, one: Phrase) -> Iterator[Claim]:
    """What some words say about the speaker."""
    found = one.pattern.search(said.part(clause))
    if not found:
        return
    begin, end = (
        found.span("value") if "value" in one.pattern.groupindex else (found.end(), found.end())
    )
    attribute, kind = _attributed(one, found)
    for span in _stretched(
        said.plain, kind, (clause.start + begin, clause.start + end), clause.end
    ):
        value = said.plain[slice(*span)]
        if one.name == "introduced" and text.first_name(value) != text.first_name(said.speaker):
            continue
        if (kind or not values.is_empty(value)) and not YOURS.search(value):
            where = said.words(clause, found, span)
            yield said.claim(
                said.speaker, attribute, span, where, one.confidence, one.name, within=clause
            )


def _attributed(one: Phrase, found: re.Match[str]) -> tuple[str, str]:
    """The attribute that some words tell of, and how its value is cut."""
    if one.attribute == attributes.FAVOURITE:
        return attributes.favourite(found["thing"]), one.value
    if one.attribute == rule.ROLE:
        attribute = words.ROLES[found["role"].lower()]
        return attribute, one.value and values.KINDS.get(attribute, "doing")
    return one.attribute, one.value


def _stretched(plain: str, kind: str, known: Span, end: int) -> list[Span]:
    """The values that begin with what is known of them: the last word of that is where a value is cut."""
    if not kind:
        return [known]
    last = known[0] + plain[slice(*known)].rstrip().rfind(" ") + 1
    return [
        (known[0] if last > known[0] else first, stop)
        for first, stop in values.cut(kind, plain, last, end)
    ]
