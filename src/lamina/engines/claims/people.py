"""Track people: who speaks, who is mentioned, and who "she" is. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lamina.engines.claims import values, words
from lamina.engines.claims.words import either
from lamina.text.hints import hinted
from lamina.text.patterns import LONGEST, bounded
from lamina.text.words import asked, first_name

# Speakers that are not people: nothing is claimed from their turns.
MACHINES = frozenset(
    "agent ai assistant bot chatbot developer external function import llm mail model system tool"
    " web".split()
)
KINDRED = frozenset(words.RELATION) | words.ACQUAINTED
MENTION = re.compile(
    r"\b(?<!ne of )(?P<whose>[Mm]y|[Oo]ur)\s(?!(?:first|second|third|next|unborn) (?:child|baby"
    r"|kid))"
    rf"(?P<kind>(?:[a-z0-9-]+\s){{0,2}}?)(?P<kin>{either(KINDRED)})\b"
)
# The words between a relation and a name.
NAMED = re.compile(
    r"(?:'s? names? (?:is|are)|(?:'s| is| was| are| were)(?: now)? (?:called|named)|,|,? (?:who is "
    r"|whose name is )?(?:called|named))?\s(?:(?:Dr|Prof|Mrs?|Ms)\.? )?(?=(?!I\b|I')[A-ZÀ-Þ])"
)
# "My wife is Eva": a name, unless what follows is part of it. "Was" and "is not" do not count.
BEING = re.compile(
    r" (?:is|are|(?P<other>was|were|(?:is|are|was|were)(?:n't| not)))(?: now)? (?:(?:Dr|Prof|Mrs?"
    r"|Ms)\.? )?"
    rf"(?=(?P<name>{values.NAME.pattern})\s*(?:[.,;:!?)]|\Z|\n|(?:and|but|who|by the way|now)\b))"
)
# Without capitals a name looks like any word ("my wife is ill"), unless it is introduced as one.
UNTOLD = re.compile(
    r"(?:'s? names?)? (?:is|are)(?: called| named)? [\w-]+\s*(?:[.,;:!?)]|\Z|\n|and\b)"
)
CALLED = re.compile(
    r"(?:'s name is|,? (?:who is |is )?(?:now )?(?:(?<=is )called|named)"
    r"|,? whose name is) (?P<name>[a-zß-ÿ][\w-]*\w)\s*(?:[.,;:!?)]|\Z|\n|(?:and|but|who|is|was"
    r"|has)\b)"
)
NEVER_CALLED = values.NO_NAME | frozenset("after away back for in off on out up upon".split())
DESCRIBED = words.NATIONS | words.RELIGIONS | words.LANGUAGES | words.DIETS | words.GENDERS
APART = re.compile(
    rf"(?<![\w'])(?P<name>[A-ZÀ-Þ][\w-]{{1,60}})(?:,|'s| is) (?:my"
    rf"|our) (?:[a-z-]+ ){{0,2}}(?P<kin>{either(KINDRED)})\b"
)
# "… at Acme, my wife Ana is a nurse": a new statement begins after the comma.
ANEW = bounded(r"\s(?:(?:is|are|was|were|has|had|will|can)\b|[A-ZÀ-Þ])|'s\s")
MET = hinted(
    r"\b(?:woman|man|girl|boy|guy|lady|friend|person|kid|colleague|neighbou?r|someone|teen|boy|lad"
    r"|bloke)(?:,| called| named) (?P<name>[A-Z][a-z]+)\b"
)
# An animal that is not part of a compound.
ALONE = re.compile(
    r"\s*(?:[.,;:!?)]|\Z|\n|'s\b|(?:and|is|was|are|has|had|who|that|to|for|in|on|at|with|loves"
    r"|likes|just|got|needs|keeps|when|because|so|but|from|again|too|now|today|will|can|always"
    r"|never|since|\w+ed)\b)"
)
# The speaker's family without a possessive: "with the kids", "my husband and kids".
HOUSEHOLD = (
    hinted(
        r"\b(?:with|took|take|taking|brought|me,) the (?P<kin>kids|children|wife|husband|missus"
        r"|hubby)\b",
        re.I,
    ),
    hinted(
        rf"\b(?:my|the) {either(words.KIN['partner'])},? (?:and|&)(?: the| my| our)? (?P<kin>kids"
        rf"|children|sons?|daughters?)\b",
        re.I,
    ),
    hinted(
        r"\b(?:my|our) (?P<kin>youngest|eldest|oldest|[\w-]+-year-old)(?=[,.!?]|'s|\s(?:is|was|and"
        r"|has|just|\w+ed|took)\b)",
        re.I,
    ),
)
FRIENDS = hinted(
    r"\b(?P<shown>friends from (?:the )?(?!you)\w+"
    r"|(?<=my )(?:church|work|school|college|university|childhood|high school|gym) friends?)\b",
    re.I,
)
FRIENDSHIP = hinted(
    r"\bour friendship\b|\b(?:being|you're|you are|you've been"
    r"|have you as) (?:such )?an? (?:\w+ )?friend\b",
    re.I,
)
NEAR_DENIAL = 20  # characters
DENYING = bounded(r"(?:\bnot|n't|\bnever|\bno longer)\s\Z", re.I)
OWNER = re.compile(r"[\w-]+['’]s? (?P<kin>[\w-]+)")
CAPITALISED = re.compile(r"\b[A-ZÀ-Þ][\w-]+")
NEAR = 8  # characters between a name and "who"
TRACKED = 8  # latest mentions to which a pronoun may refer


class Person(NamedTuple):
    """A person who was mentioned."""

    name: str  # empty if unknown
    gender: str  # she, he, or empty
    turn: int


class Relation(NamedTuple):
    """Somebody related to the speaker: "my sister Mia"."""

    attribute: str  # empty if it makes no claim
    kin: str
    name: str
    shown: str  # the name, or the words used instead
    start: int
    end: int


def is_machine(speaker: str | None) -> bool:
    """Tell if a speaker is a role such as "AI assistant" or "Agent 7", not a person."""
    called = [word for word in asked(speaker or "") if not word.isdecimal()]
    return bool(called) and all(word in MACHINES for word in called)


def gender_of(kin: str) -> str:
    return "she" if kin in words.FEMALE else "he" if kin in words.MALE else ""


def relations(plain: str) -> Iterator[Relation]:
    """Find the people whom the speaker calls "my" or "our"."""
    lowered = plain.lower()
    if "my " not in lowered and "our " not in lowered:
        return
    is_lower = plain.islower()
    apart = [one for one in APART.finditer(plain) if not _begins_anew(plain, one)]
    starts = [one.start() for one in apart]
    for found in MENTION.finditer(plain):
        before = bisect_left(starts, found.start()) - 1
        if before < 0 or found.start() >= apart[before].end():
            yield from _mentioned(plain, found, is_lower)
    for found in apart:
        if values.is_name(found["name"]):
            kin, name = found["kin"].lower(), found["name"]
            yield Relation(words.RELATION.get(kin, ""), kin, name, name, *found.span())


def _begins_anew(plain: str, found: re.Match[str]) -> bool:
    return plain[found.end("name")] == "," and bool(ANEW.match(plain, found.end()))


def _mentioned(plain: str, found: re.Match[str], is_lower: bool) -> Iterator[Relation]:
    """Read one mention of somebody related to the speaker: a name, or other words."""
    kin, last = found["kin"].lower(), found.end()
    if DENYING.search(plain, max(0, found.start() - NEAR_DENIAL), found.start()):
        return  # "Mia is not my sister"
    attribute, being = words.RELATION.get(kin, ""), BEING.match(plain, last)
    is_who = being is not None and not is_described(being["name"])
    called = CALLED.match(plain, last) if is_lower else None
    if called and (name := called["name"]) not in NEVER_CALLED:
        yield Relation(attribute, kin, name, name, found.start(), called.end("name"))
        return
    if (is_who and being and being["other"]) or (is_lower and UNTOLD.match(plain, last)):
        return
    link = being if is_who else NAMED.match(plain, last)
    named = _names(plain, link.end(), kin) if link else []
    for span in named:
        shown = plain[slice(*span)]
        yield Relation(attribute, kin, shown.split()[0], shown, found.start(), span[1])
    is_other = kin in words.ANIMALS and not ALONE.match(plain, last)  # "my horse painting"
    is_shared = found["whose"].lower() == "our" and kin in words.PLURAL
    if not (named or is_other or is_shared):
        yield Relation(attribute, kin, "", plain[found.start("kind") : last], found.start(), last)


def _names(plain: str, start: int, kin: str) -> list[values.Span]:
    """Find the name after a relation, or several for several people."""
    is_several = kin in words.PLURAL or (kin in words.ANIMALS and kin.endswith("s"))
    kind = "names" if is_several else "name"
    return values.cut(kind, plain, start, min(start + LONGEST, len(plain)))


def is_described(word: str) -> bool:
    """Tell if a capitalised word says what a person is, not who: "my wife is Italian"."""
    return word.lower() in DESCRIBED or not values.is_name(word)


def household(plain: str) -> Iterator[Relation]:
    """Find family members such as "the kids", and friends described without a name."""
    for found in (one for pattern in HOUSEHOLD for one in pattern.finditer(plain)):
        kin = found["kin"].lower()
        yield Relation(words.RELATION.get(kin, "child"), kin, "", found["kin"], *found.span())
    for found in FRIENDS.finditer(plain):
        yield Relation("friend", "friend", "", found["shown"], *found.span())


def is_possessor(plain: str, start: int) -> bool:
    """Tell if a person is named at a place only to say whose somebody is: "Ida's sister"."""
    found = OWNER.match(plain, start)
    return found is not None and found["kin"].lower() in KINDRED


def just_named(plain: str) -> str:
    """Find the name at the end of a text: "my son Felix, who"."""
    near = plain[-LONGEST:]
    listed = [one for one in relations(near) if len(near) - one.end < NEAR]
    return listed[-1].name if listed else ""


class People:
    """The participants of a conversation, and people who were mentioned recently."""

    def __init__(self, speakers: Sequence[str | None]) -> None:
        self.present = frozenset(name for speaker in speakers if (name := first_name(speaker)))
        self._genders: dict[str, str] = {}
        self._recent: list[Person] = []
        self._speakers = tuple(
            dict.fromkeys(speaker for speaker in speakers if speaker and not is_machine(speaker))
        )
        self.named: set[str] = set()
        self._kin: dict[tuple[str, str], set[str]] = {}  # names by speaker and relation

    def remember(self, names: Iterable[str]) -> None:
        """Record people who were mentioned before."""
        self.named.update(name for name in names if first_name(name) not in self.present)

    def mention(self, name: str, gender: str, turn: int) -> None:
        if name and first_name(name) in self.present:
            return
        if name:
            self.named.add(name)
            gender = self._genders[name] = gender or self._genders.get(name, "")
        others = [one for one in self._recent if one.name != name or not name]
        self._recent = [*others[-TRACKED:], Person(name, gender, turn)]

    def listen(self, plain: str, speaker: str, turn: int) -> None:
        """Record every person whom a turn introduces."""
        for one in relations(plain):
            if one.kin not in words.PLURAL:
                self.mention(one.name or self.kin(speaker, one.kin), gender_of(one.kin), turn)
                if one.name:
                    self._kin.setdefault((speaker, one.kin), set()).add(one.name)
        for word in dict.fromkeys(CAPITALISED.findall(plain)):
            if word in self.named:
                self.mention(word, "", turn)
        for found in MET.finditer(plain):
            if values.is_name(found["name"]):
                self.mention(found["name"], "", turn)

    def listener(self, speaker: str) -> str:
        """Return the person whom a speaker talks to, if there are only two."""
        others = [one for one in self._speakers if one != speaker]
        return others[0] if len(others) == 1 else ""

    def hear(self, speaker: str) -> bool:
        """Tell if a speaker talks to other people, not only to an assistant."""
        return any(one != speaker for one in self._speakers)

    def knows(self, name: str) -> bool:
        return name in self.named or first_name(name) in self.present

    def kin(self, speaker: str, kin: str) -> str:
        """Return the name of a relation, such as the speaker's sister, if only one was named."""
        names = self._kin.get((speaker, kin), set())
        return next(iter(names)) if len(names) == 1 else ""

    def meant(self, pronoun: str, turn: int) -> str:
        """Return the person whom "he" or "she" means, if only one matches."""
        recent = (one for one in self._recent if one.turn >= turn - 2)
        fitting = {one.name for one in recent if one.gender in (pronoun, "")}
        return fitting.pop() if len(fitting) == 1 else ""
