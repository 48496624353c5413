"""Rules for things that end or change: given up, sold, broken up, switched."""

from __future__ import annotations

import re
from typing import NamedTuple

from lamina.engines.claims.rule import any_of, compiled, for_turns
from lamina.text.hints import Hinted
from lamina.text.patterns import Bounded

MANY = (
    "hobby", "habit", "studies", "job", "diet", "likes", "plan", "goal", "decision", "language",
    "employer",
    "lives_in", "owns", "religion", "does",
)  # fmt: skip
ALL = (
    *MANY, "partner", "pet", "favourite", "dislikes", "health", "allergy", "avoids",
    "relationship_status", "nickname", "has",
)  # fmt: skip
AIMS = ("plan", "goal", "decision")
INSTEAD_OF = "instead_of"
OWNED = ("owns", "pet", "thing")  # what can be sold, given away or lost
# Attributes whose earlier value can hold again.
BACK = (*MANY, "partner", "name", "favourite", "relationship_status")
SWITCHED = (
    "employer", "job", "studies", "diet", "owns", "favourite", "religion", "likes", "hobby",
    "habit", "lives_in",
)  # fmt: skip
SPOKEN_OF = ("partner", "plan", "job", "employer")
SEEING = "relationship_status"
SOMEONE = frozenset({"seeing someone", "dating someone"})  # a name said next is the partner's
NAMED = ("pet", "partner", "child", "sibling", "friend", "relative", "parent", SEEING)
THE = r"(?:(?:the|my|our|that|this|his|her|their|old|all|both|being|an?)\s+)*"
# "Sold insurance for ten years" is not a swap.
NO_TIME = r"(?!(?:[\w-]+ ){0,2}(?:years?|months?|weeks?|days?|hours?|ages)\b)"
IT = (
    rf"(?!and\b|or\b|so\b|but\b|on\b|to\b|after\b|before\b|for\b|in\b|at\b|because\b|when\b|it\b"
    rf"|that\b){THE}(?P<value>[\w'])"
)
FIRST = (
    rf"\A\s*(?:(?:and|but|so+|well|ok|okay|yes|no),? )*{THE}(?P<value>(?!(?:I|we|you|he|she|they|it"
    rf"|that|this|there|what)\b)"
    r"[A-Za-z][\w-]*(?: (?!(?:I|we|you|he|she|they|who|that)\b)[\w-]+){0,3}?)"
)
FIRST_NAME = r"(?P<value>[A-Z][\w']*)"
IS = (
    r"(?:'s| is| are| was| has been| have been|'s been| has| have| got)(?: all| now| totally"
    r"| officially| finally| completely| just| sadly)*"
)


class Ending(NamedTuple):
    """A rule: these words end a known claim, or else the default attribute."""

    name: str
    cue: re.Pattern[str]
    pattern: Bounded  # what ends begins at the group `value`; without it, any known claim ends
    attributes: tuple[str, ...]  # the attributes that can end this way
    default: str  # empty: only known claims end
    confidence: float
    is_first: bool  # the subject is what ends: "Japan is off"


class Switch(NamedTuple):
    """A rule for a change from the group `old`, if any, to the value after the pattern."""

    name: str
    cue: re.Pattern[str]
    pattern: Bounded
    default: str  # the attribute if the old value is not known
    confidence: float


def _ends(
    name: str, cues: str, pattern: str, attributes: str | tuple[str, ...],
    default: str, confidence: float,
) -> Ending:  # fmt: skip
    listed = tuple(attributes.split()) if isinstance(attributes, str) else attributes
    cue, is_first = any_of(cues), pattern.startswith(FIRST)
    return Ending(name, cue, compiled(pattern), listed, default, confidence, is_first)


def _switches(name: str, cues: str, pattern: str, default: str, confidence: float) -> Switch:
    return Switch(name, any_of(cues), compiled(pattern), default, confidence)


# fmt: off
ENDINGS = (
    # --- things and animals ---
    _ends("sold", "sold returned pawned wrote crashed gave",
        r"\b(?:sold|returned|pawned|totall?ed|wrote off|written off|crashed) (?!two|three|four|five"
        r"|six|ten|\d|some|none|a few"
        rf"|lots){IT}", OWNED, "owns", 0.85),
    _ends("gave_to", "gave given", rf"\b(?:gave|given) {IT}.* to ", OWNED, "", 0.75),
    _ends("gave_away", "away",
        rf"\b(?:gave|give|given|giving|threw|thrown) {THE}(?P<value>\w[\w ]*?) away\b", OWNED,
        "", 0.8),
    _ends("out_of", "out_of", rf"(?<!based )\bout of {IT}", "lives_in employer", "", 0.7),
    _ends("rid_of", "rid_of", rf"\brid of {IT}", (*OWNED, "habit", "health"), "owns", 0.8),
    _ends("goodbye", "goodbye farewell", rf"\b(?:say|said|saying) (?:goodbye|farewell) to {IT}",
        ALL, "", 0.8),
    _ends("lost_pet", "lost put rehome", rf"\b(?:lost|rehomed?|put down|had to put) {IT}",
        "pet owns", "", 0.75),
    _ends("put_down", "put", rf"\bhad {THE}(?P<value>[A-Z]\w+) put (?:down|to sleep)", "pet", "",
        0.8),
    # --- people ---
    _ends("broke_up_with", "up_with", r"\b(?:broke|broken|split|breaking) up with (?P<value>[A-Z])",
        "partner", "partner", 0.9),
    _ends("we_broke_up", "broke_up split divorce separated broken_up parted quits",
        rf"\b(?:we|(?:{FIRST_NAME} )?and (?:I|me))(?:'ve| have|'re| are)? (?:just |recently "
        rf"|finally |getting "
        r"|now )*(?:broke up|broken up|split up|split|got divorced|(?:get |getting )?divorced"
        r"|separated|parted ways|called it quits)\b(?! the\b)", "partner employer", "partner", 0.9),
    _ends("they_broke_up", "broke_up split divorced separated",
        r"\band (?P<value>[A-Z]\w+)(?: have| has)? (?:broke up|broken up|split up|split|divorced"
        r"|got divorced|separated)\b", "partner", "partner", 0.85),
    _ends("not_together", "together", r"(?:\bno longer|\bnot|n't) together\b", "partner", "partner",
        0.85),
    _ends("left_me", "left_me dumped_me", rf"{FIRST}(?: has|'s)? (?:left|dumped) me\b", "partner",
        "partner", 0.85),
    # --- work ---
    _ends("laid_off", "off fired sacked redundant go notice resigned quit job freelance retired",
        r"\b(?:(?:laid|let) (?:me|us) (?:off|go)|(?:fired|sacked) me|(?:was|been|got"
        r"|get) (?:laid off|fired|sacked|made redundant|let go)|handed in my notice|(?:quit|left"
        r"|lost) my job\b(?! (?:as|at))|resigned\b(?! from)|(?:gone|went) freelance|(?:I|we|he"
        r"|she)(?:'ve|'s)? (?:just |finally )?retired\b(?! from))", "employer", "employer", 0.8),
    _ends("lost_job_as", "job", r"\b(?:lost|quit|left) my (?:\w+ )?job as an? (?P<value>\w)", "job",
        "job", 0.9),
    _ends("lost_job_at", "job position role",
        r"\b(?:lost|quit|left) my (?:\w+ )?(?:job|position|role) (?:at|with) (?P<value>\w)",
        "employer", "employer", 0.9),
    _ends("no_longer_at", "no_longer not", r"\b(?:no longer|not) (?:at|with|in) (?P<value>[A-Z])",
        "employer lives_in studies", "", 0.85),
    _ends("left", "left", rf"\bleft (?!for\b|my\b|me\b|to\b|over\b|it\b){IT}(?!.*\bfor [A-Z])",
        "employer partner lives_in studies job does", "", 0.8),
    _ends("dropped_out", "dropped_out",
        r"\bdropped out\b(?! of (?!uni|college|school|the course|my))", "studies", "studies", 0.8),
    _ends("finished_studies", "studies degree course graduated",
        r"\b(?:finished|completed|ended|done with|through with) (?:my|the) (?:\w+ )?(?:studies"
        r"|degree|course)\b|\b(?:I|we|he|she)(?:'ve|'s| have| has)? (?:just |finally )?graduated\b",
        "studies", "studies", 0.8),
    # --- activities and tastes ---
    _ends("gave_up", "up", rf"\b(?:gave|given) up(?: on)? {IT}", MANY, "hobby", 0.85),
    _ends("quit", "quit stopped dropped ditched abandoned packed chucked jacked retired resigned",
        r"\b(?:quit|stopped|dropped(?: out of)?|ditched|abandoned|(?:packed|chucked|jacked) in"
        r"|(?:retired|resigned) from)(?: (?:going|doing|playing|practi[cs]ing|eating|drinking"
        r"|studying|learning|taking))* (?!my job\b"
        rf"|the job\b|it\b|by\b|to\b|out\b|off\b){IT}", MANY, "", 0.8),
    _ends("gone_off", "off",
        rf"\b(?:gone|went)(?: right| completely| totally| a bit| really)? off {IT}",
        "likes favourite hobby diet", "likes", 0.85),
    _ends("over_it", "over done through sick tired bored fed",
        r"\b(?:I'm|I am|she's|he's|is) (?:so |totally |completely |well |really )*(?:over|done with"
        r"|through with|sick of"
        rf"|tired of|bored of|fed up with) {IT}", "likes hobby favourite studies diet", "", 0.7),
    _ends("no_more", "no_more", rf"\bno more {IT}", MANY, "", 0.7),
    _ends("there_is_no", "there",
        rf"\bthere(?:'s| is| are|'ll be| will be) no {IT}", ALL, "", 0.75),
    _ends("called_off", "cancel called_off shelved scrapped against mind binned decision",
        rf"\b(?:cancell?ed|(?:had to|have to|has to) cancel|called off|shelved|binned|scrapped"
        rf"|decided against|changed (?:my|our|her|his) minds? (?:about|on)"
        rf"|(?:reversed|revised|dropped) (?:the|our|my) decision (?:on|about|for|to \w+)) {IT}",
        "plan goal decision owns", "plan", 0.8),
    _ends("moved_on", "from forgotten out_of_love",
        rf"\b(?:moved on from|forgotten|out of love with|grown out of|outgrown|had enough of) {IT}",
        ALL, "", 0.75),
    _ends("come_round", "round around warmed", rf"\b(?:(?:come|came) a?round|warmed) to {IT}",
        "dislikes", "", 0.75),
    _ends("not_favourite", "fav",
        rf"{FIRST}(?:'s not| isn't| is not| is no longer|n't) my (?:favou?rite|fave?)\b",
        "favourite", "", 0.85),
    _ends("never_was", "never not n't",
        rf"\b(?:it was|it's|it is|was|oops|sorry|no),? (?:never|not) {IT}", ALL, "", 0.75),
    _ends(INSTEAD_OF, "instead_of rather_than", rf"\b(?:instead of|rather than) {IT}", ALL, "",
        0.7),
    _ends("grown_on", "grown grew", rf"{FIRST}(?:'s| has| have)? (?:grown|grew) on me\b",
        "dislikes", "dislikes", 0.75),
    _ends("eats_again", "eat",
        r"(?<!n't )(?<!not )(?<!no )(?<!never )(?<!stopped )\b(?:(?:started|back to) eating|eats?"
        r"|eating) (?:meat|fish|everything|anything|dairy|animal products)\b(?! (?:every|for"
        r"|with))", "diet avoids", "diet", 0.6),
    # --- anything known ---
    _ends("is_over",
        "off history over out cancel dead gone finished past sold stolen lost healed cleared better"
        " disappeared behind done sorted run dethroned rehomed put died away no_more passed fell"
        " sank ran went moved didn't crossed bores stopped longer folded",
        rf"{FIRST}(?:{IS} (?:off|history|over|out|cancell?ed|dead|gone|no more|a thing of the past"
        rf"|finished|sold|stolen|lost"
        r"|healed|cleared up|better|disappeared|behind me|sorted|run over|dethroned|done for"
        r"|called off|scrapped|gone away|gone to live|been rehomed|passed away|passed on|died"
        r"|r[au]n away|been put)| (?:just |sadly |finally |has )?(?:died|passed away|passed on"
        r"|fell through|sank|ran away|went to live|moved out|didn't work out|went to an? \w+"
        r"|is no longer with us|crossed the rainbow|went bust|went under|folded|bores? me|(?:have "
        r"|has )?stopped|ended|broke down for good))\b", ALL, "", 0.75),
    # --- health and names ---
    _ends("dont_call", "call",
        r"\b(?:don't|do not|dont|stop|quit|never|nobody|no one) (?:call|calling"
        r"|calls) me (?P<value>[A-Z])", "nickname", "nickname", 0.9),
)
SWITCHES = (
    _switches("from_to", "from",
        r"\b(?:switched|changed|moved|went|gone|converted|swapped|transferred|upgraded"
        r"|relocated)(?: \w+)? from (?P<old>[\w' -]+?) (?:in)?to ", "", 0.85),
    _switches("to", "switched changed converted transferred upgraded",
        r"\b(?:switched|changed|converted|transferred|upgraded|moved over|gone over)(?: (?:my "
        r"|the )?(?:major|degree|course|subject|jobs|careers|over|back|it))* to (?:an? |the )?", "",
        0.8),
    _switches("left_for", "left",
        r"\bleft (?:the )?(?P<old>[\w&' ]+?) (?:for|to join|to work (?:at|for)) (?=[A-Z])",
        "employer", 0.85),
    _switches("swapped_for", "for with",
        rf"\b(?:swapped|traded|exchanged|replaced|ditched|trading"
        rf"|sold)(?: in)? {THE}(?P<old>[\w' -]+?)(?: in)? (?:for|with) {NO_TIME}", "owns", 0.85),
)
# Words that imply a status without stating it.
OUTCOMES = tuple(
    (name, Hinted(for_turns(pattern)), value)
    for name, pattern, value in (
        ("knot", r"\b(?:we|and I)(?:'ve| have)? (?:finally |just )?tied the knot\b", "married"),
        ("yes", r"\b(?:he|she|\w+) proposed\b.{0,300}\bI said yes\b|\bI proposed\b.{0,300}\b(?:she"
            r"|he) said yes\b", "engaged"),
        ("decree", r"\b(?:my|our) divorce (?:came through|is final|was finali[sz]ed|is done"
            r"|is through)\b", "divorced"),
    )
)
# Words that restore what held before.
TAKEN_BACK = Hinted(compiled(
    r"\b(?P<value>[A-Z]\w+) (?:took me back|and I (?:are|got|'re) back together)\b"
))
BACK_TO = Hinted(compiled(
    r"\b(?:back (?:to|at|in|with|on)|returned to|rejoined) (?:being (?:an? )?|the |my )?"
    r"(?P<value>\w[\w' ]*)"
))
AGAIN = Hinted(compiled(
    r"(?:\A\s*|\b(?:it's|it is|is|'m|am|are|drive|drink|eat|use|got) )(?:an? |the |with |in "
    r"|at )?(?P<value>[\w']+(?: [\w']+)?)(?: all over)? (?:again|once more)\b"
))
# Words for the replacement of what has just ended.
INSTEAD = Hinted(compiled(
    r"\b(?:it's|it is|it'll be|I'm at|I'm in|I'm with|I'm on|I'm doing|we're in|we're on"
    r"|(?:I'm|we're) (?:now )?going with|(?:I|we) went with"
    r"|hello(?: to)?) (?:an? |the )?(?P<value>\w)|(?:\A\s*|, )(?P<other>[A-Z]\w+) (?:it is|since"
    r"|now)\b"
))
# "I got a puppy. Her name's Coco."
NAMING = Hinted(compiled(
    r"\b(?:his|her|its|their|the \w+'s) names?(?:'s| is| are) (?=[A-Z])|\b(?:he|she|it)(?:'s"
    r"| is) (?:called|named) (?=[A-Z])|\b(?:named|called) (?:him|her|it) (?=[A-Z])"
))
# "That's over" refers to what was just asked about.
THAT_OVER = Hinted(
    for_turns(r"\b(?:that|it)(?:'s| is) (?:all |long )?(?:over|history|done|finished)\b")
)
WITH = Hinted(compiled(r"\b(?:I'm|I am|I've been|he's|she's|is) with (?=[A-Z])"))
