"""Lamina as a session of the OpenAI Agents SDK:
`from lamina.openai_agents import LaminaSession`.
"""

from lamina.surfaces.adapters.openai_agents import LaminaSession

__all__ = ["LaminaSession"]
