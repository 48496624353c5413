"""One file for each peer, with the same verbs; each runs in its peer's environment."""
