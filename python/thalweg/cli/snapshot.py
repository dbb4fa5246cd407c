"""thalweg snapshot"""

from typing import Annotated

import typer

import thalweg
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json

EXAMPLES = ["thalweg snapshot run.h5 --out so-far.h5"]


def snapshot(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of a run that is being written.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The new file, in the same container.")],
    force: Annotated[
        bool, typer.Option("--force", show_default=False, help="Replace the new file if it exists.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Copy what a running recording has so far into an ordinary, complete file.

    The recording is not disturbed. The new file gets its name only once it is complete; its metadata entry 'snapshot'
    says what it holds. Rows appended since the last flush may be missing. Work units are included if they are committed
    and written. The exit code is 1 if rows are lost or damaged.
    """
    taken = thalweg.snapshot(file, out, force=force)
    if json:
        print_json(taken.to_dict())
    else:
        answer(*str(taken).split("\n"))
    return 0 if taken.is_whole else 1


def register(app: typer.Typer) -> None:
    app.command("snapshot", epilog=as_epilog(EXAMPLES))(snapshot)
