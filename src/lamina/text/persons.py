"""Tell whom a text is about: the speaker or the person addressed. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from lamina.text import words

USER = "user"  # the speaker whom the profile is about, if their name is not known
# Words as `words.asked` returns them, without accents. Subjects and possessives come first.
SELF = frozenset(
    "i my mine we our ours ich mein meine meinen meiner wir unser unsere je mon ma mes nous notre"
    " nos yo mi mis nosotros nuestro io mio mia noi nostro eu meu minha я мои моя мы наш".split()
)
FIRST_PERSON = SELF | frozenset("me us mich mir uns moi мне меня нас".split())
SECOND_PERSON = frozenset(
    "you your yours yourself u ur du dein deine deinen dich dir ihr euch tu ton ta tes toi vous"
    " votre vos usted ustedes tuyo tuo tua voi voce seu ты вы твои ваш тебя вас".split()
)
# For scripts without spaces.
ABOUT_ME, ABOUT_YOU = re.compile("[我私僕俺]|저는|나는|제가|내가"), re.compile("[你您]|あなた|당신")
INITIALS = re.compile(r"\b[A-Z]{2,}\b")  # "the EU" is not the pronoun "eu"


def tells_of_speaker(text: str, asked: Collection[str]) -> bool:
    """Tell if a text with the given words is about the person who says it."""
    return not FIRST_PERSON.isdisjoint(asked) or bool(ABOUT_ME.search(text))


def speaks_to_other(text: str, asked: Collection[str]) -> bool:
    """Tell if a text with the given words addresses somebody."""
    return not SECOND_PERSON.isdisjoint(asked) or bool(ABOUT_YOU.search(text))


def asks_of_self(question: str) -> bool:
    """Tell if a question is about the person who asks it: "what did I buy", but not "tell me"."""
    asked = words.asked(INITIALS.sub(" ", question))
    return not SELF.isdisjoint(asked) or bool(ABOUT_ME.search(question))
