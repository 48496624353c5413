"""Whose files are trusted: the decision as a table, and what is said about those that are not."""

from __future__ import annotations

import grp
import os
from pathlib import Path

import pytest

from lamina.errors import InvalidInput, Refused
from lamina.home import ownership
from lamina.home.ownership import VARIABLE, Fault, fault
from tests.cases import every

ME, OTHER, ROOT = 1000, 1001, 0
STAFF, USERS = 50, 100
OTHERS, GROUP, FOREIGN = Fault.OTHERS_WRITE, Fault.GROUP_WRITES, Fault.FOREIGN


@every(
    ("mode", "uid", "gid", "me", "group", "expected"),
    [
        (0o700, ME, USERS, ME, None, None),
        (0o600, ME, USERS, ME, None, None),
        (0o755, ME, USERS, ME, None, None),  # who may only read changes nothing
        (0o644, ROOT, ROOT, ME, None, None),  # root could change everything anyway
        (0o700, ROOT, ROOT, ROOT, None, None),
        (0o700, OTHER, USERS, ME, None, FOREIGN),
        (0o400, OTHER, USERS, ME, None, FOREIGN),  # its owner may change the mode
        (0o700, ME, USERS, ROOT, None, FOREIGN),  # also to root, as in OpenSSH
        (0o770, ME, STAFF, ME, None, GROUP),
        (0o660, ROOT, STAFF, ME, None, GROUP),
        (0o720, ME, ME, ME, None, GROUP),  # a group of one account is a group
        (0o777, ME, USERS, ME, None, OTHERS),
        (0o702, ME, USERS, ME, None, OTHERS),
        (
            0o1777,
            ROOT,
            ROOT,
            ME,
            None,
            OTHERS,
        ),  # in a sticky folder anybody may still make a config.toml
        (0o770, ME, STAFF, ME, STAFF, None),
        (0o2770, ROOT, STAFF, ME, STAFF, None),
        (0o660, OTHER, STAFF, ME, STAFF, None),  # made by another member
        (0o700, ME, STAFF, ROOT, STAFF, None),
        (0o770, ME, USERS, ME, STAFF, GROUP),  # exactly that group
        (0o700, OTHER, USERS, ME, STAFF, FOREIGN),
        (0o772, ME, STAFF, ME, STAFF, OTHERS),  # others never
        (0o777, ROOT, ROOT, ROOT, ROOT, OTHERS),
    ],
)
def test_the_decision(
    mode: int, uid: int, gid: int, me: int, group: int | None, expected: Fault | None
) -> None:
    """B6: mine or root's, written by nobody else, or by the one group that the operator names."""
    assert fault(mode, uid, gid, me, group) is expected


def test_what_is_missing_is_left_to_its_reader(tmp_path: Path) -> None:
    """B6: nothing is wrong with the owner of a file that is not there; opening it says what is."""
    ownership.check(tmp_path / "nothing")
    ownership.check(tmp_path / "x" / "nothing")
    with pytest.raises(FileNotFoundError):
        ownership.opened(tmp_path / "nothing")


@pytest.mark.parametrize("mode", [0o606, 0o620, 0o666])
def test_a_file_that_somebody_else_may_write_is_not_opened(tmp_path: Path, mode: int) -> None:
    """B6: the error names the path, its mode and the command that mends it, and after that command
    it is opened."""
    path = tmp_path / "a b.toml"
    path.write_bytes(b"x")
    path.chmod(mode)
    with pytest.raises(Refused) as refused:
        ownership.opened(path)
    assert refused.value.details == {"path": str(path)}
    assert f"its mode is {mode:04o}" in refused.value.message
    assert f"`chmod go-w '{path}'`" in refused.value.message
    path.chmod(mode & ~0o022)
    with ownership.opened(path) as file:
        assert file.read() == b"x"


def test_the_folder_counts_as_much_as_the_file(tmp_path: Path) -> None:
    """B6: whoever may write in a folder may put another file in the place of a private one."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").touch(0o600)
    folder.chmod(0o777)
    with pytest.raises(Refused, match="home is not trusted: its mode is 0777, so every account"):
        ownership.opened(folder / "config.toml")


def test_a_group_is_trusted_by_name_or_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B6: LAMINA_SHARED_GROUP lets the group write that it names, and no other; the error says what
    to set."""
    tmp_path.chmod(0o770)
    gid = tmp_path.stat().st_gid
    with pytest.raises(Refused) as refused:
        ownership.check(tmp_path)
    told = refused.value.message.partition(f"{VARIABLE}=")[2].split()[0]
    for name in (told, str(gid), grp.getgrgid(gid).gr_name):
        monkeypatch.setenv(VARIABLE, name)
        ownership.check(tmp_path)
    monkeypatch.setenv(VARIABLE, str(gid + 1))
    with pytest.raises(Refused, match=r"the group .* may write it"):
        ownership.check(tmp_path)
    monkeypatch.setenv(VARIABLE, told)
    tmp_path.chmod(0o777)
    with pytest.raises(Refused, match="every account"):
        ownership.check(tmp_path)


def test_a_group_that_is_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B6: a misspelt group is an error that names it, as soon as the group matters."""
    monkeypatch.setenv(VARIABLE, "no such group")
    ownership.check(tmp_path)
    tmp_path.chmod(0o770)
    with pytest.raises(InvalidInput, match="'no such group' names no group"):
        ownership.check(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("uid", [65534, 54321], ids=["with a name", "without a name"])
def test_a_file_of_somebody_else_is_told_with_its_owner(tmp_path: Path, uid: int) -> None:
    """B6: the error names the owner, by number where it has no name, and who Lamina runs as."""
    path = tmp_path / "config.toml"
    path.touch(0o600)
    os.chown(path, uid, uid)
    with pytest.raises(
        Refused, match=r"it belongs to (nobody|54321) \(group .*\), and Lamina runs as root"
    ) as refused:
        ownership.check(path)
    assert f"`chown root {path}`" in refused.value.message


def test_a_sticky_folder_above_is_in_order(tmp_path: Path) -> None:
    """B6: in /tmp nobody can rename the home of somebody else; in a folder that all may write,
    everybody can."""
    tmp_path.chmod(0o1777)
    assert ownership.problem_above(tmp_path, tmp_path.stat()) is None
    tmp_path.chmod(0o777)
    assert "its mode is 0777" in str(ownership.problem_above(tmp_path, tmp_path.stat()))
