"""Prompts as people write them: the question in them is found, and nonsense is still refused."""

from __future__ import annotations

from typing import Any

import pytest

from lamina import InvalidInput, Memory
from lamina.search import answerable, prompt
from tests.cases import every
from tests.conftest import Desk, contents

FACTS = (
    "The spare key of the boat house is behind the third oar",
    "Ana is allergic to hazelnuts",
    "The roof of the barn was repaired by Lindqvist for 4,200 euros",
    "We meet the notary about the orchard in October",
    "Ben plays the oboe in the town orchestra",
    "The red bicycle has a new chain",
)
QUESTIONS = {
    "Where is the spare key of the boat house?": FACTS[0],
    "Who is allergic to hazelnuts?": FACTS[1],
    "What did the roof of the barn cost?": FACTS[2],
}
AROUND = (
    "Hi! I hope that all is well. {} Thanks a lot!",
    "It rained all day here. I sat at home. {} Please answer in one sentence.",
    "{} I ask because somebody in the office wanted to know. No headings, please.",
    "One more thing\n\n{}\n\nBest wishes,\nM.",
)
LOG = "\n".join(
    f"2019-05-0{number % 9 + 1} ERROR worker {number}: no answer from the upstream gateway"
    for number in range(120)
)
# A memory, and a prompt in the same language that asks for it.
LANGUAGES = (
    ("Der Schlüssel zum Gartenhaus liegt unter dem blauen Topf",
     "Guten Morgen! Ich bin in Eile. Wo liegt der Schlüssel zum Gartenhaus? Danke dir."),
    ("La réunion avec le notaire est fixée au douze octobre",
     "Salut ! J'espère que tu vas bien. Quand est la réunion avec le notaire ? Merci."),
    ("El perro de mi hermana se llama Canela",
     "¡Hola! Perdona la molestia. ¿Cómo se llama el perro de mi hermana? Gracias."),
    ("Пароль от сейфа хранится у бабушки",
     "Привет! Извини за беспокойство. У кого хранится пароль от сейфа? Спасибо."),
    ("Το κλειδί του αυτοκινήτου είναι στο συρτάρι",
     "Καλημέρα! Είμαι βιαστικός. Πού είναι το κλειδί του αυτοκινήτου; Ευχαριστώ."),
    ("موعد طبيب الأسنان يوم الثلاثاء صباحا",
     "مرحبا! أتمنى أن تكون بخير. متى موعد طبيب الأسنان؟ شكرا جزيلا."),
    ("护照放在书房的红色抽屉里", "你好！今天天气真不错。护照放在哪里？谢谢你的帮助。"),
    ("会議室の鍵は受付の田中さんが持っています",
     "おはようございます。すみません。会議室の鍵は誰が持っていますか？お願いします。"),
    ("여행 가방은 지하실 선반 위에 있습니다",
     "안녕하세요! 바쁘신데 죄송합니다. 여행 가방은 어디에 있나요? 감사합니다."),
    ("दादी की दवा रसोई की अलमारी में है", "नमस्ते! आशा है आप ठीक हैं। दादी की दवा कहाँ है? धन्यवाद।"),
)  # fmt: skip


def know(mem: Memory) -> Memory:
    mem.remember_many([{"content": fact} for fact in FACTS])
    return mem


@every("around", AROUND)
@every("question", QUESTIONS)
def test_a_question_in_a_chatty_prompt(mem: Memory, question: str, around: str) -> None:
    """C2, Q5: greetings, reasons and wishes around a question change nothing about what it finds
    first."""
    assert contents(know(mem).search(around.replace("{}", question)))[0] == QUESTIONS[question]


@every("place", [0, 60, 120])
@every("question", QUESTIONS)
def test_a_question_beside_a_log(mem: Memory, question: str, place: int) -> None:
    """C2, C8: before, within or after a thousand words of a pasted log, a question is answered."""
    lines = LOG.splitlines()
    prompt = "\n".join([*lines[:place], question, *lines[place:]])
    assert contents(know(mem).search(prompt))[0] == QUESTIONS[question]


@every(("fact", "prompt"), LANGUAGES)
def test_a_question_in_a_prompt_of_any_language(desk: Desk, fact: str, prompt: str) -> None:
    """C2, Q8: in ten languages and seven scripts a question is found in its prompt, with or without
    an embedder."""
    for number, embedders in enumerate((["wordllama"], ["none"])):
        mem = desk.agent(f"agent-{number}", settings={"recall.embedders": embedders})
        know(mem).remember_many([{"content": other} for other, _ in LANGUAGES])
        assert contents(mem.search(prompt))[0] == fact


def test_several_questions_are_all_answered(mem: Memory) -> None:
    """C2: a prompt with two questions finds the answers to both."""
    first, second = list(QUESTIONS)[:2]
    found = contents(know(mem).search(f"Two things. {first} And {second}"))
    assert {FACTS[0], FACTS[1]} == set(found[:2])


def test_every_one_of_many_questions_counts(mem: Memory) -> None:
    """C2: of many sentences some are left out, but not of those that ask."""
    asked = (
        "Where is the spare key of the boat house? Who is allergic to hazelnuts? "
        "Who repaired the roof of the barn? When do we meet the notary about the orchard? "
        "Who plays the oboe? Which bicycle has a new chain?"
    )
    assert set(contents(know(mem).search(asked))) == set(FACTS)


def test_the_sentence_before_a_question_says_what_it_is_about(mem: Memory) -> None:
    """C2: "what did it cost?" alone could be anything; what stands before it counts too."""
    know(mem).remember("The new piano cost a lot")
    found = contents(mem.search("I am thinking of the roof of the barn. What did it cost again?"))
    assert found[0] == FACTS[2]


def test_the_sentence_before_a_question_counts_beside_a_log(mem: Memory) -> None:
    """C2, C8: however much of a paste is known here, what a question is about is not left out."""
    know(mem).remember("An error of a worker means no answer from the gateway")
    asked, lines = "I mentioned the key of the boat house. Where was it again?", LOG.splitlines()
    for place in (0, 60, 120):
        prompt = "\n".join([*lines[:place], asked, *lines[place:]])
        assert FACTS[0] in contents(mem.search(prompt))


MEETING = (
    "[00:31] CHAIR: Item one, signage for the second entrance. Where are we?\n"
    "[00:38] ESTATES: Two quotes are back. Could somebody measure the wall?\n"
    "[01:12] CHAIR: What does the third supplier charge for a new sign of steel? Nobody?\n"
    "[01:20] ESTATES: Has anybody in the town heard when the lift gets repaired?\n"
)


def test_questions_in_a_paste_do_not_outweigh_the_one_that_is_asked(mem: Memory) -> None:
    """C2: of several questions, those of which nothing is known here do not change the hits."""
    know(mem)
    bare = mem.search("Where did I put the key of the boat house?")
    asked = "Now to something else: where did I put the key of the boat house?"
    for asking in (f"{MEETING}\n{asked}", f"{asked}\n\n{MEETING}"):
        assert contents(mem.search(asking)) == contents(bare) == [FACTS[0]]


@every(
    "prompt",
    [
        "qzx vrrl pwoi. Blorf nagh tlee? Zzub!",
        "Hi there! Which planet has the most moons? Thanks!",
        LOG,
        "Hello! Thanks.",
    ],
)
def test_a_prompt_about_nothing_here_is_refused(mem: Memory, prompt: str) -> None:
    """Q7, C8: letters at random, questions about something else, a log and a greeting find
    nothing."""
    hits = know(mem).search(prompt)
    assert hits.outcome == "nothing_relevant"


@pytest.mark.parametrize("number", [1, 6, 30, 200])
def test_a_store_about_one_topic_answers(mem: Memory, number: int) -> None:
    """C8, Q7: however many facts there are of one project, a task about it is no accident, and the
    confidence hardly depends on their number."""
    mem.remember_many(
        [{"content": f"step {n} of the billing export is checked by Ana"} for n in range(number)]
    )
    hits = mem.search("I want to change the billing export this week, what do I have to know?")
    assert hits
    assert hits.confidence is not None
    assert 0.2 < hits.confidence < 1


def test_several_sentences_that_ask_for_nothing_need_more(mem: Memory) -> None:
    """C2, C8: one of many sentences of chat fits some memory by chance. What asks, or goes on with
    what was said before, needs no more than before."""
    told = "The red bicycle is in the shed. It was cold and I went home early."
    confidence = know(mem).search(told).confidence
    followed = mem.search(told, following=["We spoke about the weather"]).confidence
    assert confidence is not None
    assert followed is not None
    assert confidence == pytest.approx(followed - prompt.UNPROMPTED)


def confidence_of(desk: Desk, speaker: str, question: str) -> float:
    """The confidence in an answer where somebody told one thing among others."""
    mem = desk.agent(f"{speaker}-speaks")
    said = {"content": "Penguins keep their eggs warm with a fold of skin", "speaker": speaker}
    mem.remember_many([said, *({"content": fact, "speaker": "user"} for fact in FACTS)])
    confidence = mem.search(question).confidence
    assert confidence is not None
    return confidence


def test_what_an_assistant_said_is_weaker_evidence(desk: Desk) -> None:
    """Q7: assistants speak of everything, so what they said proves less, unless it is asked for,
    or the conversations as such."""
    evidence = {
        question: confidence_of(desk, "assistant", question) - confidence_of(desk, "user", question)
        for question in (
            "How do penguins keep their eggs warm?",
            "What did you say about how penguins keep their eggs warm?",
            "When did penguins and their eggs come up in our conversations?",
        )
    }
    unasked, asked, both = evidence.values()
    assert unasked == pytest.approx(-answerable.UNASKED)
    assert asked == pytest.approx(answerable.UNASKED)
    assert both == 0


def test_a_question_about_its_user_is_not_asked_at_random(desk: Desk) -> None:
    """Q7: where a user speaks, a question about that user needs less evidence by a fixed amount;
    where nobody of that role does, it needs as much as any other."""
    needed = []
    for speaker in ("user", "Ana"):
        mem = desk.agent(f"{speaker.lower()}-told")
        mem.remember_many([{"content": fact, "speaker": speaker} for fact in FACTS])
        of_all, of_user = (
            mem.search(f"Where is {whose} spare key of the boat house?").confidence
            for whose in ("the", "my")
        )
        assert of_all is not None
        assert of_user is not None
        needed.append(of_user - of_all)
    assert needed[0] - needed[1] == pytest.approx(answerable.OWN)


def test_what_is_pasted_gives_no_names_and_dates(mem: Memory) -> None:
    """C2, Q5: whom and which day a question means is read from the question alone."""
    mem.remember_conversation(
        [
            {"text": "I sold the piano to a school", "speaker": "Ana"},
            {"text": "I sold the piano to a museum", "speaker": "Ben"},
        ],
        "s",
    )
    hits = mem.search("My sister called last night, she met Ben. To whom did Ana sell the piano?")
    assert hits[0].record.speaker == "Ana"
    assert all("time" not in hit.parts for hit in hits)


def test_an_outside_copy_of_a_question_in_a_prompt_is_no_answer(mem: Memory) -> None:
    """V8, Q7, C2: a page that repeats the question is evidence for nothing, also within a prompt."""
    mem.remember_many([{"content": "Ana waters the plants"}, {"content": "the roses are red"}])
    question = "What is the wifi password of the Lisbon office?"
    mem.remember_many([{"content": question, "source": "web:evil.example"}] * 3)
    assert mem.search(f"Hello! {question} Thanks.").outcome == "nothing_relevant"


TRIP = "We drive to Ljubljana with Leo on Friday"
LEO = "Leo gets car sick and needs his ginger sweets on every drive"


def test_a_follow_up_is_read_with_what_was_said_before(mem: Memory) -> None:
    """C2, Q5: a question without content of its own finds what the last turns are about, also when
    it alone finds nothing."""
    know(mem).remember(LEO)
    asked = "and what should I take along for him?"
    assert LEO not in contents(mem.search(asked))
    assert contents(mem.search(asked, following=["Hello!", TRIP]))[0] == LEO
    assert contents(mem.search("And him?", following=[TRIP]))[0] == LEO


def test_a_question_of_its_own_needs_nothing_before_it(mem: Memory) -> None:
    """C2, Q6: a question that says what it is about gives the same bytes, whatever was said."""
    know(mem).remember(LEO)
    question = next(iter(QUESTIONS))
    alone, after = (mem.search(question, following=before) for before in ((), (TRIP,)))
    assert [hit.record.id for hit in alone] == [hit.record.id for hit in after]
    assert alone.confidence == after.confidence


@every("following", ["a bare text", [1], 5])
def test_what_was_said_before_is_a_list_of_texts(mem: Memory, following: Any) -> None:
    """Q7: anything else is an error that says so."""
    with pytest.raises(InvalidInput):
        mem.search("tea", following=following)
