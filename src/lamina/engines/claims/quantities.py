"""Replace a number, a day or a time in something known by the one that is told anew. Pure.

"I run the debating club on Wednesdays", and weeks later "debating's been bumped to Fridays":
whatever the form of the two sentences, the second one names nothing that the first one did not, and
gives another quantity of the same kind. A word more, and it may be another thing: the chess club.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, attributes, mentions, open_verbs, tagged, values, words
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.open_phrases import PAST
from lamina.engines.claims.open_words import (
    BORDERS,
    MODAL,
    NAME,
    NOT,
    NUMBER,
    PLAIN,
    THEIR,
    UNSEEN,
    Word,
    split,
    within,
)
from lamina.engines.claims.references import AIMS
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.tagger import STATUSES, Tags
from lamina.text import calendar_words
from lamina.text.calendar_words import MONTH_OR_SHORT, WEEKDAY
from lamina.text.patterns import bounded
from lamina.text.words import STOP_WORDS

RULE = "quantity"
SURE = 0.8
CLOCK, DATE, DAY = "clock", "date", "day of the week"
COUNT = rf"(?:\d[\d.,]*\d|\d|{words.either(words.NUMBERS)}\b)"
OF_MONTH = r"\d{1,2}(?:st|nd|rd|th)?"
DAYS = rf"(?:{WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)s?\b"
JOINED = r"(?:,| and| or| to| &|,? ?[/+&-]) ?"
QUANTITY = bounded(
    r"(?P<clock>\b\d{1,2}(?:[:h]\d\d\b ?(?:[ap]m\b)?| ?[ap]m\b)"
    r"|(?<=\bat )\d{1,2}(?= (?:in|at|on|every|each|sharp)\b|[,;!?]|\.?(?:\s*\Z|\s[A-Z])))"
    rf"|(?P<date>\b(?:{DAYS},? )?(?:{MONTH_OR_SHORT}\.? {OF_MONTH}\b(?! \w)"
    rf"|(?:the )?{OF_MONTH}(?: of)? {MONTH_OR_SHORT}\b|the \d{{1,2}}(?:st|nd|rd|th)\b))"
    rf"|(?P<day>\b(?:{WEEKDAY}s?\b|{DAYS}(?={JOINED}{DAYS}))(?:{JOINED}{DAYS})*)"
    rf"|(?P<sign>[€$£])?(?<![\w.,])v?(?P<count>{COUNT})(?P<more>[km]\b|\+)?"
    rf"(?:(?P<per>/| (?:an?|per|each|every) )|[ -])?(?P<unit>%|[€$£]|(?!{DAYS})[^\W\d_]+)?",
    re.I,
)
BEFORE = bounded(r"\b(?P<word>[^\W\d][\w+#.-]*) \Z")
FAR = 40  # characters before a number in which the word before it is looked for
# Not as a rule, or not the speaker's: an exception, what was so once, what others have.
EXCEPTION = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|just this|(?:this|last) (?:time|week|weekend|morning"
    r"|evening|afternoon|month|year|\w+day)|for once|temporarily|exceptionally|until|was|were"
    r"|used to|back (?:then|in)|maybe|wish|if|also|too|another|some|both|extra|second|ago|except"
    r"|offered)\b",
    re.I,
)
# Words between a thing and its new quantity, and what a quantity is measured in, name nothing.
SMALL = frozenset(
    map(
        values.stem,
        (
            *open_verbs.CHANGES,
            *open_verbs.WHITHER,
            *"put get got become becomes became set made gone now only new day week month year hour"
            " hours minute min time am pm eur euro euros usd dollar dollars pound pounds quid kg mg"
            " km cm mm ml gb mb tb hr percent".split(),
        ),
    )
)
TELLING = frozenset({NAME, PLAIN, NUMBER})
# Behind these, something else is said, or since when a quantity holds.
ENDING = BORDERS | {UNSEEN}
TAIL = frozenset({"since", "from", "as", "starting"})
WILL = frozenset({"will", "'ll", "shall"})  # other auxiliaries wish or suppose
NUMBERED = {word: str(number) for number, word in enumerate(calendar_words.NUMBERS)}
SEPARATOR = re.compile(r"[.,](?=\d{3}\b)")
THOUSANDS = {"k": "000", "m": "000000"}
NOON = 12


class Quantity(NamedTuple):
    """A quantity in a text: where it stands, its amount, and what it may be compared with."""

    start: int
    end: int
    amount: str
    kinds: frozenset[str]


def updated(
    said: Said,
    clauses: Sequence[Clause],
    claims: Sequence[Claim],
    affirmed: Affirmed,
    tags: Callable[[], Tags],
) -> list[Claim]:
    """Add what is known with the quantities that a message gives it anew."""
    kept = list(claims)
    if not affirmed.of(said.speaker):
        return kept
    for known, old, new in _renewed(said, clauses, affirmed, tags):
        if not _is_settled(known, kept):
            told = said.plain[new.start : new.end]
            value = f"{known.value[: old.start]}{told}{known.value[old.end :]}"
            about, span = (known.subject, known.attribute, value), (new.start, new.end)
            made = said.claim(*about, span, SURE, RULE)
            kept = [one for one in kept if not (_is_note_of(one, new) or _says(one, made))]
            kept.append(structs.replace(made, replaces=known.value))
    return kept


def _renewed(
    said: Said, clauses: Sequence[Clause], affirmed: Affirmed, tags: Callable[[], Tags]
) -> Iterator[tuple[Claim, Quantity, Quantity]]:
    """List known claims with the quantity in their value, and the one that takes its place."""
    told = [
        (clause, one._replace(start=clause.start + one.start, end=clause.start + one.end))
        for clause in clauses
        for one in quantities(said.part(clause))
    ]
    named = {one.amount for _, one in told if not _is_behind_from(said.plain, one)}
    for clause, new in told:
        if clause.asks or clause.doubted or EXCEPTION.search(said.part(clause)):
            continue
        meant = _meant(said.speaker, new, _around(said.plain, clause, new), affirmed)
        if meant is None or meant[1].amount in named:  # "theirs is 1,500, we make do with 400"
            continue
        others = [one for around, one in told if around == clause and one is not new]
        if not _is_elsewhere(*meant, others) and _is_now(meant[0], new, said.speaker, tags()):
            yield *meant, new


def _around(plain: str, clause: Clause, new: Quantity) -> str:
    """Collect the words that say what a quantity is of; none, if it is wished, denied or theirs."""
    listed = split(plain)
    first, last = within(listed, clause.start, clause.end)
    place, behind = within(listed, new.start, new.end)
    begin, end = place, behind
    while begin > first and not _is_end(listed[begin - 1]):
        begin -= 1
    while end < last and not _is_end(listed[end]):
        end += 1
    around = [*listed[begin:place], *listed[behind:end]]
    if any(
        word.kind in (NOT, THEIR) or (word.kind == MODAL and word.text not in WILL)
        for word in around
    ):
        return ""
    is_changed = listed[place - 1 : place] and listed[place - 1].text == "to"  # "has grown to 9"
    return " ".join(
        word.text
        for word in around
        if word.kind in TELLING and not (is_changed and _is_deed(word.text))
    )


def _is_deed(word: str) -> bool:
    """Tell if a word is the past form of a verb."""
    return word in PAST or word.endswith("ed")


def _is_end(word: Word) -> bool:
    return word.kind in ENDING or word.text in TAIL


def _is_behind_from(plain: str, one: Quantity) -> bool:
    """Tell if a quantity is the former one: "from 900 to 980"."""
    return plain[: one.start].rstrip().lower().endswith("from")


def _meant(
    speaker: str, new: Quantity, around: str, affirmed: Affirmed
) -> tuple[Claim, Quantity] | None:
    """Find the only thing known that has all the words around a quantity, and one of its kind."""
    frame = values.stems(around) - SMALL
    if not frame:
        return None
    named = (*affirmed.sharing_any(speaker, around), *affirmed.things(speaker, frame))
    listed = {id(one): one for one in (*named, *affirmed.of(speaker))}.values()
    found = [
        (known, old)
        for known in listed
        for old in [_comparable(known, new)]
        if old and _is_framed(known, old, frame)
    ]
    return found[0] if len({known.value for known, _ in found}) == 1 else None


def _is_framed(known: Claim, old: Quantity, frame: frozenset[str]) -> bool:
    """Tell if a frame has only words of a known claim; its verb alone is too little."""
    rest = f"{known.value[: old.start]} {known.value[old.end :]}"
    verb = _head(known)
    names = values.stems(f"{rest} {verb} {_noun(known.attribute)}") - SMALL
    is_verb_alone = bool(verb) and frame <= values.stems(verb)
    return frame <= names and (not is_verb_alone or frame == names)


def _head(known: Claim) -> str:
    """Return the verb of a claim about something done, if any."""
    if known.attribute.startswith(attributes.DOES):
        return known.attribute.removeprefix(attributes.DOES)
    return known.value.partition(" ")[0] if known.attribute == "habit" else ""


def _comparable(known: Claim, new: Quantity) -> Quantity | None:
    """Return the only quantity of a known value that is of the same kind, if it is another."""
    if known.attribute in mentions.LASTING or known.attribute.startswith(attributes.INSTRUCTION):
        return None
    held = [one for one in _known(known) if one.kinds & new.kinds]
    return held[0] if len(held) == 1 and held[0].amount != new.amount else None


def _known(known: Claim) -> list[Quantity]:
    """Find the quantities of a known value; "fee: 15,000 monthly" is the number of the fee."""
    head = f"{_noun(known.attribute)} " if ":" in known.attribute else ""
    found = quantities(head + known.value)
    moved = (one._replace(start=one.start - len(head), end=one.end - len(head)) for one in found)
    return [one for one in moved if one.start >= 0]


def _noun(attribute: str) -> str:
    """Return the noun or the verb of an open attribute; no verb behind a noun: "fee becomes …"."""
    noun = attribute.partition(":")[2]
    return noun.removesuffix("…").rstrip().rpartition(" ")[0] if noun.endswith("…") else noun


def _is_elsewhere(known: Claim, old: Quantity, listed: Sequence[Quantity]) -> bool:
    """Tell if a second quantity differs, too: "run 10k every Sunday" is not the 5k on Mondays."""
    others = [one for one in _known(known) if one.start != old.start]
    return any(
        one.kinds & two.kinds and one.amount != two.amount for one in others for two in listed
    )


def _is_now(known: Claim, new: Quantity, speaker: str, tags: Tags) -> bool:
    """Tell if the network takes a quantity for one of the same person, which holds now.

    One that is planned replaces only a plan, or the day of a thing.
    """
    first, last = tags.span(new.start, new.end)
    own = mentions.own_places(tags) if known.subject == speaker else ()
    if first >= last or not mentions.is_about(tags, (first, last), known.subject, own):
        return False
    status = STATUSES[int(tags.statuses[first:last].max(axis=0).argmax())]
    is_dated = known.attribute in AIMS or known.attribute.startswith(attributes.HAS)
    return status == "holds" or (status == "planned" and is_dated)


@lru_cache(4_096)  # a known value is compared again with every message that shares a word
def quantities(text: str) -> tuple[Quantity, ...]:
    """Find the quantities of a text."""
    return tuple(filter(None, map(_quantity, QUANTITY.finditer(text))))


def _quantity(found: re.Match[str]) -> Quantity | None:
    for kind, group in ((CLOCK, "clock"), (DATE, "date"), (DAY, "day")):
        if found[group]:
            amount = _spelled(kind, found[group].lower())
            return Quantity(*found.span(group), amount, frozenset({kind}))
    start = found.start("sign" if found["sign"] else "count")
    end = found.end("more" if found["more"] else "count")
    unit, sign = _told(found["unit"]), found["sign"] or ""
    is_rate = bool(unit) and (found["per"] is not None or unit.endswith("ly"))  # "15,000 monthly"
    unit = f"per {unit}" if is_rate else unit
    of = "" if unit and not is_rate else _of(found.string[max(0, start - FAR) : start])
    kinds = {unit, sign, of and f"of {of}"} - {""}
    count = NUMBERED.get(found["count"].lower(), SEPARATOR.sub("", found["count"].lower()))
    more = (found["more"] or "").lower()
    amount = count + THOUSANDS.get(more, more)
    return Quantity(start, end, amount, frozenset(kinds)) if kinds else None


def _spelled(kind: str, told: str) -> str:
    """Spell a time, a date or days in one way: "6pm" is "18:00", "Mondays and Wed" "mon wed"."""
    if kind == DAY:
        return " ".join(day[:3] for day in re.findall(DAYS, told))
    if kind == DATE:
        return " ".join(sorted(re.findall(r"\d+|(?<![a-z])[a-z]{3}", re.sub(DAYS, "", told))))
    hour, *minutes = map(int, re.findall(r"\d+", told))
    if "m" in told:
        hour = hour % NOON + NOON * ("p" in told)
    return f"{hour}:{minutes[0] if minutes else 0:02}"


def _of(before: str) -> str:
    """Return the stem of the word before a number: "ios" of "we support iOS 17"."""
    found = BEFORE.search(before)
    return _told(found["word"]) if found else ""


def _told(word: str | None) -> str:
    """Return the stem of a word that says what a number counts, or what it is the number of."""
    bare = (word or "").strip().lower()
    return "" if bare in STOP_WORDS else values.stem(bare)


def _is_settled(known: Claim, claims: Sequence[Claim]) -> bool:
    """Tell if a claim already says what becomes of a known value."""
    is_one = not attributes.of(known.attribute).many
    return any(
        one.replaces == known.value
        or (one.attribute == known.attribute and (one.negated or is_one))
        for one in claims
        if one.subject == known.subject
    )


def _says(claim: Claim, made: Claim) -> bool:
    """Tell if a claim says the same, but not what it replaces."""
    is_same = (claim.subject, claim.attribute) == (made.subject, made.attribute)
    return is_same and values.stems(claim.value) == values.stems(made.value)


def _is_note_of(claim: Claim, new: Quantity) -> bool:
    """Tell if a note was made of a quantity."""
    return claim.rule == tagged.RULE and claim.start <= new.start and new.end <= claim.end
