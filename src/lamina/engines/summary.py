"""Summarise verbose episodes in a few of their own sentences, each traceable (S3). Pure.

Design choices:

- A summary quotes. Nothing is reworded, so nothing is invented; a sentence is a span of a turn, and
the turns are its evidence.
- An episode is a conversation, or the notes of a day without a session. It is verbose if it has
2,000 characters or more, in one long record or many turns. Shorter ones are summarised together
if three or more of them are about the same topic and verbose together.
- A summary depends only on the turns that it summarises.
- Turns in a summary are not summarised again, so there is at most one per 2,000 characters.
- A sentence is weighed by its information: when, who, how many, what was done, rare words.
Greetings, thanks, questions, compliments and common words count little. Repetitions in other
words are left out.
- External turns are summarised separately (V8), and text inside our fence not at all (Q9).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import compress, zip_longest
from math import log, sqrt
from typing import Any, NamedTuple

import msgspec

from lamina.model import rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.text import dates, fence, persons, words
from lamina.text.patterns import bounded

ORIGIN = "sleep"
WHOLE = ("raw_hash", "turns_hash")  # hashes that only the record of a whole conversation has
# The length from which an episode is verbose, and the silence after which it is over.
FEWEST_CHARACTERS = 2000
SILENCE = timedelta(hours=6)
# Episodes that are summarised together: their minimal number, the minimal length of each, and how
# many of the latest are compared in a night. They are about one topic if the cosine of their
# informative words is at least this, or less with a shared tag; words are weighted by rarity.
FEWEST_EPISODES, SHORTEST_EPISODE, MOST_EPISODES = 3, 200, 300
ALIKE, ALIKE_BESIDE_A_TAG = 0.2, 0.1
USUAL_EPISODES = 50  # added to the number of episodes, since among three every word is common
TOPIC_WORDS = 3  # words that name the topic
# The maximum length of a summary.
SHARE = 0.15
MOST_SENTENCES = 12
ROOM = 2000
SHORTEST, LONGEST = 10, 400  # characters of a sentence; a longer one is split at pauses
LOOKED_AT = 16 * 1024  # characters of a turn; a pasted book is no conversation
FEWEST_WORDS = 4
NAMED = 3  # participants named in the headline
SHORTEST_NAME, LONGEST_NAME = 3, 60
COMPARED = 240  # the best sentences, from which the summary is chosen

# The value of a sentence in hundredths. Length has a price: fewer words for the same are better.
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
LEAST = 180  # the minimal value of a sentence before the price of its length
LENGTH_PRICE = 60  # per e-fold of the length
REPETITION = 250  # the price if all words are in a sentence that was already chosen
SAME = 0.75  # the share of such words with which it says the same

LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.S | re.M)
END = re.compile(
    rf"[.!?…。！？｡{words.PICTURE[1:-1]}](?:"  # what it may begin with: found without a branch
    r"(?<=[.!?…])(?<![.!?…].)[.!?…]*+[\"')\]”’»*_]*+(?=\s|$)|(?<=[。！？｡])[。！？｡]*+[」』”）\"]*+"
    rf"|(?<={words.PICTURE})(?<!{words.PICTURE}.)(?<![\ufe0f\u200d].)"
    rf"[\ufe0f\u200d]*+(?:{words.PICTURE}[\ufe0f\u200d]*+)*+(?=\s|$))"
)
PAUSE = re.compile(r"[,;:،、，；：]\s*|\s+[-–—]\s+|\s+")
LAST_WORD = bounded(r"[^\s(\"'“‘]+$", longest=20)
MARKS = "*_# \t"
ABBREVIATED = frozenset(
    "mr mrs ms dr prof st vs e.g i.e eg ie jr sr inc ltd approx ca z.b bzw nr".split()
)
MONTH = re.compile(r"\s(?:jan|feb|m[aä]r|apr|ma[ijy]|jun|jul|aug|sep|o[kc]t|nov|de[czs])", re.I)
# What may precede a sentence: bullets, numbers of a list, marks of a heading and emoji.
ITEM = re.compile(r"\s*(?:[-*•>#|+–]+|\d{1,2}[.)])\s+")
BEGINNING = re.compile(rf"(?:{ITEM.pattern})*[^\w\"“„«‘'(\[$€£¥¿¡@+*-]*")
# Irregular past forms of activities; the regular ones end in -ed.
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
# Questions, headings and announcements state nothing.
UNFINISHED = re.compile(r"(?:[?？؟:：][\"'”’)\]」』*]*|(?<![.!。！])\*\*)$")
QUOTE = re.compile(r"[\"“«„「『]\w")
# Common words, which tell nothing about the topic of a conversation.
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
    """A summary of a conversation in a few of its own sentences."""

    content: str
    evidence: tuple[str, ...]  # all its turns, in order
    sentences: tuple[tuple[str, int, int], ...]  # the turn of each, with its start and end there
    reasons: tuple[str, ...]  # why each sentence was chosen, in words
    why: str
    tags: tuple[str, ...]
    trust: Trust
    importance: float
    occurred_at: datetime
    user: str | None
    session: str | None
    participants: tuple[str, ...]
    project: str | None = None

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of its record: the source of each sentence, and the marker of a summary."""
        return {
            "origin": ORIGIN,
            "participants": list(self.participants),
            "sentences": [list(place) for place in self.sentences],
        }


class Span(NamedTuple):
    """The start and end of a sentence, and whether it is in a list."""

    start: int
    end: int
    listed: bool


class Sentence(NamedTuple):
    """A sentence of a turn, and its value."""

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
    """Summarise what is verbose, over, and not yet in `summarised` (ids of turns), oldest first."""
    done = frozenset(summarised)
    groups: dict[tuple[Any, ...], dict[str, Record]] = {}
    for turn in turns:
        if turn.id not in done and _is_turn(turn):
            groups.setdefault(_conversation(turn), {})[turn.id] = turn
    conversations = (sorted(group.values(), key=_age) for group in groups.values())
    parts = [part for conversation in conversations for part in _parts(conversation, now)]
    verbose = [part for part in parts if _characters(part) >= FEWEST_CHARACTERS]
    short = [part for part in parts if _characters(part) < FEWEST_CHARACTERS]
    planned = [(part, _headline_of(part)) for part in verbose] + list(_about_one_thing(short))
    summaries = (_summary(*one) for one in sorted(planned, key=lambda one: _age(one[0][-1])))
    return [summary for summary in summaries if summary is not None]


def is_summary(record: Record) -> bool:
    """Tell if a record is one of our summaries, which are not summarised again."""
    return record.metadata.get("origin") == ORIGIN and "sentences" in record.metadata


def is_of_turns(record: Record) -> bool:
    """Tell if a record summarises turns, or is that of a whole conversation, which cites them."""
    return not record.metadata.keys().isdisjoint(WHOLE) or is_summary(record)


def _is_turn(record: Record) -> bool:
    """Tell if a record is itself what was said or done, so that it may be quoted."""
    if record.layer is not Layer.EPISODIC or record.state is not State.ACTIVE:
        return False
    return record.archived is None and record.speaker != "system" and not is_of_turns(record)


def _conversation(record: Record) -> tuple[Any, ...]:
    """Return the key by which turns belong together: user, session or day, and if external."""
    today = None if record.session is not None else record.occurred_at.date()
    return record.user, record.session, today, record.trust is Trust.EXTERNAL


def _age(record: Record) -> tuple[datetime, int, str]:
    return record.occurred_at, record.seq, record.id


def _characters(turns: Iterable[Record]) -> int:
    return sum(len(turn.content) for turn in turns)


def _parts(turns: Sequence[Record], now: datetime) -> Iterator[list[Record]]:
    """Split a conversation into parts that are over: each ends at a silence, once it is verbose.

    The last part may be shorter.
    """
    part: list[Record] = []
    characters = 0
    for turn, after in zip_longest(turns, turns[1:]):
        part.append(turn)
        characters += len(turn.content)
        until = now if after is None else after.occurred_at
        is_whole = after is None or characters >= FEWEST_CHARACTERS
        if is_whole and until - turn.occurred_at >= SILENCE:
            yield part
            part, characters = [], 0


class Episode(NamedTuple):
    """A short episode, its tags, and the weights of the words that describe its topic."""

    turns: Sequence[Record]
    tags: frozenset[str]
    weights: Mapping[str, float]

    def is_like(self, other: Episode) -> bool:
        product = sum(weight * other.weights.get(word, 0) for word, weight in self.weights.items())
        is_tagged = not self.tags.isdisjoint(other.tags)
        # Rounded, so that differences between machines do not matter.
        return round(product, 6) >= (ALIKE_BESIDE_A_TAG if is_tagged else ALIKE)


def _about_one_thing(parts: Iterable[Sequence[Record]]) -> Iterator[tuple[list[Record], str]]:
    """Group short episodes that are about one topic and verbose together, with a headline.

    All episodes of a group are similar to its first one.
    """
    groups: dict[tuple[str | None, bool], list[list[Episode]]] = {}
    long_enough = [one for one in _apart(parts) if _characters(one) >= SHORTEST_EPISODE]
    latest = sorted(long_enough, key=lambda part: _age(part[-1]))[-MOST_EPISODES:]
    for episode in _episodes(latest):
        first = episode.turns[0]
        listed = groups.setdefault((first.user, first.trust is Trust.EXTERNAL), [])
        group = next((group for group in listed if episode.is_like(group[0])), None)
        if group is None:
            listed.append([episode])
        else:
            group.append(episode)
    for group in (group for listed in groups.values() for group in listed):
        turns = sorted((turn for episode in group for turn in episode.turns), key=_age)
        if len(group) >= FEWEST_EPISODES and _characters(turns) >= FEWEST_CHARACTERS:
            yield turns, f"About {_topic(group)}, {_when(turns)}:"


def _apart(parts: Iterable[Sequence[Record]]) -> Iterator[Sequence[Record]]:
    """Separate the notes of a day without a session, since each has its own topic."""
    for part in parts:
        if part[0].session is None:
            yield from ([note] for note in part)
        else:
            yield part


def _episodes(parts: Sequence[Sequence[Record]]) -> Iterator[Episode]:
    """Weigh the words of each part: words in few of the parts count most."""
    telling = [_telling(part) for part in parts]
    holders = Counter(word for found in telling for word in found)
    for part, found in zip(parts, telling, strict=True):
        weights = {word: log((USUAL_EPISODES + len(parts)) / holders[word]) for word in found}
        length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        tags = frozenset(tag for turn in part for tag in turn.tags)
        yield Episode(part, tags, {word: weights[word] / length for word in sorted(weights)})


def _telling(turns: Sequence[Record]) -> frozenset[str]:
    """Collect the words of an episode that describe its topic."""
    said = frozenset(word for turn in turns for word in words.asked(turn.content[:LOOKED_AT]))
    speakers = (turn.speaker or "" for turn in turns)
    return said - COMMON - {name for speaker in speakers for name in words.asked(speaker)}


def _topic(group: Sequence[Episode]) -> str:
    """Name the topic of episodes by the words that most of them share."""
    sums: dict[str, float] = {}
    counts = Counter(word for episode in group for word in episode.weights)
    for episode in group:
        for word, weight in episode.weights.items():
            sums[word] = round(sums.get(word, 0) + weight, 6)
    named = (word for word in sums if not word.isdecimal())
    ranked = sorted(named, key=lambda word: (-counts[word], -sums[word], word))
    return ", ".join(ranked[:TOPIC_WORDS])


def _summary(turns: Sequence[Record], headline: str) -> Summary | None:
    """Summarise turns below a headline; None if they have no sentence to quote."""
    participants = _participants(turns)
    called = (name for speaker in participants for name in words.asked(speaker))
    names = frozenset(short for name in called for short in _shortened(name))
    sentences = [one for place, turn in enumerate(turns) for one in _sentences(place, turn, names)]
    characters = _characters(turns)
    chosen = _chosen(sentences, int(SHARE * characters), ROOM - len(headline))
    if not chosen:
        return None
    count, last = words.counted(len(turns), "turn"), day(turns[-1].occurred_at.date())
    return Summary(
        content="\n".join([headline, *map(_line, chosen)]),
        evidence=tuple(turn.id for turn in turns),
        sentences=tuple((one.record.id, one.start, one.end) for one in chosen),
        reasons=tuple("; ".join(one.signs) for one in chosen),
        why=f"{count} with {characters:,} characters, over since {last}",
        tags=tuple(dict.fromkeys(tag for turn in turns for tag in turn.tags))[: rules.MAX_TAGS],
        trust=rules.lowest_trust(turn.trust for turn in turns),
        importance=max(turn.importance for turn in turns),
        occurred_at=turns[-1].occurred_at,
        user=turns[0].user,
        session=turns[0].session if len({turn.session for turn in turns}) == 1 else None,
        participants=participants,
        project=turns[0].project if len({turn.project for turn in turns}) == 1 else None,
    )


def _participants(turns: Iterable[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker is not None))


def _shortened(name: str) -> Iterator[str]:
    """Yield a name, and possible short forms of it."""
    yield from (name[:length] for length in range(SHORTEST_NAME, len(name)))
    yield name


def _when(turns: Sequence[Record]) -> str:
    first, last = turns[0].occurred_at.date(), turns[-1].occurred_at.date()
    return day(first) if first == last else f"{day(first)} to {day(last)}"


def _headline_of(turns: Sequence[Record]) -> str:
    """Write a headline with the participants and the date of a conversation."""
    participants, when = _participants(turns), _when(turns)
    names = [_name(name) for name in participants[:NAMED]]
    if len(participants) > NAMED:
        names.append(f"{len(participants) - NAMED} others")
    if len(names) > 1:
        return f"Conversation of {when} between {', '.join(names[:-1])} and {names[-1]}:"
    return f"What {names[0]} said on {when}:" if names else f"What happened on {when}:"


def day(when: date) -> str:
    """Format a day for people."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def _line(sentence: Sentence) -> str:
    speaker = sentence.record.speaker
    return sentence.said if speaker is None else f"{_name(speaker)}: {sentence.said}"


def _name(speaker: str) -> str:
    """Format a name for a line: short, and without anything that looks like our marks."""
    return words.one_line(fence.tamed(speaker), LONGEST_NAME)


def _sentences(place: int, turn: Record, names: frozenset[str]) -> Iterator[Sentence]:
    """Yield the sentences of a turn with enough information; a greeting does not count as first."""
    is_first = True
    for span in spans(turn.content):
        signs = ["comes first"] * is_first + ["is one of a list"] * span.listed
        sentence = _weighed(place, turn, span, names, signs)
        if sentence is not None:
            yield sentence
            is_first = False


def spans(content: str) -> Iterator[Span]:
    """Yield the sentences of a text in any script. Code and our fence have none."""
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
    """Replace a match with blanks of the same length, so that positions do not change."""
    return "\n" * len(found.group())


def _ended(content: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a line at the marks that end a sentence."""
    for mark in END.finditer(content, start, end):
        if mark.group() == "." and _is_abbreviated(content, start, mark):
            continue
        yield start, mark.end()
        start = mark.end()
    yield start, end


def _is_abbreviated(content: str, start: int, mark: re.Match[str]) -> bool:
    """Tell if a full stop belongs to the word before it: a title, an initial, an ordinal."""
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
    """Split a text that is too long for a sentence at its pauses."""
    while end - start > LONGEST:
        pauses = PAUSE.finditer(content, start + LONGEST // 2, start + LONGEST)
        cut = max((pause.end() for pause in pauses), default=start + LONGEST)
        yield start, cut
        start = cut
    yield start, end


def _weighed(
    place: int, turn: Record, span: Span, names: frozenset[str], signs: Sequence[str]
) -> Sentence | None:
    """Weigh a sentence and list the reasons; None if it says too little."""
    said = turn.content[span.start : span.end]
    if len(said) < SHORTEST or UNFINISHED.search(said, len(said) - SHORTEST) or fence.CLOSE in said:
        return None
    asked = words.asked(said)
    telling = frozenset(asked) - COMMON - names
    if len(asked) < FEWEST_WORDS or not telling or not _is_prose(said, asked):
        return None
    signs = [sign for sign, shows in _signs(said, asked, turn, names) if shows] + [*signs]
    worth = sum(WORTH[sign] for sign in signs) + WORD_WORTH * min(len(telling), MOST_WORDS)
    if worth < LEAST:
        return None
    signs.append(f"{len(telling)} telling {'word' if len(telling) == 1 else 'words'}")
    price = round(LENGTH_PRICE * log(len(said)), 3)  # the same on every machine
    return Sentence(place, turn, span.start, span.end, telling, worth - price, tuple(signs))


def _is_prose(said: str, asked: Sequence[str]) -> bool:
    """Tell if at least half of the characters are letters or digits; the words mostly show it."""
    if said.isascii() and 2 * sum(map(len, asked)) >= len(said):
        return True
    return 2 * sum(map(str.isalnum, said)) >= len(said)


def _signs(
    said: str, asked: Collection[str], turn: Record, names: frozenset[str]
) -> Iterator[tuple[str, bool]]:
    yield "says when", bool(dates.find(said, turn.occurred_at))
    yield "gives a number", bool(NUMBER.search(said))
    yield "names", any(name.casefold() not in names for name in NAME.findall(said))
    yield "quotes", bool(QUOTE.search(said))
    yield "tells of the speaker", persons.tells_of_speaker(said, asked)
    yield "tells what was done", not DONE.isdisjoint(asked) or bool(REGULAR.search(said))
    yield "speaks to the other", persons.speaks_to_other(said, asked)
    yield "is polite", bool(OPENING.match(said))
    yield "hangs on what was said before", bool(HANGING.match(said))


def _chosen(sentences: Iterable[Sentence], share: int, room: int) -> list[Sentence]:
    """Choose the sentences that add most to those before them, in the order they were said.

    Together they have at most `share` characters, and as lines at most `room`.
    """
    left = sorted(sentences, key=lambda one: (-one.worth, one.turn, one.start))[:COMPARED]
    known = [0.0] * len(left)  # how much of each is already said by a chosen one
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
    """Return the share of a sentence's informative words that another one has."""
    return len(one.words & other.words) / len(one.words) if one.words else 1.0
