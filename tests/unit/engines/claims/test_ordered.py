"""S8: the network says how likely words are an instruction that stands."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina.engines.claims import imperatives, instructions, ordered, sentences, tagger
from lamina.engines.claims.imperatives import Piece
from lamina.engines.claims.tagger import Network, Tags


def tagged(text: str, network: Network | None = None) -> Tags:
    plain = sentences.said(text)
    clauses = list(sentences.clauses(plain))
    return (network or tagger.shipped()).tag(plain, clauses, is_talk=False)


def pieces(text: str, network: Network | None = None) -> list[Piece]:
    tags = tagged(text, network)
    return instructions.pieces(list(sentences.clauses(tags.plain)), tags)


def always() -> Network:
    """A network that takes every word for part of an instruction."""
    numbers = dict(tagger.shipped().numbers)
    numbers["orders"] = np.zeros_like(numbers["orders"])
    numbers["orders_bias"] = np.array([4.0], np.float16)
    return Network(numbers)


def share(text: str) -> float:
    return float(tagged(text).orders().mean())


@given(st.text(max_size=200))
def test_any_words_have_a_chance_to_be_an_instruction(text: str) -> None:
    """S8: whatever is typed, each word has a chance between nothing and one."""
    orders = tagged(text).orders()
    assert len(orders) == len(tagged(text).words)
    assert ((orders >= 0) & (orders <= 1)).all()


def test_what_stands_is_told_from_an_errand() -> None:
    """S8: the network takes a rule for an instruction rather than an errand or a statement."""
    rule = share("From now on keep your answers short.")
    assert rule > 0.5 > share("Translate this letter into French.")
    assert rule > share("My sister lives in Porto.")


def test_a_sentence_without_the_shape_of_an_order_may_be_one() -> None:
    """S8: what no shape fits is a piece where the network is sure, and none where it is asked."""
    text = "We write commit messages in the imperative"
    assert not list(imperatives.pieces(text, list(sentences.clauses(text))))
    (found,) = pieces(text, always())
    assert (found.kind, found.text) == (ordered.KIND, text)
    assert not [one for one in pieces(f"{text}?", always()) if one.kind == ordered.KIND]


def test_a_sentence_with_an_order_gives_no_second_piece() -> None:
    """S8: where an order has its shape, the network adds none of its own."""
    assert [one.kind for one in pieces("Always answer in German.", always())] == ["order"]


def test_an_order_behind_its_reason_is_a_piece() -> None:
    """S8: "so keep your answers short" asks for something, whatever was told before it."""
    (found,) = pieces("My eyes are bad, so keep your answers short.")
    assert found.text == "keep your answers short"
