"""The options of the study: what run.py makes of its command line."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from layouts import readme, results
from layouts.settings import DATA, MODES, Settings
from layouts.study import Study
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from thalweg._base.errors import Error, SystemError, UsageError  # noqa: A004
from thalweg.cli._output import JsonOption, as_epilog, people, print_json, say

EXAMPLES = [
    "run.py --quick --out layouts-study",
    "run.py --format h5 --out layouts-study --rounds 7",
    "run.py --layout event_all --layout element --data uniform --producers 4 --out layouts-study",
]
BUILD = Path(__file__).resolve().parents[2] / "build"
RAW = BUILD / "bench" / "raw" / "layouts"  # every measurement, from which an interrupted study goes on
FILES = BUILD / "layouts-study"

_QUICK = {"events": 400, "rounds": 2}


class Format(StrEnum):
    h5 = "h5"
    root = "root"


class Lengths(StrEnum):
    fixed = "fixed"
    poisson = "poisson"


class Data(StrEnum):
    uniform = "uniform"
    waveforms = "waveforms"


class Mode(StrEnum):
    threads = "threads"
    processes = "processes"


def measure(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder for measurements, report and pictures. By default, build/bench/raw/layouts; README.md then"
            " shows the report, and `results` beside it keeps the summary and the pictures.",
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder for the files that are measured. By default, that of --out."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything anew. Otherwise what is there is kept.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Make 400 events and 2 rounds, to see whether everything works.")
    ] = False,
    format: Annotated[Format, typer.Option(help="The format of the files.")] = Format.root,  # noqa: A002
    codec: Annotated[
        str, typer.Option(metavar="NAME", help="How values are compressed. The default is that of the format.")
    ] = "",
    data: Annotated[list[Data], typer.Option(help="Which data to write. Can be repeated.")] = [],  # noqa: B006
    layout: Annotated[
        list[str],
        typer.Option(
            metavar="WORD", help="Measure layouts whose names contain this word. Can be repeated. By default, all 20."
        ),
    ] = [],  # noqa: B006
    mode: Annotated[
        list[Mode], typer.Option(help="Whether producers are threads or processes. Can be repeated. By default, both.")
    ] = [],  # noqa: B006
    producers: Annotated[
        list[int],
        typer.Option(min=1, metavar="N", help="The number of producers. Can be repeated. By default, 1 and 2."),
    ] = [],  # noqa: B006
    rounds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The number of rounds. Each measures everything once. By default, 5."),
    ] = None,
    events: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The number of events. By default, 4000.")
    ] = None,
    hits: Annotated[int, typer.Option(min=1, metavar="N", help="The number of hits in an event.")] = 100,
    wires: Annotated[int, typer.Option(min=1, metavar="N", help="The number of wires in an event.")] = 100,
    rois: Annotated[int, typer.Option(min=1, metavar="N", help="The number of regions of interest of a wire.")] = 10,
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", help="The number of samples of a region of interest.")
    ] = 10,
    lengths: Annotated[
        Lengths, typer.Option(help="Whether these counts are fixed, or means of Poisson distributions.")
    ] = Lengths.fixed,
    spill_events: Annotated[int, typer.Option(min=1, metavar="N", help="The number of events of a spill.")] = 10,
    batch_events: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="The number of events that a producer is given at once, in every layout."
        ),
    ] = 100,
    threads: Annotated[
        int, typer.Option(min=0, metavar="N", help="The number of threads that read. 0 means one for each core.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the data, and of the order of measurements.")] = 1,
    json: JsonOption = False,
) -> int:
    """Which persistent layout is best for hits and wires? The 20 of DUNE's study, written and read side by side.

    Interrupted, it goes on where it was when it is run again. Do nothing else on the machine meanwhile.
    """
    folder = out or RAW
    settings = Settings(
        events=events or (_QUICK["events"] if quick else Settings.events),
        rounds=rounds or (_QUICK["rounds"] if quick else Settings.rounds),
        hits=hits,
        wires=wires,
        rois=rois,
        samples=samples,
        lengths=str(lengths),
        spill_events=spill_events,
        batch_events=batch_events,
        seed=seed,
        format=str(format),
        codec=codec,
        read_threads=threads,
        data=tuple(map(str, data)) or DATA,
        layouts=_chosen(layout),
        modes=tuple(map(str, mode)) or MODES,
        producers=tuple(sorted(set(producers))) or Settings.producers,
    )
    try:
        study = Study(settings, folder, files or (out / "files" if out else FILES), fresh)
        _run(study)
        summary = results.write(folder, study)
    except OSError as error:
        raise _as_ours(error) from None
    except KeyboardInterrupt:
        raise Error("interrupted; the same command goes on where it was") from None
    if json:
        print_json(summary)
    else:
        say(*results.sentences(summary, folder))
    if out is None:
        readme.keep(folder)
    return 0


def _as_ours(error: OSError) -> Error:
    if isinstance(error, Error):
        return error
    return SystemError(error.errno, f"{error.filename or 'the study'} cannot be written ({error.strerror})")


def _chosen(words: list[str]) -> tuple[str, ...]:
    for word in words:
        if not any(word in name for name in Settings.layouts):
            raise UsageError(f"--layout {word} is part of no name; there are {', '.join(Settings.layouts)}")
    return tuple(name for name in Settings.layouts if not words or any(word in name for word in words))


def _run(study: Study) -> None:
    todo = len(study.tasks)
    columns = (
        TextColumn("Round {task.fields[round]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}"),
    )
    # Without a thread of its own, which would disturb what is measured.
    with Progress(
        *columns, console=people(), transient=True, disable=not people().is_terminal, auto_refresh=False
    ) as bar:
        task = bar.add_task("", total=todo, round=1, what="making data")
        said = 0
        for done, (number, what) in enumerate(study.run(), 1):
            bar.update(task, completed=done, round=number, what=what if isinstance(what, str) else what.layout)
            bar.refresh()
            if not people().is_terminal and number > said:
                said = number
                say(f"round {number} of {study.settings.rounds} has begun; {todo - done} measurements are left")


app = typer.Typer(no_args_is_help=False, pretty_exceptions_enable=False)
app.command(epilog=as_epilog(EXAMPLES))(measure)
