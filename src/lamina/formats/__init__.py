"""Export and import: the files that memories travel in."""
