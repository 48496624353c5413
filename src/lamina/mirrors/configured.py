"""Create the mirrors that the settings name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from lamina.errors import InvalidInput
from lamina.home.settings import Settings
from lamina.mirrors import Closing, Mirror, SearchableMirror
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.mirrors.breaker import Breaker
    from lamina.mirrors.chroma import Engine
    from lamina.mirrors.required import Required
    from lamina.mirrors.weaviate import WeaviateMirror
    from lamina.store.core.store import Store

OFF, STORE = "off", "store"
# A function, because loading an embedder takes longer than writers can wait.
Embedding = Callable[[], "Embedder | None"]


def names(settings: Settings) -> tuple[str, ...]:
    """List the names of the enabled mirrors."""
    return tuple(name for name in MAKERS if settings[f"mirrors.{name}"] != OFF)


def mirrors(store: Store, settings: Settings, embedder: Embedding) -> dict[str, Mirror]:
    """Create the enabled mirrors, by name. Nothing is opened, connected or embedded yet."""
    return {name: MAKERS[name](store, settings, embedder) for name in names(settings)}


def contradictions(settings: Settings) -> Iterator[str]:
    """Yield each contradiction between the settings of mirrors, with what to do."""
    name = settings["recall.via"]
    if name != STORE and name not in names(settings):
        yield f'recall.via = "{name}", but mirrors.{name} is off; turn it on, or search the store'
    if settings["mirrors.weaviate_required"] and settings["mirrors.weaviate"] == OFF:
        yield (
            "mirrors.weaviate_required = true, but mirrors.weaviate is off;"
            " set its address, or require nothing"
        )


def missing_key(settings: Settings, environment: Mapping[str, str] = os.environ) -> str | None:
    """Describe the problem if the environment should have Weaviate's key and does not."""
    variable = settings["mirrors.weaviate_key_variable"]
    if settings["mirrors.weaviate"] == OFF or not variable or environment.get(variable):
        return None
    return (
        f"mirrors.weaviate_key_variable names {shown(variable)}, which is not set here;"
        " Weaviate is asked without a key"
    )


def searchable(settings: Settings, mirrors: Mapping[str, Mirror]) -> SearchableMirror | None:
    """Choose the mirror that searches use; None if they use the store itself."""
    name = settings["recall.via"]
    if name == STORE:
        return None
    if name not in mirrors:
        raise InvalidInput(next(contradictions(settings)))
    mirror = mirrors[name]
    assert isinstance(mirror, SearchableMirror)
    return mirror


def required(store: Store, settings: Settings) -> Required | None:
    """Create the mirror that must accept each memory, if there is one.

    It receives only texts, so no embedder is loaded.
    """
    from lamina.mirrors.required import Required, is_required

    if not is_required(settings):
        return None
    mirror = _weaviate(store, settings, lambda: None)
    return Required(mirror, mirror.turns)


def close(mirrors: Mapping[str, Mirror]) -> None:
    """Close mirrors that hold files or connections."""
    for mirror in mirrors.values():
        if isinstance(mirror, Closing):
            mirror.close()


def _jsonl(store: Store, settings: Settings, embedder: Embedding) -> Mirror:
    from lamina.mirrors.jsonl import JsonlMirror

    return JsonlMirror(store.path_of("jsonl"), settings["mirrors.jsonl"])


def _chroma(store: Store, settings: Settings, embedder: Embedding) -> Mirror:
    from lamina.mirrors.chroma import ChromaMirror

    address, name = settings["mirrors.chroma"], f"{store.agent}_memory"
    engine: Engine
    if address == "embedded":
        from lamina.mirrors.chroma_embedded import ChromaFolder
        from lamina.mirrors.sync import alone

        engine = ChromaFolder(store.path_of("rag/chroma_store"), name, partial(alone, store))
    else:
        from lamina.mirrors.chroma_server import ChromaServer

        engine = ChromaServer(address, name, _breaker(store, "chroma", address))
    return ChromaMirror(engine, store.id, embedder(), store.database)


def _weaviate(store: Store, settings: Settings, embedder: Embedding) -> WeaviateMirror:
    from lamina.mirrors.required import Turns
    from lamina.mirrors.weaviate import WeaviateMirror, tenant_of
    from lamina.mirrors.weaviate_server import WeaviateServer

    variable = settings["mirrors.weaviate_key_variable"]
    key = os.environ.get(variable) if variable else None
    address = settings["mirrors.weaviate"]
    breaker = _breaker(store, "weaviate", address)
    server = WeaviateServer(address, key, tenant_of(store.agent, store.id), breaker)
    turns = Turns(store.folder / "weaviate.lock")
    return WeaviateMirror(server, store.id, embedder, turns, store.database)


def _breaker(store: Store, name: str, address: str) -> Breaker:
    """Create a server's breaker. Outages use real time, whatever clock the memories use."""
    from lamina.mirrors.breaker import Breaker
    from lamina.model.clock import system_clock

    return Breaker(store.folder / f"{name}.outage", system_clock, address)


Maker = Callable[["Store", Settings, Embedding], Mirror]
MAKERS: Mapping[str, Maker] = {"jsonl": _jsonl, "chroma": _chroma, "weaviate": _weaviate}
