"""Texts and names of anybody, written so that they cannot look like ours (Q9). Pure."""

from __future__ import annotations

import re

from lamina.text import fence, words

DOT = "·"  # between the parts of a label
LABEL = re.compile(rf"[\[\]{DOT};|]")  # what labels are made of: no name may hold it
# What begins like a label inside a text is no label.
LIKE_LABEL = re.compile(rf"\[(?=[^\[\]{DOT}]{{1,40}}{DOT}|always\]|known\]|said\])")
LONGEST_NAME = 40


def plain(text: str) -> str:
    """Put a text on one line in which nothing is hidden, or looks like our marks and labels."""
    line = words.SPACES.sub(" ", text).strip()
    if line.isascii() and line.isprintable() and "<" not in line and ">" not in line:
        return LIKE_LABEL.sub("(", line) if "[" in line else line
    line = words.SPACES.sub(" ", fence.tamed(words.reveal(line))).strip()
    return LIKE_LABEL.sub("(", line)


def name(given: str) -> str:
    """Write a name that may be anybody's choice so that it adds nothing to a label."""
    return LABEL.sub(" ", fence.tamed(words.one_line(given, LONGEST_NAME))).strip()
