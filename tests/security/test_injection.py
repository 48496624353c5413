"""Words that mean something to a machine behind us: SQL, FTS, JSON, YAML, headers, logs, Markdown.
Here they are words."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from markdown_it import MarkdownIt

from lamina import Memory
from lamina.errors import LaminaError
from lamina.formats.exporting import NAMES as FORMS
from lamina.home.folder import Home
from lamina.search import RANKERS
from lamina.surfaces.hooks import problems
from tests.conftest import FULL, Desk, contents, size, verified
from tests.security.canaries import answered
from tests.security.hostile import HOSTILE
from tests.security.tally import probe
from tests.security.xss import TEXTS as XSS
from tests.surfaces.served import PATIENCE, Served

SQL = [
    *(
        "' OR '1'='1",
        "'; DROP TABLE records; --",
        '" OR ""="',
        "1; ATTACH DATABASE '/tmp/x' AS y",
        "x' UNION SELECT * FROM records --",
    ),
    *(
        "') OR 1=1 --",
        "%' OR content LIKE '%",
        "\\' OR 1=1 --",
        "/**/OR/**/1=1",
        "0x27 OR 1",
        "' || (SELECT content FROM records) || '",
    ),
    *(
        "?1",
        ":user",
        "@user",
        "$user",
        "{user}",
        "%s",
        "%(user)s",
        "char(39)",
        "'; PRAGMA writable_schema=1; --",
        "load_extension('x')",
    ),
]
FTS = [
    *(
        '"',
        '""',
        '"tea',
        "tea OR",
        "OR tea",
        "AND",
        "NOT",
        "NOT tea",
        "tea NOT ben",
        "NEAR(tea ben)",
        "NEAR(",
        "tea*",
        "*",
        "^tea",
    ),
    *(
        "content:tea",
        "{content tags}:tea",
        "-content:tea",
        "(tea",
        "tea)",
        "((((",
        "tea + ben",
        "tea - ben",
        "tea AND (ben OR",
        "a:b:c",
    ),
    *(
        "tea\tben",
        "'tea'",
        "`tea`",
        "tea;",
        "tea--",
        "\\",
        "tea\\",
        '"tea" "ben" OR "x"',
        "{}",
        "{a b}: c",
        "tea^2",
        "rank:bm25",
        "tea:*",
    ),
]
DATA = [
    *(
        '{"a": 1}',
        '{"__proto__": {"x": 1}}',
        '"}, "user": "ben", "x": {"',
        "\\u0000",
        "\\",
        '{"$ref": "#/"}',
        "NaN",
        "1e999",
        "null",
        "[[[[",
    ),
    *(
        "!!python/object/apply:os.system ['id']",
        "&a [*a, *a]",
        "*a",
        "? x",
        "- - -",
        "a: b: c",
        "---\n...",
        "<<: *x",
        "%YAML 9.9",
        "!<x> y",
    ),
    *(
        "=1+1",
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        ";=1",
        "{{7*7}}",
        "${7*7}",
        "#{7*7}",
        "<%= 7*7 %>",
        "{%raw%}",
    ),
]
BREAKS = [
    "x\r\nSet-Cookie: evil=1",
    "x\nX-Evil: 1",
    "x\r\n\r\n<script>",
    "x%0d%0aX-Evil: 1",
    "\u010d\u010aX-Evil: 1",
    "x\x00y",
    "x\x0bX-Evil: 1",
]
WORDS = [*SQL, *FTS, *DATA, *BREAKS]
SOME = WORDS if FULL else WORDS[::5]


@pytest.fixture
def two(desk: Desk) -> Memory:
    """Ana's handle on a store in which Ben keeps something as well."""
    desk.agent(user="ben").remember(
        "tea of ben", tags=["t"], metadata={"place": "kitchen"}, speaker="Ben", session="s"
    )
    ana = desk.agent(user="ana")
    ana.remember("tea of ana", tags=["t"], metadata={"place": "office"}, speaker="Ana", session="s")
    return ana


@pytest.mark.parametrize("ranker", RANKERS)
def test_no_question_is_a_query(two: Memory, ranker: str) -> None:
    """D1, D5, Q2: operators of FTS and SQL in a question are words; there is no error of a
    database, and nothing of others."""
    for word in SOME:
        for query in (word, f"tea {word}", f"{word} tea"):
            said = (
                contents(two.search(query, ranker=ranker))
                if query.strip() and "\0" not in query
                else []
            )
            assert set(said) <= {"tea of ana"}, query
            probe()
    assert contents(two.search("tea", ranker=ranker)) == ["tea of ana"]


def told_by(ask: Callable[[], object]) -> str:
    """What an answer or an error of ours says; a database's own complaint is in neither."""
    said = answered(ask)
    probe()
    assert "syntax error" not in said
    assert "no such column" not in said
    return said


def test_no_filter_is_a_query(two: Memory) -> None:
    """D5: values and also names in filters are bound, never part of a statement."""
    for word in SOME:
        filters: list[dict[str, Any]] = [
            {"tags": [word]},
            {"all_tags": [word]},
            {"metadata": {word: "kitchen"}},
            {"kinds": [word]},
        ]
        filters += [
            {"metadata": {"place": word}},
            {"since": word},
            {"run_id": word},
            {"session": word},
            {"layers": [word]},
            {"states": [word]},
        ]
        for chosen in filters:
            said = told_by(partial(two.search, "tea", **chosen))
            assert "of ben" not in said, chosen
        asks: tuple[Callable[[str], object], ...] = (
            two.timeline,
            two.facts,
            two.get,
            two.search_archive,
            two.query_relevant,
            two.recall_similar,
        )
        for ask in asks:
            assert "of ben" not in told_by(partial(ask, word))


def test_stored_words_stay_words(desk: Desk) -> None:
    """R8, D5: as content, tag, metadata, speaker, session, source or key they come back to the
    letter, and break no check."""
    op = desk.operator()
    for number, word in enumerate(WORDS):
        if "\0" in word:
            continue
        probe()
        kept = op.remember(f"n{number} {word}", metadata={f"k{number}": word})
        assert op.get(kept.id).metadata[f"k{number}"] == kept.metadata[f"k{number}"]
        for field in ("speaker", "session", "source", "key"):
            probe()
            try:
                op.remember_many([{"content": f"f{number} {field}", field: word}])
            except LaminaError:
                continue
    before = size(op)
    assert verified(op)
    op.reindex()
    assert size(op)[0] == before[0]
    assert verified(op)


def test_no_header_is_split(desk: Desk) -> None:
    """H2: nothing that is asked comes back as a header, also where an answer leads elsewhere."""
    desk.agent().remember("tea")
    with Served(desk) as served:
        token = served.token(trail=True)
        for word in BREAKS:
            for path in (
                "/memory/search?query=",
                "/search?query=",
                "/sign-in?link=",
                "/records?cursor=",
                "/?theme=",
                "/memory/records/",
            ):
                found = served.ask(path + quote(word, safe="%"), token)
                assert not {"x-evil", "set-cookie"} & found.headers.keys() or (
                    path.startswith("/sign-in") and "evil" not in str(found.headers)
                )
                assert found.status < 500
                probe()
            for header in ("Host", "Origin", "Cookie", "Authorization", "X-Forwarded-Host"):
                with socket.create_connection(served.address, timeout=PATIENCE) as client:
                    client.sendall(
                        f"GET /memory/status HTTP/1.1\r\n{header}: {word}\r\nConnection: close\r\n\r\n".encode()
                    )
                    answer = http.client.HTTPResponse(client)
                    answer.begin()
                    assert "x-evil" not in {name.lower() for name, _ in answer.getheaders()}
                    assert answer.status in (400, 401, 403)
                    answer.close()
                probe()


def test_no_log_gets_a_line_more(desk: Desk) -> None:
    """P2, H4: whatever a name or a trouble holds, it is one line of the list of violations, and one
    of the list of troubles."""
    home = Home(desk.home)
    desk.agent().close()
    for number, word in enumerate([*WORDS, *LINES]):
        with pytest.raises(LaminaError):
            desk.agent(f"{word}\n{{}}")
        assert len(desk.violations()) == number + 1
        assert json.loads(desk.violations()[-1])["attempt"]
        problems.note(home, "sky", desk.clock(), "stop", f"{word}\nforged")
        probe(2)
    for path in home.status.glob("sky_hooks*"):
        assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())


LINES = ["a\nb", "a\r\nb", "a\u2028b", "a\x85b", '"}\n{"at": "forged"}', "a\x1b[2Kb"]


def test_files_of_the_world_are_read_as_data(desk: Desk, tmp_path: Path) -> None:
    """R11, H5: YAML that would make objects, bombs or aliases is refused or is text;
    nothing is run."""
    op = desk.operator()
    ran = tmp_path / "ran"
    tags = [
        "python/object/apply:os.system",
        "python/object/new:os.system",
        "python/name:os.system",
        "python/module:os",
    ]
    for tag in tags:
        given = tmp_path / "given.yaml"
        given.write_text(f"retention:\n  x: !!{tag} ['touch {ran}']\n", "utf-8")
        for name in ("retention.yaml", "schedule.yaml"):
            for folder in (desk.home, desk.folder()):
                (folder / name).write_text(given.read_text("utf-8"), "utf-8")
                for verb in (op.plan_promotion, op.jobs, lambda: desk.operator().close()):
                    answered(verb)
                (folder / name).unlink()
                probe()
    assert not ran.exists()


def test_no_form_is_a_spreadsheet() -> None:
    """H5: formulas do no harm where nothing is written as CSV; whoever adds such a form has to
    think of them."""
    assert not {"csv", "tsv", "xlsx", "ods"} & set(FORMS)


def test_documents_hold_no_markup_of_others(desk: Desk, tmp_path: Path) -> None:
    """H5: in Markdown for people hostile texts make no element, image, link or heading."""
    op = desk.operator()
    texts = [text for text in (*XSS, *HOSTILE[::5], *WORDS) if "\0" not in text]
    for text in texts:
        op.remember(text)
        probe()
    op.export_as("markdown", tmp_path / "notes.md")
    parsed = MarkdownIt("commonmark").parse((tmp_path / "notes.md").read_text("utf-8"))
    found = {one.type for token in parsed for one in (token, *(token.children or ()))}
    assert (
        not {
            "html_block",
            "html_inline",
            "link_open",
            "image",
            "fence",
            "code_block",
            "hr",
            "table_open",
        }
        & found
    )
    headings = [
        after.content for before, after in pairwise(parsed) if before.type == "heading_open"
    ]
    assert not {
        heading for heading in headings for text in texts if len(text) > 3 and text in heading
    }
