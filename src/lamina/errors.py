"""Every exception, on one screen. Each docstring says what the error means to its reader."""

from __future__ import annotations


class LaminaError(Exception):
    """Something was refused or could not be done. Every error of Lamina is one of these."""

    code = "error"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def to_dict(self) -> dict[str, object]:
        """Return the error in the shape that every surface shows."""
        return {"error": {"code": self.code, "message": self.message, **self.details}}


class InvalidInput(LaminaError):
    """The input is not valid; the message says what would be valid. Nothing was stored."""

    code = "invalid_input"


class WrongCall(InvalidInput, TypeError):  # noqa: N818 - named like its siblings
    """A verb was called with arguments that it does not take, or without one that it needs."""


class NotFound(LaminaError):
    """There is no such record, or none that you may see; the two look the same on purpose."""

    code = "not_found"


def no_record(which: str) -> NotFound:
    """Make the error for an unknown id. It says what to do, on every surface."""
    return NotFound(f"there is no record {which}; list or search memories to find an id")


class Refused(LaminaError):
    """The request is not allowed from here: wrong role, illegal move, or outside the home."""

    code = "refused"


class Forbidden(Refused):
    """The caller lacks the authority: `lacks` says which. The attempt is in the audit trail."""

    is_noted = False  # in the trail

    def __init__(self, message: str, *, lacks: str, **details: object) -> None:
        super().__init__(message, lacks=lacks, **details)
        self.lacks = lacks


class Conflict(LaminaError):
    """The store contradicts the request: for example, it has the same key with another text."""

    code = "conflict"


class StoreUnavailable(LaminaError):
    """The store cannot be read or written now: locked, full, read-only, or in use elsewhere."""

    code = "store_unavailable"


class EmbedderFailed(StoreUnavailable):
    """An embedder is missing, broken or unreachable; search continues without it."""

    code = "embedder_failed"


class ModelFailed(StoreUnavailable):
    """A language model is unreachable, over budget or wrong; rules do its work instead."""

    code = "model_failed"


class Corrupt(LaminaError):
    """The file is damaged, altered or not a Lamina store. It is unchanged; see `lamina restore`."""

    code = "corrupt"


class Interrupted(Exception):
    """Stop long work early. The work catches it, reports that it stopped, and resumes next time."""
