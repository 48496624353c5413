"""Read statements with any noun or verb: "the staging server is eu-2", "we use Postgres". Pure.

The open form proposes many candidates; `judge.py` estimates the confidence of each.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence, Set
from itertools import pairwise

from lamina.engines.claims import attributes, imperatives, open_words, values, words
from lamina.engines.claims.open_phrases import (
    CALLED,
    DENIED,
    DOES,
    ENDED,
    HOLDS,
    NOUNS,
    PAST,
    PERSONS,
    PLANNED,
    TITLES,
    Candidate,
    Topic,
    means_person,
)
from lamina.engines.claims.open_verbs import CHANGES, LATER, ORDINALS, STANDING, Predicates
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
)
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.engines.claims.values import NO_NAME

BEGINNERS = frozenset("got been gonna planning hate love prefer can used never".split())
FRAGMENT = (2, 8)  # words
VERBAL = frozenset({SELF, THEY, OTHER, YOUR, BE, HAVE, DO, MODAL, CUT, UNSEEN, NOT})
INVERTED = frozenset({SELF, THEY, OTHER, YOUR, MARK})  # "can you"
GOING_ON = frozenset({ARTICLE, PREPOSITION, MY, NUMBER, PLAIN, NAME})
INVERTING = frozenset({DO, MODAL, BE, HAVE})  # before "I" they make a question
WITHIN = frozenset("in on at into onto via inside within".split())  # before things and places
UNDONE = frozenset({NOT, MODAL, SELF})  # "wouldn't", "could", or a verb read after "I" anyway
FORMER = frozenset({"old", "former", "previous", "ex"})


def candidates(
    plain: str, clauses: Sequence[Clause], is_talk: bool, things: Set[str] = frozenset()
) -> Iterator[Candidate]:
    """Propose what a turn may state; `things` are nouns that the speaker has mentioned before.

    When people talk to each other, statements about things and notes are hardly ever worth keeping.
    """
    listed, meant = open_words.split(plain), dict[str, Topic]()
    for sentence in by_sentence(clauses):
        first, last = open_words.within(listed, sentence[0].start, sentence[-1].end)
        if first < last:
            read = Sentence(plain, listed[first:last], sentence, meant, things)
            yield from read.talk() if is_talk else read.message()


class Sentence(Predicates):
    """Reads one sentence."""

    def talk(self) -> Iterator[Candidate]:
        """Read what people tell each other about themselves, those close to them, and things."""
        place = self.opening
        if self._is_without_subject(place):
            topic = Topic("", "", self.words[place].start, "omitted")
            yield from self._predicates(topic, place)
        while place < self.end:
            kind = self.words[place].kind
            if kind == SELF and self._kind(place - 1) not in INVERTING:
                topic = Topic("", "", self.words[place].start, self._own(place))
                yield from self._predicates(topic, place + 1)
            elif kind == MY:
                place = yield from self._owned(place, place + 1, "my")
                continue
            place += 1

    def message(self) -> Iterator[Candidate]:
        """Read what a person tells an assistant."""
        place = yield from self._opened(self.opening)
        while place < self.end:
            word = self.words[place]
            kind = word.kind
            if kind == SELF:
                if self._kind(place - 1) not in INVERTING:
                    topic = Topic("", "", word.start, self._own(place))
                    yield from self._predicates(topic, place + 1)
            elif kind == MY:
                place = yield from self._owned(place, place + 1, "my")
                continue
            elif kind == THEIR:
                yield from self._theirs(place)
            elif kind == NAME:
                place = yield from self._named(place)
                continue
            elif (of := self.meant.get(word.text)) and self._kind(place - 1) not in INVERTING:
                mine = self._mine(place + 1) if of.name else None
                if mine and of.name:
                    noun = self._raw(*mine).lower()
                    yield self._candidate(
                        "", attributes.HAS + noun, of.name, place, "is_mine", HOLDS, noun
                    )
                elif self._is_finite(place + 1) or kind == THEY:
                    shape = "they" if of.person else "it"
                    meant = of._replace(start=word.start, shape=shape)
                    yield from self._predicates(meant, place + 1)
            elif kind == ARTICLE:
                place = yield from self._articled(place)
                continue
            elif word.text in CHANGES and self._kind(place - 1) not in UNDONE:
                anybody = Topic("", "", word.start, "anybody")
                yield from (one for one in self._changed(anybody, place + 1) if one.verb != "use")
            elif place > self.opening and kind in (PLAIN, NUMBER) and self._is_fresh(place):
                after = yield from self._owned(place, place, "bare")
                place = max(after, place + 1)
                continue
            place += 1
        yield from self._fragments()

    def _own(self, place: int) -> str:
        """Return the shape of "I": as a subject, or after a noun, as in "a list I can print"."""
        before = self._kind(place - 1) if place else MARK
        if self._text(place - 1) in open_words.ASIDES:
            return "self"
        return "self_behind" if before in (PLAIN, NAME, NUMBER, OTHER, ARTICLE) else "self"

    def _is_fresh(self, place: int) -> bool:
        return self._kind(place - 1) in (MARK, COMMA, CUT, JOINT)

    def _theirs(self, place: int) -> Iterator[Candidate]:
        """Read "her boyfriend Marek": a relation of somebody who was just mentioned."""
        who = self.meant.get({"his": "he", "her": "she"}.get(self.words[place].text, "they"))
        end = self._nouns(place + 1)
        if not (who and who.person) or end == place + 1:
            return
        noun = self._raw(place + 1, end).lower()
        name, after = self._name_after(place + 1, end, noun)
        at = self.words[place].start
        if noun == "name" and who.person.islower():
            yield from self._called(who, place, after)
        elif name:
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            yield self._candidate(
                who.person, attributes.HAS + noun, span, place, "their_named", HOLDS, noun
            )
        elif self._is_naming(after) and (name := self._named_after(after)):
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            yield self._candidate(
                who.person, attributes.HAS + noun, span, place, "their_named", HOLDS, noun
            )
            self._mention(Topic(self.plain[slice(*span)], "", span[0], "a_person"), noun)
        elif means_person(noun) and self._is_finite(after):
            topic = Topic(f"{who.person}'s {noun}", "", at, "their_person")
            yield from self._predicates(topic, after)

    def _called(self, who: Topic, place: int, after: int) -> Iterator[Candidate]:
        """Read "his name is Tobias" after "I have a new boyfriend"."""
        if name := self._named_after(after):
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            owned = attributes.HAS + who.person
            yield self._candidate("", owned, span, place, "their_named", HOLDS, who.person)

    def _named_after(self, place: int) -> tuple[int, int] | None:
        """Find the name in "is NAME"."""
        while self._kind(place) in (BE, ADVERB) or self._text(place) in CALLED:
            place += 1
        end = self._names(place)
        return (place, end) if end > place else None

    def _opened(self, place: int) -> Generator[Candidate, None, int]:
        """Read a clause that omits "I" or begins with a thing: "Standup is at 9:40"."""
        if place >= self.end:
            return place
        word = self.words[place]
        if self._is_without_subject(place):
            yield from self._predicates(Topic("", "", word.start, "omitted"), place)
            return place + 1
        if word.kind in (PLAIN, NUMBER) or self._is_thing(place):
            return (yield from self._owned(place, place, "bare"))
        return place

    def _is_without_subject(self, place: int) -> bool:
        """Tell if "I" is omitted: "Moved to Lisbon", "got two kids", "hiring in May"."""
        if place >= self.end:
            return False
        word, following = self.words[place], self._kind(place + 1)
        if word.kind not in (PLAIN, NAME, DO, HAVE, BE, MODAL, NOT):
            return False
        if word.text == "were":  # "we're"
            return self._text(place + 1).endswith("ing")
        if word.text.endswith("ing"):
            return following in GOING_ON and not self._is_gerund(place)
        is_past = word.text in PAST and following not in (BE, MARK)
        return is_past or (word.text in BEGINNERS and following not in INVERTED)

    def _is_thing(self, place: int) -> bool:
        """Tell if only the position explains a capital: "Standup is at 9:40", not "Anh is ill"."""
        word, following = self.words[place], self._kind(place + 1)
        if word.kind != NAME:
            return False
        if word.text in self.things:
            return True
        if self.plain[word.start : word.end].isupper() or following == PREPOSITION:
            return True
        if following == BE:
            return self._kind(place + 2) in (PREPOSITION, NUMBER, NAME)
        if word.text.endswith("s") and following == PLAIN:  # "Deploys happen at 10"
            return not self._text(place + 1).endswith("s") and self._is_verb(place + 1)
        is_doing = self._text(place + 1) in DOES  # "Zoë starts school"
        return following == PLAIN and self._kind(place + 2) in (BE, PLAIN) and not is_doing

    def _owned(self, start: int, place: int, shape: str) -> Generator[Candidate, None, int]:
        """Read "my N NAME", "our N is V", "the N runs on V"; return where to continue."""
        end = self._nouns(place)
        if end == place:
            return start + 1
        head = self._before_verb(place, end)
        end = self._of_whom(place, head)
        noun = self._raw(place, end).lower()
        is_of = self._kind(head) in (PREPOSITION, OTHER)  # "handover to the client"
        is_person = means_person(self._raw(place, head).lower() if is_of else noun)
        name, after = self._name_after(place, end, noun)
        at, span = self.words[start].start, None
        is_former = self._text(place) in FORMER and end > place + 1  # "my ex" is a present relation
        over = is_former or noun.startswith("ex-")
        if name:
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            status = ENDED if over else HOLDS
            yield self._candidate(
                "", attributes.HAS + noun, span, start, f"{shape}_named", status, noun
            )
        if span or (is_person and not self._is_naming(after)):
            person = self.plain[slice(*span)] if span else noun
            topic = Topic(person, "", at, f"{shape}_person", over, span)
            self._mention(topic, noun)
        else:
            kind = "person_is" if is_person else "thing"
            topic = Topic("", noun, at, f"{shape}_{kind}", over)
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

    def _mine_is(self, place: int, end: int, mine: tuple[int, int]) -> Candidate:
        noun = self._raw(*mine).lower()
        span = (self.words[place].start, self.words[end - 1].end)
        status, over = self._being(end, mine[0])
        return self._candidate(
            "", attributes.HAS + noun, span, place, "is_mine", status, noun, over
        )

    def _articled(self, place: int) -> Generator[Candidate, None, int]:
        """Read "the N ..." at the beginning of a clause, and "a N called NAME" anywhere."""
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
        is_new = self._text(place + 1) == "new" and end > place + 2
        if is_new and not name and self._text(end) in ("and", ",") and self._text(end + 1) == "it":
            topic = Topic("", noun, self.words[place].start, "a_thing")  # "a new bank and it's X"
            yield from self._predicates(topic, end + 2)
            return end
        if name and (is_told or is_new):
            span = (self.words[name[0]].start, self.words[name[1] - 1].end)
            yield self._candidate("", attributes.HAS + noun, span, place, "a_named", HOLDS, noun)
            self._mention(Topic(self.plain[slice(*span)], "", span[0], "a_person"))
            return after
        if self._kind(place - 1) == HAVE and means_person(noun):
            person = noun.removeprefix("new ")
            self._mention(Topic(person, "", self.words[place].start, "a_person"), noun)
        if text == "the" and (thing := self._known_thing(place + 1, end)):
            self.meant["it"] = Topic("", thing, self.words[place].start, "the_thing")
        return end

    def _known_thing(self, place: int, end: int) -> str:
        """Return the words for a thing that the speaker has mentioned before; empty if none."""
        for last in range(end, place, -1):
            noun = self._raw(place, last).lower()
            stems = values.stems(noun)
            if stems and any(stems <= values.stems(thing) for thing in self.things):
                return noun
        return ""

    def _named(self, place: int) -> Generator[Candidate, None, int]:
        """Read "NAME, my N", "NAME is my N" and "NAME does V"; return where to continue."""
        end = self._names(place)
        span = (self.words[place].start, self.words[end - 1].end)
        topic = Topic(self.plain[slice(*span)], "", span[0], "named", False, span)
        is_first = place == self.opening
        after = self._nouns(end + 1) if self._text(end) == "'s" else 0
        if after > end + 1 and self._kind(after) == BE:  # "Rui's manager is Ana"
            thing = self._raw(end + 1, after).lower()
            yield from self._predicates(topic._replace(thing=thing, shape="their_thing"), after)
            return after
        if not is_first and end < self.end and (found := self._affiliated(topic, place, end)):
            yield found
            end = self._nouns(end + 1)
        is_within = self._text(place - 1) in WITHIN if place else False
        if not is_first and not is_within and "she" not in self.meant:
            self._mention(topic)
        after, is_apart, is_being = end, self._kind(end) == COMMA, False
        if is_apart:
            after += 1
        while not is_apart and self._is_auxiliary(after):
            is_being = is_being or self._kind(after) == BE
            after += 1
        if self._text(after) == "who" and not is_being:
            yield from self._predicates(topic._replace(shape="who"), after + 1)
            return after
        is_noun = self._kind(after) == MY or (self._text(after) == "the" and is_apart)
        if (is_apart or is_being) and is_noun:
            last = self._nouns(after + 1)
            is_anew = is_apart and (self._kind(last) == NAME or self._is_finite(last))
            if last > after + 1 and not is_anew:  # "…, the admin panel is Rails 7" is not
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

    def _is_auxiliary(self, place: int) -> bool:
        """Tell if a word is one of "is", "isn't", "now" or "no longer"."""
        if self._text(place) in ("no", "longer"):
            first = place - (self._text(place) == "longer")
            return (self._text(first), self._text(first + 1)) == ("no", "longer")
        return self._kind(place) in (BE, ADVERB, NOT)

    def _affiliated(self, topic: Topic, place: int, end: int) -> Candidate | None:
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

    def _fragments(self) -> Iterator[Candidate]:
        """Read notes without a verb: "logs in loki, 14d retention"."""
        start = self.opening
        for place in range(start, self.end + 1):
            is_border = self._kind(place) in (MARK, COMMA, JOINT)
            is_title = self._text(place) == "." and self._text(place - 1) in TITLES
            if is_border and not is_title and self._text(place) not in ("/", "+"):
                if self._text(place) == ":" and self._is_headed(start, place):
                    yield from self._entry(start, place)
                elif FRAGMENT[0] <= place - start <= FRAGMENT[1]:
                    yield from self._fragment(start, place)
                start = place + 1

    def _is_headed(self, start: int, colon: int) -> bool:
        """Tell if the words before a colon name a thing: "Wifi:", "pager rota:"."""
        is_short = 0 < colon - start <= NOUNS and self._nouns(start) >= colon - 1
        kinds = {self._kind(place) for place in range(start, colon)}
        return is_short and kinds <= {PLAIN, NAME, NUMBER} and not self._is_order(start)

    def _entry(self, start: int, colon: int) -> Iterator[Candidate]:
        """Read an entry of a list: "Wifi: fritz-7590"."""
        end = self._value_end(colon + 1)
        last = self._trimmed(colon + 1, end)
        kinds = {self._kind(place) for place in range(colon + 1, last)}
        if not 0 < last - colon - 1 <= FRAGMENT[1] or kinds & {*VERBAL, MY}:
            return
        if self._is_order(colon + 1) or any(map(self._is_verb, range(colon + 2, last))):
            return
        noun = self._raw(start, colon).lower()
        span = (self.words[colon + 1].start, self.words[last - 1].end)
        yield self._candidate("", attributes.HAS + noun, span, start, "entry::", HOLDS, "be")

    def _is_order(self, place: int) -> bool:
        """Tell if a phrase is a request: "Draft a letter", "make calendar"."""
        word, following = self.words[place], self._kind(place + 1)
        if word.kind not in (PLAIN, NAME):
            return False
        is_verb = word.text in imperatives.VERBS and word.text not in imperatives.NOUNS
        return is_verb or following in (ARTICLE, MY, THEIR, OTHER)

    def _is_day_to_come(self, first: int, last: int) -> bool:
        """Tell if a note consists of an event and its day: "surgery on the 12th"."""
        listed = self.words[first:last]
        if not listed or STANDING & {word.text for word in listed}:
            return False
        days = pairwise(listed)
        is_dated = any(one.text == "the" and two.text[-2:] in ORDINALS for one, two in days)
        is_named = any(word.text in LATER for word in listed[1:])
        return listed[0].kind == PLAIN and listed[0].text not in LATER and (is_dated or is_named)

    def _fragment(self, start: int, end: int) -> Iterator[Candidate]:
        listed = self.words[start:end]
        kinds = {word.kind for word in listed}
        if kinds & VERBAL or not kinds & {NUMBER, NAME, PREPOSITION, ARTICLE}:
            return
        if self._is_order(start) or (start > self.opening and listed[0].text in DOES):
            return  # "…, charges 240 an hour" is about the person named before
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
        elif self._is_day_to_come(first, last):
            attribute, value, shape, status = "plan", (first, last), "note_plan", PLANNED
        elif is_counted and noun > first + 1 and self._text(first + 1) not in LATER:
            attribute, value, shape = "other", (first, last), "note_count"
        elif self._kind(noun) == NAME and self._raw(noun - 1, noun)[:1].isupper():
            return  # "New York" is one name
        elif first < noun < last and self._kind(noun) == PREPOSITION:
            attribute, value, shape = "other", (first, last), "note_prep"
        elif first < noun < last and self._kind(noun) in (NUMBER, NAME):
            attribute = attributes.HAS + self._raw(first, noun).lower()
            value, shape = (noun, last), f"note_{self._kind(noun)}"
        else:
            attribute, value = "other", (first, last)
        if value[0] < value[1]:
            span = (self.words[value[0]].start, self.words[value[1] - 1].end)
            yield self._candidate("", attribute, span, start, f"{shape}::", status, listed[0].text)
