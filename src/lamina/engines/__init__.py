"""Pure decisions: each engine makes a plan from its input values and gives the reasons.

`memory` applies a plan to the store. No engine reads a clock, a file or a database.
"""
