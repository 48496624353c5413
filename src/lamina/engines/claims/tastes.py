"""Rules for what somebody likes and does again and again: tastes, favourites, hobbies, habits."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import NOUN, no, phrase, rule, then

# "I love it", "I love how you did this", "I like your bag": kind words, not tastes.
KIND = no(
    "its? that this these those them how what when where you your youre the to_(?:see|hear|know|think|say|be) seeing_(?:you"
    "|your|how) hearing ya him her his one everything all_of all_the both being_(?:able|here|part) knowing having_you"
    " talking_to_you as too so more each"
)
SOME = no("its? that this these those how what them you your yours the_idea one some_of both")
FAVOURITE = r"(?:fav(?:ou?rites?|e|s)?|faves?)"
VERY = (
    r"(?:(?:really|so|very|super|pretty|always|particularly|especially|truly|incredibly|also|just|such|still|now|quite|deeply"
    r"|mostly|totally) )*"
)
THING = rf"(?:(?:the|my|our) )?(?P<value>{NOUN})"
IS = r"(?:'s| is| are)"
DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
FREQUENT = (
    r"(?:every (?!moment|step|time|bit|minute|second|little)(?:single |other |few )?\w+|each (?:day|morning|week|night|evening"
    r"|month|year)|(?:once|twice|(?:a few|two|three|\w+) times) (?:or twice )?(?:a|per|every) \w+|(?:on )?(?:weekends"
    r"|weekdays)|(?:on )?"
    rf"{DAY}s|daily|weekly|most (?:days|mornings|evenings|weekends|nights)|in the (?:mornings|evenings)|after work"
    r"|before (?:bed|work|breakfast))"
)
NOT_HABIT = (
    r"(?!'|(?:am|was|were|will|would|had|did|could|should|can|might|must|went|think|know|learn|look|feel|felt|see|love|hope"
    r"|want|wish|hate|have to|got|need)\b)"
)
PLAYED = (
    r"(?:tennis|football|soccer|basketball|baseball|golf|volleyball|rugby|cricket|hockey|badminton|squash|chess|poker|darts"
    r"|padel|pool|video ?games|board ?games|(?:(?:the|acoustic|electric|bass) )*(?:guitar|piano|violin|drums|cello|flute"
    r"|clarinet|saxophone|trumpet|ukulele|bass|harp|accordion|keyboard|banjo|trombone))"
)
OUTDOORS = (
    r"(?:hiking|running|swimming|climbing|camping|fishing|surfing|skiing|cycling|jogging|dancing|bouldering|sailing|kayaking"
    r"|biking|birdwatching|skating|snowboarding|horse-?riding|bowling|diving)"
)
ACTIVITY = (
    r"(?:(?!is\b|was\b|the\b|my\b|for\b|some|any)[a-z]+ )?(?:yoga|pilates|karate|judo|taekwondo|kickboxing|ballet|crossfit"
    r"|gymnastics|martial arts|ceramics|origami|improv|photography|[a-z]{3,}(?<!th)ing(?! (?:great|well|good|to|of|the|a)\b))\b"
)
CALMING = r"(?:relaxing|calming|fascinating|therapeutic|soothing|rewarding|interesting|fun|enjoyable|inspiring|peaceful)"
RELAX = r"(?:relax|unwind|de-?stress|recharge|express myself|express my|clear my|cope|calm|stay|escape|decompress|chill)"

# fmt: off
RULES = (
    # --- tastes ---
    rule("likes_to", "likes", "love loves like likes enjoy", "plain do",
        r"\sto\b"
        + no("see hear know think say be thank share talk ask have_you get_your chat"), "doing", 0.7, denied="dislikes"),
    rule("likes", "likes", "love loves like likes enjoy enjoys adore adores dig cherish treasure", "plain do",
        KIND, "things", 0.95, denied="dislikes"),
    rule("prefers", "likes", "prefer prefers", "plain do", SOME, "thing", 0.75, denied="dislikes"),
    rule("likes_the", "likes", "love loves enjoy enjoys adore", "plain",
        r"\sthe\b"
        + no("(?:\\w+_){0,3}(?:idea|way|fact|look|sound|colou?rs?|designs?|details?|theme|pic|photo|vibe|painting|energy)"),
        "thing", 0.4, denied="dislikes"),
    rule("loved", "likes", "loved enjoyed liked", "have been", SOME, "things", 0.7, denied="dislikes"),
    rule("loved_once", "likes", "loved enjoyed", "plain",
        SOME
        + no("the \\w+ing(?<!reading)(?<!watching)(?<!playing) every each"), "things", 0.7, denied="-"),
    rule("enjoying", "likes", "loving enjoying", "am been", SOME + no("the each"), "things", 0.6, denied="dislikes"),
    rule("into", "likes", "into", "am", SOME, "things", 0.8, denied="dislikes"),
    rule("into_since", "hobby", "into", "been", SOME, "things", 0.85, denied="-"),
    rule("fond", "likes", "passionate crazy mad nuts enthusiastic", "am been",
        rf"\sabout{SOME}", "things", 0.75, denied="dislikes"),
    rule("drawn_to", "likes", "drawn addicted partial", "am been", rf"\sto{SOME}", "things", 0.7, denied="-"),
    rule("fascinated", "likes", "fascinated", "am been", rf"\s(?:by|with){SOME}", "things", 0.75, denied="-"),
    rule("got_into", "likes", "got gotten getting get", "plain have am been",
        rf"\s(?:really |back )?into{SOME}"
        + no("an? the trouble shape bed my our college school"), "things", 0.65, denied="-"),
    rule("lives_for", "likes", "live lives", "plain", rf"\sfor{SOME}", "things", 0.65, denied="-"),
    rule("sucker_for", "likes", "a", "am", rf"\s(?:total |real |complete )?sucker for{SOME}", "things", 0.8, denied="-"),
    rule("fond_of", "likes", "fond", "am", rf"\sof{SOME}", "things", 0.85, denied="dislikes"),
    rule("keen_on", "likes", "keen hooked", "am", rf"\son{SOME}", "things", 0.8, denied="dislikes"),
    rule("obsessed", "likes", "obsessed in", "am", rf"(?: love)?\swith{SOME}", "things", 0.8, denied="dislikes"),
    rule("interested", "likes", "interested", "am been",
        rf"\sin{SOME}"
        + no("learning finding knowing seeing hearing getting trying exploring"), "things", 0.55, denied="-"),
    rule("fan_of", "likes", "a", "am been",
        rf"\s(?:\w+ )?(?:fan|lover|admirer|follower) of(?: both)?{SOME}", "things", 0.75, denied="dislikes"),
    rule("such_a_fan", "likes", "a", "am been",
        r"\s(?:(?:big|huge|massive|true|real|total|lifelong) )?(?P<value>[\w ]{3,30}?) (?:fan|lover|enthusiast|nerd|buff"
        r"|addict|person|geek|junkie)\b(?! of)", "", 0.7, denied="dislikes"),
    rule("fell_for", "likes", "fell fallen", "plain have", rf"\sin love with{SOME}", "things", 0.7, denied="-"),
    rule("passion_for", "likes", "have has had", "plain have",
        rf"\s(?:an? |such )?(?:\w+ )?(?:passion|love|soft spot|thing|weakness|interest) (?:for|of|in){SOME}",
        "things", 0.85, denied="-"),
    rule("not_without", "likes", "get live resist", "can't", rf"(?: enough of| without)?{SOME}", "things", 0.7),
    rule("finds", "likes", "find finds", "plain",
        rf"\s(?P<value>(?!it\b|that\b|this\b|myself\b|out\b|them\b)[\w' -]{{3,40}}?) {VERY}{CALMING}\b", "", 0.65, denied="-"),
    rule("hates", "dislikes", "hate hates dislike dislikes despise detest loathe", "plain do",
        SOME
        + no("to when seeing being"), "things", 0.8, denied="-"),
    rule("cant_stand", "dislikes", "stand bear stomach", "can't", SOME, "things", 0.85),
    # --- what is done again and again ---
    rule("plays", "hobby", "play plays playing", "plain am been do", rf"\s(?={PLAYED})", "thing", 0.8),
    rule("takes_up", "hobby", "took taken picked", "plain have",
        r"\s(?:back )?up\b"
        + no("the_job a_job residence space time"), "thing", 0.75, denied="-"),
    rule("learning", "hobby", "learning", "am been",
        no("more about a_lot a_ton that from new so as how_much it something things")
        + r"(?: how)?(?: to)?", "thing", 0.75, denied="-"),
    rule("goes_doing", "hobby", "go goes", "plain", rf"\s(?=(?:[a-z]+ )?{OUTDOORS}\b)", "thing", 0.7),
    rule("does_activity", "hobby", "doing do does trying", "am been plain",
        rf"\s(?:some |a bit of )?(?={ACTIVITY})", "thing", 0.65),
    rule("started_activity", "hobby", "started began tried", "plain have",
        rf"\s(?:doing |taking up )(?:some |a bit of )?(?={ACTIVITY})", "thing", 0.6, denied="-"),
    rule("reads", "hobby", "read watch listen", "plain",
        r"(?: to)?(?=\s(?:a lot of|lots of|mostly|mainly|tons of|a ton of|plenty of|books|novels|music|movies|films|anime"
        r"|documentaries|comics|podcasts|poetry|fantasy|sci-fi|[a-z]+ (?:books|novels|music|movies|films|shows|podcasts)))",
        "deed", 0.55, denied="-"),
    rule("started_learning", "hobby", "started began", "plain have",
        r"\s(?:learning|playing)\b(?: how)?(?: to)?"
        + no("more about a_lot that from new so it something things with"), "thing", 0.65, denied="-"),
    rule("volunteers", "habit", "volunteer volunteers volunteering", "plain am been",
        then("at for with in to as"), "deed", 0.9, denied="-"),
    rule("mentors", "habit", "mentor mentors mentoring coach coaches coaching teach teaches", "plain am been",
        then("an? some kids children young the my"), "deed", 0.75, denied="-"),
    rule("making", "hobby", words.MAKING, "been am",
        no("it this that sure up you all down a_blank"), "verb", 0.75, denied="-"),
    rule("exercising", "habit", words.TRAINING, "been",
        no("late around out_of for_office the away into low"), "deed", 0.65, denied="-"),
    rule("keeps_at", "habit", "sticking keeping", "am been",
        r"(?=\s(?:to|up with)\s)", "deed", 0.75, denied="-"),
    rule("sometimes", "habit", words.ROUTINES, "plain",
        r"(?=\s(?:\w+ ){0,2}(?:to|at|on|in|with|a|an|the|my|our|some|for|new|all|different|\w+s)\b)"
        + no("it that this you your me us them a_lot for_granted"), "deed", 0.55, denied="-"),
    rule("pursues", "habit", (form for verb in words.PURSUITS for form in (verb, f"{verb}s")), "plain",
        no("out into away off over late it that this for_you"), "deed", 0.6, denied="-"),
)

PHRASES = (
    # --- favourites ---
    phrase("favourite", "favourite:", "fav",
        r"(?:\bmy|\A\s*)\s*(?:(?:all-time|absolute|personal|new|current|top|other|one|very|real"
        rf"|the) )*{FAVOURITE} (?P<thing>[a-z]+)(?: (?:of all time|ever|right now|these days|at the moment|so far"
        r"|in the world|by far|from \w+))*(?: has to be| has changed to| would be|'s| is| are| was| will always be)(?: now"
        r"| actually| still| definitely| currently| probably)* (?!not\b|when\b|to\b|that\b|how\b)", "thing", 0.85),
    phrase("is_favourite", "favourite:", "fav",
        rf"(?:\A\s*|[,:] )(?:(?:and|but|so|now|well|honestly|these days|currently),? )*{THING}(?:'s| is| are| has become"
        r"| became|'s become)(?: now| definitely| probably| still| by far| easily)*(?: my)?(?: new| all-time| absolute"
        rf"| personal| current)* {FAVOURITE} (?P<thing>[a-z]+)(?: of all time| ever)?(?=\s*(?:now|right now|these days"
        r"|at the moment|,|\Z|so|and|but|because))", "", 0.85),
    phrase("new_favourite", "favourite:", "fav",
        rf"\bnew {FAVOURITE} (?P<thing>[a-z]+)(?: is|:|,)\s*(?!\s|sorry|but|and|so)", "thing", 0.8, wide=True),
    phrase("not_favourite", "favourite:", "fav",
        rf"(?:isn't|is not|'s not|no longer) my {FAVOURITE} (?P<thing>[a-z]+)\b[\w ]*,? (?:now )?(?P<value>(?!nobody|none"
        r"|nothing)\w+) is\b", "", 0.8, wide=True),
    phrase("favourites", "likes", "fav",
        rf"\b(?:one of )?my (?:all-time |absolute |personal )*(?:favou?rites|faves|favou?rite){IS} ", "thing", 0.7),
    phrase("favourite_to_do", "likes", "fav",
        rf"\bmy {FAVOURITE} (?:things?|ways?|part|activit\w+) (?:to do|to relax|to unwind|is|are)(?: is| are)? (?!when|how"
        r"|that|seeing your)", "thing", 0.6),
    phrase("favourites_too", "likes", "fav",
        rf"\A\s*{THING}{IS} (?:all |both |definitely |among )*my (?:all-time )?(?:favou?rites|faves)\b", "", 0.75),
    phrase("up_my_alley", "likes", "alley me",
        rf"\A\s*{THING}(?:{IS} right up my alley| (?:really |always )?(?:speaks? to me|cheers? me up|lifts? my (?:spirits"
        r"|mood)))\b", "", 0.6),
    phrase("top_pick", "likes", "my",
        rf"\A\s*{THING}{IS} {VERY}(?:one of )?my (?:top pick|number one|(?:\w+ )?go-to|jam"
        r"|happy place|escape|passion|thing|first love"
        r"|life|faves?|favou?rites?(?! \w)|guilty pleasure|cup of tea|comfort food|everything|(?:creative |main )?outlets?)\b",
        "", 0.9),
    # --- other words for liking ---
    phrase("my_passion_is", "likes", "passion love interest obsession",
        rf"\bmy (?:\w+ )?(?:passion|true love|main interest|biggest interest|interest|first love|obsession)(?:{IS}"
        r"| has always been| include| includes) ", "things", 0.8),
    phrase("passion_of_mine", "likes", "passion love part_of",
        rf"\A\s*{THING}(?:{IS}| has(?: always)? been| have(?: always)? been) {VERY}(?:(?:an? |my )(?:\w+ )?(?:passion"
        r"|love)(?: of mine)?|an? (?:\w+ )?part of (?:my life|who I am|me)|(?:close|dear) to my heart)\b", "", 0.75),
    phrase("something_i_love", "likes", "something thing",
        rf"\A\s*{THING}(?:{IS}| has always been) (?:definitely |just )?something (?:that )?I(?:'ve always"
        r"| have always)? (?:really |always )?(?:love|enjoy|like|loved|enjoyed)\b", "", 0.75),
    phrase("what_i_love", "likes", "love enjoy",
        r"\b(?:one thing|what|the thing) I (?:really |always )?(?:love|enjoy|like) (?:about \w+ )?is (?!that|how|it)",
        "thing", 0.6),
    phrase("my_love_for", "likes", "my_love my_passion my_interest my_obsession",
        rf"\bmy (?:\w+ )?(?:love|passion|interest|obsession|enthusiasm) (?:for|of|in){SOME}"
        + no("the my others"), "things", 0.9),
    phrase("brings_joy", "likes", "me",
        rf"\A\s*{THING} {VERY}(?:brings?|gives?) me {VERY}(?:(?:so much|a lot of|great|such|lots of|a sense of) )*(?:joy"
        r"|peace|happiness|calm|comfort|pleasure|fulfillment)\b", "", 0.8),
    phrase("makes_happy", "likes", "makes_me make_me",
        rf"\A\s*{THING} {VERY}makes? me {VERY}(?:feel )?{VERY}(?:happy|alive|smile|calm|relaxed|free|good|at peace)\b",
        "", 0.45),
    phrase("not_into", "dislikes", "not n't",
        r"\b(?:I'm|I am) (?:really |so |just )?not (?:really |that |so |too |much )*(?:into|keen on|fond of|big on|a (?:big "
        rf"|huge |great )?fan of){SOME}", "things", 0.8),
    # --- hobbies and habits ---
    phrase("list_of_likes", "likes", "like: love: enjoy:", r"\bI (?:really )?(?:like|love|enjoy): ", "things", 0.8, wide=True),
    phrase("hobby_is", "hobby", "hobb pastime",
        r"\bmy (?:\w+ )?(?:hobby|pastime|hobbies)(?:'s| is| are| include| includes)(?: now)?(?! not\b) ", "things", 0.9),
    phrase("is_hobby", "hobby", "hobb pastime",
        rf"\A\s*{THING}(?:{IS}| has become) (?:definitely |now |still )?(?:my|an?)(?: \w+)? (?:hobby|hobbies|pastime)\b",
        "", 0.85),
    phrase("hobbies", "hobby", "hobb", r"\b(?:have|got|'ve)(?: got)? (?:\w+ )?hobbies,?:? ", "things", 0.85),
    phrase("free_time", "hobby", "time",
        r"\b(?:in|during) my (?:free|spare|down) ?time,? I (?:usually |often |like to |love to |enjoy )*", "doing", 0.8),
    phrase("for_fun", "hobby", "for_fun to_relax unwind stress",
        r"\bI (?:like to |usually |often )?(?P<value>[\w ]+?) (?:for fun|to relax|to unwind|to de-?stress)\b", "", 0.7),
    phrase("frequent", "habit", "every each times_a twice once_a daily weekly days most mornings evenings weekends",
        r"\b(?:I|we)(?:'ve been| have been)? (?:(?:usually|always|often|try to|like to|also|still|now"
        rf"|just) )*(?P<value>{NOT_HABIT}[a-z]+(?<!ed)(?: [\w'-]+){{0,7}}? {FREQUENT})(?! (?:since|when|that|I|we) )",
        "", 0.75),
    phrase("every_front", "habit", "every each twice days",
        rf"\A\s*(?:and |so )?{FREQUENT},? (?:I|we) (?:(?:usually|always|often|try to"
        rf"|like to) )*(?P<value>{NOT_HABIT}[a-z]+(?<!ed)\b)", "doing", 0.7),
    phrase("usually", "habit", "usually always often tend_to typically regularly sometimes",
        r"\b(?:(?:I|we) (?:usually|always|often|typically|normally|tend to|regularly|sometimes)|(?:sometimes"
        r"|usually|often),? (?:I|we)) (?!have to\b|had\b|wanted\b|feel\b|felt\b"
        r"|think\b|been\b|loved\b|knew\b|was\b|love\b|say\b|said\b|like\b|enjoy\b|dreamed\b|remember\b|get\b|makes?\b|doubt\b|wonder\b|forget\b|wish\b|am\b"
        r"|look forward)(?=[a-z]+(?<!ed)\b)", "doing", 0.7),
    phrase("regular", "habit", "regular", r"\b(?:I|we) (?P<value>(?:have|go to|do|attend) regular [\w -]+)", "doing", 0.7),
    phrase("where_i", "habit", "volunteer train practice teach mentor",
        r"\b(?:an?|the|this|that) (?P<value>(?:[\w'+-]+ ){1,3}?(?:that |where )?(?:I|we)"
        r" (?:volunteer|train|practice|teach|mentor)(?: at| with| in)?)\b", "", 0.65),
    phrase("smokes", "habit", "smoke vape", r"\b(?:I|we) (?:still )?(?P<value>smoke|vape)\b", "", 0.7),
)
