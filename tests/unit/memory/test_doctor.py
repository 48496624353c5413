"""Promises of `doctor`: it reads only, it notices what hurts, and it says what to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import Operator
from lamina.home.folder import Home
from lamina.memory import doctor
from tests.conftest import Desk

WITHOUT_RIGHTS = 65534  # nobody
MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /mnt/team nfs4 rw 0 0
//nas/share /mnt/with\\040space cifs rw 0 0
/dev/sdb1 /mnt/team/local ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/lamina", "ext4"),
        ("/mnt/team/lamina", "nfs4"),
        ("/mnt/with space/lamina", "cifs"),
        ("/mnt/team/local/lamina", "ext4"),
        ("/mnt/teammate", "ext4"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(path: str, kind: str) -> None:
    """B1: a network file system is told from a local one by the mount that holds the home."""
    assert doctor.file_system(Path(path), MOUNTS) == kind


@pytest.mark.parametrize("name", ["Dropbox", "OneDrive - Company", "Google Drive", "Nextcloud"])
def test_a_folder_of_a_synchronising_service_is_named(tmp_path: Path, name: str) -> None:
    """B1: a home inside a synchronised folder is named, since copying a live database
    tears it apart."""
    assert doctor.synchronised(tmp_path / name / "memories") == name


def test_a_marker_of_a_synchronising_service_is_found(tmp_path: Path) -> None:
    """B1: services that mark their folder by a file are found by it."""
    (tmp_path / ".stfolder").mkdir()
    assert doctor.synchronised(tmp_path / "lamina") == ".stfolder"
    assert doctor.synchronised(Path("/var/lib/lamina")) == ""


def levels(home: Path) -> dict[str, str]:
    return {finding.check: finding.level for finding in doctor.examine(Home(home), "sky")}


def test_a_synchronised_home_fails(tmp_path: Path) -> None:
    """B1: the finding about an unsafe place is a failure, and the rest is still checked."""
    home = tmp_path / "Dropbox"
    with lamina.open("sky", home=home) as memory:
        memory.remember("x")
    found = levels(home)
    assert found["place"] == "fail"
    assert found["trail"] == "ok"


def test_files_open_to_others_are_named(tmp_path: Path) -> None:
    """B6: a memory that others on the machine can read is named."""
    with lamina.open("sky", home=tmp_path / "home") as memory:
        memory.remember("x")
    assert levels(tmp_path / "home")["private"] == "ok"
    (tmp_path / "home" / "agents" / "sky" / "memory.db").chmod(0o644)
    assert levels(tmp_path / "home")["private"] == "warn"


def test_a_damaged_store_is_a_finding_not_a_crash(tmp_path: Path) -> None:
    """B1: doctor reports a store that cannot be opened."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember("x")
    (tmp_path / "agents" / "sky" / "memory.db").write_bytes(b"not a database" * 1000)
    assert levels(tmp_path)["store"] == "fail"


def test_an_index_that_lost_an_entry_is_noticed_and_made_anew(tmp_path: Path) -> None:
    """Q3: a record that is missing from the full-text index is noticed, and `reindex`
    brings it back."""
    with lamina.operator("sky", home=tmp_path) as operator:
        operator.remember("green tea")
        with operator._scope.store.database.atomic() as transaction:
            transaction.cursor.execute("DELETE FROM words")
        assert levels(tmp_path)["index"] == "fail"
        assert not operator.search("tea", ranker="keyword")
        operator.reindex()
        assert operator.search("tea")
    assert levels(tmp_path)["index"] == "ok"


def test_an_index_with_other_words_is_noticed(tmp_path: Path) -> None:
    """Q3: an index that was filled with other words is noticed, although it has an entry
    for every record."""
    with lamina.operator("sky", home=tmp_path) as operator:
        operator.remember("green tea", tags=["drink"])
        operator.remember("日本語のテキスト")
        assert levels(tmp_path)["index"] == "ok"
        with operator._scope.store.database.atomic() as transaction:
            transaction.cursor.execute(
                "INSERT OR REPLACE INTO words (rowid, content, tags) VALUES (1, 'bogus', '')"
            )
        assert levels(tmp_path)["index"] == "fail"


def test_wrong_settings_are_a_finding(tmp_path: Path) -> None:
    """A wrong line in config.toml is named, and the rest is still checked."""
    (tmp_path / "config.toml").write_text('[audit]\nreads = "sometimes"\n', "utf-8")
    assert levels(tmp_path)["settings"] == "fail"


def test_leftovers_are_named(tmp_path: Path) -> None:
    """B1: what a process that died left behind is named."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember("x")
    (tmp_path / "agents" / "sky" / "restore.tmp").touch()
    assert levels(tmp_path)["leftovers"] == "warn"


def test_a_fail_safe_of_another_preset_is_named(desk: Desk) -> None:
    """B4, B7: memories that wait where the preset does not look any more are not forgotten."""
    desk.agent().close()
    place = desk.folder() / "data" / "memory"
    place.mkdir(parents=True)
    (place / "short_term.jsonl").write_bytes(b"{}\n")
    (found,) = [one for one in doctor.examine(Home(desk.home), "sky") if one.check == "failsafe"]
    assert found.level == "warn"
    assert str(place) in found.message


NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"MIRRORS_CHROMA": NOBODY},
            ("fail", "mirrors", "chroma cannot be used: .* cannot be reached"),
        ),
        (
            {"MIRRORS_JSONL": "sky"},
            ("warn", "mirrors", "jsonl is not made yet; `lamina mirror sync` makes it"),
        ),
        ({"RECALL_VIA": "chroma"}, ("fail", "settings", "mirrors.chroma is off")),
        (
            {"MIRRORS_WEAVIATE_REQUIRED": "true"},
            ("fail", "settings", "mirrors.weaviate is off; set its address"),
        ),
        (
            {"MIRRORS_WEAVIATE": NOBODY, "MIRRORS_WEAVIATE_KEY_VARIABLE": "NO_KEY"},
            ("warn", "mirrors", "'NO_KEY', which is not"),
        ),
    ],
    ids=["down", "missing", "via", "required", "key"],
)
def test_mirrors_are_looked_at(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    expected: tuple[str, str, str],
) -> None:
    """B2, B3: a mirror that is down, behind or missing is found, and so are settings that
    contradict each other."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember("x")
    for name, value in settings.items():
        monkeypatch.setenv(f"LAMINA_{name}", value)
    level, check, message = expected
    found = [
        one
        for one in doctor.examine(Home(tmp_path), "sky")
        if (one.level, one.check) == (level, check)
    ]
    assert any(re.search(message, one.message) for one in found)


def test_one_file_is_one(tmp_path: Path) -> None:
    """P4, H1: a single file that others can read is told as one."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember("x")
    next(tmp_path.rglob("memory.db")).chmod(0o644)
    (found,) = [one for one in doctor.examine(Home(tmp_path), "sky") if one.check == "private"]
    assert found.message.startswith("1 file is open to others, such as ")


@pytest.mark.parametrize(
    ("mode", "level", "said"),
    [
        (
            0o777,
            "fail",
            "its mode is 0777, so every account of this machine may write it; run `chmod go-w ",
        ),
        (0o775, "fail", "its mode is 0775, so the group "),
        (0o755, "warn", "1 file is open to others, such as "),
        (0o700, "ok", "files 0600, folders 0700"),
    ],
)
def test_the_home_itself_is_looked_at(tmp_path: Path, mode: int, level: str, said: str) -> None:
    """B6: a home that others may write is wrong, and nothing in it is looked at; one that they may
    read is told."""
    home = tmp_path / "home"
    with lamina.open("sky", home=home) as memory:
        memory.remember("x")
    home.chmod(mode)
    found = {one.check: one for one in doctor.examine(Home(home), "sky")}
    one = found["home" if level == "fail" else "private"]
    assert one.level == level
    assert said in one.message
    assert str(home) in one.message or level == "ok"
    assert ("settings" in found) == (level != "fail")


def test_a_folder_above_the_home_is_looked_at(tmp_path: Path) -> None:
    """B6: where others may rename the home away, doctor says so; a sticky folder such as /tmp keeps
    them from it."""
    with lamina.open("sky", home=tmp_path / "all" / "home") as memory:
        memory.remember("x")
    for mode, expected in ((0o777, ["warn", "ok"]), (0o1777, ["ok"])):
        (tmp_path / "all").chmod(mode)
        found = [
            one
            for one in doctor.examine(Home(tmp_path / "all" / "home"), "sky")
            if one.check == "place"
        ]
        assert [one.level for one in found] == expected
        assert (f"{tmp_path / 'all'} is not trusted" in found[0].message) == (len(found) == 2)


def test_a_shared_home_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B6: what the group may do that the operator names is no finding, and a group that is
    none is one."""
    home = tmp_path / "home"
    with lamina.open("sky", home=home) as memory:
        memory.remember("x")
    for path in (home, *home.rglob("*")):
        path.chmod(0o770 if path.is_dir() else 0o660)
    monkeypatch.setenv("LAMINA_SHARED_GROUP", str(home.stat().st_gid))
    assert levels(home)["private"] == "ok"
    monkeypatch.setenv("LAMINA_SHARED_GROUP", "no such group")
    assert levels(home)["home"] == "fail"


@pytest.fixture
def read_only_home() -> Iterator[Path]:
    """A home of somebody who may not write there; pytest's own folders are private, and modes do
    not stop root."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        with lamina.open("sky", home=home) as memory:
            memory.remember("Ana takes the 8:15 train")
        for path in (*home.rglob("*"), home, home.parent):
            os.chown(path, WITHOUT_RIGHTS if os.getuid() == 0 else -1, -1)
            path.chmod(0o500 if path.is_dir() else 0o400)
        yield home
        for path in (home.parent, home, *home.rglob("*")):
            path.chmod(0o700)


def test_a_home_that_cannot_be_written_is_told(read_only_home: Path) -> None:
    """B1, V1: doctor and status say so, and the store itself is found in order, since it
    can be read."""
    code = """if True:
        import json, os, sys, tempfile, lamina
        from lamina.memory import doctor
        from lamina.home.folder import Home

        def look(home):
            found = [one.to_dict() for one in doctor.examine(Home(home), "sky")]
            with lamina.open("sky", home=home) as memory:
                return found, memory.status()["problems"]

        if os.getuid() == 0:
            with tempfile.TemporaryDirectory() as own:
                look(own)  # reads every module, which nobody else may be able to
                look(own)
            os.setuid(int(sys.argv[2]))
        print(json.dumps(look(sys.argv[1])))
    """
    command = [sys.executable, "-c", code, str(read_only_home), str(WITHOUT_RIGHTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    findings, problems = json.loads(done.stdout)
    failed = {one["check"]: one["message"] for one in findings if one["level"] == "fail"}
    assert set(failed) == {"home"}
    assert f"{read_only_home} cannot be written" in failed["home"]
    assert {"trail", "index"} <= {one["check"] for one in findings if one["level"] == "ok"}
    assert [problem for problem in problems if "cannot be written" in problem]


@pytest.mark.parametrize(
    ("name", "body"), [("retention_rules.yaml", "nonsense: 1\n"), ("schedule.yaml", "every: 1\n")]
)
def test_a_bad_file_is_told_by_status_and_doctor(
    desk: Desk, op: Operator, name: str, body: str
) -> None:
    """L6: file and line, before any job fails by it."""
    (desk.home / name).write_text(body)
    assert any(f"{name}, line 1" in problem for problem in op.status()["problems"])
    found = [
        finding for finding in doctor.examine(Home(desk.home), "sky") if finding.level == "fail"
    ]
    assert [f"{name}, line 1" in finding.message for finding in found] == [True]


def test_doctor_sees_the_archive(desk: Desk) -> None:
    """P4: files that were altered, and files that no index knows."""
    with desk.operator() as op:
        op.remember("tea")
        op.prune(layers=["short_term"])
    (file,) = (desk.folder() / "archive").iterdir()
    assert doctored(desk, "archive") == ["ok"]
    (file.parent / "short_term_archive_1.jsonl").write_text("")
    assert doctored(desk, "archive") == ["warn"]
    file.write_text("{}")
    assert doctored(desk, "archive") == ["fail", "warn"]


def doctored(desk: Desk, check: str) -> list[str]:
    return [
        finding.level
        for finding in doctor.examine(Home(desk.home), "sky")
        if finding.check == check
    ]
