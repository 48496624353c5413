"""Texts that try to get out of the fence."""

from __future__ import annotations

from hypothesis import strategies as st

from lamina.text import fence

# What a hostile text would be made of.
PIECES = [
    *(
        fence.OPEN,
        fence.CLOSE,
        "<<<",
        ">>>",
        "<<",
        ">",
        "<",
        "lamina memory",
        "end of lamina memory",
        "recalled notes",
    ),
    *("‹", "›", "«", "»", "≪", "≫", "《", "》", "＜", "＞", "﹤", "﹥", "⟨", "⟩"),
    *(
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "\x0b",
        "\x85",
        " ",
        "| ",
        "[",
        "]",
        "\x1b[31m",
        "\x1b]0;x\x07",
        "\0"[:0],
    ),
    *(
        "\u202e",
        "\u2066",
        "\u200b",
        "\u00ad",
        "\ufeff",
        "\u2060",
        "\U000e0041",
        "tea",
        "日本語",
        "e\u0301",
        "👩\u200d💻",
    ),
]
hostile = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
