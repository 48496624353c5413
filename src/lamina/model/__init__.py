"""Define what a memory is and what may happen to it: records, ids, hashes, and the rules.

Values are frozen and functions are pure. This room knows `text` and `errors`; it reads no files and
has no clock of its own.
"""
