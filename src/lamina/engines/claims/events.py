"""Rules for what a person has done or intends to do: events, journeys, plans, goals."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import SELDOM, no, phrase, rule, then
from lamina.engines.claims.words import either

STRONG = words.DEEDS - words.LIGHT
LIGHT = words.LIGHT - {"had"} | {"*ed"}
# Verbs that tell little even with an object, unless a time is given.
FAINT = frozenset(
    "got gotten made shared supported helped worked took taken put gave given brought held left ate"
    " eaten saw seen drank drunk".split()
)
UNTOLD = (words.MENTAL | STRONG) - words.LIGHT
ITS = "an? the my our some two three this that his her their another first second \\d+"
SOME = f"(?:{'|'.join(ITS.split())})"
# "I want to know", "I'd love to hear": about the conversation itself.
TALK = no(
    "know ask thank say hear share tell make_sure check mention let talk chat show_you give_you"
    " send_you remind hope help_you point add discuss catch_up congratulate apologi[sz]e hang_out"
    " feel believe admit clarify confirm find_out get_your be(?!_(?:an?|the|part|more|[a-z]+ier"
    "|[a-z]+ous|stronger|better)\\b) think have_it get_it try_it do_(?:it|that|this|so)"
    " see_(?:you|your|it|what|how|that|them|more|another|some|if|where|the|her|him)"
    " also_(?:ask|know|say|mention)"
)
# The object is mentioned elsewhere.
ELSEWHERE = (
    r"(?!\s(?:it|that|this|them|so|you|me|us|him|her)(?:\s*(?:[,.!?]|\Z)|\s(?:and|for|in|at|with|to"
    r"|after|when|because|so|out|up|all|on)\b))"
)
UP, OFF = "up(?!_(?:an?|the|some|my|our|with|for|to)\\b)", "off(?!_(?:an?|the|some|my|our|that)\\b)"
SLIGHT = no(
    f"it to a_lot so me you us {UP} by for how what why {OFF} really very such into lucky emotional"
    f" nervous sick tired home"
    " back over(?!_\\d) better used going involved excited that_(?:it|I|you|we|they|\\w+ing|the|my)"
    " as_(?:a|an|well) like well good great away (?:caring|looking|doing|thinking|feeling|getting"
    "|working|learning|seeing|noticing|reali[sz]ing|making|having) mention notice have want need"
    " think feel eating the_idea (?:an?|this|that|these|the|some)_(?:\\w+_)?(?:pic|photo|picture)s?"
)
NOTHING = no(
    "the_(?:impact|time|way|chance|idea|hang|best|most|opportunity|value|importance|difference"
    "|beauty|pleasure|first_step|right|code) my_(?:mind|best|heart|breath|hopes|way|spirits"
    "|attention|time|eye|day|thing) our_hearts an?_(?:lot|bit|ton|feeling|difference|while|chance"
    "|sense|kick|break|surge|few_(?:things|times)|(?:big|huge|real)_(?:impact|difference)"
    "|great_(?:time|idea|point)|impact) some_(?:great|good|amazing|new|time|really|cool|other) your"
    " out_to"
)
NO_JOURNEY = no("to_(?:bed|sleep|work|be) well wrong so through_with for_it on_and crazy viral")
NO_TAKING = no(
    "an?_(?:while|lot|look|bit|break|minute|moment|chance|toll|long|deep|step|leap|risk|plunge)"
    " the_(?:time|plunge) some_(?:time|work|effort|getting) my_(?:breath|mind) the_first_step"
    " (?:an?|this|that|these|the)_(?:pic|photo|picture)s?"
)
ROUTINE = no(
    "be stay make_(?:my|our|it|this|that)_(?:dreams?|work|happen|count) love miss need have_to"
    " keep(?!_(?!going|chasing|pushing|moving|trying|working)\\w+ing\\b) make_it"
    " get_(?:there|through|better)"
)
# Verbs that state no goal.
IDLE = frozenset(
    "enjoying loving reading living sitting talking saying listening wearing telling asking sending"
    " sharing sleeping standing lying laughing smiling crying rooting counting cheering dreading"
    " working learning hoping planning feeling thinking struggling keeping trying being dealing"
    " dying wondering wanting looking waiting missing hearing noticing finding".split()
)
VAIN = (
    "lot feeling bit hard tough rough great good nice quiet busy blast setback experience time day"
    " week weekend chance idea"
)
FRONT = r"(?:(?:last \w+|yesterday|today|recently|and|but|so|then|unfortunately|sadly),? )*"
PAST = (
    rf"(?:(?!need)[a-z]{{3,}}ed"
    rf"|{'|'.join(sorted(word for word in words.DEEDS | {'had'} if not word.endswith('ed')))})"
)
GAINED = (
    "(?:offer|scholarship|promotion|raise|degree|diploma|award|prize|medal|trophy|grant|interview"
    "|call|letter|part|role|spot|place|license|visa|certificate|certification|green"
    " card|tattoo|keys|job|internship|loan|mortgage|refund|ticket|fine)"
)
AIMING = (
    "hoping aiming trying striving wanting working determined dreaming shooting saving searching"
    " hunting training looking"
)

# A joint decision, which counts even without a reason.
TOGETHER = (
    r"\b(?:we|the team|our team)(?:'ve| have|'re| are| has)?(?: (?:just|finally|also|now|all|then"
    r"|already))?"
)

# fmt: off
RULES = (
    # --- done ---
    rule("been_to", "visited", "to", "been", no("a_lot hell work busy the_point"), "home"),
    rule("visited", "visited", "visited toured explored", "plain have",
        no("me us you him her them by"), "thing", denied="-", sure=0.85),
    rule("went", "did", "went gone", "plain have",
        rf"(?=\s(?:on|to|for|with|in|through|around|over|out|back|down|up|\w+ing)\b){NO_JOURNEY}"
        + no("(?:on|to|for|out|back|over|through)_(?:it|that|this|there)"), "deed", denied="-",
        sure=0.9),
    rule("took_part", "did", "took taken", "plain have",
        then(f"part_in out_an? lessons classes {ITS}") + NO_TAKING, "deed", denied="-", sure=0.85),
    rule("had_at", "did", "had", "plain",
        r"(?=\s(?:an?|such|so|my|our|breakfast|lunch|dinner|brunch|drinks|coffee)\b.*\b(?:at|with"
        r"|in|for)\s(?:an?|the|my|our|some|someone|friends|lunch|dinner|breakfast|[A-Z]))"
        + no("an?_(?:lot|feeling|bit|hard|tough|rough)"), "deed", denied="-", sure=0.85),
    rule("had_when", "did", "had", "plain", then("an? my our some")
        + no(f"an?_(?:[\\w-]+_)?(?:{'|'.join(VAIN.split())})"), "deed", denied="-", when="past"),
    rule("got_to", "did", "had got chose managed able", "plain have was",
        r"(?:\s(?:an?|the|my)\s(?:\w+ )?(?:chance|opportunity|pleasure|honou?r))?\sto\b"
        + no("be have do think know see feel admit say share tell deal get go let find try take_a"),
        "doing", denied="-", sure=0.7),
    rule("got_it", "did", "got gotten received landed won earned", "plain have",
        r"(?=\s(?:an?|the|my) (?:[\w-]+"
        rf" ){{0,3}}?{GAINED}\b)", "deed", denied="-"),
    rule("did_when", "did", STRONG, "plain have had", ELSEWHERE, "deed", denied="-", when="past",
        sure=0.9),
    rule("did", "did", STRONG, "plain have had", ELSEWHERE, "deed", denied="-", sure=0.9),
    rule("did_lightly_when", "did", LIGHT, "plain have had", SLIGHT + ELSEWHERE + SELDOM, "deed",
        denied="-", when="past", but=UNTOLD, sure=0.75),
    rule("did_lightly", "did", LIGHT - FAINT, "plain have", SLIGHT + ELSEWHERE + NOTHING + SELDOM,
        "deed", denied="-", but=UNTOLD | FAINT, sure=0.7),
    rule("started_doing", "habit", "started began", "plain have", r"(?=\s\w+ing\b)(?!\sdoing\s*\Z)"
        + no("making getting having feeling thinking noticing seeing caring learning working"
            " reali[sz]ing looking"), "doing", denied="-", sure=0.6),
    rule("made_that", "did", "made", "plain have", then("an? this some these two three")
        + no("(?:an?|this|some|these)_(?:\\w+_){0,2}(?:decision|choice|mistake|point|plans?"
            "|difference|impact|list|joke|lot|effort|friends?|connections?|promise|deal|changes?"
            "|progress|mess|call|wish|wishes|memories)"), "deed", denied="-", sure=0.7),
    rule("was_done", "did", "*ed stuck", "got", "", "deed", denied="-",
        but=words.MENTAL - {"noticed", "moved"}, sure=0.7),
    rule("at_it", "did", "reading rereading watching rewatching", "am been",
        r"(?=\s(?:\"|[A-Z]|(?:this|that|an?|the|some) (?:\w+ ){0,2}?(?:book|novel|series|show|film"
        r"|movie|documentary)\b))", "deed", denied="-"),
    rule("used_to", "did", "*", "former", "", "deed", denied="-",
        but=frozenset("love like enjoy hate be".split()), sure=0.55),
    # --- planned ---
    rule("going_to", "plan", "going", "am", rf"\sto\b{TALK}{ROUTINE}" + no("an? the my our"),
        "doing", denied="-"),
    rule("planning", "plan", "planning plan plans", "am been plain",
        rf"\s(?:to|on|for)\b{TALK}{ROUTINE}" + no("doing it that this an? the my our"), "doing",
        denied="-"),
    rule("gonna", "plan", "gonna", "am plain", TALK + ROUTINE, "doing", denied="-", sure=0.8),
    rule("planning_it", "plan", "planning organizing organising preparing expecting", "am been",
        then("an? the my our for some another"), "deed", denied="-"),
    rule("starting", "plan",
        "starting launching opening moving relocating running hosting joining putting auditioning"
        " applying performing competing switching", "am",
        then("an? my our the for to in with up together from [A-Z]\\w+ careers")
        + no("to_(?:feel|think|see|get|realize|understand|learn) the_(?:day|week) in_circles"
            " up_(?:their|your) in_a"), "deed", denied="-", sure=0.85),
    rule("doing_soon", "plan", "*ing", "am", no("to_feel to_be forward to_it"), "deed", denied="-",
        when="future", but=IDLE),
    rule("has_soon", "plan", "have has got", "plain have", r"(?:\sgot)?"
        + then("an? my our another") + no("an?_(?:\\w+_)?(?:question|idea|problem|friend|feeling)"),
        "thing", denied="-", when="future", sure=0.7),
    rule("will_soon", "plan", "*", "will", TALK, "deed", denied="-", when="future",
        but=frozenset("be let keep see try check have make get do need remember look".split()),
        sure=0.7),
    rule("looks_forward", "plan", "looking", "am been", r"\sforward to\b"
        + no("it that hearing seeing_(?:you|your|what|how|where) this your you more chatting"
            " catching the_future"), "thing", denied="-", sure=0.7),
    # --- wanted ---
    rule("wants", "goal", "want wants hope hopes aim aims intend intends", "plain do",
        rf"\sto\b{TALK}"
        + no("keep_(?:it|you|going) stay get(?!_(?:[a-z]+ier|stronger|fitter|better)\\b)"), "doing",
        denied="-", sure=0.7),
    rule("wanna", "goal", "wanna", "plain", TALK + no("keep_(?:it|you|going) stay get"), "doing",
        denied="-", sure=0.8),
    rule("would_love", "goal", "love like", "would", rf"\sto\b{TALK}"
        + no("see go_there join come try help book order find"), "doing", denied="-", sure=0.65),
    rule("hoping", "goal", AIMING, "am been",
        r"(?:\s(?:hard|up))?\s(?:(?<!training )to(?:wards?)?|of|(?<!king )for)\b"
        + no("it that this figure find_(?:an?|some|the) some you any keep stay understand decide"
            " learn_more (?:\\w+_)?(?:years?|months?|weeks?|days?|while) ages") + TALK, "doing",
        denied="-", sure=0.8),
    rule("thinking_of", "goal", "thinking considering looking", "am been",
        r"(?:\s(?:of|about|at|into))?(?:(?=\s\w+ing\b)|(?<=into)(?!\s(?:it|that|this)\b))"
        + no("(?:of|about)?_?(?:trying|using|adding|making|something|doing)"), "doing", denied="-",
        sure=0.85),
    rule("wants_of", "goal", "want wants", "plain do",
        r"(?:\s(?:it|them|'em) to\b|(?=\s(?:people|everyone|others|(?:my|our|the) \w+) to\b))"
        + no("know see be_able work"), "doing", denied="-", sure=0.8),
    rule("excited_to", "goal",
        "excited eager ready keen determined motivated pumped thrilled stoked", "am",
        rf"\sto\b{TALK}" + no("see get keep start try give_back go chase hear\\w+"), "doing",
        denied="-", sure=0.7),
)

PHRASES = (
    phrase("ours_did", "did", "my our",
        rf"\A\s*{FRONT}(?:my|our) (?P<value>(?!\w+ and )(?:(?!(?:is|are|was|were|will|would|could"
        rf"|should|must|might|can|be|been) )(?-i:[a-z])[\w-]* ){{1,3}}?(?:(?:just|finally|recently"
        rf"|even|already|has|have) )?(?!{either(words.MENTAL)}\b){PAST}\b(?!'))(?! (?:me|us)\b)",
        "doing", sure=0.65),
    phrase("that_i_did", "did",
        "went attended visited joined took participated wrote organi baked cooked won started"
        " watched read hosted saw",
        r"\b(?:an?|the|this|that|these|those|our|my|some|another) (?P<value>(?!progress)"
        r"(?:[\w'+-]+ ){1,4}?(?:that )?(?:I|we)(?:'ve| just| recently)? (?:went to|attended|visited"
        r"|joined|took part in|participated in|wrote|organi[sz]ed|took|baked|cooked|won|started"
        r"|watched|read|hosted|saw))\b", ""),
    phrase("after_doing", "did", "after_ since_",
        r"\b(?P<value>(?:(?<=after )|(?<=since ))(?:moving|losing|quitting|graduating|starting"
        r"|leaving|finishing|winning|joining|visiting|watching|reading|witnessing|adopting"
        r"|retiring) (?!it\b|that\b|this\b))", "doing"),
    phrase("my_event", "did",
        "event wedding graduation concert show game tournament interview performance talk race exam"
        " trip",
        r"\b(?:my|our) (?P<value>(?:[\w-]+ ){0,2}(?:event|wedding|graduation|concert|show|game"
        r"|tournament|interview|performance|talk|race|exam|trip|vacation))(?= (?:last|yesterday|two"
        r"|three|a few|in (?:19|20)))", ""),
    phrase("trip_to", "visited", "trip vacation holiday",
        r"\A(?!.*\b(?:plan\w*|next|want\w*|hop\w+|going|will|gonna|wait|soon|upcoming|book\w*"
        r"|dream\w*|would|could|you|your|excited|thinking|considering|need|'ll|'d"
        r"|saving)\b).*\b(?:trip|vacation|holiday|honeymoon)(?: (?:that )?(?:I|we) (?:took|had"
        r"|went on))? (?:to|in) (?=[A-Z])", "place"),
    phrase("just_back", "visited", "back_from returned_from home_from",
        r"\b(?:got|came|just|am|I'm|we're|was) (?:just )?(?:back|returned|home) from (?!work\b"
        r"|school\b|the (?:gym|store|shops))", "thing"),
    phrase("is_soon", "plan", "tomorrow tonight next this coming in",
        r"\A\s*(?:(?:and|but|so|oh|also),? )*(?:my|our|the) (?P<value>(?!last"
        r"|first)[\w' -]{3,40}?)(?:'s| is| are) (?:(?:on|happening|scheduled for|set for"
        r"|coming up) )*(?:tomorrow|tonight|next (?:week|month|year|weekend|\w+day)|this (?:week"
        r"|weekend|month|\w+day)|coming up|in (?:two|three|a few|\d+) (?:days|weeks|months)"
        r"|(?<=for )[A-Z])", "", sure=0.75),
    phrase("getting_married", "plan", "getting",
        r"\b(?:I'm|we're|I am|we are) (?P<value>getting (?:married|divorced|engaged)\b.*)", ""),
    phrase("we_decided", "decision", "decided agreed chose chosen opted",
        rf"{TOGETHER} (?:decided|agreed|chose|chosen|opted) to (?!say|share|ask|meet|disagree)",
        "doing", sure=0.75),
    phrase("we_chose", "decision", "decided agreed chose chosen settled opted",
        rf"{TOGETHER} (?:decided on|agreed on|chose|chosen|settled on|settled for|opted for) "
        r"(?!it\b|that\b|this\b|to\b|not\b|him\b|her\b|them\b)", "thing", sure=0.75),
    phrase("decided_to", "plan", "decided",
        r"\b(?:I|we)(?:'ve| have)? (?:just |finally |also )?decided to (?!say|share|ask)", "doing",
        sure=0.7),
    phrase("cant_wait", "plan", "can't_wait",
        r"\bcan't wait (?:for (?=my|our|the)|to (?!see\b|hear|share|know|try it|tell|show|check"
        r"|find|meet you|get started|start|plan))", "doing", sure=0.65),
    phrase("always_wanted", "goal", "always",
        r"\bI(?:'ve| have)? always (?:wanted|dreamed of|dreamt of|hoped)(?: to)? (?!it\b|that\b"
        r"|this\b)", "doing"),
    phrase("a_dream", "goal", "dream",
        r"\b(?:it's|it has|it'd) (?:always )?been (?:a|my) (?:\w+ )?dream(?: (?:of mine"
        r"|since [\w ]{1,30}?))? to ", "doing"),
)
