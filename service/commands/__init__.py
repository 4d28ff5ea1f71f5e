"""dragoman serve | translate | train | evaluate | average | check | import | export,
one module a command.

A wrong setting, file or checkpoint is one line on stderr and exit code 2. What a command needs of
torch and of the training code is imported when that command runs.
"""

from __future__ import annotations

from service.commands.process import end_process, exiting_on_interrupt, open_missing_streams


def main() -> None:
    """Run the command that the process's arguments name, and end the process."""
    open_missing_streams()
    with exiting_on_interrupt():
        from service.commands.group import dragoman
    try:
        dragoman()
    except SystemExit as end:
        end_process(end.code)
