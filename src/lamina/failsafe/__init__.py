"""What takes memories while the store cannot, and brings them there later (B4)."""
