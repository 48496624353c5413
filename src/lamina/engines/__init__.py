"""Pure decisions: each engine plans from values alone, and the store applies the plan."""
