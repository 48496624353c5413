"""The commands about what is known: sleep, facts, timeline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lamina import operator
from lamina.surfaces.cli.facts import bar
from tests.http_fakes import ModelServer, claiming, says
from tests.surfaces.conftest import Call
from tests.surfaces.test_cli_usage import in_terminal


@pytest.fixture
def filled(call: Call, tmp_path: Path) -> Call:
    """A home in which Ana has said a few things, months apart."""
    with operator(home=tmp_path / "home") as op:
        for month, said in (
            (1, "I live in Porto. I love hiking."),
            (3, "I moved to Lisbon."),
            (5, "I went to Rome with Ben."),
        ):
            at = datetime(2026, month, 10, tzinfo=UTC)
            op.remember_conversation(
                [{"speaker": "Ana", "text": said, "at": at}], session=f"s{month}"
            )
    return call


def test_a_dry_run_prints_the_plan(filled: Call) -> None:
    """S5, H1: each claim with its effect and the reason; nothing is known afterwards."""
    out = filled("sleep", "--dry-run").out
    for words in (
        "Ana lives in Porto",
        "not known before",
        "Ana lives in Lisbon",
        "ends 'Porto'",
        "change",
    ):
        assert words in out
    assert {one["effect"] for one in filled("sleep", "--dry-run", "--json").json["facts"]} >= {
        "new",
        "change",
    }
    assert "nothing is known" in filled("facts").out


def test_sleep_tells_what_it_did(filled: Call) -> None:
    """S5, H1: how much was read, and what came of it; the second time there is nothing."""
    out = filled("sleep").out
    assert out.startswith("read 3 turns; facts: 1 changed, ")
    assert "lamina review" in out
    assert filled("sleep", "--json").json["turns"] == 0
    assert "nothing to do" in filled("sleep", "--dry-run").out


def test_sleep_says_what_it_does_not_read_yet(call: Call) -> None:
    """S1, H1: a memory in short-term memory is not read before it is promoted; whoever misses it
    hears why, and what to do."""
    call(
        "remember",
        "I am vegetarian. I work at Acme.",
        "--speaker",
        "Ana",
        "--session",
        "s1",
        "--importance",
        "0.9",
    )
    for words in (("sleep",), ("sleep", "--dry-run")):
        assert (
            "1 memory waits in short-term memory, which sleep does not read: `lamina promote ID` moves"
            " one on; remember conversations with `--layer episodic`" in call(*words).out
        )
    assert call("sleep", "--json").json["waiting"] == 1
    call("promote")
    out = call("sleep").out
    assert out.startswith("read 1 turn; facts: 2 new")
    assert "waits" not in out


def test_sleep_names_the_queue_only_if_something_waits_there(filled: Call, tmp_path: Path) -> None:
    """S5, H1: a proposal waits in the queue; a summary or an adjusted importance does not."""
    assert filled("sleep").out.endswith("; proposals wait in `lamina review`\n")
    turn = {"speaker": "Ana", "text": "The river was high this week. " * 80}
    with operator(home=tmp_path / "home") as op:
        op.remember_conversation(
            [{**turn, "at": datetime(2026, 5, 20, tzinfo=UTC)}], session="river"
        )
    out = filled("sleep").out
    assert "\nand 1 summary" in out
    assert "lamina review" not in out


def test_facts_are_a_table_and_json(filled: Call) -> None:
    """S2, H1: who, what, which value, since when; at a time in the past what was true then."""
    filled("sleep")
    out = filled("facts", "ana").out
    assert "since 2026-03-10" in out
    assert "Porto" not in out
    then = filled("facts", "Ana", "--as-of", "2026-02-01", "--attribute", "lives_in", "--json").json
    assert [(fact["value"], fact["valid_to"]) for fact in then] == [
        ("Porto", "2026-03-10T00:00:00.000000Z")
    ]
    for unknown in (("facts", "Zoe"), ("timeline", "Zoe"), ("facts", "Zoe", "--json")):
        outcome = filled(*unknown)
        assert (outcome.code, outcome.out) == (3, "")
        assert "nothing is known about 'Zoe'" in outcome.err
    narrowed = filled("facts", "Ana", "--attribute", "pet")
    assert (narrowed.code, "no fact about 'Ana' matches" in narrowed.err) == (3, True)


def test_a_fact_has_the_handle_by_which_it_is_changed(filled: Call) -> None:
    """H1, V9: the id in the table is enough for `forget`; what has been superseded names what took
    its place, since only that can be changed."""
    filled("sleep")
    row = next(line for line in filled("facts", "Ana").out.splitlines() if "Lisbon" in line)
    then = filled("facts", "Ana", "--as-of", "2026-02-01", "--attribute", "lives_in", "--json").json
    refused = filled("forget", then[0]["record"])
    assert re.search(rf"is superseded by \w+{row.split()[0]}; only active", refused.err)
    assert filled("forget", row.split()[0]).code == 0
    assert "Lisbon" not in filled("facts", "Ana").out


def test_a_timeline_is_a_picture(filled: Call) -> None:
    """S2, H1: intervals on one scale, what held in front of what holds, a point for what happened
    once; JSON for programs."""
    filled("sleep")
    lines = filled("timeline", "Ana").out.splitlines()
    porto, lisbon = (
        next(line for line in lines if city in line and "█" in line) for city in ("Porto", "Lisbon")
    )
    assert porto.index("█") < lisbon.index("█")
    assert porto.rstrip().endswith("2026-01-10 to 2026-03-10")
    assert lisbon.rstrip().endswith("since 2026-03-10")
    assert len(filled("timeline", "Ana", "--json").json) == len(lines)


@pytest.mark.parametrize("columns", [80, 100])
def test_a_timeline_fits_into_a_terminal(filled: Call, tmp_path: Path, columns: int) -> None:
    """H1: bars reach today and times are whole; long values go on in the next line; what does not
    hold is drawn lighter than what does."""
    orders = (
        "Always use British spelling in the letters that you write for me",
        "Always use metric units in the tables that you make for me",
    )
    for text in (*orders, "I work at Globex.", "I do not work at Globex any more."):
        filled("remember", text, "--speaker", "Ana", "--layer", "episodic", "--at", "2026-06-01")
    filled("sleep")
    shown = in_terminal(tmp_path / "home", columns, "timeline", "Ana")
    lines = [line.rstrip() for line in shown.splitlines()]
    assert "…" not in shown
    assert max(map(len, lines)) <= columns
    assert any(line.endswith("█  since 2026-03-10") for line in lines)
    assert any(line.endswith("2026-01-10 to 2026-03-10") for line in lines)
    assert any("not Globex" in line and "░" in line and "█" not in line for line in lines)
    assert all(word in shown for word in " ".join(orders).split())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("timeline", "Zoe"), 3),
        (("timeline", " "), 2),
        (("timeline",), 2),
        (("facts", "--as-of", "some day"), 2),
        (("--user", "ana", "sleep"), 1),
        (("sleep", "--limit", "0"), 2),
    ],
    ids=["nobody", "no name", "none", "no time", "one user", "no lines"],
)
def test_bad_input_is_told(filled: Call, arguments: tuple[str, ...], code: int) -> None:
    """H1: the right exit code, and something on standard error."""
    outcome = filled(*arguments)
    assert outcome.code == code
    assert outcome.err


def test_sleep_for_one_user_is_refused_in_the_words_of_the_program(filled: Call) -> None:
    """H1, R12: it concerns everybody, so the option has to go."""
    assert "run it without --user" in filled("--user", "ana", "sleep").err


def test_a_model_that_is_down_is_told(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: rules read instead, and the command says so."""
    monkeypatch.setenv("LAMINA_SLEEP_MODEL", "some-model")
    monkeypatch.setenv("LAMINA_SLEEP_ENDPOINT", "http://127.0.0.1:9/v1")
    outcome = filled("sleep")
    assert (outcome.code, "cannot be reached" in outcome.err) == (0, True)
    assert "Lisbon" in filled("facts").out


def test_what_was_said_steers_no_terminal(call: Call, tmp_path: Path) -> None:
    """H1: control characters of a name or a value are shown, not sent."""
    with operator(home=tmp_path / "home") as op:
        op.remember_conversation(
            [{"speaker": "A\u202ena", "text": "I live in Por\x1b[31mto."}], session="s"
        )
    call("sleep")
    for arguments in (("facts",), ("sleep", "--dry-run")):
        assert not set(call(*arguments).out) & {"\x1b", "\u202e"}


def test_a_bar_is_as_long_as_it_should_be(filled: Call) -> None:
    """S2: whatever the scale, a line has its width, and an interval at least one character."""
    filled("sleep")
    with operator() as op:
        found = op.timeline("Ana")
    first = min(fact.valid_from for fact in found)
    for last in (first, first + timedelta(days=1), first + timedelta(days=9000)):
        for width in (1, 10, 60):
            for fact in found:
                drawn = bar(fact, first, max(last, fact.valid_from), width)
                assert len(drawn) == width
                assert set(drawn) & {"█", "●", "×"}


PORTO = {
    "turn": 1,
    "quote": "I live in Porto",
    "subject": "Ana",
    "attribute": "lives_in",
    "value": "Porto",
    "confidence": 0.9,
}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model behind an endpoint, which the settings name."""
    usage = {"prompt_tokens": 2000, "completion_tokens": 100}
    with ModelServer(claiming(PORTO, usage=usage)) as server:
        monkeypatch.setenv("LAMINA_SLEEP_ENDPOINT", server.address)
        monkeypatch.setenv("LAMINA_SLEEP_MODEL", "qwen3:8b")
        monkeypatch.setenv("LAMINA_SLEEP_PRICE_IN", "0.5")
        yield server


@pytest.fixture
def one(call: Call, tmp_path: Path) -> Call:
    """A home in which Ana has said two things."""
    with operator(home=tmp_path / "home") as op:
        op.remember_conversation(
            [{"speaker": "Ana", "text": "I live in Porto. I love hiking."}], session="s"
        )
    return call


def test_a_dry_run_compares_a_model_with_the_rules(one: Call, model: ModelServer) -> None:
    """S6, H1: a column says who finds each fact, and the end what it cost; a name is for once."""
    out = one("sleep", "--dry-run", "--model").out
    lines = [line for line in out.splitlines() if "Ana" in line]
    assert [line.split("  ")[0] for line in lines] == ["both", "rules only"]
    assert out.startswith("found by")
    assert "model qwen3:8b: 2,000 tokens in, 100 out, cost 0.0010" in out
    plan = one("sleep", "--dry-run", "--model", "other", "--json").json
    assert plan["model"]["name"] == model.seen[-1][2]["model"] == "other"
    refused = one("sleep", "--model", "other")
    assert (refused.code, "--dry-run" in refused.err) == (2, True)


def test_sleep_and_status_tell_what_a_model_used(one: Call, model: ModelServer) -> None:
    """S6, H1: the night and the last thirty days; a failure is told too."""
    assert "model qwen3:8b: not used in the last 30 days" in one("status").out
    assert "model qwen3:8b: 2,000 tokens in, 100 out, cost 0.0010" in one("sleep").out
    told = "last night 2,000 tokens in, 100 out, cost 0.0010; in 30 days, 1 night: 2,000 tokens in"
    assert told in one("status").out
    one("remember", "I like tea", "--speaker", "Ana", "--layer", "episodic")
    model.play = says("", 401)
    assert "rules have read 1 session: the endpoint" in one("sleep").err


def test_doctor_tells_about_the_model(one: Call, model: ModelServer) -> None:
    """S6, H1: that it answers, and in which form."""
    assert "'qwen3:8b' answers within 60 seconds, in JSON by a schema" in one("doctor").out


def test_a_person_at_the_terminal_says_i(call: Call) -> None:
    """H1, S7: nobody thinks of --speaker; and while nothing is known, `facts` says what to do."""
    assert "speaker" in call("facts").out
    call("remember", "My manager is Sandra Hoff.", "--kind", "fact")
    call("sleep")
    assert "Sandra Hoff" in call("facts", "user").out
