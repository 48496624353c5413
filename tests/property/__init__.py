"""What must hold for every input: Hypothesis looks for the one that breaks it."""
