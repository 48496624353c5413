"""Sum up long conversations in a few of their own sentences, each traceable (S3). Pure.

What was decided where people differ:

- A summary quotes. Nothing is reworded, so nothing is invented; a sentence is a span of a turn, and
  the turns are its evidence.
- A summary depends on the turns that it sums up and on nothing else: whatever is read in the same
  night, it is the same.
- A sentence counts for what it tells: when, who, how many, what was done, rare words. Greetings,
  thanks, questions, praise of the other and common words count little. What was said already in
  other words is left out.
- What comes from outside is summed up apart (V8), and what stands in our fence not at all (Q9).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import compress, zip_longest
from math import log
from typing import Any, NamedTuple

import msgspec

from lamina.model import rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.text import dates, fence, words
from lamina.text.patterns import bounded

ORIGIN = "sleep"
WHOLE = ("raw_hash", "turns_hash")  # what only the record of a whole conversation has
# From here on a conversation is verbose, and after such a silence it is over.
FEWEST_TURNS = 8
FEWEST_CHARACTERS = 2000
SILENCE = timedelta(hours=6)
# How long a summary may be.
SHARE = 0.15
MOST_SENTENCES = 12
ROOM = 2000
SHORTEST, LONGEST = 10, 400  # characters of a sentence; a longer one is cut where it pauses
LOOKED_AT = 16 * 1024  # characters of a turn: a pasted book is no conversation
FEWEST_WORDS = 4
NAMED = 3  # participants whom the headline names
SHORTEST_NAME, LONGEST_NAME = 3, 60
COMPARED = 240  # the best sentences, among which the choice is made

# The worth of a sentence in hundredths. Length has a price: fewer words for the same are better.
WORTH = {
    "says when": 150,
    "gives a number": 70,
    "names": 90,
    "quotes": 40,
    "tells of the speaker": 70,
    "tells what was done": 45,
    "comes first": 60,
    "speaks to the other": -60,
    "is polite": -70,
    "hangs on what was said before": -35,
    "is one of a list": -100,
}
WORD_WORTH, MOST_WORDS = 30, 8
LEAST = 180  # what a sentence must be worth, before its length has its price
LENGTH_PRICE = 60  # for each time that the length grows e-fold
REPETITION = 250  # for words that are all in a sentence that was chosen before
SAME = 0.75  # the share of them with which it says the same

LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.S | re.M)
END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"')\]”’»*_]*+(?=\s|$)|[。！？｡]++[」』”）\"]*+"
    rf"|(?<!{words.PICTURE})(?<![\ufe0f\u200d])(?:{words.PICTURE}[\ufe0f\u200d]*+)++(?=\s|$)"
)
PAUSE = re.compile(r"[,;:،、，；：]\s*|\s+[-–—]\s+|\s+")
LAST_WORD = bounded(r"[^\s(\"'“‘]+$", longest=20)
MARKS = "*_# \t"
ABBREVIATED = frozenset(
    "mr mrs ms dr prof st vs e.g i.e eg ie jr sr inc ltd approx ca z.b bzw nr".split()
)
MONTH = re.compile(r"\s(?:jan|feb|m[aä]r|apr|ma[ijy]|jun|jul|aug|sep|o[kc]t|nov|de[czs])", re.I)
# Where a sentence begins: after bullets, numbers of a list, marks of a heading and pictures.
ITEM = re.compile(r"\s*(?:[-*•>#|+–]+|\d{1,2}[.)])\s+")
BEGINNING = re.compile(rf"(?:{ITEM.pattern})*[^\w\"“„«‘'(\[$€£¥¿¡@+*-]*")
# Words as `words.asked` gives them: without accents.
FIRST_PERSON = frozenset(
    "i my me mine we our us ich mein meine meinen meiner mich mir wir uns unser unsere je mon ma"
    " mes moi nous notre nos yo mi mis nosotros nuestro io mio mia noi nostro eu meu minha я мои"
    " моя мне меня мы нас наш".split()
)
SECOND_PERSON = frozenset(
    "you your yours yourself u ur du dein deine deinen dich dir ihr euch tu ton ta tes toi vous"
    " votre vos usted ustedes tuyo tuo tua voi voce seu ты вы твои ваш тебя вас".split()
)
# In scripts without spaces.
ABOUT_ME, ABOUT_YOU = re.compile("[我私僕俺]|저는|나는|제가|내가"), re.compile("[你您]|あなた|당신")
# Irregular verbs of what was done; the regular ones end in -ed.
DONE = frozenset(
    "was were had did been went saw got met came took made bought ate gave told said sent found"
    " left began ran won lost felt held kept heard wrote drove flew taught thought sold paid spent"
    " built broke chose fell grew knew led put read rode sang slept spoke stood swam threw"
    " understood woke wore became brought caught".split()
)
REGULAR = re.compile(r"[^\We]ed\b")
OPENING = re.compile(
    r"(?:hey|hi|hello|thanks|thank|bye|goodbye|wow|yeah|yes|yep|yup|sure|ok|okay|cool|awesome|great"
    r"|nice|congrats|congratulations|absolutely|definitely|totally|exactly|glad|sounds|looks"
    r"|take care|good|right|oh|haha|lol|aww?|amazing|that['’]s|no|i(?:['’]m| am)(?: (?:so|really"
    r"|very|super))? (?:sure|glad|proud|happy for|here for)|i (?:hope|bet|agree|guess|get)"
    r"|i['’]ll (?:definitely|let|keep|try|check)|let['’]?s|keep|stay|hope|catch"
    r"|(?:i )?can['’]?t wait|looking forward|hallo|danke|bitte|genau|ja|merci|salut|bonjour|oui"
    r"|hola|gracias|sí|vale|ciao|grazie|obrigad[oa]|привет|спасибо|да)\b|你好|谢谢|ありがとう|こんにちは|안녕",
    re.I,
)
HANGING = re.compile(
    r"(?:it|that|this|they|these|those|he|she|so|and|but|also|es|das|ça|eso|это)\b", re.I
)
NAME = re.compile(r"(?<=[\w,;:'’\"“(-] )(?!I\b|I['’])[A-Z\u00c0-\u00de\u0410-\u042f][\w’'-]*\w")
NUMBER = re.compile(r"\d")
# A question states nothing, and neither do headings and what announces something.
UNFINISHED = re.compile(r"(?:[?？؟:：][\"'”’)\]」』*]*|(?<![.!。！])\*\*)$")
QUOTE = re.compile(r"[\"“«„「『]\w")
# Common words, which tell nothing of what a conversation was about.
PLAIN = frozenset(
    "able absolutely actually again agree ah almost already also always amazing another anyone"
    " anything anyway appreciate around aw away awesome aww back bad beautiful because before being"
    " believe best better big bit both bring brings bye came cause certainly chance change chat"
    " check cheers come comes coming congrats continue cool couple crazy cute day days deal def"
    " definitely different difficult doing done down each easy else encourage encouragement end"
    " enjoy enjoying enough especially even ever every everyone everything exactly excellent"
    " excited exciting experience fantastic far feel feeling feels felt few find fine first forward"
    " found friend friends full fun gave get gets getting give gives giving glad go goes going"
    " gonna good gosh got gotta great guess haha happen happening happens happy hard haven having"
    " hear heard heart hello help helped helpful helping helps here hey hi hmm hope hoping huge"
    " idea imagine important impressive incredible inspire inspired inspiring interesting isn"
    " journey joy keep keeping keeps kind know knowing last later learn learned least left less let"
    " lets life like likes little lol long look looking looks lot lots love loved lovely loves"
    " loving luck made make makes making man many matter may maybe mean means meant mind moment"
    " moments month more most motivated much must myself nah need needed needs never new next nice"
    " nothing now off often oh ok okay old once one ones only other others own part pass passion"
    " past people perfect perhaps person photo pic pics picture place plan planning please pleased"
    " positive possible pretty probably progress proud push pushing put quite ready real realize"
    " really reason remember reminder reminds rest right said same saw say saying says see seeing"
    " seem seems seen sense set share shared sharing show shows side since someone something"
    " sometimes soon sorry sort sound sounds special start started stay staying still stop strength"
    " strong stuff such super support supporting supportive sure sweet take takes taking talk"
    " talking tell telling thank thanks thing things think thinking though thought thoughts through"
    " time times today together told took totally touch tough tried true truly try trying turn"
    " turned two u unique until us use used useful very wait wanna want wanted wants watch way ways"
    " week welcome well went whatever while whole within without wonder wonderful word words work"
    " working works world worth wow ya yeah year years yep yes yet yourself yup".split()
)
COMMON = PLAIN | words.STOP_WORDS
MONTHS = (
    "January February March April May June July August September October November December".split()
)


class Summary(msgspec.Struct, frozen=True):
    """A conversation in a few of its own sentences."""

    content: str
    evidence: tuple[str, ...]  # all its turns, in their order
    sentences: tuple[tuple[str, int, int], ...]  # the turn of each, and its start and end there
    reasons: tuple[str, ...]  # why each sentence was chosen, in words
    why: str
    tags: tuple[str, ...]
    trust: Trust
    importance: float
    occurred_at: datetime
    user: str | None
    session: str | None
    participants: tuple[str, ...]

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of its record: the source of each sentence, and the mark of a summary."""
        return {
            "origin": ORIGIN,
            "participants": list(self.participants),
            "sentences": [list(place) for place in self.sentences],
        }


class Span(NamedTuple):
    """The start and end of a sentence, and whether it stands in a list."""

    start: int
    end: int
    listed: bool


class Sentence(NamedTuple):
    """A sentence of a turn, and what it is worth."""

    turn: int
    record: Record
    start: int
    end: int
    words: frozenset[str]
    worth: float
    signs: tuple[str, ...]

    @property
    def said(self) -> str:
        return self.record.content[self.start : self.end]


def plan(turns: Sequence[Record], summarised: Collection[str], now: datetime) -> list[Summary]:
    """Sum up what is verbose, over, and not yet in `summarised` (ids of turns), oldest first."""
    done = frozenset(summarised)
    groups: dict[tuple[Any, ...], dict[str, Record]] = {}
    for turn in turns:
        if turn.id not in done and _is_turn(turn):
            groups.setdefault(_conversation(turn), {})[turn.id] = turn
    conversations = (sorted(group.values(), key=_age) for group in groups.values())
    parts = [part for conversation in conversations for part in _verbose(conversation, now)]
    summaries = map(_summary, sorted(parts, key=lambda part: _age(part[-1])))
    return [summary for summary in summaries if summary is not None]


def is_summary(record: Record) -> bool:
    """Tell if a record is one of our summaries: these are not summed up again."""
    return record.metadata.get("origin") == ORIGIN and "sentences" in record.metadata


def _is_turn(record: Record) -> bool:
    """Tell if a record holds what was said or done itself, and may be quoted."""
    if record.layer is not Layer.EPISODIC or record.state is not State.ACTIVE:
        return False
    # The record of a whole conversation, which has a hash of it, only points to its turns.
    is_whole = not record.metadata.keys().isdisjoint(WHOLE) or is_summary(record)
    return record.archived is None and record.speaker != "system" and not is_whole


def _conversation(record: Record) -> tuple[Any, ...]:
    """Identify what belongs together: a user's session, or day; and what is external apart."""
    today = None if record.session is not None else record.occurred_at.date()
    return record.user, record.session, today, record.trust is Trust.EXTERNAL


def _age(record: Record) -> tuple[datetime, int, str]:
    return record.occurred_at, record.seq, record.id


def _verbose(turns: Sequence[Record], now: datetime) -> Iterator[list[Record]]:
    """Cut a session into the parts worth a summary: each ends at a silence, once long enough."""
    part: list[Record] = []
    characters = 0
    for turn, after in zip_longest(turns, turns[1:]):
        part.append(turn)
        characters += len(turn.content)
        until = now if after is None else after.occurred_at
        is_long = len(part) >= FEWEST_TURNS and characters >= FEWEST_CHARACTERS
        if is_long and until - turn.occurred_at >= SILENCE:
            yield part
            part, characters = [], 0


def _summary(turns: Sequence[Record]) -> Summary | None:
    """Sum up a conversation; None if it has no sentence to quote."""
    participants = tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker is not None))
    first, last = turns[0].occurred_at.date(), turns[-1].occurred_at.date()
    headline = _headline(participants, first, last)
    called = (name for speaker in participants for name in words.asked(speaker))
    names = frozenset(short for name in called for short in _shortened(name))
    sentences = [one for place, turn in enumerate(turns) for one in _sentences(place, turn, names)]
    characters = sum(len(turn.content) for turn in turns)
    chosen = _chosen(sentences, int(SHARE * characters), ROOM - len(headline))
    if not chosen:
        return None
    return Summary(
        content="\n".join([headline, *map(_line, chosen)]),
        evidence=tuple(turn.id for turn in turns),
        sentences=tuple((one.record.id, one.start, one.end) for one in chosen),
        reasons=tuple("; ".join(one.signs) for one in chosen),
        why=f"{len(turns)} turns with {characters:,} characters, over since {day(last)}",
        tags=tuple(dict.fromkeys(tag for turn in turns for tag in turn.tags))[: rules.MAX_TAGS],
        trust=rules.lowest_trust(turn.trust for turn in turns),
        importance=max(turn.importance for turn in turns),
        occurred_at=turns[-1].occurred_at,
        user=turns[0].user,
        session=turns[0].session,
        participants=participants,
    )


def _shortened(name: str) -> Iterator[str]:
    """List a name, and what may be short for it."""
    yield from (name[:length] for length in range(SHORTEST_NAME, len(name)))
    yield name


def _headline(participants: Sequence[str], first: date, last: date) -> str:
    when = day(first) if first == last else f"{day(first)} to {day(last)}"
    names = [_name(name) for name in participants[:NAMED]]
    if len(participants) > NAMED:
        names.append(f"{len(participants) - NAMED} others")
    if len(names) > 1:
        return f"Conversation of {when} between {', '.join(names[:-1])} and {names[-1]}:"
    return f"What {names[0]} said on {when}:" if names else f"What happened on {when}:"


def day(when: date) -> str:
    """Write a day as people do."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def _line(sentence: Sentence) -> str:
    speaker = sentence.record.speaker
    return sentence.said if speaker is None else f"{_name(speaker)}: {sentence.said}"


def _name(speaker: str) -> str:
    """Make a name fit for a line: short, and without anything that looks like our marks."""
    return words.one_line(fence.tamed(speaker), LONGEST_NAME)


def _sentences(place: int, turn: Record, names: frozenset[str]) -> Iterator[Sentence]:
    """Find the sentences of a turn that tell something; a greeting is not its first."""
    is_first = True
    for span in spans(turn.content):
        signs = ["comes first"] * is_first + ["is one of a list"] * span.listed
        sentence = _weighed(place, turn, span, names, signs)
        if sentence is not None:
            yield sentence
            is_first = False


def spans(content: str) -> Iterator[Span]:
    """Find the sentences of a text, in any script. Code and our fence hold none."""
    if fence.OPEN in content:
        content = fence.masked(content)
    content = content[:LOOKED_AT]
    if "```" in content or "~~~" in content:
        content = CODE.sub(_blank, content)
    for line in LINE.finditer(content):
        listed = bool(ITEM.match(line.group()))
        for whole in _ended(content, line.start(), line.end()):
            for start, end in _pieces(content, *whole):
                beginning = BEGINNING.match(content, start, end)
                start = beginning.end() if beginning else start
                said = content[start:end].rstrip()
                if said:
                    yield Span(start, start + len(said), listed)


def _blank(found: re.Match[str]) -> str:
    """Blank out a match with its own length, so that all else keeps its position."""
    return "\n" * len(found.group())


def _ended(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a line at the marks that end a sentence."""
    for mark in END.finditer(content, start, end):
        if mark.group() == "." and _is_abbreviated(content, start, mark):
            continue
        yield start, mark.end()
        start = mark.end()
    yield start, end


def _is_abbreviated(content: str, start: int, mark: re.Match[str]) -> bool:
    """Tell if a point belongs to the word before it: a title, an initial, a number of a day."""
    near = max(start, mark.start() - LAST_WORD.longest)
    word = LAST_WORD.search(content, near, mark.start())
    if word is None:
        return False
    last = word.group().strip(MARKS)
    is_alone = near == start and last == content[start : mark.start()].strip(MARKS)
    is_number = last.isdecimal() and (is_alone or bool(MONTH.match(content, mark.end())))
    is_initial = len(last) == 1 and last.isupper() and last != "I"
    return is_number or is_initial or last.lower() in ABBREVIATED


def _pieces(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a text that is too long for a sentence where it pauses."""
    while end - start > LONGEST:
        pauses = PAUSE.finditer(content, start + LONGEST // 2, start + LONGEST)
        cut = max((pause.end() for pause in pauses), default=start + LONGEST)
        yield start, cut
        start = cut
    yield start, end


def _weighed(
    place: int, turn: Record, span: Span, names: frozenset[str], signs: Sequence[str]
) -> Sentence | None:
    """Weigh a sentence and list the signs of its worth; None if it says too little."""
    said = turn.content[span.start : span.end]
    if len(said) < SHORTEST or UNFINISHED.search(said, len(said) - SHORTEST) or fence.CLOSE in said:
        return None
    asked = words.asked(said)
    telling = frozenset(asked) - COMMON - names
    if len(asked) < FEWEST_WORDS or not telling or sum(map(str.isalnum, said)) < len(said) / 2:
        return None
    signs = [sign for sign, shows in _signs(said, asked, turn, names) if shows] + [*signs]
    worth = sum(WORTH[sign] for sign in signs) + WORD_WORTH * min(len(telling), MOST_WORDS)
    if worth < LEAST:
        return None
    signs.append(f"{len(telling)} telling {'word' if len(telling) == 1 else 'words'}")
    price = round(LENGTH_PRICE * log(len(said)), 3)  # no machine's last digit decides
    return Sentence(place, turn, span.start, span.end, telling, worth - price, tuple(signs))


def _signs(
    said: str, asked: Collection[str], turn: Record, names: frozenset[str]
) -> Iterator[tuple[str, bool]]:
    yield "says when", bool(dates.find(said, turn.occurred_at))
    yield "gives a number", bool(NUMBER.search(said))
    yield "names", any(name.casefold() not in names for name in NAME.findall(said))
    yield "quotes", bool(QUOTE.search(said))
    yield "tells of the speaker", not FIRST_PERSON.isdisjoint(asked) or bool(ABOUT_ME.search(said))
    yield "tells what was done", not DONE.isdisjoint(asked) or bool(REGULAR.search(said))
    yield "speaks to the other", not SECOND_PERSON.isdisjoint(asked) or bool(ABOUT_YOU.search(said))
    yield "is polite", bool(OPENING.match(said))
    yield "hangs on what was said before", bool(HANGING.match(said))


def _chosen(sentences: Iterable[Sentence], share: int, room: int) -> list[Sentence]:
    """Choose the sentences that add most to those before them, in the order they were said.

    Together they have at most `share` characters, and as lines at most `room`.
    """
    left = sorted(sentences, key=lambda one: (-one.worth, one.turn, one.start))[:COMPARED]
    known = [0.0] * len(left)  # how much of each is said by one that was chosen
    chosen: list[Sentence] = []
    while left and len(chosen) < MOST_SENTENCES:
        values = [one.worth - REPETITION * part for one, part in zip(left, known, strict=True)]
        place = values.index(max(values))
        best, _ = left.pop(place), known.pop(place)
        size, line = best.end - best.start, len(_line(best)) + 1
        if size <= share and line <= room:
            chosen.append(best)
            share, room = share - size, room - line
            known = [max(part, _shared(one, best)) for one, part in zip(left, known, strict=True)]
            new = [part < SAME for part in known]
            left, known = list(compress(left, new)), list(compress(known, new))
    return sorted(chosen, key=lambda one: (one.turn, one.start))


def _shared(one: Sentence, other: Sentence) -> float:
    """Compute the share of a sentence's telling words that another one has."""
    return len(one.words & other.words) / len(one.words) if one.words else 1.0
