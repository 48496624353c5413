"""Split turns into clauses that state, ask or suppose, and mask foreign words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from lamina.text import fence
from lamina.text.hints import hinted
from lamina.text.patterns import bounded

MASK = "\ufffc"  # stands for a character that the speaker did not say; offsets stay as they are
LONGEST = 20_000  # characters of one turn that are read

STRAIGHT = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\t": " "}
)
FOREIGN = hinted(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)"  # code
    r"|(?:https?://|www\.)\S+"  # addresses
    r"|^[ ]*>[^\n]*"  # a mail that is answered
    r"|\b(?:(?<=said)|(?<=says)|(?<=wrote)|(?<=writes)|(?<=reads)):\s[^\n]*"  # quoted speech
    r"|\[[^\]\n]{0,500}\]|</?[a-zA-Z][^>\n]{0,300}>",  # stage directions and marks
    re.S | re.M,
)
# A line of a program that stands outside a fence.
CODE_MARKS = frozenset("{}()[];=<>|&$\\")
LEAST_MARKS, MARKS_SHARE = 6, 0.08  # of a line of code: how many, and how many of its characters
CODE_SIGNS = re.compile(r"\{|\}|;|=>|==|\((?<=\w\()|</")  # found by what each begins with
# Looked for once in each word: most of a list of handles is no address.
MAIL = re.compile(r"(?<!\S)[^\w\s]*+(?P<mail>\w[^\s@]*+@\S+\.\w++)")
DIGIT, MARKS = "0", re.compile(r"\W")
# Not speech, and slow to read: wide gaps and endless words.
WIDEST = 20  # characters of a gap within a sentence
GAP = re.compile(rf"\s{{{WIDEST},}}+")
LONGEST_WORD = 100
ENDLESS = re.compile(rf"[^\s{MASK}]{{{LONGEST_WORD},}}+")
TASK = (
    r"translat\w+|proofread|rephrase|paraphrase|rewrite|reword|summari[sz]e|edit|review|correct"
    r"|improve|polish|analy[sz]e|shorten|fix the grammar|check the grammar|classify|extract"
)
PASTED = re.compile(
    rf"(?im)^(?:[^\n]{{0,60}}\b(?:can|could|please|to|you|help me)\b[^\n]{{0,20}})?(?:"
    rf"(?:{TASK})\b(?! \w*self\b)[^\n:]{{0,80}}"
    r"|[^\n]{0,80}\b(?:following|below|this|the) (?:article|e-?mail|text|essay|story|poem"
    r"|document|abstract|letter|transcript|paragraph|passage|page|post|message|code|log|review"
    r"|prompt)s?[^\n:]{0,60}):(?=\s)(?P<rest>.*)",
    re.S,
)
QUOTED = re.compile(
    r'"([^"\n]{1,600})"' r"|'(?<!\w')(?=[A-Za-z])((?:[^'\n]|'(?=\w)){2,300})'(?!\w)" r"|`([^`\n]+)`"
)
SPEECH = re.compile(r"\b(?:I|[Ww]e|[Mm]y|[Yy]ou|me|[Oo]ur)\b|[!?]")
TITLE_WORDS = 7  # a longer quotation is speech, not a title

TITLES = ("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Mt")  # abbreviations that begin a name
ABBREVIATED = re.compile(
    rf"(?:\b(?:{'|'.join(TITLES)}|Jr|Sr|vs|etc|e\.g|i\.e|a\.m|p\.m|No|approx|Inc|Ltd|Co)"
    r"|\b[A-Z])\Z"
)
# "am 3. März"
ORDINAL = re.compile(r"\d\. (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)[a-zä]*\b")
PICTURES = r"\U0001f300-\U0001faff\u2600-\u27bf"
END = re.compile(
    rf"(?=[\s–—;:.!?…{PICTURES}-])(?:"  # what it may begin with: most characters are none of these
    r"(?<!\s)\s++[-–—]++(?=\s)|[–—]+|--+|(?<=\w)-(?=\s)|;"
    r"(?=\s)"  # a dash ends what was said before it
    rf"|(?<![.!?…])[.!?…]++[\"')\]]*+(?=\s|\Z)|\n+|[{PICTURES}]+"
    r"|(?<=\s)[:;]['-]?[()DPp]+(?=\s|\Z))"  # faces
)

PRONOUN = (
    r"(?:I|we|he|she|they|you|it|there|my|our|his|her|their|this|that|these|those|everyone|nobody"
    r"|im|ive|i'm|i)(?:'\w+)?"
)
ASKED = (
    r"(?:(?:what|how|where|when|who|why|which)(?:'s|'re|'d| (?:is|are|was|were|do|does|did|can"
    r"|could|should|would|will|have|has|much|many|about|kind|type|sort|long|old|else))|(?:do|does"
    r"|did|can|could|will|would|should|are|is|was|were|have|has|shall|isn't|aren't|don't|doesn't"
    r"|didn't) (?:I|you|we|they|he|she|it|there|that|this|the|my|your|any|anyone)|any|got any|got a"
    r"|wanna|want to|care to|got time|need)\b(?! (?:of|more)\b)"
)
LINK = (
    "and|but|so|because|'cause|cause|cos|coz|cuz|as|since|when|while|after|before|though|although"
    "|even though|if|unless|until|till|where|which|who|that|than|whether|or|yet|then|plus|like(?!"
    " my| our)|how|except|once|whenever|what|why"
)
BREAK = re.compile(
    r"(?=[:(),\s])(?::(?=\s)|[()]"  # what it may begin with comes first, too
    rf"|(?:,|(?<!\s))\s++(?:(?P<link>{LINK})\s++)(?=(?:(?:also|now|then|today|even|just|so|yes"
    rf"|no)\s+)?{PRONOUN}\b)"
    r"|(?P<told>(?:(?<=told me)|(?<=told us)|(?<=tells me)|(?<=\bsays)|(?<=\bsaid)|(?<=reckons)"
    rf"|(?<=thinks)|(?<=tell you)|(?<=let you know))\s++)(?={PRONOUN}\b)|,\s++(?={PRONOUN}\b)|(?:,"
    rf"|(?<!\s))\s++(?:so|and|but)\s++(?={ASKED})|,\s++(?={ASKED})"
    r"|,\s++(?:which|(?P<who>who))\b|,\s++(?=if\b)|(?:,|(?<!\s))\s++and\s++(?=(?-i:[A-Z])[a-z]+"
    r"(?:'s|\s(?:has|is|was|had)\b))|,\s++(?:and|but|so|then)\s++(?=(?:since|from|as of|today"
    r"|yesterday|now|last|this|next|in|on|at)\b[^,]{0,25}\b(?:I|we|he|she)\b))",
    re.I,
)
# "Tom and I", "my kids and I" are one subject.
TOGETHER = bounded(
    r"\s*(?:(?:so|and|but|well|yes|no|then)\b,? )*(?:(?:my|our)(?: \w+){1,2}|(?-i:[A-Z])\w+|me)\Z",
    re.I,
)
# "Last week, I went": the time belongs to what follows.
FRONTED = bounded(
    r"\s*(?:(?:and|but|so|also|then|just|oh|btw|well),? )*(?:last|yesterday|today|tonight|tomorrow"
    r"|in|on|this|next|recently|lately|every|each|at|during|for|over|a few|two|three|the other"
    r"|back in|actually|unfortunately|luckily|sadly|finally|currently|these days|nowadays|one day"
    r"|after|before)\b(?:(?!\b(?:i|we|he|she|they|you|it|is|was|are|were)\b)[^,.!?]){0,45}\Z",
    re.I,
)
ASKING = bounded(
    rf"\s*(?:(?:so|and|but|well|hey|ok|okay|also|now|wow|yeah|oh)\b,?\s+)*{ASKED}", re.I
)
# "..., right?": only the last clause asks.
TAG = re.compile(
    r",? (?:right|huh|eh|yeah|no|isn't it|aren't they|don't you think|you know|innit)\Z", re.I
)
# A statement of one's own, before a question.
STATED = bounded(
    r"\s*(?:(?:so|and|but|ok|okay|also|hi|hey|well)\b,?\s+)*(?:i|we|my|our|he|she|they|his|her"
    r"|their|the)(?:'\w+)?\s",
    re.I,
)
INVERTED = bounded(
    r"\s*(?:(?:so|and|but|well|hey|also|ok|okay|please|pls)\b,?\s+)*(?:(?:what|how|where|when|who"
    r"|why)(?:'s|'re| \w+)? (?:is|are|can|could|do|does|did|should|would|will|I|a)\b|(?:can|could"
    r"|would|will|do|does|did|are|have|should) (?:you|I|we|they|it)\b)",
    re.I,
)
DOUBT = hinted(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|imagin(?:e|ing)|pretend(?:ing)?|wish(?:ed|es|ing)?"
    r"|maybe|perhaps|probably|possibly|might|hypothetically|theoretically|as though|let's say"
    r"|in another life|i guess|i suppose|i think i|not sure|unsure|(?<!always )dream(?:t"
    r"|ed)(?! of\b)|who knows|toying|would've|would have|could've|could have|should've"
    r"|should have|almost|nearly|act as|role-?play|rumou?r)\b|\bi'd have\b|\bas if\b",
    re.I,
)
# What follows these is said in a part that somebody plays.
PLAY = hinted(
    r"\b(?:pretend(?:ing)? (?:that )?(?:you|we|i)\b|let's pretend|imagine (?:that )?you(?:'re| are)"
    r"|role-?play (?:as|that|an?|the|with me|where)|(?:act|speak|write|answer) as (?:if|though) you"
    r"|(?:play|take) the (?:part|role) of|act as|in (?:the )?(?:voice|role|persona) of)\b",
    re.I,
)
SARCASM = hinted(
    r"(?:^|\s)/s\b|\byeah,? right\b|\bas if!|\boh sure,|\bsure, and I'm\b|\.{3} not!"
    r"|\bjust kidding\b|\bjk\b",
    re.I,
)
# Whom a note without a speaker is about, as agents write it.
USER = re.compile(r"\b(?:the )?user\b(?='s\b|\s)", re.I)


class Clause(NamedTuple):
    """A part of a turn with at most one subject, as a rule."""

    start: int
    end: int
    sentence: int  # which sentence it belongs to
    link: str  # the word that joins it to what comes before
    asks: bool
    doubted: bool  # supposed, hedged or joked


def said(text: str) -> str:
    """Mask all that the speaker did not say, and straighten quotation marks; the length stays."""
    plain = text.translate(STRAIGHT)[:LONGEST]
    if fence.OPEN in plain:
        plain = fence.masked(plain, MASK)
    plain = _without_code(FOREIGN.sub(_masked, plain))
    if "@" in plain:
        plain = MAIL.sub(_mailed, plain)
    plain = QUOTED.sub(_quoted, plain)
    if ":" in plain and (pasted := PASTED.search(plain)):
        start, end = pasted.span("rest")
        plain = plain[:start] + MASK * (end - start) + plain[end:]
    plain = GAP.sub(lambda gap: "\n" * len(gap.group()), plain)
    # Splitting is much faster than looking for an endless word at each letter.
    is_endless = max(map(len, plain.split()), default=0) >= LONGEST_WORD
    return ENDLESS.sub(_masked, plain) if is_endless else plain


def noted(plain: str) -> str:
    """Read "the user" in a note as the name of a person; the length stays."""
    return USER.sub(lambda found: "User".rjust(len(found.group())), plain)


def by_sentence(clauses: Iterable[Clause]) -> Iterator[list[Clause]]:
    """Group clauses by the sentence that they are in."""
    for _, some in groupby(clauses, lambda clause: clause.sentence):
        yield list(some)


def clauses(plain: str) -> Iterator[Clause]:
    """Split a turn into clauses, in their order."""
    played = PLAY.search(plain)
    stage = played.start() if played else len(plain)
    for number, (start, end, asks) in enumerate(_sentences(plain)):
        parts = list(_parts(plain, start, end))
        if not parts:
            continue  # nothing but marks: ", ?"
        parts = list(_told_before(plain, parts)) if asks else parts
        asking = _first_asking(plain, parts, end) if asks else len(parts)
        joked = bool(SARCASM.search(plain, start, end))
        supposed = False
        for place, (first, last, link) in enumerate(parts):
            asked = place >= asking or bool(INVERTED.match(plain, first, last))
            doubted = joked or last > stage or link in ("if", "unless", "whether", "like")
            doubted = doubted or bool(DOUBT.search(plain, first, last))
            doubted = doubted or (supposed and "'ll" in plain[first:last])
            supposed = supposed or link == "if" or plain[first : first + 3].lower() == "if "
            yield Clause(first, last, number, link, asked, doubted)


def _told_before(
    plain: str, parts: Sequence[tuple[int, int, str]]
) -> Iterator[tuple[int, int, str]]:
    """Cut off the question behind a statement: "She's 9 kilos, how worried should I be?"."""
    *told, (first, last, link) = parts
    yield from told
    comma = plain.rfind(",", first, last)
    if comma < 0 or told or not STATED.match(plain, first, comma):
        yield first, last, link
        return
    yield first, comma, link
    yield comma + 1, last, "?"


def _first_asking(plain: str, parts: Sequence[tuple[int, int, str]], end: int) -> int:
    """Find the part of a sentence that begins to ask: what comes before it is stated."""
    for number, (first, last, link) in enumerate(parts):
        if link == "?" or ASKING.match(plain, first, last):
            return number
    is_tag = bool(TAG.search(plain, max(0, end - 30), end))
    return len(parts) - 1 if is_tag else 0


def _sentences(plain: str) -> Iterator[tuple[int, int, bool]]:
    """Find where sentences begin and end, and whether they end with a question mark."""
    start = 0
    for found in END.finditer(plain):
        end = found.start()
        if found.group() == "." and ABBREVIATED.search(plain, max(0, end - 6), end):
            continue
        if found.group() == "." and ORDINAL.match(plain, max(0, end - 1)):
            continue
        if plain[start:end].strip():
            yield start, end, "?" in found.group()
        start = found.end()
    if plain[start:].strip():
        yield start, len(plain), False


def _parts(plain: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Cut a sentence into parts, each with the word that links it to the one before."""
    link = ""
    for found in BREAK.finditer(plain, start, end):
        part = plain[start : found.start()]
        is_joined = TOGETHER.match(part) if (found["link"] or "").lower() == "and" else None
        if is_joined or (found.group()[0] == "," and FRONTED.match(part)):
            continue
        if plain[start : found.start()].strip(" ,"):
            yield start, found.start(), link
        link = "that" if found["told"] else "who" if found["who"] else (found["link"] or "").lower()
        start = found.end()
    if plain[start:end].strip(" ,"):
        yield start, end, link


def _without_code(plain: str) -> str:
    """Mask lines of programs: what they assign is nothing that anybody has."""
    if not CODE_SIGNS.search(plain):
        return plain
    return "\n".join(MASK * len(line) if _is_code(line) else line for line in plain.split("\n"))


def _is_code(line: str) -> bool:
    marks = sum(map(CODE_MARKS.__contains__, line))
    is_full = marks >= LEAST_MARKS and marks >= MARKS_SHARE * len(line)
    return is_full and CODE_SIGNS.search(line) is not None


def _masked(found: re.Match[str]) -> str:
    return MASK * len(found.group())


def _mailed(found: re.Match[str]) -> str:
    """Make one word of an address: it is a value, and none of the words in it is said."""
    return found.string[found.start() : found.start("mail")] + MARKS.sub(DIGIT, found["mail"])


def _quoted(found: re.Match[str]) -> str:
    """Mask a quotation, unless it may be a title, or a command: `make check`."""
    words = found.group(1) or found.group(2) or found.group(3)
    is_speech = len(words.split()) > TITLE_WORDS or SPEECH.search(words)
    return _masked(found) if is_speech else found.group()
