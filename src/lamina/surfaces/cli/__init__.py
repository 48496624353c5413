"""The command line: `main` is the program, and files are named after their commands.

All commands share `invocation`, `options`, `times` and `output`.
"""
