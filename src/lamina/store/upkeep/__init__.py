"""Look after whole stores: open, verify, back up, restore, migrate elsewhere, erase for good."""
