"""Make our tables in PostgreSQL, open an agent's rows there, and check the rules it keeps."""
