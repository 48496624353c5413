"""The few pages that need no token: the description of the API, and signing in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lamina.surfaces.http.guard import IS_HEAD, is_loopback
from lamina.surfaces.http.service import Service
from lamina.surfaces.http.sessions import LIFE

# In addition to the style of the console.
STYLE = """
main > p { margin-block: .6rem; max-width: 70ch; }
.route { margin-block: 1rem; }
.route h3 { font-family: ui-monospace, monospace; font-size: 1.02rem; overflow-wrap: anywhere; }
.route > p { margin-block: .3rem .6rem; max-width: 70ch; }
.route td:first-child { white-space: nowrap; }
.contents { columns: 19rem; margin-block: 1rem; }
.contents a { font-family: ui-monospace, monospace; font-size: .88rem; }
pre { overflow-x: auto; padding: .8rem 1rem; margin: .3rem 0 0; font-size: .84rem;\
 background: var(--raised); border-radius: 8px; max-height: 24rem; }
"""
CODE = re.compile(r"`([^`]+)`")
USED_UP = (
    "This link was used already, or is too old. Press Enter where <code>lamina serve</code> runs,"
    " and it prints a new one."
)
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/console.css">
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><a class="brand" href="/">
<img src="/console/icon.svg" width="26" height="26" alt="">Lamina</a></header>
<main id="content" tabindex="-1">
<h1>{title}</h1>
{body}
</main>
<footer class="bottom"><p><a href="/">To the console</a></p></footer>
</body>
</html>
"""
router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Describe the API for people."""
    body = "\n".join(_description(request.app.openapi()))
    return HTMLResponse(document("Lamina: the HTTP API", body))


@router.get("/docs.css")
async def style() -> Response:
    return Response(STYLE, media_type="text/css")


@router.get("/sign-in")
async def sign_in(request: Request, link: str = "") -> Response:
    """Sign this browser in with a printed link, once. A HEAD request does not use it up."""
    service: Service = request.app.state.service
    cookie = request.cookies.get(request.app.state.cookie, "")
    session = None if request.scope.get(IS_HEAD) else service.sessions.redeem(link)
    if session is None and service.sessions.is_open(cookie):
        return RedirectResponse("/", 303)  # already signed in
    if session is None:
        service.refuse_nobody("GET /sign-in", "token")
        return HTMLResponse(document("Not signed in", f"<p>{USED_UP}</p>"), 401)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        request.app.state.cookie,
        session,
        max_age=int(LIFE.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=not is_loopback(request.url.hostname or ""),
    )
    return answer


@router.get("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session of this browser."""
    service: Service = request.app.state.service
    service.sessions.end(request.cookies.get(request.app.state.cookie, ""))
    answer = RedirectResponse("/docs", 303)
    answer.delete_cookie(request.app.state.cookie, httponly=True, samesite="strict")
    return answer


async def front() -> Response:
    """Redirect to the description of the API if there is no console."""
    return RedirectResponse("/docs", 303)


def document(title: str, body: str) -> str:
    """Build a whole page around a body of HTML."""
    return PAGE.format(title=escape(title), body=body)


def _description(schema: dict[str, Any]) -> Iterator[str]:
    """Describe the routes by topic, after a list of all of them."""
    routes = [(path, methods["get"]) for path, methods in schema["paths"].items()]
    yield f"<p>{_prose(schema['info']['description'])}</p>"
    yield '<p>For programs: <a href="/openapi.json">openapi.json</a></p>'
    links = "".join(f'<li><a href="#{_anchor(path)}">{escape(path)}</a></li>' for path, _ in routes)
    yield f'<nav aria-label="Routes"><ul class="contents card">{links}</ul></nav>'
    for subject, some in groupby(routes, lambda one: one[1]["tags"][0]):
        yield f"<h2>{escape(subject.capitalize())}</h2>"
        for path, route in some:
            yield from _route(path, route)


def _route(path: str, route: dict[str, Any]) -> Iterator[str]:
    yield f'<section class="card route" id="{_anchor(path)}">'
    yield f"<h3>GET {escape(path)}</h3>\n<p>{_prose(route['description'])}</p>"
    if route.get("parameters"):
        names = ("parameter", "default", "what it is")
        head = "".join(f'<th scope="col">{name}</th>' for name in names)
        rows = "\n".join(map(_row, route["parameters"]))
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody>\n</table>"
        label = f"Parameters of {escape(path)}"
        yield f'<div class="wide" tabindex="0" role="region" aria-label="{label}">{table}</div>'
    example = route["responses"]["200"]["content"]["application/json"]["example"]
    shown = escape(json.dumps(example, indent=2, ensure_ascii=False))
    yield "<details><summary>An answer</summary>"
    yield f'<pre tabindex="0">{shown}</pre></details></section>'


def _row(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    default = "required" if parameter.get("required") else _default(schema.get("default"))
    what = parameter.get("description") or schema.get("description") or ""
    cells = (escape(parameter["name"]), escape(default), _prose(what))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _default(value: Any) -> str:
    """Format a default for people: nothing means no limit."""
    return "" if value in (None, []) else value if isinstance(value, str) else json.dumps(value)


def _prose(text: str) -> str:
    """Convert a text to HTML, marking quoted code as code."""
    return CODE.sub(r"<code>\1</code>", escape(text))


def _anchor(path: str) -> str:
    return re.sub(r"[^a-z]+", "-", path).strip("-")
