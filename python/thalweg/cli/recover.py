"""thalweg recover"""

from typing import Annotated

import typer

import thalweg
from thalweg._recording.units import as_bytes
from thalweg._signals import ended_at_once
from thalweg.cli._output import JsonOption, as_epilog, print_json, say

EXAMPLES = ["thalweg recover run.h5"]


def recover(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of a run whose processes are gone.")],
    json: JsonOption = False,
    all_nodes_are_down: Annotated[
        bool,
        typer.Option(help="Of a run of several nodes: nobody writes it any more, which this machine cannot know."),
    ] = False,
) -> int:
    """Complete the file of a run that ended in a crash, with everything that was published.

    Says what was kept and what was lost, table by table. It can be repeated after any interruption; Ctrl-C ends it at
    once. Ends with code 1 where rows or work units are lost, pages are damaged, or nobody can know, since memory or a
    part of the journal is gone, as after a power cut.
    """
    with ended_at_once():
        report = thalweg.recover(file, all_nodes_are_down=all_nodes_are_down)
    code = 0 if report.is_whole else 1
    if json:
        print_json({**report.to_dict(), "adler32": f"{report.adler32:08x}"})
        return code
    say(
        f"{report.path} is complete: {report.rows:,} records kept, "
        f"{f'{report.lost_rows:,} lost' if report.lost_rows else 'none known to be lost'}; "
        f"{as_bytes(report.file_bytes)}, adler32 {report.adler32:08x}."
    )
    for table in report.tables:
        say(f"  {table.table}: {table.rows:,} kept, {table.lost_rows:,} lost")
    if report.units_lost:
        say(f"{report.units_lost:,} work units are lost, and have to be done again.")
    if report.damaged_pages:
        say(f"{report.damaged_pages:,} damaged pages were left out, with the rows around them.")
    say(*report.notes)
    return code


def register(app: typer.Typer) -> None:
    app.command("recover", epilog=as_epilog(EXAMPLES))(recover)
