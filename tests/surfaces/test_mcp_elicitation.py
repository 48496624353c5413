"""Promises of questions in place: a client that the operator named may put a proposal before its
user; the answer decides, the trail says by which way, and a call always tells what it proposed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from lamina import Operator
from lamina.home import operator_key, settings_file
from lamina.model.record import Role
from lamina.surfaces.mcp import server, tools
from lamina.surfaces.mcp.asking import Asking
from lamina.surfaces.mcp.elicitation import granted
from lamina.surfaces.mcp.review_page import ReviewPages
from lamina.surfaces.mcp.worker import HandleWorker
from lamina.surfaces.review.browser.app import Locked
from tests.conftest import Desk, size, verified
from tests.surfaces.mcp_harness import (
    LEGACY,
    MODERN,
    PATIENCE,
    Raw,
    ask,
    call,
    command,
    environment,
    over_http,
)

ERAS = pytest.mark.parametrize("mode", [LEGACY, MODERN])
CLIENT = "editor"
KEY = "correct horse battery"
TOKEN = re.compile(r'name="page" value="([^"]+)"')
Elicited = types.ElicitRequestParams
Answering = Callable[[Elicited], types.ElicitResult | types.ErrorData]


def filled(decision: str, **more: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"decision": decision, **more})


class Person:
    """Whoever is asked: remembers each question, and answers it in the same way."""

    def __init__(self, answer: Answering | types.ElicitResult) -> None:
        self._answer = answer
        self.asked: list[Elicited] = []

    async def __call__(
        self, context: Any, params: Elicited
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params)
        return (
            self._answer if isinstance(self._answer, types.ElicitResult) else self._answer(params)
        )

    @property
    def read(self) -> str:
        (asked,) = self.asked
        return asked.message


def asking(
    desk: Desk, keeper: HandleWorker, *allowed: str, seconds: float = 30, key: str | None = None
) -> Asking:
    def opened(surface: str, given: str | None = None) -> Operator:
        handle = desk.open(Role.OPERATOR, surface=surface, key=given)
        assert isinstance(handle, Operator)
        return handle

    def page(surface: str) -> Operator | Locked:
        return opened(surface) if key is None else Locked("sky", None, partial(opened, surface))

    pages = ReviewPages(page, lambda *_: None)
    return Asking(keeper, lambda: granted(allowed), None if key else opened, pages, seconds)


def talk(
    desk: Desk,
    mode: str,
    said: Callable[[Client], Awaitable[Any]],
    person: Person | None,
    *allowed: str,
    name: str = CLIENT,
    **more: Any,
) -> Any:
    """Let a real client with a person talk to a server that may ask."""

    async def run() -> Any:
        with closing(HandleWorker(partial(desk.agent, surface="mcp"), PATIENCE)) as keeper:
            asks = asking(desk, keeper, *allowed, **more)
            with closing(asks):
                async with Client(
                    server.make_server(keeper, tools.tools(), asking=asks),
                    mode=mode,
                    read_timeout_seconds=PATIENCE,
                    elicitation_callback=person,
                    client_info=types.Implementation(name=name, version="1"),
                ) as client:
                    return await said(client)

    return asyncio.run(run())


async def proposing(client: Client, value: Any = "tea", key: str = "drink") -> dict[str, Any]:
    kept = await ask(client, "remember", content=f"Ana said {value}", speaker="Ana")
    return await ask(
        client, "propose", key=key, value=value, reason="she said so", evidence=[kept["id"]]
    )


@ERAS
def test_a_person_confirms_in_place(desk: Desk, mode: str) -> None:
    """V10: old and new are shown; the answer activates the proposal, and the event names the
    person, the way and the client."""
    op = desk.operator()
    said = op.remember("Ana said coffee")
    op.upsert_user_profile({"drink": "coffee"}, evidence_ids=[said.id])
    person = Person(filled("confirm", reason="yes"))
    answer = talk(desk, mode, proposing, person, f"form {CLIENT}")
    assert (answer["state"], answer["decided"]) == ("active", "confirmed")
    assert answer["id"] in answer["text"]
    assert op.user_profile().preferences == {"drink": "tea"}
    lines = person.read.split("\n")
    assert lines[lines.index("now:") + 1] == "| coffee"
    assert lines[lines.index("proposed:") + 1] == "| tea"
    assert "| Ana said tea" in lines
    assert "| she said so" in lines
    event = op.history(answer["id"])[-1]
    assert (event.action, event.surface) == ("confirm", f"mcp form: {CLIENT}")
    assert event.actor.startswith("operator:")
    assert event.reason == "yes"
    assert verified(op)


@ERAS
def test_every_tool_that_proposes_asks(desk: Desk, mode: str) -> None:
    """V10: a correction, a request to forget and a verdict are asked about as well."""
    op = desk.operator()

    async def said(client: Client) -> list[dict[str, Any]]:
        first, second, third = [
            (await ask(client, "remember", content=text))["id"]
            for text in ("Ana drinks tea", "the code is blue", "the door is red")
        ]
        return [
            await ask(
                client, "correct", record_id=first, text="Ana drinks milk", reason="misheard"
            ),
            await ask(client, "request_forget", record_id=second, reason="private"),
            await ask(client, "feedback", record_id=third, verdict="wrong"),
        ]

    def agree(asked: Elicited) -> types.ElicitResult:
        assert isinstance(asked, types.ElicitRequestFormParams)
        choices = asked.requested_schema["properties"]["decision"]["enum"]
        assert choices[0] == asked.requested_schema["properties"]["decision"]["default"]
        return filled(choices[1])

    person = Person(agree)
    corrected, forgotten, judged = talk(desk, mode, said, person, f"form {CLIENT}")
    assert (corrected["state"], corrected["decided"]) == ("active", "confirmed")
    assert (forgotten["state"], forgotten["decided"]) == ("tombstoned", "forgotten")
    assert judged["decided"] == "forgotten"
    assert op.get(judged["id"]).state == "tombstoned"
    assert "| the code is blue" in person.asked[1].message
    assert not op.proposals()


@ERAS
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (filled("leave it waiting"), "left it waiting"),
        (types.ElicitResult(action="decline"), "left it waiting"),
        (types.ElicitResult(action="cancel"), "left it waiting"),
        (types.ElicitResult(action="accept"), "no answer that can be used"),
        (filled("CONFIRM"), "no answer that can be used"),
        (filled("confirm", more="x"), "no answer that can be used"),
        (filled("confirm", reason=["x"]), "no answer that can be used"),
        (filled("confirm", reason="x" * 401), "no answer that can be used"),
    ],
)
def test_what_is_no_decision_decides_nothing(
    desk: Desk, mode: str, answer: types.ElicitResult, says: str
) -> None:
    """V10: declined, cancelled, left or malformed, the proposal waits, and the call tells it."""
    told = talk(desk, mode, proposing, Person(answer), f"form {CLIENT}")
    assert (told["state"], told["decided"]) == ("constrained", None)
    assert says in told["text"]
    assert told["id"] in told["text"]
    (waiting,) = desk.operator().proposals()
    assert waiting.record.id == told["id"]


@ERAS
@pytest.mark.parametrize(
    ("allowed", "name", "is_asked"),
    [
        ([], CLIENT, False),
        ([f"form {CLIENT}"], "another", False),
        ([f"form {CLIENT}"], CLIENT.upper(), False),
        ([f"form {CLIENT} x"], CLIENT, False),
        (["form another", f"form {CLIENT}"], CLIENT, True),
    ],
)
def test_only_a_client_that_was_named_asks(
    desk: Desk, mode: str, allowed: list[str], name: str, is_asked: bool
) -> None:
    """V7, V10: a client that would answer by itself is not asked, and so decides nothing, unless
    the operator named it."""
    person = Person(filled("confirm"))
    told = talk(desk, mode, proposing, person, *allowed, name=name)
    assert len(person.asked) == is_asked
    assert told["state"] == ("active" if is_asked else "constrained")


@ERAS
def test_a_client_that_cannot_ask_is_not_asked(desk: Desk, mode: str) -> None:
    """V10: without the capability a proposal waits as ever."""
    told = talk(desk, mode, proposing, None, f"form {CLIENT}", f"url {CLIENT}")
    assert told["state"] == "constrained"
    assert "asked" not in told["text"]


@ERAS
def test_what_a_dialog_cannot_show_is_not_asked(desk: Desk, mode: str) -> None:
    """V10: secrets and texts too long to be seen whole do not pass through a client."""
    person = Person(filled("confirm"))

    async def said(client: Client) -> list[dict[str, Any]]:
        return [
            await proposing(client, "x" * 5000),
            await proposing(client, "ghp_" + "a1B2" * 9, "token"),
            await proposing(client, "the password is hunter2-Xy9!", "note"),
        ]

    told = talk(desk, mode, said, person, f"form {CLIENT}")
    assert [one["state"] for one in told] == ["constrained"] * 3
    assert not person.asked


@ERAS
def test_a_question_is_safe_in_a_terminal_and_forges_nothing(desk: Desk, mode: str) -> None:
    """V10: escape sequences and hidden characters are spelled out, and no text of a memory
    looks like a line of ours."""
    hostile = "tea\x1b[2J\x1b]0;x\x07\u202e\nproposed:\n| milk\r\u2028id x, trust operator"
    person = Person(filled("leave it waiting"))
    talk(desk, mode, lambda client: proposing(client, hostile), person, f"form {CLIENT}")
    assert person.read.replace("\n", "").isprintable()
    assert "<U+001B>[2J" in person.read
    lines = person.read.split("\n")
    assert lines.count("proposed:") == 1
    assert "| proposed:" in lines
    assert [line for line in lines if line.startswith("id ")] == lines[-1:]


@ERAS
def test_each_proposal_is_asked_about_once(desk: Desk, mode: str) -> None:
    """V10: an agent that proposes the same again and again wears nobody down."""
    person = Person(types.ElicitResult(action="cancel"))

    async def said(client: Client) -> list[dict[str, Any]]:
        return [await proposing(client) for _ in range(3)]

    told = talk(desk, mode, said, person, f"form {CLIENT}")
    assert len({one["id"] for one in told}) == 1
    assert len(person.asked) == 1


@ERAS
@pytest.mark.parametrize("how", ["changed", "confirmed", "rejected", "erased"])
def test_an_answer_that_comes_too_late_decides_nothing(desk: Desk, mode: str, how: str) -> None:
    """V10: what changed or was decided elsewhere while the person looked is not decided again."""
    op = desk.operator()

    def meanwhile(_: Elicited) -> types.ElicitResult:
        (waiting,) = op.proposals()
        if how == "changed":
            more = desk.agent().remember("Ana said tea again")
            desk.agent().propose_profile("drink", "tea", "again", [more.id])
        elif how == "confirmed":
            op.confirm(waiting.record.id)
        elif how == "rejected":
            op.reject(waiting.record.id)
        else:
            op.erase(waiting.record.id)
        return filled("reject" if how == "confirmed" else "confirm")

    told = talk(desk, mode, proposing, Person(meanwhile), f"form {CLIENT}")
    assert told["decided"] is None
    states = {"changed": "constrained", "confirmed": "active"}
    assert told["state"] == states.get(how, "tombstoned")
    said = "changed since" if how == "changed" else "decided elsewhere"
    assert said in told["text"]
    assert not [one for one in op.audit_log() if one.surface.startswith("mcp form")]


@ERAS
def test_a_grant_that_was_withdrawn_counts_no_more(desk: Desk, mode: str) -> None:
    """V10: the operator takes a client from the list while a question is open."""
    allowed = [f"form {CLIENT}"]

    def meanwhile(_: Elicited) -> types.ElicitResult:
        allowed.clear()
        return filled("confirm")

    async def run() -> Any:
        with closing(HandleWorker(partial(desk.agent, surface="mcp"), PATIENCE)) as keeper:
            made = asking(desk, keeper)
            made._allowed = lambda: granted(allowed)
            async with Client(
                server.make_server(keeper, tools.tools(), asking=made),
                mode=mode,
                elicitation_callback=Person(meanwhile),
                client_info=types.Implementation(name=CLIENT, version="1"),
            ) as client:
                return await proposing(client)

    told = asyncio.run(run())
    assert told["state"] == "constrained"
    assert "may not ask any more" in told["text"]


def test_nobody_waits_longer_than_is_set(desk: Desk) -> None:
    """V10: a person who does not answer holds the call for a bounded time."""

    async def never(context: Any, params: Elicited) -> types.ElicitResult:
        await asyncio.Event().wait()
        raise AssertionError

    told = talk(desk, LEGACY, proposing, never, f"form {CLIENT}", seconds=0.2)  # type: ignore[arg-type]
    assert told["state"] == "constrained"
    assert "no answer" in told["text"]


async def asking_along(client: Client) -> tuple[dict[str, Any], types.InputRequiredResult]:
    """Propose in the newer protocol: the arguments, and the question in place of an answer."""
    kept = await ask(client, "remember", content="Ana said tea")
    given = {"key": "drink", "value": "tea", "reason": "so", "evidence": [kept["id"]]}
    asked = await client.session.call_tool("propose", given, allow_input_required=True)
    assert isinstance(asked, types.InputRequiredResult)
    return given, asked


def test_an_answer_of_the_newer_protocol_counts_once(desk: Desk) -> None:
    """V10: only the call that was asked may answer, once and in time; a replayed, borrowed or
    invented answer is a call like any other."""
    op = desk.operator()

    async def said(client: Client) -> None:
        session = client.session
        given, asked = await asking_along(client)
        yes: types.InputResponses = {"decision": filled("confirm")}

        async def again(arguments: dict[str, Any], state: str) -> str:
            result = await session.call_tool(
                "propose",
                arguments,
                request_state=state,
                input_responses=yes,
                allow_input_required=True,
            )
            assert isinstance(result, types.CallToolResult)
            assert result.structured_content is not None
            return str(result.structured_content["state"])

        assert await again(given, "invented") == "constrained"
        assert asked.request_state is not None
        borrowed = {**given, "value": "rum"}
        with suppress(MCPError):
            await session.call_tool(
                "propose",
                borrowed,
                request_state=asked.request_state,
                input_responses=yes,
                allow_input_required=True,
            )
        assert await again(given, asked.request_state) == "constrained"
        assert not op.user_profile().preferences

    talk(desk, MODERN, said, Person(filled("confirm")), f"form {CLIENT}")


def test_an_answer_is_not_taken_twice(desk: Desk) -> None:
    """V10: what an operator has undone is not decided again by the same answer."""
    op = desk.operator()

    async def said(client: Client) -> None:
        session = client.session
        given, asked = await asking_along(client)
        for expected in ("active", "constrained"):
            result = await session.call_tool(
                "propose",
                given,
                request_state=asked.request_state,
                input_responses={"decision": filled("confirm")},
                allow_input_required=True,
            )
            assert isinstance(result, types.CallToolResult)
            assert result.structured_content is not None
            assert result.structured_content["state"] == expected
            if expected == "active":
                op.undo(op.history(result.structured_content["id"])[-1].seq)

    talk(desk, MODERN, said, Person(filled("confirm")), f"form {CLIENT}")


async def browse(url: str, key: str | None = None, verb: str = "agree") -> str:
    """Follow a link and decide the first proposal, as a browser of a person does."""
    origin = url.split("/enter")[0]
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as browser:

        async def post(path: str, shown: str, **fields: str) -> str:
            found = TOKEN.search(shown)
            assert found is not None, shown
            form = {"page": found[1], **fields}
            answer = await browser.post(origin + path, data=form, headers={"origin": origin})
            return answer.text

        shown = (await browser.get(url)).text
        if key is not None:
            wrong = await post("/unlock", shown, key="guessed-key")
            assert "not the operator key" in wrong
            refused = await browser.get(origin + "/?words=x")
            assert "Operator key" in refused.text
            shown = await post("/unlock", refused.text, key=key)
        found = re.search(r'name="id" value="([^"]+)"', shown)
        assert found is not None, shown
        return await post("/decide", shown, id=found[1], verb=verb)


class Visitor(Person):
    """A person who goes where the client leads them, and decides there."""

    def __init__(self, key: str | None = None, verb: str = "agree") -> None:
        super().__init__(types.ElicitResult(action="accept"))
        self._key = key
        self._verb = verb
        self.visits: list[asyncio.Task[str]] = []

    async def __call__(self, context: Any, params: Elicited) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        self.asked.append(params)
        self.visits.append(asyncio.create_task(browse(params.url, self._key, self._verb)))
        return types.ElicitResult(action="accept")


@ERAS
@pytest.mark.parametrize("verb", ["agree", "reject"])
def test_a_page_decides_and_the_call_tells_it(desk: Desk, mode: str, verb: str) -> None:
    """V10: the strong form leads to the one-time page; what is decided there ends the call."""
    op = desk.operator()
    person = Visitor(verb=verb)

    async def said(client: Client) -> dict[str, Any]:
        told = await proposing(client)
        assert ("confirmed" if verb == "agree" else "rejected") in await person.visits[0]
        return told

    told = talk(desk, mode, said, person, f"url {CLIENT}", f"form {CLIENT}")
    assert told["state"] == ("active" if verb == "agree" else "tombstoned")
    assert told["decided"] == ("confirmed" if verb == "agree" else "rejected")
    assert op.history(told["id"])[-1].surface == f"mcp url: {CLIENT}"
    assert "tea" not in person.read, "the page shows it, not the client"


@ERAS
def test_a_page_needs_the_operator_key_where_there_is_one(desk: Desk, mode: str) -> None:
    """V7, V10: with a key the link alone opens nothing: a client that follows it cannot decide.
    A form is not even asked."""
    operator_key.change(desk.home, KEY)
    person = Visitor(KEY)

    async def said(client: Client) -> dict[str, Any]:
        told = await proposing(client)
        await person.visits[0]
        return told

    told = talk(desk, mode, said, person, f"url {CLIENT}", key=KEY)
    assert told["state"] == "active"
    silent = Person(filled("confirm"))
    later = partial(proposing, value="milk")
    told = talk(desk, mode, later, silent, f"form {CLIENT}", key=KEY)
    assert (told["state"], silent.asked) == ("constrained", [])


@ERAS
def test_a_page_that_nobody_visits_ends(desk: Desk, mode: str) -> None:
    """V10: declined, the page is gone; agreed to and left alone, the call returns in time."""
    answers: tuple[Literal["decline", "accept"], ...] = ("decline", "accept")
    for answer in answers:
        person = Person(types.ElicitResult(action=answer))
        made = partial(proposing, value=answer)
        told = talk(desk, mode, made, person, f"url {CLIENT}", seconds=0.5)
        assert told["state"] == "constrained"
        (asked,) = person.asked
        assert isinstance(asked, types.ElicitRequestURLParams)
        with pytest.raises(httpx.ConnectError):
            httpx.get(asked.url, trust_env=False)


def allow(home: Path, *entries: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    settings_file.change(home, {"mcp.elicitation": list(entries)})


@ERAS
def test_over_pipes(tmp_path: Path, mode: str) -> None:
    """V10: the program itself asks as its settings say, in both eras."""
    home = tmp_path / "home"
    allow(home, f"form {CLIENT}")
    program, *arguments = command(home)
    started = StdioServerParameters(command=program, args=arguments, env=environment())

    async def run(name: str) -> dict[str, Any]:
        async with Client(
            started,
            mode="legacy" if mode == LEGACY else "auto",
            read_timeout_seconds=PATIENCE,
            elicitation_callback=Person(filled("confirm")),
            client_info=types.Implementation(name=name, version="1"),
        ) as client:
            return await proposing(client, name)

    assert asyncio.run(run(CLIENT))["state"] == "active"
    assert asyncio.run(run("another"))["state"] == "constrained"


@ERAS
def test_over_pipes_with_an_operator_key(tmp_path: Path, mode: str) -> None:
    """V7, V10: the program leads to a page that asks for the key, even if it was started with it;
    without it there are no forms."""
    home = tmp_path / "home"
    allow(home, f"url {CLIENT}", "form another")
    operator_key.change(home, KEY)
    program, *arguments = command(home)
    with_key = {**environment(), "LAMINA_OPERATOR_KEY": KEY}

    async def run(person: Person, name: str, env: dict[str, str]) -> dict[str, Any]:
        async with Client(
            StdioServerParameters(command=program, args=arguments, env=env),
            mode="legacy" if mode == LEGACY else "auto",
            read_timeout_seconds=PATIENCE,
            elicitation_callback=person,
            client_info=types.Implementation(name=name, version="1"),
        ) as client:
            return await proposing(client, f"{name} {len(env)}")

    for env, state in ((environment(), "constrained"), (with_key, "active")):
        assert asyncio.run(run(Visitor(KEY), CLIENT, env))["state"] == "active"
        told = asyncio.run(run(Person(filled("confirm")), "another", env))
        assert told["state"] == state


def test_over_http_a_client_is_its_token(tmp_path: Path) -> None:
    """V7, V10: over HTTP the name of the token counts, never what a client calls itself."""
    home = tmp_path / "home"
    allow(home, f"form {CLIENT}")
    for token, state in ((None, "constrained"), (CLIENT, "active")):
        with over_http(home, token=token) as served:

            async def said(client: Client, value: str = state) -> dict[str, Any]:
                return await proposing(client, value)

            person = Person(filled("confirm"))
            told = served.talk(
                said,
                elicitation_callback=person,
                client_info=types.Implementation(name=CLIENT, version="1"),
            )
            assert (told["state"], len(person.asked)) == (state, state == "active")


@pytest.mark.parametrize("variable", [{"LAMINA_ROLE": "agent"}, {}])
def test_a_client_that_goes_away_while_it_is_asked(
    tmp_path: Path, variable: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """V10: its call is answered and the server ends at once; as an agent nobody is asked at all."""
    home = tmp_path / "home"
    allow(home, "form test")
    with Raw(home, env=variable) as client:
        client.greet({"elicitation": {}})
        client.send(call(1, "remember", content="Ana said tea"))
        kept = client.receive()["result"]["structuredContent"]["id"]
        given = {"key": "drink", "value": "tea", "reason": "so", "evidence": [kept]}
        client.send(call(2, "propose", **given))
        first = client.receive()
        if not variable:
            assert first["method"] == "elicitation/create"
            code, out, _ = client.end()
            assert code == 0
            assert b'"state":"constrained"' in out
        else:
            assert first["result"]["structuredContent"]["state"] == "constrained"


def test_the_environment_allows_nothing(tmp_path: Path) -> None:
    """V7: whoever starts a server sets its environment; the setting is the operator's alone."""
    with Raw(tmp_path / "home", env={"LAMINA_MCP_ELICITATION": "form test"}) as client:
        client.greet()
        client.send(call(1, "status"))
        text = client.receive()["result"]["content"][0]["text"]
        assert "mcp.elicitation is set in config.toml alone" in text


def test_asking_leaves_no_trace_but_the_decision(desk: Desk) -> None:
    """V10: a question changes nothing; only the answer is an event."""
    op = desk.operator()
    seen: list[tuple[int, int]] = []

    def answer(_: Elicited) -> types.ElicitResult:
        seen.append(size(op))
        return types.ElicitResult(action="cancel")

    talk(desk, LEGACY, proposing, Person(answer), f"form {CLIENT}")
    assert seen == [size(op)]
