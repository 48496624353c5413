"""The system of record: the only package that contains SQL."""
