"""thalweg watch"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from thalweg._base.address import host_and_port
from thalweg._base.errors import UsageError
from thalweg._base.packages import needed
from thalweg._base.quantities import duration_ns, of_option
from thalweg._watching.idle import use_idle_time
from thalweg.cli._find_signals import signals_of
from thalweg.cli._http import HostNameOption, ListenOption, TokenFileOption, until_signal
from thalweg.cli._output import as_epilog, say

EXAMPLES = ["thalweg watch run.h5", "thalweg watch run.h5 --config tdpac.toml --listen 127.0.0.1:7782"]


def watch(
    file: Annotated[str, typer.Argument(metavar="RUN", help="A run that is being written, or a complete one.")],
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="As for `thalweg tdpac`: shows coincidences, R(t) and its fit, too."),
    ] = None,
    listen: ListenOption = "7782",
    token_file: TokenFileOption = None,
    host_name: HostNameOption = None,
    silence: Annotated[
        str,
        typer.Option(help="A detector without hits for so long, while others have some, is silent.", metavar="TIME"),
    ] = "5s",
    priority: Annotated[
        Literal["idle", "normal"],
        typer.Option(help="idle: use only time that no other process wants. normal: keep up on a full machine, too."),
    ] = "idle",
    slices: Annotated[
        str | None,
        typer.Option(
            help="For runs whose energies are not stored, with --config: compute those of the pulses in one of N "
            "slices of 10 ms, which all detectors share, of as many as this machine keeps up with, or of all pulses.",
            metavar="1/N|auto|all",
            show_default="auto",
        ),
    ] = None,
    end_with_run: Annotated[
        bool,
        typer.Option("--end-with-run", show_default=False, help="End when the run is closed, and shown to its end."),
    ] = False,
    only_check: Annotated[bool, typer.Option("--only-check", hidden=True)] = False,
) -> int:
    """Show a run as a page while it is taken: rates, energies, waveforms, coincidences, R(t), alarms.

    The page grows with the run. With --config, the coincidences of all pairs of detectors are counted as `thalweg
    tdpac` counts them, and R(t) is fitted again and again. The command reads the run as `Run.follow` does, and takes no
    lock. /metrics has the same for Prometheus. With a token, a page can apply other energy windows; nothing else
    can be changed from it.

    No other machine is let in unless there is a token: 'Authorization: Bearer TOKEN', or ?token=TOKEN once in a
    browser. Nothing is encrypted. Ctrl-C ends the command. It needs the packages of an extra:
    pip install 'thalweg[watch]', and for --config 'thalweg[tdpac]'.
    """
    if priority == "idle" and not only_check and (why := use_idle_time()):
        say(f"thalweg watch takes time from other processes, too (the scheduling class SCHED_IDLE is refused: {why})")
    with needed("thalweg watch cannot run"):
        from thalweg._serving.access import Access, read_token
        from thalweg._watching.alarms import Limits
        from thalweg._watching.counting import Asked
        from thalweg._watching.server import Server, WatchOptions

    silence_s = of_option("--silence", silence, duration_ns) / 1e9
    if slices is not None and config is None:
        raise UsageError(f"--slices {slices} has no meaning without a configuration: give --config FILE.toml, too")
    if silence_s <= 0:
        raise UsageError(f"--silence {silence} is too short (it is 0): give for example 5s")
    access = Access(read_token(token_file) if token_file else "", tuple(host_name or ()))

    def failed(why: str) -> None:
        say(f"thalweg: {file} is not read any more: {why}")

    place = host_and_port(listen, "--listen")
    options = WatchOptions(*place, access, Limits(silence_s), ends_with_run=end_with_run, failed=failed)
    asked = Asked(file, signals_of) if config is None else _with_pairs(file, config, slices or "auto")
    if only_check:  # of `record`, whose run has not begun
        access.check_listening(*place)
        return 0
    server = Server(asked, options)

    def ready() -> None:
        say(f"{file} is shown at {server.url} ({'until the run ends' if end_with_run else 'Ctrl-C ends this'})")

    until_signal(lambda end: server.serve(ready, end))
    return 1 if server.watcher.failure else 0


def _with_pairs(file: str, path: Path, slices: str) -> Any:
    """Returns what is asked for if coincidences are counted, too."""
    from thalweg import tdpac
    from thalweg._watching.changes import Changes
    from thalweg._watching.coincidences import CountedPairs
    from thalweg._watching.counting import Asked
    from thalweg._watching.slices import slices_of

    config, shared = tdpac.load_config(path), slices_of(slices)

    def pairs(run: Any, changes: Changes) -> CountedPairs:
        return CountedPairs(run, config, changes, shared)

    return Asked(file, signals_of, pairs, config.text, config.delays_ps is not None)


def register(app: typer.Typer) -> None:
    app.command("watch", epilog=as_epilog(EXAMPLES))(watch)
