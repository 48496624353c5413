"""Offer the verbs: `Memory` for agents, `Operator` for people, and the parts they are made of.

A part owns one noun (reviews, profiles, runs, ...) and takes the scope of its handle. It applies
plans of `engines` through `store`, and knows no surface.
"""
