"""Read and write what searches need: the catalogue of records, postings, blocks and vectors.

All of it is derived from the tables below and can be built again from them.
"""
