"""The files that memories travel in."""
