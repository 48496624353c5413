"""Fixtures of all surfaces: the command line, run in this process with a home of its own."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lamina.surfaces.cli.main import run


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Outcome]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Run `lamina` with a home of its own."""
    monkeypatch.setenv("LAMINA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LAMINA_AGENT", raising=False)

    def invoke(*arguments: str, stdin: str | None = None) -> Outcome:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = run(arguments)
        return Outcome(code, *capsys.readouterr())

    return invoke


def remembered(call: Call, *arguments: str) -> dict[str, Any]:
    outcome = call("remember", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    record: dict[str, Any] = outcome.json
    return record
