"""Read answers and corrections: words that claim something only in context. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise

from lamina.engines.claims import Claim, values, words
from lamina.engines.claims.attributes import FAVOURITE, HAS, favourite
from lamina.engines.claims.rule import for_turns
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import Span
from lamina.engines.claims.words import either
from lamina.text.hints import Hinted, hinted
from lamina.text.patterns import LONGEST, bounded

# fmt: off
MINE = "mine"  # the rule for "my sister", which makes no other claim
FRIENDSHIP = "friendship"  # "our friendship": with the listener
FAR = 40  # characters without a word that separate unrelated text
SHORT = 6  # words that may be an answer
MOST_TOPICS = 50  # claims that can be corrected
STRICT = frozenset("place name names number date diet status"
    " job".split())  # kinds whose values are recognisable
# Words that retract what was said.
TAKEN_BACK = hinted(
    r"\b(?:I meant|I mean\b|(?:scrap|scratch|strike|ignore|disregard) (?:that|my last)|wait,? no"
    r"|no,? wait|hang on|hold on|correction|misspoke|mixed (?:that|it|them|things|those) up"
    r"|got (?:that|it|the \w+|them) (?:wrong|muddled|mixed up|backwards)|muddled|typo|mistyped"
    r"|auto-?correct|wrong (?:one|way round|city|name|word|place|date|year)|my (?:mistake|bad)"
    r"|that'?s wrong|that was wrong|came out wrong|I was wrong|I lied|(?:wrote|typed|said|spelled"
    r"|spelt) (?:the|it|that) wrong(?: \w+)?|actually,? no|no,? actually|should(?: have|'ve) said"
    r"|that should (?:be|say|read)|forget what I said|let me correct|to correct|make that|or rather"
    r"|on second thoughts?|oops|whoops|sorry,? (?:no|not|I|it's|it is|that's|my|make))\b"
    r"|(?<=\w), (?:sorry,|no,)|(?<=\w)\*(?=\s|\Z)|\bwhy did I (?:write|say|type)\b"
    r"|\bactually,? (?:it's|it is|that's|make that|I'm|my)\b",
    re.I,
)
# Words that precede the right value.
RIGHT = re.compile(
    r"\b(?:I meant(?: to (?:say|write|type))?|I mean|make that|it's actually|actually,? (?:it's"
    r"|it is|no,?)|it's|it is|it was|that's|should (?:be|say|read|have been)|or rather|name's"
    r"|name is|(?P<self>I'm|I am))(?:,| really| in fact)* (?!(?:not|n't)\b)(?:(?:in|at|on|with|for"
    r"|an?|the) )?",
    re.I,
)
MUTTERED = (
    r"(?:(?:hey|hi|hello|thanks|thank you)(?:,? (?-i:[A-Z])\w+)?|sorry|no|nope|not|well|yes|yeah"
    r"|yep|oh|ah|uh|um|god|actually|ugh|ok|okay|and|but|so|now|still|just|an?|the|in|at|with|for"
    r"|called|it's|it is|I'd (?:have to )?say|probably|definitely|mostly|mainly|that would be"
    r"|it has to be|easily|I mean|or|rather|oops|whoops|on second thoughts?|my bad|wait|hm+|lol"
    r"|haha)"
)
LEAD = bounded(rf"[\s,!.:*-]*(?:{MUTTERED}\b[\s,!.:*-]*)*", re.I)
REPAIR = bounded(rf"{LEAD.pattern}(?P<value>\S.*?)[\s,.!*-]*"
    rf"(?:\b{MUTTERED}\b[\s,.!*-]*)*\Z", re.I | re.S, longest=60)
NOT = re.compile(r"\bnot|\bnever|n't", re.I)  # all `denials` begin with one of these
SORRY = re.compile(r"\b(?:sorry|oops|whoops|I mean|rather|actually|second thoughts?|wait)\b"
    r"|\*", re.I)
DENIED = bounded(
    r"\s*(?:(?:no|nope|nah|well|god|sadly|actually|oh|afraid|unfortunately"
    r"|i'm)[,!.]*\s+)*(?:not (?:any ?more|any longer|now|since)|no longer|used to)\b",
    re.I,
)
SPOKEN = re.compile(r"\b(?:I|we|you|he|she|they|it|that|this|there)\b|\w's\s(?=[a-z])", re.I)
# "New favourite film", "they're my favourite band now": the value was mentioned before.
FAVOURITE_NOW = Hinted(bounded(
    r"(?:\A\s*(?:my |a )?new|\b(?:they're|it's|that's|he's|she's"
    r"|this is)(?: now)? my(?: new)?)(?: all-time)? (?:favou?rite"
    r"|fave?) (?P<thing>[a-z]+)\b(?! (?:is|are|was|has|:))",
    re.I,
))
FAVOURITE_ASKED = re.compile(
    r"\b(?:what|which|who)(?:'s| is| are)? your (?:\w+ )?(?:favou?rite|fave?) (?P<thing>[a-z]+)\b"
    r"|\bwhich (?P<other>[a-z]+) (?:is|do you like) (?:your favou?rite|best)",
    re.I,
)
NOUNS = {
    "job": "job", "hobby": "hobby", "hobbies": "hobby", "age": "age", "diet": "diet",
    "pets": "pet", "allergies": "allergy", "major": "studies", "employer": "employer",
    "birthday": "birthday", "name": "name",
}
SELF_ASKED = bounded(
    rf"\s*(?:and |my |any )*(?:(?:favou?rite|fave?) (?P<thing>[a-z]+)"
    rf"|(?P<noun>{'|'.join(NOUNS)}))\s*", re.I
)
# The attribute that a question asks the listener about; the first match counts.
QUESTIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (attribute, for_turns(pattern))
    for attribute, pattern in (
        ("lives_in", r"\bwhere (?:do|are) you (?:live|living|based|now|these days)"
                     r"|\bwhere'?s home\b|\bwhich city\b"
                     r"|\b(?:still|you) (?:live |living |based )?in [A-Z]"),
        ("employer", r"\b(?:where|who) (?:do|are) you work"
                     r"|\bstill (?:work(?:ing)? )?(?:at|for|with) "
                     r"|\b(?:are|do) you (?:still )?(?:at|work(?:ing)? (?:at|for)) "),
        ("job", r"\bwhat do you do\b|\bwhat(?:'s| is) your (?:job|profession|occupation)"
                r"|\bstill (?:an?|the) \w+|\bdo for a living\b|\bwhat are you doing (?:for work"
                r"|these days|now)"),
        ("origin", r"\bwhere (?:are|do) you (?:come )?(?:originally )?from\b"),
        ("hobby", r"\bhobb(?:y|ies)\b|\bdo (?:you do )?for fun\b|\b(?:free|spare) time\b"),
        ("pet", r"\bwhat (?:are|were) (?:their|your (?:\w+ )?(?:dogs|cats|pets)'?) names\b|\b(?:any"
                r"|have) pets\b|\bwhat(?:'s| is) (?:his|her|its|the \w+'s|your (?:\w+ )?(?:dog|cat"
                r"|pet|puppy|kitten)'s) name\b|\bwhat (?:did you (?:name|call)|have you (?:named"
                r"|called))"),
        ("name", r"\bwhat(?:'s| is) your (?:full |last |new )?name\b"),
        ("nickname", r"\bwhat (?:should|can|may|do) (?:I|we|people) call you\b"),
        ("age", r"\bhow old are you\b|\bwhat age are you\b"),
        ("birthday", r"\bwhen(?:'s| is) your birthday\b"),
        ("studies", r"\bwhat (?:are|do) you study|\bwhat(?:'s| is) your major\b|\bstill studying "),
        ("language", r"\b(?:what|which) languages? do you\b"),
        ("allergy", r"\ballerg(?:y|ies|ic)\b"),
        ("diet", rf"\b(?:still|are you) (?:an? )?{either(words.DIETS)}\b"
                 r"|\bwhat(?:'s| is) your diet\b"),
        ("partner", r"\b(?:still|are you) (?:with|seeing|dating|together with) "
                    r"|\bwho are you (?:seeing|dating)"
                    r"|\bhow(?:'s| is) your (?:boyfriend|girlfriend|wife|husband|partner)"),
        ("relationship_status", r"\bare you (?:still )?(?:single|married|engaged|seeing anyone)\b"),
        ("owns", r"\bwhat (?:car|phone|bike|laptop|computer|camera) do you\b"
                 r"|\bstill (?:have|got|driving|drive|using|riding) "),
        ("hobby", r"\bwhat (?:instruments?|sports?|games?) do you (?:play|do)\b"
                  r"|\bwhat do you (?:like to do|enjoy doing|do to (?:relax|unwind))\b"),
        ("likes", r"\bwhat (?:(?:kind|sort|type|style|genre)s? of )?\w+ do you (?:like|enjoy|listen"
                  r"|prefer|read|watch|love|play|make|paint|write|cook|into)\b|\b(?:any|got any"
                  r"|have any|do you have any|which) (?:favou?rites?|fave?s?)\b"
                  r"|\bwhat are you into\b"),
    )
)
# fmt: on


def asked(plain: str, clauses: Sequence[Clause]) -> str:
    """Return the attribute that a turn asks about, or an empty string."""
    asking = [plain[clause.start : clause.end] for clause in clauses if clause.asks]
    if not asking:
        return ""
    plain = " | ".join(asking)
    if found := FAVOURITE_ASKED.search(plain):
        return favourite(found["thing"] or found["other"])
    return next((attribute for attribute, pattern in QUESTIONS if pattern.search(plain)), "")


def kind_of(attribute: str) -> str:
    """Return the kind by which an attribute's values are cut; empty if they need context."""
    return values.KINDS.get(attribute, "thing" if attribute.startswith((FAVOURITE, HAS)) else "")


def is_topic(claim: Claim) -> bool:
    """Tell if a claim can be corrected by a bare value."""
    if claim.negated or not claim.value or claim.rule == FRIENDSHIP:
        return False
    is_nameless = claim.rule == MINE and not claim.value[:1].isupper()
    return claim.attribute != "habit" and bool(kind_of(claim.attribute)) and not is_nameless


def spans(attribute: str, plain: str, start: int, end: int) -> list[Span]:
    """Find the values of an attribute that begin here."""
    kind = kind_of(attribute)
    return values.cut(kind, plain, start, end) if kind else []


def alone(attribute: str, plain: str, start: int, end: int) -> list[Span]:
    """Find the value in words that say nothing else: "Antwerp since last week"."""
    begin = _begun(plain, start, end, SHORT)
    return [] if begin is None else spans(attribute, plain, begin, end)


def _begun(plain: str, start: int, end: int, longest: int) -> int | None:
    """Find where a bare value begins; None if the words say more."""
    lead = LEAD.match(plain, start, end)
    begin = lead.end() if lead else start
    is_long = len(plain[begin:end].split(",")[0].split()) > longest
    return None if is_long or SPOKEN.search(plain, begin, end) else begin


def alike(topic: Claim, plain: str, start: int, end: int) -> list[Span]:
    """Find a value of the same sort as a topic's: a name for a name, a number for a number."""
    if not topic.attribute.startswith(HAS):
        return spans(topic.attribute, plain, start, end)
    is_numbered = any(map(str.isdigit, topic.value))
    is_name = topic.value[:1].isupper() and not is_numbered
    found = values.cut("name" if is_name else "thing", plain, start, end)
    return [span for span in found if not is_numbered or any(map(str.isdigit, plain[slice(*span)]))]


def _alone(topic: Claim, plain: str, start: int, end: int) -> list[Span]:
    begin = _begun(plain, start, end, 4)
    return [] if begin is None else alike(topic, plain, begin, end)


def answered(
    said: Said, clauses: Sequence[Clause], question: Callable[[], str], told: Sequence[Claim]
) -> list[Claim]:
    """Make the claims of a short answer, unless the turn has `told` it in other words.

    `question` looks for the attribute that was asked for. Few turns are short enough to need it.
    """
    for clause in clauses[:3]:
        if clause.asks:
            return []
        whole = (clause.start, clause.end)
        is_denied = bool(DENIED.match(said.part(clause)))
        begin = None if is_denied else _begun(said.plain, *whole, SHORT)
        if not is_denied and begin is None:
            continue
        asked_for = question()
        if not asked_for or any(claim.attribute == asked_for for claim in told):
            return []
        about = said.speaker, asked_for
        if begin is None:
            return [said.claim(*about, "", whole, 0.8, "answered", negated=True)]
        if answer := spans(asked_for, said.plain, begin, clause.end):
            return [said.claim(*about, span, span, 0.75, "answered") for span in answer]
    return []


def self_answered(said: Said, clauses: Sequence[Clause]) -> Iterator[Claim]:
    """Claim answers to the speaker's own question: "Favourite colour? Purple, always"."""
    for clause, following in pairwise(clauses):
        if not clause.asks or following.asks:
            continue
        if found := SELF_ASKED.fullmatch(said.part(clause)):
            thing = found["thing"]
            attribute = favourite(thing) if thing else NOUNS[found["noun"].lower()]
            for span in alone(attribute, said.plain, following.start, following.end):
                where = (clause.start, span[1])
                yield said.claim(said.speaker, attribute, span, where, 0.75, "self_answered")


def right_value(said: Said, clauses: Sequence[Clause], topic: Claim) -> Span | None:
    """Find the corrected value in a turn that takes back a claim."""
    wrong = topic.value.casefold()
    # "That's wrong" is a correction; "wrong" is not a value.
    taken = [cue.span() for cue in TAKEN_BACK.finditer(said.plain)]
    found = (*_contrasted(said, topic), *_corrected(said, clauses, topic), *_repaired(said, topic))
    for start, end in found:
        is_cue = any(first <= start and end <= last for first, last in taken)
        if not is_cue and said.plain[start:end].casefold() != wrong:
            return start, end
    return None


def _corrected(said: Said, clauses: Sequence[Clause], topic: Claim) -> Iterator[Span]:
    """Look after "I meant", or in a bare value next to words that take something back."""
    cue = TAKEN_BACK.search(said.plain)
    if not cue:
        return
    later = [clause for clause in clauses if clause.end > cue.start() and not clause.asks]
    before = [clause for clause in clauses if clause.start < cue.start()]
    same = [clause for clause in before if later and clause.sentence == later[0].sentence]
    is_strict = kind_of(topic.attribute) in STRICT
    for clause in (*later, *same):
        for found in RIGHT.finditer(said.plain, clause.start, clause.end):
            if is_strict or not found["self"]:  # not "actually, I'm also curious about it"
                yield from alike(topic, said.plain, found.end(), clause.end)
    for clause in later:
        begin = cue.end() if clause.start <= cue.start() else clause.start
        yield from _alone(topic, said.plain, begin, clause.end)
    for clause in same:
        yield from _alone(topic, said.plain, clause.start, min(cue.start(), clause.end))


def _contrasted(said: Said, topic: Claim) -> Iterator[Span]:
    """Look on either side of "not" and the wrong value: "Perth, not Dundee"."""
    plain = said.plain
    for found in islice(denials(topic).finditer(plain), MOST_TOPICS):
        last = min(found.end() + LONGEST, len(plain))
        yield from alike(topic, plain, found.end(), last)
        least = max(0, found.start() - LONGEST)
        end = least + len(plain[least : found.start()].rstrip(" ,"))
        start = max(least, *(plain.rfind(mark, least, end) + 1 for mark in ".!?:\n"))
        for right in RIGHT.finditer(plain, start, end):
            yield from alike(topic, plain, right.end(), end)
        yield from _alone(topic, plain, start, end)


def _repaired(said: Said, topic: Claim) -> Iterator[Span]:
    """Look in a turn that consists of another value: "Milan, sorry"."""
    found = REPAIR.fullmatch(said.plain) if len(said.plain.split(None, 5)) <= 5 else None
    if found and (SORRY.search(said.plain) or kind_of(topic.attribute) in STRICT):
        begin, end = found.span("value")
        if (begin, end) in alike(topic, said.plain, begin, end):
            yield begin, end


def takes_back(said: Said, claims: Sequence[Claim]) -> int | None:
    """Find where a turn begins to take back one of the claims; None if it does not."""
    if cue := TAKEN_BACK.search(said.plain):
        return cue.start()
    topics = [claim for claim in claims if is_topic(claim)]
    for topic in topics if NOT.search(said.plain) else ():
        if found := denials(topic).search(said.plain):
            return found.start()
    return 0 if any(True for topic in topics for _ in _repaired(said, topic)) else None


def denials(claim: Claim) -> re.Pattern[str]:
    """Compile a pattern that matches a denial of a claim's value."""
    head = re.escape(claim.value.split()[-1])
    wrong = rf"(?:(?:an?|the|in|at|with) )?(?:{re.escape(claim.value)}|{head})\b"
    return re.compile(rf"(?:\bnot|\bnever|n't) {wrong},?(?: but)?(?:\s+|(?=[.!?])|\Z)", re.I)


def antecedent(plain: str, before: int) -> Span | None:
    """Find the last name before a position, to which "it" refers."""
    said = values.NAME.finditer(plain, max(0, before - LONGEST), before)
    named = [_inner(plain, found) for found in said if values.is_name(found[1])]
    inside = [span for span in named if not _opens(plain, span[0])]
    return inside[-1] if inside else None


def _inner(plain: str, found: re.Match[str]) -> Span:
    """Strip the first word of a sentence from a name: "Saw Fontaines"."""
    skipped = found[1].find(" ") + 1 if _opens(plain, found.start()) else 0
    return found.start(1) + skipped, found.end(1)


def _opens(plain: str, place: int) -> bool:
    """Tell if a sentence begins here."""
    return plain[max(0, place - FAR) : place].rstrip()[-1:] in ("", ".", "!", "?", "…")
