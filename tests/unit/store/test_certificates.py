"""Certificates of erasures: what somebody altered, removed or added is named, and never shown as
certified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import lamina
from lamina import Operator
from lamina.errors import Corrupt, InvalidInput, NotFound
from lamina.home.folder import Home
from lamina.memory.doctor import examine
from lamina.store.upkeep.verify import Report
from tests.conftest import Desk, quietly, verified

GOLDEN = Path(__file__).parents[2] / "golden" / "schema_5.db"


@pytest.fixture
def operator(desk: Desk) -> Operator:
    """An operator who has erased twice."""
    made = desk.operator()
    for text in ("Ana hides pomegranates", "Ben hides tangerines"):
        made.erase(made.remember(text).id)
    return made


def checked(operator: Operator) -> Report:
    return operator.audit_verify()["events"]


def places(operator: Operator) -> list[str]:
    return [problem.place for problem in checked(operator).problems]


def uncovered(operator: Operator) -> list[str]:
    return [part.place for part in checked(operator).uncovered]


def findings(desk: Desk, level: str) -> list[str]:
    return [
        one.message
        for one in examine(Home(desk.home), "sky")
        if (one.level, one.check) == (level, "erasures")
    ]


def altered(desk: Desk, statement: str) -> None:
    quietly(desk.folder() / "memory.db", statement)


def file(desk: Desk, number: int = 1) -> Path:
    return desk.folder() / "erasures" / f"{number:04d}.json"


FORGED = (
    "UPDATE erasures SET certificate = replace(certificate, '\"asked_for\":1', "
    "'\"asked_for\":7') WHERE number = 1"
)


def test_true_certificates_are_shown(operator: Operator, desk: Desk) -> None:
    """P5: what nobody touched is shown, all of it or one, verifies, and leaves
    the doctor content."""
    assert [one.number for one in operator.erasures()] == [1, 2]
    assert [one.number for one in operator.erasures(2)] == [2]
    assert (places(operator), uncovered(operator)) == ([], [])
    (found,) = findings(desk, "ok")
    assert found.startswith("2 done")


def test_one_altered_in_the_store_is_named_and_not_shown(operator: Operator, desk: Desk) -> None:
    """P4, P5: a certificate that says something else than what was certified is a typed error; the
    others are shown."""
    altered(desk, FORGED)
    with pytest.raises(Corrupt, match="erasure 1: its certificate was altered; restore a backup"):
        operator.erasures()
    with pytest.raises(Corrupt, match="erasure 1"):
        operator.erasures(1)
    assert [one.number for one in operator.erasures(2)] == [2]
    assert places(operator) == ["erasure 1"]
    assert any(
        "erasure 1: its certificate was altered" in message for message in findings(desk, "fail")
    )


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("UPDATE erasures SET certificate = NULL WHERE number = 2", "certificate is missing"),
        ("DELETE FROM erasures WHERE number = 2", "it is missing"),
        (
            "INSERT INTO erasures SELECT 3, at, NULL, certificate FROM erasures WHERE number = 2",
            "no event began it",
        ),
        ("UPDATE erasures SET at = at + 1 WHERE number = 2", "its time differs"),
        ("UPDATE erasures SET todo = '{}' WHERE number = 2", "something is left to do"),
    ],
)
def test_one_removed_or_added_in_the_store_is_named(
    operator: Operator, desk: Desk, statement: str, wrong: str
) -> None:
    """P4, P5: no row of an erasure is taken away, put in or changed unnoticed."""
    altered(desk, statement)
    (problem,) = checked(operator).problems
    assert wrong in problem.message
    with pytest.raises(Corrupt, match=problem.place):
        operator.erasures()


@pytest.mark.parametrize("bytes_", [b"{}\n", b"no JSON", b"\xff", b""])
def test_an_altered_file_is_named_and_written_again(
    operator: Operator, desk: Desk, bytes_: bytes
) -> None:
    """P5: a file that is not byte by byte the certificate is named with what to do, which then
    helps."""
    true = file(desk).read_bytes()
    file(desk).write_bytes(bytes_)
    assert places(operator) == ["certificate erasures/0001.json"]
    (found,) = findings(desk, "fail")
    assert "delete it, then `lamina erase --resume`" in found
    file(desk).unlink()
    operator.resume_erasures()
    assert file(desk).read_bytes() == true
    assert places(operator) == []


def test_a_file_that_says_two_things_is_altered(operator: Operator, desk: Desk) -> None:
    """P5: a name that stands twice shows readers something else than programs read."""
    text = file(desk).read_text("utf-8")
    file(desk).write_text(text.replace("{", '{\n  "what": "nothing at all",', 1), "utf-8")
    assert places(operator) == ["certificate erasures/0001.json"]


def test_a_missing_file_is_told_and_no_error(operator: Operator, desk: Desk) -> None:
    """P5: the store has its text, so whoever copies the database alone has lost nothing; the doctor
    says what to do."""
    file(desk).unlink()
    assert checked(operator).ok
    assert uncovered(operator) == ["certificate erasures/0001.json"]
    (found,) = findings(desk, "warn")
    assert "`lamina erase --resume` writes it again" in found


def test_an_added_file_is_named(operator: Operator, desk: Desk) -> None:
    """P5: a certificate that no erasure has made is named, and no restored backup believes it."""
    stays = operator.remember("it rained")
    backup = operator.backup()
    told = json.loads(file(desk).read_text("utf-8"))
    forged = {**told, "number": 9, "records": [stays.id]}
    file(desk, 9).write_text(
        json.dumps(forged, sort_keys=True, indent=2, ensure_ascii=False) + "\n", "utf-8"
    )
    assert places(operator) == ["certificate erasures/0009.json"]
    operator.restore(backup)
    assert operator.get(stays.id).content == "it rained"
    assert places(operator) == ["certificate erasures/0009.json"]


def test_an_altered_certificate_does_not_stop_an_erasure(operator: Operator, desk: Desk) -> None:
    """P5: whoever alters a certificate cannot keep memories from being erased."""
    altered(desk, FORGED)
    gone = operator.remember("Eve hides mandarins")
    assert operator.erase(gone.id).records == [gone.id]
    assert places(operator) == ["erasure 1"]


def test_what_a_replaced_history_certified_stays_true(desk: Desk) -> None:
    """P5: a restored backup tells of certificates that it does not know, and uses none of their
    numbers again."""
    operator = desk.operator()
    gone = operator.remember("Ana hides pomegranates")
    backup = operator.backup()
    operator.erase(gone.id, keep_backups=True)
    first = file(desk).read_bytes()
    assert operator.restore(backup)["erased_again"] == 1
    assert [one.number for one in operator.erasures()] == [2]
    assert file(desk).read_bytes() == first
    assert (places(operator), uncovered(operator)) == ([], [])
    file(desk).write_bytes(first.replace(b'"asked_for": 1', b'"asked_for": 2'))
    assert places(operator) == ["certificate erasures/0001.json"]


def test_an_export_carries_certificates(operator: Operator, tmp_path: Path) -> None:
    """H5, P5: a store that is restored from an export has the certificates, as rows and as files,
    and gives the same export."""
    export = operator.export(tmp_path / "all.json")
    with lamina.operator("sky", home=tmp_path / "new") as other:
        other.import_(export, trust=True)
        assert other.erasures() == operator.erasures()
        assert checked(other).uncovered == checked(other).problems == ()
        assert other.export(tmp_path / "again.json").read_bytes() == export.read_bytes()


def test_an_export_with_another_certificate_is_refused(operator: Operator, tmp_path: Path) -> None:
    """H5, P5: a certificate that was altered in an export is refused with all of it, and so is one
    that was taken out."""
    export = operator.export(tmp_path / "all.json")
    text = export.read_text("utf-8")
    assert '\\"asked_for\\":1' in text
    export.write_text(text.replace('\\"asked_for\\":1', '\\"asked_for\\":7', 1), "utf-8")
    with (
        lamina.operator("sky", home=tmp_path / "new") as other,
        pytest.raises(Corrupt, match="erasure 1"),
    ):
        other.import_(export, trust=True)


def stripped(export: Path) -> Path:
    """An export without certificates, as older versions wrote it."""
    told = json.loads(export.read_text("utf-8"))
    del told["certificates"], told["manifest"]["certificates"]
    export.write_text(json.dumps(told), "utf-8")
    return export


def test_certificates_cannot_be_taken_out_of_an_export(operator: Operator, tmp_path: Path) -> None:
    """H5, P5: events say that exports carry certificates, so one without them was altered."""
    export = stripped(operator.export(tmp_path / "all.json"))
    with (
        lamina.operator("sky", home=tmp_path / "new") as other,
        pytest.raises(Corrupt, match="certificate is missing"),
    ):
        other.import_(export, trust=True)


def test_an_export_of_an_older_version_leaves_certificates_uncovered(
    desk: Desk, tmp_path: Path
) -> None:
    """H5: exports of before had no certificates: their stores verify, and say which
    are not here."""
    desk.folder("golden").mkdir(parents=True)
    shutil.copyfile(GOLDEN, desk.folder("golden") / "memory.db")
    export = stripped(desk.operator("golden").export(tmp_path / "all.json"))
    with lamina.operator("golden", home=tmp_path / "new") as other:
        other.import_(export, trust=True)
        assert checked(other).ok
        assert "erasure 1" in uncovered(other)
        assert other.erasures() == []


def test_numbers_of_erasures_are_checked(operator: Operator) -> None:
    """Q2: a number that is none, or that no erasure has, is a typed error."""
    with pytest.raises(NotFound, match="erasure 7"):
        operator.erasures(7)
    for number in ("1", 1.0, True):
        with pytest.raises(InvalidInput, match="not the number of an erasure"):
            operator.erasures(number)  # type: ignore[arg-type]


def test_what_is_left_to_do_is_compared(desk: Desk) -> None:
    """P5: nobody puts other work into an erasure that is not finished; it verifies before and
    after."""
    operator = desk.operator()
    gone = operator.remember("Ana hides pomegranates")
    operator._parts.erasures.begin(operator._parts.erasures.wanted((gone.id,), None, None, None))
    assert places(operator) == []
    altered(desk, "UPDATE erasures SET todo = json_set(todo, '$.user', 'ben')")
    assert places(operator) == ["erasure 1"]
    altered(desk, "UPDATE erasures SET todo = json_set(todo, '$.user', NULL)")
    operator.resume_erasures()
    assert verified(operator)
