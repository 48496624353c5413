"""The read-only HTTP surface: an API, and a place for the console. It needs the extra `http`."""
