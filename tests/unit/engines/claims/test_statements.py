"""What a sentence states: one thing in many words, and nothing where nothing is stated."""

from __future__ import annotations

import pytest

from lamina.engines.claims import attributes
from lamina.engines.claims.rule import ROLE
from lamina.engines.claims.statements import PHRASES, RULES

from .holding import claims, holds, said

# What somebody says, about whom, which attribute, and its value; an empty one: nothing of that is known.
STATED = (
    ("I'm living in Leeds these days.", "Ann", "lives_in", "Leeds"),
    ("We've just moved into a flat in Bristol.", "Ann", "lives_in", "Bristol"),
    ("Just relocated to Seattle for work", "Ann", "lives_in", "Seattle"),
    ("I'm based out of Chicago", "Ann", "lives_in", "Chicago"),
    ("I've been in Madrid since September.", "Ann", "lives_in", "Madrid"),
    ("My home is in Cardiff.", "Ann", "lives_in", "Cardiff"),
    ("Here in Oslo, where I live, it's dark by three.", "Ann", "lives_in", "Oslo"),
    ("I reside in Toronto", "Ann", "lives_in", "Toronto"),
    ("Settled in Hamburg now and loving it.", "Ann", "lives_in", "Hamburg"),
    ("I used to live in Rome but now I'm in Foggia.", "Ann", "lives_in", "Foggia"),
    ("I'm working at Tesco now", "Ann", "employer", "Tesco"),
    ("I got a job with Deloitte!", "Ann", "employer", "Deloitte"),
    ("I've started at Shell today", "Ann", "employer", "Shell"),
    ("I've been at Siemens for six years", "Ann", "employer", "Siemens"),
    ("Working for the NHS, twenty years now.", "Ann", "employer", "NHS"),
    ("I've just been hired by Bosch.", "Ann", "employer", "Bosch"),
    ("My employer is Nokia.", "Ann", "employer", "Nokia"),
    ("I am employed by Ikea", "Ann", "employer", "Ikea"),
    ("I landed a role at Spotify", "Ann", "employer", "Spotify"),
    ("I'm a software engineer.", "Ann", "job", "software engineer"),
    ("I work as a bus driver", "Ann", "job", "bus driver"),
    ("I'm an accountant by trade", "Ann", "job", "accountant"),
    ("By day I'm a baker.", "Ann", "job", "baker"),
    ("I trained as a plumber", "Ann", "job", "plumber"),
    ("I'm now a fully qualified electrician", "Ann", "job", "electrician"),
    ("I've become a head teacher", "Ann", "job", "head teacher"),
    ("I make a living as a painter", "Ann", "job", "painter"),
    ("Staying in shape is important to me.", "Ann", "other", "Staying in shape is important to me"),
    ("Painting helps me clear my head.", "Ann", "other", "Painting helps me clear my head"),
    ("The app helped me fix the bug.", "Ann", "other", ""),
    ("I used to love pizza.", "Ann", "other", "used to love pizza"),
    ("I rely on my sister for advice.", "Ann", "other", "rely on my sister for advice"),
    ("I've been running before breakfast.", "Ann", "habit", "running"),
    ("I've been busy painting.", "Ann", "hobby", "painting"),
    ("I started learning Spanish.", "Ann", "hobby", "Spanish"),
    ("I use a whiteboard to keep track.", "Ann", "habit", "use a whiteboard to keep track"),
    ("I can cook and use a sewing machine.", "Ann", "habit", ""),
    ("I got some new headphones.", "Ann", "owns", "new headphones"),
    ("I've got some questions.", "Ann", "owns", ""),
    ("Here's a chair I made.", "Ann", "owns", "chair"),
    ("I built a bookshelf.", "Ann", "owns", "bookshelf"),
    ("I got promoted at work!", "Ann", "did", "promoted at work"),
    ("I managed to finish the marathon.", "Ann", "did", "finish the marathon"),
    ("I had the chance to meet my favourite author.", "Ann", "did", "meet my favourite author"),
    ("I'm so excited to tell you I joined a choir.", "Ann", "did", "joined a choir"),
    ("I made a lasagna for the neighbours.", "Ann", "did", "made a lasagna for the neighbours"),
    ("I made a decision.", "Ann", "did", ""),
    ("The trip to Paris was amazing.", "Ann", "visited", "Paris"),
    ("We want a trip to Paris.", "Ann", "visited", ""),
    ("My exam is next Tuesday.", "Ann", "plan", "exam"),
    ("I'm gonna keep going.", "Ann", "plan", ""),
    ("I want my kids to learn Dutch.", "Ann", "goal", "my kids to learn Dutch"),
    ("I want to be there for you.", "Ann", "goal", ""),
    ("I want to give them a safe, loving home.", "Ann", "goal", "loving home"),
    ("I got hurt last week.", "Ann", "health", "hurt"),
    ("I took the kids to the zoo.", "Ann", "child", "kids"),
    ("Do you go there with the kids?", "Ann", "child", ""),
    ("I'm lucky to have my husband and kids.", "Ann", "child", "kids"),
    ("I had lunch with friends from church.", "Ann", "friend", "friends from church"),
    ("I got promoted to manager", "Ann", "job", "manager"),
    ("I'm studying law", "Ann", "studies", "law"),
    ("I'm doing a degree in physics", "Ann", "studies", "physics"),
    ("I'm majoring in economics", "Ann", "studies", "economics"),
    ("I'm in my second year of medicine", "Ann", "studies", "medicine"),
    ("I'm a chemistry student", "Ann", "studies", "chemistry"),
    ("I'm reading classics at Oxford", "Ann", "studies", "classics"),
    ("My wife Sara loves tulips", "Ann", "partner", "Sara"),
    ("I'm married to Tom", "Ann", "partner", "Tom"),
    ("I'm dating Alex", "Ann", "partner", "Alex"),
    ("I've been seeing Kim for a month", "Ann", "partner", "Kim"),
    ("My boyfriend's name is Leo", "Ann", "partner", "Leo"),
    ("I got engaged to Max", "Ann", "partner", "Max"),
    ("My girlfriend is called Ana", "Ann", "partner", "Ana"),
    ("Me and Jo are together now", "Ann", "partner", "Jo"),
    ("I'm single", "Ann", "relationship_status", "single"),
    ("I'm in a relationship", "Ann", "relationship_status", "in a relationship"),
    ("My favourite colour is teal.", "Ann", "favourite:colour", "teal"),
    ("My fave band is Blur", "Ann", "favourite:band", "Blur"),
    ("Favourite team? Arsenal.", "Ann", "favourite:team", "Arsenal"),
    ("My all-time favorite book is Dune", "Ann", "favourite:book", "Dune"),
    ("I'm vegan", "Ann", "diet", "vegan"),
    ("I follow a keto diet", "Ann", "diet", "keto"),
    ("I'm on a gluten-free diet", "Ann", "diet", "gluten-free"),
    ("I'm allergic to peanuts", "Ann", "allergy", "peanuts"),
    ("I have a nut allergy", "Ann", "allergy", "nut"),
    ("I'm allergic to cats and pollen", "Ann", "allergy", "cats, pollen"),
    ("I'm lactose intolerant", "Ann", "allergy", "lactose"),
    ("I have a dog called Rex", "Ann", "pet", "Rex"),
    ("My cat Tiggy is asleep", "Ann", "pet", "Tiggy"),
    ("We adopted a puppy named Bo", "Ann", "pet", "Bo"),
    ("My dog's name is Fido", "Ann", "pet", "Fido"),
    ("Our rabbit is called Snow", "Ann", "pet", "Snow"),
    ("I drive a Fiat", "Ann", "owns", "Fiat"),
    ("I have a Samsung phone", "Ann", "owns", "Samsung phone"),
    ("I bought a piano", "Ann", "owns", "piano"),
    ("I'm 29", "Ann", "age", "29"),
    ("I'm 29 years old", "Ann", "age", "29"),
    ("I just turned 30", "Ann", "age", "30"),
    ("My name is Ann Smith", "Ann", "name", "Ann Smith"),
    ("I'm called Ann Smith", "Ann", "name", "Ann Smith"),
    ("Call me Annie", "Ann", "nickname", "Annie"),
    ("I speak French and German", "Ann", "language", "French, German"),
    ("I'm fluent in Dutch", "Ann", "language", "Dutch"),
    ("I'm going to visit Peru in May", "Ann", "plan", "visit Peru"),
    ("I'm planning a trip to Cuba", "Ann", "plan", "trip to Cuba"),
    ("We're getting married in June", "Ann", "plan", "getting married"),
    ("I run every morning", "Ann", "habit", "run every morning"),
    ("I go to the gym twice a week", "Ann", "habit", "go to the gym"),
    ("I like jazz", "Ann", "likes", "jazz"),
    ("I love hiking and swimming", "Ann", "likes", "hiking, swimming"),
    ("I can't stand coriander", "Ann", "dislikes", "coriander"),
    ("I don't like mushrooms", "Ann", "dislikes", "mushrooms"),
    ("My hobby is chess", "Ann", "hobby", "chess"),
    ("I'm from Ghana", "Ann", "origin", "Ghana"),
    ("I come from Malta originally", "Ann", "origin", "Malta"),
    ("I'm Catholic", "Ann", "religion", "Catholic"),
    ("I have asthma", "Ann", "health", "asthma"),
    ("I suffer from hay fever", "Ann", "health", "hay fever"),
    ("I've been diagnosed with diabetes", "Ann", "health", "diabetes"),
    ("My birthday is on 3 May", "Ann", "birthday", "3 May"),
    ("My birthday's June 4th", "Ann", "birthday", "June 4th"),
    ("I was born on 5 July 1990", "Ann", "birthday", "5 July"),
    ("I have two kids, Ben and Mia", "Ann", "child", "Ben, Mia"),
    ("My son Noah is five", "Ann", "child", "Noah"),
    ("We had a baby, Lily!", "Ann", "child", "Lily"),
    ("My brother Sam lives in Oslo", "Sam", "lives_in", "Oslo"),
    ("My mum, Carol, is a nurse", "Carol", "job", "nurse"),
    ("Zoe told me she works for Shell now.", "Zoe", "employer", "Shell"),
    ("My boss said I live in cloud cuckoo land", "Ann", "lives_in", ""),
    ('"I live in Paris," she said.', "Ann", "lives_in", ""),
    ("The article says: I live in Berlin", "Ann", "lives_in", ""),
    ("Ich wohne in Berlin und bin Lehrer.", "Ann", "lives_in", ""),
    ("Would you say I'm a good teacher?", "Ann", "job", ""),
    ("Imagine I'm a pilot.", "Ann", "job", ""),
    ("Maybe I'm allergic to nuts", "Ann", "allergy", ""),
    ("I think I might be allergic to nuts", "Ann", "allergy", ""),
    ("I wish I had a Porsche", "Ann", "owns", ""),
    ("Do I look like I own a Porsche?", "Ann", "owns", ""),
    ("Act as if I'm a lawyer", "Ann", "job", ""),
    ("I live in Rome, sorry, Milan.", "Ann", "lives_in", "Milan"),
    ("I live in Rome, no wait, Milan.", "Ann", "lives_in", "Milan"),
    ("I live in Rome, I mean Milan.", "Ann", "lives_in", "Milan"),
    ("My dad retired last year. I'm a cook.", "Ann", "job", "cook"),
    ("People say I look like a model.", "Ann", "job", ""),
    ("He said: I work at Acme.", "Ann", "employer", ""),
    ("My horoscope says I'm moving to Paris", "Ann", "lives_in", ""),
    ("In my dream I lived in Paris.", "Ann", "lives_in", ""),
    ("As a kid I lived in Paris.", "Ann", "lives_in", ""),
    ("When I lived in Paris I ate well", "Ann", "lives_in", ""),
    ("I lived in Paris for a year, back in 2010.", "Ann", "lives_in", ""),
)
# More of one turn at once.
ALL = (
    ("I'm a nurse and I live in Hull.", {("Ann", "job", "nurse"), ("Ann", "lives_in", "Hull")}),
    ("My sister Mia moved to Rome.", {("Ann", "sibling", "Mia"), ("Mia", "lives_in", "Rome")}),
    ("I love hiking and my brother Sam hates it.", {("Ann", "likes", "hiking"), ("Ann", "sibling", "Sam")}),
    ("I speak French and German.", {("Ann", "language", "French"), ("Ann", "language", "German")}),
    ("We explored the coast, baked bread and went on a hike.",
     {("Ann", "visited", "coast"), ("Ann", "did", "baked bread"), ("Ann", "did", "went on a hike")}),
    ("My son Felix, who lives in Zurich, is 30.", {("Ann", "child", "Felix"), ("Felix", "lives_in", "Zurich")}),
)  # fmt: skip
# No claims: questions, suppositions, hedges, jokes, praise, talk about the talk, moods, wisdom, what others say.
SILENT = (
    "Do you live in Paris?",
    "Should I move to Paris",
    "If I moved to Paris I would be happy.",
    "I might move to Paris.",
    "Maybe I'm allergic to nuts.",
    "I wish I had a boat.",
    "Suppose I worked at Google.",
    "Oh sure, and I'm a millionaire. Yeah right.",
    "I love it!",
    "I love how you did this.",
    "I love your necklace.",
    "Love the necklace!",
    "I want to know more about that.",
    "I'd love to hear about it.",
    "I'm so happy for you!",
    "I'm here for you.",
    "We got this!",
    "Thanks, that means a lot to me.",
    "Art brings people together.",
    "You live in Paris, right?",
    "You should be a teacher.",
    "They live in Paris.",
    "People say I'm a genius.",
    "There's a rumour that I've left Acme.",
    "My letter says I moved to Swindon.",
    "I felt great yesterday.",
    "It was amazing.",
    "Please call the doctor.",
    "",
    "   ",
    "!!!",
)


@pytest.mark.parametrize(("words", "subject", "attribute", "wanted"), STATED)
def test_a_statement_is_understood_in_many_words(
    words: str, subject: str, attribute: str, wanted: str
) -> None:
    """S1: identity, work, places, people, tastes, possessions, health, plans and habits are claimed; hedges and quotes not."""
    assert holds(words, subject, attribute, wanted), claims(words)


@pytest.mark.parametrize(("words", "wanted"), ALL)
def test_one_turn_may_claim_several_things(words: str, wanted: set[tuple[str, str, str]]) -> None:
    """S1: every clause is read, and each claim has its own subject."""
    assert wanted <= said(words)


@pytest.mark.parametrize("words", SILENT)
def test_what_states_nothing_claims_nothing(words: str) -> None:
    """S1: questions, hypotheticals, hedges, kind words, moods and hearsay are left alone."""
    assert not claims(words)


def test_an_attribute_that_is_denied_may_be_another() -> None:
    """S1: who does not like something dislikes it; who does not any more has only stopped."""
    assert said("I don't like mushrooms.") == {("Ann", "dislikes", "mushrooms")}
    assert said("I don't like mushrooms any more.") == {("Ann", "likes", "-mushrooms")}


def test_every_rule_has_a_name_of_its_own_and_a_confidence_between_none_and_sure() -> None:
    """S6: a threshold of confidence chooses rules, and a fact can name the one that made it."""
    rules = {one.name: one for rules in RULES.values() for one in rules}
    named = [*rules, *(one.name for one in PHRASES)]
    assert len(named) == len(set(named))
    assert all(0 < one.confidence < 1 for one in rules.values())
    assert all(0 < one.confidence < 1 for one in PHRASES)


def test_every_attribute_of_a_rule_is_known() -> None:
    """S2: facts know how each attribute reads."""
    found = {one.attribute for rules in RULES.values() for one in rules} | {
        one.attribute for one in PHRASES
    }
    assert all(attributes.known(name) for name in found - {attributes.FAVOURITE, ROLE})
