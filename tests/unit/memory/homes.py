"""Homes as tests of memories want them."""

from __future__ import annotations

from tests.conftest import Desk


def ruled(desk: Desk, text: str) -> None:
    """The rules of a home, from now on."""
    desk.home.mkdir(parents=True, exist_ok=True)
    (desk.home / "retention_rules.yaml").write_text(text, "utf-8")
