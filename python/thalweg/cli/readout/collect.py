"""thalweg readout collect"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg._base.errors import UsageError
from thalweg._base.quantities import duration_ns, of_option, size_bytes
from thalweg._base.stamps import interval_s
from thalweg._readout import collect as collecting
from thalweg._readout import configuration
from thalweg._recording.tuning import tuning_of
from thalweg.cli._output import IntervalOption, JsonOption, QuietOption, SetOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout collect --config readout.toml --out run.root",
    "thalweg readout collect --handler 127.0.0.1:7700 --handler 127.0.0.1:7701 --out run.h5 --events 100000",
]
_DEFAULT_CREDIT, _AUTO = "32MiB", "auto"


def collect(
    out: Annotated[Path, typer.Option(help="The file to write: HDF5 (.h5) or ROOT RNTuple (.root).", metavar="FILE")],
    config: Annotated[
        Path | None,
        typer.Option(
            help="Configuration of the readout. It names the handlers to read from, and is kept in the file.",
            metavar="FILE.toml",
        ),
    ] = None,
    handler: Annotated[
        list[str],
        typer.Option(
            help="Address of a handler, as HOST:PORT. Can be repeated: give all handlers, and first the one that "
            "assigns events to collectors. The default is the handlers of --config.",
            metavar="ADDRESS",
        ),
    ] = [],  # noqa: B006
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that the handlers require. The default is the one of --config.", metavar="FILE"
        ),
    ] = None,
    events: Annotated[int, typer.Option(help="Stop after this number of events. 0: no limit.", min=0)] = 0,
    duration: Annotated[
        str,
        typer.Option(
            help="Stop after this time, for example 10s, 5min or 2h. The default is to run until stopped.",
            metavar="TIME",
        ),
    ] = "",
    complete_only: Annotated[
        bool,
        typer.Option(
            "--complete-only", show_default=False, help="Write only events that have all fragments; count the others."
        ),
    ] = False,
    credit: Annotated[
        str,
        typer.Option(
            help="Most data requested at a time and not yet received. Keep it below the buffer of the network switch. "
            "auto: at most 32MiB, and as much as goodput and delay of the answers show to be needed.",
            metavar="SIZE|auto",
        ),
    ] = _DEFAULT_CREDIT,
    return_within: Annotated[
        str,
        typer.Option(
            help="A handler that has ended its run, while the first one goes on, may be restarted: for so long, events "
            "wait for it. Then they are recorded without it.",
            metavar="TIME",
        ),
    ] = "30s",
    range_: Annotated[
        int, typer.Option("--range", help="Number of events in one request to the handlers.", min=1, max=4096)
    ] = 256,
    codec: Annotated[
        str,
        typer.Option(
            help="Compression of all columns: none, lz4 (the default), zstd-1 and others; see `thalweg record --help`.",
            metavar="CODEC",
        ),
    ] = "",
    flush_interval: Annotated[
        str,
        typer.Option(
            help="Time between syncs to disk. Handlers keep each event until it is synced. The default is 200ms.",
            metavar="TIME",
        ),
    ] = "",
    set_: SetOption = None,
    force: Annotated[bool, typer.Option("--force", show_default=False, help="Replace FILE if it exists.")] = False,
    quiet: QuietOption = False,
    interval: IntervalOption = "",
    json: JsonOption = False,
) -> int:
    """Collect the fragments of each event from all handlers, check them, and write the events into one file.

    Handlers keep an event until it is safe on disk. Ctrl-C (or SIGTERM) stops the collection and completes the file
    with the events received so far. A second Ctrl-C abandons the file; `thalweg recover` can complete it later.
    """
    handlers, token, known_file, toml = list(handler), "", "", ""
    if config:
        known = configuration.load_configuration(config)
        addresses, token, known_file = collecting.addresses_of(known)
        handlers, toml = handlers or addresses, known.text
    if not handlers:
        raise UsageError("there is no handler to collect from: give --config FILE.toml, or --handler ADDRESS")
    options = collecting.CollectOptions(
        out=out,
        handlers=handlers,
        toml=toml,
        token=collecting.read_token(token_file) if token_file else token,
        token_file=str(token_file.absolute()) if token_file else known_file,
        return_s=of_option("--return-within", return_within, duration_ns) / 1e9,
        events=events,
        duration_s=of_option("--duration", duration, duration_ns) / 1e9,
        complete_only=complete_only,
        credit_bytes=of_option("--credit", _DEFAULT_CREDIT if credit == _AUTO else credit, size_bytes),
        find_credit=credit == _AUTO,
        range_events=range_,
        tuning=collecting.DEFAULTS | tuning_of(set_, {"codec": codec, "flush_interval": flush_interval}),
        force=force,
        quiet=quiet,
        interval_s=interval_s(interval),
    )
    report = collecting.Collection(options).run()
    if json:
        print_json(report.as_json())
    else:
        answer(*report.sentences())
    for problem in report.problems:
        say(f"thalweg: {problem}")
    if report.result is None:
        sys.stdout.flush()
        os._exit(report.exit_code)  # an ordinary exit would wait for threads that still wait
    return report.exit_code


def register(app: typer.Typer) -> None:
    app.command("collect", epilog=as_epilog(EXAMPLES))(collect)
