"""One node of Weaviate, built from source by `make servers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tests.servers import fetch
from tests.servers.processes import HOST, Server, answers, free_ports

USER = "lamina"
INNER_PORTS = (
    "CLUSTER_GOSSIP_BIND_PORT",
    "CLUSTER_DATA_BIND_PORT",
    "RAFT_PORT",
    "RAFT_INTERNAL_RPC_PORT",
)


class Weaviate(Server):
    """One Weaviate node that is a cluster by itself. With a key, it answers to nobody without it.

    Its ports for gRPC and for data between nodes cannot be told to listen on the loopback alone.
    """

    name: ClassVar[str] = "weaviate"

    def __init__(self, key: str | None = None) -> None:
        super().__init__()
        self.key = key
        # In a row, because on one machine a node looks for the second port of Raft next to the
        # first.
        self.port, self.grpc_port, *inner = free_ports(2 + len(INNER_PORTS))
        self._inner_ports = {name: str(port) for name, port in zip(INNER_PORTS, inner, strict=True)}

    @classmethod
    def missing(cls) -> str | None:
        return (
            None
            if fetch.weaviate().exists()
            else "it was not built: make servers, which needs Go 1.26 or newer"
        )

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def command(self) -> list[str]:
        # A stop waits no longer for clients that keep their connections.
        patience = ["--cleanup-timeout", "1s", "--graceful-timeout", "2s"]
        return [
            str(fetch.weaviate()),
            "--host",
            HOST,
            "--port",
            str(self.port),
            "--scheme",
            "http",
            *patience,
        ]

    def environment(self) -> Mapping[str, str]:
        return {
            **self._inner_ports,
            **self._access(),
            "PERSISTENCE_DATA_PATH": str(self.folder / "data"),
            "DEFAULT_VECTORIZER_MODULE": "none",
            "GRPC_PORT": str(self.grpc_port),
            "CLUSTER_HOSTNAME": "node1",
            "CLUSTER_IN_LOCALHOST": "true",
            "CLUSTER_BIND_ADDR": HOST,
            "CLUSTER_ADVERTISE_ADDR": HOST,
            "RAFT_BOOTSTRAP_EXPECT": "1",
            # It votes for itself: patience with other nodes, five times that of Raft, would only
            # make its starts slow.
            "RAFT_TIMEOUTS_MULTIPLIER": "1",
            "GO_PROFILING_DISABLE": "true",
            "DISABLE_TELEMETRY": "true",
            "LOG_LEVEL": "warning",
            "GOMAXPROCS": "2",
            "GOMEMLIMIT": "1GiB",
        }

    def _access(self) -> dict[str, str]:
        if self.key is None:
            return {"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true"}
        return {
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
            "AUTHENTICATION_APIKEY_ENABLED": "true",
            "AUTHENTICATION_APIKEY_ALLOWED_KEYS": self.key,
            "AUTHENTICATION_APIKEY_USERS": USER,
            "AUTHORIZATION_ADMINLIST_ENABLED": "true",
            "AUTHORIZATION_ADMINLIST_USERS": USER,
        }

    def ready(self) -> bool:
        return answers(self.port, "/v1/.well-known/ready")
