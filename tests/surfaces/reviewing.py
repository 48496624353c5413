"""Proposals as the command line makes and shows them."""

from __future__ import annotations

from tests.surfaces.conftest import Call


def proposed(call: Call, value: str, key: str = "drink") -> str:
    return str(call("profile", "propose", key, value, "--reason", "said so", "--json").json["id"])


def state(call: Call, record_id: str) -> str:
    return str(call("inspect", record_id, "--json").json["state"])
