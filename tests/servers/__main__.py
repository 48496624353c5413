"""`python -m tests.servers postgres chroma weaviate`: starts servers, says where they are, and ends
them when it is ended."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack

from tests.servers.kinds import KINDS
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate


def main(names: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ExitStack() as stack:
        for kind in KINDS:
            if kind.name in names or not names:
                server = stack.enter_context(kind())
                address = (
                    server.url() if isinstance(server, Postgres) else getattr(server, "url", "")
                )
                more = f" grpc_port {server.grpc_port}" if isinstance(server, Weaviate) else ""
                print(
                    f"{server.name} pid {server.pid} {address}{more} folder {server.folder}",
                    flush=True,
                )
        signal.pause()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(0)
