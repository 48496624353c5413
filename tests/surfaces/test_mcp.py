"""Promises of the MCP server: tools with typed answers, resources and prompts, for one agent and
user, on pipes and over HTTP."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from lamina import Memory, StoreUnavailable
from lamina.model.record import State, Trust
from lamina.model.rules import KINDS
from lamina.surfaces.cli import mcp
from lamina.surfaces.mcp import tools
from lamina.surfaces.mcp.schemas import published, schema
from lamina.text import fence
from tests.cases import every
from tests.conftest import Desk, size
from tests.surfaces.mcp_harness import (
    LEGACY,
    MODERN,
    PATIENCE,
    Served,
    ask,
    command,
    complaint,
    environment,
    in_process,
    over_http,
    over_pipes,
    prompted,
    read,
)
from tests.unit.failsafe.outages import AWAY, damage, outage

GOLDEN = Path(__file__).parents[1] / "golden" / "mcp_tools.json"
PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
BASIC = ["remember", "search", "recall_context", "propose", "request_forget", "status"]
TOOLS = [tool.name for tool in tools.EVERY]
READING = {"search", "recall_context", "status"} | {"get", "recent", "facts", "timeline", "pending"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with over_http(tmp_path_factory.mktemp("served") / "home") as server:
        yield server


def opened(desk: Desk, **more: Any) -> partial[Memory]:
    return partial(desk.agent, surface="mcp", **more)


async def each_tool(client: Client) -> dict[str, dict[str, Any]]:
    """One call of every tool, the way an agent would use them."""
    kept = await ask(
        client,
        "remember",
        content="Ana lives in Lisbon",
        kind="fact",
        tags=["home"],
        importance=0.9,
    )
    return {
        "remember": kept,
        "search": await ask(client, "search", query="Where does Ana live?"),
        "recall_context": await ask(client, "recall_context", goal="Plan a trip"),
        "propose": await ask(
            client,
            "propose",
            key="city",
            value="Lisbon",
            reason="she said so",
            evidence=[kept["id"]],
        ),
        "request_forget": await ask(
            client, "request_forget", record_id=kept["id"], reason="she moved"
        ),
        "status": await ask(client, "status"),
        "get": await ask(client, "get", record_id=kept["id"][-6:]),
        "recent": await ask(client, "recent", hours=1),
        "facts": await ask(client, "facts", subject="Ana"),
        "timeline": await ask(client, "timeline", subject="Ana"),
        "pending": await ask(client, "pending"),
        "correct": await ask(
            client, "correct", record_id=kept["id"], text="Ana lives in Porto", reason="she moved"
        ),
    }


def check_each(answers: dict[str, dict[str, Any]]) -> None:
    """What every server must have answered to `each_tool`."""
    kept = answers["remember"]
    assert (kept["layer"], kept["kind"], kept["state"], kept["trust"]) == (
        "short_term",
        "fact",
        "active",
        "agent",
    )
    assert kept["importance"] == 0.9
    found = answers["search"]
    assert found["confidence"] > 0
    assert (found["outcome"], [hit["id"] for hit in found["hits"]]) == ("found", [kept["id"]])
    assert found["text"].startswith(fence.OPEN)
    assert found["text"].endswith(fence.CLOSE)
    assert "Ana lives in Lisbon" in found["text"]
    assert answers["recall_context"]["outcome"] == "nothing_relevant"
    assert answers["propose"]["state"] == answers["request_forget"]["state"] == "constrained"
    assert answers["propose"]["command"] == f"lamina review confirm {answers['propose']['id']}"
    assert answers["request_forget"]["command"] == f"lamina forget {kept['id']}"
    assert (answers["status"]["agent"], answers["status"]["user"]) == ("sky", None)
    assert (answers["status"]["memories"], answers["status"]["waiting"]) == ({"short_term": 1}, 2)
    assert (answers["get"]["id"], answers["get"]["state"]) == (kept["id"], "active")
    assert "tags home" in answers["get"]["text"]
    assert [one["id"] for one in answers["recent"]["records"]] == [kept["id"]]
    assert answers["facts"]["facts"] == answers["timeline"]["facts"] == []
    assert "nothing is known about 'Ana'" in answers["facts"]["text"]
    waiting = [answers["propose"]["id"], answers["request_forget"]["id"]]
    assert [one["id"] for one in answers["pending"]["items"]] == waiting
    assert answers["correct"]["command"] == f"lamina review confirm {answers['correct']['id']}"


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_every_tool_answers_in_both_eras_of_the_protocol(desk: Desk, mode: str) -> None:
    """H3: clients of the handshake and of the newer protocol get the same typed answers
    from each tool."""
    check_each(in_process(opened(desk), each_tool, mode))


def test_every_tool_over_pipes_and_across_a_restart(tmp_path: Path) -> None:
    """H3: the SDK's own client starts `lamina mcp`; what it remembers is there for
    the next server."""
    home = tmp_path / "home"

    async def first(client: Client) -> Any:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        return await each_tool(client)

    check_each(over_pipes(home, first))
    later = over_pipes(
        home,
        lambda client: ask(client, "search", query="Lisbon", layers=["short_term"]),
        mode=LEGACY,
    )
    assert "Ana lives in Lisbon" in later["text"]


def test_the_basic_list_has_the_first_six(tmp_path: Path) -> None:
    """H3: `--tools basic` keeps the list short for a model with little room."""

    async def talk(client: Client) -> Any:
        with pytest.raises(MCPError, match="there is no tool 'facts'"):
            await client.call_tool("facts", {})
        return [tool.name for tool in (await client.list_tools()).tools]

    assert over_pipes(tmp_path / "home", talk, "--tools", "basic") == BASIC


def test_a_list_too_long_for_its_room_says_so(desk: Desk) -> None:
    """H3: what does not fit into the text is counted, and a single long memory is cut."""
    mem = desk.agent()
    for number in range(5):
        mem.remember(f"note {number} " + "x" * 100)

    async def talk(client: Client) -> Any:
        return [await ask(client, "recent", max_chars=most) for most in (200, 500, 8000)]

    cut, some, whole = in_process(opened(desk), talk)
    assert (len(cut["text"]) <= 200, len(cut["records"]), cut["left_out"]) == (True, 1, 4)
    assert (len(some["text"]) <= 500, 0 < some["left_out"] < 4) == (True, True)
    assert (len(whole["records"]), whole["left_out"]) == (5, 0)
    assert all(one["text"].endswith(fence.CLOSE) for one in (cut, some, whole))


@pytest.mark.skipif(not hasattr(Memory, "feedback"), reason="the verb is not there yet")
def test_a_verdict_is_kept_and_deletes_nothing(desk: Desk) -> None:
    """H3, V7: what was wrong waits for a person; what was helpful is only noted."""
    record = desk.agent().remember("Ana lives in Lisbon")

    async def talk(client: Client) -> Any:
        return [
            await ask(client, "feedback", record_id=record.id, verdict=verdict)
            for verdict in ("helpful", "wrong")
        ]

    helpful, wrong = in_process(opened(desk), talk)
    assert (helpful["id"], helpful["request"]) == (record.id, None)
    assert wrong["id"] == record.id
    assert [one.record.id for one in desk.operator().proposals()] == [wrong["request"]]
    assert desk.agent().get(record.id).state is State.ACTIVE


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_resources_are_listed_and_read(desk: Desk, mode: str) -> None:
    """H3: the profile, a record and a conversation have addresses; what they hold stands in
    the fence."""
    op = desk.operator()
    first = op.remember("Ana asks for tea", session="week 1/2")
    second = op.remember("Ana gets tea", session="week 1/2")
    op.upsert_user_profile({"name": "Ana"}, [first.id])

    async def talk(client: Client) -> Any:
        listed = [one.uri for one in (await client.list_resources()).resources]
        found = (await client.list_resource_templates()).resource_templates
        uris = ("profile", f"record/{second.id}", "session/week%201%2F2")
        texts = [await read(client, f"lamina://{uri}") for uri in uris]
        return listed, [one.uri_template for one in found], texts

    listed, templates, (profile, record, session) = in_process(opened(desk), talk, mode)
    assert listed == ["lamina://profile"]
    assert templates == ["lamina://record/{id}", "lamina://session/{id}"]
    assert "| name: Ana" in profile
    assert "| Ana gets tea" in record
    assert session.index("asks for tea") < session.index("gets tea")
    assert all(fence.unfenced(one) == "" for one in (profile, record, session))


@every(
    ("uri", "problem"),
    [
        ("lamina://attic", "there are lamina://profile"),
        ("lamina://record/", "there are lamina://profile"),
        ("lamina://record/01m7j0q97c61zre43we98hxhkb", "there is no record"),
        ("lamina://session/nothing", "nothing is remembered of the session 'nothing'"),
        ("file:///etc/passwd", "there is nothing at"),
        (f"lamina://session/{fence.OPEN}", "nothing is remembered"),
    ],
)
def test_a_resource_that_is_not_there(desk: Desk, uri: str, problem: str) -> None:
    """H3, P2: an address that leads nowhere is an error of the protocol that says what there is."""

    async def talk(client: Client) -> types.ErrorData:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        return caught.value.error

    error = in_process(opened(desk), talk)
    assert error.code == types.INVALID_PARAMS
    assert problem in error.message
    assert fence.OPEN not in error.message


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_prompts_are_listed_and_filled(desk: Desk, mode: str) -> None:
    """H3, V7: recall quotes what is known, wrap-up asks to remember, and review has what waits with
    the commands that a person runs."""
    op = desk.operator()
    record = op.remember("I live in Lisbon")
    op.upsert_user_profile({"name": "Ana"}, [record.id])
    waiting = desk.agent().propose_profile("city", "Lisbon", "said so", [record.id])

    async def talk(client: Client) -> Any:
        names = [one.name for one in (await client.list_prompts()).prompts]
        recall = await prompted(client, "recall", goal="what is my name?")
        return names, [recall, *[await prompted(client, name) for name in ("wrap-up", "review")]]

    names, (recall, wrap_up, review) = in_process(opened(desk), talk, mode)
    assert names == ["recall", "wrap-up", "review"]
    assert (recall.count(fence.OPEN), "name: Ana" in recall) == (1, True)
    assert "`remember`" in wrap_up
    assert f"`lamina review confirm {waiting.id}`" in review
    assert "| city: Lisbon" in review


@every(
    ("name", "arguments", "problem"),
    [
        ("wrapup", {}, "there are recall, wrap-up, review; did you mean wrap-up?"),
        ("recall", {}, "recall needs goal: what you are about to do"),
        ("recall", {"goal": " "}, "recall needs goal"),
        ("review", {"id": "x"}, "review has no argument 'id'; it takes none"),
    ],
)
def test_a_prompt_that_cannot_be_filled(
    desk: Desk, name: str, arguments: dict[str, str], problem: str
) -> None:
    """H3: what is wrong with a prompt is said in our words."""

    async def talk(client: Client) -> types.ErrorData:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        return caught.value.error

    assert problem in in_process(opened(desk), talk).message


def test_kinds_of_a_home_are_in_the_schema(tmp_path: Path) -> None:
    """H3, R5: a client sees every kind that `remember` takes, those of the settings too; one that
    cannot be read does not keep the server from starting."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)

    async def kinds(client: Client) -> Any:
        remember, *_ = (await client.list_tools()).tools
        return remember.input_schema["properties"]["kind"]["enum"]

    (home / "config.toml").write_text('[kinds]\nextra = ["recipe"]\n')
    assert over_pipes(home, kinds) == [*KINDS, "recipe"]
    (home / "config.toml").write_text("nonsense")
    assert over_pipes(home, kinds) == [*KINDS]


def test_what_the_failsafe_keeps_is_told(desk: Desk) -> None:
    """B4, H3: while the store cannot be written, `remember` says that the fail-safe has it, and
    `search` finds it."""
    desk.agent()

    async def talk(client: Client) -> Any:
        kept = await ask(client, "remember", content="Ana lives in Lisbon")
        return kept, await ask(client, "search", query="Lisbon")

    with outage(desk.home):
        kept, found = in_process(opened(desk, settings=AWAY), talk)
    assert "the fail-safe keeps it" in kept["text"]
    assert [hit["id"] for hit in found["hits"]] == [kept["id"]]


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_every_tool_over_http(tmp_path: Path, served: Served, mode: str) -> None:
    """H3: over streamable HTTP on the loopback, with a token, the same tools answer,
    in both eras."""

    async def talk(client: Client) -> Any:
        names = [tool.name for tool in (await client.list_tools()).tools]
        kept = await ask(client, "remember", content=f"Ben rides a {mode} bicycle", key=mode)
        found = await ask(client, "search", query=f"{mode} bicycle")
        return names, kept, found, await complaint(client, "search", query="x", limit=0)

    names, kept, found, error = served.talk(talk, mode)
    assert names == TOOLS
    assert kept["id"] in [hit["id"] for hit in found["hits"]]
    assert error["code"] == "invalid_input"


def test_a_store_that_cannot_be_read_is_told(desk: Desk) -> None:
    """B4, H3: a search that nobody could make does not say that nothing is remembered, nor
    does the status."""
    desk.agent().close()

    async def talk(client: Client) -> Any:
        await ask(client, "remember", content="Ana drinks tea")
        found = [
            await ask(client, "search", query="zebra"),
            await ask(client, "recall_context", goal="zebra"),
        ]
        return found, await ask(client, "status")

    with damage(desk.home):
        found, state = in_process(opened(desk, settings=AWAY), talk)
    assert [one["outcome"] for one in found] == ["unavailable", "unavailable"]
    assert all("unknown: the store could not be read" in one["text"] for one in (*found, state))


def test_eight_facts_are_recalled(desk: Desk) -> None:
    """C1, H3: what an agent was told to remember is in the context of a task about it, at once;
    with a session, once; and an allergy is there when somebody is hungry."""
    facts = {
        "Where does Ana live?": "Ana lives in Lisbon",
        "What is Ana's job?": "Ana works as a nurse",
        "Which instrument does Ben play?": "Ben plays the cello",
        "What is the name of the cat?": "The cat is called Miso",
        "When was the boiler repaired?": "The boiler was repaired in March",
        "Who is our dentist?": "The dentist is Doctor Weiss",
        "When do the passports expire?": "Passports expire in 2031",
        "suggest a restaurant": "Ben is allergic to peanuts",
    }

    async def talk(client: Client) -> Any:
        for fact in facts.values():
            await ask(client, "remember", content=fact)
        first = {
            goal: await ask(client, "recall_context", goal=goal, session=goal) for goal in facts
        }
        again = [await ask(client, "recall_context", goal=goal, session=goal) for goal in facts]
        return first, again

    first, again = in_process(opened(desk), talk)
    assert [goal for goal, fact in facts.items() if fact not in first[goal]["text"]] == []
    assert {one["outcome"] for one in again} == {"nothing_relevant"}


def test_the_schemas_are_pinned() -> None:
    """H3: clients have seen these names, descriptions and schemas; whoever changes them changes the
    golden file too."""
    listed = [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "input": published(tool.arguments),
            "output": schema(tool.answer),
            "reads_only": tool.reads_only,
            "idempotent": tool.idempotent,
        }
        for tool in (*tools.BASIC, *tools.MORE)
    ]
    shown = json.dumps(listed, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("LAMINA_GOLDEN") == "write":
        GOLDEN.write_text(shown, "utf-8")
    assert shown == GOLDEN.read_text("utf-8")


def test_the_list_is_what_clients_need(desk: Desk) -> None:
    """H3: each tool has a description, annotations and two valid schemas without references;
    listing opens no store."""
    found = in_process(opened(desk), lambda client: client.list_tools()).tools
    assert [tool.name for tool in found] == TOOLS
    for tool in found:
        assert tool.description
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint == (tool.name in READING)
        for shown in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(shown)
            assert shown["type"] == "object"
            assert "$ref" not in json.dumps(shown)
        assert tool.input_schema["additionalProperties"] is False
        assert (
            not {"agent", "user", "role", "trust", "home"} & tool.input_schema["properties"].keys()
        )
    assert not desk.folder().exists()


def test_what_comes_through_here_is_an_agents_word(desk: Desk) -> None:
    """V7, V8: the role is agent and the surface mcp, whoever started it; an untrusted server's
    memories are external."""
    kept = in_process(opened(desk), lambda client: ask(client, "remember", content="a note"))
    low = in_process(
        opened(desk),
        lambda client: ask(client, "remember", content="a rumour"),
        trust=Trust.EXTERNAL,
    )
    assert (kept["trust"], low["trust"]) == ("agent", "external")
    event = desk.operator().audit_log()[1]
    assert (event.actor, event.surface) == ("agent:sky", "mcp")


def test_the_words_of_sky_and_one_session(desk: Desk) -> None:
    """H3, H7, R5, Q3: `metadata.type` is the kind, blank tags and evidence are dropped, and a
    search keeps to the session that it names."""

    async def talk(client: Client) -> list[dict[str, Any]]:
        sky = {"metadata": {"type": "error"}, "tags": ["", "tea"], "evidence": [" "]}
        kept = await ask(client, "remember", content="the kettle leaks", session="s1", **sky)
        other = await ask(client, "remember", content="the kettle is new", session="s2")
        return [kept, other, await ask(client, "search", query="kettle", session="s1")]

    kept, other, found = in_process(opened(desk), talk)
    assert (kept["kind"], other["kind"]) == ("error", "crumb")
    assert [hit["id"] for hit in found["hits"]] == [kept["id"]]
    record = desk.operator().get(kept["id"])
    assert (record.tags, record.evidence) == (("tea",), ())


def test_a_request_to_forget_waits_in_the_queue(desk: Desk) -> None:
    """H3, H1: it is in `lamina review list` with the command to run, and the memory stays
    as it was."""
    kept = in_process(opened(desk), each_tool)["remember"]
    op = desk.operator()
    assert op.get(kept["id"]).state is State.ACTIVE
    done = subprocess.run(
        [*command(desk.home)[:-1], "review", "list"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert f"lamina forget {kept['id']}" in " ".join(done.stdout.split())


@every(
    ("name", "arguments"),
    [
        ("remember", {}),
        ("remember", {"content": 5}),
        ("remember", {"content": ""}),
        ("remember", {"content": "x" * (1024 * 1024 + 1)}),
        ("remember", {"content": "x", "importance": 2}),
        ("remember", {"content": "x", "importance": "high"}),
        ("remember", {"content": "x", "layer": "attic"}),
        ("remember", {"content": "x", "kind": "nonsense"}),
        ("remember", {"content": "x", "tags": "home"}),
        ("remember", {"content": "x", "tags": ["a"] * 257}),
        ("remember", {"content": "x", "at": "yesterday"}),
        ("remember", {"content": "x", "agent": "other"}),
        ("remember", {"content": "x", "user": "ben"}),
        ("remember", {"content": "x", "trust": "operator"}),
        ("remember", {"content": "x\ud800"}),
        ("search", {"query": None}),
        ("search", {"query": "x", "limit": 101}),
        ("search", {"query": "x", "limit": True}),
        ("search", {"query": "x", "layers": ["working"]}),
        ("search", {"query": "x", "states": ["tombstoned"]}),
        ("search", {"query": "x" * 70_000}),
        ("search", {"query": "x", "max_chars": 5}),
        ("recall_context", {"goal": ["x"]}),
        ("propose", {"key": "city", "value": "Lisbon", "reason": "why", "evidence": []}),
        (
            "propose",
            {
                "key": "city",
                "value": "Lisbon",
                "reason": "",
                "evidence": ["01m7j0q97c61zre43we98hxhkb"],
            },
        ),
        ("request_forget", {"record_id": "x"}),
        ("status", {"verbose": True}),
    ],
)
def test_bad_arguments_are_an_answer(desk: Desk, name: str, arguments: dict[str, Any]) -> None:
    """H3: what a tool cannot take is an error that the model can read and learn from, and
    leaves no trace."""
    error = in_process(opened(desk), lambda client: complaint(client, name, **arguments))
    assert error["code"] == "invalid_input"
    assert len(error["message"]) < 2000
    assert size(desk.operator())[0] == 0


def test_errors_of_the_memory_are_answers(desk: Desk) -> None:
    """H3: not found, refused and conflict come with their code in the one shape of all surfaces;
    null is not given."""

    async def talk(client: Client) -> list[str]:
        kept = await ask(client, "remember", content="a", key="k", kind=None, tags=None)
        unknown = "01m7j0q97c61zre43we98hxhkb"
        return [
            (await complaint(client, "remember", content="b", key="k"))["code"],
            (await complaint(client, "request_forget", record_id=unknown, reason="why"))["code"],
            (
                await complaint(
                    client, "propose", key="k", value=1, reason="why", evidence=[unknown]
                )
            )["code"],
            (await complaint(client, "remember", content=fence.fenced("| a")))["code"],
            (await ask(client, "search", query="zebra"))["outcome"],
            (await ask(client, "remember", content="a", key="k"))["id"] == kept["id"] and "again",
        ]

    told = in_process(opened(desk), talk)
    assert told == ["conflict", "not_found", "not_found", "refused", "nothing_relevant", "again"]


def test_an_unknown_tool_is_an_error_of_the_protocol(desk: Desk) -> None:
    """H3: a tool that does not exist is no call at all; the message lists those that do."""

    async def talk(client: Client) -> types.ErrorData:
        with pytest.raises(MCPError, match="request_forget") as caught:
            await client.call_tool("confirm", {"record_id": "x"})
        return caught.value.error

    assert in_process(opened(desk), talk).code == types.INVALID_PARAMS


def test_a_store_that_cannot_be_opened_is_told_and_tried_again(desk: Desk) -> None:
    """H3: the server starts without its store, says what is wrong with each call, and works once it
    is there."""
    ready: list[bool] = []

    def fragile() -> Memory:
        if not ready:
            raise StoreUnavailable("the disk is away")
        return desk.agent()

    async def talk(client: Client) -> dict[str, Any]:
        assert (await complaint(client, "status"))["message"] == "the disk is away"
        ready.append(True)
        return await ask(client, "status")

    assert in_process(fragile, talk)["agent"] == "sky"


def test_a_mistake_of_ours_does_not_end_the_server(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """H3: an unexpected failure is in the log; the client learns nothing of how we are built, and
    can go on."""
    calls: list[str] = []

    def broken() -> Memory:
        calls.append("opened")
        if len(calls) == 1:
            raise ValueError("secret /path/inside")
        return desk.agent()

    async def talk(client: Client) -> tuple[dict[str, Any], dict[str, Any]]:
        return await complaint(client, "status"), await ask(client, "status")

    error, after = in_process(broken, talk)
    assert error["code"] == "error"
    assert "secret" not in json.dumps(error)
    assert "secret /path/inside" in caplog.text
    assert after["agent"] == "sky"


def test_a_server_on_a_port_is_stopped_cleanly(tmp_path: Path) -> None:
    """H3, P4: SIGTERM ends it without a complaint, and every read that it answered is
    in the trail."""
    home = tmp_path / "home"
    with over_http(home) as server:
        server.talk(lambda client: ask(client, "search", query="anything"))
    assert server.ending == [(0, "")]
    with Desk(home) as desk:
        reads = desk.operator(clock=None, store_id=None).audit_reads()
    assert [(read.action, read.actor.surface) for read in reads if read.action == "search"] == [
        ("search", "mcp")
    ]


def test_an_occupied_port_is_told(tmp_path: Path) -> None:
    """H3: a port that somebody has is an error that says what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = command(tmp_path / "home", "--http", "--port", port)
        done = subprocess.run(
            arguments, capture_output=True, text=True, env=environment(), check=False
        )
    assert done.returncode != 0
    assert f"port {port} " in done.stderr
    assert "--port" in done.stderr


def test_a_name_that_is_none_is_told_at_the_start(tmp_path: Path) -> None:
    """P2: a server for an impossible agent does not start."""
    arguments = command(tmp_path / "home", agent="../sky")
    done = subprocess.run(
        arguments, capture_output=True, text=True, env=environment(), check=False, input=""
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "agent" in done.stderr


def blocks(language: str) -> list[str]:
    """The examples of the page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)


def test_every_tool_is_on_the_page() -> None:
    """H3: whoever reads docs/mcp.md knows all tools, and no other."""
    known = [tool.name for tool in (*tools.BASIC, *tools.MORE)]
    table = PAGE.read_text("utf-8").partition("| tool |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == known


def test_the_page_says_what_the_list_costs() -> None:
    """H3: the tokens on docs/mcp.md are those of the list as it is; about 4.3 characters of it
    are one token."""
    rows = re.findall(
        r"^\| `(basic|full)`.*\| (\d+) \| ([\d,]+) \|$", PAGE.read_text("utf-8"), re.M
    )
    lists = {"basic": tools.BASIC, "full": (*tools.BASIC, *tools.MORE)}
    assert [name for name, _, _ in rows] == [*lists]
    for name, number, tokens in rows:
        shown = [
            {"name": one.name, "description": one.description, "schema": published(one.arguments)}
            for one in lists[name]
        ]
        characters = len(json.dumps(shown, separators=(",", ":")))
        assert int(number) == len(lists[name])
        assert abs(characters / int(tokens.replace(",", "")) - 4.3) < 0.2


def test_the_configurations_on_the_page_are_ready_to_paste() -> None:
    """H3: each is valid in its format, and starts our command as it is, or asks where
    our server listens."""
    configs = [json.loads(block) for block in blocks("json")] + [
        tomllib.loads(block) for block in blocks("toml")
    ]
    servers = [
        config.get("mcpServers") or config.get("servers") or config["mcp_servers"]
        for config in configs
    ]
    assert len(servers) == 8
    for server in (found["lamina"] for found in servers):
        if "url" in server:
            assert server["url"] == f"http://127.0.0.1:{mcp.PORT}/mcp"
            continue
        assert (server["command"], server["args"]) == ("lamina", ["--agent", "sky", "mcp"])


def test_the_example_on_the_page_runs(tmp_path: Path) -> None:
    """H3: the program for any other client remembers and finds."""
    (example,) = blocks("python")
    program = [
        command(tmp_path)[0],
        "-c",
        example.replace("StdioServerParameters(", "StdioServerParameters(env=ENV, "),
    ]
    own = {
        **environment(),
        "LAMINA_HOME": str(tmp_path / "home"),
        "PATH": f"{Path(program[0]).parent}:{os.environ['PATH']}",
    }
    program[2] = f"import os\nENV = dict(os.environ)\n{program[2]}"
    done = subprocess.run(
        program, capture_output=True, text=True, env=own, check=False, timeout=PATIENCE
    )
    assert "] Ana lives in Lisbon" in done.stdout, done.stderr
