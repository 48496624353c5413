"""S1: rows are looked at only where a turn has one of their cues."""

from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import changes, statements
from lamina.engines.claims.rule import Cues

WORDS = (
    "my home name call birthday today now new at with hired gave up with off not no more".split()
)


@given(st.lists(st.sampled_from([*WORDS, "no longer", "n't", "fav", "x"])).map(" ".join))
def test_cues_are_found_word_by_word_as_by_their_patterns(text: str) -> None:
    """S1: an index of cues finds the same rows, in their order, as each row's own pattern."""
    phrases, endings = Cues(statements.PHRASES), Cues(changes.ENDINGS)
    assert phrases.found(text) == [one for one in statements.PHRASES if one.cue.search(text)]
    assert endings.found(text) == [one for one in changes.ENDINGS if one.cue.search(text)]
