"""Lamina as the memory that other frameworks expect: one small file for each."""
