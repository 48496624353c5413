"""Maintain whole stores: open, verify, back up, restore, move and erase them."""
