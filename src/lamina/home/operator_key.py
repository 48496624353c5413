"""The operator key of a home: an optional secret that its operators must then give."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from lamina.errors import Corrupt, Forbidden, InvalidInput, StoreUnavailable
from lamina.home import ownership
from lamina.home.folder import fsync_folder, make_private_folder, refuse_link, write_private
from lamina.text.words import is_visible

FILE_NAME = "operator.key"
VARIABLE = "LAMINA_OPERATOR_KEY"
SHORTEST, LONGEST = 8, 1024
# What one guess costs: 16 MB and some 50 ms.
COST, BLOCK, PARALLEL = 1 << 14, 8, 1


class Lock(msgspec.Struct, frozen=True):
    """The stored form of a key, which cannot be used in its place."""

    salt: bytes
    hash: bytes


def is_set(home: Path) -> bool:
    """Tell if operators of this home need a key."""
    return os.path.lexists(home / FILE_NAME)


def check(home: Path, given: str | None = None) -> None:
    """Raise unless this is the home's key, or it has none. By default, use the environment's."""
    if not is_set(home):
        return
    given = given if given is not None else os.environ.get(VARIABLE)
    if not given:
        advice = f"give it in the environment variable {VARIABLE}"
        raise Forbidden(f"operators of this home need its key; {advice}", lacks="key")
    from hmac import compare_digest  # most homes have no key

    lock = _read(home / FILE_NAME)
    if not compare_digest(_hash(given, lock.salt), lock.hash):
        raise Forbidden("this is not the operator key of this home", lacks="key")


def change(home: Path, new: str) -> None:
    """Require this key of operators from now on. The caller has checked the old one."""
    if not SHORTEST <= len(new) <= LONGEST or not is_visible(new):
        raise InvalidInput(f"an operator key has {SHORTEST} to {LONGEST:,} characters")
    refuse_link(home / FILE_NAME)
    make_private_folder(home)
    ownership.check(home)
    salt = os.urandom(16)
    write_private(home / FILE_NAME, msgspec.json.encode(Lock(salt, _hash(new, salt))) + b"\n")


def remove(home: Path) -> bool:
    """Stop requiring a key of operators; tell if one was required."""
    if not is_set(home):
        return False
    try:
        (home / FILE_NAME).unlink(missing_ok=True)
        # Otherwise a power cut could bring the key back, which perhaps nobody knows any more.
        fsync_folder(home)
    except OSError as error:
        raise StoreUnavailable(f"{home / FILE_NAME} cannot be removed: {error.strerror}") from error
    return True


def _read(path: Path) -> Lock:
    refuse_link(path)
    try:
        with ownership.opened(path) as file:
            return msgspec.json.decode(file.read(), type=Lock)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError:
        raise Corrupt(f"{path} is damaged; remove it if you may write in the home") from None


def _hash(key: str, salt: bytes) -> bytes:
    spelled = key.encode(errors="surrogatepass")
    return hashlib.scrypt(spelled, salt=salt, n=COST, r=BLOCK, p=PARALLEL, maxmem=64 * 1024 * 1024)
