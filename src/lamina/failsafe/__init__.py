"""Take memories while the store is away, and replay them into it later (B4).

Lines in two files per agent, each with a checksum. It knows the store, and no other room that
uses it.
"""
