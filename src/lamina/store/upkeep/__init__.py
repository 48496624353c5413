"""Look after whole stores: open, verify, back up, restore, migrate to another engine, and erase for good."""
