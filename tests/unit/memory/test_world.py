"""Promises about the world model: tools and integrations are found, their files follow, and no
secret gets in."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from lamina import Memory
from lamina.errors import Conflict, InvalidInput, NotFound, Refused, StoreUnavailable
from lamina.formats import world as files
from lamina.formats.world import integration, read_files, tool, write_files
from lamina.memory.operator import Operator
from lamina.memory.world import FOLDER, WorldModel
from lamina.model.record import Layer, Record, State, Trust
from tests.conftest import FULL, Desk, move, size, verified
from tests.unit.memory.tools import FLIGHTS, GITHUB, OPENAI, edit, model, on_disk
from tests.unit.text.secret_samples import CONFIGS, LITERALS, SECRET_NAMES, SHAPED, planted

MCP = {
    "name": "read.mail",
    "description": "Reads the inbox.",
    "inputSchema": {"properties": {"folder": {"type": "string"}}},
}
SECRET = SHAPED["GitHub token"]
Attempt = Callable[[], object]


@pytest.fixture
def world(op: Operator) -> WorldModel:
    return model(op)


@pytest.fixture
def folder(desk: Desk) -> Path:
    return desk.folder() / FOLDER


def problems(report: dict[str, Any]) -> list[str]:
    return [problem["message"] for problem in report["problems"]]


# What a tool and an integration are


@pytest.mark.parametrize(
    ("definition", "name", "words"),
    [
        (
            FLIGHTS,
            "search_flights",
            [
                "Finds connections",
                "origin (string, required): where the journey begins",
                "stops (integer)",
            ],
        ),
        (OPENAI, "brew_coffee", ["Brews a cup."]),
        (MCP, "read.mail", ["Reads the inbox.", "folder (string)"]),
        (
            {"name": "a", "input_schema": {}, "returns": {"unit": "lumen"}, "cost": 3},
            "a",
            ["returns.unit: lumen", "cost: 3"],
        ),
    ],
)
def test_a_tool_becomes_a_memory(definition: dict[str, Any], name: str, words: list[str]) -> None:
    """R11: the common shapes of tool definitions are read, told in words, and kept as given."""
    item = tool(definition)
    assert (item["layer"], item["kind"], item["tags"]) == (Layer.WORLD, "data", ["tool", name])
    assert item["metadata"] == {"world": "tool", "name": name, "definition": definition}
    assert all(word in item["content"] for word in words)


def test_an_integration_becomes_a_memory() -> None:
    """R11: its content says what it is and names the variables; what stands where a secret belongs
    is not told."""
    item = integration(
        "github", {**GITHUB, "cookie": "<none yet>", "port": 443, "dry": False, "none": None}
    )
    assert item["content"].split("\n") == [
        "Integration github: Issues and pull requests of the observatory.",
        "base_url: https://api.github.com",
        "auth.token: from the environment variable GITHUB_TOKEN",
        "events[0]: push",
        "events[1]: release",
        "port: 443",
        "dry: false",
    ]
    assert item["tags"] == ["integration", "github"]


@pytest.mark.parametrize(
    "definition",
    [
        *(
            None,
            [],
            "name",
            7,
            {},
            {"name": ""},
            {"name": None},
            {"name": ["a"]},
            {"type": "function", "function": 3},
        ),
        *(
            {"name": "a", "description": 3},
            {"name": "a", "parameters": []},
            {"name": "a", "x": float("nan")},
            {"name": "a", "x": object()},
        ),
    ],
)
def test_what_is_no_tool_is_refused(
    op: Operator, world: WorldModel, folder: Path, definition: Any
) -> None:
    """R11: anything else is an error, and leaves neither a record nor a file."""
    before = size(op)
    with pytest.raises(InvalidInput):
        world.set_tool(definition)
    assert (size(op), folder.exists()) == (before, False)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "/x",
        ".hidden",
        "-x",
        "a b",
        "ä",
        "a\n",
        "a\0",
        "CON",
        "nul.x",
        "com1",
        "x" * 65,
        "a:b",
        7,
        None,
        SECRET,
    ],
)
def test_names_are_those_of_files(op: Operator, world: WorldModel, folder: Path, name: Any) -> None:
    """R11, P2: no name leads out of the folder, means a device, or looks different
    on another system."""
    attempts: list[Attempt] = [
        lambda: world.set_integration(name, {}),
        lambda: world.set_tool({"name": name}),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidInput) as caught:
            attempt()
        assert SECRET not in str(caught.value)
    assert not folder.exists()
    assert size(op) == (0, 0)


# Secrets


def test_a_secret_is_refused_with_its_field(op: Operator, world: WorldModel, folder: Path) -> None:
    """R11: the whole path and what to write instead are told, the value is not; nothing is stored
    or written."""
    with pytest.raises(InvalidInput) as caught:
        world.set_integration("github", {"auth": {"accounts": [{"token": SECRET}]}})
    assert "auth.accounts[0].token" in caught.value.message
    assert '"${NAME}"' in caught.value.message
    assert caught.value.details["field"] == "auth.accounts[0].token"
    assert SECRET not in repr(caught.value.to_dict())
    with pytest.raises(InvalidInput, match="headers"):
        world.set_tool({**FLIGHTS, "headers": {"X-Api-Key": "hunter2"}})
    assert (size(op), folder.exists()) == ((0, 0), False)


@given(
    CONFIGS,
    st.lists(st.integers(0, 5), max_size=4),
    SECRET_NAMES,
    LITERALS | st.sampled_from(sorted(SHAPED.values())),
)
def test_no_secret_gets_in_or_out(
    config: dict[str, Any], steps: list[int], name: str, secret: str
) -> None:
    """R11: a secret anywhere in a config or definition is refused with its path, and no part of the
    error repeats it."""
    path = planted(config, steps, name, secret)
    attempts: list[Attempt] = [
        lambda: integration("github", config),
        lambda: tool({"name": "a", **config}),
    ]
    for attempt in attempts:
        with pytest.raises(InvalidInput) as caught:
            attempt()
        assert caught.value.details["field"] == path
        assert secret not in repr(caught.value.to_dict())
        assert path in caught.value.message


@given(CONFIGS)
def test_a_config_without_secrets_is_kept_as_given(config: dict[str, Any]) -> None:
    """R11: whatever else a config holds is kept as it is."""
    assert integration("github", config)["metadata"]["config"] == config


# Records


def test_tools_and_integrations_are_found(op: Operator, world: WorldModel, mem: Memory) -> None:
    """R11: they are searched like other memory, by operators and agents."""
    world.set_tool(FLIGHTS)
    world.set_tool(OPENAI)
    world.set_integration("github", GITHUB)
    assert mem.search("which tool finds airports?")[0].record.tags == ("tool", "search_flights")
    assert op.search("pull requests of the observatory")[0].record.tags == ("integration", "github")
    assert {record.layer for record in mem.list(tags=["tool"])} == {Layer.WORLD}


def test_they_are_given_back_as_given(world: WorldModel, mem: Memory) -> None:
    """R11: agents read tools by name and integrations by theirs, each as an operator gave it."""
    for definition in (FLIGHTS, OPENAI, MCP):
        world.set_tool(definition)
    world.set_integration("github", GITHUB)
    assert model(mem).tools() == [OPENAI, MCP, FLIGHTS]
    assert model(mem).integrations() == {"github": GITHUB}


def test_the_same_again_changes_nothing(op: Operator, world: WorldModel) -> None:
    """R11, L1: setting what is set already returns its record and leaves no event."""
    first = world.set_tool(FLIGHTS)
    before = size(op)
    assert world.set_tool({**FLIGHTS}) == first
    assert size(op) == before


def test_a_change_supersedes(op: Operator, world: WorldModel) -> None:
    """R11, L11: another definition replaces the former, which stays with its end; 1 and true are
    not the same."""
    first = world.set_integration("github", {"retries": 1})
    second = world.set_integration("github", {"retries": True})
    former = op.get(first.id)
    assert (former.state, former.superseded_by, former.valid_to) == (
        State.SUPERSEDED,
        second.id,
        second.created_at,
    )
    assert second.supersedes == (first.id,)
    assert world.integrations() == {"github": {"retries": True}}
    assert [event.action for event in op.history(first.id)] == ["world.set", "world.set"]
    assert verified(op)


def test_removing(op: Operator, world: WorldModel, folder: Path) -> None:
    """R11, R3: what is removed is hidden from lists, searches and files; what is unknown
    is not found."""
    made = world.set_integration("github", GITHUB)
    world.set_tool({"name": "github"})
    world.remove("integration", "github")
    assert op.get(made.id).state is State.TOMBSTONED
    assert (world.integrations(), world.tools()) == ({}, [{"name": "github"}])
    assert on_disk(folder) == {"tools.json": [{"name": "github"}]}
    with pytest.raises(NotFound, match="github"):
        world.remove("integration", "github")
    with pytest.raises(NotFound, match="known are github"):
        world.remove("tool", "gitlab")
    for kind in ("record", ["tool"], None):
        with pytest.raises(InvalidInput, match="known are tool, integration"):
            world.remove(kind, "github")  # type: ignore[arg-type]
    assert [event.action for event in op.history(made.id)] == ["world.set", "world.remove"]
    again = world.set_integration("github", GITHUB)
    assert again.id != made.id


def test_names_that_differ_in_case_alone(world: WorldModel) -> None:
    """R11: two names that some systems take for one cannot both be used."""
    world.set_integration("github", {})
    with pytest.raises(Conflict, match="case alone"):
        world.set_integration("GitHub", {})
    world.set_tool({"name": "GitHub"})
    assert list(world.integrations()) == ["github"]


def test_agents_read_and_operators_write(
    op: Operator, world: WorldModel, mem: Memory, desk: Desk
) -> None:
    """R11, R2, V7: an agent changes nothing here, nor does a handle for one user, since the world
    is that of all."""
    world.set_tool(FLIGHTS)
    before = size(op)
    for handle in (mem, desk.operator(user="ana")):
        own = model(handle)
        attempts: list[Attempt] = [
            partial(own.set_tool, OPENAI),
            partial(own.set_integration, "a", {}),
            partial(own.remove, "tool", "search_flights"),
            own.sync,
        ]
        for attempt in attempts:
            with pytest.raises(Refused):
                attempt()
        assert own.tools() == [FLIGHTS]
    assert size(op) == before


def test_reads_are_audited(op: Operator, world: WorldModel, mem: Memory) -> None:
    """P4: looking at tools is in the trail of reads, with the records that came back."""
    made = world.set_tool(FLIGHTS)
    model(mem).tools()
    mem._scope.store.reads.flush()
    (read, *_) = [read for read in op.audit_reads() if read.action == "world"]
    assert (read.records, str(read.actor)) == ((made.id,), "agent:sky")


def test_only_what_an_operator_vouches_for_counts(
    op: Operator, world: WorldModel, desk: Desk, folder: Path
) -> None:
    """R11, V8, P2: records of other origin, of one user, or made by hand with odd names are
    memories, but no tools."""
    kept = world.set_tool(FLIGHTS)
    odd: list[dict[str, Any]] = [
        {
            "metadata": {"world": "tool", "name": "mail", "definition": {"name": "mail"}},
            "source": "import",
        },
        {"metadata": {"world": "integration", "name": "../../../x", "config": {}}},
        {"metadata": {"world": "tool", "name": "a", "definition": {"name": "b"}}},
        {"metadata": {"world": "tool", "name": "a", "definition": "a"}},
        {"metadata": {"world": "integration", "name": "leak", "config": {"token": SECRET}}},
        {"metadata": {"world": ["tool"], "name": {}}},
        {"metadata": {"world": "tool"}},
    ]
    for number, item in enumerate(odd):
        op.remember(f"odd {number}", layer="world", kind="data", **item)
    own = {"world": "tool", "name": "own", "definition": {"name": "own"}}
    desk.operator(user="ana").remember("own", layer="world", kind="data", metadata=own)
    report = world.sync()
    assert (report["taken"], report["problems"]) == ([], [])
    assert world.tools() == [FLIGHTS]
    assert world.integrations() == {}
    assert on_disk(folder) == {"tools.json": [FLIGHTS]}
    assert kept.trust is Trust.OPERATOR


def test_two_records_of_one_name(op: Operator, world: WorldModel) -> None:
    """R11: when an import brought a second record of a name, the newer counts, and a
    change settles both."""
    first = world.set_tool(FLIGHTS)
    metadata = {
        "world": "tool",
        "name": "search_flights",
        "definition": {**FLIGHTS, "description": "newer"},
    }
    second = op.remember("newer", layer="world", kind="data", metadata=metadata)
    assert world.tools()[0]["description"] == "newer"
    third = world.set_tool(FLIGHTS)
    assert set(third.supersedes) == {first.id, second.id}
    world.remove("tool", "search_flights")
    assert world.tools() == []


def test_processes_take_turns(desk: Desk, op: Operator, world: WorldModel, folder: Path) -> None:
    """R11: many processes that set the same and different entries lose none, and exactly one record
    is current."""
    script = (
        "import sys, lamina\n"
        "from tests.unit.memory.tools import model\n"
        "op = lamina.operator(agent='sky', home=sys.argv[1])\n"
        "for n in range(5):\n"
        "    model(op).set_integration('shared', {'by': sys.argv[2], 'n': n})\n"
        "    model(op).set_tool({'name': f'tool_{sys.argv[2]}_{n}'})\n"
        "op.close()\n"
    )
    world.set_integration("shared", {})
    command, root = [sys.executable, "-c", script, str(desk.home)], Path(__file__).parents[3]
    started = [subprocess.Popen([*command, str(name)], cwd=root) for name in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert len(world.tools()) == 15
    history: list[Record] = [
        r
        for r in op.list(layers=["world"], states=None, limit=1000)
        if r.metadata["name"] == "shared"
    ]
    assert sum(record.state is State.ACTIVE for record in history) == 1
    assert len(history) == 16
    assert on_disk(folder) == {
        "tools.json": world.tools(),
        "shared.json": world.integrations()["shared"],
    }
    assert world.sync() == {"taken": [], "written": [], "problems": []}
    assert verified(op)


# Files


def test_the_files(world: WorldModel, folder: Path) -> None:
    """R11, B6, B7: one list of tools by name, one file for each integration, private, and as
    readable as JSON gets."""
    assert world.sync() == {"taken": [], "written": [], "problems": []}
    assert not folder.exists()
    world.set_tool(FLIGHTS)
    world.set_tool(OPENAI)
    world.set_integration("github", GITHUB)
    assert on_disk(folder) == {"tools.json": [OPENAI, FLIGHTS], "github.json": GITHUB}
    assert (
        b'\n  "base_url": "https://api.github.com"'
        in (folder / "integrations" / "github.json").read_bytes()
    )
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "integrations")} == {
        0o700
    }


def test_edited_and_new_files_are_taken_in(op: Operator, world: WorldModel, folder: Path) -> None:
    """R11: what people write into the files becomes records; then the files are in shape, and a
    second time nothing happens."""
    world.set_tool(FLIGHTS)
    former = world.set_integration("github", GITHUB)
    edit(folder, "tools.json", [OPENAI, {**FLIGHTS, "description": "by hand"}])
    edit(folder, "integrations/github.json", {"retries": 3})
    edit(folder, "integrations/mail.json", {"host": "localhost"})
    edit(folder, "integrations/mail.json~", b"an editor left this")
    report = world.sync()
    assert report["taken"] == [
        "tool brew_coffee",
        "tool search_flights",
        "integration github",
        "integration mail",
    ]
    assert report["written"] == ["integrations/github.json", "integrations/mail.json", "tools.json"]
    assert [definition.get("description") for definition in world.tools()] == [None, "by hand"]
    assert world.integrations() == {"github": {"retries": 3}, "mail": {"host": "localhost"}}
    assert op.get(former.id).state is State.SUPERSEDED
    before = size(op)
    assert world.sync() == {"taken": [], "written": [], "problems": []}
    assert size(op) == before
    assert op.audit_log()[0].action == "world.sync"


@pytest.mark.parametrize("obstacle", ["tools.json.tmp", "integrations/github.json.tmp"])
def test_an_edit_survives_a_change_that_fails(
    world: WorldModel, folder: Path, obstacle: str
) -> None:
    """R11, P4: while an edit is not stored, its file is all that has it; a sync that fails halfway
    leaves it for the next."""
    world.set_tool(FLIGHTS)
    world.set_integration("github", GITHUB)
    edit(folder, "tools.json", [{**FLIGHTS, "description": "by hand"}])
    edit(folder, "integrations/github.json", {"retries": 3})
    (folder / obstacle).mkdir()
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        world.sync()
    (folder / obstacle).rmdir()
    assert world.sync()["taken"] == ["tool search_flights", "integration github"]
    assert [definition["description"] for definition in world.tools()] == ["by hand"]
    assert world.integrations() == {"github": {"retries": 3}}
    assert world.sync() == {"taken": [], "written": [], "problems": []}


def test_what_was_taken_in_and_forgotten_does_not_come_back(
    op: Operator, world: WorldModel, folder: Path
) -> None:
    """R11: what was taken from a person's file and forgotten since is no new edit of theirs."""
    world.set_tool(FLIGHTS)
    edit(folder, "tools.json", [{**FLIGHTS, "description": "by hand"}])
    world.sync()
    op.forget(world.records("tool")[0].id)
    assert world.sync()["taken"] == []
    assert world.tools() == []


def test_another_layout_is_no_edit(op: Operator, world: WorldModel, folder: Path) -> None:
    """R11: spaces, order, a byte order mark and a lost note of what was written
    change no record."""
    world.set_integration("github", GITHUB)
    before = size(op)
    turned = json.dumps(dict(reversed(GITHUB.items())), indent=8)
    edit(folder, "integrations/github.json", b"\xef\xbb\xbf" + turned.encode())
    (folder / files.WRITTEN).write_bytes(b"not json")
    assert world.sync() == {"taken": [], "written": ["integrations/github.json"], "problems": []}
    assert size(op) == before


def test_a_change_proposes_edits_first(op: Operator, world: WorldModel, folder: Path) -> None:
    """R11: what somebody wrote into a file is not lost when a program changes something, be it the
    same entry."""
    world.set_integration("github", {"by": "program"})
    world.set_integration("mail", {"by": "program"})
    for name in ("github", "mail"):
        edit(folder, f"integrations/{name}.json", {"by": "hand"})
    world.set_integration("github", {"by": "program again"})
    assert world.integrations() == {"github": {"by": "program again"}, "mail": {"by": "program"}}
    assert on_disk(folder) == {
        "github.json": {"by": "program again"},
        "mail.json": {"by": "program"},
    }
    told = [r.metadata["config"]["by"] for r in op.list(states=None, tags=["github"])]
    assert told == ["program again", "hand", "program"]
    (waiting,) = [one for one in op.proposals() if one.problem is None]
    op.confirm(waiting.record.id)
    assert world.integrations()["mail"] == on_disk(folder)["mail.json"] == {"by": "hand"}


def test_a_file_that_is_merely_old_is_no_edit(
    op: Operator, world: WorldModel, folder: Path
) -> None:
    """R11: after a verb that does not know the files, or a restored copy, the records count."""
    first = world.set_integration("github", {"version": 1})
    second = world.set_integration("github", {"version": 2})
    mail = world.set_integration("mail", {})
    move(op, mail.id, state=State.TOMBSTONED)
    move(op, second.id, state=State.TOMBSTONED)
    move(op, first.id, state=State.ACTIVE, superseded_by=None, valid_to=None)
    report = world.sync()
    assert report["taken"] == []
    assert on_disk(folder) == {"github.json": {"version": 1}}
    assert world.integrations() == {"github": {"version": 1}}


@pytest.mark.parametrize("point", range(4))
def test_whatever_a_crash_leaves_behind(
    op: Operator, world: WorldModel, folder: Path, point: int
) -> None:
    """R11: a change that died between its files and its record is no edit; the next sync brings the
    files back in step."""
    world.set_tool(FLIGHTS)
    world.set_integration("github", {"version": 1})
    before = size(op)
    order = [files.WRITTEN, "integrations/github.json", "tools.json"]
    old = {name: (folder / name).read_bytes() for name in order}
    write_files(folder, [FLIGHTS, OPENAI], {"github": {"version": 2}})
    for name in order[point:]:
        (folder / name).write_bytes(old[name])
    report = world.sync()
    assert (report["taken"], report["problems"], size(op)) == ([], [], before)
    assert {name: (folder / name).read_bytes() for name in order} == old


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        (b'{\n  "a": 1,\n  oops\n}', "line 3: this is not JSON", 3),
        (b"", "line 1: this is not JSON", 1),
        (b"[1, 2]", "a config is a mapping, not a list", None),
        (b"\xff\xfe", "not UTF-8", None),
        (b'{"a": NaN}', "not a number that JSON can hold", None),
        (b'{"a": 1, "a": 2}', "same key twice", None),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read", None),
        (b'{"a": ' + b"[" * 100_000, "cannot be read", None),
        (b'{"a": "\\ud800"}', "surrogate", None),
    ],
)
def test_a_bad_file_is_told_and_left_alone(
    world: WorldModel, folder: Path, content: bytes, message: str, line: int | None
) -> None:
    """R11: the file and the line are named, the file stays as it is, and everything else
    is taken in."""
    world.set_integration("github", GITHUB)
    bad = edit(folder, "integrations/github.json", content)
    edit(folder, "integrations/mail.json", {"host": "localhost"})
    report = world.sync()
    (problem,) = report["problems"]
    assert problem["file"] == "integrations/github.json"
    assert message in problem["message"]
    assert problem.get("line") == line
    assert report["taken"] == ["integration mail"]
    assert bad.read_bytes() == content
    assert world.integrations() == {"github": GITHUB, "mail": {"host": "localhost"}}
    with pytest.raises(Conflict, match="repair or delete"):
        world.set_integration("github", {})
    assert world.set_tool(FLIGHTS).state is State.ACTIVE
    bad.unlink()
    assert world.sync() == {"taken": [], "written": ["integrations/github.json"], "problems": []}


def test_bad_entries_among_the_tools(world: WorldModel, folder: Path) -> None:
    """R11: a bad entry is told with its number; the others are taken in, and the list stays as it
    is until it is repaired."""
    listed = [FLIGHTS, {"name": "a", "token": SECRET}, 7, {"name": "SEARCH_flights"}, OPENAI]
    path = edit(folder, "tools.json", listed)
    content = path.read_bytes()
    report = world.sync()
    assert report["taken"] == ["tool search_flights", "tool brew_coffee"]
    assert [message.split(":")[0] for message in problems(report)] == [
        f"tools.json, entry {number}" for number in (2, 3, 4)
    ]
    assert path.read_bytes() == content
    assert world.sync()["taken"] == []
    with pytest.raises(Conflict, match=r"tools\.json"):
        world.set_tool(MCP)
    edit(folder, "tools.json", [FLIGHTS])
    assert world.sync()["problems"] == []
    assert world.tools() == [OPENAI, FLIGHTS]
    edit(folder, "tools.json", {"tools": []})
    assert problems(world.sync()) == ["tools.json is not a list of tool definitions"]


def test_a_secret_in_a_file(op: Operator, world: WorldModel, folder: Path, desk: Desk) -> None:
    """R11: it is told with its field, and neither stored nor overwritten; no byte of the store
    holds it."""
    path = edit(folder, "integrations/github.json", {"auth": {"token": SECRET}})
    content = path.read_bytes()
    report = world.sync()
    (problem,) = report["problems"]
    assert (problem["file"], problem["field"]) == ("integrations/github.json", "auth.token")
    assert SECRET not in repr(report)
    assert path.read_bytes() == content
    assert size(op) == (0, 0)
    op.close()
    stored = [file for file in desk.folder().rglob("*") if file.is_file() and file != path]
    assert not any(SECRET.encode() in file.read_bytes() for file in stored)


def test_names_of_files(world: WorldModel, folder: Path) -> None:
    """R11: a file whose name cannot be an integration's is told and left alone; so are two that
    differ in case alone."""
    odd = [
        "a b.json",
        "con.json",
        "x" * 65 + ".json",
        "GitHub.json",
        "github.json",
        os.fsdecode(b"\xff.json"),
    ]
    for name in odd:
        edit(folder, f"integrations/{name}", {"a": 1})
    report = world.sync()
    assert len(report["problems"]) == len(odd)
    assert report["taken"] == []
    json.dumps(report).encode()
    world.set_integration("mail", {})
    assert sorted(file.name for file in (folder / "integrations").iterdir()) == sorted(
        [*odd, "mail.json"]
    )
    for name in ("GitHub.json", "github.json"):
        (folder / "integrations" / name).unlink()
    world.set_integration("github", {})
    edit(folder, "integrations/GitHub.json", {"a": 2})
    (folder / "integrations" / "github.json").unlink()
    assert any("case alone" in message for message in problems(world.sync()))


def test_no_link_is_followed(world: WorldModel, folder: Path, tmp_path: Path) -> None:
    """R11, P2: a link in the place of a file is told, one in the place of a folder is refused;
    nothing behind it is touched."""
    world.set_integration("github", GITHUB)
    outside = tmp_path / "outside.json"
    outside.write_text('{"a": 1}')
    link = folder / "integrations" / "mail.json"
    link.symlink_to(outside)
    assert ["symbolic link" in message for message in problems(world.sync())] == [True]
    with pytest.raises(Conflict, match="symbolic link"):
        world.set_integration("mail", {})
    link.unlink()
    for part in (folder / "integrations", folder):
        kept = part.rename(tmp_path / "kept")
        (tmp_path / "elsewhere").mkdir()
        part.symlink_to(tmp_path / "elsewhere")
        for attempt in (world.sync, lambda: world.set_integration("mail", {})):
            with pytest.raises(Refused, match="symbolic link"):
                attempt()
        assert list((tmp_path / "elsewhere").iterdir()) == []
        part.unlink()
        kept.rename(part)
        (tmp_path / "elsewhere").rmdir()
    assert outside.read_text() == '{"a": 1}'
    assert list(world.integrations()) == ["github"]


def test_a_pipe_does_not_stop_us(world: WorldModel, folder: Path) -> None:
    """R11: what is no file is told, not waited for."""
    world.set_integration("github", {})
    os.mkfifo(folder / "integrations" / "mail.json")
    (folder / "integrations" / "folder.json").mkdir()
    assert len(world.sync()["problems"]) == 2


def test_files_that_cannot_be_written(op: Operator, world: WorldModel, folder: Path) -> None:
    """R11: when the files cannot follow, nothing is stored, and the error says which one."""
    folder.mkdir(parents=True)
    (folder / "integrations").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="integrations"):
        world.set_integration("github", {})
    assert size(op) == (0, 0)


def test_write_files_checks_names_itself(folder: Path) -> None:
    """R11, P2: no caller gets a file written outside the folder."""
    with pytest.raises(InvalidInput):
        write_files(folder, [], {"../x": {}})
    with pytest.raises(InvalidInput):
        write_files(folder, [{"name": "../x"}], {})
    assert not folder.exists()


def test_reading_and_writing_agree(folder: Path) -> None:
    """R11: what was written is read back as it was; what is no longer wanted goes."""
    assert read_files(folder) == ({}, {}, [])
    assert write_files(folder, [FLIGHTS, MCP], {"github": GITHUB, "mail": {}}) == [
        "integrations/github.json",
        "integrations/mail.json",
        "tools.json",
    ]
    assert read_files(folder) == (
        {"read.mail": MCP, "search_flights": FLIGHTS},
        {"github": GITHUB, "mail": {}},
        [],
    )
    assert write_files(folder, [], {"github": GITHUB}) == ["tools.json", "integrations/mail.json"]
    assert read_files(folder) == ({}, {"github": GITHUB}, [])


@given(
    st.binary(max_size=60)
    | st.text('{}[]":,0123456789.eE+-truefalsn \n\\', max_size=60).map(str.encode)
)
def test_any_bytes_in_a_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """R11: whatever stands in the files, reading them tells problems and raises nothing."""
    folder = tmp_path_factory.mktemp("world")
    edit(folder, "tools.json", content)
    edit(folder, "integrations/a.json", content)
    found = read_files(folder)
    assert bool(found.integrations) != (
        "integrations/a.json" in {problem.file for problem in found.problems}
    )


class Hands(RuleBasedStateMachine):
    """A program and a person who change entries and files in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.home = TemporaryDirectory()
        self.desk = Desk(Path(self.home.name))
        self.op = self.desk.operator()
        self.world = model(self.op)
        self.folder = self.desk.folder() / FOLDER
        self.meant: dict[str, Any] = {}
        self.edited: dict[str, Any] = {}
        self.deleted: set[str] = set()
        self.told: list[tuple[str, Any]] = []  # all that was in a file when something else was done
        self.rejected: dict[tuple[str, int], str] = {}  # the records that keep a value out

    names = st.sampled_from(["a", "b", "c"])
    values = st.integers(1, 3).map(lambda n: {"n": n})

    def settled(self) -> None:
        """What every change does first: it keeps edits as proposals."""
        self.told += self.edited.items()
        self.edited, self.deleted = {}, set()

    def allow(self, name: str, value: dict[str, Any]) -> None:
        """Lift a rejection before its value is written again, which is refused otherwise."""
        if rejected := self.rejected.pop((name, value["n"]), None):
            self.op.lift(rejected, "it is wanted after all")

    @rule(name=names, value=values)
    def set(self, name: str, value: dict[str, Any]) -> None:
        self.settled()
        self.allow(name, value)
        self.world.set_integration(name, value)
        self.meant[name] = value

    @rule(name=names)
    def remove(self, name: str) -> None:
        if name not in self.meant:
            with pytest.raises(NotFound):  # and what was edited waits for the next change
                self.world.remove("integration", name)
            return
        self.settled()
        self.world.remove("integration", name)
        del self.meant[name]

    @rule(name=names)
    def delete(self, name: str) -> None:
        """A person deletes a file: an edit that nobody has seen is gone, everything
        else comes back."""
        (self.folder / "integrations" / f"{name}.json").unlink(missing_ok=True)
        self.edited.pop(name, None)
        self.deleted.add(name)

    @rule(name=names, value=values)
    def edit(self, name: str, value: dict[str, Any]) -> None:
        self.allow(name, value)
        edit(self.folder, f"integrations/{name}.json", value)
        self.edited[name] = value
        self.deleted.discard(name)

    @rule(sure=st.booleans())
    def decide(self, sure: bool) -> None:
        """A person decides about what waits longest, which writes the files as well."""
        waiting = [one for one in self.op.proposals() if one.record.layer is Layer.WORLD]
        if not waiting:
            return
        self.settled()
        if not sure:
            rejected = self.op.reject(waiting[0].record.id, "no")
            said = rejected.metadata
            self.rejected[said["name"], said["config"]["n"]] = rejected.id
        elif waiting[0].problem is None:
            confirmed = self.op.confirm(waiting[0].record.id)
            self.meant[confirmed.metadata["name"]] = dict(confirmed.metadata["config"])
        else:
            self.world.write()

    @rule()
    def sync(self) -> None:
        self.meant |= self.edited
        self.settled()
        assert self.world.sync()["problems"] == []
        assert self.world.sync() == {"taken": [], "written": [], "problems": []}
        assert self.files() == self.meant

    def files(self) -> dict[str, Any]:
        return {file.removesuffix(".json"): value for file, value in on_disk(self.folder).items()}

    @invariant()
    def agree(self) -> None:
        assert self.world.integrations() == self.meant
        everything = self.op.list(layers=["world"], states=None, limit=1000)
        kept = [(record.metadata["name"], record.metadata["config"]) for record in everything]
        assert all(one in kept for one in self.told)
        wanted = {**self.meant, **self.edited}
        assert self.files() == {
            name: value for name, value in wanted.items() if name not in self.deleted
        }

    def teardown(self) -> None:
        try:
            assert verified(self.op)
        finally:
            self.desk.__exit__(None, None, None)
            self.home.cleanup()


def test_records_and_files_stay_in_step() -> None:
    """R11: in any order of changes and edits, nothing that was said is lost, and the files say what
    the records say."""
    run_state_machine_as_test(Hands, settings=settings(max_examples=200 if FULL else 8))


def test_a_file_may_come_back(world: WorldModel, folder: Path) -> None:
    """R11: what a person writes again after it was removed is an edit, even when it says the same
    as before."""
    world.set_integration("github", GITHUB)
    (folder / "integrations" / "github.json").unlink()
    world.remove("integration", "github")
    edit(folder, "integrations/github.json", GITHUB)
    assert world.sync()["taken"] == ["integration github"]


def test_contents_are_bounded(world: WorldModel) -> None:
    """R11: a long description is kept whole, and told in as many words as a search can use."""
    long = {"name": "a", "description": "word " * 20_000}
    made = world.set_tool(long)
    assert len(made.content) == files.MAX_WORDS
    assert made.metadata["definition"] == long
    assert made.content.startswith("Tool a: word")
