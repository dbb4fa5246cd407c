"""The `thalweg` command. One file per subcommand; people read stderr, programs read stdout."""

from typing import Annotated

import typer

from thalweg import __version__

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"thalweg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False,
) -> None:
    """Record, inspect, verify, recover and plot detector data."""


def main() -> None:
    app()
