"""The packages that Lamina runs on: their licences, and whether the package index knows of
weaknesses in them.

The index tells the weaknesses of a release with the release itself (`/pypi/NAME/VERSION/json`).
Where only the newest one is served (`/pypi/NAME/json`), an installed package that is the newest is
judged by that, and every other one is not audited.
"""

from __future__ import annotations

import http.client
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import msgspec

INDEX = "https://pypi.org/pypi"
PATIENCE = 20  # seconds for one answer
CORE = "core"
PROJECT = Path(__file__).parents[2] / "pyproject.toml"
# A release with weaknesses that nobody will mend: an index that knows none of it tells nothing at
# all.
CONTROL = ("pycrypto", "2.6.1")
# What is known and cannot reach us, with the reason. Whoever adds one has read what it says.
PYTHON_SERVER = (
    "it is in Chroma's own server in Python; Lamina uses the library within its process, and "
    "starts no server"
)
ACCEPTED = {
    ("chromadb", f"CVE-2026-{number}"): PYTHON_SERVER for number in (45829, 45830, 45831, 45833)
}
NEEDED = re.compile(r"[A-Za-z0-9._-]+")
EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")

Wanted = tuple[str, frozenset[str]]
Ask = Callable[[str], "dict[str, Any] | None"]


class Package(msgspec.Struct, frozen=True):
    """One installed package: by which extra it is needed, under what licence, and what is known
    against it."""

    name: str
    version: str
    extra: str
    licence: str
    weaknesses: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    not_audited: str = ""


def plain(name: str) -> str:
    """A name as the index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def asked(lines: Iterable[str], extras: frozenset[str] = frozenset()) -> Iterator[Wanted]:
    """The packages that requirements name, each with the extras that it is wanted with."""
    for line in lines:
        wanted, _, marker = line.partition(";")
        extra = EXTRA.search(marker)
        if extra and extra.group(1) not in extras:
            continue
        found = NEEDED.match(wanted.strip())
        assert found, line
        inner = re.search(r"\[([^\]]*)\]", wanted)
        yield (
            plain(found.group()),
            frozenset(one.strip() for one in inner.group(1).split(",")) if inner else frozenset(),
        )


def ours() -> dict[str, list[str]]:
    """What the project asks for, by extra; what an installed copy says may be older."""
    told = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    extras = {name: lines for name, lines in told["optional-dependencies"].items() if name != "dev"}
    return {CORE: told["dependencies"], **extras}


def closure(lines: Iterable[str]) -> Iterator[str]:
    """Everything that is installed for some requirements. What is not installed,
    another platform needs."""
    waiting = [*asked(lines)]
    seen: set[Wanted] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            waiting += asked(metadata.distribution(one[0]).requires or (), one[1])
        except metadata.PackageNotFoundError:
            continue
        yield one[0]


def licence(name: str) -> str:
    told = metadata.metadata(name).json
    classified = [
        line.rpartition(" :: ")[2]
        for line in told.get("classifier", ())
        if line.startswith("License ::")
    ]
    said = (
        str(told.get("license_expression") or told.get("license") or "").strip().partition("\n")[0]
    )
    return (said if said and len(said) < 60 else "; ".join(classified)) or "not said"


def installed() -> list[Package]:
    """What Lamina runs on: the core first, then what each extra adds."""
    found: dict[str, Package] = {}
    for extra, lines in ours().items():
        for name in sorted(closure(lines)):
            if name not in found:
                found[name] = Package(name, metadata.version(name), extra, licence(name))
    return [*found.values()]


def index(path: str) -> dict[str, Any] | None:
    """What the index says under a path; None where it has nothing."""
    try:
        with urlopen(
            Request(f"{INDEX}/{path}", headers={"Accept": "application/json"}), timeout=PATIENCE
        ) as answer:
            told: dict[str, Any] = json.load(answer)
            return told
    except HTTPError as error:
        if error.code == http.client.NOT_FOUND:
            return None
        raise


def weaknesses(name: str, version: str, ask: Ask) -> tuple[tuple[str, ...], str]:
    """What is known against a release, or why nothing can be said."""
    told = ask(f"{name}/{version}/json")
    if told is None:
        told = ask(f"{name}/json")
        newest = told and told["info"]["version"]
        if told is None or newest != version:
            return (
                (),
                f"the index lists only {newest}" if newest else "the index does not know it",
            )
    if "vulnerabilities" not in told:
        return (), "the index tells nothing of weaknesses"
    return tuple(
        sorted({_name(one) for one in told["vulnerabilities"] if not one.get("withdrawn")})
    ), ""


def _name(told: Mapping[str, Any]) -> str:
    """The one name of a weakness that several lists know, each by a name of its own."""
    return str(
        next((name for name in told.get("aliases", ()) if name.startswith("CVE-")), told["id"])
    )


def audited(packages: list[Package], ask: Ask = index) -> list[Package]:
    """The packages with what is known against each. An index that is away, or blind, has audited
    none of them."""
    try:
        control, why = weaknesses(*CONTROL, ask)
        if not control:
            return _unaudited(
                packages,
                why or f"the index knows no weakness of {' '.join(CONTROL)}, which has several",
            )
        found = []
        for one in packages:
            known, why = weaknesses(one.name, one.version, ask)
            accepted = tuple(name for name in known if (one.name, name) in ACCEPTED)
            left = tuple(name for name in known if name not in accepted)
            found.append(
                msgspec.structs.replace(one, weaknesses=left, accepted=accepted, not_audited=why)
            )
    except (URLError, OSError, ValueError, KeyError) as error:
        return _unaudited(packages, f"{INDEX} could not be asked: {error}")
    return found


def _unaudited(packages: list[Package], why: str) -> list[Package]:
    return [msgspec.structs.replace(one, not_audited=why) for one in packages]
