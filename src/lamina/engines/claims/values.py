"""Find where values end: the words for a thing, a place, a person or an activity. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from lamina.engines.claims import words
from lamina.engines.claims.sentences import MASK, TITLES
from lamina.text.patterns import Bounded, bounded
from lamina.text.words import STOP_WORDS
from lamina.text.words import tokens as tokenise

Span = tuple[int, int]
MOST_WORDS = 12  # of an activity or a goal; more is a story
NAMED_WORDS = 8  # of a thing

DETERMINER = bounded(
    r"(?:(?:an?|the|my|our|some|this|these|those|his|her|their|its|all|own|both|any|another)\s+)*",
    re.I,
)
WORD = bounded(r"[^\W_](?:[\w'&+%/#-]*[\w+%#])?(?:\.(?=\w)[\w]+)*")
TITLED = rf"(?:(?:{'|'.join(TITLES)})\. )"
UNTITLED = "".join(rf"(?<!\b{title})" for title in TITLES)
# Marks and words that end a value.
STOP = bounded(
    rf"(?<![\s.](?-i:[A-Z])){UNTITLED}\.(?!\w)|[;!?()\n{MASK}…–—]|:(?!\d)"
    rf"|,(?!\d| (?-i:[A-Z])[a-z]+(?:[,.!]|\Z| (?:who|-)))"
    r"|\s-|\s(?:because|since|so(?! much\b)|but|when|while|which|who|where|if|than|then|though"
    r"|although|cause|until|unless|after|before|whenever|as (?:I|we|he|she|it|they|you|well|my|of"
    r"|much|soon)|even|instead|except|despite|just|like)\b|\s(?:and|or|that|how|what|cos|coz"
    r"|plus)\s+(?:I|we|it|my|he|she|they|that|this|there|you|our|now|then|have|had|am|is|was|will"
    r"|has|been|can|his|her|their|its|the rest)\b|\s(?:is|are|was|were|has been|have been|will"
    r"|would|won't|isn't|wasn't)\b",
    re.I,
)
SOON = bounded(  # a thing also ends where a story about it begins
    r"\s(?:that|to(?! (?-i:[A-Z]))|for (?=my|the (?:first|last)|a (?:while|long)|years?|months?|\d)"
    r"|in (?:the (?:sales|end|past|last))|with (?=my|me|him|her)|from (?=my|the)|at (?=my|the|home"
    r"|work)|on (?=my|it)|by|called|named|about|over|during|through|and\s+(?=(?:got|was|am|went"
    r"|\w+ed)\b))",
    re.I,
)
# Trailing words that say when or how much, not what.
TAIL = bounded(
    r"(?:(?<!\s)\s++|\A)(?:now|too|again|lately|recently|anymore|any more|any longer|today"
    r"|yesterday|tomorrow|tonight|these days|nowadays|at the moment|right now|instead|though"
    r"|already|still|as well|either|also|btw|haha|lol|please|thanks|man|so much|a lot|very much"
    r"|really|after all|for good|for now|currently|at last|finally|so far|more than anything|myself"
    r"|yet|actually|anyway|honestly|most of all|all the time|all (?:day|week|year)|(?:earlier "
    r"|later )?(?:last|this|next|past) (?:night|week|weekend|month|year|morning|evening|summer"
    r"|winter|spring|autumn|fall|\w+day)|(?:on|since|by|until|last|next) (?:mon|tues|wednes|thurs"
    r"|fri|satur|sun)day|a (?:while|few \w+|couple of \w+) (?:ago|back|now)|for (?:a while|ages)"
    r"|(?:for|since|in) (?:(?:about|over|almost|nearly|the last|the past) )?(?:\d+|an?|two|three"
    r"|four|five|six|seven|eight|nine|ten|many|several|some) (?:days?|weeks?|months?|years?"
    r"|decades?)|(?:in|since|until|by|last|this) (?:january|february|march|april|may|june|july"
    r"|august|september|october|november|december|(?:19|20)\d\d|christmas|easter|new year)"
    r"|\w+ (?:days?|weeks?|months?|years?) ago|and|or|of|with|for|in|at|to|the|a|an|about|my|on"
    r"|from|as)\Z",
    re.I,
)
CAPITAL = rf"{TITLED}?(?:[A-Z0-9][\w'&.+-]*\w|[A-Z])"
PLACE = bounded(
    rf"(?:(?:the|sunny|rainy|good old|lovely|beautiful|downtown|central|nearby|little) )*((?!I\b"
    rf"|I'){CAPITAL}(?:(?: (?:of|on"
    r"|upon|de|la|los|le|del|sur|am|the|and))?"
    rf" (?!I\b|I'){CAPITAL})*(?:, (?!I\b|I'){CAPITAL}(?: (?!I\b|I'){CAPITAL})*(?=[,.;:!?)]|\Z"
    rf"|\s+(?:now|with|and|so|for)))?)"
)
LOWER = bounded(r"(?:the )?([a-z][\w-]+)")
CODE = re.compile(r"[^\W\d]\d|\d[^\W\d]")  # a quarter, a host, an address: no place
ORG = bounded(
    rf"(?:an? |the |our )?((?!I\b|I'){CAPITAL}(?:(?: (?:of|and|&|for|the))? (?!I\b|I'){CAPITAL})*"
    r"|(?<=the )[a-z]+(?: [a-z]+(?= [a-z]+))?(?= ?[.,;!?]|\Z| (?:and|as|in|for|now|but|so)\b))"
)
NAME = bounded(
    rf"(?!I\b|I')({TITLED}?[A-ZÀ-Þ][\w'’-]*[\w]"
    r"(?: (?:de|van|von|la|O')?\s?(?!I\b|I')[A-ZÀ-Þ][\w'’-]*\w)*)"
)
NO_NAME = frozenset(
    "thankfully luckily sadly unfortunately fortunately hopefully honestly apparently basically i"
    " it the a an and but so or my we he she they you this that there what how when where why who"
    " which well yes no ok okay hey hi hello wow thanks thank yeah yep sure oh ah haha lol monday"
    " tuesday wednesday thursday friday saturday sunday january february march april may june july"
    " august september october november december today tomorrow yesterday tonight christmas easter"
    " god english french german spanish anyway actually also just now then maybe if because since"
    " as at in on for with to from by of our your his her their its not please sorry everyone"
    " everything nothing something someone somebody nobody anyone anything people still being"
    " having going one two three good great nice cool awesome congrats love here these those some"
    " all any every each both either neither mom mum dad mommy daddy grandma grandpa nan does did"
    " do is are was were have has had can could will would should may might must let let's such"
    " same exciting finally lately recently first last next after before while during after until"
    " even only got been thx btw".split()
)
NUMBER = bounded(
    rf"(\d{{1,3}}|{words.either(words.NUMBERS)}\b)(?![\d.,]*\d|\s?(?:%|km|miles|kg|lbs|cm|pounds"
    rf"|percent|euros|dollars"
    r"|minutes|hours|days|weeks|months|am\b|pm\b|next|in\b|th\b))"
)
EMPTY = frozenset(
    "it that this those these them you him her me us what how when where why to so there one ones"
    " something anything everything nothing things stuff lots lot bit much more which who because"
    " if your yours yourself ya u as not no too very especially particularly mostly".split()
)
JOB_STOP = bounded(
    r"\s(?:at|in|for|with|from|on|by|to|here|there|again|now|these|and|or|full|part|since|based"
    r"|working|specializing|under|around)\b|\sof(?! \w+\Z)",
    re.I,
)
VENTURE_END = bounded(r"\s(?:in|for|that|to|with|by|on|at|starts?|opened|has|is)\b", re.I)
LIST_STOP = bounded(
    rf"(?<![\s.](?-i:[A-Z]))\.(?!\w)|[;!?()\n{MASK}…–—]|:(?!\d)|\s-|,\s(?:but|so|because"
    r"|which|who|it|and (?:I|it|my|we|love|enjoy|like))\b"
    r"|\s(?:because|since|but|so|when|while|which|who|that|if|for|in|with|after|as"
    r"|and (?:I|it|my|we))\b",
    re.I,
)
# "a safe, loving home": the noun follows.
ADJECTIVE = bounded(
    r"\ban? (?:[a-z]+(?:ful|ous|ive|able)|safe|warm|cool|nice|cute|big|huge|small|tiny|little|cozy"
    r"|quiet|simple|long|short|fun|happy|healthy|loving|strong)\Z",
    re.I,
)
# An activity whose object is mentioned elsewhere.
ELSEWHERE = bounded(r"\w+ (?:it|that|this|them|him|her|one|so)", re.I)
DOING = bounded(r"\s*\w+ing\s+\w", re.I)
DEFINITE = bounded(r"(?:the|my|his|her) ", re.I)
AND = bounded(r"\s(?:and|or|&)\s")
LIST_JOINT = bounded(r",?\s+(?:and|or|&)\s+(?:also\s+)?|,\s+")
LIKED_STOP = bounded(r"\s(?:that|from (?=my|the)|more than|with (?=all)|too)\b", re.I)
MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*"
DATE = bounded(
    rf"(?:on |in )?(?:the )?(\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? \d{{4}})?"
    rf"|{MONTH}(?: the)? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|{MONTH}(?: \d{{4}})?\b"
    rf"|\d{{4}}-\d\d-\d\d)",
    re.I,
)
FANCY = frozenset(
    "big huge great firm bit little bad slow quick terrible natural heavy proud lucky happy total"
    " real morning night".split()
)
SUFFIX = re.compile(r"(?:ations?|ments?|ings?|ers?|ors?|ists?|ied|ies|ed|es|s|e|y|al|ly)\Z")

# The kinds of values that attributes have.
KINDS = {
    "lives_in": "place", "origin": "place", "employer": "org", "job": "job", "pet": "names",
    "name": "name", "nickname": "name", "partner": "name", "child": "names", "sibling": "names",
    "friend": "names", "age": "number", "birthday": "date", "diet": "diet",
    "relationship_status": "status", "hobby": "things", "likes": "things", "dislikes": "things",
    "allergy": "things", "language": "things", "studies": "subject", "habit": "thing",
    "owns": "thing", "health": "thing", "nationality": "thing", "religion": "thing",
}  # fmt: skip


def stem(word: str) -> str:
    """Strip the ending of a word, roughly: "teaching" is what a "teacher" does."""
    bare = word.removesuffix("'s")
    if len(bare) > 3:
        bare = SUFFIX.sub("", bare).removesuffix("e") or bare
    if len(bare) > 3 and bare[-1] == bare[-2]:
        bare = bare[:-1]
    return bare if len(bare) > 1 else word


@lru_cache(10_000)  # known values are compared with every claim
def stems(value: str) -> frozenset[str]:
    """Collect the stems of the words that carry a value's meaning."""
    return frozenset(stem(word) for word in tokenise(value) if word not in STOP_WORDS)


def cut(kind: str, plain: str, start: int, end: int) -> list[Span]:
    """Find the values of a kind that begin at this position."""
    while start < end and plain[start] in ' \n"':
        start += 1
    return [span for span in CUTTERS[kind](plain, start, end) if span[0] < span[1]]


def is_name(word: str) -> bool:
    """Tell if a capitalised word can be a person's name."""
    return word[:1].isupper() and word.split()[0].lower().removesuffix("'s") not in NO_NAME


def is_job(value: str) -> bool:
    """Tell if a value is a job."""
    parts = value.lower().split()
    if not parts or len(parts) > 6 or parts[-1] in words.NO_JOB or set(parts) & FANCY:
        return False
    if parts[-1] in words.JOBS or "_".join(parts[-2:]) in words.JOBS:
        return parts[-1] != "student" or len(parts) == 1  # the subject that is studied says more
    is_name = value.split()[-1][0].isupper()  # "Londoner"
    return not is_name and bool(words.JOB_ENDING.search(parts[-1]))


def _place(plain: str, start: int, end: int) -> Iterator[Span]:
    found = PLACE.match(plain, start, end)
    if found and is_name(found[1]) and not CODE.search(found[1]):
        yield _without_possessive(plain, *found.span(1))
    elif plain.islower():
        lower = LOWER.match(plain, start, end)
        is_word = lower and not CODE.search(lower[1])
        if lower and is_word and lower[1] not in EMPTY and lower[1] not in NO_NAME:
            yield lower.span(1)


def _home(plain: str, start: int, end: int) -> Iterator[Span]:
    """Find a place by name, or any other place."""
    named = list(_place(plain, start, end))
    yield from named or _thing(plain, start, end)


def _org(plain: str, start: int, end: int) -> Iterator[Span]:
    found = ORG.match(plain, start, end)
    name = found[1] if found else ""
    is_org = bool(name) and name.split()[0] not in EMPTY | {"moment", "same", "gym"}
    if found and is_org and (is_name(name) or name.islower()):
        yield _without_possessive(plain, *found.span(1))
    elif plain.islower():
        yield from _place(plain, start, end)


def _name(plain: str, start: int, end: int) -> Iterator[Span]:
    found = NAME.match(plain, start, end)
    if found and is_name(found[1]):
        yield _without_possessive(plain, *found.span(1))


def _names(plain: str, start: int, end: int) -> Iterator[Span]:
    """Find one or several names: "Otis and Fern"."""
    place = start
    while spans := list(_name(plain, place, end)):
        yield spans[0]
        joint = LIST_JOINT.match(plain, spans[0][1], end)
        if not joint:
            return
        place = joint.end()


def _number(plain: str, start: int, end: int) -> Iterator[Span]:
    found = NUMBER.match(plain, start, end)
    if found:
        yield found.span(1)


def _job(plain: str, start: int, end: int) -> Iterator[Span]:
    for span in _phrase(plain, start, end, 7, (STOP, JOB_STOP)):
        first = _undetermined(plain, *span)
        if is_job(plain[first : span[1]]):
            yield first, span[1]


def _subject(plain: str, start: int, end: int) -> Iterator[Span]:
    """Find a field of study, without the place."""
    yield from _phrase(plain, start, end, 4, (STOP, JOB_STOP))


def _venture(plain: str, start: int, end: int) -> Iterator[Span]:
    """Find a shop or a trade, without further details."""
    yield from _phrase(plain, start, end, 4, (STOP, VENTURE_END))


def _thing(
    plain: str, start: int, end: int, stops: tuple[Bounded, ...] = (STOP, SOON)
) -> Iterator[Span]:
    for first, last in _phrase(plain, _undetermined(plain, start, end), end, NAMED_WORDS, stops):
        if not is_empty(plain[first:last]):
            yield first, last


def _things(plain: str, start: int, end: int) -> Iterator[Span]:
    """Find one thing, or several short ones: "jazz, blues and techno"."""
    stop = LIST_STOP.search(plain, start, end)
    whole = (start, stop.start() if stop else end)
    joints = [found.span() for found in LIST_JOINT.finditer(plain, *whole)]
    starts, ends = [whole[0], *(b for _, b in joints)], [*(a for a, _ in joints), whole[1]]
    parts = list(zip(starts, ends, strict=True))
    if len(parts) > 1 and _is_list(plain, whole, parts):
        for first, last in parts:
            yield from _thing(plain, first, last, (STOP,))
    else:
        yield from _thing(plain, start, end, (STOP, LIKED_STOP))


def _is_list(plain: str, whole: Span, parts: Sequence[Span]) -> bool:
    """Tell if joined parts are several things, not one."""
    longest = max(len(plain[a:b].split()) for a, b in parts)
    if longest > 4 or (longest > 2 and not AND.search(plain, *whole)):
        return False
    # "Improving schools and roads" is one thing.
    doing = [bool(DOING.match(plain, a, b)) for a, b in parts]
    if doing[0] and not all(doing):
        return False
    return not any(DEFINITE.match(plain, a, b) for a, b in parts)


def _doing(plain: str, start: int, end: int) -> Iterator[Span]:
    """Find an activity: a verb and what belongs to it."""
    for first, last in _phrase(plain, start, end, MOST_WORDS, (STOP,)):
        if not (is_empty(plain[first:last]) or ELSEWHERE.fullmatch(plain, first, last)):
            yield first, last


def _phrase(
    plain: str, start: int, end: int, most: int, stops: tuple[Bounded, ...]
) -> Iterator[Span]:
    for stop in stops:
        found = stop.search(plain, start, end)
        while found and found.group() == "," and ADJECTIVE.search(plain, start, found.start()):
            found = stop.search(plain, found.end(), end)
        end = found.start() if found else end
    spans = [found.span() for found in WORD.finditer(plain, start, end)][:most]
    if spans:
        yield spans[0][0], _trimmed(plain, spans[0][0], spans[-1][1])


def _trimmed(plain: str, start: int, end: int) -> int:
    while found := TAIL.search(plain, start, end):
        if found.start() <= start:
            break
        end = found.start()
    return end


def _undetermined(plain: str, start: int, end: int) -> int:
    """Find where a thing begins after its article."""
    found = DETERMINER.match(plain, start, end)
    return found.end() if found else start


def _without_possessive(plain: str, start: int, end: int) -> Span:
    return start, end - 2 if plain.endswith("'s", start, end) else end


def is_empty(value: str) -> bool:
    """Tell if a value names nothing that would be worth knowing a month later."""
    parts = value.lower().split()
    return not parts or parts[0] in EMPTY or is_vague(value)


def is_vague(value: str) -> bool:
    """Tell if a value consists only of vague words."""
    return all(word.strip("',.") in words.VAGUE for word in value.lower().split())


def _date(plain: str, start: int, end: int) -> Iterator[Span]:
    found = DATE.match(plain, start, end)
    if found:
        yield found.span(1)


def _word_of(listed: frozenset[str]) -> Callable[[str, int, int], Iterator[Span]]:
    lead = "(?:(?:an?|full|fully|back to being) ){0,4}"
    pattern = bounded(rf"{lead}({words.either(listed)})\b", re.I)

    def cutter(plain: str, start: int, end: int) -> Iterator[Span]:
        if found := pattern.match(plain, start, end):
            yield found.span(1)

    return cutter


CUTTERS: dict[str, Callable[[str, int, int], Iterator[Span]]] = {
    "place": _place,
    "home": _home,
    "org": _org,
    "name": _name,
    "names": _names,
    "number": _number,
    "job": _job,
    "thing": _thing,
    "things": _things,
    "doing": _doing,
    "date": _date,
    "subject": _subject,
    "venture": _venture,
    "diet": _word_of(words.DIETS),
    "status": _word_of(words.STATUSES),
}
