"""Rules for what somebody has done, and what they mean to do: deeds, journeys, plans, goals."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import no, phrase, rule, then

STRONG = words.DEEDS - words.LIGHT
LIGHT = words.LIGHT - {"had"}
# Of these even an object tells little, unless it is said when.
FAINT = frozenset(
    "got gotten made shared supported helped worked took taken put gave given brought held broke passed lost".split()
)
UNTOLD = words.MENTAL | words.DEEDS
ITS = "an? the my our some two three this that his her their another first second \\d+"
SOME = f"(?:{'|'.join(ITS.split())})"
# "I want to know", "I'd love to hear": talk about the talk.
TALK = no(
    "know ask thank say hear share tell make_sure check mention let talk chat show_you give_you send_you remind hope help_you"
    " point add discuss catch_up congratulate apologi[sz]e hang_out feel believe admit clarify confirm find_out get_your"
    " be(?!_(?:an?|the|part|more|[a-z]+ier|[a-z]+ous|stronger|better)\\b) think have_it get_it try_it do_(?:it|that|this|so)"
    " see_(?:you|your|it|what|how|that|them|more|another|some|if|where|the|her|him) also_(?:ask|know|say|mention)"
)
# Its object is said elsewhere.
ELSEWHERE = (
    r"(?!\s(?:it|that|this|them|so|you)(?:\s*(?:[,.!?]|\Z)|\s(?:and|for|in|at|with|to|after|when|because|so|out|up|all|on)\b))"
)
UP, OFF = "up(?!_(?:an?|the|some|my|our|with|for|to)\\b)", "off(?!_(?:an?|the|some|my|our|that)\\b)"
SLIGHT = no(
    f"it to a_lot so me you us {UP} by for how what why {OFF} really very such into lucky emotional nervous sick tired home"
    " back over better used going involved excited that_(?:it|I|you|we|they) as_(?:a|an|well) like well good great away"
    " (?:caring|looking|doing|thinking|feeling|getting|working|learning|seeing|noticing|reali[sz]ing|making|having)"
)
NOTHING = no(
    "the_(?:impact|time|way|chance|idea|hang|best|most|opportunity|value|importance|difference|beauty|pleasure|first_step"
    "|right) my_(?:mind|best|heart|breath|hopes|way|spirits|attention|time|eye|day|thing) our_hearts an?_(?:lot|bit|ton"
    "|feeling|difference|while|chance|sense|kick|break|surge|few_(?:things|times)|(?:big|huge|real)_(?:impact|difference)"
    "|great_(?:time|idea|point)|impact) some_(?:great|good|amazing|new|time|really|cool|other)"
)
NO_JOURNEY = no("to_(?:bed|sleep|work|be) well wrong so through_with for_it on_and crazy viral")
NO_TAKING = no(
    "an?_(?:while|lot|look|bit|break|minute|moment|chance|toll|long|deep|step|leap|risk|plunge) the_(?:time|plunge)"
    " some_(?:time|work|effort|getting) my_(?:breath|mind) the_first_step"
    " (?:an?|this|that|these|the)_(?:pic|photo|picture)s?"
)
ROUTINE = no(
    "be stay make_(?:my|our|it|this|that)_(?:dreams?|work|happen|count) love miss need have_to"
    " keep(?!_(?!going|chasing|pushing|moving|trying|working)\\w+ing\\b) make_it"
    " get_(?:there|through|better)"
)
# What somebody is doing without meaning to reach anything.
IDLE = words.FEELING | frozenset(
    "enjoying loving learning reading living working sitting talking saying watching listening playing using wearing staying"
    " telling asking sending sharing eating drinking sleeping standing lying laughing smiling crying starting launching"
    " planning rooting counting showing giving letting putting taking pushing bringing running becoming holding losing"
    " spending cheering volunteering".split()
)
FRONT = r"(?:(?:last \w+|yesterday|today|recently|and|but|so|then|unfortunately|sadly),? )*"
HAPPENED = f"(?:{'|'.join(sorted(STRONG | set('died passed broke took got held helped gave made had started won'.split())))})"

# fmt: off
RULES = (
    # --- done ---
    rule("lost_job", "did", "lost", "plain have", r"(?=\s(?:my|his|her|the)\s(?:\w+ )?job\b)", "deed", 0.95, denied="-"),
    rule("been_to", "visited", "to", "been", no("a_lot hell work busy the_point"), "home", 0.75),
    rule("visited", "visited", "visited toured explored", "plain have",
        no("me us you him her them by"), "thing", 0.9, denied="-"),
    rule("went_when", "did", "went gone", "plain have", NO_JOURNEY, "deed", 0.95, denied="-", when="past"),
    rule("went", "did", "went gone", "plain have",
        rf"(?=\s(?:on|to|for) (?:{SOME}\b|[A-Z])|\s\w+ing\b){NO_JOURNEY}", "deed", 0.8, denied="-"),
    rule("took_part", "did", "took taken", "plain have", then(f"part_in {ITS}") + NO_TAKING, "deed", 0.9, denied="-"),
    rule("had_at", "did", "had", "plain",
        r"(?=\s(?:an?|such|so|my|our|breakfast|lunch|dinner|brunch|drinks|coffee)\b.*\b(?:at|with|in)\s(?:an?|the|my|our|some|someone|friends|[A-Z]))"
        + no("an?_(?:lot|feeling|bit|hard|tough|rough)"), "deed", 0.8, denied="-"),
    rule("had_when", "did", "had", "plain",
        then("an? my our some")
        + no("an?_(?:[\\w-]+_)?(?:lot|feeling|bit|hard|tough|rough|great|good|nice|quiet|busy|blast|setback|experience)"),
        "deed", 0.8, denied="-", when="past"),
    rule("had_chance", "did", "had got", "plain",
        r"\s(?:an?|the|my)\s(?:\w+ )?(?:chance|opportunity|pleasure|honou?r) to\b", "doing", 0.6, denied="-"),
    rule("had_to", "did", "had got chose managed", "plain have",
        r"\sto\b"
        + no("be have do think know see feel admit say share tell deal get go let find try take_a"), "doing", 0.7, denied="-"),
    rule("able_to", "did", "able", "was", r"\sto\b" + no("be"), "doing", 0.45, denied="-"),
    rule("did_when", "did", STRONG, "plain have had", ELSEWHERE, "deed", 0.95, denied="-", when="past"),
    rule("did", "did", STRONG, "plain have had", ELSEWHERE, "deed", 0.9, denied="-"),
    rule("did_lightly_when", "did", LIGHT, "plain have had", SLIGHT, "deed", 0.7, denied="-", when="past"),
    rule("made_that", "did", "made", "plain have",
        then("an? this some these two three")
        + no("(?:an?|this|some|these)_(?:\\w+_){0,2}(?:decision|choice|mistake|point|plans?|difference|impact|list|joke|lot"
            "|effort|friends?|connections?|promise|deal|changes?|progress|mess|call|wish|wishes|memories)"),
        "deed", 0.6, denied="-"),
    rule("started_doing", "habit", "started began", "plain have",
        r"(?=\s\w+ing\b)"
        + no("doing making getting having feeling thinking noticing seeing caring learning working reali[sz]ing looking"),
        "doing", 0.65, denied="-"),
    rule("did_lightly", "did", LIGHT - FAINT, "plain have", SLIGHT + NOTHING, "deed", 0.6, denied="-"),
    rule("did_else_when", "did", "*ed", "plain have", SLIGHT + ELSEWHERE, "deed", 0.8, denied="-", when="past", but=UNTOLD),
    rule("did_else", "did", "*ed", "plain have", SLIGHT + ELSEWHERE + NOTHING, "deed", 0.45, denied="-", but=UNTOLD),
    rule("was_done", "did", "*ed", "got", "", "deed", 0.65, denied="-", but=words.MENTAL),
    rule("was_chosen", "did",
        "invited nominated chosen selected accepted awarded featured published interviewed approached offered"
        " picked", "was been",
        "", "deed", 0.65, denied="-"),
    rule("was_at", "did", "at in", "was", then(f"{ITS} [A-Z]\\w+"), "deed", 0.45, denied="-", when="past"),
    rule("had_else", "did", "had", "plain",
        then("an? my our another")
        + no("an?_(?:\\w+_)?(?:lot|feeling|bit|hard|tough|rough|great|good|nice|quiet|busy|blast|time|day|week|weekend|year"
            "|chance|idea|dream|question|thought|moment|problem|reason|choice|little)"), "deed", 0.35, denied="-"),
    rule("at_it", "did", "reading watching", "am been",
        r"(?=\s(?:\"|[A-Z]|(?:this|that|an?|the|some) (?:\w+ ){0,2}?(?:book|novel|series|show|film|movie|documentary)\b))",
        "deed", 0.75, denied="-"),
    rule("used_to", "did", "*", "former", "", "deed", 0.65, denied="-", but=frozenset("love like enjoy hate".split())),
    # --- planned ---
    rule("going_somewhere", "plan", "going heading", "am",
        r"(?=\s(?:to|on|for)\s(?:an?|the|my|our|[A-Z]|some))"
        + no("for_my_dreams"), "deed", 0.8, denied="-"),
    rule("going_to", "plan", "going", "am", rf"\sto\b{TALK}{ROUTINE}", "doing", 0.8, denied="-"),
    rule("gonna", "plan", "gonna", "am plain", TALK + ROUTINE, "doing", 0.85, denied="-"),
    rule("planning", "plan", "planning plan plans", "am been plain",
        rf"\s(?:to|on|for)\b{TALK}"
        + no("doing it that this"), "doing", 0.8, denied="-"),
    rule("planning_it", "plan", "planning organizing organising preparing", "am been",
        then("an? the my our for some another"), "deed", 0.75, denied="-"),
    rule("starting", "plan", "starting launching opening moving relocating running hosting joining putting", "am",
        then("an? my our the for to in with up together")
        + no("to_(?:feel|think|see|get|realize|understand|learn) the_(?:day|week) in_circles up_(?:their|your) in_a"),
        "deed", 0.85, denied="-"),
    rule("doing_soon", "plan",
        "having going taking doing attending visiting flying traveling travelling leaving seeing meeting playing"
        " presenting giving throwing heading driving competing performing starting", "am",
        no("to_feel to_be forward"), "deed", 0.8, denied="-", when="future"),
    rule("has_soon", "plan", "have has got", "plain have",
        r"(?:\sgot)?"
        + then("an? my our another")
        + no("an?_(?:\\w+_)?(?:question|idea|problem|friend|feeling)"), "thing", 0.65, denied="-", when="future"),
    rule("will_soon", "plan", "*", "will",
        TALK,
        "deed", 0.45, denied="-", when="future",
        but=frozenset("be let keep see try check have make get do definitely".split())),
    rule("booked", "plan", "booked scheduled arranged", "plain have",
        then("an? the my our tickets? flights?"), "thing", 0.65, denied="-"),
    rule("looks_forward", "plan", "looking", "am been",
        r"\sforward to\b"
        + no("it that hearing seeing_(?:you|your|what|how|where) this your you more chatting catching the_future"),
        "thing", 0.7, denied="-"),
    # --- wanted ---
    rule("wants", "goal", "want wants hope hopes aim aims intend intends", "plain do",
        rf"\sto\b{TALK}"
        + no("keep_(?:it|you|going) stay get(?!_(?:[a-z]+ier|stronger|fitter|better)\\b)"), "doing", 0.7, denied="-"),
    rule("wanna", "goal", "wanna", "plain", TALK + no("keep_(?:it|you|going) stay get"), "doing", 0.85, denied="-"),
    rule("would_love", "goal", "love like", "would",
        rf"\sto\b{TALK}"
        + no("see go_there join come try help"), "doing", 0.6, denied="-"),
    rule("hoping", "goal", "hoping aiming looking trying striving wanting working determined dreaming shooting", "am been",
        r"(?:\shard)?\s(?:to(?:wards?)?|of|(?<=ming )for|(?<=ving )for|(?<=oting )for)\b"
        + no("it that this figure find_(?:an?|some|the) some you any keep stay understand decide learn_more")
        + TALK, "doing", 0.8, denied="-"),
    rule("saving_for", "goal", "saving", "am been", r"(?:\sup)?\s(?:for|to)\b", "doing", 0.7, denied="-"),
    rule("thinking_of", "goal", "thinking considering", "am been",
        r"(?:\s(?:of|about))?(?=\s\w+ing\b)"
        + no("(?:of|about)?_?(?:trying|using|adding|making|something|doing)"), "doing", 0.85, denied="-"),
    rule("looking_into", "goal", "looking", "am been", r"\sinto\b" + no("it that this"), "thing", 0.8, denied="-"),
    rule("searching_for", "goal", "searching hunting", "am been", r"\sfor\b" + no("it that this"), "doing", 0.75, denied="-"),
    rule("wants_of", "goal", "want wants", "plain do",
        r"(?:\s(?:it|them|'em) to\b|(?=\s(?:people|everyone|others|(?:my|our|the) \w+) to\b))"
        + no("know see be_able work"), "doing", 0.8, denied="-"),
    rule("working_on", "goal", "working", "am", r"\son\b" + then(ITS) + no("it that this myself"), "thing", 0.4, denied="-"),
    rule("interested_in_doing", "goal", "interested", "am been",
        r"\sin\b"
        + then("becoming starting pursuing joining working volunteering creating building helping opening moving studying"
            " teaching"), "doing", 0.65, denied="-"),
    rule("excited_to", "goal", "excited eager ready keen determined motivated pumped thrilled stoked", "am",
        rf"\sto\b{TALK}"
        + no("see get keep start try give_back go chase hear\\w+"), "doing", 0.7, denied="-"),
)

PHRASES = (
    phrase("ours_did", "did", "my our",
        rf"\A\s*{FRONT}(?:my|our) (?P<value>(?!\w+ and )(?:(?!is |are |was |were "
        rf"|will )[\w-]+ ){{1,3}}?{HAPPENED}\b(?!'))(?! (?:me|us)\b)", "doing", 0.75),
    phrase("that_i_did", "did",
        "went attended visited joined took participated wrote organi baked cooked won started watched read hosted saw",
        r"\b(?:an?|the|this|that|these|those|our|my|some|another) (?P<value>(?!progress)(?:[\w'+-]+ ){1,4}?(?:that )?(?:I"
        r"|we)(?:'ve| just| recently)? (?:went to|attended|visited|joined|took part in|participated in|wrote"
        r"|organi[sz]ed|took|baked|cooked|won|started|watched|read|hosted|saw))\b", "", 0.8),
    phrase("after_doing", "did", "after since losing",
        r"\b(?:after |since )?(?P<value>(?:(?<=after )|(?<=since )|(?=losing my job))(?:moving|losing|quitting|graduating"
        r"|starting|leaving|finishing|winning|joining|visiting|watching|reading|witnessing|adopting|retiring) (?!it\b|that\b"
        r"|this\b))",
        "doing", 0.85),
    phrase("my_event", "did", "event wedding graduation concert show game tournament interview performance talk race exam trip",
        r"\b(?:my|our) (?P<value>(?:[\w-]+ ){0,2}(?:event|wedding|graduation|concert|show|game|tournament|interview"
        r"|performance|talk|race|exam|trip|vacation))(?= (?:last|yesterday|two|three|a few|in (?:19|20)))", "", 0.75),
    phrase("getting_ready", "plan", "ready prep",
        r"\b(?:getting ready|preparing|prepping|gearing up) for (?=(?:an?|the|my|our) )",
        "thing", 0.35),
    phrase("first_time", "did", "first",
        r"\b(?:was|is) my (?P<value>first (?:time |ever |attempt at |try at |go at )?[\w-]+(?: [\w-]+)*)", "doing", 0.45),
    phrase("trip_to", "visited", "trip vacation holiday",
        r"\A(?!.*\b(?:plan\w*|next|want\w*|hop\w+|going|will|gonna|wait|soon|upcoming|book\w*|dream\w*|would|could|you|your"
        r"|excited|thinking|considering|need|'ll|'d)\b).*\b(?:trip|vacation|holiday)(?: (?:that )?(?:I|we) (?:took|had"
        r"|went on))? (?:to|in) (?=[A-Z])",
        "place", 0.75),
    phrase("just_back", "visited", "back_from returned_from home_from",
        r"\b(?:got|came|just|am|I'm|we're|was) (?:just )?(?:back|returned|home) from (?!work\b|school\b|the (?:gym|store"
        r"|shops))", "thing", 0.75),
    phrase("is_soon", "plan", "tomorrow tonight next this coming in",
        r"\A\s*(?:(?:and|but|so|oh|also),? )*(?:my|our|the) (?P<value>(?!last|first)[\w' -]{3,40}?)(?:'s| is"
        r"| are) (?:(?:on|happening|scheduled for|set for|coming up) )*(?:tomorrow|tonight|next (?:week|month|year|weekend"
        r"|\w+day)|this (?:week|weekend|month|\w+day)|coming up|in (?:two|three|a few|\d+) (?:days|weeks|months))\b",
        "", 0.75),
    phrase("getting_married", "plan", "getting",
        r"\b(?:I'm|we're|I am|we are) (?P<value>getting (?:married|divorced|engaged)\b.*)", "", 0.75),
    phrase("plan_is", "plan", "plan", r"\b(?:my|the|our) plan(?:'s| is)(?: now)? to ", "doing", 0.8),
    phrase("decided_to", "plan", "decided",
        r"\b(?:I|we)(?:'ve| have)? (?:just |finally |also )?decided to (?!say|share|ask)", "doing", 0.65),
    phrase("excited_for", "plan", "excited pumped stoked thrilled",
        r"\bI'm (?:(?:so|really|super|very|also|pretty) )*(?:excited|pumped|stoked|thrilled) (?:for|about) (?=(?:my"
        r"|our) (?!future|next chapter))", "thing", 0.45),
    phrase("excited_for_it", "plan", "excited pumped stoked thrilled",
        r"\bI'm (?:(?:so|really|super|very|also|pretty) )*(?:excited|pumped|stoked|thrilled) (?:for|about) (?=the .*\b(?:next"
        r"|tomorrow|tonight|this (?:week|month|weekend)|soon|upcoming)\b)", "thing", 0.4),
    phrase("cant_wait", "plan", "can't_wait",
        r"\bcan't wait (?:for (?=my|our|the)|to (?!see\b|hear|share|know|try it|tell|show|check|find|meet you|get started"
        r"|start))", "doing", 0.6),
    phrase("goal_is", "goal", "goal dream ambition mission",
        r"\bmy (?:\w+ )?(?:goal|goals|dream|ambition|mission|resolution)(?: (?:for|this|in) [\w ]{1,20}?)?(?:'s| is| are"
        r"| has always been)(?: now)?(?: to| that)? (?!come|coming)", "doing", 0.8),
    phrase("always_wanted", "goal", "always",
        r"\bI(?:'ve| have)? always (?:wanted|dreamed of|dreamt of|hoped)(?: to)? (?!it\b|that\b|this\b)", "doing", 0.6),
    phrase("a_dream", "goal", "dream",
        r"\b(?:it's|it has|it'd) (?:always )?been (?:a|my) (?:\w+ )?dream(?: (?:of mine|since [\w ]{1,30}?))? to ",
        "doing", 0.8),
)
