"""What opening a memory costs."""

from __future__ import annotations

import sys
from pathlib import Path


def test_nothing_heavy_is_loaded_for_a_plain_write(tmp_path: Path) -> None:
    """Start-up stays light: remembering loads neither YAML nor numpy."""
    import subprocess

    program = (
        "import sys, lamina\nwith lamina.open('sky', home=sys.argv[1]) as mem: "
        "mem.remember('tea')\n"
        "print([name for name in ('yaml', 'numpy', 'rich', 'click') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"
