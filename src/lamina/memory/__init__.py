"""The verbs: `Memory` for agents, `Operator` for people, and the parts that they are made of.

A part is responsible for one noun (reviews, profiles, runs, ...) and takes the scope of its
handle. It applies plans of `engines` through `store`, and knows no surface.
"""
