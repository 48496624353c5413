"""How people and programs call the verbs: command line, HTTP, MCP, hooks, adapters.

Surfaces translate and decide nothing. Only this room knows click, rich, FastAPI, MCP and the like.
"""
