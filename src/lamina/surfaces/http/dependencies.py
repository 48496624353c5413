"""How a route learns who asks, and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer
from starlette.responses import Response

from lamina.errors import Refused
from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import Role
from lamina.surfaces.http.errors import JSON, Problem
from lamina.surfaces.http.guard import vouch
from lamina.surfaces.http.service import Service, Visitor

WHO = ("agent", "user")
bearer = HTTPBearer(auto_error=False, description="A token that `lamina token create` printed.")


class Asking(NamedTuple):
    """A visitor at the service."""

    service: Service
    visitor: Visitor

    async def json(self, question: Callable[[Memory], Any]) -> Response:
        """What the visitor's memory answers."""
        return Response(await self.service.ask_json(self.visitor, question), media_type=JSON)

    async def trail(self, question: Callable[[Operator], Any]) -> Response:
        """The same of what only operators may read."""
        self.check_trail()

        def asked(memory: Memory) -> Any:
            assert isinstance(memory, Operator)
            return question(memory)

        return await self.json(asked)

    def check_trail(self) -> None:
        """Raise for a visitor who may not read the audit trail; the attempt is noted."""
        if self.visitor.role is not Role.OPERATOR:
            self.service.violation(self.visitor, "read the audit trail", self.visitor.agent)
            raise Refused(
                "this token does not open the audit trail; see `lamina token create --trail`"
            )


def known(request: Request) -> Asking | None:
    """Who asks, by token or session; None for somebody who is not known."""
    service: Service = request.app.state.service
    session = request.cookies.get(request.app.state.cookie)
    found = service.visitor(request.headers.getlist("authorization"), session)
    if found is None:
        return None
    vouch(request.scope)
    return Asking(service, found)


async def _asking(request: Request, _: Annotated[object, Security(bearer)]) -> Asking:
    asking = known(request)
    if asking is None:
        message = (
            "a token is needed, and none that opens anything was given: `Authorization: Bearer …`"
        )
        raise Problem(
            401, Refused(f"{message}; see `lamina token create`"), {"WWW-Authenticate": "Bearer"}
        )
    for name in WHO:
        for value in request.query_params.getlist(name):
            if value != getattr(asking.visitor, name):
                asking.service.violation(
                    asking.visitor, f"ask for the memory of another {name}", value
                )
                raise Refused("a token is for one agent and user; it opens no other's memory")
    return asking


Who = Annotated[Asking, Depends(_asking)]
