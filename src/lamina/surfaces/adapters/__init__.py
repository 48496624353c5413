"""Lamina in the shape that other frameworks expect of a memory: one small file for each."""
