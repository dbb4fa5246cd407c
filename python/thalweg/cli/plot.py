"""thalweg plot"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

import thalweg
from thalweg._base.errors import UsageError
from thalweg._base.suggestion import likely
from thalweg._reading.not_complete import not_complete
from thalweg.cli._find_signals import check_waveform, signals_of
from thalweg.cli._output import (
    AllowMissingOption,
    ExternalOption,
    FilesArgument,
    JsonOption,
    NextFilesOption,
    answer,
    as_epilog,
    as_json,
    exit_code,
    print_json,
    say_problems,
)
from thalweg.cli._signals import Signals
from thalweg.cli._spectra import Energy, spectrum_of

EXAMPLES = ["thalweg plot run.h5", "thalweg plot run.h5 --what spectrum --table ch0 --table ch1 --out spectrum.png"]
_MOST_TABLES = 12
_Drawn = TypeVar("_Drawn")
_NEEDS = "waveform, energy or timestamp"


class What(StrEnum):
    pulses = "pulses"
    spectrum = "spectrum"
    rates = "rates"


def plot(
    files: FilesArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="The picture to write. The default is FILE with the ending .png."),
    ] = None,
    what: Annotated[
        list[What],
        typer.Option(
            metavar="|".join(What), help="What to draw. Can be repeated. The default is all that the tables allow."
        ),
    ] = [],  # noqa: B006
    table: Annotated[
        list[str], typer.Option(metavar="NAME", help="Table to draw. Can be repeated. The default is all tables.")
    ] = [],  # noqa: B006
    pulses: Annotated[int, typer.Option(min=1, metavar="N", help="Number of pulses to draw for each table.")] = 5,
    rows: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of rows of each table to use for the spectrum.")
    ] = 10_000,
    energy: Annotated[
        Energy | None,
        typer.Option(
            metavar="|".join(Energy),
            help="Energies of the spectrum: stored ones, or pulse integrals. The default is stored if there are any.",
        ),
    ] = None,
    waveform: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="Column of the samples. Needed only if it is not found by its name."),
    ] = "",
    next_files: NextFilesOption = False,
    external: ExternalOption = None,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Draw the first pulses, the energy spectra and the trigger rates of a file as a PNG.

    Waveforms are found by their names (waveform, trace, adc and similar) or by the unit ADC. The energy is taken from
    the column `energy` if the table has one, otherwise from the integral of each pulse above its baseline. For events
    of a readout, the picture shows fragment sizes, latencies, build times and event states. FILE may be a run that is
    still open; several files must be all the files of one run.
    """
    from thalweg.cli import _events  # matplotlib takes its time
    from thalweg.cli._figures import draw

    run = thalweg.open(files[0] if len(files) == 1 else files, external=external or (), next_files=next_files)
    file = run.path
    say_problems(file, run.problems)
    target = out or Path(file).with_suffix(".png")
    if target.suffix.lower() != ".png":
        raise UsageError(f"cannot write a plot to {target} (plots are PNG files): give a name that ends in .png")
    if not what and table in ([], ["events"]) and "events" in run and _events.is_events(run["events"]):
        _save(target, lambda: _events.draw_events(target, Path(file).name, run["events"], rows))
        _report(json, target, ["events"], _events.PANELS, {}, [], run)
        return exit_code(run.problems, allow_missing)
    found = _signals(run, file, table, waveform)
    shown = found[:_MOST_TABLES]
    spectra = [
        each for signals in shown if _wants(what, What.spectrum) and (each := spectrum_of(signals, energy, rows))
    ]
    panels = _panels(file, shown, bool(spectra), what)
    choice = f"Tables: the first {len(shown)} of {len(found)}. Choose others with --table."
    remarks = [choice] if len(found) > len(shown) else []
    if spectra and any(len(signals.table) > rows for signals in shown):
        remarks.append(f"Energies: of the first {rows:,} records of each table.")
    of_run = ["The run was not complete."] if run.is_open else []
    said = _save(target, lambda: draw(target, Path(file).name, shown, spectra, panels, pulses, remarks + of_run))
    sources = {each.table: each.source for each in spectra}
    left_out = [each for each in said if each not in of_run]
    _report(json, target, [signals.name for signals in shown], panels, sources, left_out, run)
    return exit_code(run.problems, allow_missing)


def _report(
    json: bool,
    target: Path,
    names: list[str],
    panels: list[str],
    energies: dict[str, str],
    left_out: list[str],
    run: thalweg.Run,
) -> None:
    notes = [*left_out, *filter(None, [not_complete(run)])]
    if json:
        facts = {"path": str(target), "tables": names, "panels": panels, "energies": energies}
        print_json({**facts, "notes": notes, "problems": as_json(run.problems)})
    else:
        kinds = ", ".join(dict.fromkeys(energies.values()))
        of_what = f" The energies are from {kinds}." if kinds else ""
        answer(f"{target} shows {', '.join(panels)} of {', '.join(names)}.{of_what}", *notes)


def _wants(what: list[What], panel: What) -> bool:
    return not what or panel in what


def _panels(file: str, found: list[Signals], has_spectra: bool, what: list[What]) -> list[str]:
    can_show = {
        What.pulses: any(signals.can_show("pulses") for signals in found),
        What.spectrum: has_spectra,
        What.rates: any(signals.can_show("rates") for signals in found),
    }
    missing = [f"--what {panel}" for panel in what if not can_show[panel]]
    panels = [str(panel) for panel, can in can_show.items() if can and _wants(what, panel)]
    if missing or not panels:
        wanted = f" for {' and '.join(missing)}" if missing else ""
        raise UsageError(
            f"{file} has nothing to plot{wanted} (no table with rows has a column recognised as {_NEEDS}); "
            "`thalweg inspect` shows the columns, --waveform COLUMN names the one that holds samples"
        )
    return panels


def _save(target: Path, draw: Callable[[], _Drawn]) -> _Drawn:
    try:
        return draw()
    except OSError as error:
        raise thalweg.SystemError(error.errno, f"cannot write {target} ({error.strerror})") from None


def _signals(run: thalweg.Run, file: str, names: list[str], waveform: str) -> list[Signals]:
    for name in names:
        if name not in run:
            raise UsageError(f"{file} has no table '{name}'{likely(name, run)}; its tables are {', '.join(run)}")
    if waveform:
        check_waveform(run, names or list(run), waveform)
    found = {name: signals_of(run[name], waveform) for name in names or run if len(run[name])}
    for name in names:
        if not found.get(name):
            raise UsageError(
                f"table '{name}' of {file} has nothing to plot (it has no rows, or no column recognised as {_NEEDS}); "
                "`thalweg inspect` shows its columns, --waveform COLUMN names the one that holds samples"
            )
    return [signals for signals in found.values() if signals]


def register(app: typer.Typer) -> None:
    app.command("plot", epilog=as_epilog(EXAMPLES))(plot)
