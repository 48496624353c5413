"""Agents of one home in several places."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina.errors import InvalidInput
from lamina.home import settings

HERE, EU, US = (f"postgresql://lamina:secret@{name}.example/lamina" for name in ("db", "eu", "us"))


def loaded(home: Path, *placements: str, **arguments: str) -> settings.Settings:
    listed = ", ".join(f'"{one}"' for one in placements)
    (home / "config.toml").write_text(
        f'[store]\nurl = "{HERE}"\nplacements = [{listed}]\n', "utf-8"
    )
    return settings.load(home, arguments, {})


def test_the_first_placement_that_fits_decides(tmp_path: Path) -> None:
    """B3: an agent is where the first pattern that fits its name says, and the others are at
    `store.url`."""
    values = loaded(tmp_path, "sky file", f"eu-* {EU}", f"e* {US}")
    places = {name: values.placed(name)["store.url"] for name in ("sky", "eu-1", "eva", "milton")}
    assert places == {"sky": "", "eu-1": EU, "eva": US, "milton": HERE}


def test_an_argument_says_more(tmp_path: Path) -> None:
    """B3: who names an address gets it."""
    values = settings.load(tmp_path, {"store.url": EU, "store.placements": [f"* {US}"]}, {})
    assert values.placed("sky")["store.url"] == EU


@pytest.mark.parametrize(
    "wrong", ["sky", "sky there", "postgresql://db/x", "a b file", "* http://x"]
)
def test_a_wrong_placement_is_named(tmp_path: Path, wrong: str) -> None:
    """R12: a line that is no placement is refused, and nothing is opened elsewhere instead."""
    with pytest.raises(InvalidInput, match="not a pattern for names of agents"):
        loaded(tmp_path, wrong)


def test_passwords_are_not_shown(tmp_path: Path) -> None:
    """R9: a placement is shown without its password."""
    shown = settings.shown_value(loaded(tmp_path, f"eu-* {EU}")["store.placements"])
    assert "secret" not in shown
    assert "eu.example" in shown
