"""thalweg merge"""

import glob
from typing import Annotated

import typer

import thalweg
from thalweg._base.quantities import as_bytes, counted
from thalweg.cli._output import (
    AllowMissingOption,
    JsonOption,
    NextFilesOption,
    answer,
    as_epilog,
    exit_code,
    print_json,
    say_problems,
)

EXAMPLES = [
    "thalweg merge a.root b.root --out c.root",
    "thalweg merge run.h5 --next-files --out whole.h5",
]


def merge(
    inputs: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files that hold the same tables.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The new file.")],
    force: Annotated[
        bool, typer.Option("--force", show_default=False, help="Replace the new file if it exists.")
    ] = False,
    carry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TREE",
            help="A TTree of all files that the new file gets as an RNTuple, with the rows of all files: a name or a "
            "pattern. Can be repeated.",
        ),
    ] = None,
    next_files: NextFilesOption = False,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Merge the tables of several files into one file: RNTuples without decompressing them, HDF5 by writing them anew.

    Rows keep the order in which the files are named. All files must be of one container and have the same tables,
    fields and column types. If objects are not kept, such as those that are not RNTuples, the command names them and
    exits with code 1.
    """
    is_pattern = len(inputs) == 1 and glob.has_magic(inputs[0])
    given = inputs[0] if is_pattern else inputs
    report = thalweg.merge(given, out, force=force, carry=carry or (), next_files=next_files)
    if json:
        print_json(report.to_dict())
    else:
        files = counted(len(report.inputs), "file")
        tables = counted(len(report.tables), "table")
        answer(f"{out} has {counted(report.rows, 'row')} in {tables} from {files}; {as_bytes(report.file_bytes)}.")
    say_problems(out, report.problems)
    return exit_code(report.problems, allow_missing)


def register(app: typer.Typer) -> None:
    app.command("merge", epilog=as_epilog(EXAMPLES))(merge)
