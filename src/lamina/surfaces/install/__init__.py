"""Connect coding agents to a memory by editing their configuration files, and undo that."""
