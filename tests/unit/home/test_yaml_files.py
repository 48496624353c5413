"""Settings in YAML: what a file says, what is told about a wrong one, and which value
stays in force."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.home import yaml_files
from tests.cases import every


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    weight: int

    def __post_init__(self) -> None:
        if self.weight > 9:
            raise yaml_files.InvalidField(f"weight = {self.weight} is too heavy", key="weight")


class Thing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    share: float = 0.5
    count: int = 3
    label: str = "none"
    open: bool = False
    words: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if "bad" in self.words:
            raise yaml_files.InvalidField("a bad word", key="words", index=self.words.index("bad"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "thing.yaml"


def loaded(path: Path, body: str | bytes, base: Thing | None = None) -> Thing:
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    return yaml_files.load(path, base or Thing())


def test_a_file_changes_what_it_names(path: Path) -> None:
    """L6: every type is read, and what the file does not name stays as it was."""
    body = (
        "share: 1\ncount: 7\nlabel: tea\nopen: true\nwords: [a, b]\nparts:\n  - {name: x, "
        "weight: 2}\n"
    )
    assert loaded(path, body) == Thing(1.0, 7, "tea", True, ("a", "b"), (Part("x", 2),))
    assert loaded(path, "count: 4", Thing(share=0.25)) == Thing(share=0.25, count=4)


@pytest.mark.parametrize(
    "body", [None, "", "# nothing yet\n", "---\n", "\ufeff", "words:\nparts:\n"]
)
def test_a_file_that_says_nothing_changes_nothing(path: Path, body: str | None) -> None:
    """L6: a missing, an empty or a commented-out file, or list, leaves the values as they were."""
    base = Thing(count=9)
    assert (yaml_files.load(path, base) if body is None else loaded(path, body, base)) == base


def test_the_common_forms_of_text_files_are_read(path: Path) -> None:
    """L6: a byte order mark, line ends of other systems and other scripts are no problem."""
    assert loaded(path, "\ufefflabel: 安娜\r\ncount: 5\r\n") == Thing(label="安娜", count=5)


def test_an_alias_stands_for_its_value(path: Path) -> None:
    """L6: an alias is read as what it points to."""
    assert loaded(path, "words: &w [a]\nparts: []\nlabel: &l tea\n").label == "tea"
    assert loaded(path, "share: &n 1\ncount: *n\n") == Thing(share=1.0, count=1)


WRONG = [
    ("count: 1\nshare: seven\n", 2, "share = seven is not a number"),
    ("share: '0.7'\n", 1, "share = '0.7' is not a number"),
    ("share: true\n", 1, "share = true is not a number"),
    ("\n\nshare:\n", 3, "share has no value"),
    ("share: 1" + "0" * 400, 1, "is too large"),
    ("share: [1]", 1, "share = a list is not a number"),
    ("count: 1.0\n", 1, "count = 1.0 is not a whole number"),
    ("count: yes\n", 1, "count = yes is not a whole number"),
    ("label: 2026-01-01\n", 1, "label = 2026-01-01 is not a text; put it into quotes"),
    ("label: no\n", 1, "label = no is not a text; put it into quotes"),
    ("open: 1\n", 1, "open = 1 is not true or false"),
    ("label: " + "x" * 1001, 1, "a value of 1,001 characters"),
    ("words: tea\n", 1, "words = tea is not a list"),
    ("words:\n  - a\n  - 5\n", 3, "words = 5 is not a text"),
    ("words:\n  - a\n  - bad\n", 3, "a bad word"),
    ("parts:\n  - name: x\n    weight: 1\n  - name: y\n", 4, "weight is missing"),
    ("parts:\n  - name: x\n    weight: 10\n", 3, "weight = 10 is too heavy"),
    ("parts:\n  - name: x\n    weigth: 1\n", 3, "unknown key weigth; did you mean weight?"),
    ("parts: [x]", 1, "x is not a mapping of name, weight"),
    ("count: 1\nshar: 0.5\n", 2, "unknown key shar; did you mean share?"),
    ("zebra: 1\n", 1, "unknown key zebra; known are share, count, label, open, words, parts"),
    ("<<: {count: 1}\n", 1, "unknown key <<"),
    ("? [a]\n: 1\n", 1, "unknown key a list"),
    ("share: 1\ncount: 2\nshare: 0\n", 3, "share is here a second time; the first is in line 1"),
    ("- a\n", 1, "a list is not a mapping"),
    ("tea\n", 1, "tea is not a mapping"),
    ("count: 1\nshare: [", 2, "not valid YAML"),
    ("count: 1\n\tshare: 1", 2, "not valid YAML"),
    ("count: 1\nlabel: \x00", 2, "not valid YAML: it holds the character"),
    ('count: 1\nlabel: "\\UFFFFFFFF"', 2, "not valid YAML"),
    ("count: 1\n---\ncount: 2\n", 2, "another document"),
    ("count: *nobody", 1, "undefined alias"),
    ("label: !!python/object/apply:os.system [ls]", 1, "could not determine a constructor"),
    ("label: !!python/name:os.system x", 1, "could not determine a constructor"),
    ("count: !!int tea", 1, "tea cannot be read as"),
    ("count: !!int ''", 1, "cannot be read as"),
    ("open: !!bool tea", 1, "cannot be read as"),
    ("label: !!timestamp tea", 1, "cannot be read as"),
    ("words: !!set {tea}", 1, "unknown key tea"),
    (b"count: 1\nlabel: \xff\n", 2, "the byte 0xff is not UTF-8"),
    ("[" * 5000, 1, "nested too deeply"),
]


@every(("body", "line", "message"), WRONG)
def test_a_wrong_file_is_told_with_line_and_value(
    path: Path, body: str | bytes, line: int, message: str
) -> None:
    """L6: a wrong value, an unknown or repeated key and bad YAML are typed errors with file, line
    and value."""
    with pytest.raises(InvalidInput) as caught:
        loaded(path, body)
    assert caught.value.message.startswith(f"{path}, line {line}: ")
    assert message in caught.value.message
    assert len(caught.value.message) < 500 + len(str(path))
    assert caught.value.details == {"file": str(path), "line": line}


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}]\n" for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    "body",
    [
        LAUGHS + "words: *j\n",
        "words: &w [*w]\n",
        "? &w [*w]\n: 1\n",
        "parts: &w [{name: x, weight: *w}]\n",
        "share: &s {count: *s}\n",
        "parts:\n  - &a {name: x, weight: 1}\n"
        + "".join(
            f"  - &{'a' * n} {{<<: [*{'a' * (n - 1)}, *{'a' * (n - 1)}]}}\n" for n in range(2, 40)
        ),
        "words:\n" + "".join(f"  - &{'a' * n} x\n" for n in range(1, 50)) + "  - 5\n",
    ],
    ids=["laughs", "itself", "key", "deeper", "mapping", "merges", "anchors"],
)
def test_aliases_cannot_grow(path: Path, body: str) -> None:
    """L6: aliases that multiply, or lead back to themselves, end in a short error."""
    with pytest.raises(InvalidInput) as caught:
        loaded(path, body)
    assert len(caught.value.message) < 500 + len(str(path))


def test_a_file_that_is_none_is_refused(tmp_path: Path, path: Path) -> None:
    """L6: a folder, a pipe, a file without end and one that may not be read are typed errors; none
    is waited for."""
    path.write_bytes(b"#" * (yaml_files.MOST_BYTES + 1))
    with pytest.raises(InvalidInput, match="too long for settings"):
        yaml_files.load(path, Thing())
    with pytest.raises(InvalidInput, match="is not a file"):
        yaml_files.load(tmp_path, Thing())
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(InvalidInput, match="is not a file"):
            yaml_files.load(tmp_path / "pipe", Thing())
    with pytest.raises(InvalidInput, match="cannot be read"):
        yaml_files.load(path / "below", Thing())


@given(
    body=st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda text: text.encode(errors="replace")),
    )
)
def test_any_bytes_are_a_value_or_a_typed_error(
    tmp_path_factory: pytest.TempPathFactory, body: bytes
) -> None:
    """L6: whatever a file holds, reading it gives a value or an `InvalidInput` that
    names the file."""
    _settle(tmp_path_factory.getbasetemp() / "any.yaml", body)


WORDS = st.sampled_from(
    [
        "share",
        "count",
        "parts",
        ":",
        " ",
        "\n",
        "-",
        "  ",
        "[",
        "]",
        "{",
        "}",
        "&a",
        "*a",
        "!!int",
        "1",
        "'",
    ]
)


@given(body=st.lists(WORDS, max_size=30).map("".join))
def test_anything_like_yaml_is_a_value_or_a_typed_error(
    tmp_path_factory: pytest.TempPathFactory, body: str
) -> None:
    """L6: the same for texts made of the signs of YAML."""
    _settle(tmp_path_factory.getbasetemp() / "like.yaml", body.encode())


def _settle(path: Path, body: bytes) -> None:
    try:
        loaded(path, body)
    except InvalidInput as error:
        if not error.message.startswith(str(path)):
            raise


def watched(path: Path) -> yaml_files.Watched[Thing]:
    return yaml_files.Watched(path, lambda path: yaml_files.load(path, Thing()))


def test_a_changed_file_is_read_again(path: Path) -> None:
    """L6: a change takes effect at the next look, also back to nothing; an unchanged file is not
    read twice."""
    reads = []

    def read(path: Path) -> Thing:
        reads.append(path)
        return yaml_files.load(path, Thing())

    holder = yaml_files.Watched(path, read)
    assert holder.current() == holder.current() == Thing()
    loaded(path, "count: 4")
    assert holder.current() == holder.current() == Thing(count=4)
    loaded(path, "count: 5")
    assert holder.current().count == 5
    path.unlink()
    assert holder.current() == Thing()
    assert len(reads) == 4


def test_a_bad_file_leaves_the_old_values_in_force(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: after a bad change the former values stay, the problem is kept to be told and logged
    once, until it is mended."""
    holder = watched(path)
    loaded(path, "count: 4")
    holder.current()
    path.write_text("count: many", "utf-8")
    with caplog.at_level(logging.WARNING):
        assert holder.current() == holder.current() == Thing(count=4)
    assert holder.problem == f"{path}, line 1: count = many is not a whole number"
    assert [record.getMessage() for record in caplog.records] == [
        f"{holder.problem}; what was read before stays in force"
    ]
    path.write_text("count: 6", "utf-8")
    assert holder.current().count == 6
    assert holder.problem is None


def test_a_file_that_was_never_good_is_an_error(path: Path) -> None:
    """L6: without any good value there is nothing to run with, so each look raises until the file
    is mended."""
    holder = watched(path)
    path.write_text("count: many", "utf-8")
    for _ in range(2):
        with pytest.raises(InvalidInput, match="line 1: count = many"):
            holder.current()
    path.write_text("count: 6", "utf-8")
    assert holder.current().count == 6
