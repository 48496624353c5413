"""Identify who sends a request, and answer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from starlette.responses import Response

from lamina.errors import Forbidden
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import Role
from lamina.surfaces.http.errors import JSON, Problem
from lamina.surfaces.http.guard import vouch
from lamina.surfaces.http.service import Service, Visitor

BOUND_NAMES = ("agent", "user")  # parameters that a token fixes
bearer = HTTPBearer(auto_error=False, description="A token that `lamina token create` printed.")


class Caller(NamedTuple):
    """A visitor of the service who sends a request."""

    service: Service
    visitor: Visitor
    verb: str  # what was requested: the method and the route, without values

    async def json(self, question: Callable[[Memory], Any]) -> Response:
        """Answer with the result from the visitor's memory."""
        return Response(await self.service.ask_json(self.visitor, question), media_type=JSON)

    async def trail(self, question: Callable[[Operator], Any]) -> Response:
        """Answer with what only operators may read."""
        self.check_trail()

        def ask_operator(memory: Memory) -> Any:
            assert isinstance(memory, Operator)
            return question(memory)

        return await self.json(ask_operator)

    def check_trail(self) -> None:
        """Refuse a visitor who may not read the audit trail, and note the attempt."""
        if self.visitor.role is not Role.OPERATOR:
            self.service.violation(self.visitor, "read the audit trail", self.visitor.agent)
            problem = "this token does not open the audit trail; see `lamina token create --trail`"
            raise self.refusal(problem, "operator")

    def refusal(self, problem: str, lacks: str) -> Forbidden:
        """Note a refusal in the trail as a violation, and make its error."""
        self.service.refuse(self.visitor, self.verb, lacks, is_logged=True)
        return Forbidden(problem, lacks=lacks)


def find_caller(request: Request) -> Caller | None:
    """Identify the caller by token or session; None if neither is valid."""
    service: Service = request.app.state.service
    session = request.cookies.get(request.app.state.cookie)
    visitor = service.visitor(request.headers.getlist("authorization"), session)
    if visitor is None:
        return None
    vouch(request.scope)
    return Caller(service, visitor, _verb(request))


def _verb(request: Request) -> str:
    route = request.scope.get("route")
    return request.method if route is None else f"{request.method} {route.path}"


async def _require_caller(request: Request, _: Annotated[object, Security(bearer)]) -> Caller:
    caller = find_caller(request)
    if caller is None:
        service: Service = request.app.state.service
        service.refuse_nobody(_verb(request), "token")
        error = Forbidden(
            "a valid token is needed: `Authorization: Bearer …`; see `lamina token create`",
            lacks="token",
        )
        raise Problem(401, error, {"WWW-Authenticate": "Bearer"})
    for value in request.query_params.getlist("agent"):
        if value in caller.service.agents(caller.visitor):
            caller = caller._replace(visitor=caller.visitor._replace(agent=value))
    for name in BOUND_NAMES:
        for value in request.query_params.getlist(name):
            if value != getattr(caller.visitor, name):
                attempt = f"ask for the memory of another {name}"
                caller.service.violation(caller.visitor, attempt, value)
                problem = "a token is for one agent and user; it opens no other's memory"
                raise caller.refusal(problem, "access")
    return caller


CurrentCaller = Annotated[Caller, Depends(_require_caller)]
