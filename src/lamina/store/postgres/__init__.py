"""The shared system of record on PostgreSQL: the same statements, spelled as it wants them. It needs `lamina[postgres]`."""
