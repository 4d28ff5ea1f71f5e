"""The HTTP server and its engines; the interface to model/ passes plain Python values."""

import shlex
import sys

__version__ = "0.1.0"


def install_command(extra: str) -> str:
    """The command that installs a group of optional packages for the Python that runs; the `pip` of
    a shell may be that of another one, which has no dragoman."""
    return f"{shlex.quote(sys.executable)} -m pip install 'dragoman[{extra}]'"
