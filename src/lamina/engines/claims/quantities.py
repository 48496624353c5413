"""Replace a number, a day or a time in something known by the one that is told anew. Pure.

"Our standup is at 9:30", and weeks later "with standup at 13:00 everybody is sleepy": whatever the
form of the two sentences, they name the same thing and give it another quantity of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs

from lamina.engines.claims import Claim, attributes, mentions, open_verbs, tagged, values, words
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.references import AIMS, NOW
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.engines.claims.tagger import STATUSES, Tags
from lamina.text.calendar_words import MONTH_OR_SHORT, WEEKDAY
from lamina.text.patterns import bounded
from lamina.text.words import STOP_WORDS

RULE = "quantity"
SURE = 0.8
CLOCK, DATE, DAY = "clock", "date", "day of the week"
NUMBER = rf"(?:\d[\d.,]*\d|\d|{words.either(words.NUMBERS)}\b)"
OF_MONTH = r"\d{1,2}(?:st|nd|rd|th)?"
WEEKDAYS = rf"(?:{WEEKDAY}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)s?\b"
QUANTITY = bounded(
    r"(?P<clock>\b\d{1,2}(?:[:h]\d\d\b ?(?:[ap]m\b)?| ?[ap]m\b)"
    r"|(?<=\bat )\d{1,2}(?= (?:in|at|on|every|each|sharp)\b|[,;!?]|\.?(?:\s*\Z|\s[A-Z])))"
    rf"|(?P<date>\b(?:{WEEKDAYS},? )?(?:{MONTH_OR_SHORT}\.? {OF_MONTH}\b"
    rf"|(?:the )?{OF_MONTH}(?: of)? {MONTH_OR_SHORT}\b|the \d{{1,2}}(?:st|nd|rd|th)\b))"
    rf"|(?P<day>\b{WEEKDAYS}(?:(?:,| and| or| to| &|,? ?[/+&-]) ?{WEEKDAYS})*)"
    r"|(?P<sign>[€$£])?(?<![\w.,])v?"
    rf"(?P<number>{NUMBER})(?P<more>[km]\b|\+)?"
    rf"(?:(?P<per>/| (?:an?|per|each|every) )|[ -])?(?P<unit>%|[€$£]|(?!{WEEKDAYS})[^\W\d_]+)?",
    re.I,
)
BEFORE = re.compile(r"(?P<word>[^\W\d][\w+#.-]*) \Z")
FAR = 40  # characters before a number in which the word before it is looked for
# Not as a rule, or not the speaker's: an exception, a wish, what was so once, what others have.
EXCEPTION = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|just this|(?:this|last) (?:time|week|weekend|morning"
    r"|evening|afternoon|month|year|\w+day)|for once|temporarily|exceptionally|until|was|were"
    r"|used to|back (?:then|in)|would|could|might|maybe|wish|if|also|too|another|both|extra|second"
    r"|ago|except|offered)\b",
    re.I,
)
THEIRS = re.compile(r"\b(?:theirs?|his|hers?)\b", re.I)
# Amounts in general change with these words, whatever else the sentence says.
RAISED = re.compile(
    r"\b(?:(?:up|down) to|raised|lowered|reduced|increased|cut (?:down|back)|bumped)\b", re.I
)
# Every habit and every amount may have these words, so they name nothing.
GENERAL = frozenset(map(values.stem, "day week month year hour minute time new now".split()))
COMMON = GENERAL | {CLOCK, DATE, DAY}  # kinds of quantities that many things have
LEAST = 3  # letters of a word that names what a quantity is of


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
    for known, old, new in _renewed(said, clauses, affirmed, tags):
        if not (_is_settled(known, kept) or _is_of_another(known, claims, new)):
            told = said.plain[new.start : new.end]
            value = f"{known.value[: old.start]}{told}{known.value[old.end :]}"
            about, span = (known.subject, known.attribute, value), (new.start, new.end)
            kept = [one for one in kept if not _is_note_of(one, new)]
            made = said.claim(*about, span, SURE, RULE)
            kept.append(structs.replace(made, replaces=known.value))
    return kept


def _renewed(
    said: Said, clauses: Sequence[Clause], affirmed: Affirmed, tags: Callable[[], Tags]
) -> Iterator[tuple[Claim, Quantity, Quantity]]:
    """List known claims with the quantity in their value, and the one that takes its place."""
    for sentence in by_sentence(clauses):
        start, end = sentence[0].start, sentence[-1].end
        part = said.plain[start:end]
        if any(clause.asks or clause.doubted for clause in sentence) or EXCEPTION.search(part):
            continue
        listed = quantities(part)
        for one in listed:
            new = one._replace(start=start + one.start, end=start + one.end)
            around = f"{part[: one.start]} {part[one.end :]}"
            is_change = bool(NOW.search(part) or RAISED.search(part))
            is_theirs = THEIRS.search(part, 0, one.start) is not None
            meant = None if is_theirs else _rival(said.speaker, new, around, affirmed, is_change)
            if not meant or _is_repeated(said.plain, meant[1]):
                continue
            rest = [other for other in listed if other is not one]
            if not _is_elsewhere(*meant, rest) and _is_now(meant[0], new, said.speaker, tags()):
                yield *meant, new


def _rival(
    speaker: str, new: Quantity, around: str, affirmed: Affirmed, is_change: bool
) -> tuple[Claim, Quantity] | None:
    """Find what is known with another quantity of the kind, by the words that it shares.

    "We have to make do with 8,000 kr instead" means the only amount in kr that is known.
    """
    said = values.stems(around) - GENERAL
    is_any = is_change and new.kinds.isdisjoint(COMMON)
    named = (*affirmed.sharing_any(speaker, around), *affirmed.things(speaker, said))
    listed = (*named, *affirmed.of(speaker))
    best: list[tuple[Claim, Quantity]] = []
    most = 0 if is_any else 1
    for known in {id(one): one for one in listed}.values():
        old = _comparable(known, new)
        shared = len(_names(known, old) & said) if old else 0
        if old and shared >= most:
            best = [*(best if shared == most else ()), (known, old)]
            most = shared
    # Two values with as much in common are not told apart.
    return best[0] if len({known.value for known, _ in best}) == 1 else None


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


def _is_elsewhere(known: Claim, old: Quantity, listed: Sequence[Quantity]) -> bool:
    """Tell if a second quantity differs, too: "run 10k every Sunday" is not the 5k on Mondays."""
    others = [one for one in _known(known) if one.start != old.start]
    return any(
        one.kinds & two.kinds and one.amount != two.amount for one in others for two in listed
    )


def _names(known: Claim, old: Quantity) -> frozenset[str]:
    """Return the stems that name what a known quantity is of."""
    rest = (
        f"{known.value[: old.start]} {known.value[old.end :]} {known.attribute.partition(':')[2]}"
    )
    named = (stem for stem in values.stems(rest) if len(stem) >= LEAST)
    return frozenset(stem for stem in named if stem not in open_verbs.LATER)


def _is_repeated(plain: str, old: Quantity) -> bool:
    """Tell if a message still names the known amount: "theirs is 1,500, we make do with 400"."""
    named = (one.start for one in quantities(plain) if one.amount == old.amount)
    return any(not plain[:start].rstrip().lower().endswith("from") for start in named)


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
            amount = found[group].lower().removeprefix("the ")
            amount = _days(amount) if kind == DAY else amount
            return Quantity(*found.span(group), amount, frozenset({kind}))
    start = found.start("sign" if found["sign"] else "number")
    end = found.end("more" if found["more"] else "number")
    unit, sign = _told(found["unit"]), (found["sign"] or "").lower()
    is_rate = bool(unit) and (found["per"] is not None or unit.endswith("ly"))  # "15,000 monthly"
    unit = f"per {unit}" if is_rate else unit
    of = "" if unit and not is_rate else _of(found.string[max(0, start - FAR) : start])
    kinds = {unit, sign, of and f"of {of}"} - {""}
    amount = f"{found['number']}{found['more'] or ''}".lower()
    return Quantity(start, end, amount, frozenset(kinds)) if kinds else None


def _of(before: str) -> str:
    """Return the stem of the word before a number: "ios" of "we support iOS 17"."""
    found = BEFORE.search(before)
    return _told(found["word"]) if found else ""


def _told(word: str | None) -> str:
    """Return the stem of a word that says what a number counts, or what it is the number of."""
    bare = (word or "").strip().lower()
    return "" if bare in STOP_WORDS else values.stem(bare)


def _days(listed: str) -> str:
    """Shorten the days of a list: "Mondays and Wed" are "mon wed"."""
    return " ".join(day[:3] for day in re.findall(WEEKDAYS, listed))


def _is_settled(known: Claim, claims: Sequence[Claim]) -> bool:
    """Tell if a claim already says what becomes of a known value."""
    is_one = not attributes.of(known.attribute).many
    return any(
        one.replaces == known.value
        or (one.attribute == known.attribute and (one.negated or is_one))
        for one in claims
        if one.subject == known.subject
    )


def _is_of_another(known: Claim, claims: Sequence[Claim], new: Quantity) -> bool:
    """Tell if a quantity is told of another thing: the port of the panel is not that of the API."""
    things = [
        values.stems(_noun(one.attribute))
        for one in claims
        if one.attribute.startswith(attributes.HAS) and one.start <= new.start < one.end
    ]
    if known.attribute.startswith(attributes.HAS):
        own = values.stems(_noun(known.attribute))
        return any(not thing & own for thing in things)
    told = values.stems(known.value)
    return any(not thing <= told for thing in things)


def _noun(attribute: str) -> str:
    """Return the noun or the verb of an open attribute; no verb behind a noun: "fee becomes …"."""
    noun = attribute.partition(":")[2]
    return noun.removesuffix("…").rstrip().rpartition(" ")[0] if noun.endswith("…") else noun


def _is_note_of(claim: Claim, new: Quantity) -> bool:
    """Tell if a note was made of a quantity."""
    return claim.rule == tagged.RULE and claim.start <= new.start and new.end <= claim.end
