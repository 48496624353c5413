"""Promises about `lamina install`: every agent is connected once, and an uninstall leaves no trace
of us and every trace of others."""

from __future__ import annotations

import io
import json
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamina.errors import Conflict, InvalidInput
from lamina.home import settings
from lamina.surfaces.cli.main import run
from lamina.surfaces.install import agents, blocks, files, jsonc
from lamina.surfaces.install.agents import AGENTS, PROJECT, USER
from tests.cases import check_all

SCOPES = [(name, scope) for name in AGENTS for scope in (USER, PROJECT)]
# A configuration that a person has written, in the forms that the agents take.
JSON = """{
  // kept as it is
  "theme": "dark",   /* spaced
                        out */
  "mcpServers": {"other": {"command": "other", "args": []}},
  "hooks": {
    "SessionStart": [
      {"hooks": [{"type": "command", "command": "say hello"}]}, // greeting
    ],
  },
}
"""
TOML = '# kept\nmodel = "o3"   # spaced\n\n[mcp_servers.other]\ncommand = "other"\n'
TEXT = "# House rules\r\n\r\nUse tabs.\r\n"


class Machine:
    """A home of a user with a project, whose files can be looked at as a whole."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.home, self.project = folder / "user", folder / "project"
        for place in (self.home, self.project):
            place.mkdir()
        patch.setenv("HOME", str(self.home))
        patch.setenv("LAMINA_HOME", str(folder / "memory"))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        patch.chdir(self.project)

    def call(self, verb: str, agent: str, scope: str = USER, *more: str) -> int:
        return run([verb, agent, *(["--project"] if scope == PROJECT else []), "--yes", *more])

    def files(self) -> dict[str, bytes]:
        found = (path for top in (self.home, self.project) for path in top.rglob("*"))
        return {str(path): path.read_bytes() for path in found if path.is_file()}

    def folders(self) -> set[str]:
        return {
            str(path) for path in (*self.home.rglob("*"), *self.project.rglob("*")) if path.is_dir()
        }

    def wanted(self, agent: str, scope: str) -> list[Path]:
        at = agents.root(self.project if scope == PROJECT else None)
        return list(agents.changes(AGENTS[agent], at, ["lamina"]))

    def write_before(self, agent: str, scope: str) -> None:
        for path in self.wanted(agent, scope):
            path.parent.mkdir(parents=True, exist_ok=True)
            text = {".json": JSON, ".jsonc": JSON, ".toml": TOML}.get(path.suffix, TEXT)
            path.write_bytes(text.encode())


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A new machine whenever one is asked for."""

    def made() -> Iterator[Machine]:
        number = 0
        while True:
            number += 1
            folder = tmp_path / str(number)
            folder.mkdir()
            yield Machine(folder, monkeypatch)

    return made()


def data(path: Path) -> Any:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text).value


def test_every_agent_is_connected_once(machines: Iterator[Machine]) -> None:
    """Installing twice is installing once; the servers, hooks and texts are there, and what a
    person wrote is still there, comments included (H6)."""

    def check(agent: str, scope: str) -> None:
        machine = next(machines)
        machine.write_before(agent, scope)
        assert machine.call("install", agent, scope) == 0
        once = machine.files()
        assert machine.call("install", agent, scope) == 0
        assert machine.files() == once
        for path in machine.wanted(agent, scope):
            text = path.read_bytes().decode()
            assert text.count("lamina: begin") <= 1
            if path.suffix in (".json", ".jsonc"):
                assert "// kept as it is" in text
                assert "out */" in text
                assert data(path)["mcpServers"]["other"] == {"command": "other", "args": []}
            elif path.suffix == ".toml":
                assert text.startswith(TOML)
                assert data(path)["mcp_servers"]["lamina"]["args"][-1] == "mcp"
            else:
                assert text.startswith(TEXT)
                assert "Recall before you work" in text

    check_all(SCOPES, check)


def test_an_uninstall_restores_every_byte(machines: Iterator[Machine]) -> None:
    """After an uninstall files and folders are what they were, whether they were there or not (H6)."""

    def check(agent: str, scope: str, written: bool) -> None:
        machine = next(machines)
        if written:
            machine.write_before(agent, scope)
        before, folders = machine.files(), machine.folders()
        assert machine.call("install", agent, scope) == 0
        assert machine.files() != before
        assert machine.call("uninstall", agent, scope) == 0
        assert machine.files() == before
        assert machine.folders() == folders

    check_all([(*pair, written) for pair in SCOPES for written in (True, False)], check)


def edited(text: str, path: Path) -> str:
    """A file after somebody else has edited it."""
    if path.suffix == ".toml":
        return text + '\n[profiles.mine]\nmodel = "o4"\n'
    if path.suffix in (".json", ".jsonc"):
        return jsonc.put(
            jsonc.put(text, ("zebra",), True), ("mcpServers", "mine"), {"command": "m"}
        )
    return text + "\nMore rules.\n"


def test_edits_of_others_are_kept(machines: Iterator[Machine]) -> None:
    """What others write into the files after an install stays after the uninstall, and nothing of
    ours does (H6)."""

    def check(agent: str, scope: str, written: bool) -> None:
        machine = next(machines)
        if written:
            machine.write_before(agent, scope)
        paths = machine.wanted(agent, scope)
        before = {path: path.read_bytes().decode() if path.exists() else "" for path in paths}
        assert machine.call("install", agent, scope) == 0
        for path in paths:
            path.write_bytes(edited(path.read_bytes().decode(), path).encode())
        assert machine.call("uninstall", agent, scope) == 0
        for path in paths:
            text = path.read_bytes().decode()
            assert "lamina" not in text
            if path.suffix in (".json", ".jsonc"):
                left = data(path)
                left.pop("version", None)  # which the edits of others need, too
                assert left == jsonc.parse(edited(before[path] or "{}", path)).value
                assert text.count("//") == before[path].count("//")
            elif path.suffix == ".toml":
                assert data(path) == tomllib.loads(edited(before[path], path))
            else:
                assert text.endswith("More rules.\n")
                assert text.startswith(before[path])

    check_all([(*pair, written) for pair in SCOPES for written in (True, False)], check)


def test_a_hook_that_joined_ours_stays(machine: Machine) -> None:
    """A hook that somebody put into our group, and a time limit that they gave ours, do not keep
    ours in place, and theirs is not lost (H6)."""
    machine.call("install", "claude-code")
    path = machine.home / ".claude" / "settings.json"
    whole = json.loads(path.read_text("utf-8"))
    whole["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 5
    theirs = {"type": "command", "command": "say done"}
    whole["hooks"]["Stop"][0]["hooks"].append(theirs)
    path.write_text(json.dumps(whole), "utf-8")
    machine.call("uninstall", "claude-code")
    assert data(path) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def test_a_server_of_our_name_comes_back(machine: Machine) -> None:
    """A server that somebody had called lamina is there again after an uninstall, also if other
    things were changed meanwhile (H6)."""
    path = machine.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"lamina": {"command": "old"}}}', "utf-8")
    machine.call("install", "cursor")
    assert data(path)["mcpServers"]["lamina"]["args"][-1] == "mcp"
    path.write_text(jsonc.put(path.read_text("utf-8"), ("more",), 1), "utf-8")
    machine.call("uninstall", "cursor")
    assert data(path) == {"mcpServers": {"lamina": {"command": "old"}}, "more": 1}


def test_agents_share_a_file(machine: Machine) -> None:
    """Two agents that read the same AGENTS.md each have it until the last is disconnected (H6)."""
    path = machine.project / "AGENTS.md"
    path.write_bytes(TEXT.encode())
    machine.call("install", "codex", PROJECT)
    machine.call("install", "opencode", PROJECT)
    machine.call("uninstall", "codex", PROJECT)
    assert path.read_text("utf-8").count("lamina: begin") == 1
    machine.call("uninstall", "opencode", PROJECT)
    assert path.read_bytes() == TEXT.encode()


BROKEN = {
    "not JSON": (".claude/settings.json", "{hooks: }", "line 1"),
    "cut off": (".claude/settings.json", '{"hooks": {', "line 1"),
    "a key twice": (".claude/settings.json", '{"a": 1,\n "a": 2}', "line 2"),
    "a list": (".claude.json", "[]", "not an object"),
    "hooks are a text": (".claude/settings.json", '{"hooks": "none"}', "hooks is not an object"),
    "an event is an object": (
        ".claude/settings.json",
        '{"hooks": {"Stop": {}}}',
        "hooks.Stop is not a list",
    ),
    "half a block": (".claude/CLAUDE.md", blocks.MARKS["markdown"][0], "never ends"),
    "too deep": (".claude.json", "[" * 200, "levels deep"),
}


def test_a_broken_configuration_is_refused(
    machines: Iterator[Machine], capsys: pytest.CaptureFixture[str]
) -> None:
    """A configuration that cannot be read is named with its line, and no file is touched (H6)."""

    def check(name: str, text: str, said: str) -> None:
        machine = next(machines)
        path = machine.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        before = machine.files()
        assert machine.call("install", "claude-code") != 0
        told = capsys.readouterr().err
        assert said in told
        assert str(path) in told
        assert "nothing was changed" in told
        assert machine.files() == before
        assert not Path(os.environ["LAMINA_HOME"]).exists()

    check_all(BROKEN.values(), check)


def test_a_server_that_somebody_wrote_in_toml_is_left_alone(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """TOML has no second entry of one name: ours is refused where another one is (H6)."""
    path = machine.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('[mcp_servers.lamina]\ncommand = "mine"\n', "utf-8")
    assert machine.call("install", "codex") != 0
    assert "mcp_servers.lamina that Lamina did not write" in capsys.readouterr().err
    assert path.read_text("utf-8") == '[mcp_servers.lamina]\ncommand = "mine"\n'


def test_links_stay_and_modes_stay(machine: Machine) -> None:
    """A file of dotfiles behind a link is edited where it lies, with its mode (H6)."""
    real = machine.home / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}", "utf-8")
    real.chmod(0o640)
    link = machine.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    machine.call("install", "claude-code")
    assert link.is_symlink()
    assert "hooks" in data(real)
    assert real.stat().st_mode & 0o777 == 0o640
    machine.call("uninstall", "claude-code")
    assert real.read_text("utf-8") == "{}"


def test_files_that_may_not_be_written_are_refused(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """A read-only file, a link to nothing and a folder are refused before anything is written (H6)."""

    def check(name: str, said: str) -> None:
        before = machine.files()
        assert machine.call("install", "claude-code") != 0
        assert said in capsys.readouterr().err
        assert machine.files() == before
        place = machine.home / name
        place.rmdir() if place.is_dir() else place.unlink()

    (machine.home / ".claude.json").write_text("{}", "utf-8")
    (machine.home / ".claude.json").chmod(0o400)
    check(".claude.json", "is read-only")
    (machine.home / ".claude.json").symlink_to(machine.home / "nowhere")
    check(".claude.json", "which is not there")
    (machine.home / ".claude.json").mkdir()
    check(".claude.json", "cannot be read")


def test_an_edit_in_between_is_not_overwritten(tmp_path: Path) -> None:
    """A file that changes between the look and the write is left as it is (H6)."""
    path = tmp_path / "settings.json"
    path.write_text("{}", "utf-8")
    found = files.look(path)
    path.write_text('{"theirs": 1}', "utf-8")
    with pytest.raises(Conflict, match="changed meanwhile"):
        files.replace(found, '{"ours": 1}')
    assert path.read_text("utf-8") == '{"theirs": 1}'


def test_a_failure_puts_all_files_back(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """If one file cannot be written after all, those before it are as they were, and nothing counts
    as installed (H6)."""
    (machine.home / ".claude").mkdir()
    (machine.home / ".claude" / "settings.json").write_text("{}", "utf-8")
    before = machine.files()
    replace = files._write

    def failing(target: Path, text: bytes, status: os.stat_result | None) -> None:
        if target.name == "CLAUDE.md":
            raise OSError(28, "No space left on device")
        replace(target, text, status)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_write", failing)
        assert machine.call("install", "claude-code") != 0
    assert "No space left" in capsys.readouterr().err
    assert machine.files() == before
    assert machine.call("uninstall", "claude-code") != 0


def test_nobody_is_asked_in_a_script(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --yes the change is shown and, where nobody can answer, not made (H6)."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert run(["install", "claude-code"]) == 1
    shown = capsys.readouterr()
    assert '+      "command":' in shown.out
    assert "nothing was changed" in shown.err
    assert machine.files() == {}
    assert run(["install", "claude-code", "--json"]) == 2
    assert "add --yes" in capsys.readouterr().err


def test_the_list_says_what_is_here(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    """The list names the agents whose folders are there, and those that are connected (H6)."""
    (machine.home / ".gemini").mkdir()
    machine.call("install", "codex")
    capsys.readouterr()
    assert run(["install", "--list", "--json"]) == 0
    rows = {row["agent"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == AGENTS.keys()
    assert rows["gemini"]["found"] == [str(machine.home / ".gemini")]
    assert rows["codex"]["installed"] == ["user"]
    assert rows["zed"]["found"] == rows["zed"]["installed"] == []
    assert run(["install", "cluade-code"]) == 3
    assert "did you mean claude-code" in capsys.readouterr().err


def test_the_command_names_this_memory(machine: Machine) -> None:
    """What the agent starts is this very program with this home, agent and user; a project, which
    others share, gets the program by its name alone (H6)."""
    run(["--agent", "sky", "--user", "ana", "install", "cursor", "--yes"])
    server = data(machine.home / ".cursor" / "mcp.json")["mcpServers"]["lamina"]
    assert Path(server["command"]).is_absolute()
    home = os.environ["LAMINA_HOME"]
    assert server["args"] == ["--home", home, "--agent", "sky", "--user", "ana", "mcp"]
    run(["--agent", "sky", "install", "cursor", "--yes", "--project"])
    server = data(machine.project / ".cursor" / "mcp.json")["mcpServers"]["lamina"]
    assert server == {"command": "lamina", "args": ["--agent", "sky", "mcp"]}


def test_an_agent_may_not_install(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting a program to a memory is for a person: an agent is refused (S1)."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert machine.call("install", "claude-code") != 0
    assert machine.files() == {}


def test_json_says_what_was_wrong() -> None:
    """The error of a text that is no JSON names the line (H6)."""
    with pytest.raises(InvalidInput, match="line 2: a comment begins here"):
        jsonc.parse("{\n/* never")


def test_hooks_keep_more_while_an_agent_is_connected(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connecting an agent lets its hooks keep all that matters later, unless a person has decided
    otherwise; disconnecting the last agent takes the setting back (H6)."""
    name = "hooks.capture"
    if name not in settings.TABLE:
        one = settings.Setting(name, "prompts", "what hooks keep", ("prompts", "all"))
        monkeypatch.setattr(settings, "SETTINGS", (*settings.SETTINGS, one))
        monkeypatch.setattr(settings, "TABLE", {**settings.TABLE, name: one})
    home = Path(os.environ["LAMINA_HOME"])
    file = home / settings.FILE_NAME
    home.mkdir()
    file.write_text("# mine\n[audit]\nreads = 'strict'\n", "utf-8")
    machine.call("install", "claude-code")
    machine.call("install", "codex")
    assert settings.load(home)[name] == "all"
    assert settings.load(home)["audit.reads"] == "strict"
    machine.call("uninstall", "claude-code")
    assert settings.load(home)[name] == "all"
    machine.call("uninstall", "codex")
    assert file.read_text("utf-8") == "# mine\n[audit]\nreads = 'strict'\n"
    file.write_text('[hooks]\ncapture = "prompts"\n', "utf-8")
    machine.call("install", "codex")
    assert settings.load(home)[name] == "prompts"


def test_the_program_is_found_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is named by its path, or by its Python where there is no script; one in a cache of
    uv is noticed, since it may vanish (H6)."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    python = [str(tmp_path / "python"), "-P", "-m", "lamina"]
    assert agents.program(portable=False) == python
    (tmp_path / "lamina").touch()
    assert agents.program(portable=False) == [str(tmp_path / "lamina")]
    assert agents.program(portable=True) == ["lamina"]
    assert agents.is_passing("/home/.cache/uv/archive-v0/x")
    assert not agents.is_passing("/home/.local/share/uv/tools/lamina")
    made = agents.changes(AGENTS["claude-code"], agents.root(), [*python, "--agent", "sky"])
    assert "`lamina --agent sky` in a shell" in str([*made.values()])


def test_variables_move_the_files(tmp_path: Path) -> None:
    """Where a variable tells an agent another folder, it tells Lamina as well (H6)."""
    names = {"CLAUDE_CONFIG_DIR": "c", "CODEX_HOME": "x", "XDG_CONFIG_HOME": "g"}
    moved = {name: str(tmp_path / folder) for name, folder in names.items()}
    at = agents.root(environment=moved)
    places = [
        str(path.relative_to(tmp_path))
        for name in ("claude-code", "codex", "zed", "opencode")
        for path in agents.changes(AGENTS[name], at, ["lamina"])
    ]
    assert places == [
        *("c/.claude.json", "c/settings.json", "c/CLAUDE.md"),
        *("x/config.toml", "x/hooks.json", "x/AGENTS.md"),
        *("g/zed/settings.json", "g/zed/AGENTS.md"),
        *("g/opencode/opencode.json", "g/opencode/AGENTS.md"),
    ]
