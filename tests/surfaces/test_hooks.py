"""Promises of hooks: an agent is told what matters, what it hears is kept, and it never waits for
its memory."""

from __future__ import annotations

import ctypes
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import InvalidInput
from lamina.home.folder import Home
from lamina.model.clock import system_clock
from lamina.model.record import Layer, Role, Trust
from lamina.surfaces.cli.main import run
from lamina.surfaces.hooks import Hooks, Switches, ntfy, problems, protocol, switches, transcript
from lamina.text import fence
from tests.conftest import CONTRACTS, Desk, contents

PROGRAM = [sys.executable, "-P", "-m", "lamina.surfaces.cli.main"]
QUESTION = "how do we deploy the billing service?"
ANSWER = "The billing service is deployed with make ship"
PROMPT = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "s1",
    "cwd": "/srv/billing",
    "prompt": QUESTION,
}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def context(self) -> str:
        told = json.loads(self.out)
        return str(told.get("hookSpecificOutput", told).get("additionalContext", ""))


Call = Callable[..., Outcome]


@pytest.fixture
def call(desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `lamina` on the home of the test, with an event on its standard input."""
    monkeypatch.setenv("LAMINA_HOME", str(desk.home))
    monkeypatch.setenv("LAMINA_AGENT", "sky")

    def invoke(
        *arguments: str, event: Any = None, given: bytes | None = None, **environment: str
    ) -> Outcome:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(
            sys,
            "stdin",
            io.TextIOWrapper(io.BytesIO(json.dumps(event).encode() if given is None else given)),
        )
        return Outcome(run(arguments), *capsys.readouterr())

    return invoke


def hooks(memory: Memory, **fields: Any) -> Hooks:
    return Hooks(memory, Switches(**{"timeout_ms": 60_000, **fields}))


def troubles(desk: Desk) -> list[str]:
    return problems.recent(Home(desk.home), "sky", system_clock())


def lines(told: str) -> list[str]:
    """The texts of the memories in a context."""
    return [line.partition("] ")[2] for line in told.split("\n")[2:-1] if "] " in line]


def teach(op: Operator, *texts: str) -> None:
    op.remember_many(
        [
            {"content": text, "layer": Layer.SEMANTIC, "metadata": CONTRACTS["semantic"]}
            for text in texts
        ]
    )


def test_switches_are_read_under_both_names() -> None:
    """H4: the switches of the Milton document work under both prefixes, ours first, and have the
    document's defaults."""
    assert switches.read({}) == Switches(
        enabled=True,
        store_responses=False,
        context_limit=None,
        context_max_chars=2000,
        timeout_ms=1500,
    )
    given = {
        "MILTON_MEMORY_ENABLED": "false",
        "MILTON_MEMORY_STORE_RESPONSES": "TRUE",
        "MILTON_MEMORY_CONTEXT_LIMIT": "3",
        "LAMINA_MEMORY_CONTEXT_LIMIT": " 4 ",
        "MILTON_MEMORY_CONTEXT_MAX_CHARS": "500",
        "LAMINA_MEMORY_CONTEXT_MAX_CHARS": "",
        "LAMINA_MEMORY_TIMEOUT_MS": "250",
    }
    assert switches.read(given) == Switches(False, True, 4, 500, 250)


@given(
    st.dictionaries(
        st.sampled_from([p + n for p in switches.PREFIXES for n in ("ENABLED", *switches.MOST)]),
        st.text(),
    )
)
def test_a_wrong_switch_is_told_and_harmless(environment: Mapping[str, str]) -> None:
    """H4: whatever stands in the environment, the switches make sense, and what does not is told
    with its name."""
    found = switches.read(environment)
    assert found.context_limit is None or 0 <= found.context_limit <= 100
    assert 0 <= found.timeout_ms <= 600_000
    assert all(
        any(problem.startswith(f"{name}=") for name in environment) for problem in found.problems
    )


def test_before_a_message_it_tells_what_is_known(mem: Memory, op: Operator) -> None:
    """H4, Q7, Q9: what is relevant to a message comes fenced, with where it comes from; nothing
    comes when nothing is."""
    teach(op, ANSWER, "Ana has a cat named Miso")
    with hooks(mem) as called:
        told = called.before_message(QUESTION)
        assert told.startswith(fence.OPEN)
        assert ANSWER in told
        assert "Miso" not in told
        assert called.before_message("zebra quantum parliament") == ""
        assert called.on_spawn("write about deploying the billing service") == told
    assert not called.problems


def test_context_stays_within_its_caps(mem: Memory, op: Operator) -> None:
    """H4: at most so many memories in at most so many characters, whatever matches; a cap of zero
    means none."""
    teach(op, *(f"{ANSWER}, and step {number} is {'long ' * 60}" for number in range(20)))
    with hooks(mem, context_limit=3) as few, hooks(mem, context_max_chars=500) as short:
        assert len(lines(few.before_message(QUESTION))) == 3
        assert 0 < len(short.before_message(QUESTION)) <= 500
    for none in ({"context_limit": 0}, {"context_max_chars": 0}, {"context_max_chars": 199}):
        with hooks(mem, **none) as silent:
            assert silent.before_message(QUESTION) == ""
            assert silent.on_start() == ""


def test_what_was_said_elsewhere_is_told_and_what_was_just_said_is_not(mem: Memory) -> None:
    """H4, Q9: messages of other sessions help; not those of this session, nor the same words again,
    nor mere questions."""
    with hooks(mem) as called:
        called.after_message(ANSWER, session="s1")
        called.after_message(QUESTION, session="s2")
        assert ANSWER in called.before_message(QUESTION, session="s3")
        assert called.before_message(QUESTION, session="s1") == ""
        assert QUESTION not in called.before_message("deploy the billing service!", session="s5")
        called.after_message("deploy the billing service")
        told = called.before_message("Deploy the billing service!!", session="s4")
        assert "deploy the billing service" not in lines(told)


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        ("how do we deploy the billing service variant {}", "how do we deploy the billing service"),
        ("tell me how to deploy billing variant {}", "tell me how to deploy billing"),
        (
            "remind me how we deploy billing service number {}",
            "remind me how we deploy the billing service",
        ),
        ("please deploy the billing service", "deploy billing service {} now"),
    ],
)
def test_earlier_prompts_do_not_drown_the_answer(mem: Memory, earlier: str, now: str) -> None:
    """H4, Q9: what a user asked or ordered before tells nothing, with a question mark or without;
    the answer is told alone."""
    with hooks(mem) as called:
        for number in range(20):
            called.after_message(earlier.format(number), session=f"s{number}")
        mem.remember(ANSWER)
        told = called.before_message(now.format("x"), session="t")
    assert lines(told) == [ANSWER]


def test_what_was_noted_stands_beside_what_a_user_keeps_saying(mem: Memory) -> None:
    """H4, C1: however many orders are much like the present one, what somebody noted about it
    stands before them."""
    with hooks(mem) as called:
        mem.remember(ANSWER)
        for number in range(6):
            called.after_message(f"deploy billing service variant {number}", session=f"s{number}")
        told = lines(called.before_message("deploy billing service"))
    assert len(told) == 7
    assert told[0] == ANSWER


@pytest.mark.parametrize(
    ("said", "now"),
    [
        ("deploy billing with make ship", "deploy billing"),  # it holds more
        ("I am vegetarian", "what does a vegetarian eat?"),
        ("Ana is vegetarian", "is Ana vegetarian?"),  # a yes
        ("Ana is vegetarian", "tell me if Ana is vegetarian"),
        ("what I deploy billing with is make ship", "how do we deploy billing"),  # no question
    ],
)
def test_earlier_prompts_that_tell_something_are_told(mem: Memory, said: str, now: str) -> None:
    """H4: a message that says more than is said now, or that answers whether something is
    so, is told."""
    with hooks(mem) as called:
        called.after_message(said, session="s1")
        assert said in lines(called.before_message(now, session="s2"))


def test_what_is_known_goes_before_what_was_said(mem: Memory, op: Operator) -> None:
    """H4, C1: facts stand before what users said, whichever fits better."""
    with hooks(mem) as called:
        called.after_message(f"I said it: {ANSWER}", session="s1")
        teach(op, "the billing service has an owner, Ana")
        told = called.before_message(QUESTION, session="s2")
    assert lines(told) == ["the billing service has an owner, Ana", f"I said it: {ANSWER}"]


def test_after_a_message_it_is_kept(mem: Memory) -> None:
    """H4, V8: the user's message always, the reply only when asked for: a crumb of importance 0.2;
    both an agent's word."""
    with hooks(mem) as silent, hooks(mem, store_responses=True) as full:
        assert contents(silent.after_message("I moved to Berlin", "Noted.", session="s1")) == [
            "I moved to Berlin"
        ]
        message, reply = full.after_message("I like tea", "Good to know.", session="s1")
    assert (message.speaker, message.layer, message.kind, message.session) == (
        "user",
        Layer.EPISODIC,
        "crumb",
        "s1",
    )
    assert (reply.speaker, reply.kind, reply.importance) == ("assistant", "crumb", 0.2)
    assert message.trust is reply.trust is Trust.AGENT


def test_recalled_context_is_never_kept_again(mem: Memory, op: Operator) -> None:
    """Q9, H4: what a hook told comes back within a message, and only the rest of that
    message is kept."""
    teach(op, ANSWER)
    with hooks(mem, store_responses=True) as called:
        told = called.before_message(QUESTION)
        assert contents(called.after_message(f"{told}\nthanks!", told)) == ["thanks!"]
        assert called.after_message(told, f" {told} ") == []
    assert not called.problems


def test_hooks_can_be_switched_off(mem: Memory, op: Operator) -> None:
    """H4: switched off, nothing is told and nothing kept."""
    teach(op, ANSWER)
    with hooks(mem, enabled=False) as off:
        assert (off.before_message(QUESTION), off.after_message("hello"), off.on_start()) == (
            "",
            [],
            "",
        )
    assert len(mem.list()) == 1


def test_a_session_begins_with_what_is_pending(mem: Memory, op: Operator) -> None:
    """L12, H4: requests without a result, the profile, and what is known about the place
    where one works."""
    mem.remember("please book the train to Bern", kind="request")
    op.upsert_user_profile({"drink": "oolong"}, [mem.remember("I drink oolong").id])
    teach(op, ANSWER)
    with hooks(mem) as called:
        told = called.on_start("billing service")
        assert "request without a result" in told
        assert "| please book the train to Bern" in told
        assert "oolong" in told
        assert ANSWER in told
        assert len(called.on_start("billing service")) <= 2000
    assert not called.problems


def test_a_session_is_told_nothing_twice(call: Call, op: Operator) -> None:
    """C6, H4: each hook is a process of its own, and still a session hears a memory once; again
    after its context was compacted, as either event says."""
    teach(op, ANSWER)

    def told() -> bool:
        return ANSWER in call("hook", "user-prompt", event=PROMPT).out

    assert [told(), told()] == [True, False]
    call("hook", event={"hook_event_name": "PostCompact", "session_id": "s1"})
    assert [told(), told()] == [True, False]
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "compact"}
    call("hook", event=start)
    assert [told(), told()] == [True, False]
    call("hook", event={**start, "source": "resume"})
    assert not told()


def test_a_profile_binds_what_is_suggested(call: Call, op: Operator) -> None:
    """C1, H4: the confirmed allergy is there when a restaurant is wanted, and whenever else."""
    op.upsert_user_profile({"allergy": "peanuts"}, [op.remember("I cannot eat peanuts").id])
    for prompt in ("suggest a restaurant", "thanks!"):
        outcome = call("hook", "user-prompt", event={**PROMPT, "prompt": prompt})
        assert "allergy: peanuts" in outcome.context


def test_a_broken_memory_does_not_break_its_agent(desk: Desk, mem: Memory) -> None:
    """H4: with a store that is gone every hook answers with nothing, and the failure is told and
    kept for the status."""
    mem.close()
    with hooks(mem) as called:
        assert (
            called.before_message(QUESTION),
            called.after_message("hello"),
            called.on_spawn("x"),
        ) == ("", [], "")
        assert called.after_message(7) == []  # type: ignore[arg-type]
    assert called.on_start() == ""  # after it was closed
    assert len(called.problems) == 5
    assert any("after_message" in one and "2 times" in one for one in troubles(desk))


def test_a_slow_memory_does_not_hold_up_its_agent(desk: Desk, mem: Memory, op: Operator) -> None:
    """H4: while another process holds the store the hook returns, and what it was to keep is kept
    as soon as it can be."""
    with hooks(mem, timeout_ms=20) as called:
        with op._scope.store.database.atomic():
            assert called.after_message("keep me") == []
        called.close()
    assert contents(mem.list()) == ["keep me"]
    assert "did not answer within 20 ms" in troubles(desk)[0]


def test_a_pile_of_calls_is_bounded(mem: Memory, op: Operator) -> None:
    """H4: behind a store that does not answer only so much waits; what comes then is told."""
    with hooks(mem, timeout_ms=1) as called:
        with op._scope.store.database.atomic():
            for number in range(70):
                called.after_message(f"message {number}")
        called.close()
    assert len(mem.list(limit=100)) == 64
    assert any("this one was not made" in one for one in called.problems)


def test_a_prompt_is_answered_and_kept(call: Call, desk: Desk, op: Operator) -> None:
    """H4: `hook user-prompt` answers in the form of Claude Code and Codex, and keeps the prompt
    with its session."""
    teach(op, ANSWER)
    outcome = call("hook", "user-prompt", event=PROMPT)
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out).keys() == {"hookSpecificOutput"}
    assert json.loads(outcome.out)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert ANSWER in outcome.context
    kept = desk.agent().list(layers=["episodic", "short_term"])
    assert [(one.content, one.session, one.speaker) for one in kept] == [(QUESTION, "s1", "user")]
    assert desk.operator().audit_log(1)[0].surface == "hook"
    assert kept[0].trust is Trust.AGENT


def test_other_agents_names_are_known(call: Call, op: Operator) -> None:
    """H4: without an argument the event's own name says what it is; Gemini and Cursor are answered
    in their own words."""
    teach(op, ANSWER)
    gemini = call("hook", event={**PROMPT, "hook_event_name": "BeforeAgent"})
    assert json.loads(gemini.out)["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    assert ANSWER in gemini.context
    cursor = call(
        "hook",
        event={
            "hook_event_name": "sessionStart",
            "conversation_id": "c",
            "cwd": "/x/billing service",
        },
    )
    assert ANSWER in json.loads(cursor.out)["additional_context"]
    plain = call("hook", "user-prompt", "--plain", given=QUESTION.encode())
    assert plain.out.startswith(fence.OPEN)
    assert call("hook", "stop", "--plain", given=b"done").out == ""


def test_a_reply_is_kept_when_it_is_wanted(call: Call, mem: Memory, tmp_path: Path) -> None:
    """H4: `hook stop` keeps the reply with the switch alone, from the event or from the end
    of the transcript."""
    event = {
        "hook_event_name": "Stop",
        "session_id": "s1",
        "last_assistant_message": "It is deployed.",
    }
    assert call("hook", "stop", event=event).out == "{}\n"
    assert mem.list() == []
    call("hook", "stop", event=event, MILTON_MEMORY_STORE_RESPONSES="true")
    path = tmp_path / "talk.jsonl"
    lines: list[Any] = [
        {"message": {"role": "user", "content": "go"}},
        {
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "Gone."}, {"type": "tool_use", "input": {}}],
            }
        },
        {"type": "summary"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    call("hook", "subagent-stop", event={"transcript_path": str(path)})
    call(
        "hook",
        "stop",
        event={"hook_event_name": "AfterAgent", "prompt": "q", "prompt_response": "Gemini says"},
    )
    assert [(one.content, one.importance) for one in mem.list()] == [
        ("Gemini says", 0.2),
        ("Gone.", 0.2),
        ("It is deployed.", 0.2),
    ]


def test_an_agent_that_is_spawned_knows_about_its_task(
    call: Call, op: Operator, tmp_path: Path
) -> None:
    """H4: the task comes from the event or from the transcript, and nothing is kept of it."""
    teach(op, ANSWER)
    path = tmp_path / "talk.jsonl"
    asked = {"type": "tool_use", "name": "Task", "input": {"prompt": "deploy the billing service"}}
    path.write_text(
        json.dumps({"message": {"role": "assistant", "content": [asked]}}) + "\n", "utf-8"
    )
    for more in (
        {"prompt": QUESTION},
        {"tool_input": {"prompt": QUESTION}},
        {"transcript_path": str(path)},
    ):
        outcome = call(
            "hook", event={"hook_event_name": "SubagentStart", "agent_type": "Explore", **more}
        )
        assert ANSWER in outcome.context
    assert call("hook", "subagent-start", event={"agent_type": "Explore"}).out == "{}\n"
    assert transcript.last_task(str(tmp_path)) is None
    assert len(op.list()) == 1


@pytest.mark.parametrize(
    "name", ["pre-compact", "session-end", "PreCompact", "SessionEnd", "PreToolUse", "SomethingNew"]
)
def test_events_without_a_question_are_harmless(
    call: Call, mem: Memory, desk: Desk, name: str
) -> None:
    """H4: an event that asks for nothing, or that we have never heard of, is answered with
    an empty object."""
    arguments = ["hook", name] if name.islower() else ["hook"]
    outcome = call(*arguments, event={"hook_event_name": name, "prompt": "x"})
    assert (outcome.code, outcome.out, outcome.err) == (0, "{}\n", "")
    assert mem.list() == []
    assert troubles(desk) == []


@pytest.mark.parametrize(
    "event", [{"prompt": "x"}, {"prompt": "x", "hook_event_name": ""}, {"hook_event_name": 7}]
)
def test_an_event_without_a_name_is_told(call: Call, mem: Memory, desk: Desk, event: Any) -> None:
    """H4: whoever names the event in neither place hears what is missing; the answer is an empty
    object all the same."""
    outcome = call("hook", event=event)
    assert (outcome.code, outcome.out) == (0, "{}\n")
    assert (
        "Neither EVENT nor the field hook_event_name says; known are session-start, user-prompt"
        in outcome.err
    )
    assert mem.list() == []
    assert len(troubles(desk)) == 1


@pytest.mark.parametrize("given", [b"", b" \n"])
def test_an_empty_standard_input_is_told(call: Call, mem: Memory, given: bytes) -> None:
    """H4: nothing on standard input is no trouble with the memory, and is not told as one."""
    outcome = call("hook", "user-prompt", given=given)
    assert (outcome.code, outcome.out) == (0, "{}\n")
    assert "standard input is empty; a JSON object is expected there" in outcome.err


@pytest.mark.parametrize(
    ("words", "answer", "expected"),
    [("", "{}\n", "a JSON object"), ("--plain", "", "the text of a message")],
)
def test_a_hook_that_is_typed_in_a_terminal_says_what_it_reads(
    call: Call,
    desk: Desk,
    mem: Memory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    answer: str,
    expected: str,
) -> None:
    """H4: a person who tries it is told at once what is expected, instead of a memory that takes
    too long."""
    call("status")  # in the home of the test
    ours, theirs = os.openpty()
    with open(ours, "rb"), open(theirs) as terminal:  # noqa: PTH123 - these are no paths
        monkeypatch.setattr(sys, "stdin", terminal)
        code = run(["hook", "user-prompt", *words.split()])
    assert code == 0
    assert troubles(desk) == []
    out, err = capsys.readouterr()
    assert out == answer
    assert f"standard input is a terminal; {expected} is expected there" in err


def test_a_mistake_in_the_settings_of_an_agent_does_not_stop_its_user(
    call: Call, desk: Desk, mem: Memory
) -> None:
    """H4: an unknown event, option or switch would block every prompt if it were an error; it is
    told instead."""
    for arguments in (
        ("hook", "user-promt"),
        ("hook", "user-prompt", "--verbose"),
        ("hook", "user-prompt", "and", "more"),
    ):
        assert call(*arguments, event=PROMPT).code == 0
    outcome = call("hook", "stop", event={}, LAMINA_MEMORY_CONTEXT_LIMIT="many")
    assert (outcome.code, outcome.out) == (0, "{}\n")
    assert "LAMINA_MEMORY_CONTEXT_LIMIT='many' is not a whole number" in outcome.err
    told = "\n".join(troubles(desk))
    assert "there is no hook 'user-promt'" in told
    assert "LAMINA_MEMORY_CONTEXT_LIMIT" in told


@pytest.mark.parametrize(
    "words",
    [
        "hook --plain=1",
        "hook user-prompt --late",
        "--bogus hook",
        "--hoem /x hook user-prompt",
        "--agent sky --json=1 hook stop",
    ],
)
def test_wrong_usage_of_a_hook_is_no_veto(call: Call, desk: Desk, mem: Memory, words: str) -> None:
    """H4: agents take exit code 2 for a refusal of what their user said; a call that makes no sense
    is told instead."""
    outcome = call(*words.split(), event=PROMPT)
    assert (outcome.code, outcome.out) == (0, "{}\n")
    assert outcome.err.startswith("lamina hook: ")
    assert "a hook failed once" in troubles(desk)[0]
    assert mem.list() == []


@pytest.mark.parametrize(
    "words",
    ["remember hook --bogus", "--agent hook list --bogus", "hooks", "bogus hook", "--bogus"],
)
def test_wrong_usage_of_other_commands_is_an_error(call: Call, words: str) -> None:
    """H1: the word `hook` elsewhere changes nothing."""
    outcome = call(*words.split())
    assert (outcome.code, outcome.out) == (2, "")


def test_a_reply_that_is_told_twice_is_kept_once(call: Call, mem: Memory) -> None:
    """L1, H4: the same `stop` again stores nothing; the same words in another session, and prompts
    said twice, are stored."""
    event = {"session_id": "s1", "last_assistant_message": "It is deployed."}
    for session in ("s1", "s1", "s2"):
        call(
            "hook",
            "stop",
            event={**event, "session_id": session},
            LAMINA_MEMORY_STORE_RESPONSES="true",
        )
    assert sorted((one.content, str(one.session)) for one in mem.list()) == [
        ("It is deployed.", "s1"),
        ("It is deployed.", "s2"),
    ]
    for _ in range(2):
        call("hook", "user-prompt", event={**PROMPT, "prompt": "go on"})
    assert contents(mem.list(limit=2)) == ["go on", "go on"]


def test_a_hook_starts_what_is_due(call: Call, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """L6: with `maintenance = auto` a hook that nobody waits for has the jobs run behind it."""
    started: list[str] = []
    monkeypatch.setattr(
        "lamina.surfaces.maintenance.start_if_due", lambda jobs, home, agent: started.append(agent)
    )
    call("hook", "user-prompt", event=PROMPT, LAMINA_MAINTENANCE="auto")
    assert started == []
    call("hook", "stop", event={})
    assert started == ["sky"]


def test_hooks_in_python_start_what_is_due(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """L6: so do hooks in Python behind a message that was kept, and look for it now
    and then only."""
    started: list[str] = []
    monkeypatch.setattr(
        "lamina.surfaces.maintenance.start_if_due",
        lambda jobs, home, agent, earlier: started.append(agent),
    )
    for maintenance in ("off", "auto"):
        with hooks(desk.agent(settings={"maintenance": maintenance})) as called:
            called.after_message("one")
            called.after_message("two")
        assert not called.problems
    assert started == ["sky"]


def test_a_late_call_keeps_once(call: Call, mem: Memory) -> None:
    """L1, H4: what was handed over is kept under its key, however often, and nobody is answered."""
    for _ in range(2):
        assert call("hook", "--late", "hook-1", event=PROMPT).out == ""
    assert contents(mem.list()) == [QUESTION]


@pytest.mark.skipif(
    sys.platform != "linux", reason="only there a test can wait for the child of its child"
)
def test_a_prompt_is_kept_even_when_the_store_is_held(
    desk: Desk, mem: Memory, op: Operator
) -> None:
    """H4: in a process of its own a hook returns in time from a store that is held, and another
    process keeps the prompt."""
    adopt = ctypes.CDLL(None).prctl
    command = [
        *PROGRAM,
        "--home",
        str(desk.home),
        "--agent",
        "sky",
        "--user",
        "ana",
        "hook",
        "user-prompt",
    ]
    environment = {**os.environ, "LAMINA_MEMORY_TIMEOUT_MS": "3000"}
    assert adopt(36, 1) == 0  # the children of our children become ours when these end
    try:
        with op._scope.store.database.atomic():
            done = subprocess.run(
                command,
                input=json.dumps(PROMPT).encode(),
                env=environment,
                capture_output=True,
                check=False,
            )
        assert (done.returncode, json.loads(done.stdout)) == (0, {})
        while not mem.list():
            os.wait()
    finally:
        adopt(36, 0)
    assert [(one.content, one.user) for one in mem.list()] == [(QUESTION, "ana")]
    assert "did not answer within 3000 ms" in troubles(desk)[0]


MESSAGES = [
    {"id": "o1", "time": 1635528757, "event": "open", "topic": "phone"},
    {
        "id": "m1",
        "time": 1635528741,
        "event": "message",
        "topic": "phone",
        "message": "Book a table",
        "tags": ["Dinner"],
    },
    {"id": "k1", "time": 1635528742, "event": "keepalive", "topic": "phone"},
    {
        "id": "m2",
        "time": 1635528743,
        "event": "message",
        "topic": "phone",
        "title": "Home",
        "priority": 4,
        "message": "Milk",
    },
]
LINES = b"\n".join(json.dumps(message).encode() for message in MESSAGES)


def test_messages_of_ntfy_become_requests(call: Call, mem: Memory, op: Operator) -> None:
    """H4, L12: each message is a request that waits for a result, at the time it was sent; other
    events are none."""
    outcome = call("capture", "--source", "ntfy", given=LINES)
    assert (outcome.code, outcome.out) == (0, "2 stored, 2 ignored\n")
    second, first = mem.list()
    assert (first.content, first.kind, first.tags, first.source) == (
        "Book a table",
        "request",
        ("ntfy", "dinner"),
        "ntfy",
    )
    assert (second.content, second.metadata["topic"], second.metadata["priority"]) == (
        "Home: Milk",
        "phone",
        4,
    )
    assert first.occurred_at.timestamp() == 1635528741
    assert first.trust is second.trust is Trust.EXTERNAL
    assert [item["id"] for item in mem.pending()] == [first.id, second.id]
    mem.remember("done", kind="result", metadata={"request_id": "m1"})
    assert [item["id"] for item in mem.pending()] == [second.id]


def test_a_message_is_captured_once_and_a_bad_line_is_told(call: Call, mem: Memory) -> None:
    """H4, L1: a stream that is read again stores nothing twice; a bad line is told with its number,
    and the rest goes on."""
    long = b'{"event": "message", "id": "x", "message": "' + b"a" * ntfy.MOST_BYTES + b'"}'
    other = json.dumps({**MESSAGES[1], "message": "Something else"}).encode()
    given = b"\n".join(
        [LINES, LINES, b"nonsense", b"", long, other, b'{"event": "message"}', b"[]", b"\xff"]
    )
    outcome = call("capture", "--source", "ntfy", "--json", "--trusted", given=given)
    assert json.loads(outcome.out) == {"stored": 2, "known": 2, "ignored": 5, "bad": 6, "failed": 0}
    assert [line.split(":")[0] for line in outcome.err.splitlines()] == [
        f"line {n}" for n in (9, 11, 12, 13, 14, 15)
    ]
    assert {one.trust for one in mem.list()} == {Trust.AGENT}


def test_capture_ends_well_when_it_is_interrupted(
    call: Call, mem: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """H4: Ctrl-C is how one ends it: what came is stored, and the count is told."""

    class Interrupted(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted(LINES)))
    assert run(["capture", "--source", "ntfy"]) == 0
    assert capsys.readouterr().out == "2 stored, 2 ignored\n"
    assert len(mem.list()) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["id", "time", "event", "message", "title", "tags", "topic", "encoding", "priority"]
)


@given(st.dictionaries(FIELDS, JSON | st.just("message")))
def test_any_line_is_a_request_or_an_error(message: dict[str, Any]) -> None:
    """H4: whatever a line holds, it is a memory that can be stored, no message, or an error that
    says why."""
    try:
        made = ntfy.request(json.dumps(message).encode())
    except InvalidInput:
        return
    if made is not None:
        assert message["event"] == "message"
        assert isinstance(made["content"], str)
        assert made["key"].startswith("ntfy:")


@given(
    st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([None, *protocol.EVENTS]),
)
def test_any_input_is_an_event_or_an_error(data: bytes, kind: str | None) -> None:
    """H4: whatever an agent writes, it is an event or an error, and can be answered."""
    try:
        event = protocol.read(data, kind)
    except InvalidInput:
        return
    assert event.kind in (None, *protocol.EVENTS)
    assert json.loads(protocol.answer(event, "told"))


def test_roles_are_an_agents(desk: Desk, call: Call) -> None:
    """V7, V8: a hook has an agent's authority, whoever runs it."""
    call("hook", "user-prompt", event=PROMPT)
    assert desk.operator().audit_log(1)[0].actor.startswith(Role.AGENT)


def test_the_status_tells_what_went_wrong_in_hooks(call: Call) -> None:
    """H4: a failure of a hook is visible in `lamina status`, as text and as JSON."""
    call("remember", "something")  # a home that is not there holds no status either
    call("hook", "user-prompt", given=b"nonsense")
    assert "the hook user-prompt failed once within a day" in call("status").out
    assert any("not JSON" in one for one in json.loads(call("status", "--json").out)["problems"])
