"""Promises of `lamina mirror`: tables for people, JSON for programs, and an exit code that tells
whether all is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.conftest import Call, remembered


@pytest.fixture
def mirrored(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A program whose mirror is on, and a memory."""
    monkeypatch.setenv("LAMINA_MIRRORS_JSONL", "sky")
    remembered(call, "I drink tea")
    return call


def lines(home: Path) -> Path:
    return next(home.rglob("short_term.jsonl"))


def test_nothing_is_on(call: Call) -> None:
    """H1: whoever has no mirror is told where they are turned on."""
    for verb in ("status", "sync", "rebuild", "verify"):
        done = call("mirror", verb)
        assert (done.code, "mirrors.jsonl" in done.out) == (0, True)


def test_status(mirrored: Call) -> None:
    """B7: where each is, and how far."""
    done = mirrored("mirror", "status")
    assert (done.code, "up to date" in done.out, "jsonl" in done.out) == (0, True, True)
    [one] = mirrored("mirror", "status", "--json").json
    assert (one["name"], one["behind"], one["problem"]) == ("jsonl", 0, None)


def test_a_status_changes_nothing(mirrored: Call, tmp_path: Path) -> None:
    """B7: looking brings no mirror up to date."""
    lines(tmp_path).unlink()
    for _ in range(2):
        assert "not made yet" in mirrored("mirror", "status").out


def test_sync_and_rebuild(mirrored: Call) -> None:
    """B7: what was done in each."""
    assert mirrored("mirror", "sync").out == "jsonl: 0 put, 0 dropped\n"
    assert mirrored("mirror", "rebuild").out == "jsonl: 1 put, 0 dropped\n"
    assert mirrored("mirror", "rebuild", "jsonl", "--json").json["jsonl"]["rebuilt"] is True
    assert mirrored("mirror", "rebuild", "other").code == 2


def test_verify(mirrored: Call, tmp_path: Path) -> None:
    """B7: what differs is named, with the command that mends it, and the exit code is 1."""
    assert mirrored("mirror", "verify").out == "ok   jsonl     1 memory\n"
    path = lines(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"tea", b"mud"))
    done = mirrored("mirror", "verify")
    assert (
        done.code,
        "1 outdated of 1 held" in done.out,
        "lamina mirror rebuild jsonl" in done.out,
    ) == (1, True, True)
    found = mirrored("mirror", "verify", "jsonl", "--json")
    assert (found.code, found.json["jsonl"]["outdated"]) == (1, 1)
    assert mirrored("mirror", "rebuild").code == 0
    assert mirrored("mirror", "verify").code == 0


def test_a_server_that_is_not_there(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: it costs a memory nothing; commands about mirrors say what is wrong, and exit with 1."""
    monkeypatch.setenv("LAMINA_MIRRORS_CHROMA", "http://127.0.0.1:9")
    assert remembered(call, "I drink tea")["content"] == "I drink tea"
    for verb in ("sync", "rebuild", "verify"):
        done = call("mirror", verb)
        assert (done.code, "cannot be reached" in done.out) == (1, True)
    assert "rebuild" not in call("mirror", "verify").out
    assert "?;" not in call("mirror", "status").out


def test_a_pipe_is_told_everything(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: what is wrong with a mirror is not cut where nobody reads it on a terminal."""
    monkeypatch.setenv("LAMINA_MIRRORS_CHROMA", f"http://127.0.0.1:9/{'long' * 60}")
    done = call("mirror", "status")
    assert (
        done.code,
        "start the server, or correct its address" in done.out,
        len(done.out.splitlines()),
    ) == (0, True, 2)


def test_the_status_tells_of_mirrors(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2, B3: `lamina status` names a mirror that is down, behind or missing, and one that is
    searched and off."""
    remembered(call, "I drink tea")
    monkeypatch.setenv("LAMINA_RECALL_VIA", "chroma")
    assert "mirrors.chroma is off" in call("status").out
    monkeypatch.setenv("LAMINA_MIRRORS_CHROMA", "http://127.0.0.1:9")
    assert "the mirror chroma cannot be used: " in call("status").out
    monkeypatch.setenv("LAMINA_RECALL_VIA", "store")
    monkeypatch.setenv("LAMINA_MIRRORS_CHROMA", "off")
    monkeypatch.setenv("LAMINA_MIRRORS_JSONL", "sky")
    assert "the mirror jsonl is not made yet" in call("status").out
    call("mirror", "sync")
    assert call("status", "--json").json["problems"] == []
    monkeypatch.setenv("LAMINA_MIRRORS_JSONL", "off")
    remembered(call, "I drink coffee")
    monkeypatch.setenv("LAMINA_MIRRORS_JSONL", "sky")
    assert "the mirror jsonl is 1 event behind" in call("status").out


def test_a_key_that_is_not_there(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3: a variable that should hold the key of Weaviate and does not is named."""
    monkeypatch.setenv("LAMINA_MIRRORS_WEAVIATE", "http://127.0.0.1:9")
    monkeypatch.setenv("LAMINA_MIRRORS_WEAVIATE_KEY_VARIABLE", "NO_SUCH_KEY")
    for words in (("status",), ("mirror", "status")):
        assert "'NO_SUCH_KEY', which is not set here" in call(*words).out


@pytest.mark.parametrize("address", ["ftp://host", "host:8000", "embeded", "http://"])
def test_a_wrong_address(call: Call, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """H1: a setting that is no address is refused before anything is done."""
    monkeypatch.setenv("LAMINA_MIRRORS_CHROMA", address)
    assert call("remember", "tea").code == 2
