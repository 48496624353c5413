"""Parse a clause into subject, auxiliaries and verbs, as far as rules need them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from lamina.engines.claims import values, words
from lamina.engines.claims.sentences import Clause
from lamina.text.hints import hinted
from lamina.text.patterns import bounded

TOKEN = re.compile(r"[^\W_]+?(?=n't\b)|n't\b|'(?:m|re|ve|ll|d|s)\b|[^\W_]+(?:-[^\W_]+)*", re.I)
# The name of an auxiliary in the rules.
AUXILIARIES = {
    "am": "am", "'m": "am", "are": "am", "'re": "am", "is": "am", "'s": "am", "was": "was",
    "were": "was", "be": "be", "have": "have", "'ve": "have", "has": "have", "had": "had",
    "do": "do", "does": "do", "did": "did", "will": "will", "'ll": "will", "wo": "will",
    "shall": "will", "would": "would", "'d": "would", "can": "can", "ca": "can",
    "could": "maybe", "might": "maybe", "may": "maybe", "should": "maybe", "must": "maybe",
    "ought": "maybe", "got": "got", "gotten": "got", "getting": "getting",
}  # fmt: skip
# Contractions without an apostrophe.
RUSHED = {
    "im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "doesnt": ("does", "n't"),
    "didnt": ("did", "n't"), "cant": ("can", "n't"), "wont": ("will", "n't"),
    "isnt": ("is", "n't"), "cannot": ("can", "not"),
}  # fmt: skip
DENIALS = frozenset({"n't", "not", "never"})
OFTEN = frozenset("always usually often regularly normally typically generally frequently".split())
ADVERBS = OFTEN | frozenset(
    "just also really recently finally actually already still now currently never even only totally"
    " definitely absolutely both all once ever since so super pretty much kinda sorta especially"
    " particularly truly deeply officially basically mostly mainly occasionally sometimes lately"
    " newly again successfully eventually quickly suddenly accidentally unfortunately sadly luckily"
    " thankfully fortunately apparently happily proudly most proper properly right simply gradually"
    " slowly initially originally formerly previously long quite very busy honestly seriously"
    " literally well first then today tonight yesterday tomorrow soon more full fully half".split()
)
TIMES = frozenset(
    "day days morning evening night week weekend month year time moment summer winter spring autumn"
    " fall afternoon today yesterday first monday tuesday wednesday thursday friday saturday sunday"
    " christmas ago second minute case way hand point past rest".split()
)
# Words before a subject that make it part of a relative clause: "the book I read", "all I know".
OWNED = frozenset(
    "the a an my this that these those some all what one another any no such everything anything"
    " something".split()
)
WHATEVER = frozenset(
    "something everything anything thing things what all one someone somebody stuff".split()
)
REPORTED = frozenset(
    "says said say tells told claims claim thinks think heard hears believes swears reckons insists"
    " joked joke hope hopes".split()
)
HEARERS = frozenset("me us you everyone him her".split())
OTHERS = frozenset(
    "you they it this that there who which these those everyone everybody nobody someone somebody"
    " people both one what its".split()
)
FILLERS = ADVERBS | frozenset(
    "and but so well oh yes no yeah yep ok okay hey hi wow lol haha ugh um uh plus anyway anyways"
    " btw guess morning news update big ha yay man god gosh sorry thanks thx aw aww hmm oops sooo"
    " soo omg nope turns out".split()
)
# Verbs used without "I"; not those that could be orders, or praise.
ELLIPTIC = (
    words.DEEDS | words.PARTICIPLES | frozenset("been based allergic gonna".split())
) - frozenset(
    "read put set beat quit run cut let hit split become come rode fell shot wed placed checked"
    " shared loved liked hated enjoyed felt thought wanted planned decided used called known said"
    " told heard grown found kept".split()
)
DEFINITE = frozenset("the a an my some our with off up".split())
GOING_ON = frozenset(
    "as for at in on to the a an my our some about of with up forward into".split()
)
FINITE = frozenset(
    "makes helps brings keeps means takes gives gets feels seems sounds looks lets shows made"
    " helped brought kept gave felt took got taught reminds reminded matters goes comes sucks"
    " rocks".split()
)
UNCHANGED = frozenset("put set read beat quit cut hit run come let".split())  # in the past
EMPHATIC = frozenset("love like have enjoy hate live work".split())  # "I do love it"
# Words that may take the place of a verb after an auxiliary.
SMALL = frozenset("a an the at in to into with from off back one".split())
MODAL = frozenset("will would maybe can".split())
MEANT = frozenset({"gonna", "wanna"})
HAVING = frozenset("have has had got".split())
NOUNS = frozenset("love like work plan hope dream play study major aim drive ride stand".split())
VERBAL = frozenset("as at for".split())  # after a word that may be a noun, they make it a verb
PARENTS = frozenset(
    "mum mom dad mother father grandma grandpa nan gran mama papa granny grandad granddad".split()
)
ANYMORE = hinted(r"\b(?:any ?more|any longer|no longer|after all|no more)\b", re.I)
NEAR = 40  # characters before a verb that are searched for "and"
JOINED = bounded(
    r"(?:,|,?\s*\b(?:and|but|then)\b)(?:\s*\b(?:then|even|also|now|so|just|finally|have|has"
    r"|today)\b)*\s*\Z",
    re.I,
    NEAR,
)


class Token(NamedTuple):
    """A word of a clause, in lower case, and its span."""

    word: str
    start: int
    end: int


class Subject(NamedTuple):
    """The subject of a clause."""

    kind: str  # self, he, she, kin (possibly without a name), named, who (just named)
    name: str
    start: int
    kin: str = ""


class Predicate(NamedTuple):
    """A verb with its subject; its words are those from the verb to the end of the clause."""

    subject: Subject
    kind: str  # plain, or the auxiliary
    negated: bool
    ended: bool  # "any more", "no longer"
    word: str
    at: int
    after: int
    end: int


class Parsed(NamedTuple):
    """The subject and the predicates of a clause, as far as it is understood."""

    subject: Subject | None
    predicates: tuple[Predicate, ...]


def tokens(plain: str, start: int, end: int) -> list[Token]:
    listed: list[Token] = []
    for found in TOKEN.finditer(plain, start, end):
        word = found.group().lower()
        if word in RUSHED:
            listed += [Token(part, *found.span()) for part in RUSHED[word]]
        else:
            listed.append(Token(word, *found.span()))
    return listed


def parse(plain: str, clause: Clause, verbs: Set[str], names: Set[str]) -> Parsed:
    """Find the subject and the verbs of a clause; several verbs may share one subject.

    `names` are those of known people.
    """
    listed = tokens(plain, clause.start, clause.end)
    if clause.link == "who":
        found: tuple[Subject, int] | None = (Subject("who", "", clause.start), 0)
    else:
        found = _subject(plain, listed, verbs, names)
    if not found:
        return Parsed(None, ())
    subject, place = found
    ends = bool(ANYMORE.search(plain, clause.start, clause.end))
    first = _predicate(listed, place, subject, clause.end, ends)
    if not first:
        return Parsed(subject, ())
    joints = [n for n in range(place + 1, len(listed)) if _is_joint(plain, listed, n, first, verbs)]
    stops = [*(listed[n].start for n in joints), clause.end]
    predicates = [first._replace(end=stops[0])]
    for joint, stop in zip(joints, stops[1:], strict=True):
        if more := _predicate(listed, joint, subject, stop, ends):
            shares = _shares_auxiliary(first, more)
            predicates.append(more._replace(kind=first.kind) if shares else more)
    return Parsed(subject, tuple(predicates))


def _shares_auxiliary(first: Predicate, more: Predicate) -> bool:
    """Tell if the auxiliary of the first verb applies to another one: "I will pack and go"."""
    is_past = more.word in words.DEEDS or more.word.endswith("ed")
    is_bare = first.kind in MODAL and not is_past
    return more.kind == "plain" and (is_bare or more.word.endswith("ing"))


def is_telling(plain: str, clause: Clause) -> bool:
    """Tell if a clause ends with a verb of saying: what follows is reported speech."""
    return _ends_with_saying(tokens(plain, clause.start, clause.end))


def _ends_with_saying(listed: Sequence[Token]) -> bool:
    last = [token.word for token in listed[-2:]]
    return bool(last) and (last[-1] in REPORTED or (last[-1] in HEARERS and last[0] in REPORTED))


def _is_joint(
    plain: str, listed: Sequence[Token], place: int, first: Predicate, verbs: Set[str]
) -> bool:
    """Tell if another verb with the same subject begins here."""
    word, start, _ = listed[place]
    if word not in verbs and word not in AUXILIARIES:
        return False
    before = plain[max(first.after, start - NEAR) : start]
    following = listed[place + 1].word if place + 1 < len(listed) else ""
    is_noun = word in NOUNS and following not in VERBAL  # "and work", but not "and work at"
    if start <= first.after or is_noun or word in SMALL or not JOINED.search(before):
        return False
    if first.subject.kind == "self" and word.endswith("s") and word not in AUXILIARIES:
        return False
    is_past = word.endswith("ed") or (word in words.DEEDS and word not in UNCHANGED)
    is_meant = first.word in MEANT or " to " in plain[first.at : start]
    if not is_past and word not in AUXILIARIES and is_meant:
        return False  # "I hope to build a house and put a roof on it"
    if word.endswith("ing"):
        return first.word.endswith("ing") and word in verbs
    is_auxiliary = word in AUXILIARIES and word not in ("'s", "'d", "be")
    return is_auxiliary or (word in verbs and not plain[start].isupper())


def _subject(
    plain: str, listed: Sequence[Token], verbs: Set[str], names: Set[str]
) -> tuple[Subject, int] | None:
    """Find the subject, and the position of the word after it."""
    opening = True  # only fillers so far
    for place, (word, start, _) in enumerate(listed):
        if opening and _is_left_out(plain, listed, place):
            return Subject("self", "", start), place
        opening = opening and word in FILLERS
        following = listed[place + 1].word if place + 1 < len(listed) else ""
        if word in ("i", "we", "he", "she"):
            return _pronoun(plain, listed, place)
        if word == "you" and following == "know":
            continue  # "you know I love jazz"
        if word in OTHERS and not (word in OWNED and following in TIMES):
            return None
        if word in ("my", "our"):
            if related := _related(plain, listed, place):
                return related
        elif plain[start].isupper() and (named := _named(plain, listed, place, verbs, names)):
            return named
    return None


def _pronoun(plain: str, listed: Sequence[Token], place: int) -> tuple[Subject, int] | None:
    """Return a pronoun as the subject, unless it belongs to something else."""
    word, start, _ = listed[place]
    kind = "self" if word in ("i", "we") else word
    if kind == "self" and place and listed[place - 1].word == "and":
        return Subject(kind, "", listed[0].start), place + 1
    return None if _is_part(plain, listed, place) else (Subject(kind, "", start), place + 1)


def _is_left_out(plain: str, listed: Sequence[Token], place: int) -> bool:
    """Tell if the speaker is the omitted subject: "Moved to Lisbon", "working as a driver now"."""
    word, following = listed[place].word, listed[place + 1].word if place + 1 < len(listed) else ""
    if word in ELLIPTIC:
        return True
    if word.endswith("ing"):  # "Learning the piano", but not "Learning is fun"
        return following in GOING_ON and not any(
            token.word in FINITE or token.word in AUXILIARIES for token in listed[place:]
        )
    return word.endswith("ed") and word not in words.MENTAL and following in DEFINITE


def _related(plain: str, listed: Sequence[Token], place: int) -> tuple[Subject, int] | None:
    """Find "my older sister Mia" or "my kids and I"; None if the clause is not about them."""
    for n in range(place + 1, min(place + 4, len(listed))):
        kin = listed[n].word
        if kin in words.RELATION or kin in words.ACQUAINTED:
            after = _end_of_name(plain, listed, n + 1)
            name = plain[listed[n + 1].start : listed[after - 1].end] if after > n + 1 else ""
            following = [token.word for token in listed[after : after + 2]]
            if following[:1] == ["and"] and following[1:] in (["i"], ["me"]):
                return Subject("self", "", listed[place].start), after + 2
            if following and following[0] not in ("and", "or"):
                return Subject("kin", name, listed[place].start, kin), after
            return None
    return None


def _end_of_name(plain: str, listed: Sequence[Token], place: int) -> int:
    while place < len(listed):
        word = plain[slice(*listed[place][1:])]
        if not (word[0].isupper() and values.is_name(word)):
            break
        place += 1
    return place


def _named(
    plain: str, listed: Sequence[Token], place: int, verbs: Set[str], names: Set[str]
) -> tuple[Subject, int] | None:
    """Find a name that is followed by a verb."""
    start, after = listed[place].start, place + 1
    while after < len(listed) and plain[listed[after].start].isupper():
        if listed[after].start - listed[after - 1].end != 1:
            break
        after += 1
    name = plain[start : listed[after - 1].end]
    is_parent = name.lower() in PARENTS
    if not (values.is_name(name) or is_parent) or after >= len(listed):
        return None
    if plain[listed[after - 1].end : listed[after].start].strip():
        return None
    following = listed[after].word
    if following == "and" and after + 1 < len(listed) and listed[after + 1].word in ("i", "me"):
        return Subject("self", "", start), after + 2
    is_verb = following in AUXILIARIES or (following in verbs and following not in SMALL)
    if not (is_verb or name in names or following in ADVERBS):
        return None
    if is_parent:
        return Subject("kin", "", start, name.lower()), after
    return Subject("named", name, start), after


def _is_part(plain: str, listed: Sequence[Token], place: int) -> bool:
    """Tell if the subject belongs to something else, or the words are another person's."""
    if not place:
        return False
    before = listed[place - 1].word
    if _ends_with_saying(listed[:place]) or before in WHATEVER:
        return True
    first = next((token for token in listed[:place] if token.word not in FILLERS), listed[0])
    is_apart = "," in plain[listed[place - 1].end : listed[place].start]
    return first.word in OWNED and before not in TIMES and not is_apart


def _predicate(
    listed: Sequence[Token], place: int, subject: Subject, end: int, ends: bool
) -> Predicate | None:
    """Read auxiliaries, negations and adverbs up to the verb; None if no verb follows."""
    kind, negated = _first_kind(listed, place, subject), False
    while place < len(listed) and listed[place].start < end:
        word, following = listed[place].word, _following(listed, place)
        if word in DENIALS:
            negated = True
        elif (word, following) == ("no", "longer"):
            negated, place = True, place + 1
        elif (word, following) == ("used", "to"):
            kind, place = "former", place + 1
        elif step := _step(word, following, kind, listed[place + 1 : place + 2]):
            kind = step
        elif not (word in ADVERBS and following):
            after = listed[place + 1] if place + 1 < len(listed) else None
            return _verb(listed[place], after, subject, kind, negated, end, ends)
        place += 1
    return None


def _first_kind(listed: Sequence[Token], place: int, subject: Subject) -> str:
    """Return the implicit auxiliary before any is read: "Learning the piano" omits "I am"."""
    first = listed[place] if place < len(listed) else None
    is_omitted = first is not None and first.start == subject.start
    return "am" if first and is_omitted and first.word.endswith("ing") else "plain"


def _following(listed: Sequence[Token], place: int) -> str:
    """Return the next word that is neither an adverb nor a negation."""
    rest = (token.word for token in listed[place + 1 :])
    return next((word for word in rest if word not in ADVERBS and word not in DENIALS), "")


def _verb(
    token: Token,
    following: Token | None,
    subject: Subject,
    kind: str,
    negated: bool,
    end: int,
    ends: bool,
) -> Predicate:
    if kind == "can" and negated:
        kind, negated = "can't", False
    word, start, after = token
    if following is not None and word in HAVING and following.word == "no":
        negated, after = True, following.end  # "I have no sister"
    return Predicate(subject, kind, negated, negated and ends, word, start, after, end)


def _step(word: str, following: str, kind: str, after: Sequence[Token]) -> str:
    """Return the auxiliaries up to this word; empty if it is the verb, as in "I have a dog"."""
    if word == "been" and kind in ("have", "had", "plain"):
        return "been"
    if word not in AUXILIARIES:
        return ""
    own = AUXILIARIES[word]
    is_regular = following.endswith("ed") and len(following) > 4
    is_participle = is_regular or following in words.PARTICIPLES
    if own == "be":
        return kind if kind != "plain" else ""
    if own in ("got", "getting"):
        return own if is_participle or following in words.STATES else ""
    if kind not in ("plain", "will", "would", "maybe"):
        return ""
    if word == "'s" and is_participle and following not in words.STATUSES:
        own = "have"
    is_denied = bool(after) and after[0].word in DENIALS
    if own in ("have", "had") and not is_participle:
        return ""
    if own in ("do", "did") and not is_denied and following not in EMPHATIC:
        return ""
    return own if kind == "plain" else kind
