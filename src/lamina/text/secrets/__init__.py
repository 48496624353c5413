"""Find secrets in texts, in memories and in configs (P6): vendors' tokens, passwords, seeds."""
