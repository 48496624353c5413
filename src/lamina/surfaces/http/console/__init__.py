"""The console: memories, their lineage and what waits for a person, as pages that need no script and change nothing."""

from lamina.surfaces.http.console.mounting import mount

__all__ = ["mount"]
