"""Rules for what somebody has: bought, made, driven, run."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import no, phrase, rule, then
from lamina.engines.claims.words import either

OWNED = either(words.POSSESSIONS)
COUNTED = r"\s(?:an?|my own|two|three|\d|this|another|the)\s(?:[\w-]+ ){0,3}?"
NOT_OWNED = no(
    "(?:an?|some|tons_of|lots_of|a_few|two|three)_(?:[\\w-]+_){0,2}?(?:lot|question|questions|idea|ideas|feeling|chance|time"
    "|problem|problems|meeting|appointment|dream|dreams|goal|goals|plan|plans|friend|friends|family|job|work|point|reason"
    "|sense|way|ways|tips?|suggestions?|thoughts?|experience|experiences|memory|memories|fun|blast|day|days|week|weekend|year"
    "|moment|moments|hard|tough|good|great|nice|passion|love|interest|impact|story|stories|news|things?|stuff|choice|break"
    "|look|talk|chat|conversation|decision|challenge|challenges|opportunity|community|support|team|party|trip|picture|pic"
    "|photo|hunch|bit|kid|kids|son|daughter|brother|sister|baby|child|boyfriend|girlfriend|wife|husband|partner|few|couple|ton"
    "|role|part|effect|understanding|relationship|connection|bond|place|space|spot|routine|schedule|deadline|project|projects"
    "|show|event|game|class|test|exam|interview|concert|session|vacation|surprise|skills?|talents?|background|voice|heart|mind"
    "|body|life|future|past|difference|purpose|habit|tendency|preference|taste|desire|wish|need|want|hope|fear|allergy"
    "|condition)"
)
VENTURE = (
    r"(?:store|business|shop|studio|company|cafe|restaurant|bakery|salon|brand|startup|clinic|farm|website|blog|channel"
    r"|podcast)"
)
MADE = (
    r"(?:paintings?|drawings?|sketch|sculpture|pot|bowls?|plates?|mugs?|cups?|vases?|necklace|bracelet|earrings|scarf|quilt|blanket"
    r"|dress|sweater|tattoo|poster|scrapbook|album|bookshelf|shelf|table|chair|bench|figurine|figure|ornament|window|mosaic"
    r"|portrait|self-portrait|pottery|sign|toy|dollhouse|birdhouse|lamp|candles?|puzzle|website|app)"
)

# fmt: off
RULES = (
    rule("owns", "owns", "own owns drive drives ride rides", "plain do", then("an? the two three my_own \\d"), "things", 0.85),
    rule("has", "owns", "have has", "plain do", rf"(?={COUNTED}{OWNED}\b)", "things", 0.75),
    rule("has_other", "owns", "have has", "plain do",
        r"(?=\s(?:an?|some|tons of|lots of|a few|two|three|\d+) )"
        + NOT_OWNED, "thing", 0.45, denied="-"),
    rule("has_brand", "owns", "have has", "plain do", r"(?=\s(?:an?|my own|the) (?:\w+ )?[a-z]*[A-Z])", "thing", 0.7),
    rule("has_got", "owns", "got", "have plain", rf"(?={COUNTED}(?:{OWNED}\b|[a-z]*[A-Z]))", "thing", 0.55, denied="-"),
    rule("got_new", "owns", "got", "plain have",
        r"(?=\san? (?:brand )?new )"
        + no("a_(?:brand_)?new_(?:\\w+_)?(?:job|haircut|idea|perspective|puppy|kitten|dog|cat|role|position|hobby|look"
            "|friend|boyfriend|girlfriend|tattoo)"), "thing", 0.65, denied="-"),
    rule("got_some", "owns", "got acquired", "plain have",
        r"(?=\s(?:some|lots of|tons of|a few|a couple of|two|three) )"
        + NOT_OWNED
        + no("(?:some|lots_of)_(?:\\w+_){0,2}(?:help|advice|time|work|leads|pics|photos|sleep|rest|feedback|other)"),
        "thing", 0.75, denied="-"),
    rule("made", "owns", "made drew done did sewed knitted crafted built", "plain have",
        rf"(?=\s(?:an?|this|these|my own|some) (?:[\w'-]+ ){{0,3}}?{MADE}\b)", "thing", 0.75, denied="-"),
    rule("got_me", "owns", "got", "plain", r"\s(?:me|myself|ourselves)(?=\s(?:an?|the)\b)", "thing", 0.85, denied="-"),
    rule("bought", "owns", "bought purchased", "plain have",
        r"(?:\s(?:myself|me|us|ourselves))?"
        + then("an? the my our some two this these another"), "thing", 0.8, denied="-"),
    rule("inherited", "owns", "inherited", "plain have", then("an? the my some two this these"), "thing", 0.75, denied="-"),
)
PHRASES = (
    phrase("my_is", "owns", "my our",
        r"\b(?:my|our) (?:new )?(?:\w+ )?(?:car|phone|bike|laptop|computer|camera|motorbike|truck|van|tablet|guitar|ride"
        r"|console|watch)(?:'s| is)(?: now)?(?= an?\b)", "thing", 0.85),
    phrase("shows_off", "owns", "my",
        r"\b(?:here's|here is|here are|this is|these are|check out|look at|that's) (?:an? (?:\w+ )?(?:pic|photo|picture|peek"
        r"|look|shot) (?:of|at) |one of )?my (?!family|fam\b|kids|son|daughter|friends?|way|story|journey|own way|favou?rite"
        r"|fave?\b|goal|dream|plan|life|moves|first|last|husband|wife|mom|dad|team|thing|chance|take|advice|point|students|customers|colleagues"
        r"|crew|class|group|work|ideas?)\b",
        "thing", 0.8),
    phrase("shows_own", "owns", "i we",
        r"\b(?:here's|here is|this is|check out|look at|see|here are|love|like)(?: \w+)? (?:(?:an?|the|this|these|some) )?"
        r"(?P<value>(?!pic\b|photo|picture|shot|video|peek|one\b|how\b|what\b)(?:[\w'-]+ ){1,4}?(?:that )?I (?:just "
        r"|recently )?(?:made|did|painted"
        r"|drew|built|finished|created|designed|bought|knitted|sewed))\b", "", 0.7),
    phrase("gave_me", "owns", "me",
        r"\b(?:gave|bought|got|made|sent|gifted|handed) me (?=(?:an?|this|these|two|some) )(?!an? (?:\w+ )?(?:chance|hand|lift"
        r"|ride|call|hard|break|push|boost|sense|feeling|lot|reason|idea|new perspective|hug|smile|minute|tour|heads|job|offer"
        r"|bit|way|message|text))(?!some (?:advice|tips|time|hope|peace|ideas|feedback|space))", "thing", 0.55),
    phrase("collection", "owns", "collection", r"\bmy (?P<value>(?:\w+ ){0,2}collection(?: of [\w ]+)?)\b", "", 0.7),
    phrase("my_new", "owns", "my new", rf"\bmy (?:brand )?new (?={OWNED}\b(?! is|'s))", "thing", 0.6),
    phrase("run_a", "owns", "run own opened",
        rf"\b(?:I|we) (?:run|own) (?:my own|an?|our own) (?=(?:[\w-]+ ){{0,3}}?{VENTURE}\b)", "venture", 0.45),
)
