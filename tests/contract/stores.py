"""What every store must promise: a class to inherit, wherever a store is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lamina import Memory, Operator
from lamina.model.record import Role
from tests.conftest import Desk, Ticking, quietly
from tests.contract.deciding import Deciding
from tests.contract.keeping import Keeping
from tests.contract.living import Living
from tests.contract.remembering import Remembering

Place = Callable[[], Mapping[str, Any]]


class StoreDesk(Desk):
    """Opens handles on one home whose memories are where some settings say."""

    def __init__(
        self, home: Path, settings: Mapping[str, Any], clock: Ticking | None = None
    ) -> None:
        super().__init__(home, clock)
        self.settings = settings

    def open(
        self, role: Role, agent: object = "sky", user: str | None = None, **more: Any
    ) -> Memory:
        chosen = {**self.settings, **more.pop("settings", {})}
        return super().open(role, agent, user, settings=chosen, **more)


class Stored:
    """How tests come to a store: it says by which settings it is chosen, and how somebody would
    alter it."""

    settings: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def place(self) -> Place:
        """The settings of a new and empty place for memories, each time."""
        return lambda: self.settings

    @pytest.fixture
    def desk(self, tmp_path: Path, place: Place) -> Iterator[StoreDesk]:
        with StoreDesk(tmp_path / "home", place()) as opened:
            yield opened

    @pytest.fixture
    def another(self, tmp_path: Path, place: Place) -> Iterator[StoreDesk]:
        """Another home with an empty place of its own."""
        with StoreDesk(tmp_path / "another", place()) as opened:
            yield opened

    @pytest.fixture
    def op(self, desk: StoreDesk) -> Operator:
        return desk.operator()

    @pytest.fixture
    def mem(self, desk: StoreDesk) -> Memory:
        return desk.agent()

    @pytest.fixture
    def alter(self, desk: StoreDesk) -> Callable[[str], None]:
        """Change rows as somebody would who does not ask us, and leave the rules of the database as
        they were."""
        return lambda statement: quietly(desk.folder() / "memory.db", statement)


class StoreContract(Stored, Remembering, Deciding, Living, Keeping):
    """The promises. A store inherits them."""
