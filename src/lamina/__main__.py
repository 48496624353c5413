"""Start the program. Ctrl-C works from the first line on, even while modules are loading."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command that was typed, and end with its exit code."""
    try:
        from lamina.surfaces.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # `run` answers those that come later
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
