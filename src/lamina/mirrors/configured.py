"""Which mirrors the settings name, each made when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from lamina.errors import InvalidInput
from lamina.home.settings import Settings
from lamina.mirrors import Closing, Mirror, Searchable
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.mirrors.required import Required
    from lamina.mirrors.weaviate import WeaviateMirror
    from lamina.store.core.store import Store

OFF, STORE = "off", "store"
Embedding = Callable[[], "Embedder | None"]  # to load one takes longer than writers can wait


def names(settings: Settings) -> tuple[str, ...]:
    """The mirrors that are on."""
    return tuple(name for name in MAKERS if settings[f"mirrors.{name}"] != OFF)


def mirrors(store: Store, settings: Settings, embedder: Embedding) -> dict[str, Mirror]:
    """The mirrors that are on, by name. Nothing is opened or connected yet; who wants texts alone needs no embedder."""
    return {name: MAKERS[name](store, settings, embedder) for name in names(settings)}


def contradictions(settings: Settings) -> Iterator[str]:
    """Settings about mirrors that cannot be meant so, each with what to do."""
    name = settings["recall.via"]
    if name != STORE and name not in names(settings):
        yield f'recall.via = "{name}", but mirrors.{name} is off; turn it on, or search the store'
    if settings["mirrors.weaviate_required"] and settings["mirrors.weaviate"] == OFF:
        yield "mirrors.weaviate_required = true, but mirrors.weaviate is off; set its address, or require nothing"


def missing_key(settings: Settings, environment: Mapping[str, str] = os.environ) -> str | None:
    """What is wrong when the key of Weaviate should be in the environment and is not: the server is asked without one."""
    variable = settings["mirrors.weaviate_key_variable"]
    if settings["mirrors.weaviate"] == OFF or not variable or environment.get(variable):
        return None
    return f"mirrors.weaviate_key_variable names {shown(variable)}, which is not set here; Weaviate is asked without a key"


def searchable(settings: Settings, mirrors: Mapping[str, Mirror]) -> Searchable | None:
    """The mirror that searches go through; None when the store itself is searched."""
    name = settings["recall.via"]
    if name == STORE:
        return None
    if name not in mirrors:
        raise InvalidInput(next(contradictions(settings)))
    made = mirrors[name]
    assert isinstance(made, Searchable)
    return made


def required(store: Store, settings: Settings) -> Required | None:
    """The mirror that has to take each memory, if there is one. It takes texts alone, and so loads no embedder."""
    from lamina.mirrors.required import Required, is_required

    if not is_required(settings):
        return None
    mirror = _weaviate(store, settings, lambda: None)
    return Required(mirror, mirror.turns)


def close(mirrors: Mapping[str, Mirror]) -> None:
    """Let go of what some of them hold."""
    for mirror in mirrors.values():
        if isinstance(mirror, Closing):
            mirror.close()


def _jsonl(store: Store, settings: Settings, embedder: Embedding) -> Mirror:
    from lamina.mirrors.jsonl import JsonlMirror

    return JsonlMirror(store.path_of("jsonl"), settings["mirrors.jsonl"])


def _chroma(store: Store, settings: Settings, embedder: Embedding) -> Mirror:
    from lamina.mirrors.chroma import ChromaMirror

    where, name = settings["mirrors.chroma"], f"{store.agent}_memory"
    if where != "embedded":
        from lamina.mirrors.breaker import Breaker
        from lamina.mirrors.chroma_server import ChromaServer
        from lamina.model.clock import (
            system_clock,  # an outage lasts in real time, whatever clock memories go by
        )

        breaker = Breaker(store.folder / "chroma.outage", system_clock, where)
        return ChromaMirror(
            ChromaServer(where, name, breaker), store.id, embedder(), store.database
        )
    from lamina.mirrors.chroma_embedded import ChromaFolder
    from lamina.mirrors.lock import alone

    folder = ChromaFolder(store.path_of("rag/chroma_store"), name, partial(alone, store))
    return ChromaMirror(folder, store.id, embedder(), store.database)


def _weaviate(store: Store, settings: Settings, embedder: Embedding) -> WeaviateMirror:
    from lamina.mirrors.breaker import Breaker
    from lamina.mirrors.required import Turns
    from lamina.mirrors.weaviate import WeaviateMirror, tenant_of
    from lamina.mirrors.weaviate_server import WeaviateServer
    from lamina.model.clock import (
        system_clock,  # an outage lasts in real time, whatever clock memories go by
    )

    variable = settings["mirrors.weaviate_key_variable"]
    key = os.environ.get(variable) if variable else None
    where = settings["mirrors.weaviate"]
    breaker = Breaker(store.folder / "weaviate.outage", system_clock, where)
    server = WeaviateServer(where, key, tenant_of(store.agent, store.id), breaker)
    return WeaviateMirror(
        server, store.id, embedder, Turns(store.folder / "weaviate.lock"), store.database
    )


Maker = Callable[["Store", Settings, Embedding], Mirror]
MAKERS: Mapping[str, Maker] = {"jsonl": _jsonl, "chroma": _chroma, "weaviate": _weaviate}
