"""Change the store: a `Store` for each memory, a `Transaction` for each change, a `Guard` over it.

Every change goes through a transaction, which writes record, words, event and outbox together.
"""
