"""Find secrets in texts, memories and configs (P6): tokens of services, passwords, seed phrases."""
