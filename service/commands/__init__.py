"""The `dragoman` command: one module for each subcommand.

A wrong setting, file or checkpoint gives one line on stderr and exit code 2. A command imports
torch and the training code only when it runs.
"""

from __future__ import annotations

from service.commands.process import (
    end_process,
    exiting_on_interrupt,
    need_few_threads,
    notice_ended_children,
    open_missing_streams,
)


def main() -> None:
    """Run the command in the process's arguments, and end the process."""
    open_missing_streams()
    notice_ended_children()
    need_few_threads()
    with exiting_on_interrupt():
        from service.commands.group import dragoman
    try:
        dragoman()
    except SystemExit as end:
        end_process(end.code)
