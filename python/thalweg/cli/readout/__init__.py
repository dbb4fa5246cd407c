"""thalweg readout: one file per subcommand, as in the folder above."""

import importlib

import typer

SUBCOMMANDS = ("emulate", "serve", "collect", "plan")


def register(app: typer.Typer) -> None:
    readout = typer.Typer(no_args_is_help=True, help="From the cards of a large detector to events in a file.")
    for name in SUBCOMMANDS:
        importlib.import_module(f"{__name__}.{name}").register(readout)
    app.add_typer(readout, name="readout")
