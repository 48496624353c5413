"""The official TypeScript SDK as a client, from npm: both of its lines, and every era of the
protocol that they speak."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lamina.home import settings_file
from lamina.surfaces.mcp import prompts, resources, tools
from tests.conftest import Desk
from tests.servers.fetch import REQUIRED
from tests.surfaces.mcp_harness import PATIENCE, command, environment
from tests.surfaces.typescript import fetch

SCRIPT = Path(__file__).parent / "typescript" / "client.mjs"
UNKNOWN = "01m7j0q97c61zre43we98hxhkb"
Step = list[Any]
pytestmark = pytest.mark.skipif(
    fetch.missing() is not None and not REQUIRED,
    reason=f"not run: TypeScript clients ({fetch.missing()})",
)


def session(
    home: Path, sdk: int, mode: str | None, *steps: Step, form: dict[str, str] | None = None
) -> dict[str, Any]:
    """What the SDK made of each step, and the version of the protocol that it spoke."""
    program, *arguments = command(home)
    asked = {
        "folder": str(fetch.folder()),
        "sdk": sdk,
        "mode": mode,
        "command": program,
        "args": arguments,
        "env": environment(),
        "steps": steps,
        "form": form,
    }
    done = subprocess.run(
        ["node", str(SCRIPT), json.dumps(asked)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def call(name: str, **arguments: Any) -> Step:
    return ["callTool", {"name": name, "arguments": arguments}]


def told_error(outcome: dict[str, Any]) -> str:
    """What a model reads of a call that failed: the SDK itself must have found nothing wrong."""
    assert "thrown" not in outcome, outcome
    assert outcome["answer"]["isError"] is True
    assert "structuredContent" not in outcome["answer"]
    (content,) = outcome["answer"]["content"]
    message: str = json.loads(content["text"])["error"]["message"]
    return message


ERAS = [
    (1, None, "2025-11-25"),
    (2, "legacy", "2025-11-25"),
    (2, "auto", "2026-07-28"),
]


@pytest.mark.parametrize(("sdk", "mode", "version"), ERAS)
def test_the_sdk_sees_everything_and_reads_every_error(
    tmp_path: Path, sdk: int, mode: str | None, version: str
) -> None:
    """H3: every tool, resource and prompt is listed and answers within its schema; what is refused
    comes as text that says what to do, and never as a complaint of the SDK."""
    home = tmp_path / "home"
    with Desk(home) as desk:
        op = desk.operator(clock=None, store_id=None)
        contract = {"origin": "test", "topic_tags": ["home"]}
        said = op.remember("Ana lives in Lisbon", session="s1", kind="fact")
        op.remember("Ana lives in Lisbon", layer="semantic", kind="fact", metadata=contract)
        op.upsert_user_profile({"name": "Ana"}, [said.id])
    wrong = [
        (call("search"), "search needs query"),
        (call("search", query="tea", limit=0), "from 1 to 100"),
        (call("search", query="tea", layers=["attic"]), "one of episodic"),
        (call("remember", content="tea", kind="drink"), "known are fact"),
        (call("remember", content="tea", user="ben"), "has no argument 'user'"),
        (call("get", record_id=UNKNOWN), "there is no record"),
        (call("timeline"), "timeline needs subject"),
    ]
    good = [
        call("remember", content="Ben rides a bicycle", tags=["sport"]),
        call("search", query="Where does Ana live?"),
        call("search", query="zebra"),
        call("recall_context", goal="Plan a trip to Ana"),
        call("propose", key="city", value="Lisbon", reason="said so", evidence=[said.id]),
        call("request_forget", record_id=said.id, reason="a copy"),
        call("status"),
        call("get", record_id=said.id),
        call("recent", hours=24),
        call("facts", subject="Ana"),
        call("timeline", subject="Ana"),
        call("pending"),
        call("correct", record_id=said.id, text="Ana lives in Porto", reason="she moved"),
    ]
    if "feedback" in tools.tools():
        good.append(call("feedback", record_id=said.id, verdict="helpful"))
    uris = ["lamina://profile", f"lamina://record/{said.id}", "lamina://session/s1"]
    told = session(
        home,
        sdk,
        mode,
        *[["listTools"], ["listResources"], ["listResourceTemplates"], ["listPrompts"]],
        *good,
        *[["readResource", {"uri": uri}] for uri in uris],
        ["getPrompt", {"name": "recall", "arguments": {"goal": "Plan a trip to Ana"}}],
        ["getPrompt", {"name": "wrap-up"}],
        ["getPrompt", {"name": "review"}],
        *[step for step, _ in wrong],
        call("confirm"),
        ["readResource", {"uri": "lamina://attic"}],
        ["getPrompt", {"name": "recall"}],
    )
    if told["version"] is not None:  # the first line of the SDK does not say
        assert told["version"] == version
    outcomes = iter(told["told"])
    listed, plain, templates, chosen = (next(outcomes)["answer"] for _ in range(4))
    assert [one["name"] for one in listed["tools"]] == list(tools.tools())
    uris_listed = [one["uri"] for one in plain["resources"]]
    uris_listed += [one["uriTemplate"] for one in templates["resourceTemplates"]]
    assert uris_listed == [one.uri for one in resources.EVERY]
    assert [one["name"] for one in chosen["prompts"]] == [one.name for one in prompts.EVERY]
    for step in good:
        answer = next(outcomes)["answer"]
        assert not answer.get("isError"), (step, answer)
        assert answer["structuredContent"]["text"] == answer["content"][0]["text"]
    for uri in uris:
        (content,) = next(outcomes)["answer"]["contents"]
        assert (content["uri"], "Ana" in content["text"]) == (uri, True)
    for _ in prompts.EVERY:
        (message,) = next(outcomes)["answer"]["messages"]
        assert message["content"]["text"]
    for step, words in wrong:
        message = told_error(next(outcomes))
        assert words in message, (step, message)
    for words in ("there is no tool 'confirm'", "lamina://profile", "recall needs goal"):
        thrown = next(outcomes)["thrown"]
        assert thrown["code"] == -32602
        assert words in thrown["message"]


@pytest.mark.parametrize(("sdk", "mode", "version"), ERAS)
def test_the_sdk_asks_its_user(tmp_path: Path, sdk: int, mode: str | None, version: str) -> None:
    """V10: clients of both lines and eras show the form, and what they return decides."""
    home = tmp_path / "home"
    with Desk(home) as desk:
        said = desk.operator(clock=None, store_id=None).remember("Ana said tea")
    settings_file.change(home, {"mcp.elicitation": ["form test"]})
    step = call("propose", key="drink", value="tea", reason="said so", evidence=[said.id])
    told = session(home, sdk, mode, step, form={"decision": "confirm"})
    (asked,) = told["questions"]
    assert "| tea" in asked["message"].split("\n")
    assert asked["requestedSchema"]["properties"]["decision"]["enum"][1] == "confirm"
    answer = told["told"][0]["answer"]["structuredContent"]
    assert (answer["state"], answer["decided"]) == ("active", "confirmed")


def test_the_inspector_finds_nothing_wrong(tmp_path: Path) -> None:
    """H3: the Inspector's command line takes every schema as portable, and shows an error as it
    was written."""

    def inspect(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = fetch.folder() / "node_modules" / ".bin" / "mcp-inspector"
        return subprocess.run(
            [str(program), "--cli", *command(tmp_path / "home"), *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=environment(),
            check=False,
        )

    listed = inspect("--method", "tools/list", "--strict")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [one["name"] for one in json.loads(listed.stdout)["tools"]] == list(tools.tools())
    refused = inspect("--method", "tools/call", "--tool-name", "search")
    assert "search needs query" in refused.stdout
