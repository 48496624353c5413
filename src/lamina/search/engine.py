"""Answer searches: one snapshot of the store, one ranker, embedders created on first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np

from lamina.embedders import Embedder, create
from lamina.errors import EmbedderFailed
from lamina.home.settings import Settings
from lamina.model.record import Entry, Hits, Record
from lamina.search import current, exact, hybrid, is_quick, keyword, overlap, semantic
from lamina.search.duplicates import Duplicates
from lamina.search.indexing import Indexer, Progress
from lamina.search.mirror import MirrorSearch
from lamina.search.mirror_request import SearchableMirror
from lamina.search.patience import Patient
from lamina.search.request import Request
from lamina.search.worker import Worker
from lamina.store.core.store import Store
from lamina.store.index.snapshot import EVERYTHING, Snapshot
from lamina.store.tables.records import Filter


class SearchEngine:
    """The searches of a handle, and the index that they need."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        models: Path,
        mirror: Callable[[], SearchableMirror | None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._models = models
        self._mirror = mirror

    @cached_property
    def embedders(self) -> tuple[Embedder, ...]:
        """The embedders that the settings name; none of them is loaded yet."""
        return embedders_of(self._settings, self._models)

    @cached_property
    def indexer(self) -> Indexer:
        return Indexer(self._store, self.embedders)

    @cached_property
    def worker(self) -> Worker:
        return Worker(self.indexer.step)

    def index(self, progress: Progress | None = None) -> int:
        """Update the index now; return how many vectors were missing."""
        return self.indexer.run(self.worker.step, progress)

    def prepare_server(self) -> None:
        """Let a server prepare for searching a large store, which may take minutes."""
        if self._settings["store.url"]:
            from lamina.store.index import sample  # needs the driver of PostgreSQL

            names = {embedder.name for embedder in self.embedders}
            sample.prepare(self._store, names)

    @cached_property
    def mirror(self) -> MirrorSearch | None:
        """The mirror that provides candidates; None for the store itself."""
        mirror = self._mirror()
        return None if mirror is None else MirrorSearch(self._settings["recall.via"], mirror)

    @property
    def problems(self) -> list[str]:
        """The problems of background indexing, and of the mirror that is searched."""
        # Do not create them here: what was never used has no problem.
        worker, mirror = self.__dict__.get("worker"), self.__dict__.get("mirror")
        problems = [worker.problem] if worker is not None and worker.problem is not None else []
        return problems if mirror is None else problems + mirror.problems

    def duplicates(self, entries: Sequence[Entry], least: float) -> Mapping[str, str]:
        """Map each entry that repeats a memory, by their cosine, to that memory."""
        if not entries:
            return {}
        if not self.embedders:
            raise EmbedderFailed("there is no embedder (recall.embedders = none)")
        self.index()
        with self._store.index.snapshot() as look:
            embedder = self.embedders[0]
            space = look.space(embedder.name)
            if space is None:
                return {}
            cosine = least if embedder.scale is None else embedder.scale.cosine(least)
            return Duplicates(look, space, cosine).find(entries)

    def listed(self, chosen: Filter, limit: int) -> list[Record]:
        """List the newest records that match a filter, using the catalogue of its scope.

        For a large store on a server, no catalogue is read: the server lists them.
        """
        if self._is_served(chosen):
            return self._store.listed(chosen, limit)
        with self._store.index.snapshot(wanted=chosen) as look:
            rows = np.flatnonzero(look.allowed(chosen))[: -limit - 1 : -1].tolist()
            known = look.records(rows, chosen)
        return [known[row] for row in rows if row in known]

    def search(
        self,
        query: str,
        limit: int,
        chosen: Filter,
        ranker: str,
        now: datetime,
        known_at: datetime | None = None,
        bias: float | None = None,
        following: Sequence[str] = (),
        least: int = 0,
    ) -> Hits:
        """Rank the records of the store as they are at one moment."""
        boosts: bool = self._settings["recall.boosts"]
        asked = (query, limit, chosen, ranker, now, known_at, following)
        with self._snapshot(*asked, boosts=boosts) as look:
            request = Request(look, query, chosen, now, limit, self.mirror, following, least)
            if not request.words:
                return Hits(())
            return current.marked(look, chosen, self._ranked(request, ranker, bias, boosts=boosts))

    def _ranked(self, request: Request, ranker: str, bias: float | None, *, boosts: bool) -> Hits:
        match ranker:
            case "keyword":
                return keyword.rank(request)
            case "exact":
                return exact.rank(request)
            case "overlap":
                return overlap.rank(request, overlap.RECENCY_BIAS if bias is None else bias)
            case "semantic":
                return semantic.rank(request, self._patient(), boosts=boosts)
        return hybrid.rank(request, self._patient(), boosts=boosts)

    def marked(self, found: Hits, chosen: Filter) -> Hits:
        """Add to hits that were not searched for what they say that does not hold."""
        with self._store.index.snapshot(wanted=chosen) as look:
            return current.marked(look, chosen, found)

    def _patient(self) -> tuple[Embedder, ...]:
        """Return the embedders for one search, which waits only briefly for a sentence model."""
        seconds = self._settings["recall.wait_ms"] / 1000
        return tuple(
            embedder if is_quick([embedder.name]) else Patient(embedder, seconds)
            for embedder in self.embedders
        )

    def _is_served(
        self, chosen: Filter, ranker: str = "hybrid", known_at: datetime | None = None
    ) -> bool:
        """Tell whether a server finds the candidates for a search of a large store."""
        if not self._settings["store.url"] or self.mirror is not None:
            return False
        from lamina.search import sampling  # needs the driver of PostgreSQL

        return sampling.applies(self._store, chosen, ranker, known_at, self.embedders)

    @contextmanager
    def _snapshot(
        self,
        query: str,
        limit: int,
        chosen: Filter,
        ranker: str,
        now: datetime,
        known_at: datetime | None,
        following: Sequence[str],
        *,
        boosts: bool,
    ) -> Iterator[Snapshot]:
        """Open the snapshot that a ranker reads: for a large store on a server, only candidates."""
        if self._is_served(chosen, ranker, known_at):
            from lamina.search import sampling

            asked = (self._store, query, chosen, now, limit, self.embedders, following)
            with sampling.sampled(*asked, boosts=boosts) as sample:
                yield sample
            return
        # A mirror names records of the whole store by their row numbers.
        wanted = chosen if self.mirror is None else EVERYTHING
        with self._store.index.snapshot(known_at, wanted) as look:
            yield look


def embedders_of(settings: Settings, models: Path) -> tuple[Embedder, ...]:
    """Create the embedders that settings name. Each is cheap until it is used."""
    variable = settings["recall.key_variable"]
    embedders = (
        create(
            name,
            cache=models,
            endpoint=settings["recall.endpoint"],
            key=os.environ.get(variable) if variable else None,
            timeout=settings["recall.timeout_ms"] / 1000,
        )
        for name in settings["recall.embedders"]
    )
    return tuple(embedder for embedder in embedders if embedder is not None)
