"""What is said in a project is about the project, or about the person who says it."""

from __future__ import annotations

from lamina import Memory, Operator
from lamina.engines.claims import Turn, projects
from lamina.engines.claims.extraction import extract
from tests.cases import every
from tests.conftest import START


def said(text: str, project: str | None = "shop") -> list[tuple[str, str, str | None]]:
    turn = Turn(text, "user", START, project)
    found = projects.scoped(extract([turn])[0], turn)
    return [(claim.subject, claim.attribute, claim.project) for claim in found]


@every(
    ("text", "subject", "attribute"),
    [
        ("Our database is MySQL 8.", "shop", "has:database"),
        ("The staging server is eu-2.", "shop", "has:staging server"),
        ("We run the tests with npm test.", "shop", "habit"),
        ("I am Ana. Our database is MySQL 8.", "shop", "has:database"),
        ("The deadline of project shop is 15 January 2027.", "shop", "has:deadline"),
        ("My landlord is Mr. Okafor.", "user", "has:landlord"),
        ("I live in Porto.", "user", "lives_in"),
        ("always use eslint before a commit", "user", "instruction:shop/tool-linter"),
        ("In this repo, use tabs.", "user", "instruction:shop/tool-indentation"),
        ("For this project, always write docstrings.", "user", "instruction:shop/docstrings"),
        ("In our codebase always run make lint.", "user", "instruction:shop/run-lint"),
        ("always answer in German", "user", "instruction:language"),
    ],
)
def test_what_belongs_to_a_project(text: str, subject: str, attribute: str) -> None:
    """C7: what a team has and does, and its tools, belong to the project; what a person is, has and
    likes is theirs in every project; without a project nothing changes."""
    project = None if (subject, "/" in attribute) == ("user", False) else "shop"
    assert (subject, attribute, project) in said(text)
    assert {project for *_, project in said(text, None)} <= {None}


def test_facts_of_one_project_end_none_of_another(mem: Memory, op: Operator) -> None:
    """C7, S2: two projects with other databases and tools keep both, and each is found by its
    project; within a project a change is a change."""
    for project, database, linter in (("shop", "MySQL 8", "eslint"), ("hut", "Postgres", "ruff")):
        for text in (f"our database is {database}", f"always use {linter} before a commit"):
            mem.remember(text, layer="episodic", speaker="user", session=project, project=project)
    op.sleep()
    values = {
        project: {one.value for one in op.facts(project=project)} for project in ("shop", "hut")
    }
    assert values["shop"] == {"MySQL 8", "always use eslint before a commit"}
    assert values["hut"] == {"Postgres", "always use ruff before a commit"}
    mem.remember(
        "our database is SQLite", layer="episodic", speaker="user", session="s", project="shop"
    )
    op.sleep()
    assert [one.value for one in op.facts("shop", "has:database")] == ["SQLite"]
    assert [one.value for one in op.facts("hut", "has:database")] == ["Postgres"]
    waiting = op.list(layers=["profile"], states=["constrained"])
    assert {one.metadata["profile_key"] for one in waiting} == {
        "instructions.shop.tool-linter",
        "instructions.hut.tool-linter",
    }
