"""Speak to a database engine: SQLite files through apsw, PostgreSQL servers, and raw files.

Connections, transactions and dialects live here. No module of this room knows a table of ours.
"""
