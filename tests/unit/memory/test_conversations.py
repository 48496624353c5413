"""Conversations: turns in their order, one episode beside them, all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from lamina import Memory, Operator
from lamina.errors import Conflict, InvalidInput, LaminaError, Refused
from lamina.model.clock import moment
from lamina.model.record import Layer
from lamina.text import fence
from tests.cases import every
from tests.conftest import START, STORE_ID, Desk, Ticking, contents, size, verified
from tests.contract.living import unsound

TALK: list[dict[str, Any]] = [
    {"speaker": "Ana", "text": "Shall we have tea?", "at": START - timedelta(hours=2)},
    {"speaker": "Ben", "text": "Yes, green tea."},
    {
        "speaker": "Ana",
        "text": "Good.",
        "kind": "decision",
        "tags": ["Drink"],
        "importance": 0.9,
        "metadata": {"x": 1},
    },
]


def files(handle: Memory) -> list[Path]:
    return sorted(handle._scope.store.folder.glob("episodes/**/*"))


def test_turns_become_records_in_their_order(mem: Memory) -> None:
    """R2, I: every turn is an episodic record with its own fields, in the order of the
    conversation, beside one episode."""
    made = mem.remember_conversation(TALK, session="s1")
    assert contents(made) == ["Shall we have tea?", "Yes, green tea.", "Good."]
    assert [record.speaker for record in made] == ["Ana", "Ben", "Ana"]
    assert {(record.layer, record.session) for record in (*made, made.episode)} == {
        (Layer.EPISODIC, "s1")
    }
    assert [record.seq for record in (*made, made.episode)] == [1, 2, 3, 4]
    assert (made[0].occurred_at, made[1].occurred_at) == (
        START - timedelta(hours=2),
        made[1].created_at,
    )
    last = made[2]
    assert (last.kind, last.tags, last.importance, last.metadata) == (
        "decision",
        ("drink",),
        0.9,
        {"x": 1},
    )
    assert [mem.get(record.id) for record in (*made, made.episode)] == [*made, made.episode]


def test_the_episode(mem: Memory) -> None:
    """R9: it says who took part, when it began, which turns it is made of, and the hash
    of the whole that was kept."""
    made = mem.remember_conversation(TALK, session="s1", keep_raw=True)
    episode = made.episode
    assert episode.evidence == tuple(record.id for record in made)
    assert episode.occurred_at == made[0].occurred_at
    assert episode.metadata["participants"] == ["Ana", "Ben"]
    assert len(bytes.fromhex(episode.metadata["raw_hash"])) == 32
    assert set(episode.metadata) == {"participants", "raw_hash"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ["Ana", "Ben"]),
        (["Cleo", "Ana", "Cleo"], ["Cleo", "Ana"]),
        (("Ana",), ["Ana"]),
        ([], []),
    ],
)
def test_participants(mem: Memory, given: Any, expected: list[str]) -> None:
    """R9: those who were named, else those who speak, each once and in their order."""
    turns = [*TALK, {"text": "nobody says this"}]
    assert (
        mem.remember_conversation(turns, "s1", given).episode.metadata["participants"] == expected
    )


def test_the_view_shows_the_episode(desk: Desk, mem: Memory) -> None:
    """R9: any SQLite tool sees the episode in the view `episodes`, with its participants
    and its hash."""
    made = mem.remember_conversation(TALK, session="s1", keep_raw=True)
    with closing(
        apsw.Connection(str(desk.folder() / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    ) as connection:
        query = (
            "SELECT id, timestamp, summary, participants, tags, raw_hash, importance FROM "
            "episodes WHERE raw_hash NOT NULL"
        )
        (row,) = connection.execute(query).fetchall()
        number = connection.execute("SELECT count(*) FROM episodes").get
    assert row[0] == made.episode.id
    assert moment(row[1]) == START - timedelta(hours=2)
    assert (row[2], json.loads(str(row[3])), row[4]) == (made.episode.content, ["Ana", "Ben"], "[]")
    assert (row[5], row[6]) == (made.episode.metadata["raw_hash"], made.episode.importance)
    assert number == 4


def test_it_is_one_step(mem: Memory) -> None:
    """L1, P4: a conversation is one event, and verifies."""
    before = size(mem)
    mem.remember_conversation(TALK, session="s1")
    assert size(mem) == (before[0] + 4, before[1] + 1)


def test_a_long_conversation(desk: Desk) -> None:
    """R9: a thousand turns keep their order, and their episode leads to all of them."""
    op = desk.operator()
    made = op.remember_conversation(
        ({"text": f"turn {n}", "speaker": f"S{n % 3}"} for n in range(1000)), session="s"
    )
    assert contents(made) == [f"turn {n}" for n in range(1000)]
    assert len(made.episode.evidence) == 1000
    assert made.episode.content == "Conversation s, 1000 turns"
    assert verified(op)


def told(number: int, fail_at: int = -1) -> Iterator[dict[str, Any]]:
    for n in range(number):
        if n == fail_at:
            raise KeyError(n)
        yield {"text": f"turn {n}"}


def test_turns_may_come_from_anywhere(mem: Memory) -> None:
    """I: a generator, a tuple or a list; one that breaks leaves nothing behind, and its own error
    comes through."""
    assert len(mem.remember_conversation(told(3), "s")) == 3
    assert len(mem.remember_conversation(tuple(told(3)), "s")) == 3
    before = size(mem)
    with pytest.raises(KeyError):
        mem.remember_conversation(told(3, 2), "s", keep_raw=True)
    assert size(mem) == before
    assert files(mem) == []


def test_what_was_given_is_not_changed(mem: Memory) -> None:
    """I: the caller's turns stay as they are."""
    turns: list[dict[str, Any]] = [
        {"text": "tea", "tags": ["A"], "metadata": {"x": [1]}, "speaker": None}
    ]
    mem.remember_conversation(turns, "s", key="k", keep_raw=True)
    assert turns == [{"text": "tea", "tags": ["A"], "metadata": {"x": [1]}, "speaker": None}]


def test_a_retry_gives_the_same_records(mem: Memory) -> None:
    """L1: the same conversation with the same key is stored once, and the retry returns
    what is there."""
    first = mem.remember_conversation(TALK, "s1", key="k", keep_raw=True)
    before, kept = size(mem)[0], {path: path.read_bytes() for path in files(mem) if path.is_file()}
    again = mem.remember_conversation(TALK, "s1", key="k", keep_raw=True)
    assert ([*again], again.episode) == ([*first], first.episode)
    assert size(mem)[0] == before
    assert {path: path.read_bytes() for path in files(mem) if path.is_file()} == kept
    other = mem.remember_conversation(TALK, "s1", key="k2")
    assert other[0].id != first[0].id
    assert mem.remember_conversation(TALK, "s1")[0].id not in (first[0].id, other[0].id)


def test_a_key_is_of_one_user(desk: Desk) -> None:
    """L1, R12: two users' keys are two keys."""
    one, other = (
        desk.agent(user=name).remember_conversation(TALK, "s1", key="k") for name in ("ana", "ben")
    )
    assert one[0].id != other[0].id
    assert (one.episode.user, other.episode.user) == ("ana", "ben")


@pytest.mark.parametrize(
    "changed",
    [
        [{"text": "Shall we have coffee?"}, *TALK[1:]],
        [*TALK, {"text": "One more thing."}],
        TALK[:2],
        TALK[::-1],
    ],
    ids=["other text", "one more", "one less", "other order"],
)
def test_a_key_of_another_conversation(mem: Memory, changed: list[dict[str, Any]]) -> None:
    """L1: the same key with another conversation is a conflict; nothing is stored, not even the
    turns that are new."""
    mem.remember_conversation(TALK, "s1", key="k", keep_raw=True)
    before, kept = size(mem), files(mem)
    with pytest.raises(Conflict, match="key"):
        mem.remember_conversation(changed, "s1", key="k", keep_raw=True)
    with pytest.raises(Conflict, match="key"):
        mem.remember_conversation(TALK, "another session", key="k", keep_raw=True)
    assert size(mem) == before
    assert files(mem) == kept


@pytest.mark.parametrize(
    "changed",
    [{"speaker": "Ben"}, {"at": START}, {"metadata": {"x": 1}}, {"importance": 0.9}],
    ids=str,
)
def test_a_key_of_the_same_words_of_somebody_else(mem: Memory, changed: dict[str, Any]) -> None:
    """L1, R9: the same texts by another speaker or at another time are another conversation; the
    kept file stays."""
    first = mem.remember_conversation(
        [{"text": "hi", "speaker": "Ana"}], "s", key="k", keep_raw=True
    )
    with pytest.raises(Conflict, match="key"):
        mem.remember_conversation(
            [{"text": "hi", "speaker": "Ana", **changed}], "s", key="k", keep_raw=True
        )
    (path,) = (path for path in files(mem) if path.is_file())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == first.episode.metadata["raw_hash"]


def test_a_retry_brings_the_file(mem: Memory) -> None:
    """L1, R9: a retry that asks for the file gets it, though the first call did not."""
    mem.remember_conversation(TALK, "s1", key="k")
    episode = mem.remember_conversation(TALK, "s1", key="k", keep_raw=True).episode
    (path,) = (path for path in files(mem) if path.is_file())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == episode.metadata["raw_hash"]


def test_the_whole_is_kept_when_asked_for(mem: Memory) -> None:
    """R9, B6: the file lies under the day of the episode, only its owner can read it, and its hash
    is `raw_hash`."""
    made = mem.remember_conversation(TALK, session="s1", keep_raw=True)
    path = mem._scope.store.folder / "episodes" / "2026-05-01" / f"{made.episode.id}.json"
    assert files(mem) == [path.parent, path]
    content = path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == made.episode.metadata["raw_hash"]
    raw = json.loads(content)
    assert (raw["session"], raw["participants"]) == ("s1", ["Ana", "Ben"])
    assert [turn["text"] for turn in raw["turns"]] == contents(made)
    assert raw["turns"][0]["at"] == "2026-05-01T06:00:00.000000Z"
    assert raw["turns"][2]["metadata"] == {"x": 1}
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {
            stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)
        } == {0o700}


def test_the_day_is_that_of_the_conversation(mem: Memory) -> None:
    """R9: the folder is the day in UTC on which the conversation began, not that on which
    it was stored."""
    late = datetime.fromisoformat("2024-02-29T23:30:00-05:00")
    made = mem.remember_conversation([{"text": "tea", "at": late}], "s", keep_raw=True)
    assert made.episode.occurred_at == datetime(2024, 3, 1, 4, 30, tzinfo=UTC)
    assert (
        mem._scope.store.folder / "episodes" / "2024-03-01" / f"{made.episode.id}.json"
    ).is_file()


def test_without_being_asked_no_file_is_written(desk: Desk, op: Operator) -> None:
    """R9: where no raw text was kept `raw_hash` is empty: in the record, in the view `episodes` and
    in exports."""
    made = op.remember_conversation(TALK, "s1")
    assert files(op) == []
    assert "raw_hash" not in made.episode.metadata
    exported = desk.home.parent / "sentinel.db"
    op.export_as("sentinel", exported)
    for path in (desk.folder() / "memory.db", exported):
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            rows = connection.execute("SELECT raw_hash FROM episodes").fetchall()
        assert rows == [(None,)] * (len(TALK) + 1)


def test_a_file_that_is_wanted_later(desk: Desk, op: Operator) -> None:
    """R9, L1: the same key with `keep_raw` keeps the file of the same episode, which then has its
    hash; another conversation is still told apart."""
    made = op.remember_conversation(TALK, "s1", key="k")
    with pytest.raises(Conflict, match="another conversation"):
        op.remember_conversation(TALK, "s1", ["Cleo"], key="k", keep_raw=True)
    assert files(op) == []
    kept = op.remember_conversation(TALK, "s1", key="k", keep_raw=True)
    assert kept.episode.id == made.episode.id
    (path,) = [file for file in files(op) if file.is_file()]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == kept.episode.metadata["raw_hash"]
    assert op.get(made.episode.id) == kept.episode
    before = size(op)
    assert op.remember_conversation(TALK, "s1", key="k").episode == kept.episode
    assert size(op) == before
    assert verified(op)
    assert unsound(op) == []


def test_the_hash_depends_on_what_was_said_alone(tmp_path: Path) -> None:
    """R9, Q6: the same conversation has the same hash in every process, however its times and tags
    are spelled."""
    code = """
import sys
from datetime import UTC, datetime
from lamina.memory.opening import connect
from lamina.model.record import Role
now = datetime(2026, 5, 1, tzinfo=UTC)
turns = [{"text": "tea", "at": ("2026-05-01T10:00:00+02:00", 1777622400, datetime(2026, 5, 1, 8, tzinfo=UTC))[int(sys.argv[2])],
    "tags": {"a", "b", "c", "d"}, "metadata": dict([("b", 1), ("a", 2)][:: 1 if int(sys.argv[2]) else -1])}]
with connect(Role.AGENT, "sky", None, sys.argv[1], lambda: now, store_id=sys.argv[3]) as mem:
    print(mem.remember_conversation(turns, "s", keep_raw=True).episode.metadata["raw_hash"])
"""
    hashes = set()
    for number in range(3):
        command = [sys.executable, "-c", code, str(tmp_path / str(number)), str(number), STORE_ID]
        environment = {**os.environ, "PYTHONHASHSEED": str(number)}
        hashes.add(
            subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            ).stdout
        )
    assert len(hashes) == 1


@pytest.mark.parametrize("part", ["episodes", "episodes/2026-05-01"])
def test_no_file_is_written_through_a_link(
    desk: Desk, mem: Memory, tmp_path: Path, part: str
) -> None:
    """P2, R9: a link in the place of a folder is refused, and then the conversation is
    not stored either."""
    outside = tmp_path / "outside"
    outside.mkdir()
    place = desk.folder() / part
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside, target_is_directory=True)
    before = size(mem)
    with pytest.raises(Refused, match="symbolic link"):
        mem.remember_conversation(TALK, "s1", keep_raw=True)
    assert size(mem) == before
    assert [*outside.iterdir()] == []
    assert contents(mem.search("tea")) == []


BAD_TURNS: dict[str, Any] = {
    "a text": "tea",
    "bytes": b"tea",
    "one turn": {"text": "tea"},
    "nothing": None,
    "a number": 5,
    "empty": [],
    "texts": ["tea"],
    "pairs": [("Ana", "tea")],
    "none of them": [None],
    "no text": [{"speaker": "Ana"}],
    "text None": [{"text": None}],
    "text empty": [{"text": ""}],
    "text blank": [{"text": " \n"}],
    "text number": [{"text": 5}],
    "text NUL": [{"text": "a\0b"}],
    "text half pair": [{"text": "a\ud800"}],
    "text long": [{"text": "x" * (2**20 + 1)}],
    "content": [{"text": "tea", "content": "tea"}],
    "layer": [{"text": "tea", "layer": "semantic"}],
    "session": [{"text": "tea", "session": "s"}],
    "key": [{"text": "tea", "key": "k"}],
    "user": [{"text": "tea", "user": "ben"}],
    "trust": [{"text": "tea", "trust": "operator"}],
    "field number": [{"text": "tea", 5: 6}],
    "speaker number": [{"text": "tea", "speaker": 5}],
    "speaker empty": [{"text": "tea", "speaker": ""}],
    "speaker lines": [{"text": "tea", "speaker": "a\nb"}],
    "at naive": [{"text": "tea", "at": datetime(2026, 1, 1)}],
    "at word": [{"text": "tea", "at": "yesterday"}],
    "at NaN": [{"text": "tea", "at": float("nan")}],
    "kind": [{"text": "tea", "kind": "recipe"}],
    "tags": [{"text": "tea", "tags": "a"}],
    "importance": [{"text": "tea", "importance": 1.5}],
    "importance bool": [{"text": "tea", "importance": True}],
    "metadata": [{"text": "tea", "metadata": {"a": {1}}}],
    "metadata NaN": [{"text": "tea", "metadata": {"a": float("nan")}}],
    "source": [{"text": "tea", "source": 5}],
}


@every("name", BAD_TURNS)
@every("place", [0, 1])
def test_one_bad_turn_and_nothing_is_stored(mem: Memory, name: str, place: int) -> None:
    """R4, R8, L1: a turn that cannot be stored is an error that says which; no turn, episode or
    file is left behind."""
    turns = BAD_TURNS[name]
    if place:
        if not isinstance(turns, list) or not turns:
            turns = [5]
        turns = [TALK[0], *turns, TALK[1]]
    before = size(mem)
    with pytest.raises(InvalidInput) as caught:
        mem.remember_conversation(turns, "s1", key="k", keep_raw=True)
    if place:
        assert caught.value.details.get("item", 1) == 1
    assert size(mem) == before
    assert files(mem) == []
    assert mem.remember_conversation(TALK, "s1", key="k", keep_raw=True).episode.seq == 4


@every(
    "given",
    [
        {"session": None},
        {"session": ""},
        {"session": 5},
        {"session": "a\nb"},
        {"session": "x" * 257},
        {"participants": "Ana"},
        {"participants": {"Ana"}},
        {"participants": [5]},
        {"participants": [""]},
        {"participants": [None]},
        {"participants": 5},
        {"key": ""},
        {"key": 5},
        {"key": "x" * 257},
        {"key": "a\0"},
    ],
)
def test_bad_words_around_it(mem: Memory, given: dict[str, Any]) -> None:
    """R4, L1: a session, participant or key that is none is an error, and nothing is stored."""
    before = size(mem)
    with pytest.raises(InvalidInput):
        mem.remember_conversation(TALK, **{"session": "s1", "keep_raw": True, **given})
    assert size(mem) == before
    assert files(mem) == []


def test_who_said_it_does_not_raise_trust(desk: Desk) -> None:
    """V8: a turn that came from elsewhere is external, the others are the agent's, whoever speaks
    in them."""
    made = desk.agent().remember_conversation(
        [{"text": "a", "speaker": "operator"}, {"text": "b", "source": "web"}], "s"
    )
    assert [record.trust for record in made] == ["agent", "external"]


def test_turns_are_found_with_their_neighbours(mem: Memory) -> None:
    """Q5: an answer that shares no word with the question is found by what was asked before it."""
    mem.remember_conversation(
        [
            {"speaker": "Ana", "text": "Which instrument do you play?"},
            {"speaker": "Ben", "text": "The cello, for ten years now."},
            {"speaker": "Ana", "text": "I see."},
        ],
        "s",
    )
    mem.remember_many(
        [{"content": f"note {n} about the weather", "layer": "episodic"} for n in range(30)]
    )
    assert "The cello, for ten years now." in contents(mem.search("Which instrument?", 3))


def test_recalled_memories_are_not_remembered_again(mem: Memory) -> None:
    """Q9: what stands in our fence is left out, also a turn that is nothing else; a conversation of
    nothing else is refused."""
    recalled = fence.fenced("Ana drinks tea")
    made = mem.remember_conversation(
        [{"text": "a"}, {"text": recalled}, {"text": f"b {recalled}"}], "s", key="k", keep_raw=True
    )
    assert contents(made) == ["a", "b"]
    assert [
        *mem.remember_conversation(
            [{"text": "a"}, {"text": recalled}, {"text": f"b {recalled}"}], "s", key="k"
        )
    ] == [*made]
    (path,) = (path for path in files(mem) if path.is_file())
    assert "Ana" not in path.read_text()
    before = size(mem)
    with pytest.raises(Refused, match="remembered already"):
        mem.remember_conversation([{"text": recalled}], "s2", keep_raw=True)
    assert size(mem) == before


def test_it_survives_reopening(desk: Desk, clock: Ticking) -> None:
    """L1: what was returned is durable: another handle reads the same records."""
    with Desk(desk.home, clock) as earlier:
        made = earlier.agent().remember_conversation(TALK, "s1", keep_raw=True)
    later = desk.operator()
    assert [later.get(record.id) for record in (*made, made.episode)] == [*made, made.episode]
    assert verified(later)


def test_every_error_is_one_of_ours(mem: Memory) -> None:
    """I: whatever is given, only errors of Lamina leave the call."""
    odd: list[Any] = [
        None,
        5,
        "x",
        b"x",
        [],
        {},
        [[]],
        [{}],
        object(),
        float("nan"),
        True,
        lambda: 5,
        {"text": []},
    ]
    for turns in (
        *odd,
        *([one] for one in odd),
        *([{"text": one}] for one in odd),
        *([{"text": "x", "at": one}] for one in odd),
    ):
        for session in ("s", 5):
            try:
                mem.remember_conversation(turns, cast(str, session))
            except LaminaError:
                continue


def test_messages_of_language_models_are_turns(desk: Desk) -> None:
    """R4: `role` and `content` mean what `speaker` and `text` mean."""
    said = desk.agent().remember_conversation(
        [{"role": "user", "content": "I live in Rome"}, {"role": "assistant", "text": "Nice"}],
        session="s",
    )
    assert [(turn.speaker, turn.content) for turn in said] == [
        ("user", "I live in Rome"),
        ("assistant", "Nice"),
    ]
