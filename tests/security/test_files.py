"""Links are refused, files are private, and nothing is written where it does not belong."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina.errors import LaminaError, NotFound, Refused
from lamina.home import operator_key
from lamina.home.tokens import Tokens
from lamina.surfaces.cli.main import run
from tests.conftest import START, Desk
from tests.security.tally import probe
from tests.surfaces.served import Served

PLACES = [
    "agents",
    "agents/sky",
    "agents/sky/memory.db",
    "agents/sky/memory.db-wal",
    "agents/sky/memory.db-shm",
    "agents/sky/reads.db",
]
NOBODY = 65534


@pytest.fixture
def open_umask() -> Iterator[None]:
    """The most careless setting that there is."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("dangling", [False, True], ids=["to something", "to nothing"])
@pytest.mark.parametrize("place", PLACES)
def test_a_link_in_our_place_is_refused(
    desk: Desk, tmp_path: Path, place: str, dangling: bool
) -> None:
    """P2: a symbolic link where a folder or file of ours should be is refused and logged, and its
    target untouched."""
    link, outside = desk.home / place, tmp_path / "outside"
    link.parent.mkdir(parents=True)
    if not dangling:
        outside.mkdir() if link.suffix == "" else outside.write_bytes(b"")
    link.symlink_to(outside)
    with pytest.raises(Refused, match="symbolic link"):
        desk.agent()
    assert outside.exists() != dangling
    assert not outside.is_dir() or not list(outside.iterdir())
    assert not outside.is_file() or outside.read_bytes() == b""
    assert len(desk.violations()) == 1


@pytest.mark.parametrize("name", ["reads.db-wal", "reads.db-shm"])
def test_reads_are_not_written_through_a_link(desk: Desk, tmp_path: Path, name: str) -> None:
    """P2: a link beside the log of reads leads no byte out of the home."""
    desk.agent().close()
    (desk.folder() / name).symlink_to(tmp_path / "outside")
    mem = None
    try:
        mem = desk.agent()
        mem.search("tea")
        mem.close()
    except LaminaError:
        pass
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("verb", ["backup", "export", "restore"])
def test_our_folders_are_not_followed_out_of_the_home(
    desk: Desk, tmp_path: Path, verb: str
) -> None:
    """P2: backups/ and exports/ that are links to elsewhere are refused, and nothing
    is written there."""
    op = desk.operator()
    op.remember("xylophone")
    made = op.backup(tmp_path / "copy")
    outside = tmp_path / "outside"
    outside.mkdir()
    (desk.folder() / ("exports" if verb == "export" else "backups")).symlink_to(outside)
    with pytest.raises(Refused, match="symbolic link"):
        op.restore(made) if verb == "restore" else getattr(op, verb)()
    assert list(outside.iterdir()) == []


@pytest.mark.usefixtures("open_umask")
def test_everything_is_private(desk: Desk) -> None:
    """B6: with the umask at 0, every file is 0600 and every folder 0700, while open
    and when closed."""
    desk.home.mkdir(mode=0o700)
    op = desk.operator()
    op.remember("x")
    op.search("x")
    op.audit_reads()
    op.export()
    op.export(public=True)
    op.restore(op.backup())
    op.backup()
    with pytest.raises(NotFound):
        op.get(desk.agent("milton").remember("x").id)
    while_open = modes(desk.home)
    assert {
        "violations.jsonl",
        "agents/sky/memory.db-wal",
        "agents/sky/reads.db",
    } <= while_open.keys()
    op.close()
    for found in (while_open, modes(desk.home)):
        wrong = {
            name: oct(mode)
            for name, mode in found.items()
            if mode != (0o700 if (desk.home / name).is_dir() else 0o600)
        }
        assert {name: mode for name, mode in wrong.items() if (desk.home / name).exists()} == {}


@pytest.mark.usefixtures("open_umask")
def test_folders_on_the_way_are_private_too(tmp_path: Path) -> None:
    """B6: folders that we make above the home are private as well, so that nobody can put another
    home in its place."""
    with Desk(tmp_path / "a" / "b" / "home") as desk:
        desk.agent().remember("x")
    assert {name: oct(mode) for name, mode in modes(tmp_path).items() if mode & 0o077} == {}


@pytest.mark.usefixtures("open_umask")
def test_an_export_elsewhere_is_private(desk: Desk, tmp_path: Path) -> None:
    """B6: an export that goes where it was told is readable for its owner alone."""
    path = desk.operator().export(tmp_path / "x.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.usefixtures("open_umask")
def test_what_was_there_keeps_its_mode(desk: Desk) -> None:
    """B6: an existing home is not changed behind its owner's back."""
    desk.home.mkdir(mode=0o755)
    desk.agent().close()
    assert stat.S_IMODE(desk.home.stat().st_mode) == 0o755


def test_a_handle_leaves_no_open_file(desk: Desk) -> None:
    """B1: opening, reading, writing and closing leaves no file open."""
    open_files = Path("/proc/self/fd")
    if not open_files.exists():
        return
    for _ in range(3):
        with desk.operator() as op:
            op.remember("x")
            op.search("x")
            op.restore(op.backup())
            op.import_(op.export())
    held = [str(one.readlink()) for one in open_files.iterdir() if one.is_symlink()]
    assert [path for path in held if path.startswith(str(desk.home))] == []


TRUSTED = {
    ".": "home",
    "config.toml": "settings",
    "retention_rules.yaml": "rules",
    "schedule.yaml": "jobs",
    "operator.key": "key",
    "tokens.json": "tokens",
    "agents": "home",
    "agents/sky": "home",
    "agents/sky/memory.db": "home",
    "agents/sky/reads.db": "home",
}
KEY = "correct horse"


@pytest.fixture
def settled(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A home that has every file that is trusted, with an operator who knows the key."""
    monkeypatch.setenv(operator_key.VARIABLE, KEY)
    with desk.operator() as op:
        op.remember("Ana drinks tea")
        op.search("tea")
    (desk.home / "config.toml").write_text('audit.reads = "strict"\n', "utf-8")
    (desk.home / "retention_rules.yaml").write_text("short_term_max_lines: 50\n", "utf-8")
    (desk.home / "schedule.yaml").write_text(
        "every:\n- name: memory_rotate_check\n  minutes: 10\n", "utf-8"
    )
    operator_key.change(desk.home, KEY)
    Tokens(desk.home).create("sky", None, START)
    return desk


def use_every_file(desk: Desk) -> None:
    """Open a handle, and read each file that says what Lamina does."""
    with desk.operator() as op:
        op.run_once()
        op.orchestrator().is_waiting()
    Tokens(desk.home).tokens()


@pytest.mark.parametrize("mode", [0o002, 0o020, 0o022])
@pytest.mark.parametrize("place", TRUSTED)
def test_what_others_may_write_is_not_trusted(settled: Desk, place: str, mode: int) -> None:
    """B6: a home, settings, rules, keys, tokens or memory that group or others may write is refused
    until that is mended."""
    path = settled.home / place
    before = path.stat().st_mode
    use_every_file(settled)
    path.chmod(before | mode)
    with pytest.raises(
        Refused, match=r"is not trusted: its mode is .* run `chmod go-w "
    ) as refused:
        use_every_file(settled)
    assert refused.value.details["path"] == str(path)
    path.chmod(before)
    use_every_file(settled)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("place", TRUSTED)
def test_what_is_somebody_elses_is_not_trusted(settled: Desk, place: str) -> None:
    """B6: the same files in the hands of another account are refused, also for root."""
    path = settled.home / place
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(
        Refused, match=r"is not trusted: it belongs to .* and Lamina runs as root; run Lamina as "
    ):
        use_every_file(settled)
    os.chown(path, 0, 0)
    use_every_file(settled)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another account")
@pytest.mark.parametrize(
    ("owner", "expected"), [(0, "done"), (NOBODY, "done"), (NOBODY - 1, "refused")]
)
def test_an_account_trusts_itself_and_root(owner: int, expected: str) -> None:
    """B6: a config.toml of root or of the account that runs Lamina is read, and that of a third one
    is refused."""
    code = """if True:
        import grp, os, pwd, sys, tomllib  # before the rights go that may be needed to read them
        from pathlib import Path
        from lamina import LaminaError
        from lamina.home import settings
        os.setegid(int(sys.argv[2]))
        os.seteuid(int(sys.argv[2]))
        try:
            values = settings.load(Path(sys.argv[1]))
            print("done" if values["audit.reads"] == "strict" else "not read")
        except LaminaError as error:
            print(error.code)
    """
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "config.toml").write_text('audit.reads = "strict"\n', "utf-8")
        os.chown(home, NOBODY, NOBODY)
        os.chown(home / "config.toml", owner, owner)
        command = [sys.executable, "-c", code, name, str(NOBODY)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected


def test_settings_that_anybody_could_write_send_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B6, P2: in a home with mode 0777, no command of the program obeys the settings
    that lie there."""
    desk.operator().close()
    (desk.home / "config.toml").write_text(
        '[recall]\nembedders = ["openai:evil"]\nendpoint = "http://127.0.0.1:9/v1"\n', "utf-8"
    )
    desk.home.chmod(0o777)
    monkeypatch.setenv("LAMINA_HOME", str(desk.home))
    monkeypatch.setenv("LAMINA_AGENT", "sky")
    commands = [
        "remember x",
        "search x",
        "list",
        "status",
        "config",
        "index",
        "agents",
        "token create",
        "failsafe status",
    ]
    for command in commands:
        assert run(command.split()) == 1, command
        probe()
    assert desk.violations() == []


def test_a_shared_home_has_a_group(settled: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """B6: with LAMINA_SHARED_GROUP a home and files that this group may write are used, and new
    files are still private."""
    for path in (settled.home, *settled.home.rglob("*")):
        path.chmod(0o770 if path.is_dir() else 0o660)
    with pytest.raises(Refused, match="LAMINA_SHARED_GROUP="):
        use_every_file(settled)
    monkeypatch.setenv("LAMINA_SHARED_GROUP", str(settled.home.stat().st_gid))
    use_every_file(settled)
    settled.agent("milton").close()
    assert {mode for name, mode in modes(settled.home).items() if "milton" in name} <= {
        0o700,
        0o600,
    }


def test_a_link_to_settings_is_judged_by_what_it_leads_to(desk: Desk, tmp_path: Path) -> None:
    """B6: config.toml may be a link to a file among one's own, and that file must
    be trusted itself."""
    desk.home.mkdir(mode=0o700)
    target = tmp_path / "lamina.toml"
    target.write_text('audit.reads = "strict"\n', "utf-8")
    (desk.home / "config.toml").symlink_to(target)
    assert desk.agent().settings["audit.reads"] == "strict"
    target.chmod(0o666)
    with pytest.raises(Refused, match=r"config.toml is not trusted"):
        desk.agent()


def test_visitors_are_not_told_where_files_lie(settled: Desk) -> None:
    """B6, H2: a server whose home or database is no longer trusted answers 503 and names no path;
    its log does."""
    with Served(settled) as served:
        token = served.token()
        for path in (settled.home, settled.folder() / "memory.db"):
            before = path.stat().st_mode
            path.chmod(before | 0o002)
            found = served.ask("/memory/search?query=tea", token)
            path.chmod(before)
            assert found.status == 503
            assert str(settled.home).encode() not in found.body
            probe()
