"""Names of users: which of them look alike, however many there are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidInput
from lamina.store.tables import users
from lamina.text.lookalikes import TWINS, drawn_like, skeleton
from tests.conftest import Desk

LETTERS = "acаαсz"  # Latin, Cyrillic and Greek
NAMES = st.text(LETTERS, min_size=1, max_size=5)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A store with every other name of three letters that is allowed; some of them archived."""
    with Desk(tmp_path_factory.mktemp("crowd")) as desk:
        for place, letters in enumerate(itertools.product(LETTERS, repeat=3)):
            if place % 10 == 0:
                desk.operator().prune(layers=["short_term"])
            if place % 2:
                try:
                    desk.agent(user="".join(letters)).remember("tea")
                except InvalidInput:
                    continue
        yield desk


@given(name=NAMES)
def test_a_likeness_is_found_as_if_all_names_were_compared(crowd: Desk, name: str) -> None:
    """R12, P2: walking through the index finds what comparing every name would find."""
    likeness = skeleton(name)
    with crowd.operator()._scope.store.read() as connection:
        compared = any(skeleton(one) == likeness for one in users.every(connection))
        assert users.has_likeness(connection, likeness) is compared


def test_letters_that_are_drawn_alike() -> None:
    """R12, P2: every letter that looks like another is among those drawn like it."""
    for code, twin in TWINS.items():
        assert chr(code) in drawn_like(twin)
    assert drawn_like("é") == ["é"]
    assert drawn_like("а") == []
