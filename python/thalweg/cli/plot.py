"""thalweg plot"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import thalweg
from thalweg._errors import UsageError
from thalweg.cli._output import FileArgument, JsonOption, as_epilog, print_json, say
from thalweg.cli._signals import Signals, signals_of

EXAMPLES = ["thalweg plot run.h5", "thalweg plot run.h5 --what spectrum --table ch0 --table ch1 --out spectrum.png"]
_MOST_TABLES = 12


class What(StrEnum):
    pulses = "pulses"
    spectrum = "spectrum"
    rates = "rates"


def plot(
    file: FileArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="The picture. By default it has the name of the recorded file."),
    ] = None,
    what: Annotated[
        list[What],
        typer.Option(
            metavar="|".join(What), help="What to draw. Can be repeated. By default, all that the tables have."
        ),
    ] = [],  # noqa: B006
    table: Annotated[
        list[str], typer.Option(metavar="NAME", help="Which table to draw. Can be repeated. By default, all.")
    ] = [],  # noqa: B006
    pulses: Annotated[int, typer.Option(min=1, metavar="N", help="The number of pulses to draw of each table.")] = 5,
    rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="The number of rows of each table that go into the spectrum.")
    ] = 10_000,
    json: JsonOption = False,
) -> int:
    """Draw the first pulses, the energy spectrum and the trigger rates of a file as a PNG.

    The energy is the integral of a pulse above its baseline. Of the events of a readout: sizes of fragments, latencies,
    build times, and how many are complete. Runs that are still open can be drawn, too.
    """
    from thalweg.cli import _events  # matplotlib takes its time
    from thalweg.cli._figures import draw

    run = thalweg.open(file)
    target = out or Path(file).with_suffix(".png")
    if target.suffix.lower() != ".png":
        raise UsageError(f"cannot plot to {target} (plots are PNG); let its name end in .png")
    if not what and table in ([], ["events"]) and "events" in run and _events.is_events(run["events"]):
        names, panels, hidden = ["events"], _events.PANELS, ""
        _save(target, lambda: _events.draw_events(target, Path(file).name, run["events"], rows))
    else:
        found = _signals(run, file, table)
        panels = _panels(file, found, what)
        shown = found[:_MOST_TABLES]
        names = [signals.name for signals in shown]
        hidden = f" (the first {len(shown)} of {len(found)} tables; --table chooses)" if len(found) > len(shown) else ""
        _save(target, lambda: draw(target, Path(file).name, shown, panels, pulses, rows))
    if json:
        print_json({"path": str(target), "tables": names, "panels": panels})
    else:
        say(f"Drawn: {target} with {', '.join(panels)} of {', '.join(names)}{hidden}.")
    return 0


def _panels(file: str, found: list[Signals], what: list[What]) -> list[str]:
    panels = [str(each) for each in what or What if any(signals.can_show(each) for signals in found)]
    if not panels:
        raise UsageError(
            f"{file} has nothing to plot (no table with rows has a waveform or a timestamp); "
            "`thalweg inspect` shows its columns"
        )
    return panels


def _save(target: Path, draw: Callable[[], None]) -> None:
    try:
        draw()
    except OSError as error:
        raise thalweg.SystemError(error.errno, f"cannot write {target} ({error.strerror})") from None


def _signals(run: thalweg.Run, file: str, names: list[str]) -> list[Signals]:
    for name in names:
        if name not in run:
            raise UsageError(f"{file} has no table '{name}'; there are {', '.join(run)}")
    return [signals for name in names or run if len(run[name]) and (signals := signals_of(run[name]))]


def register(app: typer.Typer) -> None:
    app.command("plot", epilog=as_epilog(EXAMPLES))(plot)
