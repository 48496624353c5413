"""Sixty wrong usages over the command line, Python and MCP: each answer says what was wrong and what
to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lamina import LaminaError, Memory, Operator
from tests.cases import check_all, every
from tests.conftest import Desk, size
from tests.surfaces.conftest import Call
from tests.surfaces.mcp_harness import complaint, in_process

UNKNOWN = "01m7j0q97c61zre43we98hxhkb"
# What nobody should have to read: names of ours, of Python and of libraries.
INTERNAL = (
    "Traceback",
    "Error:",
    "<class",
    "lamina.",
    "NoneType",
    "positional",
    "msgspec",
    "click",
)

COMMANDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("add tea", ("no command 'add'", "`lamina remember`")),
    ("ask tea", ("no command 'ask'", "`lamina search`")),
    ("delete x", ("no command 'delete'", "`lamina forget`")),
    ("stats", ("no command 'stats'", "`lamina status`")),
    ("rembmer tea", ("no command 'rembmer'", "`lamina remember`")),
    ("help", ("no command 'help'", "`lamina --help`")),
    ("xyzzy", ("no command 'xyzzy'", "`lamina --help`")),
    ("remember", ("needs TEXT", "such as: lamina remember")),
    ("remember green tea", ("does not take tea", "in quotes")),
    ("remember tea --knid fact", ("--knid", "--kind")),
    ("remember tea --kind drink", ("unknown kind 'drink'", "known are fact")),
    ("remember tea --importance high", ("--importance", "'high'")),
    ("remember tea --importance 7", ("importance 7", "between 0 and 1")),
    ("remember tea --at lately", ("--at 'lately'", "such as")),
    ("remember tea --agent sky", ("--agent belongs before the command", "lamina --agent sky")),
    ("remember -- ", ("empty", "text")),
    ("search", ("needs QUERY", "such as: lamina search")),
    ("search --query=", ("QUERY is empty", "`lamina list`")),
    ("search tea --limit 0", ("limit 0", "1 to 10,000")),
    ("search tea --layer attic", ("'attic'", "short_term")),
    ("search tea --ranker best", ("'best'", "hybrid")),
    ("list --since tomorow", ("--since 'tomorow'", "such as")),
    (f"inspect {UNKNOWN}", ("no record", UNKNOWN, "list or search memories")),
    ("inspect 9zzzzz", ("no record", "9zzzzz", "list or search memories")),
    (f"forget {UNKNOWN}", ("no record", "list or search memories")),
    (f"archive restore {UNKNOWN}", ("no record", "list or search memories")),
    (f"erase {UNKNOWN} --yes", ("no record", "list or search memories")),
    ("undo 999999", ("no event 999999", "`lamina audit log`")),
    ("timeline Nobody", ("nothing is known", "`lamina facts`")),
    (f"runs close {UNKNOWN}", ("no open run", "`lamina runs list`")),
    ("inspect abc", ("'abc'", "at least 6 characters: list or search memories")),
    ("correct abcdef", ("needs TEXT", "such as: lamina correct")),
    ("undo first", ("EVENT", "'first'")),
    ("review confirm", ("ids of proposals", "--all")),
    ("audit lgo", ("no command 'lgo'", "did you mean log")),
    ("config set slep.sure 7", ("no setting 'slep.sure'", "did you mean sleep.sure")),
    ("config set sleep.sure many", ("'many'", "a whole number")),
    ("--agent ../sky remember tea", ("agent name '../sky'", "a-z")),
    ("import nowhere.json", ("there is no file", "nowhere.json")),
    ("mcp --tools all", ("--tools", "basic")),
    ("export -", ("standard output", "give a path")),
    ("timeline", ("needs SUBJECT", "such as: lamina timeline")),
)

Use = Callable[[Any], object]
VERBS: tuple[tuple[Use, tuple[str, ...]], ...] = (
    (lambda op: op.remember(), ("remember needs content",)),
    (lambda op: op.remember(""), ("empty",)),
    (lambda op: op.remember(5), ("content", "not a text")),
    (lambda op: op.remember("tea", kind="drink"), ("unknown kind 'drink'", "known are fact")),
    (lambda op: op.remember("tea", knd="fact"), ("unknown field 'knd'", "kind")),
    (lambda op: op.remember("tea", importance=7), ("importance 7", "between 0 and 1")),
    (lambda op: op.remember("tea", tags="home"), ("tags 'home'", "['home']")),
    (lambda op: op.remember("tea", at="yesterday"), ("'yesterday'", "such as")),
    (lambda op: op.remember("tea", at="2026-11-10"), ("in UTC write 2026-11-10T00:00:00+00:00",)),
    (lambda op: op.remember("tea", at="2026-11-10+00:00"), ("2026-11-10T00:00:00+00:00",)),
    (lambda op: op.remember_many([{}]), ("item 0", "content is missing")),
    (lambda op: op.search(), ("search needs query",)),
    (lambda op: op.search("tea", limits=3), ("no argument limits", "did you mean limit")),
    (lambda op: op.search("tea", layers="semantic"), ("'semantic'", "['semantic']")),
    (lambda op: op.get(UNKNOWN), ("no record", UNKNOWN, "list or search memories")),
    (lambda op: op.correct(UNKNOWN), ("correct needs text and reason",)),
    (lambda op: op.memory_context("tea", max_chars=1), ("max_chars 1", "from 200 to")),
    (lambda op: op.prune(), ("prune needs a bound", "a layer")),
)

TOOLS: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("remember", {}, ("remember needs content", "what to remember")),
    ("remember", {"content": " "}, ("content is empty", "what to remember")),
    ("remember", {"content": "tea", "kind": "drink"}, ("unknown kind 'drink'", "known are fact")),
    ("remember", {"content": "tea", "tags": "home"}, ("tags is 'home'", "a list")),
    ("remember", {"content": "tea", "agent": "sky"}, ("no argument 'agent'", "it takes content")),
    ("search", {"query": "tea", "limit": 0}, ("limit is 0", "from 1 to 100")),
    ("search", {"query": "tea", "layers": ["semantc"]}, ("'semantc'", "did you mean semantic")),
    ("propose", {"key": "city"}, ("needs value", "evidence")),
    ("get", {"record_id": UNKNOWN}, ("no record", UNKNOWN, "list or search memories")),
    ("timeline", {"subjet": "Ana"}, ("no argument 'subjet'", "did you mean subject")),
)


def test_there_are_sixty() -> None:
    """H1, H3: the three tables have the sixty cases that they stand for."""
    assert len(COMMANDS) + len(VERBS) + len(TOOLS) >= 60


def judged(message: str, words: tuple[str, ...]) -> None:
    """An answer has what was wrong and what to do, and nothing that only we understand."""
    assert [word for word in words if word not in message] == [], message
    assert [name for name in INTERNAL if name in message] == [], message
    assert len(message) < 1000


def test_the_command_line_says_what_to_do(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: with the exit code of wrong usage or of nothing found, and nothing is stored."""
    monkeypatch.chdir(tmp_path)

    def check(line: str, words: tuple[str, ...]) -> None:
        outcome = call(*line.split(" "))
        assert outcome.code in (2, 3), outcome
        assert outcome.out == ""
        judged(outcome.err.partition("Error: ")[2], words)

    check_all(COMMANDS, check)
    assert call("list", "--json").json == []


@every(("use", "words"), VERBS)
def test_python_says_what_to_do(op: Operator, use: Use, words: tuple[str, ...]) -> None:
    """H1: every error is one of ours, and nothing is stored."""
    with pytest.raises(LaminaError) as caught:
        use(op)
    judged(caught.value.message, words)
    assert size(op)[0] == 0


@every(("name", "arguments", "words"), TOOLS)
def test_tools_say_what_to_do(
    desk: Desk, name: str, arguments: dict[str, Any], words: tuple[str, ...]
) -> None:
    """H3: the answer to a model has it in its text, and nothing is stored."""
    opened: Callable[[], Memory] = partial(desk.agent, surface="mcp")
    error = in_process(opened, lambda client: complaint(client, name, **arguments))
    judged(error["message"], words)
    assert size(desk.operator())[0] == 0
