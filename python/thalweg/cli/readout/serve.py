"""thalweg readout serve"""

import json as json_module
import os
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.quantities import duration_ns, of_option
from thalweg._base.stamps import interval_s
from thalweg._readout import configuration, serve
from thalweg.cli._output import IntervalOption, JsonOption, QuietOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout serve --dump-config --elinks 42 --groups 3 > readout.toml",
    "thalweg readout serve --config readout.toml",
    "thalweg readout serve --config readout.toml --handler dh1 --run 42",
]

NEW = "Print a new configuration"


def serve_(
    config: Annotated[
        Path | None,
        typer.Option(
            help="Configuration of the readout: cards, groups of e-links that form fragments, and handlers.",
            metavar="FILE.toml",
        ),
    ] = None,
    handler: Annotated[
        str,
        typer.Option(help="Handler of the configuration to run. The default is the only one.", metavar="NAME"),
    ] = "",
    run: Annotated[int, typer.Option(help="Run number.", min=1, max=2**32 - 1)] = 1,
    metrics: Annotated[
        str,
        typer.Option(
            help="Address on which to serve metrics and health. The default is the one of the configuration.",
            metavar="ADDRESS",
        ),
    ] = "",
    control_socket: Annotated[
        Path | None,
        typer.Option(
            help="Unix socket at which to serve metrics, health and control. The default is the one of the "
            "configuration.",
            metavar="PATH",
        ),
    ] = None,
    pinning: Annotated[
        str,
        typer.Option(
            help="none, auto, or processors by role. The default is the pinning of the configuration.", metavar="TEXT"
        ),
    ] = "",
    drain: Annotated[
        str, typer.Option(help="Time at the end in which collectors may fetch the remaining events.", metavar="TIME")
    ] = "10s",
    hold: Annotated[
        bool,
        typer.Option("--hold", show_default=False, help="Begin only after POST /control/start; see docs/readout.md."),
    ] = False,
    dump_config: Annotated[
        bool,
        typer.Option("--dump-config", show_default=False, help="Print a configuration and exit.", rich_help_panel=NEW),
    ] = False,
    elinks: Annotated[int, typer.Option(help="Number of e-links of the card.", rich_help_panel=NEW, min=1)] = 42,
    buffers: Annotated[
        int, typer.Option(help="Number of DMA buffers of the card. Each gets a handler.", rich_help_panel=NEW, min=1)
    ] = 1,
    groups: Annotated[
        int, typer.Option(help="Number of groups of e-links of each handler.", rich_help_panel=NEW, min=1)
    ] = 3,
    packet_bytes: Annotated[
        int, typer.Option(help="Size of the largest packet, in bytes.", rich_help_panel=NEW, min=8)
    ] = 24,
    mode: Annotated[
        str, typer.Option(help="Mode of the handlers: build, relay or triggerless.", rich_help_panel=NEW)
    ] = "build",
    quiet: QuietOption = False,
    interval: IntervalOption = "",
    json: JsonOption = False,
) -> int:
    """Run a data handler: build fragments from a buffer of a card, and serve them to collectors.

    The handler waits until its card is there. Ctrl-C (or SIGTERM) drains it: it builds what the card has written, and
    collectors may fetch the rest. A second Ctrl-C stops at once.
    """
    if dump_config:
        text = configuration.dump_default(elinks, buffers, groups, packet_bytes=packet_bytes, mode=mode)
        _core.handlers_of(json_module.dumps(tomllib.loads(text)))  # raises now what `serve` would raise later
        print(text, end="")
        return 0
    if config is None:
        raise UsageError("no configuration is given: give --config FILE.toml (--dump-config prints a first one)")
    read = configuration.load_configuration(config)
    own = handler or read.handlers[0]  # without a name, a file has one handler, or is refused below
    socket = str(control_socket.absolute()) if control_socket else ""
    changed = configuration.changed(read.json, own, control_socket=socket, pinning=pinning)
    with configuration.naming(config):
        known, warnings = _core.handlers_of(changed, handler)
    for warning in warnings:
        say(warning)
    chosen = _choose(known, handler, config)
    chosen.metrics = metrics or chosen.metrics
    if hold and not (chosen.control_socket or (chosen.metrics and chosen.has_token)):
        raise UsageError(
            "this handler could never be started (--hold waits for POST /control/start, and it has no address for it): "
            "add control_socket to its [[handler]], or metrics there and token_file to [server]"
        )
    options = serve.ServeOptions(
        chosen,
        run=run,
        drain_s=of_option("--drain", drain, duration_ns) / 1e9,
        hold=hold,
        quiet=quiet,
        interval_s=interval_s(interval),
    )
    serving = serve.Serving(options)
    reports = serving.run()
    if json:
        print_json([report.as_json() for report in reports])
    else:
        for report in reports:
            answer(*report.sentences())
    exit_code = max((report.exit_code for report in reports), default=0)
    if serving.was_cut_short:
        sys.stdout.flush()
        os._exit(exit_code)  # an ordinary exit would wait for threads that still wait
    return exit_code


def _choose(known: list[_core.HandlerConfig], name: str, config: Path) -> _core.HandlerConfig:
    names = [handler.name for handler in known]
    if not name and len(known) == 1:
        return known[0]
    if name not in names:
        which = f"has no handler '{name}'" if name else "has several handlers, and one process runs one of them"
        raise UsageError(f"{config} {which}: choose one with --handler ({', '.join(names)})")
    return known[names.index(name)]


def register(app: typer.Typer) -> None:
    app.command("serve", epilog=as_epilog(EXAMPLES))(serve_)
