"""What a claim speaks of (S1, S2): it changes just that of what is known, and nothing beside it.

Claims are given as the readers of a turn make them, so that no test hangs on how sure these are.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lamina.engines.claims import Claim, Turn, references, sentences
from lamina.engines.claims.denials import Affirmed
from lamina.engines.claims.opening import CHANGE
from lamina.engines.claims.said import Said
from tests.cases import every

from .holding import claims

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
BEFORE = NOW - timedelta(days=90)
Told = tuple[str, str]  # an attribute and a value
MOVED = [("has:deadline", "31 March")]


def claim(attribute: str, value: str, text: str = "", subject: str = "Ann", **more: Any) -> Claim:
    """Make a claim of a turn, whose words are there unless they are of another turn."""
    place = max(0, text.find(value))
    start = text.find("I'm", 0, place) if "I'm" in text[:place] else place
    given = {"at": NOW if text else BEFORE, "confidence": 0.8, "rule": "open self", **more}
    return Claim(subject, attribute, value, start, place + len(value), **given)


def told(text: str, claims: list[Claim], known: list[Told]) -> list[str]:
    """Let a turn of Ann's be resolved, and list what comes of it beside what is known."""
    plain = sentences.said(text)
    said = Said(Turn(text, "Ann", NOW), plain, "Ann", 1)
    affirmed = Affirmed(claim(*one) for one in known)
    found = references.resolved(said, list(sentences.clauses(plain)), claims, affirmed)
    return [shown(one) for one in found]


def shown(one: Claim) -> str:
    """Write a claim as `attribute = value`, with what it replaces, or that it is over."""
    replaced = f" for {one.replaces}" if one.replaces else ""
    over = ", over" if one.until else ""
    about = "" if one.subject == "Ann" else f"{one.subject}: "
    return f"{about}{one.attribute} = {one.value}{replaced}{over}"


def stated(text: str, attribute: str, value: str, known: list[Told], **more: Any) -> list[str]:
    """List what becomes of one claim."""
    return told(text, [claim(attribute, value, text, **more)], known)


SAME_THING = [
    ("The grant deadline is 8 May.", "has:grant deadline", "has:deadline for the grant"),
    ("Our budget for the kitchen is 11,000.", "has:budget for the kitchen", "has:kitchen budget"),
    ("My new dentist is Dr. Anand.", "has:new dentist", "has:dentist"),
    ("My dentist is Dr. Anand.", "has:dentist", "has:dentist"),
]


@every(("text", "attribute", "known"), SAME_THING)
def test_a_thing_keeps_the_name_it_had(text: str, attribute: str, known: str) -> None:
    """S2: the same words in another order, or with "new", name the same thing."""
    value = text.rstrip(".").partition(" is ")[2]
    assert stated(text, attribute, value, [(known, "something")]) == [f"{known} = {value}"]


def test_fewer_words_mean_the_only_thing_that_has_them() -> None:
    """S2: "the deadline" is now that of the grant, where there is no other deadline."""
    known = [("has:deadline for the grant", "31 March")]
    text = "The deadline is 8 May now."
    assert stated(text, "has:deadline", "8 May", known) == ["has:deadline for the grant = 8 May"]
    known.append(("has:deadline for the thesis", "1 July"))
    assert stated(text, "has:deadline", "8 May", known) == ["has:deadline = 8 May"]


def test_fewer_words_mean_it_without_a_cue_only_for_a_value_of_its_shape() -> None:
    """S2: "eu-5" is such a server as "eu-2"; but without "now" nothing says that it changed."""
    known = [("has:staging server", "eu-2")]
    text = "The server is eu-5."
    assert stated(text, "has:server", "eu-5", known) == ["has:staging server = eu-5"]
    text = "The server is green."
    assert stated(text, "has:server", "green", known) == ["has:server = green"]


OTHER_THINGS = [
    ("The production server is eu-9 now.", "has:production server", "has:staging server"),
    ("My work laptop is a Dell now.", "has:work laptop", "has:laptop"),
    ("My sister's flat is in Hull now.", "has:sister's flat", "has:flat"),
    ("My landlord is Mr. Hay now.", "has:landlord", "has:manager"),
]


@every(("text", "attribute", "known"), OTHER_THINGS)
def test_another_thing_leaves_the_first_alone(text: str, attribute: str, known: str) -> None:
    """S2: two servers, and a laptop beside one for work, are two things each."""
    value = text.removesuffix(" now.").partition(" is ")[2]
    assert stated(text, attribute, value, [(known, "eu-2")]) == [f"{attribute} = {value}"]


def test_two_sisters_are_two() -> None:
    """S2: one of whom one may have several replaces nobody."""
    text = "My sister Kasia is here now."
    assert stated(text, "sibling", "Kasia", [("sibling", "Ola")]) == ["sibling = Kasia"]


NEWER = [
    ("We deploy on Tuesdays now.", "does:deploy on", "Tuesdays", "Fridays"),
    ("We're on Python 3.13.", "does:be on", "Python 3.13", "Python 3.10"),
]


@every(("text", "attribute", "value", "known"), NEWER)
def test_what_is_so_now_replaces_what_was(
    text: str, attribute: str, value: str, known: str
) -> None:
    """S2: words such as "now" say so, and so does another number of the same."""
    found = stated(text, attribute, value, [(attribute, known)])
    assert found == [f"{attribute} = {value} for {known}"]


NOT_NEWER = [
    ("We deploy on Tuesdays.", "does:deploy on", "Tuesdays", "Fridays"),  # on both
    ("I have a fever now.", "does:have", "fever", "kayak"),  # "have" excludes nothing
    ("We're on Redis 7.", "does:be on", "Redis 7", "Python 3.10"),
    ("We deploy on Fridays at noon now.", "does:deploy on", "Fridays at noon", "Fridays"),
]


@every(("text", "attribute", "value", "known"), NOT_NEWER)
def test_what_may_be_so_beside_it_replaces_nothing(
    text: str, attribute: str, value: str, known: str
) -> None:
    """S2: a verb may have several objects; only a cue or a version tells that one is gone."""
    assert stated(text, attribute, value, [(attribute, known)]) == [f"{attribute} = {value}"]


def test_what_has_another_purpose_is_used_beside_it() -> None:
    """S2: one version for the API and another for the importer are two; without it, it is newer."""
    known = [("does:use", "Python 3.12"), ("does:use for", "API")]
    text = "We use Python 3.9 for the importer."
    newer = claim("does:use", "Python 3.9", text)
    both = [newer, claim("does:use for", "importer", text)]
    assert told(text, both, known) == ["does:use = Python 3.9", "does:use for = importer"]
    assert told(text, [newer], known) == ["does:use = Python 3.9 for Python 3.12"]


VERSIONS = [
    # what is known, the turn, its claim with what that replaces, and what comes of it
    (
        [("does:use", "Postgres 14")],
        "We upgraded from Postgres 14 to 16.",
        ("does:use", "16", "Postgres 14"),
        ["does:use = Postgres 16 for Postgres 14"],
    ),
    (
        [("does:be on", "Postgres 16")],
        "Postgres is on 17.",
        ("has:postgres", "on 17", None),
        ["does:be on = Postgres 17 for Postgres 16"],
    ),
    (
        [("has:budget", "18,000 euros")],
        "The budget went from 18,000 euros to 14,500.",
        ("has:budget", "14,500", "18,000 euros"),
        ["has:budget = 14,500 euros for 18,000 euros"],
    ),
    (
        [("has:rent", "640")],
        "The rent went from 640 to 700.",
        ("has:rent", "700", "640"),
        ["has:rent = 700 for 640"],
    ),
    (
        [("does:be on", "Postgres 16")],
        "Redis is on 7.",
        ("has:redis", "on 7", None),
        ["has:redis = on 7"],
    ),
]


@every(("known", "text", "given", "wanted"), VERSIONS)
def test_a_bare_number_is_of_what_it_counts(
    known: list[Told], text: str, given: tuple[str, str, str | None], wanted: list[str]
) -> None:
    """S2: a version or an amount is named in full, and only that of the same thing."""
    attribute, value, replaces = given
    found = stated(text, attribute, value, known, replaces=replaces, rule=CHANGE)
    assert found == wanted


def test_a_switch_ends_what_else_was_said_of_the_old_value() -> None:
    """S2: after "switched from Redis to Valkey", the cache is no longer Redis."""
    known = [("has:cache", "Redis"), ("has:queue", "RabbitMQ"), ("likes", "Redis")]
    text = "We switched from Redis to Valkey."
    found = stated(text, "does:use", "Valkey", known, replaces="Redis", rule=CHANGE)
    assert found == ["does:use = Valkey for Redis", "has:cache = Redis, over"]


BECAME = [
    ("renamed Falcon to Kestrel", "has:project", "Falcon", "Kestrel"),
    ("moved the carts into Redis", "does:use", "carts", "Redis"),
    ("upgraded to Python 3.13", "does:be on", "Python 3.10", "Python 3.13"),
]


@every(("deed", "attribute", "old", "new"), BECAME)
def test_a_deed_changes_the_value_it_names(deed: str, attribute: str, old: str, new: str) -> None:
    """S2: what was renamed, moved or upgraded is known by its new value."""
    found = stated(f"We {deed}.", "did", deed, [(attribute, old)])
    assert found == [f"did = {deed}", f"{attribute} = {new} for {old}"]


NOT_BECOME = [
    ("renamed Falcon to Kestrel", "has:project", "Falcon Heavy"),
    ("drove the van to Rome", "has:car", "Mini"),
    ("walked to Python Street 3", "does:be on", "Python 3.10"),
    ("upgraded to Python 3.13", "likes", "Python 3.10"),
]


@every(("deed", "attribute", "old"), NOT_BECOME)
def test_a_deed_changes_nothing_that_it_does_not_name(deed: str, attribute: str, old: str) -> None:
    """S2: a value of which only a part is named, or no thing at all, stays what it is."""
    assert stated(f"We {deed}.", "did", deed, [(attribute, old)]) == [f"did = {deed}"]


RENAMED = [
    ("ledgerd was renamed to moneta.", "ledgerd", "moneta"),
    ("Falcon Heavy has been renamed to Kestrel Nine.", "Falcon Heavy", "Kestrel Nine"),
    ("ledgerd was not renamed to moneta.", "ledgerd", None),
    ("ledgerd was renamed to avoid confusion.", "ledgerd", None),
    ("ledgerd was renamed to moneta last week.", "ledgerd", "moneta"),
    ("It's not true that ledgerd was renamed to moneta.", "ledgerd", None),
    ("Falcon was renamed to Kestrel.", "Falcon Heavy", None),
    ("Was ledgerd renamed to moneta?", "ledgerd", None),
]


@every(("text", "old", "new"), RENAMED)
def test_a_thing_is_renamed_by_its_whole_name(text: str, old: str, new: str | None) -> None:
    """S2: what is known by the old name gets the new one; a denied renaming changes nothing."""
    wanted = [] if new is None else [f"has:project = {new} for {old}"]
    assert told(text, [], [("has:project", old)]) == wanted


def test_a_name_of_two_things_renames_neither() -> None:
    """S2: where the old name is that of two things, it is not clear which one is renamed."""
    known = [("has:project", "Falcon"), ("has:yacht", "Falcon")]
    assert told("Falcon was renamed to Kestrel.", [], known) == []


PLANS = [
    ("fly to Rome on 6 May", "fly to Rome on 3 May", True),
    ("fly to Rome in June", "fly to Rome in May", True),
    ("fly to Oslo on 6 May", "fly to Rome on 3 May", False),
    ("fly to Rome on 3 May", "fly to Rome", False),
    ("fly to Rome on 3 May", "fly to Rome on 3 May", False),
    ("visit the wedding fair on 6 May", "swim on Wed", False),  # "wedding" is no Wednesday
]


@every(("plan", "known", "is_moved"), PLANS)
def test_a_plan_for_another_day_replaces_the_first(plan: str, known: str, is_moved: bool) -> None:
    """S2: the same plan with another day was moved; another plan was not."""
    (found,) = stated(f"I'll {plan}.", "plan", plan, [("plan", known)])
    assert found == (f"plan = {plan} for {known}" if is_moved else f"plan = {plan}")


def test_a_thing_with_a_new_day_ends_the_plan_for_its_old_one() -> None:
    """S2: "moved to 4 September" leaves no wedding on 12 June, in whichever words it was told."""
    planned, text = "Our wedding is on 12 June", "The wedding was moved to 4 September."
    found = stated(text, "has:wedding", "4 September", [("plan", planned)])
    assert found == ["has:wedding = 4 September", f"plan = {planned}, over"]
    text = planned + "."
    found = stated(text, "plan", planned, [("has:wedding", "4 September")])
    assert found == [f"plan = {planned}", "has:wedding = 4 September, over"]


def test_a_thing_without_a_day_ends_no_plan() -> None:
    """S2: what the wedding costs says nothing of its day."""
    found = stated("The wedding is 9,000.", "has:wedding", "9,000", [("plan", "wedding on 2 May")])
    assert found == ["has:wedding = 9,000"]


FULFILLED = [
    ("did", "ran the Ghent marathon", "run the Ghent marathon in June"),
    ("did", "finally bought a used kiln", "buy a used kiln"),
    ("visited", "Ghent", "see Ghent"),
]


@every(("attribute", "deed", "plan"), FULFILLED)
def test_a_plan_ends_when_it_is_carried_out(attribute: str, deed: str, plan: str) -> None:
    """S2: what was done has all the words of what was planned."""
    found = stated(f"I {deed}.", attribute, deed, [("plan", plan)])
    assert found == [f"{attribute} = {deed}", f"plan = {plan}, over"]


NOT_FULFILLED = [
    ("read about the Ghent flood", "run the Ghent marathon"),
    ("bought a kiln", "buy a kiln shelf"),
    ("sold tickets", "buy tickets"),  # one word that names nothing may be of anything
]


@every(("deed", "plan"), NOT_FULFILLED)
def test_a_deed_that_only_mentions_a_plan_leaves_it(deed: str, plan: str) -> None:
    """S2: some of its words do not carry a plan out."""
    assert stated(f"I {deed}.", "did", deed, [("goal", plan)]) == [f"did = {deed}"]


def after(text: str) -> list[str]:
    """List what a turn without claims does to what is known of Rex and Mia."""
    plain = sentences.said(text)
    said = Said(Turn(text, "Ann", NOW), plain, "Ann", 1)
    lives = [claim("does:sleep on", "boiler", subject="Rex"), claim("job", "vet", subject="Mia")]
    clauses = list(sentences.clauses(plain))
    return [shown(one) for one in references.resolved(said, clauses, [], Affirmed(lives))]


def test_what_somebody_did_ends_when_they_die() -> None:
    """S2: nothing holds of the dead any longer."""
    assert after("Rex died in March.") == ["Rex: does:sleep on = boiler, over"]
    assert after("Old Rex has passed away.") == ["Rex: does:sleep on = boiler, over"]


LIVING = [
    "Has Rex died?",
    "If Rex died, I'd cry.",
    "Mia says dad died.",
    "Mia's mother died.",
    "My phone died.",
]


@every("text", LIVING)
def test_whoever_else_died_mia_and_rex_live(text: str) -> None:
    """S2: a question, a supposition, or the death of another ends nothing."""
    assert after(text) == []


POSTS = [("has:on-call for search", "Jan Ott"), ("has:drummer", "Jan Ott"), ("has:vet", "Mia")]
SUCCESSIONS = [
    ("Eva Rau took over on-call from Jan.", ["has:on-call for search = Eva Rau for Jan Ott"]),
    ("Jan handed on-call for search over to Eva.", ["has:on-call for search = Eva for Jan Ott"]),
    ("Jan was replaced by Eva as drummer.", ["has:drummer = Eva for Jan Ott"]),
    ("Eva has replaced Mia.", ["has:vet = Eva for Mia"]),
    ("Jan was replaced by Eva.", []),  # as what?
    ("Mia replaced Eva.", []),  # Eva was not known
    ("Jan handed the keys to Eva.", []),
    ("Did Eva replace Mia? Mia was replaced by Eva?", []),
]


@every(("text", "wanted"), SUCCESSIONS)
def test_a_successor_takes_the_place_of_somebody(text: str, wanted: list[str]) -> None:
    """S2: whoever hands something over has it no longer, and only what is named changes hands."""
    assert told(text, [], POSTS) == wanted


def test_the_one_that_is_known_is_meant_by_the() -> None:
    """S2: "the project is N now" means the only one; beside two, or with "my", it is another."""
    text, rule = "The project is Badger now.", "open the_thing"
    one = [("has:project", "Otter")]
    assert stated(text, "has:project", "Badger", one, rule=rule) == [
        "has:project = Badger for Otter"
    ]
    assert stated(text, "has:project", "Badger", one) == ["has:project = Badger"]
    two = [*one, ("has:project", "Heron")]
    assert stated(text, "has:project", "Badger", two, rule=rule) == ["has:project = Badger"]


def test_somebody_else_lives_where_they_moved_to() -> None:
    """S1, S2: of people without a name only the open form reads that they moved."""
    text = "My sister moved to Bonn in May."
    moved = claim("did", "moved to Bonn in May", text, subject="sister")
    assert told(text, [moved], [])[1:] == ["sister: lives_in = Bonn"]
    own = claim("did", "moved to Bonn in May", text)  # a rule has read it
    assert told(text, [own], []) == ["did = moved to Bonn in May"]


COUNTED = [
    ("habit", "run 10k every morning", "run 5k every morning", True),
    ("owns", "three boats", "two boats", True),
    ("habit", "run 10k every Sunday", "run 5k every Monday", False),
    ("likes", "Blink 182", "Blink 41", False),
]


@every(("attribute", "value", "known", "is_newer"), COUNTED)
def test_another_number_of_the_same_replaces_it(
    attribute: str, value: str, known: str, is_newer: bool
) -> None:
    """S2: what differs in its number alone is the same, of what can be counted."""
    (found,) = stated(f"I {value}.", attribute, value, [(attribute, known)])
    assert found == f"{attribute} = {value}" + (f" for {known}" if is_newer else "")


def test_what_is_denied_or_over_speaks_of_nothing_else() -> None:
    """S2: it is left to `denials.py`."""
    text = "The deadline isn't 8 May now."
    assert stated(text, "has:deadline", "8 May", MOVED, negated=True) == ["has:deadline = 8 May"]
    over = stated(text, "has:deadline", "8 May", MOVED, until=NOW)
    assert over == ["has:deadline = 8 May, over"]


NAMES = [
    ("I'm Ada Lovelace.", "Ada Lovelace", "name"),
    ("Hi, I'm Ada!", "Ada", "name"),
    ("I think I'm Ada.", "Ada", "does:be"),  # a single name must open the turn
    ("I'm Danish.", "Danish", "does:be"),
    ("I'm Ada later on.", "Ada", "does:be"),
    ("I'm a plumber.", "plumber", "job"),
    ("I'm a bit cold.", "bit cold", "does:be"),
]


@every(("text", "value", "attribute"), NAMES)
def test_who_speaks_and_what_they_are(text: str, value: str, attribute: str) -> None:
    """S1: "I'm N" names the speaker or a job, where a rule would say so."""
    assert stated(text, "does:be", value, []) == [f"{attribute} = {value}"]


def test_their_own_name_says_nothing() -> None:
    """S1: "I'm Ann", says Ann."""
    assert stated("I'm Ann.", "does:be", "Ann", []) == []


OPEN = [
    ("I love rooibos.", "does:love", "rooibos", "likes = rooibos"),
    ("I hate mould.", "does:hate", "mould", "dislikes = mould"),
    ("I live in a dorm in Hull rn.", "does:live in", "Hull rn", "lives_in = Hull"),
    ("I live in a dorm.", "does:live in", "dorm", "does:live in = dorm"),
    ("I cook for Acme, I work at Acme.", "does:work at", "Acme", "employer = Acme"),
    ("I'm at Acme.", "does:be at", "Acme", "does:be at = Acme"),  # perhaps for lunch
]


@every(("text", "attribute", "value", "wanted"), OPEN)
def test_the_open_form_says_what_rules_say(
    text: str, attribute: str, value: str, wanted: str
) -> None:
    """S1, S2: tastes, homes and employers have one slot, in whatever words they are told."""
    assert stated(text, attribute, value, []) == [wanted]


def test_who_has_a_job_somewhere_works_there() -> None:
    """S1: "the night porter at the Ritz" works at the Ritz."""
    text = "I'm the night porter at Ritz."
    said = [claim("does:be", "night porter", text), claim("does:be at", "Ritz", text)]
    assert told(text, said, []) == ["job = night porter", "employer = Ritz"]


def test_what_holds_no_longer_is_not_spoken_of() -> None:
    """S2: a switch from what was given up before replaces nothing of it."""
    ended = claim("has:cache", "Redis", until=BEFORE)
    affirmed = Affirmed([claim("has:cache", "Redis"), ended, claim("does:use", "Valkey")])
    assert [one.value for one in affirmed.of("Ann")] == ["Valkey"]
    assert affirmed.last("Ann", "has:cache") is None
    assert not list(affirmed.sharing("Ann", "Redis"))


def test_one_value_ends_the_one_before_it() -> None:
    """S2: of what somebody has one of, the last is affirmed; a denial leaves none."""
    affirmed = Affirmed([claim("has:cache", "Redis"), claim("has:cache", "Valkey")])
    assert [one.value for one in affirmed.things("Ann", ["cach"])] == ["Valkey"]
    affirmed.note(claim("has:cache", "", negated=True))
    assert not list(affirmed.things("Ann", ["cach"]))


def test_what_somebody_leaves_out_stands_beside_a_diet() -> None:
    """S2: a vegetarian may be gluten-free as well; another diet takes the place of the first."""
    known = [("diet", "vegetarian")]
    text = "I'm also gluten-free."
    assert stated(text, "diet", "gluten-free", known) == ["avoids = gluten-free"]
    assert stated("I don't eat fish.", "diet", "don't eat fish", known) == [
        "avoids = don't eat fish"
    ]
    assert stated("I'm vegan now.", "diet", "vegan", known) == ["diet = vegan"]


def test_what_is_bought_takes_the_place_of_what_is_sold() -> None:
    """S2: "sold the Zoe and bought a Kia Niro" says which car there is now; two sentences do not
    say that one thing is there for the other."""
    sold = claim("has:car", "Zoe", "We sold the Zoe and bought a Kia Niro.", negated=True)
    bought = claim("owns", "Kia Niro", "We sold the Zoe and bought a Kia Niro.")
    known = [("has:car", "Zoe")]
    text = "We sold the Zoe and bought a Kia Niro."
    assert told(text, [sold, bought], known) == ["has:car = Kia Niro for Zoe"]
    apart = "We sold the Zoe. We bought a Kia Niro sofa."
    others = [
        claim("has:car", "Zoe", apart, negated=True),
        claim("owns", "Kia Niro sofa", apart),
    ]
    assert told(apart, others, known) == ["has:car = Zoe", "owns = Kia Niro sofa"]


def test_a_deed_is_done_in_another_way_now() -> None:
    """S2: another command for the tests replaces the first where "now" says so, and no other
    habit with the same verb."""
    known = [("habit", "run the tests with npm test"), ("habit", "run 5k every day")]
    value = "run the tests with pnpm test"
    changed = f"habit = {value} for run the tests with npm test"
    assert stated(f"We {value} now.", "habit", value, known) == [changed]
    assert stated(f"We {value}.", "habit", value, known) == [f"habit = {value}"]


def test_a_number_behind_a_name_is_an_age() -> None:
    """S2: "Leo (6)" is the age that "Leo turned 7" replaces."""
    text = "Our kids are Leo (6) and Mia (9)."
    assert told(text, [claim("does:be", "6", text, subject="Leo")], []) == ["Leo: age = 6"]


@every(
    ("told", "found"),
    [
        (("hostname is vuk01", "vuk01 is now bg-backup-1."), ("has:hostname", "vuk01")),
        (("our project is Falcon", "Falcon is now our biggest project"), None),
    ],
)
def test_a_value_is_replaced_by_what_it_is_now(
    told: tuple[str, str], found: tuple[str, str] | None
) -> None:
    """S2: a known value is named, and what it is now is the new value of its slot."""
    (*_, after) = claims(*told)
    replaced = (after.attribute, after.replaces) if after.replaces else None
    assert replaced == found
