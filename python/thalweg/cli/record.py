"""thalweg record"""

import inspect
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg._recording import configuration
from thalweg._recording.options import RecordOptions
from thalweg._recording.session import RecordingSession
from thalweg.cli._output import answer, as_epilog, print_json, say

_HELP = """Record from detectors into one file.

Ctrl-C (or SIGTERM) ends the run and completes the file. A second Ctrl-C abandons the file; `thalweg recover` can
complete it later. `p` or the space bar pauses the run and continues it; SIGUSR1 pauses it, SIGUSR2 continues it.
"""

EXAMPLES = [
    "thalweg record --source digitizer --channels 6 --duration 10s --out run.h5",
    "thalweg record --rate 5kHz --isotope 111In --records 10000 --out indium.root --json",
    "thalweg record --source replay --input run.BIN --out replayed.h5",
    "thalweg record --source raw --input rows.dat --row row.toml --out rows.h5",
    "thalweg record --config run.toml --duration 1h --max-file-size 20GB --metrics 7790",
]


def _load(context: typer.Context, path: Path | None) -> Path | None:
    if path:
        context.default_map = configuration.load_options(path)  # options on the command line override it
    return path


_OF_COMMAND = {
    "config": Annotated[
        Path | None,
        typer.Option(
            callback=_load,
            is_eager=True,
            metavar="FILE.toml",
            help="Read options from this file. Options on the command line override it.",
        ),
    ],
    "dump_config": Annotated[
        bool,
        typer.Option("--dump-config", show_default=False, help="Print the given options as such a file, and exit."),
    ],
}


def _record(config: Path | None, dump_config: bool, **values: Any) -> int:  # noqa: ARG001 - see _load
    options = RecordOptions(**values)
    if dump_config:
        print(configuration.dump(options), end="")
        return 0
    report = RecordingSession(options).run()
    if options.json:
        print_json(report.as_json())
    else:
        answer(*report.sentences())
    for problem in report.problems:
        say(f"thalweg: {problem}")
    if report.abandoned:
        sys.stdout.flush()
        os._exit(report.exit_code)  # an ordinary exit would wait for a file that is being closed
    return report.exit_code


def register(app: typer.Typer) -> None:
    # The options are the fields of RecordOptions, so that only one list of them exists.
    keyword = inspect.Parameter.KEYWORD_ONLY
    defaults = {"config": None, "dump_config": False}
    parameters = [
        inspect.Parameter(name, keyword, default=defaults[name], annotation=annotation)
        for name, annotation in _OF_COMMAND.items()
    ]
    parameters += [it.replace(kind=keyword) for it in inspect.signature(RecordOptions).parameters.values()]
    _record.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    _record.__annotations__ = {it.name: it.annotation for it in parameters}
    app.command("record", help=_HELP, epilog=as_epilog(EXAMPLES))(_record)
