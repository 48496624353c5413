"""Errors as answers: one shape for all of them, with the status that fits."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from lamina.errors import Conflict, InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable

JSON = "application/json"
STATUSES: Mapping[type[LaminaError], int] = {
    InvalidInput: 400,
    Refused: 403,
    NotFound: 404,
    Conflict: 409,
    StoreUnavailable: 503,
}
ANY_STATUS = 500


class Problem(Exception):  # noqa: N818 - it is an answer
    """An error that is answered with a status of its own, which its kind alone does not tell."""

    def __init__(self, status: int, error: LaminaError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers


def status_of(error: LaminaError) -> int:
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), ANY_STATUS)


def answer(error: LaminaError, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The one shape in which every surface shows an error."""
    return Response(body(error), status or status_of(error), headers, JSON)


def body(error: LaminaError) -> bytes:
    return msgspec.json.encode(error.to_dict())
