"""The private home: names, folders, modes, and what is written about those who try."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.home import folder
from lamina.home.folder import Home
from lamina.model.record import Actor, Role
from lamina.text.lookalikes import skeleton
from tests.cases import every
from tests.conftest import START, Desk

INTRUDER = Actor(Role.AGENT, "sky", "test")


@every(
    "name", ["a", "0", "sky", "sky-2", "sky_2", "a-", "x" * 64, "com", "com10", "console", "lpt"]
)
def test_plain_names_are_allowed(name: str) -> None:
    """P2: a-z, 0-9, - and _, at most 64 characters, starting with a letter or digit."""
    assert folder.agent_name(name) == name


@pytest.mark.parametrize(
    "name", ["Ana", "ana@example.org", "Ána Müller", "安娜", "../x", "a/b", "x" * 128]
)
def test_users_have_names_of_every_script(name: str) -> None:
    """R12: a user's name is a value, never part of a path, so that it may be anything that
    can be read."""
    assert folder.user_name(name) == name


@every(
    "name",
    [
        "",
        " ",
        "ana ",
        "\tana",
        "ana\n",
        "a\0",
        "a\u200bna",
        "\u202eana",
        "x" * 129,
        5,
        b"ana",
        "\ud800",
        "a\u3164",
    ],
)
def test_unreadable_users_are_refused(name: object) -> None:
    """R12: two users must not look like one: no outer spaces, nothing invisible,
    no control characters."""
    with pytest.raises(InvalidInput, match="user name"):
        folder.user_name(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ａｎａ", "ana"),
        ("Jose\u0301", "José"),
        ("ﾅﾅ", "ナナ"),
        ("ﬁona", "fiona"),
        ("ana\u00a0b", "ana b"),
        ("Ana", "Ana"),
    ],
    ids=ascii,
)
def test_a_name_has_one_form(name: str, expected: str) -> None:
    """R12: a name in other widths or with accents apart is the same name; case and accents tell
    names apart."""
    assert folder.user_name(name) == expected


def stored(name: str, *known: str) -> str | None:
    """The name that a user has in a store with these users; plain names are not asked for."""
    return folder.stored_user(
        name, lambda one: one in known, lambda likeness: likeness in map(skeleton, known)
    )


NAMES = [
    *(
        "ana",
        "Ana Müller",
        "José",
        "Işıl",
        "Kɔfi",
        "Ærø",
        "Zoë O’Brien",
        "ʻOkina",
        "user-1@example.org",
    ),
    *("Оксана", "Сара", "Артём Иванов", "Νίκος", "ΜΑΡΙΑ", "Արամ", "محمد", "דוד", "अनीता", "ธนพร"),
    *("日本 太郎", "ヤマダT", "김철수", "Анна (Anna)", "Ana Мирова", "👩 ana", "naïve日本"),
]


@every("name", NAMES)
def test_names_of_people_are_taken(name: str) -> None:
    """R12: whatever the script, and also when words of two scripts stand beside each other."""
    assert stored(name, "somebody", "else") == name


@every(
    ("name", "letter"),
    [
        *(
            ("аna", "а"),
            ("anа", "а"),
            ("Аna", "А"),
            ("bеn", "е"),
            ("Αnna", "Α"),
            ("Αнна", "Α"),
            ("ɑna", "ɑ"),
        ),
        *(
            ("ꜱam", "ꜱ"),
            ("Ꭺna", "Ꭺ"),
            ("ⲟscar", "ⲟ"),
            ("Eve Оtto", "О"),
            ("naжa бonя", "б"),
            ("хena", "х"),
        ),
    ],
)
def test_a_new_name_with_letters_of_another_script_is_refused(name: str, letter: str) -> None:
    """R12, P2: a letter that only looks like the others is named, and the name is read where it was
    stored before."""
    with pytest.raises(
        InvalidInput, match=f"U\\+{ord(letter):04X}, .*; write each word in one script"
    ):
        stored(name)
    assert stored(name, name) == name


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("Сара", "Capa"),
        ("аса", "aca"),
        ("ΜΑΡΙΑ", "MAPIA"),
        ("ɑɡɑ", "aga"),
        ("ΟΟ", "ОО"),
        ("а_na", "a_na"),
    ],
    ids=ascii,
)
def test_a_new_name_that_looks_like_a_users_is_refused(name: str, taken: str) -> None:
    """R12, P2: a name all of whose letters look Latin is taken unless somebody has the name that it
    looks like."""
    assert stored(name) == name
    with pytest.raises(InvalidInput, match="another user here has a name that looks the same"):
        stored(name, "x", taken)
    assert stored(name, name, taken) == name


@pytest.mark.parametrize("name", ["Jose\u0301", "ａna", "ﬁona"], ids=ascii)
def test_a_name_that_is_stored_keeps_its_spelling(name: str) -> None:
    """R12: memories under a name that was stored before names had one form are still
    reached by it."""
    assert stored(name, name) == name
    assert stored(name) == folder.user_name(name)


@pytest.mark.parametrize("name", ["ana ", "a\u200bna", ""])
def test_a_handle_for_such_a_user_is_not_opened(desk: Desk, name: str) -> None:
    """R12: an unreadable user is a typed error, and nothing is made."""
    with pytest.raises(InvalidInput, match="user name"):
        desk.agent(user=name)
    assert not desk.home.exists()


def test_the_environment_names_home_agent_and_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I, B1: LAMINA_HOME, LAMINA_AGENT and LAMINA_USER are the defaults; arguments come first, and
    `default` last."""
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "h"))
    with Desk(tmp_path) as desk:
        assert desk.agent(None, home=None).agent == "default"
        monkeypatch.setenv("LAMINA_AGENT", "milton")
        monkeypatch.setenv("LAMINA_USER", "ana")
        mem = desk.agent(None, home=None)
        assert (mem.agent, mem.user, mem.home.path) == ("milton", "ana", (tmp_path / "h").resolve())
        assert desk.agent("sky", "ben", home=None).user == "ben"
    assert sorted(Home(tmp_path / "h").agents()) == ["default", "milton", "sky"]


@pytest.mark.parametrize("variable", ["LAMINA_AGENT", "LAMINA_USER"])
def test_an_empty_variable_is_like_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """I: a variable that is set to nothing does not name anybody."""
    monkeypatch.setenv(variable, "")
    with Desk(tmp_path) as desk:
        mem = desk.agent(None)
        assert (mem.agent, mem.user) == ("default", None)


@pytest.mark.parametrize("place", ["home/agents", "home/agents/sky"])
def test_a_file_where_a_folder_is_needed(desk: Desk, place: str) -> None:
    """B6: a file in the way is a typed error that names it, and it is left as it is."""
    path = desk.home.parent / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(StoreUnavailable, match="where a folder is needed"):
        desk.agent()
    assert path.read_text() == "mine"


def test_a_home_that_is_a_file(desk: Desk) -> None:
    """B6: a file where the home should be is a typed error, and it is left as it is."""
    desk.home.write_text("mine")
    with pytest.raises(LaminaError, match=str(desk.home)):
        desk.agent()
    assert desk.home.read_text() == "mine"


def test_a_link_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """P2: a private file is never made through a link, not even a dangling one."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="symbolic link"):
        folder.make_private_file(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_a_private_file_is_made_once(tmp_path: Path) -> None:
    """B6: an existing file is left as it is."""
    path = tmp_path / "x"
    folder.make_private_file(path)
    path.write_text("mine")
    folder.make_private_file(path)
    assert path.read_text() == "mine"


@given(st.text() | st.binary() | st.integers() | st.none())
def test_a_violation_is_one_line_of_json(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    """P2: whatever was tried, it is logged as one line of valid JSON that shows everything
    and is short."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.log_violation(START, INTRUDER, "test", value)
    home.log_violation(START, INTRUDER, "test", value)
    lines = home.violations.read_text("utf-8").splitlines()
    assert len(lines) == sum(home.violations_by_attempt(START).values()) == 2
    entry = json.loads(lines[0])
    assert entry.keys() == {"at", "actor", "surface", "attempt", "value"}
    assert len(entry["value"]) <= 200
    assert entry["value"].isprintable()


@pytest.mark.parametrize(
    "name",
    ["\u2028", "a\x85b", "\x9b31m", "\ud800", "\u202e", "\n"],
    ids=["LS", "NEL", "CSI", "half", "bidi", "LF"],
)
def test_the_whole_line_is_printable(desk: Desk, name: str) -> None:
    """P2: an agent's name that ends lines or steers terminals does neither in the log, in no field
    of it."""
    desk.home.mkdir()
    with pytest.raises(InvalidInput):
        desk.agent(name)
    (line,) = (desk.home / "violations.jsonl").read_text("utf-8").splitlines()
    assert line.isprintable()


def test_the_log_is_not_written_through_a_link(desk: Desk, tmp_path: Path) -> None:
    """P2: a link in place of the log is an error, and its target is left alone."""
    desk.home.mkdir()
    (desk.home / "violations.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((StoreUnavailable, InvalidInput)):
        desk.agent("../x")
    assert not (tmp_path / "elsewhere").exists()


def test_no_home_no_log(tmp_path: Path) -> None:
    """P2: a wrong name makes no home."""
    with Desk(tmp_path / "none") as desk, pytest.raises(InvalidInput):
        desk.agent("../x")
    assert not (tmp_path / "none").exists()


def test_violations_are_counted(desk: Desk) -> None:
    """P2: the operator's status says how many attempts there were; an agent's would tell
    it what exists."""
    mem, op = desk.agent(), desk.operator()
    assert op.status()["violations"] == 0
    with pytest.raises(NotFound):
        mem.get(desk.agent("milton").remember("x").id)
    assert op.status()["violations"] == 1
    assert "violations" not in mem.status()


def test_the_home_may_be_reached_through_a_link(desk: Desk, tmp_path: Path) -> None:
    """P2: where the home lies is the owner's choice; only what lies in it must be real."""
    (tmp_path / "real").mkdir()
    desk.home.symlink_to(tmp_path / "real")
    assert desk.agent().home.path == (tmp_path / "real").resolve()
    assert (tmp_path / "real" / "agents" / "sky" / "memory.db").is_file()
