"""Promises about the package: everything is in it, its short names work, and so does the plugin."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import lamina
from lamina.surfaces.adapters.langgraph import LaminaStore
from lamina.surfaces.adapters.openai_agents import LaminaSession
from lamina.surfaces.cli.main import run
from lamina.surfaces.install import agents, edits
from tests import dist

ROOT = dist.ROOT
PLUGIN = ROOT / "plugin"


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is missing")
def test_wheel_and_source_are_whole(tmp_path: Path) -> None:
    """The wheel has every file of the package and no other, its metadata is complete, and the README
    in it renders; the source has what a build needs (D1)."""
    wheel, sdist = dist.build(tmp_path)
    assert [*dist.problems_of_wheel(wheel), *dist.problems_of_sdist(sdist)] == []


def test_adapters_have_short_names() -> None:
    """`from lamina.langgraph import LaminaStore` is what one would guess, and the same class (H8)."""
    import lamina.langgraph
    import lamina.openai_agents

    assert lamina.langgraph.LaminaStore is LaminaStore
    assert lamina.openai_agents.LaminaSession is LaminaSession


def test_short_names_cost_nothing_unless_used() -> None:
    """Importing Lamina loads no framework (H8)."""
    code = (
        "import lamina, sys; assert not {'langgraph', 'agents', 'lamina.surfaces'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_demo_needs_no_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`lamina demo` tells its story from the package, and leaves neither a home nor a variable (D1).
    Only the search that says so finds nothing."""
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "home"))
    assert run(["demo"]) == 0
    found_nothing = capfd.readouterr().out.split("nothing relevant")[:-1]
    assert [said.rsplit("$ ", 1)[1].strip() for said in found_nothing] == [
        "lamina search 'quantum chromodynamics'"
    ]
    assert not (tmp_path / "home").exists()


def test_the_plugin_is_what_an_install_writes() -> None:
    """The plugin of Claude Code has the hooks and the server of `lamina install --project` (H6)."""
    claude = agents.AGENTS["claude-code"]
    wanted = agents.changes(claude, agents.root(ROOT), ["lamina"])
    for path, made in wanted.items():
        name = {".mcp.json": ".mcp.json", "settings.json": "hooks/hooks.json"}.get(path.name)
        if name is not None:
            assert edits.has((PLUGIN / name).read_text("utf-8"), made), name
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert (manifest["name"], manifest["version"]) == ("lamina", lamina.__version__)
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    assert (ROOT / market["plugins"][0]["source"]).resolve() == PLUGIN
    skill = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text("utf-8")
    assert skill.startswith("---\nname: memory\ndescription: ")


def test_the_container_has_every_step() -> None:
    """The Containerfile installs the wheel with both servers, runs as nobody special, keeps memories
    in a volume, and says how to ask for its health (D1)."""
    said = dist.steps((ROOT / "Containerfile").read_text("utf-8"))
    words = [word for word, _ in said]
    assert words[0] == "FROM"
    assert {"COPY", "RUN", "USER", "VOLUME", "HEALTHCHECK", "ENTRYPOINT", "CMD"} <= {*words}
    assert "[http,mcp]" in next(rest for word, rest in said if word == "RUN")
    assert json.loads(dict(said)["ENTRYPOINT"]) == ["lamina"]
    assert json.loads(dict(said)["CMD"])[0] == "serve"
    assert words.index("USER") < words.index("CMD")
