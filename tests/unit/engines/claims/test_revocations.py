"""What ends a standing instruction, and what does not."""

from __future__ import annotations

from msgspec import structs

from lamina.engines.claims import Claim, projects
from lamina.engines.claims.attributes import INSTRUCTION
from lamina.engines.claims.extraction import extract
from tests.cases import every

from .holding import claims, turns


def instructions(*told: str) -> list[Claim]:
    return [one for one in claims(*told) if one.attribute.startswith(INSTRUCTION)]


@every(
    ("before", "after"),
    [
        ("Answer in French.", "Stop answering in French."),
        ("From now on answer in French.", "Please stop answering in French now."),
        ("Always use poetry.", "You don't need to use poetry any more."),
        ("Always use poetry.", "You don't have to use poetry."),
        ("Always use poetry.", "You can stop using poetry."),
        ("Always use poetry.", "I don't want you to use poetry any more."),
        ("Always run the tests before a commit.", "No need to run tests before every commit."),
        ("Always add type hints.", "No need to add type hints any more."),
        ("Always add type hints.", "There's no need to add type hints."),
        ("Always add type hints.", "Forget about always adding type hints."),
        ("Always add type hints.", "Never mind the type hints."),
        ("Always add type hints.", "You can drop the type hints."),
        ("Always add type hints.", "I changed my mind about the type hints."),
        ("Never book meetings on Fridays.", "Forget the rule about Fridays."),
        ("Never book meetings on Fridays.", "You can book Fridays again."),
        ("Never book meetings on Fridays.", "You may schedule calls on Fridays again."),
        ("Never book meetings on Fridays.", "Fridays are fine for meetings now."),
        ("Keep my Fridays free.", "You can book Fridays again."),
        ("Never use emojis.", "You can use emojis again."),
        ("No emojis, please.", "Emojis are okay now."),
        ("Never use emojis.", "It's fine to use emojis."),
        ("Avoid emojis in commit messages.", "No need to avoid emojis in commit messages."),
        ("Always use uv, never pip.", "You can use pip again."),
        ("In the importer project always run make lint.", "You don't need to run make lint."),
    ],
)
def test_what_is_taken_back_ends(before: str, after: str) -> None:
    """S8: what is not needed any more ends an order, a permission ends a ban, and neither is an
    instruction itself."""
    (first, last) = instructions(before, after)
    assert last.negated
    assert (last.attribute, last.value) == (first.attribute, first.value)


@every(
    ("before", "after"),
    [
        ("Always use uv, never pip.", "Stop using pip."),
        ("Always use pipenv.", "Stop using pip."),
        ("Never use emojis.", "Stop using emojis."),
        ("Never use emojis.", "You can use emojis in commit messages."),
        ("Never use emojis.", "You can use emojis just this once."),
        ("Never use emojis.", "You can use emojis if I ask for them."),
        ("Never use emojis.", "Can you use emojis again?"),
        ("Never use emojis.", "Feel free to use German words."),
        ("Never book meetings on Fridays.", "You can book meetings now."),
        ("Never book meetings on Fridays.", "You can book Thursdays again."),
        ("Never book Friday mornings.", "You can book Friday afternoons."),
        ("Never book meetings on Fridays.", "You can book Fridays again, but not before noon."),
        ("Always answer in French.", "You can answer now."),
        ("Always answer in French.", "Stop answering right away."),
        ("Always add type hints.", "Never mind."),
        ("Always add type hints.", "Forget about the cake."),
    ],
)
def test_what_takes_nothing_back_ends_nothing(before: str, after: str) -> None:
    """S8: an exception, a permission for something narrower or something else, a question."""
    assert not any(one.negated for one in instructions(before, after))


def test_a_rule_of_its_own_needs_nothing_before_it() -> None:
    """S8: "stop apologising" is an instruction unless it ends one."""
    (one,) = instructions("Stop apologising every time I correct you.")
    assert not one.negated
    (_, end, other) = instructions("Answer in French.", "Stop answering in French, use English.")
    assert (end.negated, other.negated) == (True, False)
    assert other.value == "use English"


def test_what_is_not_needed_any_more_is_no_instruction() -> None:
    """S8: it takes the place of nothing, whether or not it ends what is known."""
    (uv,) = instructions("Always use uv.", "You don't need to use poetry any more.")
    assert uv.value == "Always use uv"
    (wish,) = instructions("I don't want you to use emojis any more.")
    assert not wish.negated


def test_what_ended_may_be_asked_for_again() -> None:
    """S8: nothing is left to end then, and the same wish is an instruction once more."""
    told = "Answer in French.", "Stop answering in French.", "From now on answer in French."
    assert [one.negated for one in instructions(*told)] == [False, True, False]


def test_a_project_ends_its_own_instructions() -> None:
    """S8, C7: what is not needed in one project may be needed in another, and everywhere else."""
    (order,) = instructions("Always use poetry.")
    topic = "tool-python-packages"
    known = [
        structs.replace(order, attribute=f"{INSTRUCTION}{place}{topic}")
        for place in ("", "apollo/", "zeus/")
    ]

    def ended(told: str) -> list[str]:
        turn = structs.replace(turns(told)[0], project="apollo")
        (found,) = extract([turn], known)
        own = (one for one in projects.scoped(found, turn) if one.negated)
        return [one.attribute for one in own if one.attribute.startswith(INSTRUCTION)]

    own, every_project = f"{INSTRUCTION}apollo/{topic}", f"{INSTRUCTION}{topic}"
    assert ended("You don't need to use poetry in this repo any more.") == [own]
    assert ended("You don't need to use poetry any more.") == [every_project, own]
