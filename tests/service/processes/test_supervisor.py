"""A parent and its children, as real processes."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.service.processes import supervised


def test_a_connection_that_breaks_while_both_live_is_made_again_once() -> None:
    command = [sys.executable, "-m", supervised.__name__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            assert parent.stdout.readline() == "hello True 2\n"
            parent.send_signal(signal.SIGTERM)
            assert parent.wait(timeout=30) == 0
            assert parent.stdout.read() == ""
        finally:
            parent.kill()
