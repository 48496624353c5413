"""Claims by rules."""
