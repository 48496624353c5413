"""What an attacker would give for each argument, by its name: others' ids and names, wildcards, and
words to fish with.

Nothing here holds a canary, so that none can come back as an echo. Verbs, commands, routes and
tools are read from the program; an argument that nobody has thought of makes the probes fail, and
says where to put it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lamina.formats.world_edits import FileEdit
from lamina.model.record import Layer, State
from lamina.search import RANKERS
from tests.security.canaries import WORD, Planted

UNKNOWN = "0" * 26
FISHING = [
    *(
        WORD,
        f"what about the {WORD}?",
        "zq",
        "zq*",
        "kx",
        "%",
        "_",
        "*",
        '"',
        "' OR 1=1 --",
        f'"{WORD}" OR *',
        f"content:{WORD}",
    ),
    *(
        f"NEAR({WORD} zq, 9)",
        "ana",
        "ben",
        "milton",
        "where does Ana live?",
        "Eve",
        f"{WORD}' UNION SELECT content FROM records --",
    ),
]
TIMES = [None, "2020-01-01", "2026-05-01T08:00:00Z", "2030-01-01T00:00:00Z"]
LISTS: list[Any] = [None, [WORD], ["open"], ["%"], ["'"]]
LAYERS: list[Any] = [None, *([layer.value] for layer in Layer), [layer.value for layer in Layer]]
STATES: list[Any] = [None, *([state.value] for state in State), [state.value for state in State]]
NAMES = [None, "sky", "milton", "nobody", "../milton", "MILTON", "milton/../sky", "%"]
USERS = [None, "ben", "ana", "Ana", "%", "' OR 1=1 --", "ben\0", "BEN"]
METADATA: list[Any] = [
    None,
    {"place": WORD},
    {"place": "%"},
    {"a')) OR 1=1 --": 1},
    {"$.place": "x"},
    {"*": "*"},
]


MANY = re.compile(
    "Collection|Sequence|Iterable|Mapping|list|array|object|dict|Any|Given|Layer"
)  # kinds that hold several


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


class Attack(NamedTuple):
    """What one attacker has in hand: what is known of others, and a folder to write to."""

    planted: Planted
    own: tuple[str, ...]  # the names of the owners that the attacker may see
    folder: Path

    @property
    def ids(self) -> list[str]:
        """Ids of others: spread over their records, their runs and their tokens, and one
        that never was."""
        foreign = self.planted.foreign(self.own)
        runs = [one for name, one in self.planted.runs.items() if name not in self.own]
        tokens = [one for name, one in self.planted.tokens.items() if name not in self.own]
        return [*foreign[:: max(1, len(foreign) // 12)], *runs, *tokens[:2], UNKNOWN]

    def values(self, name: str, kind: str) -> Sequence[Any]:
        """What to give for an argument of this name and kind."""
        for names, values in self._pools().items():
            if name in names:
                return (
                    values
                    if MANY.search(kind) or kind in ("text", "choice")
                    else [_one(value) for value in values]
                )
        if "bool" in kind:
            return [False, True]
        if "Progress" in kind:
            return [None]
        raise AssertionError(
            f"nobody knows what to give for {name}: {kind}; tests/security/pools.py is the place to say it"
        )

    def _pools(self) -> Mapping[tuple[str, ...], Sequence[Any]]:
        ids, files = self.ids, [None, str(self.folder / "made"), str(self.folder / "absent" / "x")]
        parts = [
            one for whole in ids[:2] for one in (whole[-6:], whole[:6])
        ]  # the second is how most ids begin
        return {
            ("record_id", "run_id", "token_id", "record", "after"): [*ids, *parts],
            ("record_ids", "evidence", "evidence_ids"): [
                ids[:1],
                ids[3:6],
                ids,
                [UNKNOWN],
                parts[:1],
                parts[1:],
            ],
            (
                "query",
                "text",
                "goal",
                "content",
                "about",
                "message",
                "reply",
                "task",
                "subject",
                "attribute",
            ): FISHING,
            (
                "key",
                "value",
                "reason",
                "summary",
                "failure",
                "failed",
                "speaker",
                "session",
                "session_name",
                "project",
                "source",
                "name",
            ): FISHING[:9],
            ("use",): [{}, {"command": WORD, "output": f"Error: {WORD}", "failed": True}],
            ("following",): [[], [WORD], FISHING[:9]],
            ("layers", "layer"): LAYERS,
            ("states", "state", "status"): STATES,
            ("kinds", "kind", "tags", "all_tags", "tag", "all_tag", "names"): LISTS,
            ("since", "until", "as_of", "known_at", "at", "expires", "older_than"): TIMES,
            ("limit", "top_k", "max_chars", "per_layer", "port", "budget", "tokens", "most"): [
                1,
                50,
                10_000,
                -1,
            ],
            ("hours", "cutoff_hours", "recency_bias", "importance", "score", "below", "timeout"): [
                0,
                0.5,
                90_000,
            ],
            ("number", "event_id", "event", "before"): [*range(1, 12), 40, 80, 10**6],
            ("agent", "grantee", "shared_by"): NAMES[1:],
            ("user",): USERS,
            ("ranker",): RANKERS,
            ("verdict",): ["helpful", "wrong", "outdated", "nonsense"],
            ("sort",): ["newest", "oldest", "importance", "speaker", "nonsense"],
            ("model",): [None, "", WORD],
            ("metadata", "patch", "fields", "more", "limits", "head"): METADATA,
            ("bounds",): [
                {},
                {"tags": [WORD]},
                {"importance_below": 0.1},
                {"layers": ["short_term"], "older_than_days": 90_000},
            ],
            ("filters",): [
                {},
                {"layers": ["working"]},
                {"states": ["tombstoned"]},
                {"metadata": {"place": "%"}},
            ],
            ("turns",): [[{"speaker": "Ana", "text": WORD}]],
            ("items",): [
                [{"content": WORD}],
                [{"content": WORD, "user": "ben"}],
                [{"content": WORD, "evidence": ids[:2]}],
            ],
            ("participants",): [None, ["Ana", "ben"]],
            ("definition", "config"): [{"name": "x"}, {"name": "of-common"}, {}],
            ("definitions",): [[{"name": "x"}], []],
            ("edits",): [
                None,
                [],
                [FileEdit("tool", "x", None, {"name": "x"})],
                [FileEdit("integration", "of-common", {}, None)],
            ],
            ("path", "to", "folder", "head_file"): files,
            ("format", "format_"): [None, "sky", "milton", "jsonl", "ours", "nonsense"],
            ("on_conflict",): ["skip", "newer", "nonsense"],
            ("kept",): [()],
            ("cursor",): [None, "0", "9" * 20, "eyJhIjoxfQ", *ids[:3]],
            ("meta",): [[], [f"place={WORD}"], ["place=%"], ["$.place=x"]],
            ("shell",): ["bash"],
        }


def given(
    attack: Attack, arguments: Mapping[str, tuple[str, bool]], chance: random.Random, most: int
) -> Iterator[dict[str, Any]]:
    """Ways to call something, by the kinds of its arguments: each value of each argument once, then
    any mix of them."""
    pools = {name: attack.values(name, kind) for name, (kind, _) in arguments.items()}
    needed = [name for name, (_, is_needed) in arguments.items() if is_needed]
    made = 0
    for name, values in pools.items():
        for value in values:
            if made == most:
                return
            made += 1
            yield {**{one: chance.choice(pools[one]) for one in needed}, name: value}
    if not pools:
        yield {}
        return
    while made < most and len(pools) > 1:
        made += 1
        chosen = {*needed, *chance.sample([*pools], min(len(pools), chance.randint(1, 3)))}
        yield {one: chance.choice(pools[one]) for one in pools if one in chosen}
