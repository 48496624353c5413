"""Read the correction of a fact: a whole sentence, or only the value. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from lamina.engines import facts, profile, review
from lamina.engines.claims import Claim, Turn, attributes, mentions, open_words, tagged, topics
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.open_words import Word
from lamina.engines.facts import Fact
from lamina.errors import InvalidInput, Refused
from lamina.model import slots
from lamina.model.record import Layer, Record
from lamina.text.words import normalise, shown

RULE = "corrected"
MARK = "\0"  # stands for the value in a sentence
NAMING = frozenset({"name", "nickname"})  # values of these may begin with the subject's name
# Values of these are phrases in the speaker's words; those of all others are names of things.
TOLD = frozenset({"did", "plan", "decision", "goal", "habit"})
SUBJECTS = frozenset("i we he she they you it".split())
PRONOUNS = SUBJECTS | frozenset("me us him them".split())
RELATIVE = frozenset("who which that".split())  # after a noun, these begin a relative clause
FINITE = frozenset("am is are was were has had does did".split())


def check(record: Record, given: str) -> None:
    """Raise unless a record can be corrected by this text."""
    review.check_active(record, "corrected")
    check_kind(record)
    if slots.world_entry(record) is not None or record.layer is Layer.WORKING:
        raise Refused(
            f"the record {record.id} is in {record.layer} memory, where nothing is proposed;"
            " ask the person who keeps it"
        )
    if facts.is_fact(record):
        read(facts.fact_of(record), given)
    elif record.layer is Layer.PROFILE:
        profile.read(str(record.metadata["profile_key"]), given)


def check_kind(record: Record) -> None:
    """Raise for a summary of other records: those have to be corrected instead."""
    if profile.project_name(record) is not None:
        raise Refused(
            f"the record {record.id} sums up a project; roll it back, or remember what is so and"
            " compress"
        )


def sentence(record: Record, given: str) -> str:
    """Write the correction of a fact as a sentence."""
    claim = read(facts.fact_of(record), given)
    return attributes.sentence(claim.subject, claim.attribute, claim.value, negated=claim.negated)


def read(fact: Fact, given: str) -> Claim:
    """Return the claim that corrects a fact, or raise an error that says how to write it."""
    text = given.strip()
    is_note = fact.attribute == tagged.NOTE  # any sentence can be one
    found = _templated(fact, text.rstrip(".")) or (None if is_note else _stated(fact, text))
    if found is not None:
        return _claim(fact, *found)
    if not _can_be_value(fact, text):
        raise InvalidInput(f"{shown(text)} cannot be read as {_expected(fact)}")
    return _claim(fact, fact.attribute, text, fact.negated)


def _can_be_value(fact: Fact, text: str) -> bool:
    """Tell if a text can be a value; a sentence would be stored inside another one."""
    if fact.attribute == tagged.NOTE:
        return True
    begins = normalise(text.split(" ")[0]) == normalise(_first(fact))
    if begins and fact.attribute not in NAMING:
        return False
    said = open_words.split(text)
    is_told = fact.attribute in TOLD or fact.attribute.startswith(attributes.INSTRUCTION)
    return not (_opens_sentence(said, text) or (not is_told and _has_clause(said, text)))


def _opens_sentence(said: Sequence[Word], text: str) -> bool:
    """Tell if a text begins like a sentence: "She hates it", unlike the title "She Loves You"."""
    if len(said) < 2 or said[0].text not in SUBJECTS:
        return False
    return said[1].start < said[0].end or text[said[1].start].islower()


def _has_clause(said: Sequence[Word], text: str) -> bool:
    """Tell if a text that should be a name has a pronoun, or a subject with a verb."""
    # A capital belongs to a title or a name: "The Who", "Will Smith".
    plain = [word for word in said if text[word.start].islower()]
    if any(word.text in PRONOUNS for word in plain):
        return True
    is_relative = any(word.text in RELATIVE for word in said[1:])
    return not is_relative and any(_is_finite(word) for word in plain if word is not said[0])


def _is_finite(word: Word) -> bool:
    return word.text in FINITE or word.kind == open_words.MODAL


def _templated(fact: Fact, text: str) -> tuple[str, str, bool] | None:
    """Read a sentence in the form in which facts are written."""
    for subject in (fact.subject, _first(fact), f"the {fact.subject}"):
        for negated in (fact.negated, not fact.negated):
            sentence = attributes.sentence(subject, fact.attribute, MARK, negated=negated)
            before, _, after = sentence.partition(MARK)
            value = text[len(before) : len(text) - len(after)]
            if value.strip() and text.lower() == f"{before}{value}{after}".lower():
                return fact.attribute, value.strip(), negated
    return None


def _stated(fact: Fact, text: str) -> tuple[str, str, bool] | None:
    """Read any sentence; one about something else is not a correction."""
    claims = list(_claims(fact, text))
    for claim in claims:
        if _is_about(fact, claim):
            return claim.attribute, claim.value, claim.negated
    whole = [claim for claim in claims if claim.start == 0]
    if whole:
        other = f"{whole[0].subject}'s {whole[0].attribute}"
        raise InvalidInput(
            f"{shown(text)} is about {other}, so it does not correct {_expected(fact)};"
            " to say something else, remember it"
        )
    return None


def _claims(fact: Fact, text: str) -> Iterator[Claim]:
    (claims,) = extract([Turn(text, fact.subject, fact.valid_from)], [facts.known_claim(fact)])
    # A note has no slot and may be a bare value. A claim that ends a fact gives no replacement.
    for claim in claims:
        if claim.rule not in (tagged.RULE, mentions.RULE) and claim.attribute != tagged.NOTE:
            yield _in_its_case(fact, claim)


def _in_its_case(fact: Fact, claim: Claim) -> Claim:
    """Let a correction add the case in which an instruction applies: it is the same instruction."""
    theirs, ours = (topics.in_any_case(one.attribute) for one in (claim, fact))
    return structs.replace(claim, attribute=fact.attribute) if theirs == ours else claim


def _is_about(fact: Fact, claim: Claim) -> bool:
    names = {normalise(fact.subject), normalise(_first(fact))}
    same = facts.slot(None, fact.subject, claim.attribute) == facts.slot(
        None, fact.subject, fact.attribute
    )
    return same and normalise(claim.subject) in names


def _first(fact: Fact) -> str:
    return fact.subject.split(" ")[0]


def _expected(fact: Fact) -> str:
    like = attributes.sentence(fact.subject, fact.attribute, "…", negated=fact.negated)
    return f"{shown(like)}; give such a sentence, or the value alone"


def _claim(fact: Fact, attribute: str, value: str, negated: bool) -> Claim:
    return Claim(
        fact.subject, attribute, value, 0, 0, fact.valid_from, fact.confidence, RULE, negated
    )
