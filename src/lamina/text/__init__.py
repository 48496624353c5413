"""Read text, purely: words, dates, cues, look-alikes, the fence around foreign text, and secrets.

Every function here takes and returns plain values. It knows `errors` and nothing else of ours.
"""
