"""Prompts as people write them: questions inside chat, beside pasted text, and in ten languages.

Wrappings, pastes and facts are our own. No weight was fitted to every second wrapping.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

# {} is the unchanged question, as the last or a middle sentence.
WRAPPINGS = (
    "Hi! Hope your day is going well. {} Thanks in advance!",
    "Morning. Still on my first coffee, so bear with me. {} A short answer is fine.",
    "I am putting together a small surprise for a friend and want to get the details right. {} "
    "Please answer in two or three sentences.",
    "ok so this has been bugging me all morning and I can't find it anywhere. {} no rush though",
    "Sorry to bother you again. My phone died before I could write it down. {} If you are not "
    "sure, just say so instead of guessing.",
    "We were talking at dinner and nobody agreed. {} My brother bets he is right, as always.",
    "Quick one before my train leaves!\n\n{}\n\nUse bullet points if there is more than one thing.",
    "I went through my notes twice. They are a mess, half of them in the wrong folder. {} Could "
    "you also tell me how sure you are?",
    "Please act as a careful assistant. Do not make anything up. {} Keep it under fifty words.",
    "It is raining here and the internet keeps dropping, so I may lose the connection. {} I will "
    "read the answer later tonight.",
    "Thanks, that last answer helped a lot! One more thing. {}",
    "Hello there,\n\nI hope this finds you well.\n\n{}\n\nBest wishes,\nM.",
    "Before we go on with the report, a small detour. {} Then we can get back to the slides.",
    "My laptop crashed yesterday and I lost the draft. Anyway. {} Don't worry about the format.",
    "hey hey, me again :) {} ty!!",
    "I need this for a form that I am filling in right now. {} Only the plain answer, no greeting.",
    "Let me think out loud for a moment. The week was long, the kids were ill, and I mixed up "
    "everything. {} Does that make sense?",
    "Two things today. First, remind me to be nicer to the printer. Second: {}",
    "I know that you have a lot to do. I would look it up myself if I knew where. {} Take your "
    "time.",
    "{} I am asking because somebody in the office wanted to know, and I did not want to say "
    "something wrong.",
    "{} Answer in plain words, please. No tables, no headings, no emoji.",
    "So, long story short, the bus was late, I had time to think, and here is what I came up with. "
    "{} Curious what you say!",
    "Ok, new topic. Forget about the shopping list for now. {}",
    "You are my second brain, as they say. {} I could swear that we went over this at some point.",
)
TUNED, UNSEEN = WRAPPINGS[::2], WRAPPINGS[1::2]

LOG = """\
{time} INFO  worker-{n} picked job {id} from queue default
{time} WARN  retry {n} of 5 for upstream gateway, waiting {n}00 ms
{time} ERROR connection reset by peer while reading response header from upstream
{time} DEBUG cache miss for key session:{id}, loading from disk
{time} INFO  GET /api/v2/items/{id} 200 in {n}{n} ms
{time} INFO  flushed {n}12 rows to segment {id}
{time} WARN  slow query: SELECT * FROM orders WHERE customer = {id} ORDER BY created
{time} ERROR TimeoutError: no answer from host db-{n} within 30 seconds"""
CODE = """\
def load_{word}(path, limit={n}):
    with open(path) as handle:
        rows = [line.split(",") for line in handle if line.strip()]
    result = {{}}
    for row in rows[:limit]:
        key, value = row[0], float(row[{n}])
        result.setdefault(key, []).append(value)
    return {{key: sum(values) / len(values) for key, values in result.items()}}

class {title}Handler(BaseHandler):
    timeout = {n}0

    def get(self, request):
        if not request.user.is_active:
            raise PermissionError("account is locked")
        return self.render("{word}.html", items=load_{word}(request.path))
"""
MAIL = """\
Dear all,
please find the minutes of the {word} meeting below. We agreed that the budget for the next
quarter stays as it is.
{title} will check with the suppliers whether the delivery can be moved to the {n}th.
The parking lot on the north side is closed until further notice, please use the entrance at
the back.
If you have not filled in the survey yet, do so before the end of the week.
The {word} team asks everybody to label boxes with the cost centre and a phone number.
We will meet again in two weeks, same room, same time. Regards, the front desk
"""
FILLING = "invoice ledger parcel gateway printer warehouse voucher turbine cabinet brochure".split()


def paste(chance: random.Random) -> str:
    """Write 300 to 1,000 words of a log, code or mail."""
    kind, wanted = chance.choice((LOG, CODE, MAIL)), chance.randint(300, 1000)
    text = ""
    while len(text.split()) < wanted:
        word = chance.choice(FILLING)
        text += kind.format(
            time=f"2026-03-{chance.randint(1, 28):02d}T{chance.randint(0, 23):02d}:14:07Z",
            n=chance.randint(1, 4),
            id=chance.randint(1000, 99999),
            word=word,
            title=word.title(),
        )
        text += "\n"
    return text


# Prompts by another author, who had not seen these.
ANOTHER: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "prompts_of_another.json").read_text("utf-8")
)


def of_another(form: str, question: str, place: int) -> str:
    """Put a question into a prompt that the other author wrote."""
    templates = ANOTHER[form]
    return templates[place % len(templates)].replace("{question}", question)


def wrapped(question: str, place: int, wrappings: Sequence[str] = WRAPPINGS) -> str:
    return wrappings[place % len(wrappings)].replace("{}", question)


def pasted(question: str, place: int) -> str:
    """Put a question after, before or inside pasted text."""
    chance = random.Random(place)
    text = paste(chance)
    lines = text.splitlines()
    where = (len(lines), 0, len(lines) // 2)[place % 3]
    return "\n".join([*lines[:where], "", question, "", *lines[where:]])


# Facts of one project; a store of these is about nothing else.
TOPICS = {
    "billing": (
        "billing service",
        "invoice export|payment gateway|tax table|refund job|ledger sync|currency rounding"
        "|dunning mail|credit note|receipt printer|price list",
    ),
    "garden": (
        "vegetable garden",
        "tomato bed|compost heap|water barrel|herb spiral|bean poles|greenhouse door"
        "|strawberry net|slug fence|seed box|apple tree",
    ),
    "thesis": (
        "thesis about river fish",
        "sampling plan|species table|water temperature log|net permit|chapter on trout"
        "|figure of the delta|supervisor meeting|statistics script|reference list|field diary",
    ),
    "robot": (
        "line robot",
        "left motor|light sensor|battery pack|wheel hub|firmware update|test track"
        "|steering loop|bumper switch|radio link|chassis print",
    ),
    "band": (
        "wedding band",
        "set list|drum kit|sound check|bass amplifier|contract with the hall|rehearsal room"
        "|encore song|light show|van rental|demo recording",
    ),
}
STATES = (
    "the {thing} of the {project} was changed on Tuesday",
    "for the {project} we decided to keep the {thing} simple",
    "the {thing} of the {project} failed once and was repaired by Ana",
    "Ben is responsible for the {thing} of the {project}",
    "the {thing} of the {project} costs {n} euros a month",
    "we must not touch the {thing} of the {project} before May {n}",
    "version {n} of the {thing} works for the {project}",
)
TASKS = (
    "Who takes care of the {thing}?",
    "I want to change the {thing} of the {project} this week, what should I keep in mind before I "
    "start?",
    "Please write a short note for the team about the {project} and say where we stand with the "
    "{thing}, what is still open and what went wrong so far, so that nobody has to ask me again.",
    "Continue with the {thing}.",
    "can you look at the {thing} again, something is off since yesterday and I don't know why",
)


def one_topic(name: str, number: int) -> list[str]:
    """Return `number` facts of one project."""
    project, things = TOPICS[name]
    named = things.split("|")
    return [
        STATES[(n + n // len(named)) % len(STATES)].format(
            thing=named[n % len(named)], project=project, n=n + 2
        )
        for n in range(number)
    ]


def tasks(name: str, number: int) -> Iterator[str]:
    """Yield tasks about the first `number` facts."""
    project, things = TOPICS[name]
    named = things.split("|")[:number]
    for n, task in enumerate(TASKS):
        yield task.format(thing=named[n % len(named)], project=project)


OFF_TOPIC = tuple(
    """\
What is the boiling point of sulfur dioxide?
Which planet has the most moons?
Who painted the ceiling of the Sistine Chapel?
How do penguins keep their eggs warm?
What is the capital of Mongolia?
How does a diesel locomotive start in cold weather?
Which enzyme breaks down lactose?
When was the treaty of Westphalia signed?
How many strings does a sitar have?
What causes the northern lights?
Why do volcanoes form at subduction zones?
Explain the offside rule in field hockey.
Which metal is liquid at room temperature?
How is parmesan cheese aged?
What does the Coriolis effect do to hurricanes?
Who invented the jacquard loom?
How tall is the Eiffel tower?
What is the difference between a fugue and a canon?
Which vitamins are soluble in fat?
How deep is the Mariana trench?""".splitlines()
)
# More wrappings, unchanged. No weight was fitted to every second one.
FRESH = tuple(
    """\
How do bees make honey?
What is the speed of sound in water?
Who wrote War and Peace?
How long does it take light from the sun to reach the earth?
What are the ingredients of a classic bechamel sauce?
How does a sewing machine form a stitch?
Which country has the longest coastline?
Why is the sky blue?
When did the Berlin Wall fall?
What is the chemical formula of table salt?
How are pearls formed inside oysters?
Who discovered penicillin?
What is the largest desert in the world?
How does a refrigerator remove heat?
Which language has the most native speakers?
What is the difference between a crocodile and an alligator?
How many bones are in the human body?
What is the plot of Hamlet?
How do noise-cancelling headphones work?
Which river flows through Baghdad?
What is quantum entanglement?
How do you say good evening in Finnish?
Who was the first woman in space?
What is the tallest mountain in Africa?
How is steel made from iron ore?
Why do leaves change color in autumn?
What year did the Titanic sink?
Explain how a bill becomes a law in Canada.
How do I convert Fahrenheit to Celsius?
What is the GDP of Brazil?
Which composer wrote the Goldberg Variations?
What are the rules of cricket?
How do vaccines train the immune system?
What is the melting point of tungsten?
Who won the football world cup in 1998?
How do I remove red wine stains from a carpet?
What is the population of Jakarta?
Which instrument has 88 keys?
How does photosynthesis work?
What is the meaning of the word ubiquitous?
How far is the moon from the earth?
What does a carburetor do in an engine?
Who built the pyramids of Giza?
What causes tides in the ocean?
How is cheese different from yogurt?
What is the Pythagorean theorem?
How many players are on a rugby team?
Which animals hibernate during winter?
What is the currency of Thailand?
How does GPS determine a position?
Why do cats purr?
Who founded the Ottoman empire?
How are tornadoes classified?
What is the boiling temperature of water at high altitude?
What are black holes made of?
How do I tie a bowline knot?
Which acid is in vinegar?
What is the difference between stocks and bonds?
How do electric eels produce electricity?
When was the printing press invented?
What is the capital of New Zealand?
How do submarines dive and surface?
Which planet is closest to the sun?
What is the function of the liver?
How are diamonds cut and polished?
Who composed the opera Carmen?
What does DNA stand for?
How do hot air balloons steer?
What is the highest waterfall in the world?
Why does bread rise?
How long do elephants live?
What is the difference between weather and climate?
Which gas makes up most of the atmosphere?
How does a lock on a canal work?
Who was the first emperor of Rome?
What is the speed limit on German motorways?
How do chameleons change color?
What is an isotope?
How is whisky distilled?
What is the tax rate for companies in Ireland?""".splitlines()
)
SMALL_TALK = tuple(
    """\
Please continue.
ok thanks
Yes, go ahead.
Hello!
Can you do that again?
That looks good to me.
Hmm, not sure.
Great, what's next?
Never mind.
Try once more, please.""".splitlines()
)

# A memory, and a prompt that asks for it among other sentences, in ten languages.
LANGUAGES = {
    "German": (
        "Der Schlüssel zum Gartenhaus liegt unter dem blauen Blumentopf",
        "Guten Morgen! Ich bin etwas in Eile. Wo liegt der Schlüssel zum Gartenhaus? Danke dir.",
    ),
    "French": (
        "La réunion avec le notaire est fixée au douze octobre",
        "Salut ! J'espère que tu vas bien. Quand est la réunion avec le notaire ? Merci d'avance.",
    ),
    "Spanish": (
        "El perro de mi hermana se llama Canela",
        "¡Hola! Perdona la molestia. ¿Cómo se llama el perro de mi hermana? Gracias por todo.",
    ),
    "Russian": (
        "Пароль от сейфа хранится у бабушки",
        "Привет! Извини за беспокойство. У кого хранится пароль от сейфа? Спасибо большое.",
    ),
    "Greek": (
        "Το κλειδί του αυτοκινήτου είναι στο συρτάρι της κουζίνας",
        "Καλημέρα! Είμαι λίγο βιαστικός. Πού είναι το κλειδί του αυτοκινήτου; Ευχαριστώ πολύ.",
    ),
    "Arabic": (
        "موعد طبيب الأسنان يوم الثلاثاء صباحا",
        "مرحبا! أتمنى أن تكون بخير. متى موعد طبيب الأسنان؟ شكرا جزيلا لك.",
    ),
    "Chinese": (
        "护照放在书房的红色抽屉里",
        "你好！今天天气真不错。护照放在哪里？谢谢你的帮助。",
    ),
    "Japanese": (
        "会議室の鍵は受付の田中さんが持っています",
        "おはようございます。お忙しいところすみません。会議室の鍵は誰が持っていますか？よろしくお願いします。",
    ),
    "Korean": (
        "여행 가방은 지하실 선반 위에 있습니다",
        "안녕하세요! 바쁘신데 죄송합니다. 여행 가방은 어디에 있나요? 감사합니다.",
    ),
    "Hindi": (
        "दादी की दवा रसोई की अलमारी में है",
        "नमस्ते! आशा है आप ठीक हैं। दादी की दवा कहाँ है? बहुत धन्यवाद।",
    ),
}
