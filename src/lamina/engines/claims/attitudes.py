"""Rules for what matters to somebody: what helps them, what they rely on, what a thing stands for."""

from __future__ import annotations

from lamina.engines.claims.rule import NOUN, phrase, rule

VERY = r"(?:(?:really|so|very|super|always|particularly|especially|truly|also|just|such|still|definitely) )*"
REST = r"(?: [\w'-]+){0,7}"
OPEN = r"\A\s*(?:(?:and|but|so|plus|well|yeah|yes|really|for me),? )*"

# fmt: off
RULES = (
    rule("inspired_by", "other", "inspired motivated driven", "am been",
        r"(?=\s(?:by|seeing)\b)", "deed", 0.8, denied="-"),
    rule("relies_on", "other", "rely relies relying", "plain am",
        r"(?=\son\b)(?!\son (?:it|you|one|each)\b)", "deed", 0.8, denied="-"),
)
PHRASES = (
    phrase("matters", "other", "to_me for_me",
        rf"{OPEN}(?P<value>{NOUN}(?: {VERY}matters?|(?:'s| is| are) {VERY}(?:important|meaningful"
        r"|the most important thing)) (?:to|for) me)\b", "", 0.8),
    phrase("important_to", "other", "important_to_me", r"\b(?P<value>important to me to \w)", "doing", 0.75),
    phrase("used_to_like", "other", "used_to",
        r"\b(?:I|we) (?P<value>used to (?:love|like|enjoy|hate) (?!it\b|that\b|this\b))", "doing", 0.7),
    phrase("helps", "other", "help",
        rf"{OPEN}(?P<value>{NOUN}(?: {VERY}helps?|(?: has| have|'s) {VERY}helped) me\b(?! out\b){REST})", "", 0.75),
    phrase("gives", "other", "gives give gave",
        rf"{OPEN}(?P<value>{NOUN} {VERY}gives? me (?:an? |the )?(?:sense|escape|strength|hope|energy|courage|confidence"
        rf"|purpose|freedom|power){REST})", "", 0.8),
    phrase("motivates", "other", "motivat inspire keep kept",
        rf"{OPEN}(?P<value>{NOUN}(?: has| have|'s)? {VERY}(?:motivates?|inspires?|(?:keeps?|kept)"
        rf"(?= (?:me|us) (?:going|motivated|focused|positive|sane|grounded)\b)) (?:me|us)\b{REST})", "", 0.65),
    phrase("stands_for", "other", "stand symbol",
        r"\b(?P<value>(?:stands? for|symboli[sz]es?|symbol of)"
        r" (?!you|this\b|that\b|it\b|all\b))", "doing", 0.65),
)
