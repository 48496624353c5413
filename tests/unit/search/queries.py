"""Texts, and random queries for them."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from lamina.model.record import Hits

# Words of many scripts, some of them forms of one another, alike but for an accent, or parts of
# longer ones.
WORDS = (
    *(
        "tea",
        "teas",
        "Tea",
        "meeting",
        "meetings",
        "the",
        "is",
        "a",
        "user_name",
        "getUserName",
        "getusername",
        "x",
        "5",
        "42",
    ),
    *(
        "café",
        "cafe",
        "cafe\u0301",
        "naïve",
        "Ångström",
        "ß",
        "ﬁne",
        "½",
        "²",
        "Σας",
        "İx",
        "co\u00adop",
    ),
    *("猫", "猫の手", "黒猫", "東京都", "カタカナ", "한국어", "한국", "ไทย", "น้ำ", "हिन्दी"),
    *(
        "книги",
        "книга",
        "книгами",
        "Москве",
        "Москва",
        "ёлка",
        "الكتاب",
        "والكتاب",
        "كتاب",
        "كِتَاب",
        "שָׁלוֹם",
        "שלום",
    ),
    *(
        "C++17",
        "C#",
        "iPhone",
        "XMLHttpRequest",
        "getNa\u0301me",
        "книги猫",
        "猫книги",
        "黒猫الكتاب",
        "книга東京",
    ),
    *("😀", "❤️", "❤", "👨‍👩‍👧", "👨", "_", "__init__", "v2", "3.14"),
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def told(hits: Hits) -> list[tuple[str, float]]:
    return [(hit.record.id, hit.score) for hit in hits]


def random_queries(number: int, seed: int = 7) -> list[str]:
    """Texts of words, marks, odd characters and halves of pairs; the same in every process."""
    rnd = random.Random(seed)
    pieces = [
        *WORDS,
        *"\"'*()^:{}[]-+~?!.,;<>|&%$#@\\/\0\n\t\u200b\u202e\ufeff\ud800\udfff\U000e0041",
        "NEAR",
        "AND",
        "OR NOT",
    ]
    pieces += [
        "yesterday",
        "in May",
        "last week",
        "when",
        "who",
        "Ana",
        "31 February 2024",
        "99999999 years ago",
        "C++",
        "C#",
    ]

    def piece() -> str:
        return (
            rnd.choice(pieces)
            if rnd.random() < 0.8
            else chr(rnd.choice([rnd.randrange(0x250), rnd.randrange(0x110000)]))
        )

    return [
        "".join(piece() + rnd.choice(["", " "]) for _ in range(rnd.randint(0, 12)))
        for _ in range(number)
    ]
