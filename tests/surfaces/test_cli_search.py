"""Promises of the commands that find: what they print, what they say beside it, and
how they exit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lamina.search import RANKERS
from lamina.surfaces.cli import output
from lamina.text import fence
from tests.surfaces.conftest import Call, remembered

TEA = "Ana drinks green tea every morning"
BICYCLE = "Ben repaired the old bicycle"


@pytest.fixture
def filled(call: Call) -> Call:
    """A home with some memories."""
    remembered(
        call,
        TEA,
        "--tag",
        "drink",
        "--tag",
        "morning",
        "--meta",
        "place=kitchen",
        "--meta",
        "cups=2",
    )
    remembered(call, BICYCLE, "--tag", "morning", "--meta", "place=garage")
    return call


def found(call: Call, *arguments: str) -> list[str]:
    """The texts that a search finds."""
    outcome = call("search", *arguments, "--json")
    assert outcome.code == (0 if outcome.json["hits"] else 4), outcome.err
    return [hit["record"]["content"] for hit in outcome.json["hits"]]


# search


def test_what_does_not_hold_is_marked(call: Call) -> None:
    """C3, H1: a search prints what became of the facts of a saying, in rows, parts and JSON."""
    said = ("--layer", "episodic", "--speaker", "Mia")
    remembered(call, "I live in Hamburg now.", *said, "--session", "s1")
    remembered(call, "My manager is Tom.", *said, "--session", "s2")
    assert call("sleep").code == 0
    listed = call("list", "--layer", "semantic", "--json").json
    ids = {one["metadata"]["value"]: one["id"] for one in listed}
    assert call("correct", ids["Hamburg"], "Mia lives in Berlin", "--reason", "no").code == 0
    assert call("rollback", ids["Tom"], "--reason", "no").code == 0
    now = "(no longer Hamburg; now: Mia lives in Berlin)"
    assert f"I live in Hamburg now. {now}" in call("search", "where do I live").out
    assert now in call("search", "where do I live", "--explain").out
    assert "My manager is Tom. (rejected: Tom)" in call("search", "who is my manager").out
    (hit,) = call("search", "who is my manager", "--json").json["hits"]
    assert hit["outdated"] == {"values": [], "rejected": ["Tom"], "now": []}


@pytest.mark.parametrize("ranker", RANKERS)
def test_every_ranker_can_be_chosen(filled: Call, ranker: str) -> None:
    """`--ranker` chooses, the best match comes first, and the parts of a score add up to
    it (H1, Q6)."""
    outcome = filled("search", "green tea in the morning", "--ranker", ranker, "--json")
    assert outcome.code == 0
    hit = outcome.json["hits"][0]
    assert hit["record"]["content"] == TEA
    assert sum(hit["parts"].values()) == pytest.approx(hit["score"])
    assert outcome.err == ""


@pytest.mark.parametrize("ranker", RANKERS)
def test_the_shape_of_an_answer(filled: Call, ranker: str) -> None:
    """`--json` prints outcome, hits and confidence as in Python, and notes only when there are some
    (H1, Q7)."""
    answer = filled("search", "green tea", "--ranker", ranker, "--json").json
    assert answer.keys() == {"outcome", "hits", "confidence"}
    assert (answer["confidence"] is None) == (ranker != "hybrid")
    assert answer["outcome"] == "found"
    assert all(hit.keys() == {"score", "parts", "record"} for hit in answer["hits"])


@pytest.mark.parametrize("ranker", ["keyword", "overlap", "exact"])
def test_nothing_relevant_is_exit_code_4(filled: Call, ranker: str) -> None:
    """Without a match it says so and exits with 4, with --json too (H1, Q7)."""
    outcome = filled("search", "zebra", "--ranker", ranker)
    assert (outcome.code, outcome.out.strip(), outcome.err) == (4, "nothing relevant", "")
    outcome = filled("search", "zebra", "--ranker", ranker, "--json")
    nothing: dict[str, Any] = {"outcome": "nothing_relevant", "hits": [], "confidence": None}
    assert (outcome.code, outcome.json, outcome.err) == (4, nothing, "")
    assert filled("search", "?!").code == 4


def test_a_table_holds_a_line_for_each_hit(filled: Call) -> None:
    """Without --json, a hit is a line with its score, id and text (H1)."""
    lines = filled("search", "morning", "--ranker", "keyword").out.splitlines()
    assert lines[0].split()[:2] == ["score", "id"]
    assert len(lines) == 3
    assert BICYCLE in lines[1]
    assert TEA in lines[2]


def test_explain_draws_the_parts(filled: Call) -> None:
    """`--explain` shows each part with its number and a bar, and the score that they add up
    to (H1, Q6)."""
    out = filled("search", "green tea", "--ranker", "keyword", "--explain").out
    for name in ("relevance", "recency", "importance", "= score"):
        assert name in out
    assert "█" in out
    parts = [line.split() for line in out.splitlines() if line.startswith("   ") and "█" in line]
    assert all(float(words[1]) > 0 for words in parts)


def test_explain_draws_negative_parts(call: Call) -> None:
    """A part that takes away is shown with its sign, and the sum is right (H1, Q6)."""
    remembered(
        call, "I recommend green tea in the morning", "--speaker", "assistant", "--session", "s"
    )
    remembered(call, "What about green tea in the morning?", "--speaker", "user", "--session", "s")
    outcome = call("search", "who drinks green tea in the morning", "--explain")
    assert outcome.code == 0
    shown: list[list[float]] = []
    for line in outcome.out.splitlines():
        words = line.split()
        if line[:1].isdigit():
            shown.append([])
        elif words[:2] == ["=", "score"]:
            assert sum(shown[-1]) == pytest.approx(float(words[2]), abs=0.01)
        elif (
            line.startswith("   ")
            and len(words) >= 2
            and words[1].lstrip("-").replace(".", "").isdigit()
        ):
            shown[-1].append(float(words[1]))
    assert len(shown) == 2
    assert all(min(parts) < 0 for parts in shown)


@pytest.mark.parametrize(
    ("value", "best"), [(0, 1), (1, 1), (0.5, 1), (1, 0), (0.3, -1), (-1, 1), (0.01, 1)]
)
def test_a_bar_fits(value: float, best: float) -> None:
    """A bar is never longer than its place for a part that is no larger than the
    best score (H1)."""
    assert len(output.bar(value, best)) <= output.BAR


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--tag", "drink"], [TEA]),
        (["--tag", "drink", "--tag", "morning"], [TEA, BICYCLE]),
        (["--all-tag", "drink", "--all-tag", "morning"], [TEA]),
        (["--all-tag", "MORNING "], [TEA, BICYCLE]),
        (["--all-tag", "drink", "--all-tag", "evening"], []),
        (["--meta", "place=garage"], [BICYCLE]),
        (["--meta", "cups=2"], [TEA]),
        (["--meta", "place=kitchen", "--meta", "cups=2"], [TEA]),
        (["--meta", "place=kitchen", "--meta", "cups=3"], []),
        (["--layer", "semantic"], []),
        (["--state", "tombstoned"], []),
        (["--limit", "1", "--tag", "drink"], [TEA]),
        (["--since", "2000-01-01", "--until", "2000-01-02"], []),
        (["--since", "2000-01-01"], [TEA, BICYCLE]),
    ],
)
def test_filters(filled: Call, arguments: list[str], expected: list[str]) -> None:
    """Each filter of a search can be given, several are joined, and none finds what does not pass
    (H1, Q3)."""
    assert sorted(
        found(filled, "morning tea bicycle", "--ranker", "keyword", *arguments)
    ) == sorted(expected)


def test_two_times(filled: Call) -> None:
    """`--as-of` and `--known-at` take a day or a time: before the memories were made, nothing was
    known (H1, Q10)."""
    assert found(filled, "green tea", "--known-at", "2001-01-01") == []
    assert found(filled, "green tea", "--known-at", "2999-01-01T00:00:00Z")[0] == TEA
    assert found(filled, "green tea", "--as-of", "2001-01-01") == []
    assert found(filled, "green tea", "--as-of", "2999-01-01")[0] == TEA
    remembered(filled, "The office was in Lisbon", "--at", "1999-12-31")
    assert found(filled, "office in Lisbon", "--as-of", "2001-01-01") == [
        "The office was in Lisbon"
    ]
    assert found(filled, "office in Lisbon", "--known-at", "2001-01-01") == []


def test_notes_stand_beside_the_answer(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be used is told on stderr, and with --json in the answer alone (H1, Q5)."""
    monkeypatch.setenv("LAMINA_RECALL_EMBEDDERS", "openai:tiny")
    monkeypatch.setenv("LAMINA_RECALL_ENDPOINT", "http://127.0.0.1:9/v1")
    outcome = filled("search", "green tea")
    assert outcome.code == 0
    assert TEA in outcome.out
    assert "note" not in outcome.out
    assert outcome.err.startswith("note: openai:")
    assert "cannot be reached" in outcome.err
    outcome = filled("search", "green tea", "--json")
    assert outcome.json.keys() == {"outcome", "hits", "notes", "confidence"}
    assert len(outcome.json["notes"]) == 1
    assert outcome.err == ""
    outcome = filled("search", "zebra", "--ranker", "semantic")
    assert (outcome.code, outcome.out.strip()) == (4, "nothing relevant")
    assert outcome.err.startswith("note: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "x", "--ranker", "magic"],
        ["search", "x", "--meta", "novalue"],
        ["search", "x", "--meta", "place=[]"],
        ["search", "x", "--as-of", "some day"],
        ["search", "x", "--known-at", "2026-13-01"],
        ["search", "x", "--limit", "10001"],
        ["search", "x", "--layer", "working"],
        ["search", "x", "--layer", "attic"],
        ["search", "x", "--kind", "poem"],
        ["search", "x" * 65_537],
        ["search"],
        ["context"],
        ["context", "x", "--max-chars", "199"],
        ["context", "x", "--max-chars", "many"],
        ["model", "pull", "gpt-17"],
        ["model", "pull", "../../etc/passwd"],
        ["model", "pull"],
        ["index", "now"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_wrong_usage_is_exit_code_2(call: Call, arguments: list[str]) -> None:
    """Wrong words exit with 2 and one error on stderr, as JSON with --json (H1, Q7)."""
    outcome = call(*arguments, "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert json.loads(outcome.err)["error"].keys() >= {"code", "message"}
    assert call(*arguments).code == 2


@pytest.mark.parametrize("name", ["word2vec", "openai:", "minilm,word2vec"])
def test_a_wrong_embedder_is_exit_code_2(
    call: Call, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A wrong `LAMINA_RECALL_EMBEDDERS` is named (H1, Q5)."""
    monkeypatch.setenv("LAMINA_RECALL_EMBEDDERS", name)
    outcome = call("search", "x")
    assert outcome.code == 2
    assert "LAMINA_RECALL_EMBEDDERS" in outcome.err


def test_what_is_found_cannot_steer_the_terminal(call: Call) -> None:
    """Stored control characters are spelled out in tables and explanations (H1)."""
    remembered(call, "tea \x1b[31m\u202e\x07 red", "--tag", "a")
    for arguments in (
        ["search", "tea"],
        ["search", "tea", "--explain"],
        ["search", "tea", "--ranker", "keyword"],
    ):
        out = call(*arguments).out
        assert "\x1b[31m\u202e" not in out
        assert "\u202e" not in out
        assert "\x07" not in out
        assert "<U+202E>" in out


# context


def profile(call: Call, text: str) -> dict[str, Any]:
    more = (
        "--layer",
        "profile",
        "--meta",
        "profile_key=drink",
        "--meta",
        "value=tea",
        "--meta",
        "reason=said",
    )
    return remembered(call, text, *more)


def test_context_is_fenced(call: Call) -> None:
    """`context` prints the fenced text, with --json also the hits in it; nothing relevant is exit
    code 4 (H1, Q9)."""
    outcome = call("context", "green tea")
    assert (outcome.code, outcome.out.strip()) == (4, "nothing relevant")
    assert call("context", "green tea", "--json").json == {"text": "", "items": []}
    record = profile(call, TEA)
    outcome = call("context", "green tea in the morning")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert (lines[0], lines[-1]) == (fence.OPEN, fence.CLOSE)
    assert lines[2:4] == ["[always]", f"[{record['id'][-6:]}] {TEA}"]
    answer = call("context", "green tea in the morning", "--json").json
    assert answer["text"] == outcome.out.strip()
    assert [item["record"]["id"] for item in answer["items"]] == [record["id"]]


def test_context_explains_itself(call: Call) -> None:
    """`--explain` says of each memory why it is there; `--session` leaves out what it was given
    before, `--project` what belongs to others (H1, C1, C6, C7)."""
    own = remembered(call, "tests run with make check", "--project", "importer")
    remembered(call, "tests run with npm test", "--project", "shop")
    asked = ("context", "how do the tests run?", "--session", "s1", "--explain")
    lines = call(*asked, "--project", "importer").out.splitlines()
    assert lines[-1].split() == [own["id"][-6:], "always", "always:", "project"]
    assert not any("npm" in line for line in lines)
    assert any("npm" in line for line in call(*asked).out.splitlines())
    assert call(*asked).code == 4
    assert len(call("context", "how do the tests run?", "--tokens", "60").out) <= 300


def test_context_is_bounded(call: Call) -> None:
    """`--max-chars` bounds the text (H1, Q9)."""
    profile(call, f"{TEA}. " * 100)
    assert len(call("context", "green tea", "--json").json["text"]) <= 2000
    assert len(call("context", "green tea", "--max-chars", "300", "--json").json["text"]) <= 300


# index


def test_index_says_how_many_were_missing(filled: Call) -> None:
    """`index` makes what is missing and says how much it was (H1, L2)."""
    assert filled("index", "--json").json == {"embedded": 2}
    assert filled("index", "--json").json == {"embedded": 0}
    remembered(filled, "one more")
    outcome = filled("index")
    assert outcome.code == 0
    assert outcome.out.startswith("1 vector")
    assert filled("audit", "verify").code == 0


def test_index_with_an_embedder_that_is_away(filled: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be embedded is an error with exit code 1 that says why (H1, Q5)."""
    monkeypatch.setenv("LAMINA_RECALL_EMBEDDERS", "openai:tiny")
    monkeypatch.setenv("LAMINA_RECALL_ENDPOINT", "http://127.0.0.1:9/v1")
    outcome = filled("index", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.err)["error"]["code"] == "embedder_failed"
    outcome = filled("index")
    assert outcome.code == 1
    assert "cannot be reached" in outcome.err
    assert "Traceback" not in outcome.err


# models


def test_models_are_listed(call: Call) -> None:
    """`model list` shows the known models, and which are here (H1)."""
    models = call("model", "list", "--json").json
    assert {"wordllama", "minilm"} <= {model["name"] for model in models}
    assert all(isinstance(model["here"], bool) for model in models)
    table = call("model", "list")
    assert table.code == 0
    assert "wordllama" in table.out
    assert "licence" in table.out


def test_an_unknown_model_is_not_fetched(call: Call, tmp_path: Path) -> None:
    """`model pull` of a name that nobody knows exits with 2, names the known ones, and leaves
    nothing behind (H1)."""
    outcome = call("model", "pull", "gpt-17")
    assert outcome.code == 2
    assert "minilm" in outcome.err
    assert not list((tmp_path / "home").rglob("*gpt-17*"))


def test_a_model_may_be_given_by_hand(call: Call, tmp_path: Path) -> None:
    """`model pull --from` exits with 2 where nothing is, and takes no other bytes than the pinned
    ones (H1, Q4)."""
    nowhere = call("model", "pull", "e5", "--from", str(tmp_path / "nowhere"))
    assert nowhere.code == 2
    assert "is not there" in nowhere.err
    (tmp_path / "other.onnx").write_bytes(b"another model")
    other = call("model", "pull", "e5", "--from", str(tmp_path / "other.onnx"))
    assert other.code == 1
    assert "other bytes are not used" in other.err
    assert not list((tmp_path / "home").rglob("*.onnx"))


# inspect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met yesterday", ["speaks of 2026-05-12"]),
        ("We met on 7 May 2025", ["speaks of 2025-05-07"]),
        ("The trip was in March 2025", ["speaks of 2025-03-01 to 2025-03-31"]),
        ("We met", []),
    ],
)
def test_inspect_shows_the_days_that_a_text_speaks_of(
    call: Call, text: str, expected: list[str]
) -> None:
    """Dates are resolved against when it happened, and shown with the words that said
    so (H1, Q5)."""
    record = remembered(call, text, "--at", "2026-05-13")
    spoken = [
        line for line in call("inspect", record["id"]).out.splitlines() if "speaks of" in line
    ]
    assert [line.partition(" (")[0] for line in spoken] == expected
    assert all(line.partition('"')[2].rstrip('")') in text for line in spoken)


# The program itself


def test_the_program_searches_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Through the real program: found is 0, nothing relevant 4, wrong usage 2; output is UTF-8
    whatever the locale (H1)."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")
    }
    environment |= {"LAMINA_HOME": str(tmp_path), "LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}

    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lamina.surfaces.cli.main", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False
        )

    assert program("remember", "緑茶を毎朝飲む green tea").returncode == 0
    done = program("search", "green tea", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hits"][0]["record"]["content"] == "緑茶を毎朝飲む green tea"
    done = program("search", "緑茶", "--explain")
    assert done.returncode == 0
    assert "緑茶" in done.stdout
    done = program("search", "zebra", "--ranker", "keyword")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (4, "nothing relevant", "")
    assert program("search", "x", "--ranker", "magic").returncode == 2


def test_a_session_and_the_words_of_sky(call: Call) -> None:
    """Q3, R5, R8, H7: `--session` keeps to one conversation in list and search; `--meta type=error`
    is the kind unless one is given; blank tags and evidence are dropped."""
    blank = ("--tag", "", "--tag", "tea", "--evidence", " ")
    kept = remembered(call, "the kettle leaks", "--session", "s1", "--meta", "type=error", *blank)
    remembered(call, "the kettle is new", "--session", "s2")
    assert (kept["kind"], kept["tags"], kept["evidence"]) == ("error", ["tea"], [])
    for words in (("list",), ("search", "kettle")):
        assert "leaks" in call(*words, "--session", "s1").out
        assert "is new" not in call(*words, "--session", "s1").out
    assert call("list", "--session", "s3").out == "no memory matches\n"
    assert remembered(call, "x", "--meta", "type=error", "--kind", "fact")["kind"] == "fact"
    assert remembered(call, "y", "--meta", "type=weather")["metadata"] == {"type": "weather"}
