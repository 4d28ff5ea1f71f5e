"""dragoman serve | translate | train | evaluate | average | import | export: one module a command.

A wrong setting, file or checkpoint is one line on stderr and exit code 2. What a command needs of
torch and of the training code is imported when that command runs.
"""

from __future__ import annotations


def main() -> None:
    """Run the command that the process's arguments name."""
    from service.commands.group import dragoman

    dragoman()
