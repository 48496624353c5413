"""The system of record, file by file."""
