"""Rules for who a person is: name, age, origin, work, home, people, health and food."""

from __future__ import annotations

from lamina.engines.claims import words
from lamina.engines.claims.rule import NOUN, ROLE, no, phrase, rule
from lamina.engines.claims.words import either

# The value needs no further words.
ALIKE = (
    r"(?=\s*(?:[,!]|\.(?!\d)|\Z|(?:and|but|so|by|now|today|already|this|living|these|again|since|over|as"
    r"|for|any ?more|too|though|at)\b))"
)
AWAY = (
    r"(?:\s(?:back|up|down|out|over|across|home|away|again|here|abroad|permanently|alone|full-time"
    r"|with \w+ \w+))*"
)
SHIFT = (
    r"(?:\s(?:here|remotely|there|part-time|full-time|part time|full time|freelance|nights|days"
    r"|again|now|over|back))*"
)
HOUSE = (
    r"(?:flat|house|apartment|place|home|studio|condo|cottage|room|bungalow|loft|houseshare|farm"
    r"|village|town)"
)
# Whom somebody lives with: "my parents", "Ana"; not people who are described further.
HOST = (
    r"(?:(?:my|our|his|her|their|the)(?: (?!who\b|that\b|born\b|from\b|living\b|I\b)[\w-]+){1,2}"
    r"|[A-Z][\w-]+)"
)
IN_A_HOUSE = rf"(?: an? (?:[\w-]+ ){{0,3}}{HOUSE} (?:in|near))?"
BELOW = r"(?:an?|two|three|four|five|six|\d)\s(?:\w+ ){0,2}"
CHILDREN = r"(?:kids?|children|child|sons?|daughters?|boys?|girls?|twins|toddlers?|baby|stepkids)"
ANIMAL, PARTNER = either(words.ANIMALS), either(words.KIN["partner"])
SOME_LANGUAGE = (
    rf"(?:\s(?:some|fluent|good|basic|a bit of|a little|only|decent))*"
    rf"(?=\s{either(words.LANGUAGES)}\b)"
)
COURSE = (
    r"(?:degree|phd|masters?|master's|course|bachelors?|bachelor's|diploma|ba|bsc|msc|ma"
    r"|apprenticeship)"
)
VERY_ILL = r"(?:(?:an?|the|my|some|type \w) )?(?:(?!no |any |to |less )[\w-]+ ){0,2}?"
ILL = rf"(?=\s{VERY_ILL}{either(words.CONDITIONS)}\b)"
AGES = (*(str(age) for age in range(1, 120)), *words.NUMBERS)
# Single words from a list that say what a person is: "I'm vegan", "I'm a Quaker".
KINDS_OF_PEOPLE = {
    "nationality": words.NATIONS,
    "religion": words.RELIGIONS,
    "gender": words.GENDERS,
    "diet": words.DIETS,
}
LACKED = {
    **{name: words.KIN[name] for name in ("partner", "child", "sibling")},
    "pet": words.ANIMALS,
}
STILL = r"(?: now| still| actually| currently| definitely| probably| always)*"
ROLES = either(frozenset(words.ROLES))

# fmt: off
RULES = (
    # --- who ---
    rule("born_on", "birthday", "born", "was", r"\son", "date", denied="-"),
    rule("grew_up", "origin", "born grew raised", "plain was",
        rf"(?:\sup)?(?: and (?:raised|bred|brought up))?\s(?:in|around|on|near){IN_A_HOUSE}",
        "place", denied="-"),
    rule("from", "origin", "from come comes hail hails", "am plain do",
        r"(?:\s(?:originally )?from|(?<=from))", "place"),
    rule("turned", "age", "turned hit", "plain have", no("out down off into up back to"), "number",
        denied="-"),
    rule("aged", "age", AGES, "am", rf"(?:\s(?:years old|yrs old|years young)|{ALIKE})", "verb"),
    *(rule(name, name, listed, "am been have", ALIKE, "verb")
      for name, listed in KINDS_OF_PEOPLE.items()),
    *(rule(f"a_{name}", name, "a an", "am been",
        rf"\s(?:\w+ )?(?={either(listed)}(?:{ALIKE}| (?:wo)?man\b))", "thing")
      for name, listed in KINDS_OF_PEOPLE.items()),
    rule("speaks", "language", "speak speaks", "plain do can", SOME_LANGUAGE, "things"),
    rule("fluent", "language", "fluent", "am", r"\sin", "things"),
    rule("goes_by", "nickname", "go goes", "plain do", r"\sby", "name"),
    rule("called", "nickname", "called known", "am", r"(?:\sas)?", "name", sure=0.6),
    # --- work ---
    rule("works_as", "job",
        "work works working worked trained retrained requalified training qualified qualifying"
        " employed make makes earn earns got landed found started accepted took promoted freelance"
        " freelancing left quit", "plain am been have do was got",
        r"(?!\s(?:my|our|the|him|her|them|it)\b.* to (?:the|an?)\b)"  # "I took my dog to the vet"
        r"(?:\s[\w-]+){0,4}?\s(?:as|to be|to become|to)(?= (?:an?|the|head|chief)\b"
        r"| [a-z]+(?: [a-z]+)?\b)", "job"),
    rule("job", "job", "a an the became become", "am been plain have", "", "job"),
    rule("leads", "job", "lead leads manage manages head heads oversee", "plain",
        r"(?=\s(?:the|an?|our|my)\b)", "deed", denied="-", sure=0.7),
    rule("retired", "job", "retired unemployed self-employed freelancing", "am have", ALIKE,
        "verb"),
    rule("retires", "job", "retired", "plain", no("from my the our his her"), "verb", denied="-"),
    rule("works_at", "employer", "work works working worked", "plain am been have do",
        rf"{SHIFT}\s(?:at|for|with)", "org"),
    rule("does_shifts", "employer", "do does work works", "plain",
        r"\s(?:\w+ ){0,3}(?:shifts?|payroll|accounts|reception|security|nights|admin)\s(?:at|for)",
        "org"),
    rule("job_at", "employer", "got landed found have has accepted took started", "plain have",
        r"\s(?:a|an|my|the)\s(?:\w+ ){0,2}(?:job|position|role|post|gig|placement) (?:at|with)",
        "org", denied="-"),
    rule("joined", "employer", "joined rejoined", "plain have",
        no("an? the my this that in forces him her them us our some"), "org", denied="-", sure=0.7),
    rule("started_at", "employer",
        "started start starting hired employed headhunted poached jumped",
        "plain have am was got been",
        r"(?: work| working| over| again| my new job| a new job| this week| today| ship)?\s(?:at"
        r"|with|by|to)", "org", denied="-"),
    rule("is_at", "employer", "at", "am been",
        r"(?!.*\b(?:this|today|tonight|tomorrow|until|airport|station|hotel|right now)\b)", "org",
        sure=0.7),
    rule("studies", "studies", "study studies studying", "plain am been do",
        no("for abroad at in hard the with on more up"), "subject"),
    rule("majors", "studies", "major majors majoring", "plain am", r"\sin", "subject"),
    rule("does_at", "studies", "doing reading", "am", r"(?=\s[a-z]+(?: and [a-z]+)? at [A-Z])",
        "subject", denied="-"),
    rule("does_course", "studies", "doing taking finishing starting started began",
        "am been plain have", rf"\s(?:an?|my)(?: [\w-]+){{0,2}}? {COURSE} (?:in|on)", "subject"),
    rule("takes_class", "studies", "taking", "am been",
        r"(?=\s(?:(?:an?|some|my) )?(?:[\w-]+ ){1,3}(?:classes|class|lessons|course|courses"
        r"|training)\b)", "thing"),
    rule("member_of", "other", "part a an", "am been",
        r"(?=(?:\s(?:\w+ ){0,2}?(?:member|part)|(?<=part))\sof\s(?:an?|the|our|my)\b)", "deed"),
    rule("good_at", "skill", "good great skilled brilliant decent", "am", r"\sat"
        + no("it this that"), "things", sure=0.7),
    # --- home ---
    rule("lives", "lives_in", "live lives reside resides living based settled residing ended",
        "plain do am been have",
        rf"(?: up)?(?: living)?{AWAY}\s(?:in|at|near|outside|out of){IN_A_HOUSE}", "place"),
    rule("never_lived", "lives_in", "lived", "have", r"\sin", "place", denied="lives_in"),
    rule("moved", "lives_in", "moved relocated emigrated", "plain have",
        rf"(?!.*\bwhen I was\b){AWAY}(?:\sfrom (?P<old>[A-Z][\w' -]*?))?"
        rf"\s(?:to|into|(?:back )?in with {HOST} in(?! (?:Spring|Summer|Autumn|Fall|Winter)\b))"
        rf"{IN_A_HOUSE}", "place", denied="-"),
    rule("now_in", "lives_in", "in back", "am been", r"(?:\s(?:home )?(?:living )?in)?", "place",
        when="now"),
    rule("is_in", "lives_in", "in", "am",
        r"(?!.*\b(?:this|today|tonight|tomorrow|until|holiday|vacation|visiting|weekend|trip"
        r"|for (?:work|a)|right now|love|on)\b)", "place", denied="-", sure=0.55),
    # --- people ---
    rule("status", "relationship_status", words.STATUSES, "am have been",
        no("to in with by handed mom mum mother dad father parent child malt most day from"),
        "verb"),
    rule("widowed", "relationship_status", "a in", "am",
        r"(?=\s(?:an? )?(?:\w+ )?(?:widow(?:er)?|bachelor|divorcee|relationship|single (?:mom|mum"
        r"|dad|mother|father|parent))\b)", "deed"),
    rule("got_status", "relationship_status", "married engaged divorced separated", "got have",
        no("to"), "verb", denied="-"),
    rule("married_to", "partner", "married engaged", "am have got plain", r"(?:\sto)?", "name"),
    rule("parted", "relationship_status", "divorced separated", "plain",
        no("from_\\w+_by the his her my"), "verb", denied="-"),
    rule("seeing_someone", "relationship_status", "dating seeing", "am been",
        r"(?=\s(?:someone|somebody)\b)", "deed", sure=0.8),
    rule("dating", "partner", "dating seeing going together back got", "am been plain have",
        r"(?:(?<=dating)|(?<=seeing)|(?<!going)\swith|(?: (?:out|back|together)){1,3}\swith)(?: an?"
        r" \w+ (?:named"
        r"|called))?", "name"),
    rule("partner_named", "partner", "have has got", "plain have",
        rf"\s(?:got )?an? (?:new |lovely )?{PARTNER}(?: now| again)?,? (?:called "
        rf"|named )?(?=[A-Z])", "name", denied="-"),
    rule("children_named", "child", "have has got had named", "plain have",
        rf"(?:\s(?:got )?{BELOW}{CHILDREN}(?: (?:girl|boy))?,?|(?<=named)\s(?:the|our"
        rf"|my) {CHILDREN})\s(?:called "
        r"|named )?(?=[A-Z])", "names", denied="-"),
    rule("has_children", "child", "have has got raising", "plain have do am",
        rf"(?: got)?(?=\s{BELOW}{CHILDREN}\b)"
        + no("an?_(?:\\w+_)?(?:child|baby)_(?:in|on|due)"), "thing", denied="-"),
    rule("siblings_named", "sibling", "have has got", "plain have",
        rf"\s(?:got )?{BELOW}(?:brothers?|sisters?|siblings|twin),?\s(?:called |named )?(?=[A-Z])",
        "names", denied="-"),
    rule("pets_named", "pet", "have has got adopted rescued bought welcomed", "plain have",
        r"\s(?:got )?(?:(?:himself|herself|myself|ourselves|themselves|us|me) )?(?:(?:an?|the"
        r"|another|two|three|four|five"
        rf"|some|our|my|this) )?(?:[\w-]+ ){{0,3}}?{ANIMAL}\b(?:,? (?:called|named"
        rf"|by the name of))?,?\s(?=[A-Z])", "names", denied="-"),
    rule("has_pets", "pet", "have has got own owns", "plain have do",
        rf"(?: got)?(?=\s(?:an?|another|two|three|four|five|some|my|this"
        rf"|\d) (?:[\w-]+ ){{0,3}}?{ANIMAL}\b)", "things"),
    *(rule(f"lacks_{name}", name, "have has got", "plain have do",
        rf"(?: got)?(?:\s(?:any|an?|more)){{0,2}}(?=\s(?:[a-z]+ )?{either(listed)}\b(?!-))",
        "thing", denied="!")
      for name, listed in LACKED.items()),
    # --- health and food ---
    rule("allergic", "allergy", "allergic intolerant", "am plain been", r"\sto", "things"),
    rule("has_allergy", "allergy", "have has got", "plain have do",
        r"\s(?:got )?an? (?:\w+ )?(?P<value>[\w-]+) (?:allergy|intolerance)\b(?! to)", ""),
    rule("went_diet", "diet", "went gone turned going become became", "plain have",
        rf"\s(?:full |fully |all |a |back to being |back to )?(?={either(words.DIETS)}\b)", "thing",
        denied="-"),
    rule("suffers", "health", "suffer suffers suffering diagnosed", "plain am been do was have got",
        r"\s(?:from|with)", "things"),
    rule("struggles", "health", "struggle struggling struggled dealing recovering living",
        "plain am been have", rf"\s(?:from|with){ILL}", "thing"),
    rule("has_condition", "health", "have has got had get gets having caught",
        "plain have do been am", rf"(?: got)?{ILL}", "thing"),
    rule("got_hurt", "health", "hurt injured", "got", "", "deed", denied="-"),
    rule("hurt", "health",
        "broke broken injured hurt sprained fractured tore torn twisted pulled dislocated strained"
        " bruised", "plain have", rf"(?=\s(?:my|his|her|a)\s(?:\w+ )?{either(words.BODY)}\b)",
        "deed", denied="-"),
)

PHRASES = (
    phrase("my_role", ROLE, "my_ our_",
        rf"\b(?:my|our) (?:(?!new favou?rite|favou?rite|other|old"
        rf"|former)[\w-]+ ){{0,2}}?(?P<role>{ROLES})(?: (?:for|this|in) [\w ]{{1,20}}?)?(?:'s| is"
        rf"| are| will be| has always been| have always been| include| includes){STILL}"
        r"(?: (?:to|that|in|on|called|working as|being))? (?!not\b|when\b|how\b|that\b|coming"
        r"|come\b|so\b|really\b|very\b|pretty\b)", ROLE),
    phrase("is_role", ROLE, "my_ our_",
        rf"\A\s*(?:(?:and|but|so|now|well|honestly|yeah|yes|for me),? )*(?:(?:the|my"
        rf"|our) )?(?P<value>{NOUN})"
        r"(?:'s| is| are|'s become| has become| has always been| have always been"
        r"| has been)(?: (?:now|still|definitely|really|mostly|basically|just|pretty much|all|both"
        r"|among|like|one of|such))*"
        rf" (?:my|our)(?: [\w-]+){{0,2}}? (?P<role>{ROLES})\b(?! \w+ing|'| (?:that|who|was|is"
        rf"|to)\b)", "", sure=0.85),
    phrase("hometown", "origin", "home native",
        r"\bmy (?:home ?(?:town|country|city|land)|native (?:country|city|land)"
        r"|country of origin)(?:'s| is|,)? ", "place"),
    phrase("renamed", "name", "name",
        r"\b(?:changed|switched) my (?:last |full |first |sur)?name (?:back )?to ", "name"),
    phrase("introduced", "name", "i'm it's am is",
        r"\b(?:I'm|I am|it's|this is) (?P<value>[A-Z][\w'-]+(?: [A-Z][\w'-]+)+)", ""),
    phrase("call_me", "nickname", "call",
        r"(?<!don't )(?<!dont )(?<!not )(?<!never )(?<!stop )(?<!nobody )\bcall(?:s|ed"
        r"|ing)? me (?=[A-Z])", "name"),
    phrase("birthday_age", "age", "birthday",
        r"\bbirthday (?:today|yesterday|to me)\W+(?:I'm |I am )?", "number"),
    phrase("nth_birthday", "age", "birthday",
        r"\b(?:is|was|celebrated|had) my (?P<value>\d{1,3})(?:st|nd|rd|th) birthday (?:today"
        r"|yesterday|last|on|this)\b", ""),
    phrase("age_today", "age", "today now already",
        r"\A\s*(?:and |finally |just )?(?P<value>\d{1,3})(?= (?:today|already|now)\b)", "number",
        sure=0.7),
    phrase("my_place", "lives_in", "my our house flat apartment cottage place",
        r"\b(?:(?:my|our) (?:\w+ )?|(?:we've|I've|we have|I have|I rent|we rent)(?: got)? (?:an?"
        r"|our"
        rf"|my)(?: [\w-]+){{0,3}} ){HOUSE}"
        r"(?:'s| is)? (?:here )?in (?!the\b)", "place", sure=0.7),
    phrase("new_home", "lives_in", "home address city",
        r"\b(?:new|current) (?:home|address|city|hometown)(?: is|'s|:)(?: in)?\s+", "place",
        wide=True),
    phrase("is_home", "lives_in", "home",
        r"\A\s*(?P<value>[A-Z][\w ]+?)(?:'s| is| has become) (?:my |our )?(?:new )?home(?: now"
        r"| these days)?\s*\Z", ""),
    phrase("where_live", "lives_in", "where",
        r"(?:\bI'm in |\bwe're in |\bhere in |\A\s*)(?P<value>[A-Z][\w' -]+?), (?:that's |which is "
        r"|is )?where (?:I|we)(?: now)? live\b", "", wide=True),
    phrase("new_career", "job", "new talking speaking",
        r"(?:\bnew (?:job|career|role|gig|position|profession)(?: is|'s|:| as)(?: an?)?"
        r"|\byou're (?:now )?(?:talking|speaking) to)\s+", "job", wide=True),
    phrase("post_at", "employer", "at with",
        r"(?:\b(?:day one|first (?:day|week|month|shift)) (?:at|with)(?= [A-Z])"
        r"|(?<!lost )(?<!quit )(?<!left )\bmy (?:new |current )?(?:boss|manager|job|colleagues"
        r"|coworkers|team|gig|role|position|contract) (?:over )?at) ", "org", sure=0.7),
    phrase("hired_me", "employer", "hired",
        r"\A\s*(?P<value>[A-Z][\w& ]+?) (?:has |have )?(?:just )?hired me\b", ""),
    phrase("student", "studies", "student undergrad year",
        r"\b(?:I'm|I am) (?:an? |still an? )?(?:[\w-]+[- ]year )?(?P<value>[a-z]+(?: [a-z]+)?) "
        r"(?:student|undergrad|major)\b", "", sure=0.75),
    phrase("year_of", "studies", "year",
        r"\bin my (?:first|second|third|fourth|fifth|final|last) year of ", "subject"),
    phrase("we_are_together", "partner", "together dating item couple",
        r"(?:\bme and |\A\s*)(?P<value>[A-Z]\w+)(?: and (?:I|me))? (?:are|have been|'ve been"
        r"|got)(?: now)? (?:back together|together|dating|an item|a couple|engaged|married)\b", ""),
    phrase("have_pet", "pet", "have got",
        rf"\b(?:have|got) (?P<value>[A-Z]\w+), (?:an?|our) (?:[\w-]+ ){{0,2}}{ANIMAL}\b", ""),
    phrase("no_food", "diet", "eat",
        r"\b(?:I|we) (?P<value>(?:(?:don't|can't|cannot|do not|never) eat|(?:stopped"
        r"|quit) eating) (?:any )?(?:meat|fish|dairy|gluten|pork|beef|eggs|sugar|animal products"
        r"|red meat|carbs|seafood|shellfish|bread|wheat|nuts|pasta|chicken))\b(?! any ?more)", ""),
    phrase("on_diet", "diet", "diet",
        r"\b(?:on|follow|following|eat|do|started|keep|keeping)(?: to)? (?:an? |the )?(?:strict "
        rf"|mostly )?(?P<value>{either(words.DIETS)}|[\w-]+) diet\b", ""),
    phrase("now_diet", "diet", "now fully currently these",
        r"(?:\A\s*|, |\bso |\band )(?:(?:and|but|so|ok|also|just|only|now|fully|currently) ){0,5}"
        rf"(?P<value>{either(words.DIETS)})(?:(?<=now )| now| these days|(?=\s*\Z))\b", ""),
    phrase("intolerant", "allergy", "intolerant",
        r"\b(?:I'm|I am)(?: \w+)? (?P<value>[\w-]+)[- ]intolerant\b", ""),
    phrase("as_kind", "gender", "trans nonbinary non-binary",
        rf"\bas an? (?P<value>{either(words.GENDERS)}(?<=man))\b", ""),
)
