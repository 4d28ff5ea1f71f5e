"""Starts the `dragoman` command, also as `python -m dragoman`."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Run the command, whose processes also find the `model` and `service` that stand beside this
    package before modules of the user's with the same names."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from service.commands import main as run

    run()


if __name__ == "__main__":
    main()
