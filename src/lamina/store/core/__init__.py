"""Change the store: one `Store` for each memory, one `Transaction` for each change, one `Guard` over it.

Every change goes through a transaction, which writes record, words, event and outbox together.
"""
