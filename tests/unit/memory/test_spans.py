"""Spans of OpenTelemetry: one for each call, of counts alone, where they are on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lamina import NotFound
from lamina.errors import InvalidInput
from lamina.memory import spans
from tests.conftest import Desk

ON = {"telemetry.spans": True}
CANARY = "zebracanary"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What the SDK of a program would export."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [one for one in exporter.get_finished_spans() if one.name == name]
    return found


def test_calls_are_spans_of_counts(desk: Desk, exported: InMemorySpanExporter) -> None:
    """H2: verbs of agents and operators are spans with a duration, a role, and the number of
    results; a verb within another is its child."""
    mem, op = desk.agent(settings=ON), desk.operator(settings=ON)
    said = mem.remember_short("Ana drinks tea")
    mem.remember_many([{"content": "Ana lives in Lisbon"}, {"content": "Ana has a cat"}])
    proposal = mem.propose_profile("drink", "tea", "said so", [said.id])
    hits = mem.search("Ana")
    context = mem.context("Ana")
    mem.sleep()
    op.confirm(proposal.id)
    assert named(exported, "lamina.search").attributes == {
        spans.ROLE: "agent",
        spans.RESULTS: len(hits),
    }
    assert named(exported, "lamina.context").attributes == {
        spans.ROLE: "agent",
        spans.RESULTS: len(context.items),
    }
    assert named(exported, "lamina.remember_many").attributes == {
        spans.ROLE: "agent",
        spans.RESULTS: 2,
    }
    assert named(exported, "lamina.confirm").attributes == {spans.ROLE: "operator"}
    assert named(exported, "lamina.sleep").end_time > named(exported, "lamina.sleep").start_time  # type: ignore[operator]
    outer, inner = named(exported, "lamina.remember_short"), named(exported, "lamina.remember")
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


def test_nothing_of_a_memory_is_in_a_span(desk: Desk, exported: InMemorySpanExporter) -> None:
    """B1: no text, name, id, key or message of an error is in a span, whatever is called."""
    mem = desk.agent(user=CANARY, settings=ON)
    op = desk.operator(user=CANARY, settings=ON)
    said = mem.remember(CANARY, speaker=CANARY, session=CANARY, source=CANARY, tags=[CANARY])
    for search in (mem.search, mem.context, mem.facts):
        search(CANARY)
    mem.propose_profile(CANARY, CANARY, CANARY, [said.id])
    for record in op.proposals():
        op.reject(record.record.id, CANARY)
    with pytest.raises(NotFound):
        mem.get("0" * 26)
    with pytest.raises(InvalidInput):
        mem.remember(CANARY, kind=CANARY)
    mem.status()
    failed = named(exported, "lamina.get")
    assert failed.attributes == {spans.ROLE: "agent", spans.ERROR: "NotFound"}
    assert not failed.status.is_ok
    assert not failed.status.description
    assert not failed.events
    told = "".join(one.to_json() for one in exported.get_finished_spans())
    assert CANARY not in told
    assert said.id not in told
    assert len(exported.get_finished_spans()) > 8


def test_off_there_is_nothing(desk: Desk, exported: InMemorySpanExporter) -> None:
    """B1: by default no call leaves a span, and the library is not even imported."""
    mem = desk.agent()
    mem.remember("Ana drinks tea")
    mem.search("Ana")
    assert mem._scope.tracer is None
    assert not exported.get_finished_spans()
    script = (
        "import lamina, sys, tempfile; mem = lamina.open('sky', home=tempfile.mkdtemp());"
        " mem.remember('tea'); mem.search('tea'); mem.close();"
        " assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_the_library_one_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: the setting without the extra says what to install; memories are kept all the same."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    mem = desk.agent(settings=ON)
    mem.remember("Ana drinks tea")
    (problem,) = mem.problems
    assert problem.startswith("telemetry.spans needs opentelemetry-api; ")
    assert "otel" in problem
