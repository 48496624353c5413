"""Every exception, on one screen. The docstring is what it means to whoever sees it."""

from __future__ import annotations


class LaminaError(Exception):
    """Something was refused or could not be done. Every error of Lamina is one of these."""

    code = "error"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def to_dict(self) -> dict[str, object]:
        """The one shape in which every surface shows an error."""
        return {"error": {"code": self.code, "message": self.message, **self.details}}


class InvalidInput(LaminaError):
    """What you passed is not acceptable; the message names the value and what would be. Nothing was stored."""

    code = "invalid_input"


class NotFound(LaminaError):
    """There is no such record, or none that you may see; the two look the same on purpose."""

    code = "not_found"


class Refused(LaminaError):
    """The request is well formed, but not allowed from here: wrong role, illegal move, or outside the home."""

    code = "refused"


class Conflict(LaminaError):
    """The store holds something that contradicts the request, such as the same key with another text."""

    code = "conflict"


class StoreUnavailable(LaminaError):
    """The store cannot be read or written now: locked, full, read-only, or opened in another process."""

    code = "store_unavailable"


class EmbedderFailed(StoreUnavailable):
    """An embedder is missing, broken or unreachable; search goes on without it."""

    code = "embedder_failed"


class ModelFailed(StoreUnavailable):
    """A language model is unreachable, over its budget or talks nonsense; rules do its work instead."""

    code = "model_failed"


class Corrupt(LaminaError):
    """The file is damaged, was altered, or is not a Lamina store. It was not touched; `lamina restore` lists the backups."""

    code = "corrupt"


class Interrupted(Exception):
    """Long work was told to stop. No caller sees it: the work says so in what it returns, and goes on the next time."""
