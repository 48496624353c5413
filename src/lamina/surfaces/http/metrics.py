"""The metrics of a store, in the text format of Prometheus. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lamina.model.record import State

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
Sample = tuple[dict[str, str], float]


class Recalls(NamedTuple):
    """How many recalls a server has answered, and how long the latest took, in milliseconds."""

    number: int
    total: float
    median: float | None
    slow: float | None  # the 95th percentile


class Metric(NamedTuple):
    """A number with its name, its kind, and its values by their labels."""

    name: str
    kind: str
    about: str
    samples: Sequence[Sample]


def text(status: Mapping[str, Any], recalls: Recalls | None = None) -> str:
    """Format what `status()` reports, and how long recalls took."""
    metrics = [*_of_store(status), *_of_server(status), *_of_recalls(recalls)]
    return "".join(f"{line}\n" for metric in metrics if metric.samples for line in _lines(metric))


def _of_store(status: Mapping[str, Any]) -> Iterator[Metric]:
    records: Mapping[str, Mapping[str, int]] = status["records"]
    counted = [
        ({"layer": layer, "state": state}, float(number))
        for layer, states in records.items()
        for state, number in states.items()
    ]
    waiting = sum(states.get(State.CONSTRAINED, 0) for states in records.values())
    is_up = status["store"] is not None
    yield Metric("lamina_up", "gauge", "Whether the store can be read.", [({}, float(is_up))])
    yield Metric("lamina_records", "gauge", "Memories by layer and state.", counted)
    yield _gauge("lamina_archived", "Memories in the archive.", status["archived"])
    yield _gauge("lamina_review_backlog", "Proposals that wait for a person.", waiting)
    short_term = status["waiting"].get("count", 0)
    yield _gauge("lamina_promotion_backlog", "What waits in short-term memory.", short_term)
    yield _gauge("lamina_problems", "Problems that need attention.", len(status["problems"]))
    given = status["given"]
    yield _gauge("lamina_context_given", "Memories that contexts gave of late.", given.get("given"))
    yield _gauge("lamina_context_used", "Memories of these that were used.", given.get("used"))
    yield _counter("lamina_events_total", "Changes in the trail.", status.get("events"))
    sizes = status.get("bytes") or {}
    files = [({"file": name}, float(size)) for name, size in sizes.items()]
    yield Metric("lamina_bytes", "gauge", "Bytes of the store's files.", files)


def _of_server(status: Mapping[str, Any]) -> Iterator[Metric]:
    jobs = status.get("jobs") or []
    late = [({"job": job["job"]}, float(job["overdue"])) for job in jobs]
    failed = [({"job": job["job"]}, float(job["failures"])) for job in jobs]
    yield Metric("lamina_job_overdue", "gauge", "Whether a job is overdue.", late)
    yield Metric("lamina_job_failures", "gauge", "Failures since a job's last success.", failed)
    refused = status.get("refused") or {}
    about = "Attempts in 30 days that were refused."
    yield _gauge("lamina_refused", about, refused.get("attempts"))
    yield _gauge("lamina_violations", "Attempts to cross a boundary.", status.get("violations"))
    cache = status.get("cache") or {}
    yield _gauge("lamina_cache_bytes", "Bytes that searches keep in memory.", cache.get("bytes"))
    yield _gauge("lamina_cache_budget_bytes", "Bytes that they may keep.", cache.get("budget"))
    yield _gauge("lamina_cache_scopes", "Users and stores in memory.", cache.get("scopes"))


def _of_recalls(recalls: Recalls | None) -> Iterator[Metric]:
    if recalls is None:
        return
    name, about = "lamina_recall_seconds", "How long recalls through this server took."
    shares = (("0.5", recalls.median), ("0.95", recalls.slow))
    yield Metric(
        name,
        "summary",
        about,
        [({"quantile": share}, value / 1000) for share, value in shares if value is not None],
    )
    total = f"{name}_sum", f"{name}_count"
    yield Metric(total[0], "", "", [({}, recalls.total / 1000)])
    yield Metric(total[1], "", "", [({}, float(recalls.number))])


def _gauge(name: str, about: str, value: float | None) -> Metric:
    return Metric(name, "gauge", about, [] if value is None else [({}, float(value))])


def _counter(name: str, about: str, value: float | None) -> Metric:
    return _gauge(name, about, value)._replace(kind="counter")


def _lines(metric: Metric) -> Iterable[str]:
    if metric.kind:
        yield f"# HELP {metric.name} {metric.about}"
        yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in metric.samples:
        pairs = ",".join(f'{name}="{str(one).translate(ESCAPES)}"' for name, one in labels.items())
        yield f"{metric.name}{{{pairs}}} {value:.15g}" if pairs else f"{metric.name} {value:.15g}"
