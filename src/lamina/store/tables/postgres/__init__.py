"""Make our tables in a PostgreSQL database, open an agent's rows there, and check the schema's rules."""
