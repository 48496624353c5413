"""Where people and programs meet the memory. Surfaces translate and decide nothing."""
