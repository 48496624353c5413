"""Know this machine: the home folder, settings, YAML files, locks, tokens, keys, and HTTP.

Everything that reads or writes a private file of the home does so through this room. It knows no
record store.
"""
