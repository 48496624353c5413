"""What a clause states by itself: the rules of its verbs, and of its words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lamina import text
from lamina.engines.claims import Claim, attitudes, attributes, events, possessions, rule, states, tastes, values, words
from lamina.engines.claims.predicates import Predicate
from lamina.engines.claims.rule import Phrase, Rule
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import Span

RULES = rule.by_verb((*states.RULES, *possessions.RULES, *tastes.RULES, *events.RULES, *attitudes.RULES))
PHRASES = (*states.PHRASES, *possessions.PHRASES, *tastes.PHRASES, *events.PHRASES, *attitudes.PHRASES)
NARROW = tuple(one for one in PHRASES if not one.wide)
WIDE = tuple(one for one in PHRASES if one.wide)
VERBS = frozenset(RULES) | words.DEEDS | words.PARTICIPLES
ANY, ANY_ING, ANY_ED = "*", "*ing", "*ed"
YOURS = re.compile(r"\byou(?:r|rs|'re|'ve)?\b", re.I)
# What can be said of people alone, so that an unknown word before it is a name.
PERSONAL = frozenset(
    "works_at works_as job lives living moved married_to married got_status status aged turned pets_named diet a_diet"
    " allergic".split()
)


def ruled(said: Said, clause: Clause, predicate: Predicate, about: str) -> list[Claim]:
    """What the first rule that fits makes of a verb."""
    by_verb = RULES.get(predicate.word, ())
    by_ending = next((RULES.get(ending, ()) for ending in (ANY_ING, ANY_ED) if predicate.word.endswith(ending[1:])), ())
    for one in (*by_verb, *by_ending, *RULES.get(ANY, ())):
        if predicate.kind not in one.kinds or predicate.word in one.but or (predicate.negated and one.denied == rule.DROPPED):
            continue
        if one.when and not rule.TIMES[one.when].search(said.plain, clause.start, clause.end):
            continue
        if made := list(_made(said, clause, predicate, one, about)):
            return made
    return []


def _made(said: Said, clause: Clause, predicate: Predicate, one: Rule, about: str) -> Iterator[Claim]:
    found = one.after.match(said.plain, predicate.after, predicate.end)
    if not found:
        return
    attribute, negated = one.attribute, predicate.negated
    if negated and one.denied and not predicate.ended:
        attribute, negated = one.denied, one.denied == one.attribute
    begin = found.span("value") if "value" in one.after.groupindex else (found.end(), found.end())
    old = (found.groupdict().get("old") or "").strip() or None
    for span in _spans(said.plain, predicate, one, begin):
        if YOURS.search(said.plain, *span):
            continue  # about who listens
        words = (min(predicate.subject.start, span[0]), span[1])
        yield said.claim(about, attribute, span, words, one.confidence, one.name, negated=negated, replaces=old, within=clause)


def _spans(plain: str, predicate: Predicate, one: Rule, begin: Span) -> list[Span]:
    """The values that a rule finds."""
    if one.value == "verb":
        return [(predicate.at, predicate.after)]
    if one.value == "deed":
        spans = values.cut("doing", plain, predicate.at, predicate.end)
        if predicate.kind != "got" and (predicate.word in words.LIGHT or ANY_ED in one.verbs):  # what was done must be said
            return [span for span in spans if not values.is_vague(plain[predicate.after : span[1]])]
        return spans
    return values.cut(one.value, plain, begin[0], predicate.end) if one.value else [begin]


def phrased(said: Said, clause: Clause, one: Phrase) -> Iterator[Claim]:
    """What some words say about the speaker."""
    found = one.pattern.search(said.part(clause))
    if not found:
        return
    begin, end = found.span("value") if "value" in one.pattern.groupindex else (found.end(), found.end())
    begin, end = clause.start + begin, clause.start + end
    attribute = one.attribute
    if attribute == attributes.FAVOURITE:
        attribute = attributes.favourite(found["thing"])
    for span in values.cut(one.value, said.plain, begin, clause.end) if one.value else [(begin, end)]:
        value = said.plain[slice(*span)]
        if one.name == "introduced" and text.first_name(value) != text.first_name(said.speaker):
            continue
        if (one.value or not values.is_empty(value)) and not YOURS.search(value):
            where = said.words(clause, found, span)
            yield said.claim(said.speaker, attribute, span, where, one.confidence, one.name, within=clause)
