"""The same promises for every backend."""
