"""Errors as answers: one shape for all of them, with the status that fits."""

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
SERVERS = 500  # from here on it is the server's trouble
SEPARATORS = "/\\"

log = logging.getLogger("lamina")


class Problem(Exception):  # noqa: N818 - it is an answer
    """An error that is answered with a status of its own, which its kind alone does not tell."""

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
    """An error of the server without what it says of the machine: where files lie is for whoever runs it."""
    is_untrusted = "path" in error.details  # a file of the home, which no visitor can help
    is_told = status_of(error) < SERVERS or not any(sign in error.message for sign in SEPARATORS)
    if is_told and not is_untrusted:
        return error
    log.warning("%s", error.message)
    what = "is damaged" if isinstance(error, Corrupt) else "cannot be read now"
    kind = StoreUnavailable if is_untrusted else type(error)
    return kind(f"the memory {what}; whoever runs this server can see why")


def answer(
    error: LaminaError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The one shape in which every surface shows an error."""
    return Response(body(error), status or status_of(error), headers, JSON)


def body(error: LaminaError) -> bytes:
    return msgspec.json.encode(discreet(error).to_dict())
