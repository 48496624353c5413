"""No agent and no user gets at another's memory, by no name, id, scope or path."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory
from lamina.errors import InvalidInput, LaminaError, NotFound, Refused
from lamina.home.folder import AGENT_NAME, DEVICES
from lamina.memory.runs import Run
from lamina.surfaces.cli.main import run as lamina
from tests.cases import every
from tests.conftest import CONTRACTS, FULL, Desk, contents, size
from tests.security.tally import probe

UNKNOWN = "0" * 26
NAMES: list[Any] = [
    *(
        "",
        ".",
        "..",
        "...",
        "/",
        "\\",
        "../x",
        "..\\x",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "./sky",
        "sky/",
        "sky/.",
        "sky/../milton",
    ),
    *(
        "CON",
        "con",
        "Con",
        "nul",
        "NUL",
        "prn",
        "aux",
        "com0",
        "com1",
        "COM1",
        "com9",
        "lpt1",
        "lpt9",
    ),
    *(
        "sky.",
        "sky ",
        " sky",
        "sky\n",
        "sky\r\n",
        "\nsky",
        "sky\t",
        "sky\0",
        "\0",
        "sky\0.db",
        "sky\x7f",
        "sky\x1b[31m",
    ),
    *(
        "Sky",
        "SKY",
        "ѕky",
        "skу",
        "ｓｋｙ",
        "sky\u200b",
        "s\u00adky",
        "ský",
        "sky\u0301",
        "ß",
        "ﬁ",
        "٣",
        "１",
        "sky\u202e",
        "\U000e0073ky",
    ),
    *(
        "-sky",
        "_sky",
        "x" * 65,
        "x" * 1000,
        "x" * 100_000,
        "..%2fx",
        "%2e%2e%2f",
        "%00",
        "sky%2F",
        "~",
        "~root",
        "$HOME",
        "${x}",
    ),
    *(
        "sky;rm",
        "sky|x",
        "sky&x",
        "a:b",
        "C:",
        "c:\\x",
        "\\\\?\\x",
        "file:x",
        "sky?mode=ro",
        "sky#x",
        "sky*",
        "a b",
        "sky'",
        'sky"',
    ),
    *("memory.db", "agents", "."[:0] + ".git", "sky.lock", "\ud800", "sky\udfff"),
    *(5, 0, 1.5, True, b"sky", ["sky"], ("sky",), {"sky": 1}, object, Path("sky"), Ellipsis),
]


def tree(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


@every("name", [name for name in NAMES if name != "agents"])
@every("role", ["agent", "operator"])
def test_no_name_leaves_the_home(desk: Desk, role: str, name: object) -> None:
    """P2: a name that is no plain slug is InvalidInput; nothing is made but one line of JSON that
    shows the attempt."""
    probe()
    desk.home.mkdir()
    with pytest.raises(InvalidInput, match="agent name"):
        getattr(desk, role)(name)
    assert tree(desk.home) == ["violations.jsonl"]
    (line,) = desk.violations()
    entry = json.loads(line)
    assert entry["actor"].startswith(f"{role}:")
    assert len(line) < 2000
    assert tree(desk.home.parent) == ["home", "home/violations.jsonl"]


@given(st.text(max_size=80) | st.from_regex(r"[a-z0-9_./\\%-]{1,70}") | st.binary())
@settings(max_examples=200)
def test_whatever_the_name(tmp_path_factory: pytest.TempPathFactory, name: Any) -> None:
    """P2: of any 200 names, each is a plain slug with a folder of its own, or it is
    refused and logged."""
    probe()
    top = tmp_path_factory.mktemp("top")
    (top / "home").mkdir()
    allowed = isinstance(name, str) and AGENT_NAME.fullmatch(name) and name not in DEVICES
    with Desk(top / "home") as desk:
        try:
            desk.agent(name).close()
        except InvalidInput:
            assert not allowed
            assert tree(top) == ["home", "home/violations.jsonl"]
            assert json.loads(desk.violations()[0])["attempt"].startswith("agent name")
        else:
            assert allowed
            assert tree(top)[:3] == ["home", "home/agents", f"home/agents/{name}"]


VERBS: dict[str, Callable[[Memory, str], object]] = {
    "get": lambda mem, record_id: mem.get(record_id),
    "history": lambda mem, record_id: mem.history(record_id),
}


def message(verb: str, mem: Memory, record_id: str) -> str:
    with pytest.raises(NotFound) as caught:
        VERBS[verb](mem, record_id)
    assert caught.value.details == {}
    return caught.value.message.replace(record_id, "ID")


@pytest.mark.parametrize("verb", VERBS)
def test_another_agents_record_does_not_exist(desk: Desk, verb: str) -> None:
    """P2: another agent's id looks like an unknown one, and the attempt is logged."""
    record = desk.agent("milton").remember("of milton")
    mem = desk.agent()
    assert message(verb, mem, record.id) == message(verb, mem, mem.remember("x").id[:14] + "0" * 12)
    (line,) = desk.violations()
    entry = json.loads(line)
    assert "another agent's record" in entry["attempt"]
    assert record.id in entry["value"]
    assert entry["actor"] == "agent:sky"


@pytest.mark.parametrize("verb", VERBS)
def test_another_users_record_does_not_exist(desk: Desk, verb: str) -> None:
    """P2, R12: another user's id looks like an unknown one, and the attempt is logged."""
    record = desk.agent(user="ana").remember("of ana")
    ben = desk.agent(user="ben")
    assert message(verb, ben, record.id) == message(
        verb, ben, UNKNOWN[:10] + record.id[10:14] + "0" * 12
    )
    (line,) = desk.violations()
    assert "another user's record" in json.loads(line)["attempt"]


def test_an_unknown_id_is_no_violation(desk: Desk) -> None:
    """P2: a mistake is not an attempt."""
    mem = desk.agent()
    for record_id in ("x", "", mem.remember("x").id[:14] + "0" * 12):
        with pytest.raises(NotFound):
            mem.get(record_id)
    assert desk.violations() == []


def test_agents_share_nothing(desk: Desk) -> None:
    """P2: two agents of one home have stores, keys, runs, searches and trails of their own."""
    sky, milton = desk.operator("sky"), desk.operator("milton")
    first, second = sky.remember("tea", key="k"), milton.remember("tea too", key="k")
    sky.run("task")
    sky.search("tea")
    assert contents(milton.search("tea")) == ["tea too"]
    assert contents(milton.list()) == ["tea too"]
    assert milton.runs() == []
    assert milton.status()["events"] == 1
    assert [read.action for read in milton.audit_reads()] == ["runs", "list", "search"]
    with pytest.raises(NotFound):
        milton.remember("x", evidence=[first.id])
    assert second.id != first.id


@pytest.fixture
def three(desk: Desk) -> tuple[Memory, Memory, Memory]:
    """Handles of ana, of ben, and of nobody in particular."""
    return desk.agent(user="ana"), desk.agent(user="ben"), desk.agent()


def test_a_user_sees_their_own_and_the_unscoped(three: tuple[Memory, Memory, Memory]) -> None:
    """R12: ana and ben see their own and common memories; a handle without a user sees all."""
    ana, ben, common = three
    for handle, name in ((ana, "ana"), (ben, "ben"), (common, "common")):
        handle.remember(f"tea {name}", tags=[name, "t"], layer="episodic")
    looks: list[Callable[[Memory], object]] = [
        lambda mem: mem.list(),
        lambda mem: mem.search("tea"),
    ]
    looks += [lambda mem: mem.list(tags=["t"]), lambda mem: mem.search("t")]
    for look in looks:
        assert sorted(contents(look(ana))) == ["tea ana", "tea common"]
        assert sorted(contents(look(ben))) == ["tea ben", "tea common"]
        assert sorted(contents(look(common))) == ["tea ana", "tea ben", "tea common"]
    assert ben.list(tags=["ana"]) == []
    assert ana.status()["records"] == {"episodic": {"active": 2}}


def test_runs_are_each_users_own(three: tuple[Memory, Memory, Memory]) -> None:
    """R12, L10: ben neither sees ana's run nor finds its notes, even by its id."""
    ana, ben, _ = three
    run = ana.run("of ana")
    run.note("tea")
    assert ben.runs() == []
    assert len(ben.search("tea", run_id=run.id)) == 0
    assert ben.list(layers=["working"]) == []
    assert ben.status()["open_runs"] == 0


def test_nobody_ends_or_joins_another_users_run(three: tuple[Memory, Memory, Memory]) -> None:
    """R12, P2: with its id alone ben can neither close ana's run nor put notes into it; to him it
    does not exist."""
    ana, ben, _ = three
    run = ana.run("of ana")
    before = size(ana)
    with pytest.raises((NotFound, Refused)):
        Run(ben._scope, ana.get(run.id)).note("from ben")
    with pytest.raises((NotFound, Refused)):
        Run(ben._scope, ana.get(run.id)).close()
    assert size(ana) == before


def test_a_run_that_somebody_else_closes_stays_its_users(
    desk: Desk, three: tuple[Memory, Memory, Memory]
) -> None:
    """R12, L10: ana's crashed run, closed by an operator without a user, leaves an ending that ben
    cannot read."""
    ana, ben, _ = three
    ana.run("ana's diagnosis").note("private")
    for run in desk.operator().runs():
        run.close()
    assert ben.list() == []
    assert ben.search("diagnosis").outcome == "nothing_relevant"
    assert contents(ana.list()) == ["Run ended: ana's diagnosis"]


def test_evidence_tells_nobody_what_exists(
    desk: Desk, three: tuple[Memory, Memory, Memory]
) -> None:
    """R12, P2, P1: as evidence, another user's record looks like an unknown id, and the
    attempt is logged."""
    ana, ben, _ = three
    record = ana.remember("of ana")
    unknown = record.id[:14] + "0" * 12
    with pytest.raises(NotFound) as expected:
        ben.remember("x", evidence=[unknown])
    with pytest.raises(NotFound) as caught:
        ben.remember("x", evidence=[record.id])
    assert caught.value.message.replace(record.id, "ID") == expected.value.message.replace(
        unknown, "ID"
    )
    assert len(desk.violations()) == 1


def test_evidence_of_another_agent_is_logged(desk: Desk) -> None:
    """P2: another agent's id as evidence is an attempt to cross, and is logged like any other."""
    record = desk.agent("milton").remember("x")
    with pytest.raises(NotFound):
        desk.agent().remember("y", evidence=[record.id])
    assert len(desk.violations()) == 1


def test_an_operator_for_one_user_takes_out_no_other(desk: Desk, tmp_path: Path) -> None:
    """R12: a handle opened with a user exports that user's and common records, or
    refuses; never everybody's."""
    desk.agent(user="ben").remember("xylophone of ben")
    op = desk.operator(user="ana")
    try:
        path = op.export(tmp_path / "x.json")
    except LaminaError:
        return
    assert "xylophone" not in path.read_text("utf-8")


def test_trails_of_one_user_show_no_other(desk: Desk) -> None:
    """R12, P4: an operator's handle for ana shows no query that ben asked, or refuses."""
    with desk.agent(user="ben") as ben:
        ben.search("xylophone")
    op = desk.operator(user="ana")
    try:
        reads = op.audit_reads()
    except LaminaError:
        return
    assert not [read for read in reads if read.note.get("user") == "ben"]


def test_the_payload_gives_no_authority(desk: Desk) -> None:
    """V7: an agent cannot name another user, role, state or actor in what it stores."""
    mem = desk.agent(user="ana")
    for field in (
        "user",
        "agent",
        "state",
        "actor",
        "role",
        "surface",
        "id",
        "seq",
        "run_id",
        "created_at",
        "supersedes",
    ):
        with pytest.raises(InvalidInput, match="unknown field"):
            mem.remember_many([{"content": "x", field: "operator"}])
    assert mem.remember("x", trust="operator").trust == "agent"
    with pytest.raises(Refused):
        mem.remember("x", layer="profile", metadata=CONTRACTS["profile"])
    assert size(mem) == (1, 1)


BOUND = [
    ["list"],
    ["search", "tea"],
    ["context", "tea"],
    ["remember", "from ana"],
    ["facts"],
    ["timeline", "ben"],
    ["profile", "show"],
    ["project", "show"],
    ["pending"],
    ["status"],
    ["inspect", "RECORD"],
    ["runs", "list"],
    ["promote", "--dry-run"],
    ["run", "--once"],
    ["failsafe", "status"],
    ["failsafe", "replay"],
    ["list", "--shared-by", "milton"],
]
OPERATORS = [
    ["erase", "--user", "ben", "--yes"],
    ["token", "create", "--user", "ben"],
    ["serve", "--port", "0"],
    ["import", "RECORD"],
    ["export"],
]


@pytest.fixture
def bound(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> str:
    """The record of ben, in the shell of an agent of sky that serves ana alone."""
    desk.agent(user="ana").remember("tea of ana")
    record = desk.agent(user="ben").remember("tea of ben, xylophone")
    for name, value in {"HOME": desk.home, "ROLE": "agent", "AGENT": "sky", "USER": "ana"}.items():
        monkeypatch.setenv(f"LAMINA_{name}", str(value))
    return record.id


@pytest.mark.parametrize(
    "name", ["ben", "Ana", "ana ", "аna", "ａna", "", "ana\u200b", "nobody"], ids=ascii
)
def test_an_agent_that_knows_its_user_reaches_no_other(
    desk: Desk, bound: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """P2, R12, V7: with LAMINA_USER, `--user` of any other name looks like not found and
    is a violation."""
    assert lamina(["--user", name, "list"]) == 3
    told = "".join(capsys.readouterr())
    assert "xylophone" not in told
    assert "there is no user" in told
    (line,) = desk.violations()
    entry = json.loads(line)
    assert (entry["actor"], entry["attempt"]) == ("agent:sky", "open another user's memory")
    assert lamina(["--user", "ana", "list"]) == lamina(["list"]) == 0
    assert "tea of ana" in capsys.readouterr().out
    assert len(desk.violations()) == 1


@pytest.mark.parametrize("words", [*BOUND, *OPERATORS], ids=" ".join)
def test_no_command_of_such_an_agent_reaches_another_user(
    desk: Desk, bound: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """P2, R12, V7: whatever the command, nothing is told, stored or taken away; what operators do
    is refused."""
    before = desk.agent(scoped=False).list(states=None)
    given = [bound if word == "RECORD" else word for word in words]
    assert lamina(["--user", "ben", *given]) == (1 if words in OPERATORS else 3)
    assert "xylophone" not in "".join(capsys.readouterr())
    assert desk.agent(scoped=False).list(states=None) == before
    assert len(desk.violations()) == (0 if words in OPERATORS else 1)


def test_a_capture_for_another_user_is_refused(
    desk: Desk, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P2, R12, H4: neither a captured message nor a hook writes into the memory of another user."""
    line = b'{"event":"message","topic":"t","id":"x","time":1,"message":"planted"}\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(line)))
    assert lamina(["--user", "ben", "capture", "--source", "ntfy"]) == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"prompt": "planted"}')))
    assert lamina(["--user", "ben", "hook", "user-prompt"]) == 0
    assert [json.loads(one)["attempt"] for one in desk.violations()] == [
        "open another user's memory"
    ] * 2
    everybody = desk.agent(scoped=False).list(states=None)
    assert not [record for record in everybody if "planted" in record.content]


def test_an_operator_is_bound_by_no_user(
    desk: Desk, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V7: LAMINA_USER is a default for people; only in the role of an agent does it bind."""
    monkeypatch.delenv("LAMINA_ROLE")
    assert lamina(["--user", "ben", "list"]) == 0
    assert desk.violations() == []


USERS = st.sampled_from(["ana", "ben", "Ana", "ana2", "%", "_", "' OR 1=1 --", None])
STEPS = st.lists(
    st.tuples(
        USERS,
        st.sampled_from(["remember", "many", "key", "run", "note", "close"]),
        st.integers(0, 3),
    ),
    min_size=5,
    max_size=25,
)


@given(STEPS)
@settings(max_examples=100 if FULL else 8)
def test_users_are_kept_apart_whatever_they_do(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str | None, str, int]]
) -> None:
    """R12: over get, list, search, history, runs and keys, a handle returns only its user's and
    unscoped records."""
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        handles = {
            user: desk.agent(user=user)
            for user in ("ana", "ben", "Ana", "ana2", "%", "_", "' OR 1=1 --", None)
        }
        for user, action, number in steps:
            act(handles[user], action, number)
        everything = handles[None].list(layers=None, states=None, limit=1000) + handles[None].list(
            layers=["working"], states=None
        )
        for user, handle in handles.items():
            mine = {
                record.id for record in everything if user is None or record.user in (user, None)
            }
            assert {record.id for record in everything if visible(handle, record.id)} == mine
            probe(len(everything) + 4)
            seen = [
                *handle.list(states=None, limit=1000),
                *handle.list(layers=["working"], states=None),
            ]
            seen += [hit.record for hit in handle.search("tea", limit=1000)]
            assert {record.id for record in seen} <= mine
            assert all(run.id in mine for run in handle.runs())


def act(handle: Memory, action: str, number: int) -> None:
    """One thing that somebody does."""
    text = f"tea {number} of {handle.user}"
    if action == "remember":
        assert handle.remember(text, tags=["t"]).user == handle.user
    elif action == "many":
        handle.remember_many([{"content": text}, {"content": text, "layer": "episodic"}])
    elif action == "key":
        record = handle.remember(text, key=f"k{number}")
        assert (record.user, record.content) == (handle.user, text)
    elif action == "run":
        handle.run(text)
    else:
        for run in handle.runs()[:1]:
            _ = run.note(text) if action == "note" else run.close()


def visible(handle: Memory, record_id: str) -> bool:
    try:
        return handle.history(record_id) != [] and handle.get(record_id).id == record_id
    except NotFound:
        return False
