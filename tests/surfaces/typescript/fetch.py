"""`make clients`: has the MCP clients of npm on this machine, once for each version, or says why
not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.servers.fetch import REQUIRED, cache

# Both lines of the official TypeScript SDK: 1 speaks the protocol with a handshake, 2 also the
# one without; and the Inspector.
PACKAGES = {
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/inspector": "2.12.0",
}
SECONDS = 10 * 60


def folder() -> Path:
    """Where the packages of our versions lie once they are fetched."""
    return cache() / f"mcp-clients-{'-'.join(PACKAGES.values())}"


def missing() -> str | None:
    """Why the clients cannot be run, or None."""
    if shutil.which("node") is None:
        return "Node.js is not installed"
    if not all((folder() / "node_modules" / name).exists() for name in PACKAGES):
        return "its packages are not there; `make clients` fetches them from npm"
    return None


def fetch() -> str | None:
    """Fetch the packages; why that was not possible, or None."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    folder().mkdir(parents=True, exist_ok=True)
    wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
    quiet = ["--no-fund", "--no-audit", "--loglevel=error", "--ignore-scripts"]
    done = subprocess.run(
        [npm, "install", "--prefix", str(folder()), *quiet, *wanted],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return None if done.returncode == 0 else f"npm install failed: {done.stderr.strip()[-500:]}"


def main() -> int:
    reason = None if missing() is None else fetch() or missing()
    print(f"clients: {'ready' if reason is None else f'not there ({reason})'}")
    return 1 if REQUIRED and reason is not None else 0


if __name__ == "__main__":
    sys.exit(main())
