"""Accept memories while the store is unavailable, and replay them into it later (B4).

Memories wait in two files per agent, as lines with a checksum each. This room knows the store,
but none of the rooms that use it.
"""
