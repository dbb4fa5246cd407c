"""thalweg convert"""

import os
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

import thalweg
from thalweg._base.quantities import as_bytes, counted
from thalweg._schema.tuning import Tuning
from thalweg.cli._output import (
    AllowMissingOption,
    ExternalOption,
    JsonOption,
    NextFilesOption,
    SetOption,
    answer,
    as_epilog,
    exit_code,
    people,
    print_json,
    say_problems,
)

EXAMPLES = ["thalweg convert run.h5 run.root", "thalweg convert run.root small.h5 --codec bitshuffle+zstd-3 --json"]


def convert(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="A complete file, or a run that is still open. Several files, or a pattern in quotes, are one run.",
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The new file: HDF5 if its name ends in .h5, RNTuple if in .root.")
    ],
    codec: Annotated[
        str | None,
        typer.Option(
            metavar="CODEC",
            help="Compression of TARGET, with the names of `thalweg record`. The default is bitshuffle+lz4 in HDF5 "
            "and zstd-1 in RNTuple.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace TARGET if it exists.", show_default=False)] = False,
    threads: Annotated[int, typer.Option(min=0, metavar="N", help="Number of threads. 0: one for each core.")] = 0,
    set_: SetOption = None,
    next_files: NextFilesOption = False,
    external: ExternalOption = None,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Copy a file to another container or codec: HDF5 to ROOT RNTuple, RNTuple to HDF5, or either to itself.

    Values, types, units, descriptions, metadata and the order of rows stay the same. Several files must be all the
    files of one run; TARGET has the rows of all. If parts of a file of another
    program cannot be read, the command names them and exits with code 1.
    """
    source = sources[0] if len(sources) == 1 else sources
    columns = TextColumn("Converting"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn()
    with Progress(*columns, console=people(), transient=True, disable=not people().is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        report = thalweg.convert(
            source,
            target,
            codec=codec,
            force=force,
            threads=threads,
            tuning=Tuning.parse(set_ or []),
            external=external or (),
            next_files=next_files,
            progress=lambda share: progress.update(task, completed=share),
        )
    if json:
        print_json({**report.to_dict(), "adler32": f"{report.adler32:08x}"})
    else:
        before, after = as_bytes(sum(map(os.path.getsize, report.sources))), as_bytes(report.file_bytes)
        more = f" and {len(report.sources) - 1} more" if len(report.sources) > 1 else ""
        said = f"{counted(report.rows, 'row')} in {counted(len(report.tables), 'table')}"
        answer(f"{report.sources[0]}{more} ({before}) is copied to {target} ({after}): {said}.")
        answer(*report.notes)
    say_problems(report.sources[0], report.problems)
    return exit_code(report.problems, allow_missing)


def register(app: typer.Typer) -> None:
    app.command("convert", epilog=as_epilog(EXAMPLES))(convert)
