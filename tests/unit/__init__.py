"""What each module promises, in the order of the source."""
