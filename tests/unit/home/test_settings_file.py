"""Promises of the file of settings: a value changes, and everything else stays as it was."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, Refused
from lamina.home import settings, settings_file
from tests.cases import every

MINE = """\
# mine
preset = "sky"  # as before

[sleep] # at night
sure = 70
likely=40

[audit]
reads = "strict"
"""


@every(
    ("text", "name", "value", "made"),
    [
        ("", "preset", "sky", 'preset = "sky"\n'),
        ("", "sleep.sure", 70, "[sleep]\nsure = 70\n"),
        ("[sleep]\nlikely = 40\n", "sleep.sure", 70, "[sleep]\nsure = 70\nlikely = 40\n"),
        ("[ sleep ]\n  sure = 1\n", "sleep.sure", 70, "[ sleep ]\n  sure = 70\n"),
        ("sleep.sure = 1\n", "sleep.sure", 70, "sleep.sure = 70\n"),
        ("[sleep]\nsure = 70 # why\n", "sleep.sure", 70, "[sleep]\nsure = 70 # why\n"),
        ("x = 1\n", "recall.boosts", False, "x = 1\n\n[recall]\nboosts = false\n"),
        ("", "recall.embedders", ("none",), '[recall]\nembedders = ["none"]\n'),
        ("", "sleep.price_in", 0.5, "[sleep]\nprice_in = 0.5\n"),
        ("", "store.url", 'a"b\\é', '[store]\nurl = "a\\"b\\\\é"\n'),
    ],
)
def test_a_value_is_put_where_it_belongs(text: str, name: str, value: Any, made: str) -> None:
    """H1: in its own line, in its table, or in a new one."""
    assert settings_file.put(text, name, value) == made


def test_the_rest_of_the_file_stays() -> None:
    """H1: comments, order and spelling of everything else are kept, byte by byte."""
    made = settings_file.put(MINE, "sleep.sure", 80)
    assert made == MINE.replace("sure = 70", "sure = 80")
    assert settings_file.put(made, "sleep.sure", 70) == MINE
    assert settings_file.take_out(MINE, "sleep.likely") == MINE.replace("likely=40\n", "")
    without = settings_file.take_out(MINE, "audit.reads")
    assert without == MINE.replace('[audit]\nreads = "strict"\n', "")


@every(
    "text",
    [
        "sleep = {sure = 1, likely = 2}\n",
        'note = """\n[sleep]\nsure = 1\n"""\n[sleep]\nsure = 2\n',
    ],
)
def test_what_only_a_person_can_change_is_left_alone(text: str) -> None:
    """H1: a file may say the same in many ways; one that we do not read is refused, not broken."""
    with pytest.raises(InvalidInput, match="only you can change; write sure = 70"):
        settings_file.put(text, "sleep.sure", 70)


def test_a_file_that_is_no_toml_is_left_alone(tmp_path: Path) -> None:
    """H1: nothing is written over a file that cannot be read, or through a link."""
    path = tmp_path / settings.FILE_NAME
    path.write_text("nonsense")
    with pytest.raises(InvalidInput, match="not valid TOML"):
        settings_file.change(tmp_path, {"sleep.sure": 70})
    assert path.read_text() == "nonsense"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        settings_file.change(tmp_path, {"sleep.sure": 70})
    assert not (tmp_path / "elsewhere").exists()


def test_a_name_that_is_no_setting_can_be_taken_out(tmp_path: Path) -> None:
    """H1: a misspelt setting keeps everything from starting; taking it out mends that."""
    path = tmp_path / settings.FILE_NAME
    path.write_text("[sleep]\nsuer = 70\nsure = 60\n")
    with pytest.raises(InvalidInput, match=r"sleep\.suer"):
        settings.load(tmp_path, environment={})
    settings_file.change(tmp_path, {"sleep.suer": None})
    assert settings.load(tmp_path, environment={})["sleep.sure"] == 60
    with pytest.raises(InvalidInput, match=r"does not set sleep\.suer"):
        settings_file.change(tmp_path, {"sleep.suer": None})


KEYS = st.sampled_from(["a", "b", "sleep.sure", "sleep.likely", "audit.reads", "x.y.z"])
VALUES = st.integers(-5, 5) | st.booleans() | st.text(max_size=5) | st.lists(st.text(max_size=3))


@given(st.lists(st.tuples(KEYS, VALUES), max_size=8), KEYS)
def test_any_values_in_any_order(puts: list[tuple[str, Any]], gone: str) -> None:
    """H1: after any changes the file says exactly what was set last, and what was taken out is
    not in it."""
    text, wanted = "# first\n", {}
    for name, value in puts:
        try:
            value_in_toml = tomllib.loads(f"x = {settings_file._toml(value)}")["x"]
        except tomllib.TOMLDecodeError:  # a character that TOML has no place for
            continue
        text = settings_file.put(text, name, value)
        wanted[name] = value_in_toml
    assert settings.by_name(text) == wanted
    if gone in wanted:
        text = settings_file.take_out(text, gone)
        del wanted[gone]
    assert settings.by_name(text) == wanted
    assert text.count("# first") == 1
