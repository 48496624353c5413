"""The few pages that need no token: the description of the API, and signing in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lamina.surfaces.http.guard import IS_HEAD, is_loopback
from lamina.surfaces.http.service import Service
from lamina.surfaces.http.sessions import LIFE

# Beside the style of the console.
STYLE = """
main { max-width: 62rem; }
main > p { margin-block: .6rem; max-width: 70ch; }
h2 { font-family: ui-monospace, monospace; font-size: 1.05rem; margin-top: 2.5rem;\
 overflow-wrap: anywhere; }
table { display: block; overflow-x: auto; }
pre { overflow-x: auto; padding: .8rem 1rem; font-size: .84rem; background: var(--card);\
 border: 1px solid var(--line); border-radius: var(--round); max-height: 24rem; }
"""
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
<header class="top"><a class="brand" href="/">Lamina</a></header>
<main>
<h1>{title}</h1>
{body}
</main>
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
        return RedirectResponse("/", 303)  # signed in already
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
    """Redirect to the description of the API, where there is no console."""
    return RedirectResponse("/docs", 303)


def document(title: str, body: str) -> str:
    """Make a whole page around a body that is HTML already."""
    return PAGE.format(title=escape(title), body=body)


def _description(schema: dict[str, Any]) -> Iterator[str]:
    yield f"<p>{escape(schema['info']['description'])}</p>"
    yield '<p>For programs: <a href="/openapi.json">openapi.json</a></p>'
    for path, methods in schema["paths"].items():
        route = methods["get"]
        yield f"<h2>GET {escape(path)}</h2>\n<p>{escape(route['description'])}</p>"
        if route.get("parameters"):
            rows = "\n".join(map(_row, route["parameters"]))
            head = "<tr><th>parameter</th><th>default</th><th>what it is</th></tr>"
            yield f"<table>\n{head}\n{rows}\n</table>"
        example = route["responses"]["200"]["content"]["application/json"]["example"]
        yield f"<pre tabindex='0'>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"


def _row(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    default = "required" if parameter.get("required") else json.dumps(schema.get("default"))
    what = parameter.get("description") or schema.get("description") or ""
    cells = (parameter["name"], default, what)
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
