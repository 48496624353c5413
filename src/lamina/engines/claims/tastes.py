"""Rules for what a person likes, does regularly, or finds important."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import FREQUENT, NOUN, SELDOM, no, phrase, rule, then
from lamina.engines.claims.words import either

# Compliments, not tastes: "I love it", "I love how you did this", "I like your bag".
KIND = no(
    "its? that this these those them how what when where you your youre the"
    " to_(?:see|hear|know|think|say|be) seeing_(?:you|your|how) hearing ya him her his one"
    " everything all_of all_the both being_(?:able|here|part) knowing having_you talking_to_you as"
    " too so more each our_(?:chat|talk|conversation)s?"
)
SOME = no("its? that this these those how what them you your yours the_idea one some_of both")
FAVOURITE = r"(?:fav(?:ou?rites?|e|s)?|faves?)"
VERY = (
    r"(?:(?:really|so|very|super|pretty|always|particularly|especially|truly|incredibly|also|just"
    r"|such|still|now|quite|deeply|mostly|totally|definitely) ){0,5}"
)
OPEN = (
    r"\A\s*(?:(?:and|but|so|plus|well|yeah|yes|really|for me|true|right|sure|exactly|haha|oh),? )*"
)
THING = rf"(?:(?:the|my|our) )?(?P<value>{NOUN})"
REST = r"(?: [\w'-]+){0,7}"
NOT_HABIT = (
    r"(?!'|(?:am|was|were|will|would|had|did|could|should|can|might|must|went|think|know|learn|look"
    r"|feel|felt|see|love|hope|want|wish|hate|have (?:to|been)|got|need|appreciate|remember|realize"
    r"|believe|understand|bought|made|took|saw|met|spent)\b)"
)
PLAYED, DONE = either(words.PLAYED), either(words.ACTIVITIES)
JOY = r"(?:joy|peace|happiness|calm|comfort|pleasure|fulfillment|satisfaction)"

# fmt: off
RULES = (
    # --- tastes ---
    rule("likes_to", "likes", "love loves like likes enjoy prefer prefers", "plain do", r"\sto\b"
        + no("see hear know think say be thank share talk ask have_you get_your chat"), "doing",
        denied="dislikes"),
    rule("likes", "likes",
        "love loves like likes enjoy enjoys adore adores dig cherish treasure prefer prefers",
        "plain do", KIND, "things", denied="dislikes", sure=0.9),
    rule("loved", "likes", "loved enjoyed liked loving enjoying", "plain have been am", KIND
        + no("\\w+ing(?<!reading)(?<!watching)(?<!playing) every each my_time"), "things",
        denied="-", sure=0.7),
    rule("fond", "likes",
        "passionate crazy mad nuts enthusiastic drawn addicted partial fascinated into fond keen"
        " hooked obsessed in", "am been",
        rf"(?:(?<=into)|\s(?:about|by|with|of|on|love with)|(?:(?<=drawn)|(?<=addicted)"
        rf"|(?<=partial))\sto){SOME}", "things", denied="dislikes", sure=0.75),
    rule("got_into", "likes", "got gotten getting get fell fallen", "plain have am been",
        rf"\s(?:really |back )?(?:into|in love with){SOME}"
        + no("an? the trouble shape bed my our (?:\\w+_){0,2}(?:school|college|uni|university"
            "|program|team|accident)"), "things", denied="-", sure=0.7),
    rule("interested", "likes", "interested", "am been", rf"\sin{SOME}"
        + no("the learning finding knowing seeing hearing getting trying exploring"), "things",
        denied="-", sure=0.5),
    rule("fan_of", "likes", "a", "am been",
        rf"\s(?:[\w-]+ ){{0,2}}?(?:fan|lover|admirer|follower|fanatic|sucker) (?:of"
        rf"|for)(?: both)?{SOME}", "things", denied="dislikes"),
    rule("such_a_fan", "likes", "a", "am been",
        r"\s(?:(?:big|huge|massive|true|real|total|lifelong|more of a) )?(?P<value>[\w ]{3,30}?) "
        r"(?:fan|lover|enthusiast|nerd|buff|addict|geek|junkie|fanatic)\b(?! of)", "",
        denied="dislikes"),
    rule("passion_for", "likes", "have has had", "plain have",
        rf"\s(?:an? |such )?(?:\w+ )?(?:passion|love|soft spot|thing|weakness|interest) (?:for|of"
        rf"|in){SOME}", "things", denied="-"),
    rule("not_without", "likes", "get live resist", "can't", rf"(?: enough of| without)?{SOME}",
        "things"),
    rule("hates", "dislikes", "hate hates dislike dislikes despise detest loathe", "plain do",
        SOME
        + no("to when seeing being"), "things", denied="-"),
    rule("afraid", "dislikes", "afraid scared terrified frightened", "am been", rf"\sof{SOME}",
        "things", denied="-"),
    rule("cant_stand", "dislikes", "stand bear stomach", "can't", SOME, "things"),
    # --- what is done regularly ---
    rule("plays", "hobby", "play plays playing practice practicing", "plain am been do",
        rf"\s(?=(?:(?:the|acoustic|electric|bass|a lot of|some|online) )*{PLAYED}\b){SELDOM}",
        "thing"),
    rule("takes_up", "hobby", "took taken picked", "plain have",
        rf"\s(?:back )?up\b(?=\s(?:the )?(?:[a-z-]+ ){{0,2}}?(?:{PLAYED}|{DONE}|\w+ing)\b)",
        "thing", denied="-"),
    rule("learning", "hobby", "learning", "am been",
        no("more about a_lot a_ton that from new so as how_much it something things")
        + r"(?: how)?(?: to)?", "thing", denied="-"),
    rule("started_learning", "hobby", "started began", "plain have",
        rf"\s(?:(?:learning|playing)\b(?: how)?(?: to)?|(?:doing|taking up)(?=\s(?:[a-z]+ )?{DONE})"
        rf"|(?={DONE}\b))" + no("more about a_lot that from new so it something things with along"),
        "thing", denied="-"),
    rule("does_activity", "hobby", "doing do does trying go goes", "am been plain",
        rf"(?:\sout)?\s(?:some |a bit of |a lot of )?(?=(?:[a-z]+ )?{DONE}\b){SELDOM}", "thing",
        sure=0.7),
    rule("making", "hobby", words.MAKING, "been am",
        no("it this that sure up you all down an?_(?!lot|bit) the my our some") + SELDOM, "verb",
        denied="-"),
    rule("exercising", "habit", words.TRAINING, "been",
        no("late around out_of for_office the away into low"), "deed", denied="-"),
    rule("volunteers", "habit",
        "volunteer volunteers volunteering mentor mentors mentoring coach coaches coaching teach"
        " teaches tutor tutoring", "plain am been",
        then("at for with in to as an? some young the my \\w+s children people")
        + r"(?!.*\b(?:next|tomorrow|tonight|this week))", "deed", denied="-", sure=0.75),
    rule("pursues", "habit", (form for verb in words.PURSUITS for form in (verb, f"{verb}s")),
        "plain", no("out into away off over late it that this for_you you your me us them"), "deed",
        denied="-", sure=0.6),
    rule("sometimes", "habit", words.ROUTINES, "plain",
        r"(?=\s(?:\w+ ){0,2}(?:to|at|on|in|with|a|an|the|my|our|some|for|new|all|different|\w+s)\b)"
        + no("it that this you your me us them a_lot for_granted for_now"), "deed", denied="-",
        sure=0.6),
    # --- what matters ---
    rule("inspired_by", "other", "inspired motivated driven", "am been", r"(?=\s(?:by|seeing)\b)",
        "deed", denied="-"),
    rule("relies_on", "other", "rely relies relying", "plain am",
        r"(?=\son\b)(?!\son (?:it|you|one|each)\b)", "deed", denied="-"),
)

PHRASES = (
    # --- favourites ---
    phrase("favourite", "favourite:", "fav",
        r"(?:\bmy|\A\s*)\s*(?:(?:all-time|absolute|personal|new|current|top|other|one|very|real"
        rf"|the) )*{FAVOURITE} (?P<thing>[a-z]+)(?: (?:of all time|ever|right now|these days"
        rf"|at the moment|so far"
        r"|in the world|by far|from \w+))*(?: has to be| has changed to| would be|'s| is| are| was"
        r"| will always be)(?: now| actually| still| definitely| currently| probably)* (?!not\b"
        r"|when\b|to\b|that\b|how\b)", "thing"),
    phrase("is_favourite", "favourite:", "fav",
        rf"(?:\A\s*|[,:] )(?:(?:and|but|so|now|well|honestly|these days"
        rf"|currently),? ){{0,5}}{THING}(?:'s| is| are| has become"
        r"| became|'s become)(?: now| definitely| probably| still| by far| easily)*(?: my)?(?: new"
        r"| all-time| absolute"
        rf"| personal| current)* {FAVOURITE} (?P<thing>[a-z]+)(?: of all time| ever)?(?=\s*(?:now"
        rf"|right now|these days"
        r"|at the moment|,|\Z|so|and|but|because))", ""),
    phrase("new_favourite", "favourite:", "fav",
        rf"\bnew {FAVOURITE} (?P<thing>[a-z]+)(?: is|:|,)\s*(?!\s|sorry|but|and|so)", "thing",
        wide=True),
    phrase("not_favourite", "favourite:", "fav",
        rf"(?:isn't|is not|'s not|no longer) my {FAVOURITE} (?P<thing>[a-z]+)\b[\w ]*,? (?:now )?"
        rf"(?P<value>(?!nobody|none"
        r"|nothing)\w+) is\b", "", wide=True),
    phrase("among_favourites", "likes", "fav highlight",
        rf"\A\s*{THING}(?:'s| is| are) (?:one of |among )?(?:my {FAVOURITE} (?:things?|ways?|parts?"
        rf"|activit\w+)"
        r"|the highlight of (?:my|our))\b", ""),
    # --- other words for liking ---
    phrase("part_of_me", "likes", "part_of to_my_heart to_me of_mine something",
        rf"\A\s*{THING}(?:'s| is| are| has(?: always)? been| have(?: always)? been) {VERY}(?:an? "
        rf"(?:\w+ )?part of (?:my life"
        r"|who I am|me)|(?:close|dear) to my heart|everything to me|an? (?:\w+ )?(?:passion"
        r"|love) of mine|something I (?:\w+ )?(?:love|enjoy)d?)\b", ""),
    phrase("my_love_for", "likes", "my_love my_passion my_interest my_obsession",
        rf"\bmy (?:\w+ )?(?:love|passion|interest|obsession|enthusiasm) (?:for|of|in){SOME}"
        + no("the my others"), "things", sure=0.9),
    phrase("brings_joy", "likes", "me",
        rf"\A\s*{THING} {VERY}(?:(?:brings?|gives?) me {VERY}(?:(?:so much|a lot of|great|such"
        rf"|lots of|a sense of) )*{JOY}|makes? me {VERY}(?:feel )?{VERY}(?:happy|alive|smile|calm"
        rf"|relaxed|free|at peace)|cheers? me up|speaks? to me"
        r"|lifts? my (?:spirits|mood))\b", ""),
    phrase("list_of_likes", "likes", "like: love: enjoy:", r"\bI (?:really )?(?:like|love|enjoy): ",
        "things", wide=True),
    # --- hobbies and habits ---
    phrase("hobbies", "hobby", "hobb", r"\b(?:have|got|'ve)(?: got)? (?:\w+ )?hobbies,?:? ",
        "things"),
    phrase("for_fun", "hobby", "for_fun to_relax unwind stress",
        r"\bI (?:like to |usually |often )?(?P<value>[\w ]{1,100}?) (?:for fun|to relax|to unwind"
        r"|to de-?stress)\b", ""),
    phrase("frequent", "habit",
        "every each times_a twice once_a daily weekly days most mornings evenings weekends a_year",
        r"\b(?:I|we)(?:'ve been| have been)? (?:(?:usually|always|often|try to|like to|also|still"
        r"|now"
        rf"|just) )*(?P<value>{NOT_HABIT}[a-z]+(?<!ed)(?: [\w'-]+){{0,7}}? {FREQUENT}\b)(?!"
        rf" (?:since (?:I|we|my|our|the|he|she|they)|when|that|I|we|ago) )", ""),
    phrase("every_front", "habit", "every each twice days",
        rf"\A\s*(?:and |so )?{FREQUENT},? (?:I|we) (?:(?:usually|always|often|try to"
        rf"|like to) )*(?P<value>{NOT_HABIT}[a-z]+(?<!ed)\b)", "doing"),
    phrase("usually", "habit", "usually always often tend_to typically regularly sometimes",
        r"\b(?:(?:I|we) (?:usually|always|often|typically|normally|tend to|regularly|sometimes)"
        r"|(?:sometimes|usually|often),? (?:I|we)) (?!have to\b|had\b|wanted\b|feel\b|felt\b"
        r"|think\b|been\b|loved\b|knew\b|was\b|love\b|say\b|said\b|like\b|enjoy\b|dreamed\b"
        r"|remember\b|get\b|makes?\b|doubt\b|wonder\b|forget\b|wish\b|am\b"
        r"|look forward)(?=[a-z]+(?<!ed)\b)", "doing"),
    # --- what matters ---
    phrase("matters", "other", "to_me for_me",
        rf"{OPEN}(?P<value>{NOUN}(?: {VERY}matters?|(?:'s| is| are) {VERY}(?:important|meaningful"
        r"|the most important thing)) (?:to|for) me)\b", "", sure=0.75),
    phrase("important_to", "other", "important_to_me", r"\b(?P<value>important to me to \w)",
        "doing"),
    phrase("used_to_like", "other", "used_to",
        r"\b(?:I|we) (?P<value>used to (?:love|like|enjoy|hate) (?!it\b|that\b|this\b))", "doing"),
    phrase("helps", "other", "_me _us _my",
        rf"{OPEN}(?P<value>{NOUN}(?<!\bto)(?: {VERY}(?:helps?|motivates?|inspires?|calms?|relaxes"
        rf"|grounds|recharges|refreshes) me\b(?! out\b)|(?: has| have|'s) {VERY}(?:helped|inspired"
        rf"|motivated) me\b(?! out\b)| {VERY}(?:gives? me (?:an? |the )?(?:sense|escape|strength"
        rf"|hope|energy|courage|confidence|purpose"
        r"|freedom|power)|(?:keeps?|kept) me (?:going|motivated|focused|positive|sane|grounded|busy"
        r"|young|fit)"
        rf"|clears? my (?:head|mind))){REST})", ""),
)
