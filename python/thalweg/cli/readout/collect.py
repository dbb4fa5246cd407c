"""thalweg readout collect"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg._errors import UsageError
from thalweg._readout import collect as collecting
from thalweg._readout import configuration
from thalweg._recording.tuning import tuning_of
from thalweg._recording.units import duration_ns, size_bytes
from thalweg.cli._output import JsonOption, SetOption, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout collect --config readout.toml --out run.root",
    "thalweg readout collect --handler 127.0.0.1:7700 --handler 127.0.0.1:7701 --out run.h5 --events 100000",
]


def collect(
    out: Annotated[Path, typer.Option(help="HDF5 (.h5) or ROOT RNTuple (.root).", metavar="FILE")],
    config: Annotated[
        Path | None, typer.Option(help="Of the readout: its handlers are asked, and it is kept.", metavar="FILE.toml")
    ] = None,
    handler: Annotated[
        list[str],
        typer.Option(
            help="Can be repeated; the first one gives out events. Nothing: as --config says.", metavar="ADDRESS"
        ),
    ] = [],  # noqa: B006
    token_file: Annotated[
        Path | None, typer.Option(help="What handlers ask for; nothing: as --config says.", metavar="FILE")
    ] = None,
    events: Annotated[int, typer.Option(help="Then stop; 0: no limit.", min=0)] = 0,
    duration: Annotated[str, typer.Option(help="As in 10s, 5min, 2h; nothing: until stopped.", metavar="TIME")] = "",
    complete_only: Annotated[bool, typer.Option("--complete-only", help="Leave out others, and count them.")] = False,
    credit: Annotated[
        str, typer.Option(help="Asked for and not yet here: less than the switch can hold.", metavar="SIZE")
    ] = "32MiB",
    range_: Annotated[int, typer.Option("--range", help="Events asked for at once.", min=1, max=4096)] = 256,
    codec: Annotated[
        str, typer.Option(help="The codec of all columns: none, lz4 (the default), zstd-1, ...", metavar="NAME")
    ] = "",
    flush_interval: Annotated[
        str,
        typer.Option(
            help="Handlers keep events for so long, until they are safe on disk: 200ms by default.", metavar="TIME"
        ),
    ] = "",
    set_: SetOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json: JsonOption = False,
) -> int:
    """Put whole events together from all handlers, check them, and write them into one file.

    Handlers forget an event once it is safe on disk. Ctrl-C (or SIGTERM) ends it with what is here; a second Ctrl-C
    abandons the file, and `thalweg recover` completes it then.
    """
    handlers, token, toml = list(handler), "", ""
    if config:
        known = configuration.load(config)
        addresses, token = collecting.addresses_of(known)
        handlers, toml = handlers or addresses, known.text
    if not handlers:
        raise UsageError("no handler is given; name the readout's --config, or one --handler or more")
    options = collecting.CollectOptions(
        out=out,
        handlers=handlers,
        toml=toml,
        token=collecting.read_token(token_file) if token_file else token,
        events=events,
        duration_s=duration_ns(duration) / 1e9,
        complete_only=complete_only,
        credit_bytes=size_bytes(credit),
        range_events=range_,
        tuning=collecting.DEFAULTS | tuning_of(set_, {"codec": codec, "flush_interval": flush_interval}),
        force=force,
    )
    report = collecting.Collection(options).run()
    if json:
        print_json(report.as_json())
    else:
        say(*report.sentences())
    if report.problem:
        say(f"thalweg: {report.problem}")
    if report.result is None:
        sys.stdout.flush()
        os._exit(report.exit_code)  # what still waits would keep us
    return report.exit_code


def register(app: typer.Typer) -> None:
    app.command("collect", epilog=as_epilog(EXAMPLES))(collect)
