"""Secrets in texts: how they are found, and what happens to them (P6)."""
