"""Read statements of any noun or verb: "the staging server is eu-2", "we use Postgres". Pure.

The open form proposes generously; `judge.py` says how sure each candidate is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from lamina.engines.claims import attributes, open_words, words
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
    UNSEEN,
    YOUR,
    Word,
)
from lamina.engines.claims.sentences import Clause
from lamina.engines.claims.values import NO_NAME, Span

MOST_WORDS = 9  # of a value
WHOLE = 4  # words up to which a value is kept in one piece
NOUNS = 4  # words of a noun phrase
HOLDS, ENDED, PLANNED, DENIED = "holds", "ended", "planned", "denied"
KINDRED = frozenset(words.RELATION) - words.ANIMALS | words.ACQUAINTED
PERSONS = KINDRED | words.JOBS
TITLES = frozenset("dr mr mrs ms prof senhor mme frau herr sr sra don dona".split())
# What things and third persons do: "the train leaves", "Tariq handles sales".
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
# The past of verbs; not of those that look the same in the present, nor what only ends like it.
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
# The present of states; in the past they are over.
STATES = {
    "was": "be", "were": "be", "lived": "live", "worked": "work", "studied": "study", "had": "have",
    "owned": "own", "used": "use", "ran": "run", "taught": "teach", "drove": "drive",
    "played": "play", "managed": "manage", "led": "lead", "rented": "rent", "shared": "share",
    "dated": "date", "smoked": "smoke", "kept": "keep",
}  # fmt: skip
# Verbs of change, and the shape that they make.
CHANGES = frozenset(
    "moved pushed changed switched renamed raised lowered bumped shifted migrated upgraded went"
    " extended increased reduced transitioned".split()
)
CHANGE = "change"
AIMS = {
    "want": "goal", "wants": "goal", "wanna": "goal", "hope": "goal", "hoping": "goal",
    "plan": "plan", "plans": "plan", "planning": "plan", "intend": "plan", "going": "plan",
    "aiming": "goal", "aim": "goal", "about": "plan", "like": "goal", "love": "goal",
    "thinking": "goal", "looking": "goal", "wanting": "goal", "decided": "plan", "gonna": "plan",
}  # fmt: skip
WILL = frozenset({"will", "'ll", "shall", "gonna"})
LATER = frozenset(
    "next tomorrow tmrw tmw soon monday tuesday wednesday thursday friday saturday sunday january"
    " february march april may june july august september october november december autumn spring"
    " summer winter fall later upcoming q1 q2 q3 q4 jan feb mar apr jun jul aug sep sept oct"
    " nov dec mon tue tues wed thu thurs fri sat christmas easter weekend".split()
)
ORDINALS = frozenset({"st", "nd", "rd", "th"})
# With these, a day is no plan: "expires on 2 October", "closed every Monday".
STANDING = frozenset(
    "deadline due expires expire until till since every each birthday bday ends end usually"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays by".split()
)
BEGINNERS = frozenset("got been gonna planning hate love prefer can used never".split())
NOBODY = frozenset({"nobody", "none", "neither"})
FRAGMENT = (2, 8)  # words
VERBAL = frozenset({SELF, THEY, OTHER, YOUR, BE, HAVE, DO, MODAL, CUT, UNSEEN, NOT})
CALLED = frozenset({"called", "named"})
INVERTED = frozenset({SELF, THEY, OTHER, YOUR, MARK})  # "can you"
GOING_ON = frozenset({ARTICLE, PREPOSITION, MY, NUMBER, PLAIN, NAME})
INVERTING = frozenset({DO, MODAL, BE, HAVE})  # before "I" they ask
FORMER = frozenset({"old", "former", "previous", "ex"})


class Candidate(NamedTuple):
    """A statement that a turn may make."""

    subject: str  # empty for the speaker
    attribute: str
    value: Span
    where: Span
    shape: str  # the subject, and how verb and value stand to it, with colons between
    status: str
    verb: str  # or the noun
    clause: Clause
    opener: str  # the first word of the sentence
    over: bool = False  # a denial that says it was so before
    replaces: Span | None = None  # the value that held before


class _Topic(NamedTuple):
    """What a predicate is about: the speaker, a person, or a thing of the speaker's."""

    person: str  # empty for the speaker and for things
    thing: str  # the noun phrase of a thing
    start: int
    shape: str
    over: bool = False
    name: Span | None = None  # where a person is named


def candidates(plain: str, clauses: Sequence[Clause], is_talk: bool) -> Iterator[Candidate]:
    """Propose what a turn may state.

    Where people talk to each other, things and notes tell hardly ever what is worth keeping.
    """
    listed, meant = open_words.split(plain), dict[str, _Topic]()
    for _, parts in groupby(clauses, lambda clause: clause.sentence):
        sentence = list(parts)
        first, last = open_words.within(listed, sentence[0].start, sentence[-1].end)
        if first < last:
            read = _Sentence(plain, listed[first:last], sentence, meant)
            yield from read.talk() if is_talk else read.message()


class _Sentence:
    """Reads one sentence."""

    def __init__(
        self,
        plain: str,
        listed: list[Word],
        clauses: Sequence[Clause],
        meant: dict[str, _Topic],
    ) -> None:
        self.plain, self.words, self.clauses, self.meant = plain, listed, clauses, meant
        self.starts = [clause.start for clause in clauses]
        self.end = len(listed)
        self.opening = self._opening()
        self.opener = self._text(self.opening)
        self.negative = self._text(self.opening) in NOBODY

    def talk(self) -> Iterator[Candidate]:
        """Read what a person says to another about himself, his people and his things."""
        place = self.opening
        if self._is_without_subject(place):
            topic = _Topic("", "", self.words[place].start, "omitted")
            yield from self._predicates(topic, place)
        while place < self.end:
            kind = self.words[place].kind
            if kind == SELF and self._kind(place - 1) not in INVERTING:
                topic = _Topic("", "", self.words[place].start, self._own(place))
                yield from self._predicates(topic, place + 1)
            elif kind == MY:
                place = yield from self._owned(place, place + 1, "my")
                continue
            place += 1

    def message(self) -> Iterator[Candidate]:
        """Read what a person says to an assistant."""
        place = yield from self._opened(self.opening)
        while place < self.end:
            word = self.words[place]
            kind = word.kind
            if kind == SELF:
                if self._kind(place - 1) not in INVERTING:
                    topic = _Topic("", "", word.start, self._own(place))
                    yield from self._predicates(topic, place + 1)
            elif kind == MY:
                place = yield from self._owned(place, place + 1, "my")
                continue
            elif kind == THEIR:
                yield from self._theirs(place)
            elif kind == NAME:
                place = yield from self._named(place)
                continue
            elif (topic := self.meant.get(word.text)) and self._kind(place - 1) not in INVERTING:
                mine = self._mine(place + 1) if topic.name else None
                if mine and topic.name:
                    noun = self._raw(*mine).lower()
                    yield self._candidate(
                        "", attributes.HAS + noun, topic.name, place, "is_mine", HOLDS, noun
                    )
                elif self._is_finite(place + 1) or kind == THEY:
                    shape = "they" if topic.person else "it"
                    meant = topic._replace(start=word.start, shape=shape)
                    yield from self._predicates(meant, place + 1)
            elif kind == ARTICLE:
                place = yield from self._articled(place)
                continue
            elif place > self.opening and kind in (PLAIN, NUMBER) and self._is_fresh(place):
                after = yield from self._owned(place, place, "bare")
                place = max(after, place + 1)
                continue
            place += 1
        yield from self._fragments()

    def _own(self, place: int) -> str:
        """Name the shape of "I": as a subject, or behind a noun, as in "a list I can print"."""
        before = self._kind(place - 1) if place else MARK
        if self._text(place - 1) in open_words.ASIDES:
            return "self"
        return "self_behind" if before in (PLAIN, NAME, NUMBER, OTHER, ARTICLE) else "self"

    def _is_fresh(self, place: int) -> bool:
        return self._kind(place - 1) in (MARK, COMMA, CUT, JOINT)

    def _theirs(self, place: int) -> Iterator[Candidate]:
        """Read "her boyfriend Marek": somebody of one who was just mentioned."""
        who = self.meant.get({"his": "he", "her": "she"}.get(self.words[place].text, "they"))
        end = self._nouns(place + 1)
        if not (who and who.person) or end == place + 1:
            return
        noun = self._raw(place + 1, end).lower()
        name, after = self._name_after(place + 1, end, noun)
        at = self.words[place].start
        if name:
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            yield self._candidate(
                who.person, attributes.HAS + noun, span, place, "their_named", HOLDS, noun
            )
        elif self._is_person(noun) and self._is_finite(after):
            topic = _Topic(f"{who.person}'s {noun}", "", at, "their_person")
            yield from self._predicates(topic, after)

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

    # --- what a clause opens with ---

    def _opened(self, place: int) -> Generator[Candidate, None, int]:
        """Read a clause that leaves out "I", or begins with a thing: "Standup is at 9:40"."""
        if place >= self.end:
            return place
        word = self.words[place]
        if self._is_without_subject(place):
            yield from self._predicates(_Topic("", "", word.start, "omitted"), place)
            return place + 1
        if word.kind in (PLAIN, NUMBER) or self._is_thing(place):
            return (yield from self._owned(place, place, "bare"))
        return place

    def _is_without_subject(self, place: int) -> bool:
        """Tell if "I" is left out: "Moved to Lisbon", "got two kids", "hiring in May"."""
        if place >= self.end:
            return False
        word, following = self.words[place], self._kind(place + 1)
        if word.kind not in (PLAIN, NAME, DO, HAVE, BE, MODAL, NOT):
            return False
        if word.text == "were":  # "we're"
            return self._text(place + 1).endswith("ing")
        if word.text.endswith("ing"):
            return following in GOING_ON
        is_past = word.text in PAST and following not in (BE, MARK)
        return is_past or (word.text in BEGINNERS and following not in INVERTED)

    def _is_thing(self, place: int) -> bool:
        """Tell if a capital may only begin the sentence: "Standup is at 9:40", not "Anh is ill"."""
        word, following = self.words[place], self._kind(place + 1)
        if word.kind != NAME:
            return False
        if self.plain[word.start : word.end].isupper() or following == PREPOSITION:
            return True
        if following == BE:
            return self._kind(place + 2) in (PREPOSITION, NUMBER, NAME)
        return following == PLAIN and self._kind(place + 2) in (BE, PLAIN)

    # --- noun phrases ---

    def _nouns(self, place: int) -> int:
        """Find the end of a noun phrase: its last word is before a verb, a name or a mark."""
        start = place
        while place < self.end and place - start < NOUNS:
            word = self.words[place]
            if word.kind not in (PLAIN, NUMBER) and not self._is_acronym(place, start):
                break
            if place > start and self._is_verb(place):
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
        if f"{word.text}s" in DOES and self._text(place - 1).endswith("s"):
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

    def _owned(self, start: int, place: int, shape: str) -> Generator[Candidate, None, int]:
        """Read "my N NAME", "our N is V", "the N runs on V"; return the place to go on from."""
        end = self._nouns(place)
        if end == place:
            return start + 1
        head = self._before_verb(place, end)
        end = self._of_whom(place, head)
        noun = self._raw(place, end).lower()
        is_of = self._kind(head) in (PREPOSITION, OTHER)  # "handover to the client"
        is_person = self._is_person(self._raw(place, head).lower() if is_of else noun)
        name, after = self._name_after(place, end, noun)
        at, span = self.words[start].start, None
        over = self._text(place) in FORMER or noun.startswith("ex-")
        if name:
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            status = ENDED if over else HOLDS
            yield self._candidate(
                "", attributes.HAS + noun, span, start, f"{shape}_named", status, noun
            )
        if span or (is_person and not self._is_naming(after)):
            person = self.plain[slice(*span)] if span else noun
            topic = _Topic(person, "", at, f"{shape}_person", over, span)
            self._mention(topic, noun)
        else:
            kind = "person_is" if is_person else "thing"
            topic = _Topic("", noun, at, f"{shape}_{kind}", over)
            self.meant["it"] = topic
        is_doing = bool(name) and self._kind(after) == PLAIN and self._text(after).endswith("s")
        if self._is_finite(after) or is_doing:
            if (mine := self._mine(after)) and not is_person:
                yield self._mine_is(place, end, mine)
            else:
                yield from self._predicates(topic, after)
        elif shape != "bare" and self._kind(after) == NUMBER:
            yield from self._values(topic, after, "be", HOLDS, f"{shape}_number", "")
        elif is_person and self._kind(after) == PLAIN and noun.split()[-1] in words.PLURAL:
            yield from self._predicates(topic, after)  # "the kids hate broccoli"
        return after

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

    def _mine_is(self, place: int, end: int, mine: tuple[int, int]) -> Candidate:
        noun = self._raw(*mine).lower()
        span = (self.words[place].start, self.words[end - 1].end)
        status, over = self._being(end, mine[0])
        return self._candidate(
            "", attributes.HAS + noun, span, place, "is_mine", status, noun, over
        )

    def _mention(self, topic: _Topic, noun: str = "") -> None:
        """Note whom "he", "she" and "they" may mean from here on."""
        last = noun.split()[-1] if noun else ""
        if not noun and topic.person.lower() in NO_NAME:
            return
        if last not in words.MALE:
            self.meant["she"] = topic
        if last not in words.FEMALE:
            self.meant["he"] = topic
        self.meant["they"] = topic

    def _of_whom(self, place: int, end: int) -> int:
        """Stretch a noun phrase over "'s N" and "for the N" where a verb follows."""
        if self._text(end) == "'s" and self._kind(end + 1) in (PLAIN, NAME):
            more = self._nouns(end + 1)
            is_noun = self._is_finite(more) or self._kind(more) == NAME
            if more > end + 1 and (is_noun or not self._is_person(self._raw(place, end).lower())):
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
        """Tell if a verb is here, perhaps after an adverb."""
        while self._kind(place) == ADVERB:
            place += 1
        kind = self._kind(place)
        if self._text(place) == "'s" and self._kind(place + 1) in (PLAIN, NAME):
            return self._is_described(place)
        return kind in (BE, HAVE, DO, MODAL) or (place < self.end and self._is_verb(place))

    def _is_described(self, place: int) -> bool:
        """Tell if "'s" means "is" before a plain word: "my sister's lactose intolerant"."""
        owner, word = self._text(place - 1), self._text(place + 1)
        if word.endswith(("ing", "ed")):
            return True
        end = place + 1
        while self._kind(end) == PLAIN and end < place + 3:
            end += 1
        is_last = end >= self.end or self._kind(end) in (JOINT, MARK, COMMA, CUT, PREPOSITION)
        return owner in KINDRED and word not in KINDRED and is_last

    def _is_naming(self, place: int) -> bool:
        """Tell if "is NAME" follows."""
        while self._kind(place) in (BE, ADVERB) or self._text(place) in CALLED:
            place += 1
        return self._kind(place) == NAME

    def _is_person(self, noun: str) -> bool:
        last = noun.replace("-", " ").split()[-1]
        is_known = noun in PERSONS or last in PERSONS or noun.endswith("in law")
        return is_known or last.endswith(("ist", "ician", "woman"))

    def _name_after(self, place: int, end: int, noun: str) -> tuple[tuple[int, int] | None, int]:
        """Find the name that a noun phrase has: "my N NAME", "my N, NAME,"."""
        is_lower = self._kind(end) == PLAIN and self._is_person(noun) and not self._is_verb(end)
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

    def _articled(self, place: int) -> Generator[Candidate, None, int]:
        """Read "the N ..." where a clause begins, and "a N called NAME" anywhere."""
        before = self._kind(place - 1) if place else MARK
        text = self._text(place)
        if text == "the" and (not place or before in (COMMA, MARK, CUT, JOINT, ADVERB)):
            return (yield from self._owned(place, place + 1, "the"))
        end = self._nouns(place + 1)
        is_name = self._kind(place + 1) == NAME  # "the Historical Society"
        if text not in ("a", "an", "the") or end == place + 1 or is_name:
            return place + 1
        noun = self._raw(place + 1, end).lower()
        name, after = self._name_after(place + 1, end, noun)
        is_told = self._text(end) in CALLED or (text == "the" and before == PREPOSITION)
        if name and is_told:
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            yield self._candidate("", attributes.HAS + noun, span, place, "a_named", HOLDS, noun)
            self._mention(_Topic(self.plain[slice(*span)], "", span[0], "a_person"))
            return after
        return end

    def _named(self, place: int) -> Generator[Candidate, None, int]:
        """Read "NAME, my N", "NAME is my N" and "NAME does V"; return the place after it."""
        end = self._names(place)
        span = (self.words[place].start, self.words[end - 1].end)
        topic = _Topic(self.plain[slice(*span)], "", span[0], "named", False, span)
        is_first = place == self.opening
        if not is_first and end < self.end and (found := self._affiliated(topic, place, end)):
            yield found
            end = self._nouns(end + 1)
        if not is_first and "she" not in self.meant:
            self._mention(topic)
        after, is_apart, is_being = end, self._kind(end) == COMMA, False
        if is_apart:
            after += 1
        while not is_apart and self._kind(after) in (BE, ADVERB, NOT):
            is_being = is_being or self._kind(after) == BE
            after += 1
        if self._text(after) == "who" and not is_being:
            yield from self._predicates(topic._replace(shape="who"), after + 1)
            return after
        is_noun = self._kind(after) == MY or (self._text(after) == "the" and is_apart)
        if (is_apart or is_being) and is_noun:
            last = self._nouns(after + 1)
            if last > after + 1:
                noun = self._raw(after + 1, last).lower()
                status, over = self._being(end, after)
                shape = "is_mine" if is_being else "apposed"
                yield self._candidate(
                    "", attributes.HAS + noun, span, place, shape, status, noun, over
                )
                self._mention(topic, noun)
                if is_apart and self._kind(last) == COMMA and self._is_finite(last + 1):
                    yield from self._predicates(topic, last + 1)
                return last
        is_object = not is_first and self._kind(place - 1) in (PREPOSITION, ARTICLE, PLAIN)
        if self._is_finite(end) and not is_object:
            self._mention(topic)
            yield from self._predicates(topic, end)
        return end

    def _affiliated(self, topic: _Topic, place: int, end: int) -> Candidate | None:
        """Read "Dana in legal", "Oksana the QS", "Hal Jorgensen, CFO at Tidewater"."""
        if topic.person.lower() in NO_NAME or self._kind(place - 1) == ARTICLE:
            return None
        text, first = self._text(end), end + 1
        is_group = text in ("in", "from") and self._kind(first) == PLAIN
        is_title = text == "the" and self._kind(first) in (PLAIN, NAME)
        is_job = text == "," and self._text(first) in PERSONS | {"cfo", "ceo", "cto"}
        last = self._value_end(first) if is_job else self._nouns(first)
        if not (is_group or is_title or is_job) or last == first:
            return None
        span = (self.words[first].start, self.words[last - 1].end)
        verb = f"be {text}" if is_group else "be"
        self._mention(topic)
        return self._about(topic, attributes.DOES + verb, span, "named_as::", HOLDS, verb)

    def _being(self, start: int, end: int) -> tuple[str, bool]:
        """Name the status of "NAME is (not) my N"."""
        texts = [self._text(place) for place in range(start, end)]
        if "longer" in texts:
            return DENIED, True
        if "not" in texts or "never" in texts:
            return DENIED, False
        return (ENDED, False) if "was" in texts or "were" in texts else (HOLDS, False)

    # --- words without a verb ---

    def _fragments(self) -> Iterator[Candidate]:
        """Read what is noted down without a verb: "logs in loki, 14d retention"."""
        start = self.opening
        for place in range(start, self.end + 1):
            if self._kind(place) in (MARK, COMMA, JOINT) and self._text(place) not in ("/", "+"):
                if FRAGMENT[0] <= place - start <= FRAGMENT[1]:
                    yield from self._fragment(start, place)
                start = place + 1

    def _fragment(self, start: int, end: int) -> Iterator[Candidate]:
        listed = self.words[start:end]
        kinds = {word.kind for word in listed}
        if kinds & VERBAL or not kinds & {NUMBER, NAME, PREPOSITION, ARTICLE}:
            return
        if any(self._is_verb(place) for place in range(start + 1, end)):
            return
        first, status, shape = start, HOLDS, "note"
        if listed[0].text == "no":
            first, status, shape = start + 1, DENIED, "note_no"
        last = self._trimmed(first, end)
        noun = self._nouns(first)
        is_counted = self._kind(first) == NUMBER
        while first < noun and not is_counted and self._kind(noun - 1) == NUMBER:
            noun -= 1
        if status == DENIED:
            attribute, value, shape = f"{attributes.DOES}have", (first, last), "note_no"
        elif is_counted and noun > first + 1 and self._text(first + 1) not in LATER:
            attribute = attributes.HAS + self._raw(first + 1, noun).lower()
            value, shape = (first, min(last, first + 1)), "note_count"
        elif first < noun < last and self._kind(noun) in (NUMBER, PREPOSITION, NAME):
            attribute = attributes.HAS + self._raw(first, noun).lower()
            value, shape = (noun, last), f"note_{self._kind(noun)}"
        else:
            attribute, value = "other", (first, last)
        if value[0] < value[1]:
            span = (self.words[value[0]].start, self.words[value[1] - 1].end)
            yield self._candidate("", attribute, span, start, f"{shape}::", status, listed[0].text)

    # --- predicates ---

    def _predicates(self, topic: _Topic, place: int) -> Iterator[Candidate]:
        """Read the predicate of a topic, and those that are joined to it."""
        helper = ""
        for _ in range(3):
            found = self._predicate(topic, place, helper)
            if found is None:
                return
            listed, after, helper = found
            yield from listed
            place = self._joined(after)
            if not place:
                return

    def _joined(self, place: int) -> int:
        """Find where another verb of the same subject begins; 0 if none does."""
        if self._kind(place) not in (JOINT, COMMA):
            return 0
        while self._kind(place) in (JOINT, COMMA, ADVERB):
            place += 1
        if place >= self.end:
            return 0
        word = self.words[place]
        if word.kind in (HAVE, DO, MODAL) or (word.kind == BE and word.text != "be"):
            return place
        if word.kind != PLAIN or not self._may_be_verb(place):
            return 0
        is_noun = word.text.endswith("ing") and self._kind(self._value_end(place + 1)) == BE
        return 0 if is_noun else place  # ", roaming in Austria is off"

    def _may_be_verb(self, place: int) -> bool:
        following = self._kind(place + 1)
        return (
            self._is_verb(place)
            or following in (ARTICLE, MY, NUMBER, THEIR)
            or (self._text(place + 1) == "to" or self._text(place).endswith("ing"))
        )

    def _predicate(
        self, topic: _Topic, place: int, helper: str
    ) -> tuple[list[Candidate], int, str] | None:
        tense, denied, over, modal, aim = helper, self.negative, False, "", ""
        being = bool(helper)
        while place < self.end:
            word = self.words[place]
            text, kind, following = word.text, word.kind, self._text(place + 1)
            if kind == ADVERB:
                place += 1
            elif kind == NOT:
                denied, place = True, place + 1
            elif text == "no" and following == "longer":
                over, denied, place = True, True, place + 2
            elif text == "used" and following == "to":
                tense, place = "former", place + 2
            elif text == "supposed" and following == "to":
                return None
            elif kind == BE:
                tense = {"was": "was", "were": "was", "been": "been"}.get(text, tense or "be")
                being, place = True, place + 1
            elif text in ("got", "get", "gets") and self._is_participle(place + 1):
                tense, being, place = "was", True, place + 1
            elif kind == HAVE and self._is_perfect(place + 1):
                tense, place = "have", place + 1
            elif kind == HAVE and following == "to":
                modal, place = "must", place + 2
            elif kind == DO and self._is_helping(place + 1):
                tense, place = ("did" if text == "did" else tense), place + 1
            elif kind == MODAL:
                modal, place = text, place + 1
                if text == "gonna":
                    aim = "plan"
            elif text in AIMS and following == "to" and (tense in ("be", "", "been") or modal):
                aim, place = AIMS[text], place + 2
            elif text in ("would", "'d"):
                place += 1
            else:
                break
        if place >= self.end:
            return None
        return self._stated(topic, place, tense, being, denied, over, modal, aim)

    def _is_perfect(self, place: int) -> bool:
        while self._kind(place) in (ADVERB, NOT):
            place += 1
        text = self._text(place)
        return (
            text in ("been", "got", "had")
            or text in PAST
            or (text.endswith("ed") and len(text) > 4)
        )

    def _is_helping(self, place: int) -> bool:
        while self._kind(place) == ADVERB:
            place += 1
        return self._kind(place) == NOT

    def _stated(
        self,
        topic: _Topic,
        place: int,
        tense: str,
        being: bool,
        denied: bool,
        over: bool,
        modal: str,
        aim: str,
    ) -> tuple[list[Candidate], int, str] | None:
        """Make the candidates of a verb and what follows it."""
        word = self.words[place]
        text, status, suffix, helper = word.text, DENIED if denied else HOLDS, "", ""
        is_going = text.endswith("ing") and word.kind == PLAIN and len(text) > 4
        is_copula = being and not is_going
        if not is_copula and word.kind not in (PLAIN, HAVE, DO):
            return None
        verb, start = ("be", place) if is_copula else (text, place + 1)
        if self._text(start) in ("me", "us", "him", "them"):
            start += 1
        after = self._value_end(start)
        is_later = not denied and self._speaks_of_later(topic, place, after)
        if aim or modal in WILL:
            status, suffix = (DENIED if denied else PLANNED), f"{aim or 'will'}"
        elif tense == "former":
            status, suffix = ENDED, "former"
        elif modal:
            if modal not in ("can", "could"):
                return None  # what would, should or might be so
            suffix, verb = "can", f"can {verb}"
        elif is_copula:
            is_passive = self._is_participle(place)
            if tense == "was" and not denied and not is_passive:
                status = ENDED
            elif is_later and tense == "be":
                status = PLANNED
            suffix = ("was" if tense == "was" else "") + ("passive" if is_passive else "")
        elif being or (topic.shape == "omitted" and is_going):
            helper = tense
            status = PLANNED if is_later and tense != "was" else status
            suffix, verb = "going", f"be {text}"
        elif tense in ("have", "did"):
            suffix = tense
        elif self._is_past(place):
            is_state = text in STATES and self._text(place + 1) != "his"
            status = ENDED if is_state and not denied else status
            suffix = "past_state" if is_state else "past"
            verb = STATES.get(text, text)
        elif is_later and topic.shape[:4] != "self":
            status = PLANNED
        if topic.over and status == HOLDS:
            status = ENDED
        if text in CHANGES and not denied and (changed := self._changed(topic, place + 1)):
            return changed, after, helper
        is_deed = suffix in ("past", "have") and text not in ("got", "had", "been")
        if status == PLANNED:
            listed = self._deeds(topic, place, after, aim or "plan", status, suffix, verb)
        elif is_deed and not denied:
            listed = self._deeds(topic, place, after, "did", status, suffix, verb)
        else:
            listed = list(self._values(topic, start, verb, status, topic.shape, suffix, over))
        if self._kind(after) == NOT and not denied and self._text(after + 1):
            shape = f"{topic.shape}_but_not"  # "typesense, not elastic"
            listed += self._values(topic, after + 1, verb, DENIED, shape, suffix)
        return listed, after, helper

    def _changed(self, topic: _Topic, place: int) -> list[Candidate]:
        """Read "moved the deadline to Friday", "switched from Jira to Linear"."""
        noun = ""
        if self._kind(place) in (ARTICLE, MY):
            end = self._nouns(place + 1)
            noun, place = (self._raw(place + 1, end).lower() if end > place + 1 else ""), end
        old = None
        if self._text(place) == "from":
            last = place + 1
            while self._kind(last) in (PLAIN, NAME, NUMBER):
                last += 1
            if last > place + 1:
                old, place = (self.words[place + 1].start, self.words[last - 1].end), last
        noun = noun or topic.thing
        if self._text(place) not in ("to", "into") or not (noun or old):
            return []
        pieces = list(self._pieces(place + 1, self._value_end(place + 1)))[:1]
        attribute = attributes.HAS + noun if noun else f"{attributes.DOES}use"
        listed = []
        for first, last, _ in pieces:
            span = (self.words[first].start, self.words[last - 1].end)
            made = self._about(topic, attribute, span, CHANGE, HOLDS, noun or "use")
            listed.append(made._replace(replaces=old, subject=""))
            if old:
                ended = self._about(topic, attribute, old, CHANGE, ENDED, noun or "use")
                listed.append(ended._replace(subject=""))
        return listed

    def _is_participle(self, place: int) -> bool:
        text = self._text(place)
        return (text.endswith("ed") and len(text) > 4) or text in words.DEEDS

    def _is_past(self, place: int) -> bool:
        text = self._text(place)
        return text in PAST or (text.endswith("ed") and len(text) > 4 and text != "need")

    def _speaks_of_later(self, topic: _Topic, place: int, after: int) -> bool:
        """Tell if a day to come is named, and not one that is repeated or that ends something."""
        listed = self.words[place:after]
        if STANDING & {word.text for word in listed} or STANDING & set(topic.thing.split()):
            return False
        days = pairwise(listed)
        return any(word.text in LATER for word in listed) or any(
            one.text == "the" and two.kind == NUMBER and two.text[-2:] in ORDINALS
            for one, two in days
        )

    def _value_end(self, start: int) -> int:
        """Find where what follows a verb ends."""
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
        """Tell if a list goes on after a comma."""
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
        if kind in (MY, ARTICLE, NAME, PLAIN, NUMBER):
            ahead = place + 1 if kind in (MY, ARTICLE) else place
            end = self._nouns(ahead) if kind != NAME else self._names(ahead)
            end = self._of_whom(ahead, end) if end > ahead else end
            if end > ahead and self._is_finite(end):
                return True
        return kind == PLAIN and self._may_be_verb(place)

    # --- values ---

    def _deeds(
        self,
        topic: _Topic,
        place: int,
        after: int,
        attribute: str,
        status: str,
        suffix: str,
        verb: str,
    ) -> list[Candidate]:
        """Make one candidate of a verb with all that belongs to it."""
        last = self._trimmed(place, min(after, place + MOST_WORDS + 1))
        if last <= place or (topic.thing and status != PLANNED):
            return list(self._values(topic, place + 1, verb, status, topic.shape, suffix))
        begin = topic.start if topic.thing else self.words[place].start
        span = (begin, self.words[last - 1].end)
        return [self._about(topic, attribute, span, f"{topic.shape}:{suffix}:", status, verb)]

    def _values(
        self,
        topic: _Topic,
        start: int,
        verb: str,
        status: str,
        shape: str,
        suffix: str,
        over: bool = False,
    ) -> Iterator[Candidate]:
        """Make a candidate of the object and of each phrase with a preposition."""
        after = self._value_end(start)
        for number, (first, last, preposition) in enumerate(self._pieces(start, after)):
            attribute = self._attribute(topic, verb, preposition)
            if self._text(first) == "no" and last > first + 1:
                first, status = first + 1, DENIED  # "we have no dishwasher"
            if topic.thing and preposition and verb == "be":
                first -= 1  # "staging is behind Cloudflare"
            span = (self.words[first].start, self.words[last - 1].end)
            part = preposition + (" more" if number else "")
            whole = f"{shape}:{suffix}:{part}"
            yield self._about(topic, attribute, span, whole, status, verb, over)

    def _attribute(self, topic: _Topic, verb: str, preposition: str) -> str:
        if topic.thing and verb == "be":
            return attributes.HAS + topic.thing
        tail = f" {preposition}" if preposition else ""
        if topic.thing:
            return f"{attributes.HAS}{topic.thing} {verb}{tail} {attributes.GAP}"
        return f"{attributes.DOES}{lemma(verb) if topic.person else verb}{tail}"

    def _pieces(self, start: int, after: int) -> Iterator[tuple[int, int, str]]:
        """Split what follows a verb: the object, and phrases with prepositions."""
        after = min(after, start + 2 * MOST_WORDS)
        last = self._trimmed(start, after)
        first = self._untied(start, last)
        if last <= first:
            return
        lead = self._text(start) if self._kind(start) == PREPOSITION else ""
        if last - first <= WHOLE:
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
        """Drop words at the end that say nothing."""
        while end > start:
            word = self.words[end - 1]
            is_empty = word.kind in (ADVERB, PREPOSITION, JOINT, COMMA, ARTICLE, MY)
            if not is_empty and word.text not in open_words.ASIDES:
                break
            end -= 1
        return end

    def _about(
        self,
        topic: _Topic,
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


def lemma(verb: str) -> str:
    """Strip a verb of the third person's ending: "handles" is "handle"."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return verb[:-2]
    return {"has": "have", "is": "be"}.get(verb) or (
        verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
    )
