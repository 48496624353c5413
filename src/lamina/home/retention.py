"""The rules by which short-term memories are promoted, archived or expire; presets and file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from lamina.errors import InvalidInput
from lamina.home.yaml_files import InvalidField, Watched, load
from lamina.model import rules
from lamina.text.words import shown

FILE_NAME = "retention_rules.yaml"
CENTURY = 36_500.0  # days
BOUNDS: Mapping[str, tuple[float, float]] = {
    "promote_threshold": (0, 1),
    "short_term_max_lines": (1, 10_000_000),
    "time_decay_per_day": (0, 1),
    "time_decay_floor": (0, 1),
    "deduplicate": (0, 1),
    "expire_after_days": (0, CENTURY),
    "expire_below": (0, 1),
}
SHARES = ("promote_threshold", "time_decay_floor", "expire_below")
LEAST_COSINE = 0.5  # below this, texts that merely share a subject would be merged


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules in force. The first two are those of the Sky document; most others are off."""

    promote_threshold: float = 0.70
    short_term_max_lines: int = 5000
    promote_tags: tuple[str, ...] = ()
    promote_used: bool = True
    time_decay_per_day: float = 0.0
    time_decay_floor: float = 0.5
    deduplicate: float = 0.0
    expire_after_days: float = 0.0
    expire_below: float = 0.3

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            if not least <= getattr(self, name) <= most:  # also false for NaN
                raise InvalidField(_bounds_problem(name, getattr(self, name)), key=name)
        if 0 < self.deduplicate < LEAST_COSINE:
            number = f"deduplicate = {self.deduplicate:g}"
            raise InvalidField(f"{number} is neither 0 nor between 0.5 and 1", key="deduplicate")
        for index, tag in enumerate(self.promote_tags):
            try:
                rules.tag(tag)
            except InvalidInput as error:
                problem = f"promote_tags: {error.message}"
                raise InvalidField(problem, key="promote_tags", index=index) from None
        msgspec.structs.force_setattr(self, "promote_tags", rules.tags(self.promote_tags))

    def threshold(self, age_days: float) -> float:
        """Return the importance that promotes a memory of this age; it falls daily to a floor."""
        fallen = self.promote_threshold - self.time_decay_per_day * age_days
        # Neither a higher floor nor a negative age raises it. It is rounded, so that 0.7 less ten
        # hundredths is 0.6.
        return round(min(self.promote_threshold, max(self.time_decay_floor, fallen)), 9)


class Preset(msgspec.Struct, frozen=True):
    """The rules and the paths of one of the documents, relative to the agent's folder."""

    retention: Retention = Retention()
    paths: Mapping[str, str] = {}
    compress_after_hours: float = 48


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "default": Preset(),
        "sky": Preset(
            Retention(short_term_max_lines=100),
            {"jsonl": "memory", "archive": "memory"},
        ),
        "milton": Preset(paths={"failsafe": "data/memory"}),
        "sentinel": Preset(
            paths={
                "episodes": "data/episodes",
                "world_model": "data/world_model",
                "user_profile.json": "data/user_profile.json",
            }
        ),
        "skylattice": Preset(paths={"exports": ".local/memory/exports"}),
    }
)


class RetentionFile(Watched[Retention]):
    """The rules of a home: those of its preset, overridden key by key in `retention_rules.yaml`."""

    def __init__(self, home: Path, preset: str = "default") -> None:
        base = PRESETS[preset].retention
        super().__init__(home / FILE_NAME, lambda path: load(path, base))


def _bounds_problem(name: str, value: float) -> str:
    """Say that a number is out of bounds, and what was probably meant."""
    least, most = BOUNDS[name]
    number = shown(value) if isinstance(value, int) else f"{value:g}"
    problem = f"{name} = {number} is not between {least:,g} and {most:,.0f}"
    if name in SHARES and 1 < value <= 10:
        return f"{problem}; {number} is a score, write {value / 10:g}"
    return problem
