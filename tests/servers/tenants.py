"""What a tenant of Weaviate holds."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from lamina.mirrors.weaviate_server import COLLECTION


def asked(url: str, method: str, path: str, body: object = None) -> Any:
    """What the server says to another program; nothing where it has nothing."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{url}/v1/{path}", data, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request) as answer:
            said = answer.read()
            return json.loads(said) if said else None
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 422):
            return None
        raise


def objects(url: str, tenant: str) -> list[dict[str, Any]]:
    """Everything that a tenant holds, the position too."""
    found: list[dict[str, Any]] = []
    while True:
        after = found[-1]["id"] if found else ""
        page = asked(
            url, "GET", f"objects?class={COLLECTION}&tenant={tenant}&limit=500&after={after}"
        )
        if not page or not page["objects"]:
            return found
        found += page["objects"]


def memories(url: str, tenant: str) -> list[dict[str, Any]]:
    """The memories that a tenant holds."""
    return [one["properties"] for one in objects(url, tenant) if "record" in one["properties"]]
