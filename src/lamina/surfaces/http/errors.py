"""Convert errors to answers: one form for all of them, with a suitable status."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from lamina.errors import (
    Conflict,
    Corrupt,
    InvalidInput,
    LaminaError,
    NotFound,
    Refused,
    StoreUnavailable,
)

JSON = "application/json"
STATUSES: Mapping[type[LaminaError], int] = {
    InvalidInput: 400,
    Refused: 403,
    NotFound: 404,
    Conflict: 409,
    StoreUnavailable: 503,
}
ANY_STATUS = 500
SERVERS = 500  # from here on, the server is at fault
SEPARATORS = "/\\"

log = logging.getLogger("lamina")


class Problem(Exception):  # noqa: N818 - it is an answer
    """An error with a status of its own, which its type does not determine."""

    def __init__(
        self, status: int, error: LaminaError, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers


def status_of(error: LaminaError) -> int:
    return next(
        (status for kind, status in STATUSES.items() if isinstance(error, kind)), ANY_STATUS
    )


def discreet(error: LaminaError) -> LaminaError:
    """Hide what an error says about the machine: paths are only for those who run the server."""
    is_of_home = "path" in error.details  # a file of the home, which no visitor can fix
    has_path = any(separator in error.message for separator in SEPARATORS)
    if not is_of_home and (status_of(error) < SERVERS or not has_path):
        return error
    log.warning("%s", error.message)
    what = "is damaged" if isinstance(error, Corrupt) else "cannot be read now"
    kind = StoreUnavailable if is_of_home else type(error)
    return kind(f"the memory {what}; the operator of this server can see why")


def answer(
    error: LaminaError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with an error in the form that every surface uses."""
    return Response(body(error), status or status_of(error), headers, JSON)


def body(error: LaminaError) -> bytes:
    return msgspec.json.encode(discreet(error).to_dict())
