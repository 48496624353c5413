"""Export and import: the files that memories travel in, one file for each format.

A format turns lines into entries and records into lines; `importing` and `exporting` do the rest.
It knows the store, and no verb.
"""
