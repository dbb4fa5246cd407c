"""thalweg readout: one file per subcommand, as in the folder above."""

import importlib

import typer

SUBCOMMANDS = ("emulate", "serve", "host", "collect", "plan", "network")


def register(app: typer.Typer) -> None:
    readout = typer.Typer(
        no_args_is_help=True, help="Read out a large detector: from FELIX cards through data handlers to event files."
    )
    for name in SUBCOMMANDS:
        importlib.import_module(f"{__name__}.{name}").register(readout)
    app.add_typer(readout, name="readout")
