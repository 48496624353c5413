"""The trail: who changed, read or tried what, and whether the chains that hold it together are whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.operator import Operator
from lamina.surfaces.http import paging, params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.console.words import spoken
from lamina.surfaces.http.dependencies import Who

router = APIRouter(route_class=PageRoute, include_in_schema=False)
KINDS = (("changes", "Changes"), ("reads", "Reads"), ("violations", "Violations"))


class Trail(Form, params.Paged):
    """Which part of the trail."""

    of: Literal["changes", "reads", "violations"] = "changes"


@router.get("/audit")
async def audit(request: Request, who: Who, given: Annotated[Trail, Query()]) -> Response:
    checked = page.console_of(request).checked.get(who.visitor)

    def found(operator: Operator) -> dict[str, Any]:
        return {
            "given": given,
            "kinds": KINDS,
            "head": operator.audit_head(),
            "checked": checked,
            **_entries(operator, given),
        }

    return await page.show_trail(request, who, "audit.html", found)


@router.get("/audit/verify")
async def verify(request: Request, who: Who, given: Annotated[Form, Query()]) -> Response:
    """Check every record against the trail now, and remember for this visitor what came of it."""
    console = page.console_of(request)

    def found(operator: Operator) -> dict[str, Any]:
        reports = operator.audit_verify()
        done = {
            "at": who.service.clock(),
            "reports": reports,
            "ok": all(report.ok for report in reports.values()),
        }
        console.checked[who.visitor] = done
        return {"checked": done}

    return await page.show_trail(request, who, "verify.html", found)


def _entries(operator: Operator, given: Trail) -> dict[str, Any]:
    if given.of == "reads":
        return {
            "items": [read.to_dict() for read in operator.audit_reads(given.limit)],
            "next": None,
            "unreadable": 0,
        }
    if given.of == "violations":
        tried = operator.audit_violations(given.limit)
        return {"items": tried.entries, "next": None, "unreadable": tried.unreadable}
    part = paging.of_trail(operator.audit_log, given.cursor, given.limit)
    items = [
        {**event, "changes": [(change["record"], moved(change)) for change in event["changes"]]}
        for event in part["items"]
    ]
    return {"items": items, "next": part["next"], "unreadable": 0}


def moved(change: Mapping[str, Any]) -> str:
    """What became of a record: where it began, or what it was before and is now."""
    before, after = change["before"], change["after"]
    if not before:
        return spoken(str(after.get("layer", "")))
    if "erased" in before:
        return "erased"
    if "archived" in before:
        return "archive → store" if after.get("archived") is None else "store → archive"
    told = [
        f"{spoken(str(before[name]))} → {spoken(str(after[name]))}"
        for name in ("state", "layer")
        if name in before
    ]
    return told[0] if told else ", ".join(map(spoken, before))
