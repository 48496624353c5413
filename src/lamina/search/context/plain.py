"""Write foreign texts and names so that they cannot look like our labels (Q9). Pure."""

from __future__ import annotations

import re

from lamina.text import fence, words

DOT = "·"  # between the parts of a label
LABEL = re.compile(rf"[\[\]{DOT};|]")  # characters of labels, which no name may contain
# The beginning of a label inside a text, which has to be changed.
LIKE_LABEL = re.compile(rf"\[(?=[^\[\]{DOT}]{{1,40}}{DOT}|always\]|known\]|said\])")
LONGEST_NAME = 40


def plain(text: str) -> str:
    """Put a text on one line, with nothing hidden and nothing like our marks and labels."""
    line = words.SPACES.sub(" ", text).strip()
    if line.isascii() and line.isprintable() and "<" not in line and ">" not in line:
        return LIKE_LABEL.sub("(", line) if "[" in line else line
    line = words.SPACES.sub(" ", fence.tamed(words.reveal(line))).strip()
    return LIKE_LABEL.sub("(", line)


def name(given: str) -> str:
    """Write a name, which anybody may have chosen, so that it cannot add to a label."""
    return LABEL.sub(" ", fence.tamed(words.one_line(given, LONGEST_NAME))).strip()
