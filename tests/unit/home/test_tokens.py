"""Promises of the tokens: they open what they say and until when, and nothing of them is kept that
would open anything."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import Corrupt, InvalidInput, NotFound, Refused
from lamina.home.tokens import FILE_NAME, Token, Tokens
from tests.conftest import START

CREATE = (
    "import sys; from pathlib import Path; from lamina.home.tokens import Tokens; from "
    "tests.conftest import START; "
)
CREATE += "[Tokens(Path(sys.argv[1])).create('sky', None, START) for _ in range(5)]"


@pytest.fixture
def access(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "home")


def test_a_token_opens_its_agent_and_user(access: Tokens) -> None:
    """H2: a secret leads to the token that was made with it, with its agent, user and name."""
    made, secret = access.create("sky", "ana", START, name="dashboard")
    assert access.find(secret, START) == made
    assert (made.agent, made.user, made.name, made.trail) == ("sky", "ana", "dashboard", False)
    assert secret.startswith("lamina_")
    assert len(secret) >= 43


def test_a_wrong_secret_opens_nothing(access: Tokens) -> None:
    """H2: no other text opens anything, however near it is."""
    assert access.find("lamina_", START) is None
    _, secret = access.create("sky", None, START)
    for wrong in (
        "",
        secret[:-1],
        secret + "x",
        secret.upper(),
        f" {secret}",
        secret.removeprefix("lamina_"),
        "\ud800",
    ):
        assert access.find(wrong, START) is None


@given(st.text())
def test_no_text_opens_a_home_by_chance(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """H2: whatever is given is compared, and nothing is raised."""
    access = Tokens(tmp_path_factory.getbasetemp() / "guessed")
    if not access.tokens():
        access.create("sky", None, START)
    assert access.find(text, START) is None


def test_a_token_ends_at_its_time(access: Tokens) -> None:
    """H2: until the moment of its end a token opens, and from then on it does not."""
    end = START + timedelta(days=30)
    _, secret = access.create("sky", None, START, expires=end)
    assert access.find(secret, end - timedelta(microseconds=1)) is not None
    assert access.find(secret, end) is None
    with pytest.raises(InvalidInput, match="past"):
        access.create("sky", None, START, expires=START)


def test_a_revoked_token_opens_nothing_in_other_processes_either(
    access: Tokens, tmp_path: Path
) -> None:
    """H2: who holds the list in memory sees at once that it has changed."""
    made, secret = access.create("sky", None, START)
    other = Tokens(tmp_path / "home")
    assert other.find(secret, START) == made
    assert access.revoke(made.id) == made
    assert other.find(secret, START) is None
    with pytest.raises(NotFound, match="token list"):
        access.revoke(made.id)


def test_the_secret_is_nowhere_in_the_home(access: Tokens, tmp_path: Path) -> None:
    """H2, B6: only a hash is kept, in a file that is private."""
    made, secret = access.create("sky", None, START)
    for path in (tmp_path / "home").iterdir():
        assert secret.encode() not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
    assert "hash" not in made.to_dict()
    assert (tmp_path / "home" / FILE_NAME).exists()


def test_bad_tokens_are_refused_and_leave_no_trace(access: Tokens, tmp_path: Path) -> None:
    """P2: names of agents and users follow the rules, and a trail concerns all users."""
    for agent, user, name in (
        ("../x", None, None),
        ("sky", "", None),
        ("sky", None, "two\nlines"),
        ("SKY", None, None),
    ):
        with pytest.raises(InvalidInput):
            access.create(agent, user, START, name=name)
    with pytest.raises(InvalidInput, match="all users"):
        access.create("sky", "ana", START, trail=True)
    assert not (tmp_path / "home" / FILE_NAME).exists()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"tokens": [{}]}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_file_opens_nothing(access: Tokens, tmp_path: Path, content: bytes) -> None:
    """H2: a file that makes no sense is told and lets nobody in."""
    _, secret = access.create("sky", None, START)
    (tmp_path / "home" / FILE_NAME).write_bytes(content)
    with pytest.raises(Corrupt, match="create the tokens anew"):
        Tokens(tmp_path / "home").find(secret, START)


def test_a_link_in_place_of_the_file_is_refused(access: Tokens, tmp_path: Path) -> None:
    """P2: nothing is read from elsewhere."""
    access.create("sky", None, START)
    path = tmp_path / "home" / FILE_NAME
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="symbolic link"):
        Tokens(tmp_path / "home").tokens()


def test_processes_do_not_lose_each_others_tokens(tmp_path: Path) -> None:
    """H2: four processes that create five tokens each at the same time leave twenty."""
    command = [sys.executable, "-c", CREATE, str(tmp_path / "home")]
    root = str(Path(__file__).parents[3])
    running = [
        subprocess.Popen(command, cwd=root, env={**os.environ, "PYTHONPATH": root})
        for _ in range(4)
    ]
    assert [one.wait() for one in running] == [0, 0, 0, 0]
    found = Tokens(tmp_path / "home").tokens()
    assert len({token.id for token in found}) == 20
    assert all(isinstance(token, Token) for token in found)
