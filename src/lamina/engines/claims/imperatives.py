"""Find instructions in a text, whether for once or for always. Pure.

A sentence is split into pieces that each request one thing. A piece is an order, a wish ("I'd like
you to"), a norm ("dates should be"), or a phrase without a verb ("metric only").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.text.patterns import LONGEST, Bounded, bounded

# Verbs that ask for a manner, which can apply permanently.
MANNER = frozenset(
    "use prefer avoid keep treat assume answer reply respond write speak talk format quote cite"
    " spell round wrap skip stick address refer be default sign stay start end begin phrase"
    " include mention number label express report read think trust stop quit refrain drop"
    " omit switch type remember consider ask confirm warn flag point explain state spare limit"
    " prefix challenge correct swear round translate book schedule hold leave plan double"
    " suggest recommend propose show give put tell remind run prioritise prioritize lead"
    " commit push save store assume say".split()
)
# Verbs that mostly request a single task, now.
TASK = frozenset(
    "add adjust analyse analyze arrange attach brainstorm build calculate call cancel change check"
    " choose clean combine compare complete compose compute continue convert copy count cover"
    " create cut debug define delete derive describe design draft draw edit estimate evaluate"
    " expand extract fill find finish fix generate get go guess help ignore imagine implement"
    " improve insert invent let list look lose make merge move name offer open order outline"
    " paraphrase pick play plot polish prepare pretend print proofread provide quiz rank rate"
    " rebuild recalculate redo reduce remake remove rename reorder repeat rephrase replace"
    " research return revert review revise reword rewrite scrap search see select send set"
    " shorten simplify simulate solve sort split summarise summarize swap take test transpose"
    " transcribe try tune turn update verify wait walk work lay rate act reserve restructure"
    " bold highlight sum cc double-check point invite save upload download install deploy"
    " write reply suggest recommend propose show give put tell say book schedule read translate"
    " number"
    " mention explain plan roast teach have watch listen gimme lemme pull post".split()
)
VERBS = MANNER | TASK
# Verbs that are also nouns: after "and" they do not begin another order.
NOUNS = frozenset(
    "answer list number plan format comment note table code name show test report book order"
    " plot label quote rank rate review search set sort state type work draft edit design copy"
    " cut change check cover count look offer play post print read reply round sign start end"
    " stop talk use update walk watch question drop hold lead point limit double save push flag"
    " help try run summary format return speak open guess address trust".split()
)
FILLER = (
    r"(?:(?:please|pls|plz|hey|hi|hello|ok|okay|so|also|and|but|oh|btw|just|well|then|yes|yeah|yep"
    r"|kindly|pray|do(?! (?:not|you|i|we|they|u)\b)|actually|honestly|quick note|one more thing"
    r"|another thing"
    r"|one thing|again|remember|note|fyi|look|listen|sorry|thanks|thank you|no wait|anyway"
    r"|in that case|if you can|if possible|first of all|general rule|reminder)\b[,:]?\s{1,20})"
)
# Words before an order that make it permanent.
ONWARD = (
    r"(?:from (?:now|here|today|this point)(?: on| onwards?| forward| forwards)?(?: in)?"
    r"|in (?:the )?"
    r"future|going forwards?|moving forwards?|henceforth|as of (?:now|today)|by default|as a rule"
    r"|in general|generally|as a general rule|for the future|at all times|starting now"
    r"|for everything(?: we do)?|default)"
)
FRONT = bounded(rf"\s*{FILLER}{{0,5}}(?P<onward>{ONWARD}\b,?:?\s{{1,20}})?{FILLER}{{0,3}}", re.I)
# "Let's do reviews in French from now on."
SHARED = bounded(r"(?:let's|lets|we'll|let us)\s{1,20}", re.I)
AT_LAST = bounded(rf"\b{ONWARD}\W*\Z", re.I)
CONDITION = bounded(
    r"(?P<condition>(?:whenever|when|if|each time|every time|any ?time|once|before|after|unless"
    r"|for|in|on|within|with|at|during|while|to)\b(?![^,]{0,100}\?)[^,]{2,100}?),\s{1,20}"
    r"(?!not\b|or\b|and\b)",
    re.I,
)
WORKPLACE = "project|repo|repository|codebase|app|service|workspace|monorepo|package"
SCOPED = bounded(
    r"(?P<condition>(?:in|for|on|within|inside|when working on|while working on"
    r"|whenever we work on)"
    r" (?:the |my |our |this )?(?:(?P<project>(?!(?:the|my|our|this)\b)[\w.-]{2,40}) )?"
    rf"(?:{WORKPLACE})),?\s{{1,20}}(?:we \w+ \w+, so )?",
    re.I,
)
ASKED = bounded(
    r"(?:(?:can|could|would|will) you(?: be so (?:kind|good) as to| mind| please| kindly| try to"
    r"| at least)?|might you|would it be possible to|may i ask you to)\s{1,20}",
    re.I,
)
WISHED = bounded(
    r"(?:(?:i|we)(?:'d| would| should)? (?:really |also |just |much )?(?:like|want|need|love|prefer"
    r"|expect|ask)(?: (?:it )?(?:if|that|for))? you(?: would| could)?(?: to)?"
    r"|(?:i|we)(?:'d| would| should)(?: really)? (?:appreciate it|be (?:obliged|glad|grateful"
    r"|happy|pleased|thankful)) if you(?: would| could)?|it would (?:please me|be (?:great|nice"
    r"|good|lovely)) if you(?: would| could)?|i would rather you|i'd rather you"
    r"|i(?:'d| would) (?:appreciate|prefer) (?:it )?(?:if|that) you)\s{1,20}",
    re.I,
)
WANTED = bounded(
    r"(?:i|we)(?:'d| would)? (?:(?:always|only|really|just|don't|do not|dont|never) ){0,2}(?:want"
    r"|prefer|need|expect|like)(?: to (?:see|have|get))? (?!to\b|you\b|somebody|someone)",
    re.I,
)
ALLOWED = bounded(
    r"(?:you|u)(?: really)? (?:can|may|should|must|need not|needn't|need to|have to|ought to"
    r"|don't need to|don't have to|shouldn't|mustn't|can't|cannot|are allowed to)"
    r"(?: always| never| also| just| safely)?\s{1,20}|(?:feel free|make sure|be sure|remember"
    r"|try|don't forget)(?: to| that| you)? (?:you )?",
    re.I,
)
MOOD = bounded(
    r"(?:(?:please|pls|just|only|always|allways|ever|kindly|simply|either|also|no matter what)"
    r" )*(?P<not>(?:do not|don't|dont|don t|never(?: ever)?|not)(?: ever| always| just| please)?"
    r" )?(?:please |pls |always |just )*",
    re.I,
)
NORM = bounded(
    r"\b(?:should|must|shall|has to|have to|needs? to|(?:is|are)(?: always| never)?(?: strictly)?"
    r" (?:banned|forbidden|off limits|off-limits|blocked|taboo|mandatory|required|to be|not allowed"
    r"|a no-go|out)|go(?:es)? in(?:to)?|end with|begin with|start with|come first)\b",
    re.I,
)
OWN = frozenset(
    "i im i'm i've i'd i'll ive we we're we've he she they it it's its there there's that's what"
    " what's how why where who which is are was were does did has had my our his her their"
    " somebody someone everyone everybody nobody people never-mind thanks thank lol haha hmm ugh"
    " wow yes yeah good great perfect nice cool hello hi would could should can will do may might"
    " shall whose am u ur idk".split()
)
NEVER = bounded(
    r"(?:don't|do not|dont) (?:worry|forget|bother|panic|mind|know|think so|get me wrong|quit"
    r"|give up)\b|never (?:mind|give up|once|been|had|heard|seen|knew|thought|done|tried|gonna"
    r"|has|have|again"
    r"\Z|\w+ed\b)|always (?:wanted|thought|been|had|liked|loved|hated|returns|\w+ed\b)|take care"
    r"|sure\b"
    r"|keep (?:going|it up|up|the change)|let's|lets\b|have a|hold on|stop (?:it|there)\b"
    r"|no (?:idea"
    r"|problem|worries|way|wait|need|longer|doubt|thanks|clue|rush|hurry|sudo|luck|one|more time)\b"
    r"|be (?:right back|patient)\b|(?:you|u) (?:should|could|would) be an?\b"
    r"|call (?:the|an?|my|your|him|her|them)\b|thank|good (?:luck|morning|night)|see you"
    r"|look forward"
    r"|let me\b|feel free to (?:share|ask|reach|contact)|no[,.]|for example|not (?:sure|really"
    r"|bad|yet|much|the|a|in|doing|an|that|like)\b|just (?:wondering"
    r"|asking|kidding|saying|curious|one|got|trying|a)\b|trust me|believe me|tell me about it",
    re.I,
)
TAIL = bounded(
    r"(?<!\w)(?:please|pls|plz|thanks|thank you|thx|ok|okay|if you can help it|if you can"
    r"|if possible|would you|will you|will ya|alright|cheers|ty)\Z",
    re.I,
)
FARTHEST = 30  # characters of a polite phrase
MARKS = " \t\n\xa0,;:."
# Where the reason begins, which is not part of the request.
REASON = re.compile(
    r"[,;]?\s(?:because|since(?= (?:i|we|my|half|it|they|the|that)\b)|(?:cause|cos|coz|as"
    r"|cuz)(?= (?:i|i'm|im|my"
    r"|we|it|they)\b)|so that|even though)\b|\s?[(]"
    r"|[,;]\s(?:so )?(?=(?:i|i'm|im|i've|i'll|i'd|my|we|we're|we've|it|it's|its|they|they're|that"
    r"|that's|he|she|nobody|only my|only|thanks|thank|otherwise|there|common|kid|english is|half"
    r"|even though|like a|the|what|as)\b)(?!(?:that|the|it|what|as|only) (?:\w+ )?(?:you|if)\b)",
    re.I,
)
JOINT = re.compile(
    rf"(?P<join>,?\s(?:and|but|so|then|and then)\s|,\s|:\s)(?=(?P<head>(?:(?:please|pls|always|just"
    rf"|never|also|do not|don't|dont|no|then|only|simply|kindly|{ONWARD},?)\s){{0,3}})"
    r"(?P<word>[a-z-]+)\b(?:\s(?P<next>\w+))?)",
    re.I,
)
WORD = re.compile(r"[^\W_][\w'+#./%-]*[\w+#%]|[^\W_]")
DETERMINERS = frozenset(
    "the this that these those it them him her me us my our your a an all every each any one two"
    " three more less both".split()
)


OBJECTS = frozenset("me the my it this that".split())
LINKS = frozenset(
    "in on at to for of with by from about like as and or but if when because so than into over"
    " under after before not no is are was".split()
)
SHORT = 12  # words of a phrase without a verb
# A phrase with one of these makes a statement, asks a question, or only gives a duration.
TOLD = bounded(
    r"\b(?<!unless )(?<!if )(?<!when )(?<!whenever )(?:i|i'm|im|i've|ive|i'd|we|we're|we've|he"
    r"|she|they|is|are|was|were|am"
    r"|has|had|what|what's|wat|how|how's|where|why|who|which)\b|\A\W*(?:(?:al{1,2}ways|never|ever"
    r"|every|each|time|single|goes|for|everything|that|this|too)\W*){1,6}\Z",
    re.I,
)
LISTED = bounded(
    r"(?:i|we|you|they)(?:'ll)? .{0,200}\b(?:to|can|could|will|should|'ll|would)\b", re.I
)
# A verb is a noun here: "quote marks should be".
NAMED = bounded(r"\s{1,20}(?:\w+ )?(?:is|are|was|were|should|must|has|needs)\b", re.I)


class Piece(NamedTuple):
    """A part of a turn that requests one thing."""

    start: int  # of the instruction: condition and order, without polite phrases
    head: int  # where the order begins
    end: int
    kind: str  # order, asked, wished, wanted, allowed, norm, phrase
    negated: bool
    verb: str  # the first word of an order, in lower case
    onward: bool  # explicitly from now on
    condition: str
    project: str
    after: str  # the rest of the sentence: the reason
    place: int  # the index of the sentence in the turn
    sentences: int
    asks: bool  # the sentence ends with a question mark
    joined: bool  # it follows another piece of the same sentence
    sentence: str
    following: str  # the next sentence
    plain: str  # the text of the turn

    @property
    def order(self) -> str:
        return self.plain[self.head : self.end]

    @property
    def text(self) -> str:
        return self.plain[self.start : self.end]


def pieces(plain: str, clauses: Sequence[Clause]) -> Iterator[Piece]:
    """Yield every piece that requests something."""
    spans = [(some[0].start, some[-1].end) for some in by_sentence(clauses)]
    for place, (start, end) in enumerate(spans):
        if end - start <= LONGEST:
            following = plain[slice(*spans[place + 1])] if place + 1 < len(spans) else ""
            yield from _of_sentence(plain, start, end, place, len(spans), following)


def _of_sentence(
    plain: str, start: int, end: int, place: int, number: int, following: str
) -> Iterator[Piece]:
    asks = plain[end : end + 1] == "?"
    if asks and "you" not in plain[start:end].lower():
        return
    front = FRONT.match(plain, start, end)
    head = front.end() if front else start
    if (shared := SHARED.match(plain, head, end)) and AT_LAST.search(plain, shared.end(), end):
        head = shared.end()
    onward = bool(front and front["onward"])
    condition, project, begin = "", "", head
    scoped = SCOPED.match(plain, head, end)
    if found := scoped or CONDITION.match(plain, head, end):
        condition, head = found["condition"], found.end()
        project = (scoped["project"] or "") if scoped else ""
        again = FRONT.match(plain, head, end)
        head = again.end() if again else head
        onward = onward or bool(again and again["onward"])
    if asks and condition[:2].lower() == "if":
        return  # "if I moved, would you": hypothetical, not a request
    joined = False
    for first, last, is_bound in _parts(plain, head, end):
        if is_bound and not joined:
            continue  # "I need to study and use my weekends": no order, but the speaker's own need
        cut = REASON.search(plain, first + 2, last)
        stop = cut.start() if cut else last
        stop = tidied(plain, first, stop, TAIL)
        found_head = _head(plain, first, stop)
        if found_head and asks and found_head.kind in ("norm", "phrase"):
            found_head = None  # "any areas that I should focus on?"
        joined = joined and bool(found_head)
        if found_head and stop - first > 2:
            from_ = found_head.at if joined or not condition else begin
            own = FRONT.match(plain, first, stop)
            is_onward = onward or bool(own and own["onward"])
            yield Piece(
                from_, found_head.at, stop, *found_head[1:], is_onward, condition, project,
                plain[stop:end], place, number, asks, joined, plain[start:end], following, plain,
            )  # fmt: skip
            joined = True


def tidied(plain: str, start: int, end: int, polite: Bounded) -> int:
    """Find the end of a span without trailing punctuation and polite words."""
    while True:
        end = start + len(plain[start:end].rstrip(MARKS))
        found = polite.search(plain, max(start, end - FARTHEST), end)
        if not found:
            return end
        end = found.start()


def _parts(plain: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Split where another order begins: "use tabs and keep lines short".

    The third item tells whether the part is joined to the previous one: by "and", or in a list ("I
    can go there, ask questions").
    """
    is_bound, begin = False, start
    for found in JOINT.finditer(plain, start, end):
        word, join = found["word"].lower(), found["join"]
        is_begun = join[0] == "," or "so" in join
        if not (found["next"] or found["head"].strip()):
            continue  # "run the tests and commit"
        known = word in VERBS and (word not in NOUNS or bool(found["head"].strip()) or is_begun)
        known = known or (word in NOUNS and (found["next"] or "").lower() in DETERMINERS)
        if (known or found["head"].lower().split()[-1:] in (["don't"], ["never"], ["no"])) and (
            plain[start : found.start()].strip()
        ):
            yield start, found.start(), is_bound
            is_list = "and" in found["join"] or bool(LISTED.match(plain, begin, found.start()))
            start, is_bound = found.start("head"), is_list and not found["head"]
    yield start, end, is_bound


class Head(NamedTuple):
    """The beginning of a piece."""

    at: int
    kind: str
    negated: bool
    verb: str


def _head(plain: str, start: int, end: int) -> Head | None:
    """Find where an order begins, and what kind of piece it is."""
    front = FRONT.match(plain, start, end)
    at = front.end() if front else start
    if NEVER.match(plain, at, end):
        return None
    return _polite(plain, at, end) or _plain(plain, at, end)


def _polite(plain: str, at: int, end: int) -> Head | None:
    """Find an order that is phrased as a question, a wish or a permission."""
    for kind, pattern in (("asked", ASKED), ("wished", WISHED), ("allowed", ALLOWED)):
        if found := pattern.match(plain, at, end):
            _, negated, verb = _mood(plain, found.end(), end)
            return Head(at if kind == "allowed" else found.end(), kind, negated, verb)
    if found := WANTED.match(plain, at, end):
        return Head(found.end(), "wanted", "n't" in found.group() or "not" in found.group(), "")
    return None


def _mood(plain: str, at: int, end: int) -> tuple[int, bool, str]:
    """Skip "always", "never" or "don't"; return the position, the negation and the next word."""
    mood = MOOD.match(plain, at, end)
    begin = mood.end() if mood else at
    first = WORD.match(plain, begin, end)
    return begin, bool(mood and mood["not"]), first.group().lower() if first else ""


def _plain(plain: str, at: int, end: int) -> Head | None:
    """Find a plain order, a norm, or a phrase without a verb."""
    begin, negated, word = _mood(plain, at, end)
    is_doing = word.endswith("ing") and not word.endswith("thing")  # "setting goals makes sense"
    if not word or is_doing or (negated and word in DETERMINERS):  # "never the Guardian"
        return None
    if negated and word.endswith("s") and word not in VERBS:
        return None  # "… and never sleeps" describes somebody
    if word in OWN:
        is_norm = word in ("my", "our") and NORM.search(plain, at, end)
        return Head(at, "norm", False, word) if is_norm else None
    after = begin + len(word)
    is_order = word in VERBS or negated or "always" in plain[at:begin].lower()
    is_order = is_order or _is_unknown_verb(plain, word, after, end)
    if is_order and not (word in NOUNS and NAMED.match(plain, after, end)):
        return Head(at, "order", negated, word)
    if NORM.search(plain, at, end):
        return Head(at, "norm", False, word)
    is_short = len(plain[at:end].split()) <= SHORT and not TOLD.search(plain[at:end])
    return Head(at, "phrase", word == "no", word) if is_short else None


def _is_unknown_verb(plain: str, word: str, after: int, end: int) -> bool:
    """Tell if a word is a verb by what follows it: "swap the", "transpose it"."""
    following = WORD.search(plain, after, min(end, after + 40))
    is_object = following is not None and following.group().lower() in OBJECTS
    return is_object and word.isalpha() and word not in DETERMINERS and word not in LINKS
