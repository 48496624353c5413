"""Move records out of the tables into archive files, keep both in step, and search the files."""
