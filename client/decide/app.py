"""The commands, put together. A new one is a module in `commands` and a line here."""

import os
import sys
from collections.abc import Callable, Sequence

import typer

from decide import output
from decide.commands import batch, benchmark, calibrate, chat, evaluate, invoke, models, playground, status
from decide.errors import sentence_of, status_of

app = typer.Typer(
    name="decide",
    help="Ask decision endpoints, follow them and measure them.",
    epilog="Every command with examples, exit statuses and variables: docs/decide.md.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def add(command: Callable[..., None], examples: Sequence[str]) -> None:
    """Add a command by its function's name; its help ends with ``examples``."""
    app.command(epilog="\n\n".join(("Examples:", *examples)))(command)


@app.callback()
def decide() -> None:
    """Ask decision endpoints, follow them and measure them."""


add(invoke.invoke, invoke.EXAMPLES)
add(chat.chat, chat.EXAMPLES)
add(models.models, models.EXAMPLES)
add(status.status, status.EXAMPLES)
add(evaluate.evaluate, evaluate.EXAMPLES)
add(calibrate.calibrate, calibrate.EXAMPLES)
add(batch.batch, batch.EXAMPLES)
add(benchmark.benchmark, benchmark.EXAMPLES)
add(playground.playground, playground.EXAMPLES)


def run() -> None:
    """Run the command line and exit with one of `ExitStatus`."""
    output.prepare()
    try:
        app()
    except Exception as error:
        if os.environ.get("DECIDE_DEBUG"):
            raise
        if isinstance(error, OSError):
            output.give_up_results()
        output.fail(sentence_of(error))
        sys.exit(status_of(error))
