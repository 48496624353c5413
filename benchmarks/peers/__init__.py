"""Lamina beside its alternatives: the same work, in one interleaved run."""
