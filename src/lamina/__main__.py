"""Start the program. Ctrl-C works from the first line on, even while modules are loading."""

from __future__ import annotations

import gc
import sys

INTERRUPTED = 130
# New objects between two looks for garbage. What is loaded at the start is none; with Python's 700
# the looks take a tenth of a short command.
SELDOM = 50_000


def main() -> None:
    """Run the command that was typed, and end with its exit code."""
    gc.set_threshold(SELDOM)
    try:
        from lamina.surfaces.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # `run` answers those that come later
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
