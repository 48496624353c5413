"""A night with a language model: whatever its endpoint does, nothing is lost, nothing is believed
that was not said, and a note says what happened. The endpoint is a real server that plays a part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from lamina import InvalidInput, Operator
from lamina.home.folder import Home
from lamina.memory import doctor
from tests.cases import every
from tests.conftest import Desk, size, verified
from tests.http_fakes import (
    KEY,
    ModelServer,
    Play,
    claiming,
    completion,
    dripping,
    picky,
    pouring,
    says,
)

SAID = "I live in Porto. I love hiking. Perhaps no dentist beats Dr. Silva. Ben is nice."
BY_RULES = {"Ana lives in Porto", "Ana likes hiking"}
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


def claim(attribute: str, value: str, quote: str, **more: object) -> dict[str, Any]:
    return {
        "turn": 1,
        "quote": quote,
        "subject": "Ana",
        "attribute": attribute,
        "value": value,
        "confidence": 0.9,
        **more,
    }


HOME = claim("lives_in", "Porto", "I live in Porto")
DENTIST = claim("has:dentist", "Dr. Silva", "no dentist beats Dr. Silva")
USAGE = {"prompt_tokens": 2000, "completion_tokens": 100, "total_tokens": 2100}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(claiming(HOME, DENTIST, usage=USAGE)) as running:
        yield running


def with_model(desk: Desk, server: ModelServer, **more: Any) -> Operator:
    """A memory in which Ana has said something, and whose nights ask a model."""
    settings = {"sleep.model": "qwen3:8b", "sleep.endpoint": server.address, **more}
    made = desk.operator(settings=settings)
    made.remember_conversation([{"speaker": "Ana", "text": SAID}], session="s")
    return made


def facts(handle: Operator) -> set[str]:
    return {handle.get(fact.record).content for fact in handle.facts()}


WHOLE = json.dumps({"claims": [HOME]})


@every(
    ("play", "note"),
    [
        (dripping(b"", b""), "did not answer within 0.3 seconds"),
        (dripping(HEADERS, b" "), "did not answer within 0.3 seconds"),
        (pouring, "more than 1048576 bytes"),
        (says("", 400), "HTTP 400"),
        (says(f"Wrong key {KEY}", 401), "check its key"),
        (says("", 404), "has the model 'qwen3:8b'"),
        (says("", 429, {"Retry-After": "7"}), "asked again in 7 seconds"),
        (says("", 500), "HTTP 500"),
        (says(completion(WHOLE)[:-9]), "something other than claims"),
        (says(completion(WHOLE[:-9])), "something other than claims"),
        (says(completion(WHOLE.replace("0.9", '"high"'))), "something other than claims"),
        # The schema is ignored.
        (says(completion("Ana lives in Porto.")), "something other than claims"),
        (says(completion(json.dumps({"facts": [HOME]}))), "something other than claims"),
        # What somebody made it say.
        (claiming(claim("role", "operator", "I live in Porto")), "none stands"),
        (claiming(claim("lives_in", "Berlin", "I live in Porto")), "none stands"),
        (claiming(claim("lives_in", "Porto", "I live in Porto", subject="Ben")), "none stands"),
        (claiming(claim("lives_in", "Porto", "I live in Porto", subject="Eve")), "none stands"),
        # It quotes nothing.
        (claiming(claim("lives_in", "Porto", "")), "none stands"),
        (claiming(claim("lives_in", "Porto\u202e", "I live in Porto")), "none stands"),
        (claiming(claim("lives_in", "\ud800\u200b", "I live in Porto")), "none stands"),
        (claiming(*[HOME] * 5000), "more than 1048576 bytes|beyond measure"),
    ],
)
def test_every_fault_ends_in_rules_and_a_note(
    desk: Desk, server: ModelServer, play: Play, note: str
) -> None:
    """S6: rules read what the model could not, all that was said is read, the trail verifies, and
    the note says why without a key."""
    server.play = play
    made = with_model(desk, server, **{"sleep.timeout_ms": 300})
    report = made.sleep()
    told = " ".join(report["notes"])
    assert "rules have read 1 session: " in told
    assert any(part in told for part in note.split("|")), told
    assert KEY not in told
    assert facts(made) == BY_RULES
    assert made.sleep()["turns"] == 0
    assert verified(made)


def test_a_refused_connection_ends_in_rules_and_a_note(desk: Desk) -> None:
    """S6: nobody listens, and nothing is paid for."""
    with ModelServer(claiming(HOME)) as gone:
        made = with_model(desk, gone)
    report = made.sleep()
    assert "start the server" in report["notes"][0]
    assert (report["model"]["tokens_in"], facts(made)) == (0, BY_RULES)
    assert made.status()["model"]["last_30_days"]["nights"] == 0


@every(
    ("more", "note"),
    [
        ([claim("lives_in", "Berlin", "I live in Porto")], "words that nobody said"),
        ([claim("likes", "hiking", "I love hiking", subject="Ben")], "somebody else"),
        ([claim("likes", "hiking", "")], "quotes what the turn does not say"),
        ([claim("job", "Por\u200bto", "I live in Porto")], "hidden"),
        ([HOME, HOME, HOME], "there already"),
        ([claim("trust", "operator", "I live in Porto")], "unknown attribute"),
    ],
)
def test_what_was_not_said_is_dropped_and_told(
    desk: Desk, server: ModelServer, more: list[dict[str, Any]], note: str
) -> None:
    """S6: beside a sound claim, one that is not becomes no fact, and the note counts it."""
    server.play = claiming(HOME, *more)
    made = with_model(desk, server)
    assert any(note in told for told in made.sleep()["notes"])
    assert facts(made) == {"Ana lives in Porto"}


def test_an_endpoint_without_a_schema_is_asked_for_less(desk: Desk, server: ModelServer) -> None:
    """S6: what the endpoint knows is found out once in a night."""
    server.play = picky(("json_schema",), claiming(HOME, DENTIST))
    made = with_model(desk, server)
    made.remember_conversation([{"speaker": "Ana", "text": SAID}], session="other")
    assert made.sleep()["notes"] == []
    types = [question["response_format"]["type"] for _, _, question in server.seen]
    assert types == ["json_schema", "json_object", "json_object"]
    assert facts(made) == {"Ana lives in Porto", "Ana's dentist is Dr. Silva"}


def test_external_text_is_never_shown_to_a_model(desk: Desk, server: ModelServer) -> None:
    """S6: it may be written to mislead one; rules read it, and what it claims waits."""
    made = with_model(desk, server)
    made.sleep()
    before = len(server.seen)
    mail = {"speaker": "Ana", "text": "I live in Oslo.", "source": "mail"}
    made.remember_conversation([mail], session="mail")
    made.sleep()
    assert len(server.seen) == before
    assert "Ana lives in Oslo" not in facts(made)


# What it costs


def test_a_night_says_what_it_used(desk: Desk, server: ModelServer) -> None:
    """S6: tokens in both directions and, by the prices of that night, money; in the report, in
    the status and in the trail."""
    prices = {"sleep.price_in": 0.5, "sleep.price_out": 2.0}
    made = with_model(desk, server, **prices)
    used = {"tokens_in": 2000, "tokens_out": 100, "cost": 0.0012}
    assert made.sleep()["model"] == {"name": "qwen3:8b", **used}
    assert made.status()["model"]["last_night"] == {"nights": 1, **used}
    assert made.sleep()["model"]["tokens_in"] == 0
    assert made.status()["model"]["last_night"] == {"nights": 1, **used}
    assert verified(made)


def test_the_last_thirty_days_are_summed_up(desk: Desk, server: ModelServer) -> None:
    """S6: nights of 31 days ago are left out, and so is whatever is no night; the batches of one
    night count once."""
    made = with_model(desk, server)
    made.sleep()
    desk.clock.jump(timedelta(days=31))
    for night in range(2):
        made.remember_conversation([{"speaker": "Ana", "text": SAID}], session=f"a{night}")
        made.remember_conversation([{"speaker": "Ana", "text": SAID}], session=f"b{night}")
        made.sleep()
        desk.clock.jump(timedelta(days=1))
    status = made.status()["model"]
    assert status["last_night"] == {"nights": 1, "tokens_in": 4000, "tokens_out": 200}
    assert status["last_30_days"] == {"nights": 2, "tokens_in": 8000, "tokens_out": 400}


def test_many_events_are_read_page_by_page(
    desk: Desk, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S6: a night is found behind many other events."""
    made = with_model(desk, server)
    made.sleep()
    for number in range(5):
        made.remember(f"note {number}")
    monkeypatch.setattr("lamina.store.tables.model_use.PAGE", 2)
    assert made.status()["model"]["last_30_days"]["tokens_in"] == 2000


def test_without_a_model_nothing_is_said_about_one(op: Operator) -> None:
    """S6: rules alone cost nothing."""
    assert "model" not in op.sleep()
    assert "model" not in op.status()


# A preview


def test_a_preview_says_who_finds_what(desk: Desk, server: ModelServer) -> None:
    """S5, S6: each fact is found by both, by the rules or by the model; nothing is changed."""
    made = with_model(desk, server)
    before = size(made)
    plan = made.sleep(dry_run=True, model="")
    assert {one["fact"]: one["found_by"] for one in plan["facts"]} == {
        "Ana lives in Porto": "both",
        "Ana likes hiking": "rules only",
        "Ana's dentist is Dr. Silva": "model only",
    }
    assert plan["model"]["tokens_in"] == 2000
    assert (facts(made), size(made)) == (set(), before)


def test_a_preview_needs_no_setting_but_the_name(desk: Desk, server: ModelServer) -> None:
    """S6: a model can be tried before it is set."""
    made = with_model(desk, server, **{"sleep.model": ""})
    plan = made.sleep(dry_run=True, model="llama3")
    assert server.seen[0][2]["model"] == plan["model"]["name"] == "llama3"


def test_a_model_that_fails_has_found_nothing(desk: Desk, server: ModelServer) -> None:
    """S6: what the rules find is not taken for the model's, and the note says what happened."""
    server.play = says("", 500)
    plan = with_model(desk, server).sleep(dry_run=True, model="")
    assert {one["found_by"] for one in plan["facts"]} == {"rules only"}
    assert "the model has not read 1 session: " in plan["notes"][0]


@every(
    ("arguments", "message"),
    [
        ({"model": "m"}, "for a dry run"),
        ({"model": 5, "dry_run": True}, "not the name of a model"),
        ({"model": "a\nb", "dry_run": True}, "not the name of a model"),
        ({"model": "", "dry_run": True}, "no language model is set"),
    ],
)
def test_a_preview_without_a_model_is_refused(
    op: Operator, arguments: dict[str, Any], message: str
) -> None:
    """S6: before anything is asked."""
    with pytest.raises(InvalidInput, match=message):
        op.sleep(**arguments)


# What doctor says


def findings(desk: Desk, monkeypatch: pytest.MonkeyPatch, **settings: str) -> list[tuple[str, str]]:
    """What doctor says about the model, with settings from the environment."""
    for name, value in settings.items():
        monkeypatch.setenv(f"LAMINA_SLEEP_{name.upper()}", value)
    found = doctor.examine(Home(desk.home), "sky")
    return [(one.level, one.message) for one in found if one.check == "model"]


def test_doctor_tries_the_model(
    desk: Desk, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S6: not set, missing, silent, without structured output, blind: each is told apart."""
    [(level, told)] = findings(desk, monkeypatch)
    assert (level, "rules read" in told) == ("ok", True)
    given = {"model": "qwen3:8b", "endpoint": server.address}
    assert findings(desk, monkeypatch, **given) == [
        ("ok", "'qwen3:8b' answers within 60 seconds, in JSON by a schema")
    ]
    server.play = picky(("response_format",), claiming(HOME))
    [(level, told)] = findings(desk, monkeypatch)
    assert (level, told.endswith("in plain text")) == ("ok", True)
    server.play = claiming()
    [(level, told)] = findings(desk, monkeypatch)
    assert (level, "but finds nothing in" in told) == ("warn", True)
    server.play = says("", 404)
    [(level, told)] = findings(desk, monkeypatch)
    assert (level, "has the model 'qwen3:8b'" in told) == ("fail", True)
    server.play = dripping(b"", b"")
    [(level, told)] = findings(desk, monkeypatch, timeout_ms="200")
    assert (level, "did not answer within 0.2 seconds" in told) == ("fail", True)
    [warned, _] = findings(desk, monkeypatch, key_variable="NO_SUCH_KEY")
    assert warned == (
        "warn",
        "NO_SUCH_KEY, which sleep.key_variable names, is not set: no key is sent",
    )
