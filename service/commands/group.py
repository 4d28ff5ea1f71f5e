"""The `dragoman` command and its subcommands."""

from __future__ import annotations

from typing import Any

import click

from service import __version__
from service.commands.average import average
from service.commands.calibrate import calibrate
from service.commands.check import check
from service.commands.evaluate import evaluate
from service.commands.export import export
from service.commands.failure import failing_in_one_line
from service.commands.glossary import glossary
from service.commands.import_ import import_
from service.commands.keys import keys
from service.commands.serve import serve
from service.commands.suggestions import suggestions
from service.commands.train import train
from service.commands.translate import translate


class _Commands(click.Group):
    """Commands that print errors as one line."""

    def invoke(self, ctx: click.Context) -> Any:
        with failing_in_one_line():
            return super().invoke(ctx)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="dragoman")
def dragoman() -> None:
    """Translate text with a Transformer: as a server, from the command line, or train one.

    \b
    dragoman serve                               answer http://127.0.0.1:8000/translate
    dragoman translate --to en FILE              translate a file, or standard input
    dragoman train RECIPE --run DIRECTORY        train a checkpoint
    dragoman evaluate CHECKPOINT --recipe RECIPE measure BLEU and chrF
    dragoman average CHECKPOINT... DESTINATION   write their mean
    dragoman calibrate CHECKPOINT --recipe RECIPE measure alignment and confidence
    dragoman check DIRECTORY                     verify a checkpoint, and translate its self-test
    dragoman glossary COMMAND                    store terms that translations must have
    dragoman import SOURCE DESTINATION           make a checkpoint of a model of another family
    dragoman export CHECKPOINT DESTINATION       write one for transformers and CTranslate2
    dragoman keys create | list | change | revoke make and end API keys of a server
    dragoman suggestions list | approve | remove  put clients' suggestions into use
    """


_COMMANDS: tuple[click.Command, ...] = (
    *(serve, translate, train, evaluate, calibrate, average, check, glossary, import_, export),
)
for _command in _COMMANDS:
    dragoman.add_command(_command)
for _group in (keys, suggestions):
    dragoman.add_command(_group)
