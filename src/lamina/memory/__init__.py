"""Offer the verbs: `Memory` for agents and `Operator` for people, and the parts that they are made of.

A part owns one noun (reviews, profiles, runs, ...). It applies plans of `engines` through `store` and knows no surface.
"""
