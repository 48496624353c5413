"""Export and import: the file formats in which memories travel, one module for each.

A format turns lines into entries and records into lines; `importing` and `exporting` do the rest.
This room knows the store, but no verbs.
"""
