"""Start the program. Ctrl-C works from the first line on, even while modules are loading."""

from __future__ import annotations

import gc
import sys

INTERRUPTED = 130
# New objects between two garbage collections. Nothing loaded at startup is garbage, and with
# Python's 700 the collections take a tenth of the time of a short command.
SELDOM = 50_000


def main() -> None:
    """Run the command line, and exit with its code."""
    gc.set_threshold(SELDOM)
    try:
        from lamina.surfaces.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # `run` handles later ones
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
