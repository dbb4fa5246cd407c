"""thalweg readout host"""

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.quantities import duration_ns, of_option, size_bytes
from thalweg._base.stamps import interval_s
from thalweg._readout import configuration
from thalweg._readout.host import belonging, shares
from thalweg._readout.host.handler import HandlerOptions
from thalweg._readout.host.http import admission_of
from thalweg._readout.host.restarts import RestartOptions
from thalweg._readout.host.supervisor import HostOptions, HostReport, Supervisor
from thalweg.cli._output import IntervalOption, JsonOption, QuietOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg readout host readout.toml",
    "thalweg readout host readout.toml --host daq7 --memory 4GiB --metrics 0.0.0.0:7780",
    "thalweg readout host readout.toml --handler dh0 --handler dh1 --control-socket host.sock",
]

AGAIN, PART = "Restarts", "Processors and memory"


def _option(panel: str, text: str, metavar: str = "TIME") -> Any:
    return typer.Option(help=text, rich_help_panel=panel, metavar=metavar)


def host_(
    config: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Configuration of the readout.")],
    handler: Annotated[
        list[str] | None,
        typer.Option(
            help="Handler to run. Can be repeated. The default is those whose address is one of this host.",
            metavar="NAME",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Run the handlers whose address has this host, as it is written there.", metavar="NAME")
    ] = "",
    run: Annotated[int, typer.Option(help="Run number.", min=1, max=2**32 - 1)] = 1,
    metrics: Annotated[
        str,
        typer.Option(help="Address for the metrics and health of all handlers; none: no address.", metavar="ADDRESS"),
    ] = "7780",
    control_socket: Annotated[
        Path | None,
        typer.Option(help="Unix socket for the same pages, and for control without a token.", metavar="PATH"),
    ] = None,
    drain: Annotated[
        str, typer.Option(help="Time at the end in which collectors may fetch the remaining events.", metavar="TIME")
    ] = "10s",
    hold: Annotated[
        bool,
        typer.Option("--hold", show_default=False, help="Each handler begins only after POST /control/NAME/start."),
    ] = False,
    delay: Annotated[str, _option(AGAIN, "Time before the first restart. Each further failure doubles it.")] = "500ms",
    longest_delay: Annotated[str, _option(AGAIN, "Longest time before a restart.")] = "30s",
    failures: Annotated[
        int, typer.Option(help="So many failures within --within are too many.", rich_help_panel=AGAIN, min=1)
    ] = 5,
    within: Annotated[str, _option(AGAIN, "Time in which failures are counted.")] = "2min",
    pinning: Annotated[
        str,
        _option(
            PART,
            "auto: handlers for which the configuration names no pinning get a chiplet each, as `thalweg readout plan "
            "--pinning auto` shows. none: they run anywhere.",
            "auto|none",
        ),
    ] = shares.AUTO,
    memory: Annotated[
        str,
        _option(
            PART,
            "Most memory of each handler. auto: what its index and its answers can need, and 512 MiB. none: no limit.",
            "SIZE|auto|none",
        ),
    ] = shares.AUTO,
    control_groups: Annotated[
        bool, typer.Option(help="Make a control group for each handler, if that is granted.", rich_help_panel=PART)
    ] = True,
    quiet: QuietOption = False,
    interval: IntervalOption = "",
    json: JsonOption = False,
) -> int:
    """Run the handlers of this host, each in a process of its own, and start those again that fail.

    Each handler gets processors and memory of its own, as far as the machine grants it; what it refuses is said. One
    address has the metrics of all and waits for none, and passes POST /control/NAME/VERB on. Ctrl-C (or SIGTERM) drains
    all handlers. A second one ends them at once. If the command itself is killed, no handler stays.
    """
    read = configuration.load_configuration(config)
    tables = json_module.loads(read.json)
    with configuration.naming(config):
        known, _ = _core.handlers_of(read.json, read.handlers[0])  # raises now what `serve` would raise later
    names = belonging.chosen(belonging.handlers_of(tables), handler or [], host, config)
    alone = shares.only(tables, names, _pinning(pinning))
    planned, warnings = shares.planned(alone, _core.discover(""), shares.limits(known, names, _memory(memory)))
    say(*(f"warning: {text}" for text in warnings))
    at = "" if metrics == shares.NONE else metrics
    admission = admission_of(read.json)
    _check_control(hold, at, admission.token, control_socket)
    options = HostOptions(
        HandlerOptions(
            config,
            run,
            drain,
            of_option("--drain", drain, duration_ns) / 1e9,
            hold,
            json,
            _restarts(delay, longest_delay, failures, within),
        ),
        planned,
        shares.pinnings_of(alone),
        belonging.control_sockets_of(tables),
        admission,
        metrics=at,
        control_socket=str(control_socket.absolute()) if control_socket else "",
        use_groups=control_groups,
        quiet=quiet,
        interval_s=interval_s(interval),
    )
    report = Supervisor(options).run()
    if json:
        print_json(_facts(report))
    else:
        answer(*report.sentences())
    return report.exit_code


def _pinning(text: str) -> str:
    if text not in (shares.AUTO, shares.NONE):
        raise UsageError(
            f"--pinning {text} is neither auto nor none (a host has several handlers): write the processors of one "
            "handler as pinning of its [[handler]]"
        )
    return text


def _memory(text: str) -> int | None:
    if text == shares.AUTO:
        return None
    if text == shares.NONE:
        return 0
    limit = of_option("--memory", text, size_bytes)
    if limit <= 0:
        raise UsageError(f"--memory {text} is not a limit (it is 0): give more, or none")
    return limit


def _restarts(delay: str, longest_delay: str, failures: int, within: str) -> RestartOptions:
    texts = {"--delay": delay, "--longest-delay": longest_delay, "--within": within}
    times_s = {name: of_option(name, text, duration_ns) / 1e9 for name, text in texts.items()}
    for name, time_s in times_s.items():
        if time_s <= 0:
            raise UsageError(f"{name} {texts[name]} is too short (it is 0): give for example 1s")
    return RestartOptions(times_s["--delay"], times_s["--longest-delay"], failures, times_s["--within"])


def _check_control(hold: bool, metrics: str, token: str, control_socket: Path | None) -> None:
    if hold and not control_socket and not (metrics and token):
        raise UsageError(
            "these handlers could never be started (--hold waits for POST /control/NAME/start, and there is no address "
            "for it): give --control-socket, or add token_file to [server]"
        )


def _facts(report: HostReport) -> dict[str, Any]:
    return {
        "seconds": report.seconds,
        "killed": list(report.killed),
        "handlers": [
            {
                "handler": each.name,
                "starts": each.starts,
                "given_up": each.is_given_up,
                "granted": each.group.granted,
                "refused": each.group.refused,
                "endings": [
                    {
                        "code": it.code,
                        "why": it.why,
                        "asked": it.asked,
                        "seconds": it.seconds,
                        "not_known": it.not_known,
                    }
                    for it in each.endings
                ],
                "runs": [run for text in each.results for run in _runs_of(text)],
            }
            for each in report.handlers
        ],
    }


def _runs_of(text: str) -> list[Any]:
    """Returns the reports that a process has printed as JSON: none, if it was killed while it printed."""
    try:
        return list(json_module.loads(text))
    except ValueError:
        return []


def register(app: typer.Typer) -> None:
    app.command("host", epilog=as_epilog(EXAMPLES))(host_)
