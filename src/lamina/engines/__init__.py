"""Decide, purely: each engine plans from values alone and says why.

`memory` applies a plan through the store. No engine reads a clock, a file or a database.
"""
