"""The app: routes, errors in one form, and the guard in front of them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from lamina import __version__
from lamina.errors import InvalidInput, LaminaError, NotFound
from lamina.surfaces.http import errors, health, pages, routes
from lamina.surfaces.http.errors import Problem
from lamina.surfaces.http.guard import Guard, own_names
from lamina.surfaces.http.service import Service
from lamina.text.words import shown

CONSOLE = "lamina.surfaces.http.console"
DESCRIPTION = (
    "Read one agent's memory. Every request needs a token of `lamina token create` in its header:"
    " Authorization: Bearer … The token says whose memory it is; no parameter can change that."
    " Only GET and HEAD; nothing here changes the store."
)


def create(service: Service, port: int, remote: Iterable[str] = ()) -> ASGIApp:
    """Create the guarded app of a service on a port, also under the given remote names."""
    app = FastAPI(
        title="Lamina",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.openapi = lambda: _description(app)  # type: ignore[method-assign]
    app.state.service = service
    app.state.cookie = f"lamina_{port}"  # browsers send the cookies of one port to all others
    _answer_errors(app)
    app.include_router(routes.router)
    app.include_router(pages.router)
    app.include_router(health.router)
    _mount_console(app)
    hosts, origins = own_names(port, remote)
    return Guard(app, hosts, origins, service.limits, service.refuse_nobody)


def _description(app: FastAPI) -> dict[str, Any]:
    """Describe the API with full examples and our errors; FastAPI omits every null."""
    if app.openapi_schema is not None:
        return app.openapi_schema
    schema = FastAPI.openapi(app)
    for route in routes.router.routes:
        assert isinstance(route, APIRoute)
        answers = schema["paths"][route.path_format]["get"]["responses"]
        answers.pop("422", None)
        answers["200"]["content"] = route.responses[200]["content"]
    for name in ("HTTPValidationError", "ValidationError"):
        schema.get("components", {}).get("schemas", {}).pop(name, None)
    return schema


def _mount_console(app: FastAPI) -> None:
    """Add the console if it is installed; otherwise redirect to the description of the API."""
    if importlib.util.find_spec(CONSOLE) is not None:
        importlib.import_module(CONSOLE).mount(app)
    else:
        app.add_api_route("/", pages.front, include_in_schema=False)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    try:
        yield
    finally:
        app.state.service.close()


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(LaminaError)
    async def from_memory(request: Request, error: LaminaError) -> Response:
        return errors.answer(error)

    @app.exception_handler(Problem)
    async def refused(request: Request, problem: Problem) -> Response:
        return errors.answer(problem.error, problem.status, problem.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return errors.answer(InvalidInput(_parameter_problem(error.errors()[0])))

    @app.exception_handler(HTTPException)
    async def unrouted(request: Request, error: HTTPException) -> Response:
        problem = NotFound(f"there is nothing at {shown(request.url.path, 80)}; see /docs")
        return _told(request, problem, error.status_code)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        problem = LaminaError("something went wrong; the server's log has the details")
        return _told(request, problem, errors.status_of(problem))


def _told(request: Request, error: LaminaError, status: int) -> Response:
    """Answer browsers with a page, if there is a console, and programs with the usual error."""
    page = getattr(request.app.state, "failure", None)
    if page is None or "text/html" not in request.headers.get("accept", ""):
        return errors.answer(error, status)
    answer: Response = page(request, error, status)
    return answer


def _parameter_problem(problem: Any) -> str:
    """Describe what is wrong with a parameter."""
    name = ".".join(str(part) for part in problem["loc"][1:])
    if problem["type"] == "extra_forbidden":
        return f"unknown parameter {shown(name, 80)}"
    if problem["type"] == "missing":
        return f"the parameter {name} is missing"
    return f"{name} {shown(problem.get('input'), 80)}: {problem['msg']}"
