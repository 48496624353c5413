"""Promises of `lamina config`: it shows, sets and unsets what config.toml says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import every
from tests.surfaces.conftest import Call


def test_a_setting_is_set_and_unset(call: Call, tmp_path: Path) -> None:
    """H1: the file has the value, `config` shows where it comes from, and unsetting brings the
    default back."""
    path = tmp_path / "home" / "config.toml"
    done = call("config", "set", "sleep.sure", "70")
    assert done.out == f"sleep.sure = 70  (from {path})\n"
    assert path.read_text() == "[sleep]\nsure = 70\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert call("--json", "config", "set", "recall.embedders", "none, minilm").json["value"] == [
        "none",
        "minilm",
    ]
    shown = {one["name"]: one for one in call("config", "--json").json}
    assert (shown["sleep.sure"]["value"], shown["sleep.sure"]["origin"]) == (70, str(path))
    assert call("config", "unset", "sleep.sure").out == "sleep.sure = 60  (from default)\n"
    assert "sleep" not in path.read_text()


@every(
    ("words", "message"),
    [
        (["set", "slep.sure", "70"], "there is no setting 'slep.sure'; did you mean sleep.sure?"),
        (["set", "nonsense", "70"], "`lamina config` lists them"),
        (["set", "sleep.sure", "700"], "sleep.sure = 700 is not between 0 and 100"),
        (["set", "sleep.sure", "many"], "is not a whole number"),
        (["set", "sleep.sure", "0.7"], "is not a whole number; it is in per cent: use 70"),
        (["get", "sleep.sure"], "`lamina config` alone: show every setting, its value,"),
        (["set", "recall.boosts", "perhaps"], "is not true or false"),
        (["set", "maintenance", "aut"], "did you mean auto?"),
        (["set", "sleep.sure"], "needs VALUE, such as: lamina config set sleep.sure 70"),
        (["unset", "sleep.sure"], "does not set sleep.sure; there is nothing to unset"),
        (["show"], "`lamina config` has no command 'show'; it has set, unset"),
    ],
)
def test_a_wrong_setting_changes_nothing(
    call: Call, tmp_path: Path, words: list[str], message: str
) -> None:
    """H1: the error names the setting and what it takes."""
    outcome = call("config", *words)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "home" / "config.toml").exists()


def test_a_variable_goes_over_the_file(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: whoever sets what the environment sets already is told that it does not hold."""
    monkeypatch.setenv("LAMINA_SLEEP_SURE", "50")
    done = call("config", "set", "sleep.sure", "60")
    assert "sleep.sure = 50  (from LAMINA_SLEEP_SURE)" in done.out
    assert "LAMINA_SLEEP_SURE in the environment overrides the file" in done.err


def test_settings_are_for_operators(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V7: an agent with a shell sets nothing."""
    monkeypatch.setenv("LAMINA_ROLE", "agent")
    assert call("config", "set", "secrets.capture", "off").code == 1
    assert call("config", "unset", "secrets.capture").code == 1
    assert not (tmp_path / "home" / "config.toml").exists()
