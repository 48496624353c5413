"""Keep the records: the only room that contains SQL.

Its sub-rooms point one way: engine, tables, index, archive, core, upkeep. It knows `home` and what
is below it, and decides nothing but what a transaction must guard.
"""
