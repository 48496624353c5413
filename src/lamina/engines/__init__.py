"""What moves memories by themselves: each engine decides from values alone, and the store applies what it decided."""
