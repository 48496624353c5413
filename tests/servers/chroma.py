"""Chroma's own server, from its wheel."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.servers.processes import HOST, Server, answers, free_port


class Chroma(Server):
    """One Chroma server with its data in its folder."""

    name: ClassVar[str] = "chroma"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_port()

    @classmethod
    def missing(cls) -> str | None:
        return (
            None
            if importlib.util.find_spec("chromadb")
            else "its wheel is not installed: pip install chromadb"
        )

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def command(self) -> list[str]:
        program = Path(sys.executable).with_name("chroma")
        return [
            str(program),
            "run",
            "--host",
            HOST,
            "--port",
            str(self.port),
            "--path",
            str(self.folder / "data"),
        ]

    def environment(self) -> Mapping[str, str]:
        return {"ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1", "NO_COLOR": "1"}

    def ready(self) -> bool:
        return answers(self.port, "/api/v2/heartbeat")
