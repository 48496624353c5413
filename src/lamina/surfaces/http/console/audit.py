"""The trail: who changed, read or tried what, and the state of the hash chains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.operator import Operator
from lamina.surfaces.http import paging, params
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.formatting import spoken
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller

router = APIRouter(route_class=PageRoute, include_in_schema=False)
KINDS = (
    ("changes", "Changes"),
    ("reads", "Reads"),
    ("refused", "Refused"),
    ("violations", "Violations"),
)


class TrailForm(Form, params.PageParameters):
    """The part of the trail to show."""

    of: Literal["changes", "reads", "refused", "violations"] = "changes"


@router.get("/audit")
async def audit(
    request: Request, caller: CurrentCaller, given: Annotated[TrailForm, Query()]
) -> Response:
    checked = page.console_of(request).checked.get(caller.visitor)

    def values(operator: Operator) -> dict[str, Any]:
        return {
            "given": given,
            "kinds": KINDS,
            "head": operator.audit_head(),
            "checked": checked,
            **_entries(operator, given),
        }

    return await page.show_trail(request, caller, "audit.html", values)


@router.get("/audit/verify")
async def verify(
    request: Request, caller: CurrentCaller, given: Annotated[Form, Query()]
) -> Response:
    """Check every record against the trail now, and keep the result for this visitor."""
    console = page.console_of(request)

    def values(operator: Operator) -> dict[str, Any]:
        reports = operator.audit_verify()
        done = {
            "at": caller.service.clock(),
            "reports": reports,
            "ok": all(report.ok for report in reports.values()),
        }
        console.checked[caller.visitor] = done
        return {"checked": done}

    return await page.show_trail(request, caller, "verify.html", values)


def _entries(operator: Operator, given: TrailForm) -> dict[str, Any]:
    if given.of == "reads":
        return {
            "items": [read.to_dict() for read in operator.audit_reads(given.limit)],
            "next": None,
            "unreadable": 0,
        }
    if given.of == "refused":
        refused = operator.audit_refusals(given.limit)
        return {"items": [one.to_dict() for one in refused], "next": None, "unreadable": 0}
    if given.of == "violations":
        violations = operator.audit_violations(given.limit)
        return {"items": violations.entries, "next": None, "unreadable": violations.unreadable}
    trail = paging.of_trail(operator.audit_log, given.cursor, given.limit)
    items = [
        {**event, "changes": [(change["record"], moved(change)) for change in event["changes"]]}
        for event in trail["items"]
    ]
    return {"items": items, "next": trail["next"], "unreadable": 0}


def moved(change: Mapping[str, Any]) -> str:
    """Describe how a record changed: its first layer, or its states before and after."""
    before, after = change["before"], change["after"]
    if not before:
        return spoken(str(after.get("layer", "")))
    if "erased" in before:
        return "erased"
    if "archived" in before:
        return "archive → store" if after.get("archived") is None else "store → archive"
    for name in ("state", "layer"):
        if name in before:
            return f"{spoken(str(before[name]))} → {spoken(str(after[name]))}"
    return ", ".join(map(spoken, before))
