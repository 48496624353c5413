"""Extract claims from languages other than English, with one table of words for each. Pure.

The grammar is the same for all tables, and smaller than that of English: home, work, tastes,
possessions, plans and tools, the names of relatives, friends and pets, and standing instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from lamina.engines.claims import Claim
from lamina.engines.claims.attributes import DOES, HAS, INSTRUCTION
from lamina.engines.claims.imperatives import tidied
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import MASK, Clause, by_sentence
from lamina.engines.claims.spoken import WORD
from lamina.engines.claims.tongues import TOPICS, Tongue
from lamina.engines.claims.words import either
from lamina.text.patterns import LONGEST, Bounded, bounded

SURE, LIKELY, OPEN = 0.8, 0.65, 0.7
MOST = 6  # words of a value
TITLE = r"(?:Herrn?|Frau|Dr|Mme|Mlle|Señora?|Senhora?|Dona|Don|Signora?)\b"
NAME = rf"(?P<name>(?:{TITLE}\.? )?(?-i:[A-ZÀ-Þ])[\w'-]+(?: (?-i:[A-ZÀ-Þ])[\w'-]+)?)"
NUMBER = (
    r"(?:zwei|drei|vier|dos|tres|cuatro|deux|trois|quatre|dois|duas|três|due|tre|quattro|[2-9])"
)
RULE = "tongue"
BREAK = r"[,;:!?()¿¡\n…]|(?<!\d)\.(?=\s|\Z)"
NOW = r"(?:(?:jetzt|nun|ahora|maintenant|désormais|agora|adesso|ora) )?"
# Things that one has only for a moment or figuratively.
ALONE = "diet_alone"  # the rule for a word without a verb
PASSING = frozenset(
    "frage problem idee hunger durst angst zeit lust recht pregunta duda problema hambre sed miedo"
    " tiempo idea razón ganas que question problème faim soif peur idée besoin envie raison dúvida"
    " pergunta fome sede medo tempo ideia razão fame sete paura domanda dubbio bisogno voglia"
    " ragione"
    " fretta sonno sueño sono prisa".split()
)


class Grammar(NamedTuple):
    """The patterns of one language."""

    tongue: Tongue
    states: tuple[tuple[str, str, Bounded], ...]  # rule, attribute, with the group `value`
    others: tuple[tuple[str, str, Bounded], ...]  # the same for a third person
    kin: Mapping[str, str]
    mine: Bounded
    owned: Bounded
    thing: Bounded
    verb: Bounded
    article: Bounded
    end: Bounded
    doubt: Bounded
    asks: Bounded
    once: Bounded
    denied: Bounded
    ended: Bounded
    polite: Bounded
    order: Bounded
    always: Bounded
    call: Bounded
    this: Bounded
    tidy: Bounded
    split: Bounded
    lead: Bounded
    move: Bounded


def _grammar(tongue: Tongue) -> Grammar:
    """Compile the table of one language."""
    kin = {noun: name for name, nouns in tongue.kin.items() for noun in nouns.split()}
    nouns = either(frozenset(kin))
    spaced = tongue.a if tongue.a.endswith(" )") else rf"{tongue.a}\s"
    article = rf"(?:{spaced}){{0,2}}"
    # In German, where nouns have capitals, "my husband is Teacher" names nobody.
    being = "" if tongue.code == "de" else rf"| {tongue.is_}"
    return Grammar(
        tongue,
        tuple(_states(tongue, article)),
        tuple(_others(tongue, article)),
        kin,
        _compiled(
            rf"\b{tongue.my} (?:(?:[\w-]+ )?(?P<kin>{nouns})\b(?:,?(?: {tongue.called})?,?{being})"
            rf"|(?P<noun>[\w-]+)(?:,| (?={TITLE}))) (?:[oa] )?{NAME}(?![\w])"
        ),
        _compiled(
            rf"\b{tongue.have} {article}(?:[\w-]+ )?(?P<kin>{nouns})\b,? {tongue.called} {NAME}"
        ),
        _compiled(
            rf"\b{tongue.my} (?P<thing>[\w-]+(?: (?:de|da|do|di|des|du|del) [\w-]+)?)"
            rf" (?:{tongue.is_}|{tongue.called}) {NOW}(?:{tongue.into} )?(?P<value>.+)"
        ),
        _compiled(
            rf"(?:{tongue.i}"
            rf"|(?:{tongue.no})\s){{0,2}}(?P<verb>{either(frozenset(tongue.verbs))})"
            rf"(?: {tongue.after})?\s(?P<value>.+)"
        ),
        _compiled(article),
        _compiled(rf"{BREAK}|\s(?:{tongue.cut})\b|[{MASK}]"),
        _compiled(rf"\b(?:{tongue.doubt})\b"),
        _compiled(rf"(?:{tongue.asks})\b"),
        _compiled(rf"\b{tongue.once}\b"),
        _compiled(rf"\b(?:{tongue.no or tongue.after}|{tongue.after})\b"),
        _compiled(rf"\b(?:{tongue.ended})\b"),
        _compiled(rf"\s*(?:(?:{tongue.polite})\b,?\s{{1,20}}){{0,3}}"),
        _compiled(rf"(?:{tongue.order})"),
        _compiled(rf"\b(?:{tongue.always})\b"),
        _compiled(rf"\b{tongue.call}"),
        _compiled(rf"\b(?:{tongue.this})\b"),
        _compiled(rf"(?<!\w)(?:{tongue.polite})\Z"),
        _compiled(rf"[,;:()¿¡\n]\s*|\s(?=(?:{tongue.joins})\s)"),
        _compiled(rf"\s*(?:(?:{tongue.joins}|{tongue.polite}),?\s){{0,3}}"),
        _compiled(tongue.move),
    )


def _compiled(pattern: str) -> Bounded:
    return bounded(pattern, re.I)


def _states(tongue: Tongue, article: str) -> Iterator[tuple[str, str, Bounded]]:
    """Compile the rules for statements of speakers about themselves."""
    no = rf"(?:(?:{tongue.no}) )?" if tongue.no else ""
    after = rf"(?: {tongue.after})?"
    joined = tongue.joins.partition("|")[0]  # "I live here and | work there"
    head = rf"(?:\b{no}{tongue.i}|(?<=\b{joined} )){no}"
    middle = r"(?:\s[\w'-]+){0,4}?"
    value = rf" {article}(?P<value>.+)"
    yield "name", "name", _compiled(rf"\b{tongue.named}{value}")
    yield "age", "age", _compiled(rf"\b{tongue.aged}")
    children = either(frozenset(tongue.kin["child"].split()))
    yield "count", "child", _compiled(rf"\b(?P<value>{NUMBER} {children})\b")
    been = rf"(?:{no}(?:{tongue.am}|{tongue.have})\b[^,]{{0,40}}?)?"
    yield "allergy", "allergy", _compiled(rf"\b{been}{tongue.allergic}{value}")
    yield (
        "diet",
        "diet",
        _compiled(rf"\b{no}{tongue.am}\b[^,]{{0,40}}?\b(?P<value>{tongue.diets})\b"),
    )
    yield ALONE, "diet", _compiled(rf"(?<!\w)(?P<value>{tongue.diets})\Z")
    am = rf"{head}{tongue.am}{after}"
    yield (
        "job",
        "job",
        _compiled(rf"{am}(?: {tongue.a.rstrip()})?\s?(?<=\s)(?P<value>{tongue.jobs}\b)"),
    )
    for verb, stem in ((tongue.live, "lives"), (tongue.lived, "lived")):
        yield stem, "lives_in", _compiled(rf"{head}{verb}{after}{middle} {tongue.into}{value}")
    for verb, stem in ((tongue.work, "works"), (tongue.worked, "worked")):
        yield stem, "job", _compiled(rf"{head}{verb}{after}{middle} {tongue.as_}{value}")
        yield (
            stem,
            "employer",
            _compiled(rf"{head}{verb}{after}(?:\s[\w'-]+){{0,6}}? {tongue.at}{value}"),
        )
    yield "moved", "lives_in", _compiled(tongue.moved)
    if tongue.code == "de":  # the participle is last: "habe ich bei Siemens gearbeitet"
        had = r"\b(?:habe|hab|haben) (?:ich|wir) (?:[\w-]+ ){0,4}?"
        yield (
            "worked",
            "employer",
            _compiled(rf"{had}{tongue.at} {article}(?P<value>[^,]+?) gearbeitet\b"),
        )
        yield (
            "lived",
            "lives_in",
            _compiled(rf"{had}{tongue.into} {article}(?P<value>[^,]+?) (?:gewohnt|gelebt)\b"),
        )
        yield "lives", "lives_in", _compiled(r"\bbin seit \w+ in (?P<value>.+)")
    yield "dislikes", "dislikes", _compiled(rf"{head}{tongue.dislike}{value}")
    yield "likes", "likes", _compiled(rf"{head}{tongue.like}{after}{value}")
    yield "plan", "plan", _compiled(rf"\b{tongue.plan}\s(?P<value>.+)")
    yield "has", "owns", _compiled(rf"{head}{tongue.have}{after}\s(?P<value>.+)")


def _others(tongue: Tongue, article: str) -> Iterator[tuple[str, str, Bounded]]:
    """Compile the rules for statements about a named person."""
    value, middle = rf" {article}(?P<value>.+)", r"(?:\s[\w'-]+){0,4}?"
    after = rf"(?: {tongue.after})?"
    yield "lives", "lives_in", _compiled(rf"\b{tongue.lives}{after}{middle} {tongue.into}{value}")
    yield "works", "job", _compiled(rf"\b{tongue.works}{after}{middle} {tongue.as_}{value}")
    yield "works", "employer", _compiled(rf"\b{tongue.works}{after}{middle} {tongue.at}{value}")
    yield "dislikes", "dislikes", _compiled(rf"\b{tongue.dislikes}{value}")
    yield "likes", "likes", _compiled(rf"\b{tongue.likes}{after}{value}")
    yield "diet", "diet", _compiled(rf"\b{tongue.is_} (?P<value>{tongue.diets})\b")
    yield "job", "job", _compiled(rf"\b{tongue.is_}\s(?:\w+\s)?(?P<value>{tongue.jobs}\b)")


COMPILED: dict[str, Grammar] = {}  # only those in use: compiling all of them is slow
TOPIC = {name: _compiled(rf"\b(?:{words})\b") for name, words in TOPICS.items()}


def grammar(tongue: Tongue) -> Grammar:
    if tongue.code not in COMPILED:
        COMPILED[tongue.code] = _grammar(tongue)
    return COMPILED[tongue.code]


def read(tongue: Tongue, said: Said, clauses: Sequence[Clause], *, alone: bool) -> Iterator[Claim]:
    """Yield the claims of a turn; instructions only if no other person is listening."""
    reader = _Reading(grammar(tongue), said)
    for listed in by_sentence(clauses):
        start, end = listed[0].start, listed[-1].end
        if end - start <= LONGEST:
            yield from reader.sentence(start, end, alone=alone)


def stated(tongue: Tongue, plain: str, clauses: Sequence[Clause]) -> list[Clause]:
    """List the clauses of sentences that are neither hypothetical nor hearsay."""
    doubt = grammar(tongue).doubt
    return [
        clause
        for some in by_sentence(clauses)
        if not doubt.search(plain, some[0].start, some[-1].end)
        for clause in some
    ]


class _Reading:
    """Reads one turn, sentence by sentence."""

    def __init__(self, grammar: Grammar, said: Said) -> None:
        self.grammar, self.said = grammar, said
        self.named = ""  # the person named last
        self.start = 0  # of the sentence

    def sentence(self, start: int, end: int, *, alone: bool) -> Iterator[Claim]:
        plain, grammar = self.said.plain, self.grammar
        self.start, asks = start, plain[end : end + 1] == "?"
        parts = list(self._parts(start, end))
        if alone and (orders := list(self._orders(parts, asks=asks))):
            yield from orders
            return
        if grammar.doubt.search(plain, start, end):
            return
        is_past = bool(grammar.once.search(plain, start, end))
        related = list(self._related(start, end))
        self.named = ""
        for number, (first, last) in enumerate(parts):
            is_question = bool(asks and grammar.asks.match(plain, self._lead(first, last), last))
            if is_question or (asks and number == len(parts) - 1):
                yield from (claim for start, _, claim in related if start >= first)
                return
            yield from self._part(first, last, related, is_past=is_past)
            is_past = is_past and number == 0 and not grammar.once.search(plain, first, last)

    def _parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        for found in self.grammar.split.finditer(self.said.plain, start, end):
            if self.said.plain[start : found.start()].strip():
                yield start, found.start()
                start = found.end()
        if self.said.plain[start:end].strip():
            yield start, end

    def _part(
        self, first: int, last: int, related: Sequence[tuple[int, str, Claim]], *, is_past: bool
    ) -> Iterator[Claim]:
        """Yield claims about the people named in a part, and about them or the speaker."""
        seen = set()
        for start, name, claim in related:
            if first <= start < last:
                yield claim
                seen.add(claim.attribute)
                self.named = name if start == self._lead(first, last) else self.named
        grammar, speaker = self.grammar, self.said.speaker
        found = list(self._ruled(grammar.states, speaker, first, last, is_past=is_past))
        if not found and self.named:
            found = list(self._ruled(grammar.others, self.named, first, last, is_past=is_past))
        elif not found:
            found = list(self._open(first, last))
        yield from (claim for claim in found if claim.attribute not in seen)

    def _related(self, start: int, end: int) -> Iterator[tuple[int, str, Claim]]:
        """Yield claims about named people and animals: "my sister Paula", "a dog called Bruno"."""
        for pattern in (self.grammar.mine, self.grammar.owned):
            for found in pattern.finditer(self.said.plain, start, end):
                kin = (found["kin"] or "").lower()
                noun = "" if kin else found["noun"].lower()
                attribute = self.grammar.kin[kin] if kin else HAS + noun
                span, name = found.span("name"), "" if attribute == "pet" else found["name"]
                claim = self._claim(self.said.speaker, attribute, span, found.span(), SURE, "kin")
                yield found.start(), name, claim

    def _lead(self, first: int, end: int) -> int:
        """Skip words that join a part to the previous one."""
        found = self.grammar.lead.match(self.said.plain, first, end)
        return found.end() if found else first

    def _ruled(
        self, rules: Sequence[tuple[str, str, Bounded]], about: str, first: int, last: int,
        *, is_past: bool,
    ) -> Iterator[Claim]:  # fmt: skip
        seen: set[str] = set()
        for rule, attribute, pattern in rules:
            found = pattern.search(self.said.plain, self._lead(first, last), last)
            if not found or attribute in seen:
                continue
            if rule == ALONE and found.start() > self._lead(first, last):
                continue  # "mia moglie è vegetariana" is about her
            if about == self.said.speaker and not self._is_own(found.start(), first):
                continue  # "meine Eltern wohnen hier und arbeiten dort" is about them
            before = self.said.plain[found.start() : found.start("value")]
            negated = bool(self.grammar.denied.search(before))
            span = self._cut(*found.span("value"), loose=attribute == "plan")
            if claim := self._stated(rule, attribute, about, span, found.span(), negated=negated):
                seen.add(attribute)
                is_over = is_past or rule in ("lived", "worked")
                until = self.said.turn.at if is_over and not negated else None
                yield msgspec.structs.replace(claim, until=until)

    def _is_own(self, start: int, first: int) -> bool:
        """Tell if a part that begins with a verb has the speaker as its subject."""
        own = OWN[self.grammar.tongue.code]
        is_bare = start == self._lead(first, start) > first and self.grammar.tongue.i[-1] != "?"
        return not is_bare or own.search(self.said.plain, self.start, first) is not None

    def _stated(
        self, rule: str, attribute: str, about: str, span: tuple[int, int], where: tuple[int, int],
        *, negated: bool,
    ) -> Claim | None:  # fmt: skip
        value = self.said.plain[slice(*span)]
        if attribute == "likes" and negated:
            attribute, negated = "dislikes", False
        if rule == "has":
            return self._had(about, span, where, negated=negated)
        if not value or (value[0].islower() and rule in ("name",)):
            return None
        return self._claim(about, attribute, span, where, SURE, rule, negated=negated)

    def _had(
        self, about: str, span: tuple[int, int], where: tuple[int, int], *, negated: bool
    ) -> Claim | None:
        """Make a claim about children, animals or things that somebody has or does not have."""
        words = WORD.findall(self.said.plain[slice(*span)])
        noun = words[-1].lower() if words else ""
        attribute = self.grammar.kin.get(noun, "owns")
        if not noun or noun in PASSING or words[0].lower() in PASSING:
            return None
        if attribute == "child" and negated:
            span = span[0], span[0]
        if attribute in ("partner", "parent", "sibling") or (attribute == "owns" and not negated):
            return None
        return self._claim(about, attribute, span, where, LIKELY, "has", negated=negated)

    def _open(self, first: int, last: int) -> Iterator[Claim]:
        """Yield claims with open attributes, from the noun or the verb of the part."""
        plain, grammar = self.said.plain, self.grammar
        lead = self._lead(first, last)
        if (found := grammar.thing.match(plain, lead, last)) and found[
            "thing"
        ].lower() not in grammar.kin:
            span = self._cut(*found.span("value"))
            if plain[slice(*span)]:
                attribute = HAS + found["thing"].lower()
                yield self._claim(self.said.speaker, attribute, span, found.span(), OPEN, "thing")
        elif found := grammar.verb.match(plain, lead, last):
            span = self._cut(*found.span("value"))
            negated = bool(grammar.denied.search(plain[first : found.start("value")]))
            attribute = DOES + grammar.tongue.verbs[found["verb"].lower()]
            if plain[slice(*span)]:
                yield self._claim(
                    self.said.speaker, attribute, span, found.span(), OPEN, "verb", negated=negated
                )
        elif found := grammar.move.search(plain, first, last):
            yield self._claim(self.said.speaker, "plan", found.span(), found.span(), OPEN, "moves")

    def _cut(self, start: int, end: int, *, loose: bool = False) -> tuple[int, int]:
        """Find the span of a value: without articles, up to a mark or a word that ends it."""
        plain = self.said.plain
        if found := self.grammar.end.search(plain, start, end):
            end = found.start()
        if not loose and (article := self.grammar.article.match(plain, start, end)):
            start = article.end()
        words = list(WORD_OR_NUMBER.finditer(plain, start, end))[: MOST * (1 + loose)]
        return (words[0].start(), words[-1].end()) if words else (start, start)

    def _orders(self, parts: Sequence[tuple[int, int]], *, asks: bool) -> Iterator[Claim]:
        """Yield standing instructions. "From now on" applies to everything that follows."""
        plain, grammar = self.said.plain, self.grammar
        onward = False
        for first, last in parts:
            polite = grammar.polite.match(plain, first, last)
            head = polite.end() if polite else first
            always = grammar.always.search(plain, first, last)
            is_first = bool(always and always.start() == head)
            at = ORDER_GAP.match(plain, always.end() if always and is_first else head, last)
            begin = at.end() if at else head
            onward = onward or bool(always and is_first and " " in always.group())
            if asks and head == first:
                return
            if tidied(plain, first, last, grammar.tidy) <= first:
                continue  # "please"
            if found := grammar.call.search(plain, head, last):
                yield self._order(found.start(), last, "address", 0.85)
            elif begin < last and not OWN[grammar.tongue.code].search(plain, first, last):
                yield from self._ordered(head, begin, last, always=bool(always), onward=onward)

    def _ordered(
        self, head: int, begin: int, last: int, *, always: bool, onward: bool
    ) -> Iterator[Claim]:
        plain, grammar = self.said.plain, self.grammar
        is_order = bool(grammar.order.match(plain, begin, last))
        is_phrase = onward and len(plain[begin:last].split()) < MOST
        if grammar.this.search(plain, head, last) or not (is_order or is_phrase):
            return
        topic = next((name for name, one in TOPIC.items() if one.search(plain, head, last)), "")
        is_denied = bool(grammar.denied.search(plain, head, min(last, head + 20)))
        is_manner = bool(topic) and (is_denied or topic == "language")
        if always or onward or is_manner:
            sure = SURE if always or onward else LIKELY
            yield self._order(head, last, topic or self._thing(begin, last), sure)

    def _thing(self, start: int, end: int) -> str:
        words = [word.lower() for word in WORD.findall(self.said.plain[start:end])]
        return "-".join(words[:1] + words[-1:])

    def _order(self, start: int, end: int, topic: str, sure: float) -> Claim:
        span = start, tidied(self.said.plain, start, end, self.grammar.tidy)
        return self._claim(self.said.speaker, INSTRUCTION + topic, span, span, sure, "order")

    def _claim(
        self, about: str, attribute: str, value: tuple[int, int], where: tuple[int, int],
        sure: float, rule: str, *, negated: bool = False,
    ) -> Claim:  # fmt: skip
        name = f"{RULE}_{rule}"
        return self.said.claim(about, attribute, value, where, sure, name, negated=negated)


WORD_OR_NUMBER = re.compile(r"[^\W_][\w'.+#/-]*")
ORDER_GAP = bounded(r"[\s,:]{0,20}(?:(?:me|mir|mich|mi) )?", re.I)
OWN = {
    "de": bounded(r"\b(?:ich|wir)\b", re.I),
    "es": bounded(r"\b(?:yo|nosotros|\w+amos)\b", re.I),
    "fr": bounded(r"\b(?:je|nous)\b|\bj'", re.I),
    "pt": bounded(r"\b(?:eu|nós)\b", re.I),
    "it": bounded(r"\b(?:io|noi)\b", re.I),
}
