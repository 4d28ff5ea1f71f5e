"""Starts the `dragoman` command, also as `python -m dragoman`."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Run the command with the `model` and `service` beside this file. A directory or module of
    the user's may have the same name, and would be imported instead."""
    sys.path.insert(0, str(Path(__file__).parent))
    from service.commands import main as run

    run()


if __name__ == "__main__":
    main()
