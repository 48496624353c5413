"""Write a file completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.home.folder import fsync_folder
from lamina.store.engine import file_header


@contextmanager
def write_whole(target: Path, force: bool) -> Iterator[Path]:
    """Yield a private file beside the target to write to, then move it into place, durably.

    A crash leaves no partial file.
    """
    try:
        if target.exists() and not (force and target.is_file()):
            hint = ", or overwrite it: --force (in Python force=True)" if target.is_file() else ""
            raise InvalidInput(f"{target} exists already; choose another name{hint}")
        if file_header.is_kept(target):
            raise InvalidInput(
                f"{target} belongs to a database, which no export replaces; choose another name"
            )
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".lamina-", suffix=".tmp")
        os.close(descriptor)
        work = Path(name)
        try:
            yield work
            with work.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(work, target)
        except BaseException:
            work.unlink(missing_ok=True)
            raise
        fsync_folder(target.parent)
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from error
