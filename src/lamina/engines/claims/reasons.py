"""Find why something was decided or planned: the clause after "because". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import structs

from lamina.engines.claims import Claim
from lamina.engines.claims.attributes import DOES
from lamina.engines.claims.said import Said
from lamina.text.patterns import LONGEST, bounded

AIMS = frozenset({"decision", "plan", "goal"})
DECIDED = "decided_to"  # the rule for "I decided to", which with a reason is a decision
DEEDS = frozenset({"habit", "plan", "goal"})
NOTED = bounded(r"(?:\A|\n)\W*(?:decision|decided):\s+(?:we )?\Z", re.I)
FAR = 30  # characters before a claim that are searched for such a heading
DUE = re.compile(r" (?:due|owing|given)\Z", re.I)
MOST = 200  # characters of a reason
BECAUSE = bounded(
    r"[^.!?\n;]{0,80}?[\s,]\(?(?:because(?: of)?|since|due to|owing to|given(?: that)?"
    r"|'?cause) (?P<reason>[^.!?\n;)]+)",
    re.I,
)


def given(said: Said, claims: Sequence[Claim]) -> list[Claim]:
    """Add the reasons given for decisions, plans and goals."""
    noted = [_decided(said, claim) for claim in claims]
    told = [_reasoned(said, claim) if claim.attribute in AIMS else claim for claim in noted]
    decided = [claim for claim in told if claim.attribute == "decision"]
    because = {said.turn.text.find(one.reason) for one in told if one.reason}
    return [
        claim
        for claim in told
        if not any(_is_deed_of(claim, one) for one in decided) and claim.start not in because
    ]


def _decided(said: Said, claim: Claim) -> Claim:
    """Treat a claim after "Decision:" as a decision."""
    verb = claim.attribute.removeprefix(DOES)
    is_verb = verb != claim.attribute
    value = f"{verb} {claim.value}" if is_verb else claim.value
    before = said.plain[max(0, claim.start - FAR) : claim.start]
    if claim.negated or not (is_verb or claim.attribute in DEEDS) or not NOTED.search(before):
        return claim
    is_said = value in said.plain
    return structs.replace(claim, attribute="decision", value=value) if is_said else claim


def _reasoned(said: Said, claim: Claim) -> Claim:
    value = DUE.sub("", claim.value)
    place = said.plain.find(value, claim.start) if value and not claim.negated else -1
    if place < 0:
        return claim
    begin = place + len(value)
    found = BECAUSE.match(said.plain, begin, min(len(said.plain), begin + LONGEST))
    if found is None:
        return claim
    reason = said.turn.text[slice(*found.span("reason"))].strip()[:MOST].rstrip(" ,")
    attribute = "decision" if claim.rule == DECIDED else claim.attribute
    return structs.replace(claim, value=value, reason=reason, attribute=attribute)


def _is_deed_of(claim: Claim, decision: Claim) -> bool:
    """Tell if a claim only states that a decision was made: "chose React"."""
    return claim.attribute == "did" and claim.start <= decision.start + 1 < claim.end
