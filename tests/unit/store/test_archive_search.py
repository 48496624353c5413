"""Looking through the archive: what `grep -i` finds in contents, tags and values, and nothing that
only the format says."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.errors import InvalidInput
from lamina.model import hashing
from lamina.model.record import iso
from lamina.store.archive import files as shelf
from lamina.store.archive import search
from lamina.store.archive.search import ArchiveQuery, matches
from lamina.store.engine.sql import Connection
from tests.cases import every
from tests.conftest import START, Desk, contents
from tests.unit.store.archives import archived, files

NOW = datetime(2026, 5, 1, tzinfo=UTC)
GREP = shutil.which("grep")


def line(content: str = "x", **fields: Any) -> bytes:
    """As much of a line as a search reads, and some of what it does not."""
    told: dict[str, Any] = {
        "tags": [],
        "metadata": {},
        "user": None,
        "occurred_at": iso(NOW),
        "layer": "short_term",
        "trust": "agent",
    }
    return hashing.encode({**told, "content": content, **fields})


def found(lines: list[bytes], text: str, **more: Any) -> list[int]:
    """The numbers of the lines that match."""
    file = io.BytesIO(b"".join(one + b"\n" for one in lines))
    hits = list(matches(file, ArchiveQuery(text, **more)))
    assert all(lines[number - 1] == hit for number, hit in hits)
    return [number for number, _ in hits]


# What is found


@every(
    ("text", "queries"),
    [
        ("Straße", ["straße", "STRAßE", "traß"]),
        ("ПРИВЕТ, мир", ["привет", "МИР", "т, М"]),
        ("İstanbul", ["İstanbul", "i̇STANBUL", "stanbul"]),
        ("istanbul", ["ISTANBUL", "Istanbul"]),
        ("273 \u212a", ["273 k", "273 K", "273 \u212a"]),
        ("273 K", ["273 \u212a"]),
        ("日本の本", ["日本", "の本"]),
        ("東京 TOKYO", ["京 tokyo"]),
        ("ok 😀👍🏽", ["😀", "👍🏽", "OK 😀"]),
        ("ΟΔΟΣ", ["οδος", "ΟΔΟΣ"]),
        ("ÅNGSTRÖM", ["ångström"]),
        ("ǅungla", ["ǆungla", "Ǆ"]),
        ('say "Hi" now', ['"hi"', 'y "HI" n']),
        ("back\\slash \\n", ["\\SLASH", "\\N", "k\\s"]),
        ("two\nlines\tand a tab", ["TWO\nlines", "lines\tand", "o\nL"]),
        ("bell \x07 del \x7f", ["l \x07 D", "\x7f"]),
        ("line\u2028separator", ["LINE\u2028s"]),
        ("zero\u200bwidth", ["o\u200bW"]),
        ("e\u0301galite\u0301", ["E\u0301GALITE\u0301"]),
        ("100% {json} [x] </script>", ["100%", "{JSON}", "[x]", "</SCRIPT>"]),
        ("  spaced  out  ", ["  OUT  ", "d  o"]),
    ],
)
def test_every_script_in_any_case(text: str, queries: list[str]) -> None:
    """L4, Q8: whatever the script, the sign or the case, a text is found as it stands,
    wherever it begins."""
    others = [line("nothing here"), line("К k K \u212a İ ß ς " * 3)]
    for query in (text, *queries):
        for lines in ([line(text)], [others[0], line(text), others[0]], [others[1], line(text)]):
            assert lines.index(line(text)) + 1 in found(lines, query), query
    assert found([line(text)], text + "x") == []


@pytest.mark.parametrize("query", ["ΟΔΟΣ", "οδοσ", "οδος"])
def test_the_end_of_a_word_is_no_border(query: str) -> None:
    """L4, Q8: Greek writes another sigma at the end of a word; `grep -i` takes them for one, inside
    longer words too."""
    assert found([line("ΟΔΟΣΑΛΑ"), line("η οδος"), line("ΟΔΟΣ"), line("οδοσημο")], query) == [
        1,
        2,
        3,
        4,
    ]


TEXTS = (
    *(
        "Garmin",
        "GARMIN watch",
        "gar\nmin",
        "ΟΔΟΣΑ",
        "οδος",
        "ПРИВЕТ",
        "привет",
        "Ärger",
        "ärger",
        "日本",
        "😀",
        "a.b",
        "a*b",
        "[x]",
    ),
    *(
        "C:\\temp",
        "tab\there",
        "Ångström",
        "ÅNGSTRÖM",
        "ǅ",
        "ǆ",
        "ﬁne",
        "fine",
        "ſoft",
        "SOFT",
        "née",
        "NÉE",
    ),
)
QUERIES = (
    "garmin",
    "ΟΔΟΣ",
    "привет",
    "ärger",
    "日本",
    "😀",
    "a.b",
    "a*b",
    "[X]",
    "ångström",
    "ǆ",
    "FINE",
    "soft",
    "née",
)


@pytest.mark.skipif(GREP is None, reason="there is no grep here")
def test_what_grep_finds_is_found(desk: Desk, op: Operator) -> None:
    """L4: in a UTF-8 locale, every line of the archive that `grep -i -F` finds is found here."""
    archived(op, *TEXTS)
    (file,) = files(desk)
    for query in QUERIES:
        command = [str(GREP), "-n", "-i", "-F", "-e", query, str(file)]
        answer = subprocess.run(
            command, capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"}, check=False
        )
        grepped = {int(hit.split(":", 1)[0]) for hit in answer.stdout.splitlines()}
        ours = {int(str(record.archived).rsplit(":", 1)[1]) for record in op.search_archive(query)}
        assert grepped <= ours, query


@every(
    "query",
    [
        "content",
        "short_term",
        "layer",
        "tags",
        "metadata",
        "null",
        "place",
        "occurred_at",
        '":"',
        "agent",
        "{",
        "\\",
    ],
)
def test_the_format_itself_is_not_searched(query: str) -> None:
    """L4: names of fields and keys, layers, times and the signs of JSON are not
    what somebody remembers."""
    assert found([line('tea "x"\n', tags=["drink"], metadata={"place": "kitchen"})], query) == []


def test_content_tags_and_values_are_searched() -> None:
    """L4: contents, tags and the texts in metadata, however deep."""
    deep = {"a": [{"b": ["kitchen"]}, 5, None, True]}
    lines = [
        line("Kitchen"),
        line(tags=["kitchen"]),
        line(metadata=deep),
        line(metadata={"kitchen": 1}),
        line(speaker="kitchen"),
    ]
    assert found(lines, "KITCHEN") == [1, 2, 3]


@pytest.mark.parametrize(("value", "query"), [(48213, "48213"), (-7.5, "-7.5"), (True, "true")])
def test_plain_values_are_searched_too(value: object, query: str) -> None:
    """L4: a number in metadata is a value; `grep` finds it."""
    assert found(
        [line(metadata={"order": value}), line(metadata={"order": [value]}), line("x")], query
    ) == [1, 2]


# Which of them


def test_the_newest_come_first(desk: Desk, op: Operator) -> None:
    """L4: file by file from the newest, line by line from the last; the limit keeps the newest."""
    for start in (0, 3, 6):
        archived(op, *(f"tea {start + n}" for n in range(3)))
    everything = [f"tea {n}" for n in reversed(range(9))]
    for limit in range(1, 12):
        assert contents(op.search_archive("tea", limit=limit)) == everything[:limit]
    assert [str(record.archived).rsplit(":", 1)[1] for record in op.search_archive("tea")] == [
        "3",
        "2",
        "1",
    ] * 3


def test_a_span_of_time(op: Operator) -> None:
    """L4: since a time, before another, by when it happened; without a text all that lies
    in the span."""
    for days in range(5):
        op.remember(f"tea {days}", importance=0.1, at=START - timedelta(days=days))
    op.prune(importance_below=0.2)
    since, until = START - timedelta(days=3), START - timedelta(days=1)
    assert contents(op.search_archive("tea", since=since, until=until)) == ["tea 3", "tea 2"]
    assert contents(op.search_archive(since=since, until=until)) == ["tea 3", "tea 2"]
    assert contents(op.search_archive("", since=until)) == ["tea 1", "tea 0"]
    assert op.search_archive("tea", since=until, until=until) == []


def test_a_search_of_one_user() -> None:
    """R12: a line is seen by its own user, and by everybody when it is nobody's."""
    lines = [line("tea"), line("tea", user="ana"), line("tea", user="ben"), line("tea ana")]
    assert found(lines, "tea") == [1, 2, 3, 4]
    assert found(lines, "tea", user="ana") == [1, 2, 4]
    assert found(lines, "tea", user="carla") == [1, 4]


@pytest.mark.parametrize("query", ["", " ", "\n", 5, None, "x" * 70_000])
def test_what_is_no_question_is_an_error(mem: Memory, query: Any) -> None:
    """Q7: nothing to look for, what is no text, or a text without end."""
    with pytest.raises(InvalidInput):
        mem.search_archive(query)
    for limit in (0, -1, 10_001, True, 1.5):
        with pytest.raises(InvalidInput, match="limit"):
            mem.search_archive("tea", limit=limit)  # type: ignore[arg-type]


def test_an_empty_archive_holds_nothing(mem: Memory) -> None:
    """L4: no archive, no hits, no error; and the search is in the trail of reads."""
    assert mem.search_archive("tea") == []
    assert mem.status()["archived"] == 0


def test_the_search_is_audited(op: Operator) -> None:
    """P5: who looked for what, and what was found."""
    (record,) = archived(op, "tea")
    op.search_archive("tea")
    read = op.audit_reads(1)[0]
    assert (read.action, read.records, read.note) == (
        "search_archive",
        (record.id,),
        {"query": "tea"},
    )


def test_a_file_that_was_just_written_anew_is_found(
    op: Operator, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4: when another process brings a record back while a search looks, that is answered, and
    blames no file."""
    first, _ = archived(op, "green tea", "black tea")
    other, opened = desk.operator(), shelf.Folder.open

    def restored_first(self: shelf.Folder, source: Connection, file: str) -> BinaryIO:
        monkeypatch.setattr(shelf.Folder, "open", opened)
        other.restore_archived(first.id)
        return opened(self, source, file)

    monkeypatch.setattr(shelf.Folder, "open", restored_first)
    assert contents(op.search_archive("tea")) in (["black tea"], ["black tea", "green tea"])


# How it is read


@pytest.mark.parametrize("size", [1, 2, 7, 60, 250, 1000])
@pytest.mark.parametrize("query", ["tea", "ПРИВЕТ", "k", "日本", "nowhere"])
def test_lines_across_the_borders_of_chunks(
    monkeypatch: pytest.MonkeyPatch, size: int, query: str
) -> None:
    """L4: however much is read at a time, the same lines are found under the same numbers."""
    texts = ("green tea", "привет", "x" * 300, "273 \u212a", "日本 tea", "tea", "", "İ")
    lines = [line(text, tags=["t"] * (n % 2)) for n, text in enumerate(texts * 4)]
    whole = found(lines, query)
    monkeypatch.setattr(search, "CHUNK", size)
    assert found(lines, query) == whole
    assert bool(whole) == (query != "nowhere")


def test_a_file_without_a_last_newline(monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: the last line counts, whether or not anything follows it."""
    for size in (3, 10_000):
        monkeypatch.setattr(search, "CHUNK", size)
        hits = list(
            matches(io.BytesIO(line("tea") + b"\n" + line("more tea")), ArchiveQuery("tea"))
        )
        assert [number for number, _ in hits] == [1, 2]


LETTERS = st.text(
    st.sampled_from(
        'aAkKiIsSßẞſİı\u212aςσΣпПжЖ日本😀"\\\n\t\r\x00\x1f\x7f\u0307\u2028 ,:{}'.replace("\x00", "")
    ),
    max_size=8,
)
VALUES = st.recursive(
    LETTERS | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=2), max_leaves=3
)
LINES = st.lists(
    st.fixed_dictionaries(
        {
            "content": LETTERS,
            "tags": st.lists(LETTERS, max_size=2),
            "metadata": st.dictionaries(LETTERS, VALUES, max_size=2),
            "user": st.none() | st.sampled_from(["ana", "ben"]),
            "occurred_at": st.integers(-3, 3).map(lambda days: iso(NOW + timedelta(days=days))),
        }
    ),
    max_size=8,
)
SPANS = st.none() | st.integers(-3, 3).map(lambda days: NOW + timedelta(days=days))


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [text for item in value for text in texts_of(item)]
        if isinstance(value, list)
        else [value] * isinstance(value, str)
    )


@given(LINES, LETTERS, st.none() | st.just("ana"), SPANS, SPANS, st.integers(1, 400))
def test_as_if_every_line_were_read(
    lines: list[dict[str, Any]],
    query: str,
    user: str | None,
    since: datetime | None,
    until: datetime | None,
    size: int,
) -> None:
    """L4, Q8, R12: it finds at least what lower case finds in any text of a line, at most what
    folded case does, as asked."""
    least, most = [], []
    for number, one in enumerate(lines, 1):
        when = datetime.fromisoformat(one["occurred_at"])
        if (
            one["user"] not in (None, user or one["user"])
            or (since and when < since)
            or (until and when >= until)
        ):
            continue
        texts = [one["content"], *one["tags"], *texts_of(one["metadata"])]
        least += [number] * any(query.lower() in text.lower() for text in texts)
        most += [number] * any(
            folded(query) in folded(text)
            for text in map(str, [*texts, json.dumps(one["metadata"])])
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "CHUNK", size)
        hits = found([line(**one) for one in lines], query, user=user, since=since, until=until)
    assert hits == sorted(set(hits))
    assert set(least) <= set(hits) <= set(most)


def folded(text: str) -> str:
    return text.casefold().replace("\u0307", "")
