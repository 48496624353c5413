"""Build pages: a query to the visitor's memory, and a template for the answer or the error."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import model_validator
from starlette.responses import HTMLResponse, Response

from lamina.errors import InvalidInput, LaminaError
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.surfaces.http import errors, params
from lamina.surfaces.http.console import copying, formatting
from lamina.surfaces.http.console.timings import Timings
from lamina.surfaces.http.dependencies import Caller, find_caller
from lamina.surfaces.http.errors import Problem
from lamina.surfaces.http.service import Visitor
from lamina.text.words import reveal, shown

THEMES = ("light", "dark")
NAVIGATION = (
    ("/", "Overview"),
    ("/search", "Search"),
    ("/conversations", "Conversations"),
    ("/records", "Memories"),
    ("/archive", "Archive"),
    ("/people", "People"),
    ("/projects", "Projects"),
    ("/review", "Review"),
    ("/audit", "Audit"),
)


class Form(params.Parameters):
    """The parameters of every page; a field that was left empty was not asked."""

    theme: Literal["light", "dark"] | None = None
    agent: str | None = None  # whose memory; permission is checked before

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, fields: Any) -> Any:
        filled = {
            name: [item for item in value if item] if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return {name: value for name, value in filled.items() if value not in ("", [])}


class Frame(NamedTuple):
    """The frame of every page: its path and query, the theme, and whose memory it is."""

    path: str
    asked: tuple[tuple[str, str], ...]
    theme: str | None
    visitor: Visitor | None
    agents: tuple[str, ...] = ()  # whose memory this visitor may see
    agent: str | None = None  # the one in the address

    @property
    def is_narrowed(self) -> bool:
        """Whether the address has parameters other than agent and theme."""
        return any(name not in ("agent", "theme") for name, _ in self.asked)

    def url(self, path: str, **query: Any) -> str:
        """Build an address of the console that keeps the agent and the theme."""
        kept = {"agent": self.agent, "theme": self.theme}
        return _address(path, [*{**kept, **query}.items()])

    def again(self, **changed: Any) -> str:
        """Build the address of this page with parts of its query changed."""
        kept = [(name, value) for name, value in self.asked if name not in changed]
        return _address(self.path, [*kept, *changed.items()])


def templates(*more: BaseLoader, **values: Any) -> Environment:
    """Load templates that escape and reveal what they show: the given ones first, then ours."""
    own = PackageLoader(__package__ or "", "templates")
    made = Environment(
        loader=ChoiceLoader([*more, own]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= formatting.FILTERS
    made.globals |= {"link_of": formatting.link_of, **values}
    return made


class Console:
    """The state that pages share: templates, timings of recalls, and the last verified trails."""

    def __init__(self, timings: Timings) -> None:
        self.timings = timings
        self.checked: dict[Visitor, dict[str, Any]] = {}
        self._templates = templates(navigation=NAVIGATION, themes=THEMES, script=copying.ELEMENT)

    def render(self, template: str, frame: Frame, now: datetime, **values: Any) -> str:
        return self._templates.get_template(template).render(
            frame=frame, url=frame.url, now=now, **values
        )


class PageRoute(APIRoute):
    """A route of the console; errors on it become pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answer_or_explain(request: Request) -> Response:
            try:
                return await answer(request)
            except Problem as problem:
                return failure(request, problem.error, problem.status)
            except LaminaError as error:
                return failure(request, error, errors.status_of(error))
            except RequestValidationError as error:
                invalid = InvalidInput(_parameter_problem(error.errors()[0]))
                return failure(request, invalid, 400)

        return answer_or_explain


async def show(
    request: Request, caller: Caller, template: str, question: Callable[[Memory], dict[str, Any]]
) -> Response:
    """Render a template with the answer of the visitor's memory."""
    frame, console = _frame(request, caller.visitor), console_of(request)
    now = caller.service.clock()

    def render(memory: Memory) -> str:
        return console.render(template, frame, now, **question(memory))

    return _html(await caller.service.ask(caller.visitor, render))


async def show_trail(
    request: Request, caller: Caller, template: str, question: Callable[[Operator], dict[str, Any]]
) -> Response:
    """Render a template with what only operators may read."""
    caller.check_trail()

    def ask_operator(memory: Memory) -> dict[str, Any]:
        assert isinstance(memory, Operator)
        return question(memory)

    return await show(request, caller, template, ask_operator)


def console_of(request: Request) -> Console:
    console: Console = request.app.state.console
    return console


def _frame(request: Request, visitor: Visitor | None) -> Frame:
    chosen, agent = (request.query_params.get(name) for name in ("theme", "agent"))
    asked = tuple(request.query_params.multi_items())
    agents = () if visitor is None else tuple(request.app.state.service.agents(visitor))
    theme = chosen if chosen in THEMES else None
    named = agent if agent in agents else None
    return Frame(request.url.path, asked, theme, visitor, agents, named)


def failure(request: Request, error: LaminaError, status: int) -> Response:
    """Explain on a page why the requested one cannot be shown."""
    service = request.app.state.service
    frame = _frame(request, _visitor(request))
    body = console_of(request).render(
        "failure.html", frame, service.clock(), message=error.message, status=status
    )
    return _html(body, status)


def _html(body: str, status: int = 200) -> Response:
    return HTMLResponse(body, status, {"Content-Security-Policy": copying.POLICY})


def _visitor(request: Request) -> Visitor | None:
    """Identify the caller who sees an error, if possible."""
    try:
        caller = find_caller(request)
    except LaminaError:  # it may be the error that the page shows
        return None
    return None if caller is None else caller.visitor


def _parameter_problem(problem: Any) -> str:
    name = ".".join(str(part) for part in problem["loc"][1:])
    return f"{shown(name, 80)} {shown(problem.get('input'), 80)}: {problem['msg']}"


def _address(path: str, query: list[tuple[str, Any]]) -> str:
    filled = [
        (name, value) for name, value in query if value is not None and value != "" and value != []
    ]
    return f"{path}?{urlencode(filled, doseq=True, errors='replace')}" if filled else path


def _visible(value: Any) -> Any:
    """Make hidden characters visible in whatever a template shows; escaping comes after this."""
    return reveal(value) if isinstance(value, str) and not isinstance(value, Markup) else value
