"""How every page is made: one question to the visitor's memory, a template around the answer, and errors as pages too."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import model_validator
from starlette.responses import HTMLResponse, Response

from lamina.errors import InvalidInput, LaminaError
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.surfaces.http import errors, params
from lamina.surfaces.http.console import words
from lamina.surfaces.http.console.timings import Timings
from lamina.surfaces.http.dependencies import Asking, known
from lamina.surfaces.http.errors import Problem
from lamina.surfaces.http.service import Visitor
from lamina.text.words import reveal, shown

THEMES = ("light", "dark")
NAVIGATION = (
    ("/", "Overview"),
    ("/search", "Search"),
    ("/records", "Memories"),
    ("/archive", "Archive"),
    ("/facts", "Facts"),
    ("/review", "Review"),
    ("/profile", "Profile"),
    ("/audit", "Audit"),
)


class Form(params.Given):
    """What every page can be asked; a field that somebody left empty was not asked."""

    theme: Literal["light", "dark"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, given: Any) -> Any:
        kept = {
            name: [one for one in value if one] if isinstance(value, list) else value
            for name, value in given.items()
        }
        return {name: value for name, value in kept.items() if value not in ("", [])}


class Frame(NamedTuple):
    """What is around every page: whose memory it is, where the page is, and which theme was chosen."""

    path: str
    asked: tuple[tuple[str, str], ...]
    theme: str | None
    visitor: Visitor | None

    def url(self, path: str, **query: Any) -> str:
        """An address of the console that keeps the theme."""
        return _address(path, [*query.items(), ("theme", self.theme)])

    def again(self, **changed: Any) -> str:
        """This page with some of what was asked changed."""
        return _address(
            self.path,
            [
                *((name, value) for name, value in self.asked if name not in changed),
                *changed.items(),
            ],
        )


class Console:
    """What the pages share: their templates, how long recalls took, and what the last checks of the trail found."""

    def __init__(self, timings: Timings) -> None:
        self.timings = timings
        self.checked: dict[Visitor, dict[str, Any]] = {}
        self._templates = Environment(
            loader=PackageLoader(__package__ or "", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_visible,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= words.FILTERS
        self._templates.globals |= {
            "navigation": NAVIGATION,
            "themes": THEMES,
            "link_of": words.link_of,
        }

    def render(self, template: str, frame: Frame, now: datetime, **values: Any) -> str:
        return self._templates.get_template(template).render(
            frame=frame, url=frame.url, now=now, **values
        )


class PageRoute(APIRoute):
    """A route of the console: what goes wrong on it is told in a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await answer(request)
            except Problem as problem:
                return _failure(request, problem.error, problem.status)
            except LaminaError as error:
                return _failure(request, error, errors.status_of(error))
            except RequestValidationError as error:
                return _failure(request, InvalidInput(_told(error.errors()[0])), 400)

        return answered


async def show(
    request: Request, who: Asking, template: str, question: Callable[[Memory], dict[str, Any]]
) -> Response:
    """The page that a template makes of what the visitor's memory answers."""
    frame, console, now = _frame(request, who.visitor), console_of(request), who.service.clock()

    def made(memory: Memory) -> str:
        return console.render(template, frame, now, **question(memory))

    return HTMLResponse(await who.service.ask(who.visitor, made))


async def show_trail(
    request: Request, who: Asking, template: str, question: Callable[[Operator], dict[str, Any]]
) -> Response:
    """The same of what only operators may read."""
    who.check_trail()

    def asked(memory: Memory) -> dict[str, Any]:
        assert isinstance(memory, Operator)
        return question(memory)

    return await show(request, who, template, asked)


def console_of(request: Request) -> Console:
    found: Console = request.app.state.console
    return found


def _frame(request: Request, visitor: Visitor | None) -> Frame:
    chosen = request.query_params.get("theme")
    asked = tuple(request.query_params.multi_items())
    return Frame(request.url.path, asked, chosen if chosen in THEMES else None, visitor)


def _failure(request: Request, error: LaminaError, status: int) -> Response:
    service = request.app.state.service
    frame = _frame(request, _visitor(request))
    body = console_of(request).render(
        "failure.html", frame, service.clock(), message=error.message, status=status
    )
    return HTMLResponse(body, status)


def _visitor(request: Request) -> Visitor | None:
    """Who sees an error, if that can be told."""
    try:
        asking = known(request)
    except LaminaError:  # it may be what the page is about
        return None
    return None if asking is None else asking.visitor


def _told(problem: Any) -> str:
    name = ".".join(str(part) for part in problem["loc"][1:])
    return f"{shown(name, 80)} {shown(problem.get('input'), 80)}: {problem['msg']}"


def _address(path: str, query: list[tuple[str, Any]]) -> str:
    given = [
        (name, value) for name, value in query if value is not None and value != "" and value != []
    ]
    return f"{path}?{urlencode(given, doseq=True, errors='replace')}" if given else path


def _visible(value: Any) -> Any:
    """Whatever a template shows has nothing hidden in it; escaping comes after this."""
    return reveal(value) if isinstance(value, str) and not isinstance(value, Markup) else value
