"""Create our tables in PostgreSQL, open an agent's rows there, and check the database's rules."""
