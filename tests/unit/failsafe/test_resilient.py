"""A handle whose store was away when it was opened: what it still does, and what it says."""

from __future__ import annotations

import pytest

from lamina import Corrupt, InvalidInput, Refused
from tests.conftest import Desk
from tests.unit.failsafe.outages import AWAY, damage


def test_a_batch_ends_quietly_while_the_store_is_away(desk: Desk) -> None:
    """B4: memories that a batch gives to the fail-safe are acknowledged, also at its end."""
    desk.operator().close()
    with damage(desk.home):
        mem = desk.agent(settings=AWAY)
        with mem.batch():
            assert mem.remember("tea").stored_in == "failsafe"
        assert [record.content for record in mem.list()] == ["tea"]


def test_what_needs_no_store_works_without_it(desk: Desk) -> None:
    """B4, P4: violations, reads and the world's folder are files of their own."""
    desk.operator().close()
    with damage(desk.home):
        op = desk.operator(settings=AWAY)
        assert op.audit_violations().entries == ()
        assert op.audit_reads() == []
        assert op.world.has_files is False


def test_the_callers_own_error_comes_first(desk: Desk) -> None:
    """B4: a wrong argument or authority is named, whether or not the store is there."""
    desk.operator().close()
    with damage(desk.home):
        op = desk.operator(settings=AWAY)
        with pytest.raises(InvalidInput, match="is not a folder"):
            op.export(desk.home / "nowhere" / "export.json", force=True)
        with pytest.raises(Refused, match="concerns all users"):
            desk.operator(user="ana", settings=AWAY).backup()
        with pytest.raises(Corrupt):
            op.backup()
