"""Lamina beside what one could use instead: the same work, in one interleaved run."""
