"""Tools and integrations of a world model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lamina import Memory
from lamina.memory.world import WorldModel

FLIGHTS: dict[str, Any] = {
    "name": "search_flights",
    "description": "Finds connections between two airports.",
    "parameters": {
        "type": "object",
        "properties": {
            "origin": {"type": "string", "description": "where the journey begins"},
            "stops": {"type": "integer"},
        },
        "required": ["origin"],
    },
}
OPENAI = {
    "type": "function",
    "function": {"name": "brew_coffee", "description": "Brews a cup.", "parameters": {}},
}
GITHUB: dict[str, Any] = {
    "description": "Issues and pull requests of the observatory.",
    "base_url": "https://api.github.com",
    "auth": {"token": "${GITHUB_TOKEN}"},
    "events": ["push", "release"],
}


def model(handle: Memory) -> WorldModel:
    """The world model of a handle."""
    return WorldModel(handle._scope)


def on_disk(folder: Path) -> dict[str, Any]:
    """What the files hold, by their names."""
    found = [folder / "tools.json", *sorted(folder.glob("integrations/*.json"))]
    return {file.name: json.loads(file.read_bytes()) for file in found if file.exists()}


def edit(folder: Path, name: str, content: object) -> Path:
    """Write a file as a person would."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(json.dumps(content), "utf-8")
    return path
