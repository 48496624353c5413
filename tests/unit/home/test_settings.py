"""The settings: where they come from, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lamina.errors import InvalidInput
from lamina.home import settings
from tests.cases import every
from tests.conftest import Desk


def write(home: Path, body: str) -> Path:
    home.mkdir(exist_ok=True)
    path = home / "config.toml"
    path.write_text(body, "utf-8")
    return path


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    """B1: nothing has to be configured."""
    values = settings.load(tmp_path, None, {}).values
    assert {name: value.value for name, value in values.items()} == {
        row.name: row.default for row in settings.SETTINGS
    }
    assert {value.origin for value in values.values()} == {"default"}


def test_argument_over_environment_over_file(tmp_path: Path) -> None:
    """H1: an argument beats the environment, which beats the file, which beats the default; each
    says where it is from."""
    path = write(
        tmp_path, '[audit]\nreads = "strict"\n[store]\nbusy_timeout_ms = 1\ncheckpoint_pages = 1\n'
    )
    environment = {"LAMINA_STORE_BUSY_TIMEOUT_MS": "2", "LAMINA_STORE_CHECKPOINT_PAGES": "2"}
    loaded = settings.load(tmp_path, {"store.checkpoint_pages": 3}, environment)
    names = ("audit.reads", "store.busy_timeout_ms", "store.checkpoint_pages", "runs.episodes")
    assert [loaded[name] for name in names] == ["strict", 2, 3, True]
    assert [loaded.values[name].origin for name in names] == [
        str(path),
        "LAMINA_STORE_BUSY_TIMEOUT_MS",
        "argument",
        "default",
    ]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("runs.episodes", "false", False),
        ("runs.episodes", "0", False),
        ("runs.episodes", "TRUE", True),
        ("runs.episodes", "1", True),
        ("content.max_bytes", "10", 10),
        ("sleep.price_in", "2.50", 2.5),
        ("sleep.price_in", "3", 3.0),
        ("kinds.extra", "recipe, song ,", ("recipe", "song")),
        ("kinds.extra", "", ()),
        ("audit.reads", "strict", "strict"),
    ],
)
def test_the_environment_is_read_as_the_settings_type(
    tmp_path: Path, name: str, text: str, value: Any
) -> None:
    """H1: texts become the type of their setting."""
    assert settings.load(tmp_path, None, {settings.TABLE[name].variable: text})[name] == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("runs.episodes", "yes"),
        ("runs.episodes", ""),
        ("content.max_bytes", ""),
        ("content.max_bytes", "many"),
        ("content.max_bytes", "1.5"),
        ("content.max_bytes", "0"),
        ("content.max_bytes", "-1"),
        ("store.busy_timeout_ms", "--5"),
        ("store.busy_timeout_ms", "-"),
        pytest.param("store.busy_timeout_ms", "9" * 5000, id="store.busy_timeout_ms-5000-digits"),
        ("sleep.price_in", "-0.5"),
        ("sleep.price_in", "nan"),
        ("sleep.price_in", "1e3"),
        ("sleep.price_in", "2,50"),
        ("audit.reads", "STRICT"),
        ("audit.reads", ""),
    ],
)
def test_a_wrong_variable_is_named(tmp_path: Path, name: str, text: str) -> None:
    """H1: a wrong value is a typed error that names the variable, never ignored and
    never a crash."""
    variable = settings.TABLE[name].variable
    with pytest.raises(InvalidInput, match=f"^{variable}: {name}"):
        settings.load(tmp_path, None, {variable: text})


def test_what_only_an_operator_says_is_in_the_file_alone(tmp_path: Path) -> None:
    """V7: whoever starts a process chooses its environment, which cannot grant anything."""
    write(tmp_path, '[mcp]\nelicitation = ["form claude-code", "url Visual Studio Code"]\n')
    loaded = settings.load(tmp_path, None, {})
    assert loaded["mcp.elicitation"] == ("form claude-code", "url Visual Studio Code")
    with pytest.raises(InvalidInput, match=r"is set in config\.toml alone"):
        settings.load(tmp_path, None, {"LAMINA_MCP_ELICITATION": "form claude-code"})
    for wrong in ("claude-code", "form", "form ", "FORM x", "form  x", "form x\n", "form \x1b"):
        with pytest.raises(InvalidInput, match="neither `form NAME` nor `url NAME`"):
            settings.load(tmp_path, {"mcp.elicitation": [wrong]}, {})


@every(
    ("name", "value"),
    [
        ("audit.reads", "never"),
        ("audit.reads", 5),
        ("content.max_bytes", "10"),
        ("content.max_bytes", 10.0),
        ("content.max_bytes", True),
        ("content.max_bytes", 0),
        ("content.max_bytes", 2**40),
        ("sleep.price_in", "2.5"),
        ("sleep.price_in", True),
        ("sleep.price_in", float("nan")),
        ("sleep.price_in", float("inf")),
        ("sleep.price_in", 10**400),
        ("kinds.extra", "recipe"),
        ("kinds.extra", [1]),
        ("kinds.extra", ["\ud800"]),
        ("kinds.extra", ["a\nb"]),
        ("kinds.extra", [""]),
        ("runs.episodes", 1),
        ("runs.episodes", None),
    ],
)
def test_a_wrong_argument_is_named(tmp_path: Path, name: str, value: object) -> None:
    """H1: type, choice and bounds are checked, and the message names setting and origin."""
    with pytest.raises(InvalidInput, match=f"^argument: {name}"):
        settings.load(tmp_path, {name: value}, {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[audit]\nread = 'strict'", r"unknown setting 'audit\.read'; did you mean audit\.reads\?"),
        ("audit = 'strict'", "unknown setting 'audit'"),
        ("[zebra]\nstripes = 5", "unknown setting 'zebra.stripes'; known are agent, audit.reads"),
        ("[store]\nbusy_timeout_ms = '5'", "not a whole number"),
        ("[audit.reads]\nx = 1", "unknown setting 'audit.reads.x'"),
        ("reads =", "is not valid TOML"),
        ("\x00", "is not valid TOML"),
        ("x = " + "[" * 5000, "is not valid TOML"),
        ("[audti]", "unknown setting 'audti'"),
    ],
    ids=["near", "table", "far", "type", "deeper", "syntax", "nul", "nesting", "empty-table"],
)
def test_a_wrong_file_is_named(tmp_path: Path, body: str, message: str) -> None:
    """H1: an unknown key suggests the nearest one, bad TOML says so, and the file is named; nothing
    is ignored."""
    path = write(tmp_path, body)
    with pytest.raises(InvalidInput, match=message) as caught:
        settings.load(tmp_path, None, {})
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    """H1: bytes that are not UTF-8, and a folder in the file's place, are typed errors."""
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not valid TOML"):
        settings.load(tmp_path, None, {})
    (tmp_path / "config.toml").unlink()
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(InvalidInput, match="cannot be read"):
        settings.load(tmp_path, None, {})


@pytest.mark.parametrize(
    "arguments", [{"audit.read": "strict"}, {5: 1}, {"": 1}], ids=["near", "number", "empty"]
)
def test_an_unknown_argument_is_named(tmp_path: Path, arguments: dict[Any, Any]) -> None:
    """H1: also from Python a setting that does not exist is a typed error."""
    with pytest.raises(InvalidInput, match=r"^argument: unknown setting"):
        settings.load(tmp_path, arguments, {})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "mirrors.chroma",
            "embeded",
            "is neither off, embedded nor an address such as .*; did you mean embedded\\?$",
        ),
        (
            "mirrors.chroma",
            "localhost:8000",
            "is neither off, embedded nor an address such as http://localhost:8000$",
        ),
        (
            "mirrors.weaviate",
            "http://ana:secret@host",
            r"'http://ana:\*\*\*@host' is neither off nor an address",
        ),
        (
            "recall.embedders",
            ["none", "minilmm"],
            "'minilmm' is neither none, .*; did you mean minilm\\?$",
        ),
        ("preset", "Milton", "is not one of .*; did you mean milton\\?$"),
    ],
)
def test_a_wrong_word_is_told_in_words(
    tmp_path: Path, name: str, value: object, message: str
) -> None:
    """H1: what would be right is said without a pattern, with the word that was perhaps meant; a
    password is not shown."""
    with pytest.raises(InvalidInput, match=message) as caught:
        settings.load(tmp_path, {name: value}, {})
    assert "secret" not in caught.value.message


def test_a_preset_says_what_it_sets(tmp_path: Path) -> None:
    """B4, H1: under the preset `milton` a Weaviate is required, and the setting tells why; whoever
    says otherwise is heard."""
    given = {"preset": "milton", "mirrors.weaviate": "http://localhost:8080"}
    required = settings.load(tmp_path, given, {}).values["mirrors.weaviate_required"]
    assert (required.value, required.origin) == (True, "preset milton")
    required = settings.load(tmp_path, {**given, "mirrors.weaviate_required": False}, {}).values[
        "mirrors.weaviate_required"
    ]
    assert (required.value, required.origin) == (False, "argument")


def test_a_wrong_setting_opens_nothing(desk: Desk) -> None:
    """H1: a handle with a wrong setting is not opened, and no folder is made for it."""
    with pytest.raises(InvalidInput, match="argument"):
        desk.agent(settings={"audit.reads": "perhaps"})
    assert not desk.home.exists()


def test_settings_reach_the_handle(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5, R8: kinds and limits of the home, the environment and the call take effect
    in the handle."""
    write(desk.home, "[kinds]\nextra = ['recipe']\n")
    monkeypatch.setenv("LAMINA_CONTENT_MAX_BYTES", "4")
    mem = desk.agent()
    assert mem.remember("soup", kind="recipe").kind == "recipe"
    assert [record.kind for record in mem.list(kinds=["recipe"])] == ["recipe"]
    with pytest.raises(InvalidInput, match=r"content\.max_bytes"):
        mem.remember("soups")
    assert desk.agent(settings={"content.max_bytes": 5}).remember("soups").content == "soups"


def test_every_setting_is_documented() -> None:
    """H1: a setting has a help text, a default within its own bounds, and a variable of its own."""
    assert len({setting.variable for setting in settings.SETTINGS}) == len(settings.SETTINGS)
    for setting in settings.SETTINGS:
        assert setting.help
        settings._checked(setting.name, setting.default, "default")
