"""Hold the SQL of each table, one file for each: records, events, reads, grants, jobs and more.

Functions take an open connection. Migrations and the schema files are beside them.
"""
