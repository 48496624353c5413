"""Read what a clause states by itself, using the rules for verbs and phrases. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
from lamina.text.words import first_name

RULES = rule.by_verb((*states.RULES, *possessions.RULES, *tastes.RULES, *events.RULES))
PHRASES = (*states.PHRASES, *possessions.PHRASES, *tastes.PHRASES, *events.PHRASES)
VERBS = frozenset(RULES) | words.DEEDS | words.PARTICIPLES
# A clause after these words is subordinate: "when I run", "how we grow".
ASIDE = frozenset(
    "when while how what why where if that which before after until once whenever".split()
)
ABOUT = frozenset({"what", "which", "as"})
# States that "used to" marks as over.
LASTING = frozenset("lives_in employer job studies owns pet diet religion language".split())
WORK = frozenset({"job", "employer"})
LASTED = frozenset({"worked", "lived", "studied"})
ANY, ANY_ING, ANY_ED = "*", "*ing", "*ed"
YOURS = re.compile(r"\byou(?:r|rs|rself|'re|'ve)?\b", re.I)
# Rules that apply only to people, so that an unknown word before them is a name.
PERSONAL = frozenset(
    "works_at works_as job lives moved married_to got_status status aged turned pets_named diet"
    " a_diet allergic".split()
)


def ruled(said: Said, clause: Clause, predicate: Predicate, about: str) -> list[Claim]:
    """Make the claims of the first rule that matches a verb, and of another about the same work."""
    word = predicate.word
    endings = (ending for ending in (ANY_ING, ANY_ED) if word.endswith(ending[1:]))
    by_ending = RULES.get(next(endings, ""), ())
    found: list[Claim] = []
    for one in (*RULES.get(word, ()), *by_ending, *RULES.get(ANY, ())):
        if not _fits(one, predicate) or clause.link in _barring(one):
            continue
        if found and not _is_beside(one, found):
            continue
        if one.when and not rule.TIMES[one.when].search(said.plain, clause.start, clause.end):
            continue
        found += _claims(said, clause, predicate, one, about)
    return found


def _is_beside(one: Rule, found: Sequence[Claim]) -> bool:
    """Tell if a rule adds something about the same work: the employer beside the job."""
    told = {claim.attribute for claim in found}
    return one.attribute in WORK and one.attribute not in told and told <= WORK


def _fits(one: Rule, predicate: Predicate) -> bool:
    """Tell if a rule accepts the auxiliary, the verb and the negation of a predicate."""
    kind = predicate.kind
    if kind == "former" and one.attribute in LASTING:
        kind = "plain"  # "used to" is read like the present
    if kind not in one.kinds or predicate.word in one.but:
        return False
    if one.denied == rule.ONLY:
        return predicate.negated
    return not (predicate.negated and one.denied == rule.DROPPED)


def _barring(one: Rule) -> frozenset[str]:
    """Return the links after which a rule makes no claim from a clause."""
    return ASIDE if one.attribute == "habit" else ABOUT


def _claims(
    said: Said, clause: Clause, predicate: Predicate, one: Rule, about: str
) -> Iterator[Claim]:
    found = one.between.match(said.plain, predicate.after, predicate.end)
    if not found:
        return
    attribute, negated = one.attribute, predicate.negated
    if negated and one.denied not in ("", rule.ONLY) and not predicate.ended:
        attribute, negated = one.denied, one.denied == one.attribute
    begin = found.span("value") if "value" in one.between.groupindex else (found.end(), found.end())
    old = (found.groupdict().get("old") or "").strip() or None
    for span in _spans(said.plain, predicate, one, begin):
        if YOURS.search(said.plain, *span):
            continue  # about the listener
        where = (min(predicate.subject.start, span[0]), span[1])
        is_any = one.denied == rule.ONLY and said.plain[slice(*span)].lower() in words.ANY
        yield said.claim(
            about, attribute, "" if is_any else span, where, one.confidence, one.name,
            negated=negated, replaces=old, within=clause,
            is_over=_is_over(predicate) and not negated,
        )  # fmt: skip


def _is_over(predicate: Predicate) -> bool:
    """Tell if a state is over: "I used to live in Graz", "I worked at Acme"."""
    is_past = predicate.kind == "plain" and predicate.word in LASTED
    return is_past or predicate.kind == "former"


def _spans(plain: str, predicate: Predicate, one: Rule, begin: Span) -> list[Span]:
    """Find the values of a rule."""
    if one.value == "verb":
        return [(predicate.at, predicate.after)]
    if one.value == "deed":
        return _deeds(plain, predicate, one)
    return values.cut(one.value, plain, begin[0], predicate.end) if one.value else [begin]


def _deeds(plain: str, predicate: Predicate, one: Rule) -> list[Span]:
    """Find an activity, verb included; most verbs tell nothing without an object."""
    spans = values.cut("doing", plain, predicate.at, predicate.end)
    if predicate.kind == "got":
        return spans
    objects = [(span, plain[predicate.after : span[1]]) for span in spans]
    if predicate.word in words.LIGHT or ANY_ED in one.verbs:
        return [span for span, rest in objects if not values.is_vague(rest)]
    if one.attribute != "did" or predicate.word in words.ALONE:
        return spans
    return [span for span, rest in objects if rest and not values.is_vague(rest)]


def phrased(said: Said, clause: Clause, one: Phrase) -> Iterator[Claim]:
    """Make the claims of a phrase about the speaker."""
    found = one.pattern.search(said.part(clause))
    if not found:
        return
    has_value = "value" in one.pattern.groupindex
    begin, end = found.span("value") if has_value else (found.end(), found.end())
    attribute, kind = _attributed(one, found)
    known = (clause.start + begin, clause.start + end)
    for span in _stretched(said.plain, kind, known, clause.end):
        value = said.plain[slice(*span)]
        if one.name == "introduced" and first_name(value) != first_name(said.speaker):
            continue
        if (kind or not values.is_empty(value)) and not YOURS.search(value):
            where = said.words(clause, found, span)
            yield said.claim(
                said.speaker, attribute, span, where, one.confidence, one.name, within=clause
            )


def _attributed(one: Phrase, found: re.Match[str]) -> tuple[str, str]:
    """Return the attribute of a phrase, and the kind that tells where its value ends."""
    if one.attribute == attributes.FAVOURITE:
        return attributes.favourite(found["thing"]), one.value
    if one.attribute == rule.ROLE:
        attribute = words.ROLES[found["role"].lower()]
        return attribute, one.value and values.KINDS.get(attribute, "doing")
    return one.attribute, one.value


def _stretched(plain: str, kind: str, known: Span, end: int) -> list[Span]:
    """Extend the known beginning of a value: its end is searched from the last known word."""
    if not kind:
        return [known]
    last = known[0] + plain[slice(*known)].rstrip().rfind(" ") + 1
    spans = values.cut(kind, plain, last, end)
    return [(known[0], stop) for _, stop in spans] if last > known[0] else spans
