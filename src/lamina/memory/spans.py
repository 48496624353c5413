"""An OpenTelemetry span for each call of a verb, if `telemetry.spans` is on.

A span has the name of the verb, the role of the caller, the number of results and the class of an
error: never a text, a name or an id. What happens to spans is up to the program that has set up an
SDK; without one they go nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lamina.errors import Refused
from lamina.home import extras

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer as Tracer

    from lamina.home.settings import Settings
    from lamina.model.record import Role

ROLE, RESULTS, ERROR = "lamina.role", "lamina.results", "error.type"


def tracer(settings: Settings) -> Tracer | None:
    """Return a tracer; None if spans are off, and then nothing is imported."""
    if not settings["telemetry.spans"]:
        return None
    try:
        from opentelemetry import trace
    except ImportError:
        problem = "telemetry.spans needs opentelemetry-api"
        raise Refused(f"{problem}; {extras.remedy('otel')}") from None
    from lamina import __version__

    return trace.get_tracer("lamina", __version__)


def traced(
    tracer: Tracer, role: Role, verb: Callable[..., Any], /, *given: Any, **named: Any
) -> Any:
    """Call a verb within a span."""
    from opentelemetry.trace import Status, StatusCode

    # The messages of exceptions may quote a memory: an SDK must not record them by itself.
    with tracer.start_as_current_span(
        f"lamina.{verb.__name__}",
        attributes={ROLE: role.value},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            result = verb(*given, **named)
        except Exception as error:
            span.set_attribute(ERROR, type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        if (number := _number(result)) is not None:
            span.set_attribute(RESULTS, number)
        return result


def _number(result: Any) -> int | None:
    """Count what a verb returned: a list, or the items of a context."""
    items = getattr(result, "items", None)
    found = items if isinstance(items, (list, tuple)) else result
    return len(found) if isinstance(found, Sequence) and not isinstance(found, str) else None
