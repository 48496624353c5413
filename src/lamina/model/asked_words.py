"""The words with which people ask for a fact: "job" for "Mia works as a nurse". Pure.

They count as words of the fact in the full-text index, where they are derived from its attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# For attributes whose sentence, or whose name, does not contain the words of the usual questions.
ASKED = {
    "age": "age old",
    "birthday": "birthday born birth",
    "nationality": "nationality citizenship country",
    "origin": "origin hometown country born",
    "job": "job occupation profession career",
    "employer": "employer company workplace job",
    "studies": "studies degree major university",
    "lives_in": "home city town country address place",
    "visited": "visited travelled trip",
    "partner": "partner husband wife spouse boyfriend girlfriend",
    "child": "child son daughter kid",
    "parent": "parent mother father mum mom dad",
    "sibling": "sibling sister brother",
    "colleague": "colleague coworker",
    "has:manager": "manager boss",
    "has:boss": "boss manager",
    "did": "",
    "other": "",
}


def of(metadata: Mapping[str, Any]) -> str:
    """Return the words that ask for a record with this metadata; none if it is not a fact.

    The name of an open attribute, such as `instruction:tool-python-packages`, says them itself.
    """
    attribute = metadata.get("attribute")
    if not isinstance(attribute, str):
        return ""
    return ASKED.get(attribute, attribute.rpartition(":")[2])
