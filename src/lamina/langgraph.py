"""Lamina as the long-term store of LangGraph: `from lamina.langgraph import LaminaStore`."""

from lamina.surfaces.adapters.langgraph import LaminaStore

__all__ = ["LaminaStore"]
