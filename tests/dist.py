"""Build the package, check it, install it into an empty environment, and use it from there.

`make dist` runs it. It needs the network for what the package depends on, so it is no test of
`make test`; what can be checked without is in `tests/surfaces/test_package.py`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
DECIDED = "We decided to deploy billing with make ship, because the old script lost migrations"
QUESTION = "how do we deploy billing?"


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    wheel, sdist = build(DIST)
    for problem in [*problems_of_wheel(wheel), *problems_of_sdist(sdist)]:
        raise SystemExit(f"{wheel.parent}: {problem}")
    with tempfile.TemporaryDirectory(prefix="lamina-dist-") as folder:
        place = Path(folder)
        try_out(place, wheel)
        container(place / "container", wheel)
    print(f"{wheel} and {sdist} are in order")


def build(folder: Path) -> tuple[Path, Path]:
    """Build a wheel and a source distribution into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def problems_of_wheel(wheel: Path) -> Iterator[str]:
    """Say what is missing in a wheel or does not belong there."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (info,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(info))
        scripts = archive.read(info.replace("METADATA", "entry_points.txt")).decode()
    source = ROOT / "src"
    own = {
        path.relative_to(source).as_posix()
        for path in (source / "lamina").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    yield from (f"{name} is missing in the wheel" for name in sorted(own - names))
    yield from (
        f"{name} does not belong into the wheel"
        for name in sorted(names - own)
        if ".dist-info/" not in name
    )
    if "lamina = lamina.__main__:main" not in scripts:
        yield "the program is not in entry_points.txt"
    if not any(name.endswith("LICENSE") for name in names):
        yield "the license is missing"
    yield from problems_of_metadata(metadata)


def problems_of_metadata(metadata: Any) -> Iterator[str]:
    """Say what an index or an installer would stumble over; the README must become a page."""
    for field in ("Name", "Version", "Summary", "Requires-Python", "License-Expression"):
        if not metadata[field]:
            yield f"the metadata has no {field}"
    if metadata["Description-Content-Type"] != "text/markdown":
        yield "the metadata does not say that the README is Markdown"
    page = MarkdownIt("commonmark").enable("table").render(metadata.get_payload())
    if "<h1>" not in page or "|---" in page:
        yield "the README does not render"
    if any("@ file:" in line for line in metadata.get_all("Requires-Dist")):
        yield "a dependency is a path of this machine"


def problems_of_sdist(sdist: Path) -> Iterator[str]:
    """Say what is missing in the source, from which others build."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = ("pyproject.toml", "README.md", "LICENSE", "src/lamina/py.typed", "plugin/.mcp.json")
    yield from (f"{name} is missing in the source" for name in needed if name not in names)
    if any(name.startswith(("tests/", ".venv", "dist/")) for name in names):
        yield "the source has more than the package needs"


def try_out(folder: Path, wheel: Path) -> None:
    """Install the wheel for somebody who has nothing, and let them use it for a day."""
    began = time.monotonic()
    program = installed(folder / "venv", f"{wheel}[mcp]")
    ready = time.monotonic()
    user = folder / "user"
    user.mkdir()
    run([program, "demo"], user)
    first = time.monotonic()
    run([program, "remember", "Ana drinks tea"], user)
    print(f"installed in {ready - began:.1f} s, remembered in {time.monotonic() - first:.1f} s")
    two_days(program, user)
    print(
        f"from nothing to the first remembered fact: {ready - began + remembered(program, user):.1f} s"
    )


def remembered(program: str, user: Path) -> float:
    """Measure how long it takes to connect an agent and to remember something."""
    began = time.monotonic()
    run([program, "install", "claude-code", "--yes"], user)
    run([program, "remember", "Ana lives in Porto"], user)
    return time.monotonic() - began


def two_days(program: str, user: Path) -> None:
    """Connect Claude Code, call its hooks as it does, and look what the next day's session hears."""
    run([program, "install", "claude-code", "--yes"], user)
    hooks = json.loads((user / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    day = {"session_id": "monday", "cwd": str(user)}
    call(hooks, "SessionStart", {**day, "source": "startup"}, user)
    call(hooks, "UserPromptSubmit", {**day, "prompt": DECIDED}, user)
    call(hooks, "Stop", {**day, "last_assistant_message": "Noted."}, user)
    call(hooks, "SessionEnd", {**day, "reason": "exit"}, user)
    day = {"session_id": "tuesday", "cwd": str(user)}
    heard = call(hooks, "SessionStart", {**day, "source": "startup"}, user)
    print(
        f"the next day's start {'knows' if 'make ship' in heard else 'does not know'} what was decided"
    )
    heard += call(hooks, "UserPromptSubmit", {**day, "prompt": QUESTION}, user)
    if "make ship" not in heard:
        raise SystemExit(f"the next day's session does not know what was decided: {heard}")


def call(hooks: Mapping[str, Any], event: str, given: Mapping[str, Any], user: Path) -> str:
    """Call every hook of an event as Claude Code does: by a shell, with JSON."""
    data = json.dumps({"hook_event_name": event, **given}).encode()
    answers = ""
    for group in hooks[event]:
        for hook in group["hooks"]:
            done = subprocess.run(
                hook["command"],
                shell=True,
                input=data,
                capture_output=True,
                check=True,
                env=environment(user),
            )
            answers += done.stdout.decode()
    return answers


def installed(folder: Path, wheel: str) -> str:
    """Install a wheel into a new environment, and return the program."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--constraint", str(ROOT / "constraints.txt"), wheel], check=True)
    return str(folder / "bin" / "lamina")


def environment(user: Path, **more: str) -> dict[str, str]:
    """The variables of somebody who has just opened a terminal."""
    return {"HOME": str(user), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **more}


def run(command: Sequence[str], user: Path) -> None:
    subprocess.run(command, env=environment(user), cwd=user, check=True, capture_output=True)


def steps(text: str) -> list[tuple[str, str]]:
    """Read a Containerfile: its instructions and what they are given."""
    lines = (line for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#"))
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines) if word
    ]


def container(folder: Path, wheel: Path) -> None:
    """Do what the Containerfile says in a folder, and check what runs there."""
    venv.create(folder / "usr", with_pip=True)
    variables = {"PATH": f"{folder / 'usr' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    said = steps((ROOT / "Containerfile").read_text("utf-8"))
    for word, rest in said:
        if word == "COPY":
            *sources, target = rest.split()
            place = folder / target.strip("/")
            place.mkdir(parents=True, exist_ok=True)
            for source in sources:
                for path in ROOT.glob(source):
                    shutil.copy(path, place)
        elif word == "ENV":
            name, _, value = rest.partition("=")
            variables[name] = re.sub(r"^/", f"{folder}/", value)
        elif word == "RUN" and "useradd" not in rest:  # an account of its own is for root alone
            shell(re.sub(r"(?<=[ \"(])/opt", f"{folder}/opt", rest), folder, variables)
    check_servers(folder, dict(said), variables)


def check_servers(folder: Path, said: Mapping[str, str], variables: dict[str, str]) -> None:
    """Start what a container would start, and ask for its health."""
    health = said["HEALTHCHECK"].partition("CMD ")[2]
    entry = json.loads(said["ENTRYPOINT"])
    default = json.loads(said["CMD"])
    default[default.index("0.0.0.0")] = "127.0.0.1"  # nobody else is let in here
    for port, words in (
        ("18765", default[: default.index("--allow-remote")]),
        ("18766", ["mcp", "--http"]),
    ):
        process = subprocess.Popen(
            [*entry, *words, "--port", port],
            env=environment(folder, **variables),
            executable=shutil.which(entry[0], path=variables["PATH"]),
            stdin=subprocess.DEVNULL,
        )
        try:
            for attempt in range(30):
                time.sleep(1)
                if not shell(health, folder, {**variables, "PORT": port}, check=attempt == 29):
                    break
        finally:
            process.terminate()
            process.wait()


def shell(line: str, folder: Path, variables: Mapping[str, str], *, check: bool = True) -> int:
    command = ["sh", "-c", line]
    done = subprocess.run(command, env=environment(folder, **variables), cwd=folder, check=False)
    if check and done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed")
    return done.returncode


if __name__ == "__main__":
    main()
