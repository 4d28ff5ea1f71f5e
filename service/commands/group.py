"""The `dragoman` command, which imports a subcommand's module when it is needed."""

from __future__ import annotations

import importlib
from typing import Any

import click

from service import __version__
from service.commands.process import fail, failing_in_one_line, without_collection

_MODULES = {
    **dict.fromkeys(("serve", "translate", "models"), ""),
    **dict.fromkeys(
        ("train", "evaluate", "average", "calibrate", "check", "import", "export"), "checkpoints"
    ),
    **dict.fromkeys(("glossary", "keys"), "databases"),
    "suggestions": "",
}
"""The module of each command; by default of its name."""


class _Commands(click.Group):
    """Commands that print errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        with without_collection():
            module = importlib.import_module(f"service.commands.{_MODULES[cmd_name] or cmd_name}")
        name = "import_" if cmd_name == "import" else cmd_name
        command: click.Command = getattr(module, name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with failing_in_one_line():
            try:
                return super().invoke(ctx)
            except click.BadParameter as error:
                fail(error.format_message())


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="dragoman")
def dragoman() -> None:
    """Translate text with a Transformer: as a server, from the command line, or train one.

    \b
    dragoman serve                  answer http://127.0.0.1:8000/translate
    dragoman translate --to en FILE translate a file, or standard input
    dragoman COMMAND --help         explain a command
    """
