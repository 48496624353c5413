"""Find the known claim to which a new one refers, and update exactly that. Pure.

"We raised the kitchen budget to 11,000" refers to "our budget for the kitchen"; "upgraded to Python
3.13" to "we're on Python 3.10"; "renamed Falcon to Kestrel" to the project called Falcon; "ran the
Ghent marathon" to the plan to run it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import structs

from lamina.engines.claims import Claim, attributes, open_verbs, tagged, values, words
from lamina.engines.claims.denials import EXPECTED, Affirmed
from lamina.engines.claims.opening import CHANGE, RULE
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause
from lamina.text.hints import Hinted, hinted
from lamina.text.patterns import bounded
from lamina.text.words import STOP_WORDS, tokens

Split = tuple[frozenset[str], frozenset[str]]  # stems of words and of numbers
AIMS = frozenset({"plan", "goal"})
EVENTS = frozenset({"did", "visited"})
COUNTED = frozenset({"habit", "owns", "pet", "child"})  # "run 5k every day", "two kids"
# What a thing is, has or is used for: a later value replaces an earlier one.
USED = (attributes.HAS, attributes.DOES)
# Adjectives that tell which of two is newer, not which thing is meant.
FRESH = frozenset(map(values.stem, ("new", "current")))
# "renamed Falcon to Kestrel", "moved the carts into Redis"
BECAME = re.compile(
    r"\w+ (?:the |our |my )?(?P<old>\S(?:.{0,60}\S)?) (?:to|into|as) (?P<new>\S.*)", re.S
)
HOME = re.compile(r"(?:moved|relocated) (?:back |over )?to (?P<place>[A-Z]\w+(?: [A-Z]\w+)*)")
NUMBERS = frozenset(map(values.stem, words.NUMBERS))
NUMBER = re.compile(r"\d[\d.,:]*")
# Words that say that something has changed.
NOW = re.compile(
    r"\b(?:now|these days|nowadays|currently|instead|no longer|as of|since|starting|new|again"
    r"|from (?:now|today|monday|next \w+)|any ?more)\b",
    re.I,
)
# Verbs so general that one object does not exclude another.
PLAIN_VERBS = frozenset(
    attributes.DOES + verb for verb in ("be", "have", "do", "got", "can", "like")
)
BE = f"{attributes.DOES}be"
ARTICLE = re.compile(r"\b(?:an?|the) \Z", re.I)
FAR = 8  # characters before a value that are searched for its article
TASTES = {
    attributes.DOES + verb: taste
    for taste, verbs in {
        "likes": (
            "love",
            "like",
            "enjoy",
            "adore",
            "be into",
            "be big on",
            "be keen on",
            "be fond of",
        ),
        "dislikes": ("hate", "dislike", "detest", "despise"),
    }.items()
    for verb in verbs
}
# With a name as value, these mean a fixed attribute: "a room in Hull that I live in", "as a nurse
# at Acme".
NAMED = {
    f"{attributes.DOES}{how}": attribute
    for attribute, hows in {
        "employer": ("work at", "work for", "be employed at"),
        "lives_in": ("live in", "live near"),
    }.items()
    for how in hows
}
DEFINITE = f"{RULE} the_thing"  # the rule for "the N is V"
# People with a diet may avoid other things as well: "gluten-free", "don't eat fish".
RESTRICTION = re.compile(r"free\Z|\beat(?:ing)?\b", re.I)
EMPLOYED = frozenset(attributes.DOES + how for how in ("be at", "be with"))
NAMES = 3  # words of a name
OLDEST = 120
GREETING = re.compile(
    r"(?:\W*(?:hi|hey|hello|hiya|good \w+|ok|so|and|btw|there|everyone)\b)*\W*", re.I
)
# Endings of words that say what somebody is: "American", "Danish", "Chinese".
KINDS_OF_PEOPLE = ("an", "ish", "ese", "ic", "ch", "ist")
DIED = hinted(
    r"\b(?P<who>[A-Z]\w+(?: [A-Z]\w+){0,2}) (?:(?:has|have|just|sadly|finally) ){0,2}"
    r"(?:died|passed away)\b"
)
PERSON = r"[A-Z][\w-]+(?: [A-Z][\w-]+){0,2}"
# Who succeeds whom, and in what role; without a role, any role is meant.
SUCCESSIONS = tuple(
    Hinted(
        bounded(pattern.replace("OLD", rf"(?P<old>{PERSON})").replace("NEW", rf"(?P<new>{PERSON})"))
    )
    for pattern in (
        r"\bNEW (?:has )?(?:replaced|replaces|succeeded|succeeds) OLD(?: as (?P<thing>[\w -]+))?",
        r"\bOLD (?:was|has been|is being|got|is) (?:replaced|succeeded) by NEW"
        r"(?: as (?P<thing>[\w -]+))?",
        r"\bNEW (?:has taken|is taking|took|takes) over (?P<thing>[\w -]+?) from OLD",
        r"\bOLD (?:has )?(?:handed|passed|gave|given)(?: over| on)? (?P<thing>[\w -]+?)"
        r"(?: over| on)? to NEW",
    )
)
# A renamed thing of any sort: "ledgerd was renamed to moneta".
THING = r"\w[\w.-]*(?: [A-Z0-9][\w.-]*){0,2}"
RENAMED = Hinted(
    bounded(
        rf"\b(?P<old>{THING}) (?:was|has been|got|is being) (?:renamed|rebranded) (?:to|as)"
        rf" (?:the )?[\"'`]?(?P<renamed>{THING})"
        # Not "renamed to avoid confusion": behind a name, the clause ends or goes on with a time.
        r"(?=[\"'`]?\s*(?:[.,;:!)]|\Z|(?:now|today|yesterday|last|on|in|since|and|so|but)\b))"
    )
)
NEGATED = re.compile(r"\b(?:not|never|untrue|false)\b|n't", re.I)
SURE = 0.85
TOLD = 2  # minimal words of a plan without a name that an event can fulfil


def resolved(
    said: Said, clauses: Sequence[Clause], claims: Sequence[Claim], affirmed: Affirmed
) -> list[Claim]:
    """Match claims with the attributes that they refer to, and add what else they change."""
    claims = _in_place(said, clauses, claims)
    settled = [*_bereaved(said, clauses, affirmed), *_succeeded(said, clauses, affirmed)]
    settled += _renamed(said, clauses, affirmed)
    for claim in filter(None, (_as_rules_do(said, one, claims) for one in claims)):
        claim = _expected(claim, affirmed)
        if claim.negated or claim.until is not None:
            settled.append(claim)
            continue
        is_change = claim.rule == CHANGE or bool(NOW.search(_sentence(said, clauses, claim)))
        claim = _placed(_versioned(claim, affirmed), affirmed, is_change)
        claim = _now_called(claim, affirmed) if is_change else claim
        if not _has_own_purpose(claim, claims, affirmed, is_change):
            claim = _newer(claim, affirmed, is_change)
        claim = _rescheduled(claim, affirmed)
        settled.append(claim)
        settled += _replaced(claim, affirmed, said.turn.at)
        settled += _redated(claim, affirmed, said.turn.at)
        if claim.attribute == "did":
            settled += _changed(claim, affirmed)
            settled += _moved(claim) if claim.subject != said.speaker else ()
        if claim.attribute in EVENTS:
            settled += _fulfilled(claim, affirmed, said.turn.at)
    return settled


def _expected(claim: Claim, affirmed: Affirmed) -> Claim:
    """Raise the confidence of claims that change something known: a new value, or a denial."""
    if claim.negated:
        others = affirmed.sharing(claim.subject, claim.value)
        is_known = any(known.attribute == claim.attribute for known in others)
    else:
        is_one = claim.rule != tagged.RULE and not attributes.of(claim.attribute).many
        is_known = is_one and affirmed.last(claim.subject, claim.attribute) is not None
    if not is_known or claim.confidence >= EXPECTED:
        return claim
    return structs.replace(claim, confidence=EXPECTED)


def _in_place(said: Said, clauses: Sequence[Clause], claims: Sequence[Claim]) -> list[Claim]:
    """Replace what is given up with what is bought: "sold the Zoe and bought a Kia"."""
    gone = [one for one in claims if one.negated and one.attribute.startswith(attributes.HAS)]
    new = [one for one in claims if one.attribute == "owns" and not one.negated]
    if len(gone) != 1 or len(new) != 1 or gone[0].subject != new[0].subject:
        return list(claims)
    if _sentence(said, clauses, gone[0]) != _sentence(said, clauses, new[0]):
        return list(claims)
    about = {"attribute": gone[0].attribute, "replaces": gone[0].value}
    others = [one for one in claims if one is not gone[0] and one is not new[0]]
    return [*others, structs.replace(new[0], **about, rule=CHANGE)]


def _as_rules_do(said: Said, claim: Claim, others: Sequence[Claim]) -> Claim | None:
    """Use the attribute that a rule would use, such as name or employer; None for no claim."""
    if claim.attribute == "diet" and RESTRICTION.search(claim.value):
        return structs.replace(claim, attribute="avoids")  # a vegetarian may be gluten-free, too
    if claim.attribute in TASTES:
        return structs.replace(claim, attribute=TASTES[claim.attribute])
    if claim.attribute == "birthday":
        day = next(iter(values.cut("date", claim.value, 0, len(claim.value))), None)
        if day:
            return structs.replace(claim, value=claim.value[slice(*day)])
        # "It's on the 9th, don't let me forget": only the first half says when it is.
        return claim if not claim.value or _has_digit(claim.value) else None
    if claim.attribute in NAMED and values.is_name(claim.value):
        attribute, whole = NAMED[claim.attribute], (0, len(claim.value))
        named = next(iter(values.cut(values.KINDS[attribute], claim.value, *whole)), whole)
        return structs.replace(claim, attribute=attribute, value=claim.value[slice(*named)])
    if claim.attribute in EMPLOYED and claim.value[:1].isupper():
        own = [one for one in others if one.subject == claim.subject and not one.negated]
        is_job = any(one.attribute == "job" or _is_role(said, one) for one in own)
        return structs.replace(claim, attribute="employer") if is_job else claim
    if claim.attribute != BE or claim.negated:
        return claim
    if claim.value.isdigit() and int(claim.value) <= OLDEST and values.is_name(claim.subject):
        return structs.replace(claim, attribute="age")  # "Leo (6)"
    if claim.value == claim.subject:
        return None  # "I'm Ana", says Ana
    is_told = any(one.attribute == "job" for one in others)
    is_at = any(one.attribute in EMPLOYED for one in others)
    is_job = values.is_job(claim.value) or (is_at and _is_role(said, claim))
    if claim.subject == said.speaker and not is_told and is_job:
        return structs.replace(claim, attribute="job")
    return structs.replace(claim, attribute="name") if _is_name(said, claim) else claim


def _is_role(said: Said, claim: Claim) -> bool:
    """Tell if a claim calls somebody "a N" or "the N", in lower case: "the night porter"."""
    if claim.attribute != BE or not claim.value.islower():
        return False
    place = said.plain.find(claim.value, claim.start)
    return bool(ARTICLE.search(said.plain[max(0, place - FAR) : max(0, place)]))


def _is_name(said: Said, claim: Claim) -> bool:
    """Tell if "I'm NAME" introduces the speaker: two names, or one that opens the turn."""
    listed = claim.value.split()
    is_own = claim.subject == said.speaker and len(listed) <= NAMES
    if not is_own or not all(values.is_name(word) and word.isalpha() for word in listed):
        return False
    if len(listed) > 1:
        return True
    word = listed[0].lower()
    is_kind = word in words.LANGUAGES or word in words.RELIGIONS or word.endswith(KINDS_OF_PEOPLE)
    behind = said.plain[claim.end : claim.end + 1]
    return (
        not is_kind
        and GREETING.fullmatch(said.plain, 0, claim.start) is not None
        and (behind in ("", ",", ".", "!", "\n"))
    )


def _bereaved(said: Said, clauses: Sequence[Clause], affirmed: Affirmed) -> Iterator[Claim]:
    """End the claims about people who have died."""
    for clause in clauses if DIED.search(said.plain) else ():
        found = said.search(DIED, clause)
        if not found or clause.asks or clause.doubted:
            continue
        called = dict.fromkeys((found["who"], *found["who"].split()))  # "Grandma Rose" is Rose
        for known in (one for name in called for one in affirmed.of(name)):
            where = said.words(clause, found)
            about = known.subject, known.attribute, known.value
            made = said.claim(*about, where, SURE, "died")
            yield structs.replace(made, until=said.turn.at)


def _succeeded(said: Said, clauses: Sequence[Clause], affirmed: Affirmed) -> Iterator[Claim]:
    """Replace a person with the successor: "Eva took over on-call from Jan"."""
    patterns = [one for one in SUCCESSIONS if one.may_be_in(said.plain)]
    for clause in clauses if patterns else ():
        if clause.asks or clause.doubted:
            continue
        found = next(filter(None, (said.search(one, clause) for one in patterns)), None)
        if not found or not (values.is_name(found["old"]) and values.is_name(found["new"])):
            continue
        told = values.stems(found.groupdict().get("thing") or "")
        held = [
            one
            for one in affirmed.sharing(said.speaker, found["old"])
            if one.attribute.startswith(attributes.HAS)
        ]
        meant = [one for one in held if told & _own(one.attribute)] if told else held
        if len(meant) == 1:
            (known,) = meant
            about = known.subject, known.attribute, _with(known.value, found["old"], found["new"])
            made = said.claim(*about, said.words(clause, found), SURE, "succeeded")
            yield structs.replace(made, replaces=known.value)


def _renamed(said: Said, clauses: Sequence[Clause], affirmed: Affirmed) -> Iterator[Claim]:
    """Rename what is known by its old name: "ledgerd was renamed to moneta"."""
    for clause in clauses if RENAMED.may_be_in(said.plain) else ():
        found = None if clause.asks or clause.doubted else said.search(RENAMED, clause)
        if not found or NEGATED.search(said.part(clause)[: found.start()]):
            continue
        if values.is_empty(found["renamed"]):
            continue
        old = found["old"].lower()
        held = affirmed.sharing(said.speaker, found["old"])
        meant = [
            one
            for one in held
            if one.attribute.startswith(attributes.HAS) and one.value.lower() == old
        ]
        if len(meant) == 1:
            (known,) = meant
            span = clause.start + found.start("old"), clause.start + found.end("renamed")
            about = known.subject, known.attribute, found["renamed"]
            made = said.claim(*about, span, SURE, "renamed")
            yield structs.replace(made, replaces=known.value)


def _with(value: str, old: str, new: str) -> str:
    """Replace a name in a value, such as "run by Kim", or the value if it is the name."""
    return new if values.is_name(value) else value.replace(old, new)


def _rescheduled(claim: Claim, affirmed: Affirmed) -> Claim:
    """Let a plan replace the same plan for another day."""
    if claim.attribute not in AIMS or claim.replaces:
        return claim
    for known in _other_days(claim, affirmed):
        if known.attribute in AIMS:
            return structs.replace(claim, replaces=known.value)
    return claim


def _redated(claim: Claim, affirmed: Affirmed, now: datetime) -> Iterator[Claim]:
    """End a plan whose event now has another date: "the wedding was moved to May"."""
    for known in _other_days(claim, affirmed):
        if (known.attribute in AIMS) != (claim.attribute in AIMS):
            yield _over(claim, known, now)


def _other_days(claim: Claim, affirmed: Affirmed) -> Iterator[Claim]:
    """Yield known claims that give another day for the same event."""
    mine, day = _appointed(claim)
    if not mine or not day:
        return
    shared = affirmed.sharing_any(claim.subject, " ".join((claim.attribute, claim.value)))
    things = affirmed.things(claim.subject, mine) if claim.attribute in AIMS else ()
    for known in {id(one): one for one in (*shared, *things)}.values():
        others, other_day = _appointed(known)
        is_same = bool(others) and (mine <= others or others <= mine)
        if is_same and other_day and other_day != day:
            yield known


def _appointed(claim: Claim) -> Split:
    """Separate an event from its day: in a plan, or a thing whose value is only a day."""
    rest, times = _untimed(claim.value)
    what, numbers = _unnumbered(rest)
    if claim.attribute in AIMS:
        return what, numbers | times
    is_day = claim.attribute.startswith(attributes.HAS) and bool(times) and not what
    return (_own(claim.attribute) if is_day else frozenset()), numbers | times


def _untimed(value: str) -> tuple[str, frozenset[str]]:
    """Separate the words for times from a value: "Wed", but not part of "wedding"."""
    listed = [word.removesuffix("s") for word in tokens(value)]  # "on Wednesdays"
    times = frozenset(word for word in listed if word in open_verbs.LATER)
    return " ".join(word for word in listed if word not in times), times


def _sentence(said: Said, clauses: Sequence[Clause], claim: Claim) -> str:
    """Return the sentence in which a claim begins."""
    around = max(0, bisect_right(clauses, claim.start, key=lambda clause: clause.start) - 1)
    number = clauses[around].sentence if clauses else 0
    parts = [clause for clause in clauses if clause.sentence == number]
    return said.plain[parts[0].start : parts[-1].end] if parts else ""


def _placed(claim: Claim, affirmed: Affirmed, is_change: bool) -> Claim:
    """Use the earlier name of a thing: "deadline for the grant" for "grant deadline"."""
    if not claim.attribute.startswith(attributes.HAS):
        return claim
    noun = claim.attribute.removeprefix(attributes.HAS)
    stems = values.stems(noun) - FRESH
    known = {one.attribute: one for one in affirmed.things(claim.subject, stems)}
    if claim.attribute in known:
        return claim
    same = [name for name in known if _own(name) == stems]
    if not same:  # "moved the deadline", if only one is known
        same = [
            name
            for name in known
            if stems < _own(name)
            and (is_change or _shape(known[name].value) == _shape(claim.value) != claim.value)
        ]
    if len(same) == 1:
        return structs.replace(claim, attribute=same[0])
    first, _, rest = noun.partition(" ")
    is_fresh = bool(rest) and values.stem(first) in FRESH
    return structs.replace(claim, attribute=attributes.HAS + rest) if is_fresh else claim


def _now_called(claim: Claim, affirmed: Affirmed) -> Claim:
    """Replace a known value by what it is now: "vuk01 is now bg-backup-1"."""
    is_name = any(letter.isdigit() or letter.isupper() for letter in claim.value)
    if not claim.attribute.startswith(attributes.HAS) or claim.replaces or not is_name:
        return claim
    named = claim.attribute.removeprefix(attributes.HAS)
    same = [
        one
        for one in affirmed.sharing(claim.subject, named)
        if one.attribute.startswith(attributes.HAS) and one.value.lower() == named
    ]
    if len(same) != 1:
        return claim
    (known,) = same
    return structs.replace(claim, attribute=known.attribute, replaces=known.value)


def _shape(value: str) -> str:
    """Replace the numbers of a value: "eu-2" and "eu-5" have one shape."""
    return NUMBER.sub("#", value)


def _own(attribute: str) -> frozenset[str]:
    return values.stems(attribute.removeprefix(attributes.HAS)) - FRESH


def _newer(claim: Claim, affirmed: Affirmed, is_change: bool) -> Claim:
    """Let a value replace that of the same verb, if it is said to be new or only numbers differ."""
    if claim.replaces or not (claim.attribute.startswith(USED) or claim.attribute in COUNTED):
        return claim
    if claim.attribute.startswith(attributes.HAS):
        return _the_one(claim, affirmed, is_change)
    if claim.attribute == "habit" and is_change and (before := _done_otherwise(claim, affirmed)):
        return structs.replace(claim, replaces=before.value)
    is_telling = is_change and claim.attribute not in COUNTED
    before = affirmed.last(claim.subject, claim.attribute) if is_telling else None
    if before and claim.attribute not in PLAIN_VERBS and not _same(before.value, claim.value):
        return structs.replace(claim, replaces=before.value)
    bare, numbers = _unnumbered(claim.value)
    last = affirmed.last(claim.subject, claim.attribute) if numbers else None
    alike = affirmed.holding(claim.subject, bare) if numbers and bare else filter(None, [last])
    for known in alike:
        is_same_verb = known.attribute == claim.attribute
        if is_same_verb and _is_version(_unnumbered(known.value), bare, numbers):
            return structs.replace(claim, replaces=known.value)
    return claim


def _done_otherwise(claim: Claim, affirmed: Affirmed) -> Claim | None:
    """Find the same habit done in another way: "run the tests with npm test"."""
    deed, own = _deed(claim.value), values.stems(claim.value)
    for known in affirmed.sharing_any(claim.subject, claim.value):
        is_deed = known.attribute == "habit" and _deed(known.value) == deed
        if is_deed and own != values.stems(known.value):
            return known
    return None


def _deed(value: str) -> tuple[str, ...]:
    """Return what is done: the verb and the first word of its object."""
    return tuple(word for word in value.lower().split() if word not in STOP_WORDS)[:2]


def _has_own_purpose(
    claim: Claim, others: Sequence[Claim], affirmed: Affirmed, is_change: bool
) -> bool:
    """Tell if something has another purpose than what was used before, so that both are used."""
    purpose = f"{claim.attribute} for"
    before = affirmed.last(claim.subject, purpose)
    told = [one for one in others if (one.subject, one.attribute) == (claim.subject, purpose)]
    if before is None:
        return bool(told) and not is_change
    return not all(_same(before.value, one.value) for one in told)


def _the_one(claim: Claim, affirmed: Affirmed, is_change: bool) -> Claim:
    """Let "the project is called N now" replace the only known project."""
    known = affirmed.things(claim.subject, _own(claim.attribute))
    named = {one.value for one in known if one.attribute == claim.attribute}
    is_one = is_change and claim.rule == DEFINITE and len(named) == 1
    return structs.replace(claim, replaces=named.pop()) if is_one else claim


def _versioned(claim: Claim, affirmed: Affirmed) -> Claim:
    """Complete a version: "from Postgres 14 to 16", and then "Postgres is on 17"."""
    bare, numbers = _unnumbered(claim.value)
    if bare or not numbers:
        return claim
    if claim.replaces:
        return structs.replace(claim, value=_in_full(claim.value, claim.replaces))
    own = _own(claim.attribute) if claim.attribute.startswith(attributes.HAS) else frozenset()
    for known in affirmed.holding(claim.subject, own):
        is_used = known.attribute.startswith(USED)
        if is_used and _is_version(_unnumbered(known.value), own, numbers):
            about = {"attribute": known.attribute, "value": _in_full(claim.value, known.value)}
            return structs.replace(claim, **about, replaces=known.value, rule=CHANGE)
    return claim


def _in_full(new: str, old: str) -> str:
    """Insert a bare number into the value that it replaces, if that has exactly one number."""
    numbers, listed = list(filter(_has_digit, new.split())), old.split()
    places = [place for place, word in enumerate(listed) if _has_digit(word)]
    if not numbers or _unnumbered(new)[0] or len(places) != 1:
        return new
    listed[places[0]] = numbers[0]
    return " ".join(listed)


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _is_version(known: Split, bare: frozenset[str], numbers: frozenset[str]) -> bool:
    """Tell if a value differs from a known one only in its numbers."""
    return known[0] == bare and bool(known[1]) and known[1] != numbers


def _same(one: str, other: str) -> bool:
    mine, others = values.stems(one), values.stems(other)
    return mine <= others or others <= mine


def _unnumbered(value: str) -> Split:
    """Split the stems of a value into words and numbers."""
    stems = values.stems(value)
    numbers = frozenset(one for one in stems if one in NUMBERS or any(map(str.isdigit, one)))
    return stems - numbers, numbers


def _replaced(claim: Claim, affirmed: Affirmed, now: datetime) -> Iterator[Claim]:
    """End other claims about a value that is given up: "switched from Redis to Valkey"."""
    if claim.rule != CHANGE or not claim.replaces:
        return
    for known in affirmed.sharing(claim.subject, claim.replaces):
        if known.attribute != claim.attribute and _is_used(known):
            yield _over(claim, known, now)


def _is_used(known: Claim) -> bool:
    return known.attribute.startswith(USED) or known.attribute in ("habit", "owns")


def _over(claim: Claim, known: Claim, now: datetime) -> Claim:
    """Return a claim that ends a known one, with the source of the given claim."""
    about = {"attribute": known.attribute, "value": known.value}
    return structs.replace(claim, **about, replaces=None, at=now, until=now)


def _moved(claim: Claim) -> Iterator[Claim]:
    """Claim the new home of somebody, if no rule does: "my sister moved to Bonn"."""
    found = HOME.match(claim.value)
    if found and values.is_name(found["place"]):
        yield structs.replace(claim, attribute="lives_in", value=found["place"])


def _changed(claim: Claim, affirmed: Affirmed) -> Iterator[Claim]:
    """Claim the new value after a change to a known one: "renamed Falcon to Kestrel"."""
    found = BECAME.fullmatch(claim.value)
    if not found:
        if newer := _upgraded(claim, affirmed):
            yield newer
        return
    old = values.stems(found["old"])
    for known in affirmed.sharing(claim.subject, found["old"]):
        value = _in_full(found["new"].strip(), known.value)
        is_version = _is_version(_unnumbered(known.value), *_unnumbered(value))
        is_whole = values.stems(known.value) == old or (is_version and old <= values.stems(value))
        if known.attribute.startswith(USED) and is_whole:
            about = {"attribute": known.attribute, "value": value}
            yield structs.replace(claim, **about, replaces=known.value, rule=CHANGE)
            return


def _upgraded(claim: Claim, affirmed: Affirmed) -> Claim | None:
    """Claim the version after an upgrade: "upgraded to Python 3.13"."""
    verb, _, rest = claim.value.partition(" to ")
    is_change = verb.partition(" ")[0].lower() in open_verbs.CHANGES
    if not is_change or not _has_digit(rest):
        return None
    bare, numbers = _unnumbered(rest)
    for known in affirmed.holding(claim.subject, bare) if bare else ():
        is_used = known.attribute.startswith(USED)
        if is_used and _is_version(_unnumbered(known.value), bare, numbers):
            about = {"attribute": known.attribute, "value": rest, "replaces": known.value}
            return structs.replace(claim, **about, rule=CHANGE)
    return None


def _fulfilled(claim: Claim, affirmed: Affirmed, now: datetime) -> Iterator[Claim]:
    """End a plan that was carried out: the event has all the words of the plan."""
    done = values.stems(claim.value)
    for known in affirmed.sharing_any(claim.subject, claim.value):
        if known.attribute not in AIMS:
            continue
        _, _, rest = known.value.partition(" ")
        wanted = values.stems(_untimed(rest)[0])
        is_told = len(wanted) >= TOLD or any(word[:1].isupper() for word in rest.split())
        if wanted and is_told and wanted <= done:
            yield _over(claim, known, now)
