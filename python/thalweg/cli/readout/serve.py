"""thalweg readout serve"""

import json as json_module
import os
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from thalweg import _core
from thalweg._errors import UsageError
from thalweg._readout import configuration, serve
from thalweg._recording.units import duration_ns
from thalweg.cli._output import JsonOption, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout serve --dump-config --elinks 42 --groups 3 > readout.toml",
    "thalweg readout serve --config readout.toml",
    "thalweg readout serve --config readout.toml --handler dh1 --run 42",
]

NEW = "A configuration to begin with"


def serve_(
    config: Annotated[
        Path | None, typer.Option(help="Which e-links make which fragments, and where.", metavar="FILE.toml")
    ] = None,
    handler: Annotated[str, typer.Option(help="Which of its handlers; nothing: the only one.", metavar="NAME")] = "",
    run: Annotated[int, typer.Option(help="The run number.", min=1, max=2**32 - 1)] = 1,
    metrics: Annotated[
        str, typer.Option(help="Where metrics and health are; nothing: as the configuration says.", metavar="ADDRESS")
    ] = "",
    drain: Annotated[
        str, typer.Option(help="At the end collectors may fetch the rest for so long.", metavar="TIME")
    ] = "10s",
    hold: Annotated[bool, typer.Option("--hold", help="Wait for POST /control/start, see docs/readout.md.")] = False,
    dump_config: Annotated[
        bool, typer.Option("--dump-config", help="Print one, and do nothing else.", rich_help_panel=NEW)
    ] = False,
    elinks: Annotated[int, typer.Option(help="Of the card.", rich_help_panel=NEW, min=1)] = 42,
    buffers: Annotated[int, typer.Option(help="Of the card: a handler for each.", rich_help_panel=NEW, min=1)] = 1,
    groups: Annotated[int, typer.Option(help="Of each handler.", rich_help_panel=NEW, min=1)] = 3,
    packet_bytes: Annotated[int, typer.Option(help="The largest.", rich_help_panel=NEW, min=8)] = 24,
    mode: Annotated[str, typer.Option(help="build, relay or triggerless.", rich_help_panel=NEW)] = "build",
    json: JsonOption = False,
) -> int:
    """Run a Data Handler: build the fragments of a card's buffer, and serve them to those who ask.

    It waits for its card. Ctrl-C (or SIGTERM) drains: what the card has written is built, and collectors may fetch the
    rest; a second Ctrl-C does not wait for them.
    """
    if dump_config:
        text = configuration.dump_default(elinks, buffers, groups, packet_bytes=packet_bytes, mode=mode)
        _core.handlers_of(json_module.dumps(tomllib.loads(text)))  # refuses what would be refused later
        print(text, end="")
        return 0
    if config is None:
        raise UsageError("no configuration is given; name one with --config (--dump-config prints one to begin with)")
    known, warnings = _core.handlers_of(configuration.load(config).json)
    for warning in warnings:
        say(warning)
    chosen = _choose(known, handler, config)
    chosen.metrics = metrics or chosen.metrics
    if hold and not (chosen.control_socket or (chosen.metrics and chosen.has_token)):
        raise UsageError(
            "nobody could start this handler (--hold waits for /control/start): "
            "add control_socket to its [[handler]], or metrics there and token_file to [server]"
        )
    options = serve.ServeOptions(chosen, run=run, drain_s=duration_ns(drain) / 1e9, hold=hold)
    serving = serve.Serving(options)
    reports = serving.run()
    if json:
        print_json([report.as_json() for report in reports])
    else:
        for report in reports:
            say(*report.sentences())
    exit_code = max((report.exit_code for report in reports), default=0)
    if serving.was_cut_short:
        sys.stdout.flush()
        os._exit(exit_code)  # what still waits would keep us
    return exit_code


def _choose(known: list[_core.HandlerConfig], name: str, config: Path) -> _core.HandlerConfig:
    names = [handler.name for handler in known]
    if not name and len(known) == 1:
        return known[0]
    if name not in names:
        which = f"has no handler '{name}'" if name else "has several handlers, and each is a process of its own"
        raise UsageError(f"{config} {which}: choose one with --handler ({', '.join(names)})")
    return known[names.index(name)]


def register(app: typer.Typer) -> None:
    app.command("serve", epilog=as_epilog(EXAMPLES))(serve_)
