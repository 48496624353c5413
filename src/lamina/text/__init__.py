"""Pure functions on text: words, dates, cues, look-alikes, the fence around memories, secrets.

Every function takes and returns plain values. Of our own packages, only `errors` is imported.
"""
