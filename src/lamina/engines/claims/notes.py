"""Read what a note says of somebody's things as they would say it themselves. Pure.

"Olu's manager is Femi Ade" says of Olu what "My manager is Femi Ade" does when Olu says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lamina.engines.claims import values
from lamina.engines.claims.said import Said
from lamina.engines.claims.sentences import Clause, by_sentence
from lamina.text.patterns import bounded

MY = "My"
CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w-]*"
# A name, what belongs to it, and a verb; "Ana's moved", "Ana's a nurse" say what Ana has or is.
OWNED = bounded(
    rf"\s*(?P<owner>(?P<who>{CAPITAL}(?: {CAPITAL}){{0,2}})'s) (?!(?:an?|the|not|been|so|very)\b"
    r"|\w+(?:ed|ing)\b)(?:(?!and\b)[\w-]+ ){1,5}?(?:is|are|was|were|has|have|will|[a-z]{2,}s)\b"
)


def voices(said: Said, clauses: Sequence[Clause]) -> Iterator[tuple[Said, list[Clause]]]:
    """Split a note into what it says itself, and what is said in the place of an owner."""
    own: list[Clause] = []
    for sentence in by_sentence(clauses):
        start, end = sentence[0].start, sentence[-1].end
        found = OWNED.match(said.plain, start, end)
        if found and values.is_name(found["who"]):
            yield _retold(said, found, end), sentence
        else:
            own += sentence
    yield said, own


def _retold(said: Said, found: re.Match[str], end: int) -> Said:
    """Let the owner say a sentence, and nothing else; every word stays in its place."""
    begin = found.start("owner")
    mine = MY.rjust(len(found["owner"]))
    plain = " " * begin + mine + said.plain[found.end("owner") : end]
    return said._replace(plain=plain.ljust(len(said.plain)), speaker=found["who"])
