"""The words of a turn with the kinds that the open form needs. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from lamina.engines.claims.sentences import MASK

# A word, including characters inside a path, a version or an amount, or a mark.
WORD = re.compile(
    rf"{MASK}++|[£$€#~]?[^\W_]++(?:(?:['’.&+/@:#%_–-]++|,(?=\d))[^\W_]++)*+[+%#]*+|[.,;:!?()\n…\"–—=/+-]"
)
# The kinds of words.
SELF, THEY, OTHER, MY, THEIR, YOUR = "self", "they", "other", "my", "their", "your"
ARTICLE, PREPOSITION, BE, HAVE, DO, MODAL, NOT = "art", "prep", "be", "have", "do", "modal", "not"
JOINT, CUT, ADVERB, MARK, COMMA, NUMBER, NAME, PLAIN = (
    *("joint", "cut", "adv", "mark", "comma", "number", "name", "word"),
)
LONG_WORD = 40  # characters; longer words rarely occur again, and are not cached
UNSEEN = "unseen"  # an address or code, which other rules do not read


def _kinds(listed: Mapping[str, str]) -> dict[str, str]:
    return {word: kind for kind, words in listed.items() for word in words.split()}


KINDS = _kinds(
    {
        SELF: "i we",
        THEY: "he she they",
        OTHER: "you it this that there these those who everyone everybody nobody someone somebody"
        " people which me us him them u here",
        MY: "my our",
        THEIR: "his her their its",
        YOUR: "your ur",
        ARTICLE: "the a an some any another every each no",
        PREPOSITION: "in at on with for from to by of as into onto near behind under over about"
        " through without within between until till since via per during after before around"
        " against across inside outside toward towards upon w",
        BE: "am is are was were be been being 's =",
        HAVE: "have has had 've",
        DO: "do does did",
        MODAL: "will would can could should may might must shall 'll 'd gonna wanna",
        NOT: "not never n't",
        JOINT: "and or & n plus",
        CUT: "but because so which when while if than then though although unless where cause cos"
        " coz whether how what why that bc except instead whereas otherwise once let's",
        ADVERB: "just also really now currently still already usually normally always often"
        " actually finally recently mostly mainly basically only even ever probably honestly"
        " definitely officially generally typically sometimes originally nearly almost both all"
        " apparently literally simply alone again today yesterday tonight tomorrow lately soon"
        " newly formerly previously temporarily rarely seldom hardly quite very too so-called"
        " right kinda totally regularly mainly jus",
    }
)
# Greetings and similar words before a clause.
ASIDES = frozenset(
    "hi hey hello ok okay oh well yes yeah no nope please pls thanks thx btw fyi anyway lol haha"
    " ugh hmm sorry morning quick also plus and so but honestly yep hiya then".split()
)
SUFFIXES = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would", "'s": "'s"}
# Written without an apostrophe.
RUSHED = {
    "im": ("i", "am"), "ive": ("i", "have"), "ill": ("i", "will"), "id": ("i", "would"),
    "dont": ("do", "not"), "doesnt": ("does", "not"), "didnt": ("did", "not"),
    "cant": ("can", "not"), "cannot": ("can", "not"), "wont": ("will", "not"),
    "isnt": ("is", "not"), "arent": ("are", "not"), "wasnt": ("was", "not"),
    "havent": ("have", "not"), "hasnt": ("has", "not"), "couldnt": ("could", "not"),
    "hes": ("he", "is"), "shes": ("she", "is"), "theyre": ("they", "are"),
    "weve": ("we", "have"), "its": ("it", "is"), "thats": ("that", "is"), "whats": ("what", "is"),
    "youre": ("you", "are"), "theyve": ("they", "have"),
}  # fmt: skip
BORDERS = frozenset({MARK, COMMA, CUT})


class Word(NamedTuple):
    """A word or a mark of a turn, in lower case, with its kind and its span."""

    text: str
    kind: str
    start: int
    end: int


@lru_cache(2)  # both the open form and the network read each turn
def split(plain: str) -> tuple[Word, ...]:
    """Split a turn into words and marks; "I'm" and "don't" are two words each."""
    listed: list[Word] = []
    add = listed.append
    for found in WORD.finditer(plain):
        raw = found.group()
        start, end = found.span()
        word = raw.lower()
        kind = KINDS.get(word)
        if kind is None:
            if word in RUSHED:
                for part in RUSHED[word]:
                    add(Word(part, KINDS[part], start, end))
                continue
            if "'" in word and _contracted(raw, start, end, listed):
                continue
            kind = _kind(raw) if len(raw) <= LONG_WORD else _kind.__wrapped__(raw)
        elif raw == "May" or (raw == "A" and listed and listed[-1].kind == NAME):
            kind = NAME  # a month, "Series A"
        elif raw == "=" and plain[start - 1 : start] != " ":
            kind = MARK  # of a program, not of a note
        add(Word(word, kind, start, end))
    return tuple(listed)


def _contracted(raw: str, start: int, end: int, listed: list[Word]) -> bool:
    """If a word is a contraction, add its two words and return True."""
    head, mark, tail = raw.lower().rpartition("'")
    if tail == "t" and head.endswith("n"):
        head = {"ca": "can", "wo": "will"}.get(head[:-1], head[:-1])
        listed.append(Word(head, KINDS.get(head, PLAIN), start, end - 3))
        listed.append(Word("not", NOT, end - 3, end))
        return True
    second = SUFFIXES.get(mark + tail)
    if second is None or not head:
        return False
    cut = end - len(tail) - 1
    kind = KINDS.get(head) or _kind(raw[: cut - start])
    listed.append(Word(head, kind, start, cut))
    listed.append(Word(second, KINDS[second], cut, end))
    return True


@lru_cache(16_384)  # most words occur again
def _kind(raw: str) -> str:
    first = raw[0]
    if first == MASK:
        return UNSEEN
    if not (first.isalnum() or len(raw) > 1):
        return COMMA if first == "," else MARK
    if any(map(str.isdigit, raw)):
        return NUMBER
    return NAME if first.isupper() else PLAIN


def within(listed: Sequence[Word], start: int, end: int) -> tuple[int, int]:
    """Find the words of a span: the index of the first, and the one after the last."""
    first = bisect_left(listed, start, key=lambda word: word.start)
    return first, bisect_left(listed, end, lo=first, key=lambda word: word.start)
