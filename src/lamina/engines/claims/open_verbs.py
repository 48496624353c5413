"""Read what a subject does or is: tense, negation, and the values that follow. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from lamina.engines.claims import attributes
from lamina.engines.claims.open_phrases import (
    CALLED,
    DENIED,
    ENDED,
    HOLDS,
    MOST_WORDS,
    PAST,
    PLANNED,
    Candidate,
    Phrases,
    Topic,
)
from lamina.engines.claims.open_words import (
    ADVERB,
    ARTICLE,
    BE,
    COMMA,
    DO,
    HAVE,
    JOINT,
    MODAL,
    MY,
    NAME,
    NOT,
    NUMBER,
    PLAIN,
    PREPOSITION,
)

# Verbs of states with their present form; in the past tense, the state is over.
STATES = {
    "was": "be", "were": "be", "lived": "live", "worked": "work", "studied": "study", "had": "have",
    "owned": "own", "used": "use", "ran": "run", "taught": "teach", "drove": "drive",
    "played": "play", "managed": "manage", "led": "lead", "rented": "rent", "shared": "share",
    "dated": "date", "smoked": "smoke", "kept": "keep",
}  # fmt: skip
# Verbs of change.
CHANGES = frozenset(
    "moved pushed changed switched renamed raised lowered bumped shifted migrated upgraded went"
    " extended increased reduced transitioned".split()
)
CHANGE = "change"
# Words between the thing that changes and its new value: "pushed the report back to May".
WHITHER = frozenset("back forward forwards up down out over on off ahead again".split())
AIMS = {
    "want": "goal", "wants": "goal", "wanna": "goal", "hope": "goal", "hoping": "goal",
    "plan": "plan", "plans": "plan", "planning": "plan", "intend": "plan", "going": "plan",
    "aiming": "goal", "aim": "goal", "about": "plan", "like": "goal", "love": "goal",
    "thinking": "goal", "looking": "goal", "wanting": "goal", "decided": "plan", "gonna": "plan",
}  # fmt: skip
WILL = frozenset({"will", "'ll", "shall", "gonna"})
TOLD = WILL | {"can", "could"}
LATER = frozenset(
    "next tomorrow tmrw tmw soon monday tuesday wednesday thursday friday saturday sunday january"
    " february march april may june july august september october november december autumn spring"
    " summer winter fall later upcoming q1 q2 q3 q4 jan feb mar apr jun jul aug sep sept oct"
    " nov dec mon tue tues wed thu thurs fri sat christmas easter weekend".split()
)
MONTHS = frozenset(
    "january february march april may june july august september october november december"
    " jan feb mar apr jun jul aug sep sept oct nov dec of".split()
)
LIMITS = frozenset({"since", "until", "till"})
ORDINALS = frozenset({"st", "nd", "rd", "th"})
# With these, a date does not make a plan: "expires on 2 October", "closed every Monday".
STANDING = frozenset(
    "deadline due expires expire until till since every each birthday bday ends end usually"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays by day between".split()
)


# With these, each phrase with a preposition is a separate value: "work as a nurse at Acme".
SPLIT = frozenset("be use using work working live living study studying".split())

Piece = tuple[int, int, str]  # the first word, the one after the last, and the preposition before


class Auxiliaries(NamedTuple):
    """The words before a verb."""

    tense: str
    being: bool
    denied: bool
    over: bool  # "no longer"
    modal: str
    aim: str  # "plan", "goal" or empty


class Predicates(Phrases):
    """Reads the verbs of a sentence."""

    def _predicates(self, topic: Topic, place: int) -> Iterator[Candidate]:
        """Read the predicate of a topic and those joined to it."""
        helper = Auxiliaries("", False, self.negative, False, "", "")
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
        """Find where another verb with the same subject begins; 0 if there is none."""
        if self._kind(place) not in (JOINT, COMMA):
            return 0
        while self._kind(place) in (JOINT, COMMA, ADVERB):
            place += 1
        if place >= self.end:
            return 0
        word = self.words[place]
        if word.kind in (HAVE, DO, MODAL) or (word.kind == BE and word.text != "be"):
            return place
        is_bare = not word.text.endswith("s") and self._kind(place + 1) == PREPOSITION
        if word.kind != PLAIN or not (is_bare or self._may_be_verb(place)):
            return 0  # "and work at Acme" is another predicate, "and shoes" is not
        return 0 if self._is_gerund(place) else place

    def _is_gerund(self, place: int) -> bool:
        """Tell if a word in "-ing" begins the subject of a verb: "roaming in Austria is off"."""
        is_ing = self._text(place).endswith("ing")
        return is_ing and self._kind(self._value_end(place + 1)) == BE

    def _predicate(
        self, topic: Topic, place: int, helper: Auxiliaries
    ) -> tuple[list[Candidate], int, Auxiliaries] | None:
        tense, being, denied, over, modal, aim = helper
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
        return self._stated(topic, place, Auxiliaries(tense, being, denied, over, modal, aim))

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
        self, topic: Topic, place: int, before: Auxiliaries
    ) -> tuple[list[Candidate], int, Auxiliaries] | None:
        """Make the candidates for a verb and what follows it."""
        word, denied = self.words[place], before.denied
        text = word.text
        is_plain = word.kind == PLAIN or place == self.opening  # where a capital means nothing
        is_going = text.endswith("ing") and is_plain and len(text) > 4
        is_copula = before.being and not is_going
        if not is_copula and not is_plain and word.kind not in (HAVE, DO):
            return None
        if before.modal and not before.aim and before.modal not in TOLD:
            return None  # hypothetical: would, should, might
        start = place if is_copula and text not in CALLED else place + 1
        if self._text(start) in ("me", "us", "him", "them"):
            start += 1
        after = self._value_end(start)
        is_later = not denied and self._speaks_of_later(topic, place, after)
        status, suffix, verb = self._sense(topic, place, before, is_copula, is_later)
        helper = self._shared(before, after, suffix)
        if text in CHANGES and not denied and (changed := self._changed(topic, place + 1)):
            return changed, after, helper
        is_deed = suffix in ("past", "have") and text not in ("got", "had", "been")
        if status == PLANNED:
            aim = before.aim or "plan"
            listed = self._deeds(topic, place, after, aim, status, suffix, verb)
        elif is_deed and not denied:
            listed = self._deeds(topic, place, after, "did", status, suffix, verb)
        else:
            told = self._values(topic, start, verb, status, topic.shape, suffix, before.over)
            listed = list(told)
        if self._kind(after) == NOT and not denied and self._text(after + 1):
            shape = f"{topic.shape}_but_not"  # "typesense, not elastic"
            listed += self._values(topic, after + 1, verb, DENIED, shape, suffix)
        return listed, after, helper

    def _shared(self, before: Auxiliaries, after: int, suffix: str) -> Auxiliaries:
        """Return the auxiliaries that a verb after "and" shares with the one before it.

        "I'm flying in and staying", "I plan to sell the cottage and take a flat".
        """
        tense = before.tense if suffix == "going" else ""
        joined = self._joined(after)
        is_bare = self._kind(joined) == PLAIN and not self._is_past(joined)
        is_planned = before.aim or before.modal in WILL
        if joined and is_bare and is_planned and not before.denied:
            return Auxiliaries(tense, bool(tense), self.negative, False, before.modal, before.aim)
        return Auxiliaries(tense, bool(tense), self.negative, False, "", "")

    def _sense(
        self, topic: Topic, place: int, before: Auxiliaries, is_copula: bool, is_later: bool
    ) -> tuple[str, str, str]:
        """Return the status of a verb, its tense, and its form in attributes."""
        text, tense, denied = self._text(place), before.tense, before.denied
        verb = "be" if is_copula else text
        status, suffix = DENIED if denied else HOLDS, ""
        if before.aim or before.modal in WILL:
            status, suffix = (DENIED if denied else PLANNED), before.aim or "will"
        elif tense == "former":
            status, suffix = ENDED, "former"
        elif before.modal:
            suffix, verb = "can", f"can {verb}"
        elif is_copula:
            is_passive = self._is_participle(place) and text not in CALLED  # "was called Aune"
            if tense == "was" and not denied and not is_passive:
                status = ENDED
            elif is_later and tense == "be":
                status = PLANNED
            suffix = ("was" if tense == "was" else "") + ("passive" if is_passive else "")
        elif before.being or (topic.shape == "omitted" and text.endswith("ing")):
            status = PLANNED if is_later and tense != "was" else status
            suffix, verb = "going", f"be {text}"
        elif tense == "have" and text in STATES and self._is_lasting(place):
            suffix, verb = "lasting", STATES[text]  # "we've used Postgres since 2019"
        elif tense in ("have", "did"):
            suffix = tense
        elif self._is_past(place):
            is_state = text in STATES and self._text(place + 1) != "his"
            status = ENDED if is_state and not denied else status
            suffix, verb = "past_state" if is_state else "past", STATES.get(text, text)
        elif is_later and (topic.shape[:4] != "self" or self._names_day(place)):
            status = PLANNED
        is_over = topic.over and status == HOLDS and (verb == "be" or topic.person != "")
        return (ENDED if is_over else status), suffix, verb  # "the old monolith runs PHP" still

    def _names_day(self, place: int) -> bool:
        """Tell if a single day is named, not a weekday, which may recur: "on the 20th"."""
        listed = self.words[place : self._value_end(place + 1)]
        return any(
            word.kind == NUMBER and (two.text in MONTHS or one.text in MONTHS or one.text == "the")
            for one, word, two in zip(listed, listed[1:], [*listed[2:], listed[-1]], strict=False)
        )

    def _is_lasting(self, place: int) -> bool:
        """Tell if an activity still continues: "since" follows it."""
        after = self._value_end(place + 1)
        return any(self._text(one) == "since" for one in range(place + 1, after))

    def _changed(self, topic: Topic, place: int) -> list[Candidate]:
        """Read "moved the deadline to Friday", "switched from Jira to Linear"."""
        noun = ""
        while self._text(place) in WHITHER:  # "pushed back the report to May"
            place += 1
        if self._kind(place) in (ARTICLE, MY):
            end = last = self._nouns(place + 1)
            while self._text(last - 1) in WHITHER:
                last -= 1
            noun, place = (self._raw(place + 1, last).lower() if last > place + 1 else ""), end
        elif self._text(place) in self.things:
            noun, place = self._text(place), place + 1  # "moved staging to eu-5"
        while self._text(place) in WHITHER:
            place += 1
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
            # A deadline is the speaker's, whoever moves it; a tool belongs to whoever uses it.
            subject = "" if noun else made.subject
            listed.append(made._replace(replaces=old, subject=subject))
            if old:
                ended = self._about(topic, attribute, old, CHANGE, ENDED, noun or "use")
                listed.append(ended._replace(subject=subject))
        return listed

    def _speaks_of_later(self, topic: Topic, place: int, after: int) -> bool:
        """Tell if a future day is named that is neither recurring nor the end of something."""
        listed = self.words[place:after]
        if STANDING & {word.text for word in listed} or STANDING & set(topic.thing.split()):
            return False
        days = pairwise(listed)
        return any(word.text in LATER for word in listed) or any(
            one.text == "the" and two.kind == NUMBER and two.text[-2:] in ORDINALS
            for one, two in days
        )

    def _deeds(
        self,
        topic: Topic,
        place: int,
        after: int,
        attribute: str,
        status: str,
        suffix: str,
        verb: str,
    ) -> list[Candidate]:
        """Make one candidate from a verb with all its phrases."""
        last = self._trimmed(place, min(after, place + MOST_WORDS + 1))
        if last <= place or (topic.thing and status != PLANNED):
            return list(self._values(topic, place + 1, verb, status, topic.shape, suffix))
        begin = topic.start if topic.thing else self.words[place].start
        span = (begin, self.words[last - 1].end)
        return [self._about(topic, attribute, span, f"{topic.shape}:{suffix}:", status, verb)]

    def _values(
        self,
        topic: Topic,
        start: int,
        verb: str,
        status: str,
        shape: str,
        suffix: str,
        over: bool = False,
    ) -> Iterator[Candidate]:
        """Yield a candidate for the object and for each phrase with a preposition."""
        pieces = list(self._pieces(start, self._value_end(start)))
        if lemma(verb.split()[-1]) not in SPLIT:
            pieces = _whole(pieces)
        for number, (first, last, preposition) in enumerate(pieces):
            if number and preposition in LIMITS:
                continue  # the time since or until which the rest holds
            attribute = self._attribute(topic, verb, preposition)
            if self._text(first) == "no" and last > first + 1:
                first, status = first + 1, DENIED  # "we have no dishwasher"
            if topic.thing and preposition and verb == "be":
                first -= 1  # "staging is behind Cloudflare"
            span = (self.words[first].start, self.words[last - 1].end)
            part = preposition + (" more" if number else "")
            whole = f"{shape}:{suffix}:{part}"
            yield self._about(topic, attribute, span, whole, status, verb, over)

    def _attribute(self, topic: Topic, verb: str, preposition: str) -> str:
        if topic.thing and verb == "be":
            return attributes.HAS + topic.thing
        tail = f" {preposition}" if preposition else ""
        if topic.thing:
            return f"{attributes.HAS}{topic.thing} {verb}{tail} {attributes.GAP}"
        return f"{attributes.DOES}{lemma(verb) if topic.person else verb}{tail}"


def _whole(pieces: Sequence[Piece]) -> list[Piece]:
    """Join an object with the phrases after it: "keeps spare keys in the shed" is one value."""
    first, count = pieces[:1], 1
    if not first or first[0][2]:
        return list(pieces)
    start, end, lead = first[0]
    for _, last, preposition in pieces[1:]:
        if preposition in LIMITS or last - start > MOST_WORDS:
            break
        end, count = last, count + 1
    return [(start, end, lead), *pieces[count:]]


def lemma(verb: str) -> str:
    """Strip the ending of the third person from a verb: "handle" for "handles"."""
    if verb.endswith("ies"):
        return verb[:-1] if len(verb) == len("lies") else f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return verb[:-2]
    return {"has": "have", "is": "be"}.get(verb) or (
        verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
    )
