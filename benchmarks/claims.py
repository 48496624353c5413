"""Measure how well rules find what people claim, and what becomes of what changes.

`python -m benchmarks.claims` prints the tables of the three conversations that rules were tuned
on, and how well each does by what the other two teach. `--held-out` counts the two
conversations that nobody reads while rules are changed, by one annotator and by two,
`--invented` the talks of tests/golden/claims.jsonl. `--updates` judges the cases of
tests/golden/updates.jsonl instead, `--speed` measures time, `--rules` counts each rule,
`--errors` lists what goes wrong in the three. `--rare` lists the rules that seldom fire in any
development conversation, and what is lost without each. The conversations are not part of
Lamina; see `conversations.py`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import conversations
from lamina.engines.claims import Claim, Turn, attributes, changes, statements, tagged
from lamina.engines.claims.extraction import extract
from lamina.text import words

HERE = Path(__file__).parent
LABELS = (HERE / "claims" / "labels.jsonl", *sorted((HERE / "claims").glob("tuning-*.jsonl")))
LABELS_SECOND = HERE / "claims" / "labels-second.jsonl"  # of HELD_OUT, by another annotator
UPDATES = HERE.parent / "tests" / "golden" / "updates.jsonl"
INVENTED = HERE.parent / "tests" / "golden" / "claims.jsonl"
INVENTED_AT = datetime(2026, 5, 20, tzinfo=UTC)
LABEL = ("subject", "attribute", "value", "negated")
TALKS = tuple(sorted((HERE / "claims").glob("talks-*.jsonl")))
TALKS_HELD_OUT = HERE / "claims" / "held-out-talks.jsonl"
TALKS_SECOND = HERE / "claims" / "held-out-talks-second.jsonl"
TUNED = ("conv-26", "conv-30", "conv-41")
HELD_OUT = ("conv-42", "conv-43")
THRESHOLDS = (0.0, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85)
SURE = 0.7  # unless the settings say otherwise
GUESSES = 4  # how many examples the share of a rule's family counts for
MANY_TURNS = 10_000
SELDOM = 2  # a rule that fires at most this many times is rare
ENDING = re.compile(r"(?:ations?|ings?|ies|ied|ers?|ors?|ed|es|s|e|y|ly|al)\Z")
NUMBERS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
OPPOSITES = {"likes": "dislikes", "dislikes": "likes"}


class Session(NamedTuple):
    """One labelled session: its turns, and the labels of each."""

    conversation: str
    keys: tuple[str, ...]
    turns: tuple[Turn, ...]
    labels: tuple[tuple[Mapping[str, Any], ...], ...]


class Judged(NamedTuple):
    """A claim that was found, and the label it matches, if any; strictly: in all of its parts."""

    claim: Claim
    session: Session
    turn: int
    label: int | None
    strict: bool


class Score(NamedTuple):
    """The numbers of claims that were found, of those that are right, and of labels."""

    found: int
    right: int
    strict: int
    labels: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.labels if self.labels else 0.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def strictly(self) -> float:
        return self.strict / self.found if self.found else 0.0


def rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read the labelled texts of a file, also those that are listed in pairs."""
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        yield from (row["first"], row["later"]) if "changes" in row else (row,)


def sessions(names: Sequence[str], paths: Sequence[Path] = LABELS) -> Iterator[Session]:
    """The labelled sessions of some conversations."""
    labels: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for line in (line for path in paths for line in path.read_text("utf-8").splitlines()):
        label = json.loads(line)
        labels[label["conversation"], f"session_{label['session']}", label["turn"]].append(label)
    for case in conversations.locomo():
        for session in dict.fromkeys(turn.session for turn in case.turns):
            if case.name in names and any(key[:2] == (case.name, session) for key in labels):
                told = [turn for turn in case.turns if turn.session == session]
                yield Session(
                    case.name,
                    tuple(turn.key for turn in told),
                    tuple(Turn(turn.text, turn.speaker, turn.at) for turn in told),
                    tuple(tuple(labels[case.name, session, turn.key]) for turn in told),
                )


def invented() -> Iterator[Session]:
    """Load invented sentences and talks, varied as if by strangers, with their claims."""
    for number, line in enumerate(INVENTED.read_text("utf-8").splitlines()):
        told = json.loads(line)
        labels = (
            tuple(dict(zip(LABEL, label, strict=False)) for label in turn["claims"])
            for turn in told
        )
        turns = (Turn(turn["text"], turn["speaker"], INVENTED_AT) for turn in told)
        yield Session(
            f"invented-{number}",
            tuple(str(place) for place in range(len(told))),
            tuple(turns),
            tuple(labels),
        )


def talks(path: Path) -> Iterator[Session]:
    """Load labelled talks of two people, whose texts we wrote."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for name, listed in groupby(rows, lambda row: row["session"]):
        told = list(listed)
        labels = tuple(tuple(_noted(fact) for fact in row["facts"]) for row in told)
        turns = tuple(Turn(row["text"], row["speaker"], INVENTED_AT) for row in told)
        yield Session(path.stem + name, tuple(str(row["turn"]) for row in told), turns, labels)


def _noted(fact: Mapping[str, str]) -> Mapping[str, Any]:
    is_negated = fact["status"] in ("denied", "ended")
    return {**fact, "subject": fact["about"], "negated": is_negated}


def judge(session: Session) -> Iterator[Judged]:
    """Match the claims of a session with labels, one each; surer claims choose first."""
    for number, (claims, labels) in enumerate(
        zip(extract(session.turns), session.labels, strict=True)
    ):
        free = set(range(len(labels)))
        for claim in sorted(claims, key=lambda claim: -claim.confidence):
            best = max(free, key=lambda n: (likeness(claim, labels[n]), -n), default=None)
            if best is None or likeness(claim, labels[best]) < 0.5:
                yield Judged(claim, session, number, None, False)
                continue
            free.discard(best)
            label = labels[best]
            strict = (
                label["attribute"] == claim.attribute
                and label.get("negated", False) == claim.negated
            )
            yield Judged(claim, session, number, best, strict)


def likeness(claim: Claim, label: Mapping[str, Any]) -> float:
    """Compute the share of the shorter value's words in both, if both name the same family."""
    # An open attribute is named in the speaker's words, and the network names none: then only the
    # value can be compared.
    family, wanted = attributes.of(claim.attribute).family, attributes.of(label["attribute"]).family
    is_named = claim.attribute in attributes.TABLE and claim.rule != tagged.RULE
    if family != wanted and is_named:
        return 0.0
    return same_words(claim, label)


def same_words(claim: Claim, label: Mapping[str, Any]) -> float:
    """Compute the share of the shorter value's words in both, for the same person."""
    if words.first_name(claim.subject) != words.first_name(label["subject"]):
        return 0.0
    mine, theirs = stems(claim.value), stems(label["value"])
    return len(mine & theirs) / min(len(mine), len(theirs)) if mine and theirs else 0.0


def stems(value: str) -> frozenset[str]:
    """Return the significant words of a value without their endings."""
    return frozenset(
        _stem(NUMBERS.get(word, word))
        for word in words.asked(value)
        if word not in words.STOP_WORDS
    )


def _stem(word: str) -> str:
    bare = ENDING.sub("", word)
    bare = bare if len(bare) >= 3 else word
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def score(judged: Iterable[Judged], labels: int, threshold: float = 0.0) -> Score:
    sure = [one for one in judged if one.claim.confidence >= threshold]
    return Score(
        len(sure),
        sum(one.label is not None for one in sure),
        sum(one.strict for one in sure),
        labels,
    )


def counted(told: Iterable[Session]) -> tuple[list[Judged], int]:
    """Collect what was found in some sessions, and count their labels."""
    listed = list(told)
    return [one for session in listed for one in judge(session)], sum(
        len(one) for session in listed for one in session.labels
    )


def measured(names: Sequence[str]) -> tuple[list[Judged], int]:
    """Collect what was found in some conversations, and count their labels."""
    return counted(sessions(names))


def curve(title: str, told: Iterable[Session]) -> Table:
    """Tabulate precision and recall by how sure a claim must be."""
    judged, labels = counted(told)
    table = _table(
        f"{title}: {labels} labels",
        "at least",
        "claims",
        "right",
        "precision",
        "recall",
        "F1",
        "strictly",
    )
    for threshold in THRESHOLDS:
        reached = score(judged, labels, threshold)
        table.add_row(f"{threshold:.2f}", *_cells(reached), f"{reached.strictly:.2f}")
    return table


def agreement(title: str, told: Iterable[Session], second: Iterable[Session]) -> Table:
    """Count by two annotators: what either noted is right, what both noted is to be found.

    Only persons and values are compared: two readers often name an attribute differently.
    """
    pairs = [
        labels
        for one, other in zip(told, second, strict=True)
        for labels in zip(extract(one.turns), one.labels, other.labels, strict=True)
    ]
    agreed = [[one for one in mine if _is_noted(one, theirs)] for _, mine, theirs in pairs]
    total = sum(map(len, agreed))
    table = _table(f"{title}: {total} claims that both noted", "at least", "claims",
                   "either noted it", "found of what both noted")  # fmt: skip
    for threshold in THRESHOLDS:
        found = right = met = 0
        for (claims, mine, theirs), both in zip(pairs, agreed, strict=True):
            sure = [claim for claim in claims if claim.confidence >= threshold]
            found += len(sure)
            right += sum(any(is_told(one, label) for label in (*mine, *theirs)) for one in sure)
            met += sum(any(is_told(one, label) for one in sure) for label in both)
        shares = f"{right / max(1, found):.2f}", f"{met / max(1, total):.2f}"
        table.add_row(f"{threshold:.2f}", str(found), *shares)
    first, other = (sum(len(pair[side]) for pair in pairs) for side in (1, 2))
    table.add_row("first by second", str(first), f"{total / max(1, first):.2f}", "")
    shared = sum(_is_noted(one, pair[1]) for pair in pairs for one in pair[2])
    table.add_row("second by first", str(other), f"{shared / max(1, other):.2f}", "")
    return table


def is_told(claim: Claim, label: Mapping[str, Any]) -> bool:
    """Tell if a claim says what a label does, whatever the attribute is called."""
    return same_words(claim, label) >= 0.5


def _is_noted(label: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> bool:
    subject, value = label["subject"], label["value"]
    claim = Claim(subject, label["attribute"], value, 0, 0, INVENTED_AT, 1.0, "")
    return any(is_told(claim, other) for other in others)


def left_out() -> Table:
    """Judge each tuned conversation by what the other two teach.

    Rules were written with all three in view, so this shows whether confidences carry over, not
    whether rules do. The numbers for proven rules alone, which were right in another conversation
    too, come closest to what can be expected elsewhere.
    """
    columns = (
        "claims",
        "right",
        "precision",
        "recall",
        "F1",
        "proven: claims",
        "right",
        "precision",
        "recall",
        "F1",
    )
    table = _table("tuned conversations, as sure as the other two teach", "at least", *columns)
    found = {name: measured([name]) for name in TUNED}
    total = sum(labels for _, labels in found.values())
    told: list[tuple[Judged, float, bool]] = []
    for name, (judged, _) in found.items():
        known = learned([one for other in TUNED if other != name for one in found[other][0]])
        told += [(one, *known(one.claim)) for one in judged]
    for threshold in (0.5, 0.6, 0.7, 0.8):
        sure = [(one, proven) for one, confidence, proven in told if confidence >= threshold]
        halves = (
            score((one for one, _ in sure), total),
            score((one for one, proven in sure if proven), total),
        )
        table.add_row(f"{threshold:.2f}", *(cell for half in halves for cell in _cells(half)))
    return table


def learned(judged: Iterable[Judged]) -> Callable[[Claim], tuple[float, bool]]:
    """Learn from claims how sure another is, by its rule and family, and if its rule is proven."""
    rules: dict[str, list[bool]] = defaultdict(list)
    families: dict[str, list[bool]] = defaultdict(list)
    for one in judged:
        rules[one.claim.rule].append(one.label is not None)
        families[attributes.of(one.claim.attribute).family].append(one.label is not None)
    usual = _share([met for listed in rules.values() for met in listed], 0.5)

    def known(claim: Claim) -> tuple[float, bool]:
        family = _share(families[attributes.of(claim.attribute).family], usual)
        return _share(rules[claim.rule], family), any(rules[claim.rule])

    return known


def _share(met: Sequence[bool], guessed: float) -> float:
    """Compute the share that is right, as if `GUESSES` more had been seen with that guess."""
    return (sum(met) + guessed * GUESSES) / (len(met) + GUESSES)


def rules() -> Table:
    """Count how often each rule was right, and in how many conversations, most frequent first."""
    by_rule: dict[str, list[Judged]] = defaultdict(list)
    for one in measured(TUNED)[0]:
        by_rule[one.claim.rule].append(one)
    table = _table("rules", "rule", "confidence", "right", "claims", "conversations")
    for rule, listed in sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0])):
        right = sum(one.label is not None for one in listed)
        surest = max(one.claim.confidence for one in listed)
        places = len({one.session.conversation for one in listed})
        table.add_row(rule, f"{surest:.2f}", str(right), str(len(listed)), str(places))
    return table


def rare() -> Table:
    """Tabulate rules that rarely fire in the development conversations, and the loss without each.

    The loss is counted in right claims of the invented talks and of the labelled conversations, and
    in cases of change. To see what else the unit tests promise, leave a rule out and run them.
    """
    fired = Counter(rule for turns in development() for rule in _fired(turns))
    columns = ("invented", "labelled", "changes")
    checks = [("invented", partial(_right, one), _fired(one.turns)) for one in invented()]
    labelled = sessions((*TUNED, *HELD_OUT))
    checks += [("labelled", partial(_right, one), _fired(one.turns)) for one in labelled]
    for case in (json.loads(line) for line in UPDATES.read_text("utf-8").splitlines()):
        checks.append(("changes", partial(_is_right, case), _fired(_turns(case))))
    table = _table(f"rules that fire at most {SELDOM} times", "rule", "fires", *columns)
    for name in sorted({rule for rule in _rows() if fired[rule] <= SELDOM}):
        affected = [(column, check) for column, check, rules in checks if name in rules]
        lost = Counter[str]()
        for column, check in affected:
            before = check()
            with _without(name):
                lost[column] += before - check()
        table.add_row(name, str(fired[name]), *(str(lost[column]) for column in columns))
    return table


def _fired(turns: Sequence[Turn]) -> list[str]:
    return [claim.rule for claims in extract(turns) for claim in claims]


def _right(session: Session) -> int:
    return sum(one.label is not None for one in judge(session) if one.claim.confidence >= SURE)


def _is_right(case: Mapping[str, Any]) -> int:
    return int(all(updated(case)))


def development() -> Iterator[list[Turn]]:
    """Yield all sessions available for development: LoCoMo, LongMemEval and BEAM."""
    seen: dict[tuple[str, str], list[Turn]] = defaultdict(list)
    for case in conversations.locomo():
        for turn in case.turns:
            seen[case.name, turn.session].append(Turn(turn.text, turn.speaker, turn.at))
    for path in ("longmemeval_dev.json.gz", "beam_dev.json.gz"):
        listed = json.loads(gzip.decompress((conversations.FOLDER / path).read_bytes()))
        for number, case in enumerate(listed):
            for turn in case.get("turns", ()):
                said = Turn(turn["text"], turn["speaker"], INVENTED_AT)
                seen[str(number), turn["session"]].append(said)
            named = zip(
                case.get("haystack_session_ids", ()), case.get("haystack_sessions", ()), strict=True
            )
            for name, session in named:
                turns = [Turn(turn["content"], turn["role"], INVENTED_AT) for turn in session]
                seen["longmemeval", name] = turns
    yield from seen.values()


def _rows() -> list[str]:
    """List the names of all rules that are rows of a table."""
    rules = (rule for listed in statements.RULES.values() for rule in listed)
    names = [rule.name for rule in rules] + [phrase.name for phrase in statements.PHRASES]
    names += [ending.name for ending in changes.ENDINGS]
    return list(dict.fromkeys([*names, *(switch.name for switch in changes.SWITCHES)]))


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Leave a rule out within the block."""
    tables: list[tuple[Any, str]] = [(statements, "PHRASES"), (changes, "ENDINGS")]
    tables += [(statements, "RULES"), (changes, "SWITCHES")]
    kept = [(module, table, getattr(module, table)) for module, table in tables]
    for module, table, rows in kept:
        setattr(module, table, _fewer(rows, name))
    try:
        yield
    finally:
        for module, table, rows in kept:
            setattr(module, table, rows)


def _fewer(rows: Any, name: str) -> Any:
    if isinstance(rows, Mapping):
        return {verb: _fewer(listed, name) for verb, listed in rows.items()}
    return tuple(row for row in rows if row.name != name)


def _cells(reached: Score) -> list[str]:
    rates = (reached.precision, reached.recall, reached.f1)
    return [str(reached.found), str(reached.right), *(f"{rate:.2f}" for rate in rates)]


def errors(screen: Console) -> None:
    """Print what goes wrong in the conversations that rules may be tuned on."""
    for session in sessions(TUNED):
        judged = list(judge(session))
        for number, labels in enumerate(session.labels):
            met = [one for one in judged if one.turn == number]
            wrong = [one.claim for one in met if one.label is None]
            missed = [
                label for n, label in enumerate(labels) if n not in {one.label for one in met}
            ]
            if wrong or missed:
                screen.print(
                    f"{session.conversation} {session.keys[number]}: {session.turns[number].text}",
                    markup=False,
                )
            for claim in wrong:
                told = f"  wrong  {claim.rule} {claim.confidence}:"
                told += f" {claim.subject} {claim.attribute} = {claim.value}"
                screen.print(told, markup=False)
            for label in missed:
                screen.print(
                    f"  missed {label['subject']} {label['attribute']} = {label['value']}",
                    markup=False,
                )


def held(claims: Iterable[Claim], subject: str, attribute: str) -> list[str]:
    """Find what holds after claims, simply: the last of one, all of many that nothing ended."""
    holds: list[str] = []
    for claim in claims:
        if words.first_name(claim.subject) != words.first_name(subject):
            continue
        if claim.attribute == attribute:
            if claim.replaces or claim.negated:
                ended = claim.replaces or claim.value
                holds = [value for value in holds if ended and not alike(value, ended)]
            if not claim.negated:
                holds = (
                    [value for value in holds if not alike(value, claim.value)]
                    if attributes.of(attribute).many
                    else []
                )
                holds.append(claim.value)
        elif OPPOSITES.get(claim.attribute) == attribute and not claim.negated:
            holds = [value for value in holds if not alike(value, claim.value)]
    return holds


def alike(one: str, other: str) -> bool:
    """Tell whether all words of one value are in the other."""
    mine, theirs = set(words.asked(one)), set(words.asked(other))
    return bool(mine and theirs) and (mine <= theirs or theirs <= mine)


def is_met(holds: Sequence[str], wanted: str | list[str] | None) -> bool:
    listed = [wanted] if isinstance(wanted, str) else wanted or []
    return len(holds) == len(listed) and all(
        any(alike(value, one) for value in holds) for one in listed
    )


def updated(case: Mapping[str, Any]) -> tuple[bool, bool]:
    """Tell whether what holds in the end is right, and whether what held before is."""
    turns = _turns(case)
    claims = [
        (turn.at, claim)
        for turn, found in zip(turns, extract(turns), strict=True)
        for claim in found
    ]
    about = case["subject"], case["attribute"]
    now = is_met(held((claim for _, claim in claims), *about), case["now"])
    if "before" not in case:
        return now, True
    then = datetime.fromisoformat(case["before"]["at"])
    return now, is_met(
        held((claim for at, claim in claims if at <= then), *about), case["before"]["value"]
    )


def _turns(case: Mapping[str, Any]) -> list[Turn]:
    return [
        Turn(turn["text"], turn["speaker"], datetime.fromisoformat(turn["at"]))
        for turn in case["turns"]
    ]


def updates() -> Table:
    """Count how often the newest value is the one that holds. Rules were tuned on even cases."""
    columns = ("kind", "even", "now", "before too", "odd", "now", "before too")
    table = _table("cases of change", *columns)
    told = [json.loads(line) for line in UPDATES.read_text("utf-8").splitlines()]
    judged = [(case["kind"], place % 2, *updated(case)) for place, case in enumerate(told)]
    for kind in (*dict.fromkeys(case["kind"] for case in told), ""):
        cells: list[str] = []
        for side in (0, 1):
            here = [
                (now, now and before)
                for of, odd, now, before in judged
                if odd == side and kind in (of, "")
            ]
            cells += [
                str(len(here)),
                str(sum(now for now, _ in here)),
                str(sum(both for _, both in here)),
            ]
        table.add_row(kind or "all", *cells)
    return table


def speed() -> Table:
    """Measure the time for many turns: all conversations repeatedly, a session at a time."""
    told = list(conversations.locomo())
    listed = [
        [Turn(turn.text, turn.speaker, turn.at) for turn in case.turns if turn.session == name]
        for case in told
        for name in dict.fromkeys(turn.session for turn in case.turns)
    ]
    done, found, started = 0, 0, time.perf_counter()
    while done < MANY_TURNS:
        turns = listed[done % len(listed)]
        found += sum(len(claims) for claims in extract(turns))
        done += len(turns)
    spent = time.perf_counter() - started
    table = _table("speed", "turns", "claims", "seconds", "turns a second")
    table.add_row(f"{done:,}", f"{found:,}", f"{spent:.1f}", f"{done / spent:,.0f}")
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column(first)
    for column in others:
        table.add_column(column, justify="right")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", action="store_true", help="judge the cases of change")
    parser.add_argument("--speed", action="store_true", help="measure time")
    parser.add_argument(
        "--errors",
        action="store_true",
        help="list what goes wrong in the conversations that were tuned on",
    )
    parser.add_argument("--rules", action="store_true", help="count how often each rule is right")
    parser.add_argument("--rare", action="store_true", help="list what is lost without rare rules")
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="count the conversations that rules were not tuned on",
    )
    parser.add_argument(
        "--invented", action="store_true", help="count the talks of tests/golden/claims.jsonl"
    )
    given = parser.parse_args()
    screen = Console(width=128)
    if given.updates:
        screen.print(updates())
    elif given.speed:
        screen.print(speed())
    elif given.errors:
        errors(screen)
    elif given.rare:
        screen.print(rare())
    elif given.rules:
        screen.print(rules())
    elif given.held_out:
        screen.print(curve(f"held out ({', '.join(HELD_OUT)})", sessions(HELD_OUT)))
        screen.print(curve(TALKS_HELD_OUT.stem, talks(TALKS_HELD_OUT)))
        told, second = sessions(HELD_OUT), sessions(HELD_OUT, [LABELS_SECOND])
        screen.print(agreement("held out, by two annotators", told, second))
        told, second = talks(TALKS_HELD_OUT), talks(TALKS_SECOND)
        screen.print(agreement(f"{TALKS_HELD_OUT.stem}, by two annotators", told, second))
    elif given.invented:
        screen.print(curve("invented", invented()))
    else:
        screen.print(left_out(), "", curve(f"tuned on ({', '.join(TUNED)})", sessions(TUNED)))


if __name__ == "__main__":
    main()
