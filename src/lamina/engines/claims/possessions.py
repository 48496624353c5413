"""Rules for what a person has: bought, made, driven, run."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import phrase, rule, then
from lamina.engines.claims.words import either

OWNED = either(words.POSSESSIONS) + (
    r"(?:e?s)?(?! (?:lesson|appointment|class|show|concert|game|trip|ride|accident|problem|issue"
    r"|trouble|payment|insurance|repair|test|club|tour|race|meeting|idea|question))"
)
COUNTED = (
    r"\s(?:(?<!got )the|an?|my own|two|three|\d|this|another|the same|some|lots of|a few|my|our)"
    r"\s(?:(?!(?:from|of|with|for|at|in|on|about|to) )[\w-]+ ){0,2}?"
)
FLEETING = (
    "job haircut idea perspective role position hobby look friend boyfriend girlfriend chance"
    " questions? offers? help advice time work leads pics? photos? sleep rest feedback news plans?"
    " things? stuff tips? ideas thoughts fun memories experience friends puppy kitten dog cat"
    " apartment level goals? projects? tests? appointment meeting degree"
)
NOT_OWNED = rf"(?!\s(?:[\w-]+ ){{1,3}}(?:{'|'.join(FLEETING.split())})\b)"
VENTURE = (
    r"(?:store|business|shop|studio|company|cafe|restaurant|bakery|salon|brand|startup|clinic|farm"
    r"|website|blog|channel|podcast|bookstore|bookshop|gallery|gym|agency|truck|stall|bar|pub|hotel"
    r"|hostel|nursery)"
)
MADE = (
    r"(?:paintings?|drawings?|sketch|sculpture|pot|bowls?|plates?|mugs?|cups?|vases?|necklace"
    r"|bracelet|earrings|scarf|quilt|blanket|dress|sweater|tattoo|poster|scrapbook|album|bookshelf"
    r"|shelf|table|chair|bench|figurine|figure|ornament|window|mosaic|portrait|self-portrait"
    r"|pottery|sign|toy|dollhouse|birdhouse|lamp|candles?|puzzle)"
)
PICTURE = r"(?:pic|photo|picture|peek|look|shot)"

# fmt: off
RULES = (
    rule("owns", "owns", "own owns drive drives ride rides", "plain do",
        then("an? the two three my_own \\d"), "things"),
    rule("runs", "owns", "run runs", "plain",
        rf"\s(?:my own|an?|our own)(?=\s(?:[\w-]+ ){{0,3}}?{VENTURE}\b)", "venture"),
    rule("has", "owns", "have has got", "plain do have",
        rf"(?: got| had)?(?={COUNTED}(?:{OWNED}\b(?! (?:on|at) \w+day)"
        rf"|(?![A-Z]\w+day\b)[a-z]*[A-Z]))" + NOT_OWNED, "things"),
    rule("got_new", "owns", "got acquired", "plain have",
        r"(?=\s(?:an? (?:brand )?new|some|lots of|tons of|a few|a couple of) )" + NOT_OWNED,
        "thing", denied="-", sure=0.65),
    rule("made", "owns", "made drew done did sewed knitted crafted built", "plain have",
        rf"(?=\s(?:an?|this|these|my own|some) (?:[\w'-]+ ){{0,3}}?{MADE}\b)", "thing", denied="-"),
    rule("bought", "owns", "bought purchased inherited got", "plain have",
        r"(?:(?<=got)\s(?:me|myself|ourselves|us)|(?<!got)(?:\s(?:myself|me|us|ourselves))?)"
        + then("an? the my our some two this these another one_of"), "thing", denied="-",
        sure=0.75),
)
PHRASES = (
    phrase("shows_off", "owns", "my",
        rf"\b(?:here's|here is|here are|this is|these are|check out|look at"
        rf"|that's) (?:an? (?:\w+ )?{PICTURE} (?:of|at) |one of )?my (?=(?:[\w-]+ ){{0,3}}?"
        rf"(?:{OWNED}|{MADE})\b)", "thing"),
    phrase("shows_own", "owns", "i we",
        r"\b(?:here's|here is|this is|check out|look at|see|here are|love|like)(?: \w+)? (?:(?:an?"
        r"|the|this|these|some) )?"
        rf"(?P<value>(?!{PICTURE}|video|one\b|how\b|what\b)(?:[\w'-]+ ){{1,4}}?(?:that )?I (?:just "
        rf"|recently )?(?:made|did"
        r"|painted|drew|built|finished|created|designed|bought|knitted|sewed))\b", ""),
    phrase("gave_me", "owns", "me",
        r"\b(?:gave|bought|got|made|sent|gifted|handed|left) me (?:her|his|their|an?|this|these|two"
        r"|some)"
        rf" (?=(?:[\w'-]+ ){{0,3}}?(?:{OWNED}|{MADE})\b)", "thing"),
    phrase("collection", "owns", "collection",
        r"\bmy (?P<value>(?:\w+ ){0,2}collection(?: of [\w ]+)?)\b", ""),
    phrase("my_new", "owns", "my new", rf"\bmy (?:brand )?new (?={OWNED}\b(?! is|'s))", "thing"),
)
