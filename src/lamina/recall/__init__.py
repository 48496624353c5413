"""Finding: from a question to ranked, explained hits."""
