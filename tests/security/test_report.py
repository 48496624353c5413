"""The report counts what was probed, fails for what failed, and never calls passed what nobody
could look at."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pytest

from tests.security import dependencies
from tests.security.__main__ import BEGIN, END, Report, written
from tests.security.dependencies import CONTROL, Package
from tests.security.tally import CORPORA, PROBES, Line, Tally, added

PACKAGES = [Package("good", "1.0", "core", "MIT"), Package("bad", "2.0", "http", "MIT")]
KNOWN = {"vulnerabilities": [{"id": "PYSEC-1"}, {"id": "PYSEC-2", "withdrawn": "2026-01-01"}]}


def phase(
    when: str, *, failed: bool = False, skipped: bool = False, probes: int | None = None
) -> Any:
    """A report of one phase of a test, as pytest makes it."""
    properties = [] if probes is None else [(PROBES, probes)]
    told = {
        "nodeid": "tests/security/test_http.py::test_x[1]",
        "duration": 0.5,
        "user_properties": properties,
    }
    return SimpleNamespace(when=when, failed=failed, skipped=skipped, **told)


def test_every_file_is_in_a_corpus() -> None:
    """J: a new file of probes is a line of the report only when somebody has said which."""
    assert {path.stem for path in Path(__file__).parent.glob("test_*.py")} == CORPORA.keys()


def test_probes_are_added_up() -> None:
    """J: a test counts as many probes as it says, and as one when it says nothing; a skipped
    one as none."""
    lines: dict[str, Line] = {}
    for probes in (7, 0):
        for one in (phase("setup"), phase("call"), phase("teardown", probes=probes)):
            added(lines, one)
    added(lines, phase("setup", skipped=True))
    added(lines, phase("teardown"))
    assert lines["HTTP"] == Line("HTTP", tests=2, probes=8, failures=0, skipped=1, seconds=4.0)


def test_a_failure_fails_the_report() -> None:
    """J: a test that failed in any phase is a failure, and so are a run that did not end well and
    one that probed nothing."""
    lines: dict[str, Line] = {}
    added(lines, phase("call", failed=True))
    assert not Report([*lines.values()], [], 1).is_good
    assert Report([Line("HTTP", probes=1)], [], 0).is_good
    assert not Report([Line("HTTP", probes=1)], [], 2).is_good
    assert not Report([Line("HTTP")], [], 0).is_good


def test_counting_begins_anew() -> None:
    """J: what one test has counted is not counted for the next."""
    tally = Tally()
    tally()
    tally(4)
    assert (tally.taken(), tally.taken()) == (5, 0)


def asked(path: str) -> dict[str, Any] | None:
    """An index that knows every release."""
    return (
        KNOWN if path in (f"{'/'.join(CONTROL)}/json", "bad/2.0/json") else {"vulnerabilities": []}
    )


def newest_alone(path: str) -> dict[str, Any] | None:
    """An index that tells of the newest release of each package alone."""
    newest = {"pycrypto/json": "2.6.1", "good/json": "1.0", "bad/json": "3.0"}.get(path)
    return (
        None
        if newest is None
        else {"info": {"version": newest}, "vulnerabilities": KNOWN["vulnerabilities"]}
    )


def away(path: str) -> dict[str, Any] | None:
    raise URLError("no route")


def test_a_known_weakness_is_found() -> None:
    """J: by the release that is installed; what was withdrawn counts no more."""
    assert [one.weaknesses for one in dependencies.audited(PACKAGES, asked)] == [(), ("PYSEC-1",)]


def test_what_is_accepted_is_one_weakness_of_one_package() -> None:
    """J: it is told with its reason, by the name that all lists share; the same one elsewhere, or
    another one, is a failure."""
    (name, known), _ = next(iter(dependencies.ACCEPTED.items()))
    found = {
        "vulnerabilities": [
            {"id": "GHSA-1", "aliases": [known]},
            {"id": "PYSEC-9", "aliases": [known]},
            {"id": "CVE-0"},
        ]
    }
    packages = [Package(name, "1", "x", "MIT"), Package("other", "1", "x", "MIT")]
    chroma, other = dependencies.audited(packages, lambda path: found)
    assert (chroma.weaknesses, chroma.accepted) == (("CVE-0",), (known,))
    assert (other.weaknesses, other.accepted) == (("CVE-0", known), ())


def test_the_page_gets_the_table(tmp_path: Path) -> None:
    """J: between its marks, and whatever stands around them stays."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", "utf-8")
    written(
        Report(
            [Line("HTTP", probes=1234)],
            [Package("x", "1", "core", "MIT", not_audited="it is away")],
            0,
        ),
        page,
    )
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "| HTTP | 1,234 | 0 | 0 |" in text
    assert "Not audited: x 1: it is away." in text
    assert "old" not in text


def test_an_older_release_is_not_judged_by_the_newest() -> None:
    """J: where the index tells of the newest release alone, others are not audited, which is not
    the same as good."""
    good, bad = dependencies.audited(PACKAGES, newest_alone)
    assert (good.weaknesses, good.not_audited) == (("PYSEC-1",), "")
    assert (bad.weaknesses, bad.not_audited) == ((), "the index lists only 3.0")


@pytest.mark.parametrize(
    "ask", [away, lambda path: {"vulnerabilities": []}, lambda path: None, lambda path: {}]
)
def test_an_index_that_is_away_or_blind_has_audited_nothing(ask: dependencies.Ask) -> None:
    """J: an index that cannot be asked, or knows nothing of a release that is known to be weak,
    vouches for nothing."""
    assert all(one.not_audited for one in dependencies.audited(PACKAGES, ask))


def test_what_lamina_runs_on_is_found() -> None:
    """J: the packages of the project and of its extras, with what they need in turn, and each with
    a licence."""
    found = {one.name: one for one in dependencies.installed()}
    assert {
        "msgspec",
        "numpy",
        "apsw-sqlite3mc",
        "fastapi",
        "starlette",
        "mcp",
        "chromadb",
        "psycopg",
    } <= found.keys()
    assert not {"pytest", "ruff", "hypothesis", "lamina"} & found.keys()
    assert all(one.version and one.licence for one in found.values())
