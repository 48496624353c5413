"""Going through the queue with a person, on any surface: decisions and order."""
