"""Find phrases in a sentence: nouns, names and the ends of values. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from lamina.engines.claims import open_words, words
from lamina.engines.claims.open_words import (
    ADVERB,
    ARTICLE,
    BE,
    COMMA,
    CUT,
    DO,
    HAVE,
    JOINT,
    MARK,
    MODAL,
    MY,
    NAME,
    NOT,
    NUMBER,
    OTHER,
    PLAIN,
    PREPOSITION,
    SELF,
    THEIR,
    THEY,
    YOUR,
    Word,
)
from lamina.engines.claims.sentences import TITLES as ABBREVIATED
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.tagger import ENDS
from lamina.engines.claims.values import NO_NAME, Span

MOST_WORDS = 9  # of a value
WHOLE = 4  # up to this number of words, a value is not split
NOUNS = 4  # words of a noun phrase
HOLDS, ENDED, PLANNED, DENIED = "holds", "ended", "planned", "denied"
KINDRED = frozenset(words.RELATION) - words.ANIMALS | words.ACQUAINTED
PERSONS = KINDRED | words.JOBS | words.ANIMALS
TITLES = frozenset("senhor mme frau herr sr sra don dona".split()) | {*map(str.lower, ABBREVIATED)}
# Verbs of things and third persons: "the train leaves", "Tariq handles sales".
DOES = frozenset(
    "runs goes takes needs costs lives lands expires ends starts leaves closes opens uses weighs"
    " reads writes exports supports lasts covers depends belongs contains includes handles gets"
    " keeps sits stays breaks crashes fails deploys listens points serves speaks works wants likes"
    " loves hates charges comes delivers defends turns teaches makes plays owns drives hates does"
    " studies eats drinks wears prefers pays sells builds manages leads ships rotates renews"
    " begins moves flies arrives sleeps knows has says thinks fixes helps looks feels seems means"
    " becomes happens brings gives sends calls asks finds puts holds shows follows changes plays"
    " stands loses meets sets learns grows walks wins offers remembers buys waits dies serves"
    " expects falls cuts reaches remains suggests raises passes requires reports decides pulls"
    " hits drops joins syncs stores lives hosts maps tracks logs fires retries times".split()
)
# Past forms of verbs; not those that look like the present, nor words that only end alike.
PAST = (
    words.DEEDS
    | words.PARTICIPLES
    | words.MENTAL
    | frozenset(
        "had was were did said told thought knew felt heard left lost paid kept meant became slept"
        " sat stood understood forgot rose ran went came saw gave".split()
    )
) - frozenset(
    "need feed indeed speed seed bed red hundred put set read beat quit cut hit run come let split"
    " shut wed finally cost".split()
)
LONGER = frozenset({"more", "longer"})
NOBODY = frozenset({"nobody", "none", "neither"})
CALLED = frozenset({"called", "named"})
ME, THIRD = frozenset({"me", "us"}), frozenset({"he", "she"})


def third(verb: str) -> str:
    """Return the third person of a verb: "goes" for "go"."""
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    is_vowel = verb[-2:-1] in "aeiou"
    return f"{verb[:-1]}ies" if verb.endswith("y") and not is_vowel else f"{verb}s"


def means_person(noun: str) -> bool:
    """Tell if a noun means a person or a pet."""
    last = noun.replace("-", " ").split()[-1]
    is_known = noun in PERSONS or last in PERSONS or noun.endswith("in law")
    is_list = last.endswith(("klist", "tlist", "ylist"))
    is_trained = len(last) > len("wrist") and last.endswith(("ist", "ician", "woman"))
    return is_known or (is_trained and not is_list)


def is_person(word: Word) -> bool:
    """Tell if a word is a noun that means a person or a pet."""
    return word.kind == PLAIN and means_person(word.text)


def is_of_another(words: Sequence[Word], place: int) -> bool:
    """Tell if a sentence names another person before a place, and nothing of the speaker's."""
    is_another = False
    while place and words[place - 1].text not in ENDS:
        place -= 1
        word, behind = words[place], words[place + 1 : place + 2]
        is_mine = word.kind == MY and not any(map(is_person, behind))
        if is_mine or word.kind == SELF or word.text in ME:
            return False
        is_another = is_another or is_person(word) or word.text in THIRD
    return is_another


class Candidate(NamedTuple):
    """A statement that a turn may make."""

    subject: str  # empty for the speaker
    attribute: str
    value: Span
    where: Span
    shape: str  # the subject and its relation to verb and value, separated by colons
    status: str
    verb: str  # or the noun
    clause: Clause
    opener: str  # the first word of the sentence
    over: bool = False  # a denial that implies it was true before
    replaces: Span | None = None  # the former value


class Topic(NamedTuple):
    """What a predicate is about: the speaker, a person, or something that the speaker has."""

    person: str  # empty for the speaker and for things
    thing: str  # the noun phrase of a thing
    start: int
    shape: str
    over: bool = False
    name: Span | None = None  # where a person is named


class Phrases:
    """The words of a sentence, and methods that find phrases in it."""

    def __init__(
        self,
        plain: str,
        listed: Sequence[Word],
        clauses: Sequence[Clause],
        meant: dict[str, Topic],
        things: Set[str],
    ) -> None:
        self.plain, self.words, self.clauses, self.meant = plain, listed, clauses, meant
        self.things = things
        self.starts = [clause.start for clause in clauses]
        self.end = len(listed)
        self.opening = self._opening()
        self.opener = self._text(self.opening)
        self.negative = self._text(self.opening) in NOBODY

    def _opening(self) -> int:
        """Find the first word after greetings."""
        place = 0
        while place < self.end:
            word = self.words[place]
            if word.text not in open_words.ASIDES and word.kind not in (COMMA, ADVERB, MARK):
                break
            place += 1
        return place

    def _kind(self, place: int) -> str:
        return self.words[place].kind if 0 <= place < self.end else MARK

    def _text(self, place: int) -> str:
        return self.words[place].text if 0 <= place < self.end else ""

    def _raw(self, start: int, end: int) -> str:
        return self.plain[self.words[start].start : self.words[end - 1].end]

    def _nouns(self, place: int) -> int:
        """Find the end of a noun phrase: its last word is before a verb, a name or a mark."""
        start = place
        while place < self.end and place - start < NOUNS:
            word = self.words[place]
            if word.kind not in (PLAIN, NUMBER) and not self._is_acronym(place, start):
                break
            if word.text == "anymore" or (place > start and self._is_verb(place)):
                break
            place += 1
        return place

    def _is_acronym(self, place: int, start: int) -> bool:
        """Tell if a capitalised word belongs to a noun phrase: "our CI", "the Series A"."""
        word = self.words[place]
        raw = self.plain[word.start : word.end]
        return word.kind == NAME and (place == start or raw.isupper())

    def _is_verb(self, place: int) -> bool:
        word = self.words[place]
        if word.text in DOES:
            return self._kind(place + 1) != BE
        if third(word.text) in DOES and self._text(place - 1).endswith("s"):
            return self._kind(place + 1) in (PREPOSITION, ARTICLE, NUMBER, NAME)
        if word.text in PAST:
            return True
        is_adjective = self._kind(place + 1) == PLAIN  # "my chartered exam"
        return word.text.endswith("ed") and len(word.text) > 4 and not is_adjective

    def _names(self, place: int) -> int:
        """Find the end of a name."""
        while place < self.end:
            word = self.words[place]
            is_title = word.text in TITLES and word.kind == NAME
            is_abbreviated = word.text == "." and place and self._text(place - 1) in TITLES
            if not (word.kind == NAME or is_title or is_abbreviated):
                break
            place += 1
        return place

    def _before_verb(self, place: int, end: int) -> int:
        """End a noun phrase after a relation: "the kids | hate", "my brother in law | paulo"."""
        for last in range(place, end - 1):
            if self.words[last].text in words.PLURAL or self.words[last].text in KINDRED:
                return last + 1
        return end

    def _mine(self, place: int) -> tuple[int, int] | None:
        """Find the noun of "is my N"."""
        while self._kind(place) in (BE, ADVERB):
            place += 1
        if self._kind(place) != MY:
            return None
        end = self._nouns(place + 1)
        return (place + 1, end) if end > place + 1 else None

    def _of_whom(self, place: int, end: int) -> int:
        """Extend a noun phrase over "'s N" and "for the N" if a verb follows."""
        if self._text(end) == "'s" and self._kind(end + 1) in (PLAIN, NAME):
            more = self._nouns(end + 1)
            is_noun = self._is_finite(more) or self._kind(more) == NAME
            if more > end + 1 and (is_noun or not means_person(self._raw(place, end).lower())):
                return more
        if self._text(end) in ("this", "next", "last") and self._is_finite(end + 2):
            return end + 2  # "my quota this quarter is"
        if self._kind(end) == PREPOSITION:
            inner = end + 1
            while self._kind(inner) in (ARTICLE, MY):
                inner += 1
            more = inner
            while more < self.end and more - inner < NOUNS:
                if self._kind(more) not in (PLAIN, NUMBER, NAME) or self._is_verb(more):
                    break
                more += 1
            if more > inner and self._is_finite(more):
                return more
        return end

    def _is_finite(self, place: int) -> bool:
        """Tell if a verb is at this place, possibly after an adverb."""
        while self._kind(place) == ADVERB:
            place += 1
        kind = self._kind(place)
        if self._text(place) == "'s" and self._kind(place + 1) in (PLAIN, NAME):
            return self._is_described(place)
        return kind in (BE, HAVE, DO, MODAL) or (place < self.end and self._is_verb(place))

    def _is_described(self, place: int) -> bool:
        """Tell if "'s" means "is" before a plain word: "my sister's lactose intolerant"."""
        if self._kind(place - 1) in (OTHER, THEY):
            return True  # the possessive pronouns are "its" and "his"
        owner, word = self._text(place - 1), self._text(place + 1)
        if self._kind(place - 2) == MY and self._kind(place - 3) == PREPOSITION:
            return False  # "the books for my husband's garage"
        if word.endswith(("ing", "ed")):
            return True
        end = place + 1
        while self._kind(end) == PLAIN and end < place + 3:
            end += 1
        is_last = end >= self.end or self._kind(end) in (JOINT, MARK, COMMA, CUT, PREPOSITION)
        return owner in KINDRED and word not in KINDRED and is_last

    def _is_naming(self, place: int) -> bool:
        """Tell if "is NAME", "is a N called NAME", or in a note "= name" follows."""
        while self._kind(place) in (BE, ADVERB):
            place += 1
        if self._kind(place) == ARTICLE and self._text(self._nouns(place + 1)) in CALLED:
            return True
        is_said = self._text(place - 1) == "=" or self._text(place) in CALLED
        return self._kind(place + (self._text(place) in CALLED)) == NAME or is_said

    def _name_after(self, place: int, end: int, noun: str) -> tuple[tuple[int, int] | None, int]:
        """Find the name after a noun phrase: "my N NAME", "my N, NAME,"."""
        is_lower = self._kind(end) == PLAIN and means_person(noun) and not self._is_verb(end)
        if is_lower and noun.split()[-1] not in words.PLURAL and self.plain.islower():
            is_alone = self._kind(end + 1) != PLAIN or self._is_verb(end + 1)
            if is_alone:
                return (end, end + 1), end + 1  # "my boss sandra"
        if self._kind(end) == NAME and not self._is_acronym(end, end + 1):
            after = self._names(end)
            return (end, after), after
        if self._text(end) == ":" and self._kind(end + 1) == NAME:
            after = self._value_end(end + 1)
            return (end + 1, after), after
        is_apart = self._kind(end) == COMMA and self._kind(end + 1) == NAME
        if is_apart:
            after = self._names(end + 1)
            if after >= self.end or self._kind(after) in (COMMA, MARK):
                return (end + 1, after), min(after + 1, self.end)
        if self._text(end) in CALLED and end + 1 < self.end:
            after = self._names(end + 1)
            if after == end + 1 and self._kind(after) == PLAIN:
                after += 1
            if after > end + 1:
                return (end + 1, after), after
        return None, end

    def _being(self, start: int, end: int) -> tuple[str, bool]:
        """Return the status of "NAME is (not) my N"."""
        texts = [self._text(place) for place in range(start, end)]
        if "longer" in texts:
            return DENIED, True
        if "not" in texts or "never" in texts:
            return DENIED, False
        return (ENDED, False) if "was" in texts or "were" in texts else (HOLDS, False)

    def _may_be_verb(self, place: int) -> bool:
        following = self._kind(place + 1)
        return (
            self._is_verb(place)
            or following in (ARTICLE, MY, NUMBER, THEIR)
            or (self._text(place + 1) == "to" or self._text(place).endswith("ing"))
        )

    def _value_end(self, start: int) -> int:
        """Find the end of what follows a verb."""
        place = start
        while place < self.end:
            kind = self._kind(place)
            if self._text(place) == "." and self._text(place - 1) in TITLES:
                place += 1  # "Dr. Silva"
                continue
            if kind == BE and self._text(place) == "'s" and self._kind(place + 1) == PLAIN:
                place += 1  # "Figma's layout"
                continue
            if kind in (MARK, CUT, SELF, THEY, OTHER, YOUR, BE, MODAL, NOT):
                break
            if kind in (HAVE, DO) and place > start:
                break
            if kind == COMMA and not self._goes_on(place):
                break
            if kind == JOINT and self._begins_anew(place + 1):
                break
            place += 1
        return place

    def _goes_on(self, place: int) -> bool:
        """Tell if a list continues after a comma."""
        if self._kind(place + 1) not in (NAME, NUMBER, PLAIN):
            return False
        for ahead in range(place + 1, min(place + 7, self.end)):
            kind = self._kind(ahead)
            if kind == JOINT:
                return not self._begins_anew(ahead + 1)
            if kind not in (NAME, NUMBER, PLAIN, COMMA, ARTICLE):
                return False
        return self._kind(place + 1) in (NAME, NUMBER) and self._kind(place - 1) == NAME

    def _begins_anew(self, place: int) -> bool:
        while self._kind(place) == ADVERB:
            place += 1
        kind = self._kind(place)
        if kind in (SELF, THEY, OTHER, BE, HAVE, DO, MODAL, MARK, NOT, YOUR, CUT):
            return True
        is_bare = kind == PLAIN and not self._text(place).endswith("s")
        if is_bare and self._kind(place + 1) == PREPOSITION:
            return True  # "… and play for the city team"
        if kind in (MY, ARTICLE, NAME, PLAIN, NUMBER):
            ahead = place + 1 if kind in (MY, ARTICLE) else place
            end = self._nouns(ahead) if kind != NAME else self._names(ahead)
            end = self._of_whom(ahead, end) if end > ahead else end
            if end > ahead and self._is_finite(end):
                return True
        return kind == PLAIN and self._may_be_verb(place)

    def _pieces(self, start: int, after: int) -> Iterator[tuple[int, int, str]]:
        """Split what follows a verb into the object and phrases with prepositions."""
        after = min(after, start + 2 * MOST_WORDS)
        last = self._trimmed(start, after)
        first = self._untied(start, last)
        if last <= first:
            return
        lead = self._text(start) if self._kind(start) == PREPOSITION else ""
        if last - first <= WHOLE and not self._is_placed(first, last):
            yield (self._undetermined(first + bool(lead), last), last, lead)
            return
        borders = [
            place
            for place in range(first + 1, last)
            if self._kind(place) == PREPOSITION and self._text(place) != "of"
        ]
        starts, ends = [first, *borders], [*borders, last]
        for one, two in zip(starts, ends, strict=True):
            preposition = self._text(one) if self._kind(one) == PREPOSITION else ""
            begin, two = one + bool(preposition), self._trimmed(one, two)
            begin = self._undetermined(begin, two)
            if begin < two:
                yield begin, min(two, begin + MOST_WORDS), preposition

    def _is_placed(self, start: int, end: int) -> bool:
        """Tell if somebody is something somewhere: "a nurse at Mercy"."""
        return self._kind(start) == ARTICLE and any(
            self._text(place) == "at" and self._kind(place + 1) == NAME
            for place in range(start + 2, end - 1)
        )

    def _untied(self, start: int, end: int) -> int:
        while start < end and self._kind(start) in (ADVERB, COMMA):
            start += 1
        return start

    def _undetermined(self, start: int, end: int) -> int:
        while start < end - 1 and (self._kind(start) in (ARTICLE, MY, ADVERB)):
            if self._text(start) == "no":
                break
            start += 1
        return start

    def _trimmed(self, start: int, end: int) -> int:
        """Drop trailing words that add nothing."""
        while end > start:
            word = self.words[end - 1]
            if word.text in LONGER and self._text(end - 2) == "any":
                end -= 2
                continue
            is_empty = word.kind in (ADVERB, PREPOSITION, JOINT, COMMA, ARTICLE, MY)
            if not is_empty and word.text not in open_words.ASIDES and word.text != "anymore":
                break
            end -= 1
        return end

    def _about(
        self,
        topic: Topic,
        attribute: str,
        span: Span,
        shape: str,
        status: str,
        verb: str,
        over: bool = False,
    ) -> Candidate:
        where = (min(topic.start, span[0]), span[1])
        clause = self._around(span[0])
        return Candidate(
            topic.person, attribute, span, where, shape, status, verb, clause, self.opener, over
        )

    def _around(self, place: int) -> Clause:
        return self.clauses[max(0, bisect_right(self.starts, place) - 1)]

    def _candidate(
        self,
        subject: str,
        attribute: str,
        span: Span,
        start: int,
        shape: str,
        status: str,
        verb: str,
        over: bool = False,
    ) -> Candidate:
        at = self.words[start].start
        where = (min(at, span[0]), max(span[1], at))
        clause = self._around(span[0])
        return Candidate(
            subject, attribute, span, where, shape, status, verb, clause, self.opener, over
        )

    def _mention(self, topic: Topic, noun: str = "") -> None:
        """Record whom "he", "she" and "they" may mean from here on."""
        last = noun.split()[-1] if noun else ""
        if not noun and topic.person.lower() in NO_NAME:
            return
        if last not in words.MALE:
            self.meant["she"] = topic
        if last not in words.FEMALE:
            self.meant["he"] = topic
        self.meant["they"] = topic

    def _is_past(self, place: int) -> bool:
        text = self._text(place)
        return text in PAST or (text.endswith("ed") and len(text) > 4 and text != "need")

    def _is_participle(self, place: int) -> bool:
        text = self._text(place)
        return (text.endswith("ed") and len(text) > 4) or text in words.DEEDS
