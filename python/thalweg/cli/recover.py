"""thalweg recover"""

from typing import Annotated

import typer

import thalweg
from thalweg._base.errors import Error, UsageError
from thalweg._base.quantities import as_bytes, counted
from thalweg._base.signals import ended_at_once
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json

EXAMPLES = ["thalweg recover run.h5"]


def recover(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of a run whose processes have ended.")],
    json: JsonOption = False,
    all_nodes_are_down: Annotated[
        bool,
        typer.Option(
            "--all-nodes-are-down",
            show_default=False,
            help="Confirm that no machine writes this run any more. Needed for runs of several nodes, since this "
            "machine cannot check the others.",
        ),
    ] = False,
) -> int:
    """Complete the file of a run that ended in a crash, with all rows that were published.

    The report says what was kept and what was lost, table by table. Pages that may not have reached the disk are
    compared with their checksums; `thalweg verify` compares all pages. If `recover` is interrupted, run it again. The
    exit code is 1 if rows or work units are lost, if damaged pages are left out, or if losses cannot be excluded
    because shared memory or a part of the journal is gone, as after a power cut. If the file is complete already, there
    is nothing to do, and the exit code is 0.
    """
    try:
        with ended_at_once():
            report = thalweg.recover(file, all_nodes_are_down=all_nodes_are_down)
    except UsageError:
        if (complete := _complete(file)) is None:
            raise
        return _nothing_to_do(file, complete, json)
    code = 0 if report.is_whole else 1
    if json:
        print_json({**report.to_dict(), "recovered": True, "adler32": f"{report.adler32:08x}"})
        return code
    answer(
        f"{report.path} is complete: {counted(report.rows, 'row')} kept, "
        f"{f'{report.lost_rows:,} lost' if report.lost_rows else 'none known to be lost'}; "
        f"{as_bytes(report.file_bytes)}, adler32 {report.adler32:08x}."
    )
    for table in report.tables:
        answer(f"  {table.table}: {counted(table.rows, 'row')} kept, {table.lost_rows:,} lost")
    if report.units_lost:
        answer(f"Lost, and to be done again: {counted(report.units_lost, 'work unit')}.")
    if report.damaged_pages:
        answer(f"Left out: {counted(report.damaged_pages, 'damaged page')}, with all rows of their clusters.")
    answer(*report.notes)
    return code


def _complete(file: str) -> dict[str, int] | None:
    """Returns the rows of each table of a run that is complete, or None if this is no such run."""
    try:
        with thalweg.open(file) as run:
            return {name: len(table) for name, table in run.items()} if run.id and not run.is_open else None
    except Error:
        return None


def _nothing_to_do(file: str, rows: dict[str, int], json: bool) -> int:
    said = f"{file} is complete: nothing is to be done"
    if json:
        tables = [{"table": name, "rows": count} for name, count in rows.items()]
        print_json({"path": file, "recovered": False, "rows": sum(rows.values()), "tables": tables, "notes": [said]})
    else:
        answer(f"{said}. It has {counted(sum(rows.values()), 'row')}.")
    return 0


def register(app: typer.Typer) -> None:
    app.command("recover", epilog=as_epilog(EXAMPLES))(recover)
