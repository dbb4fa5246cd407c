"""thalweg explain"""

from typing import Annotated

import typer

from thalweg.cli._output import JsonOption, answer, as_epilog, print_json

EXAMPLES = ["thalweg explain trace.root", "thalweg explain trace.root --html trace.html"]


def explain(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace file written by `thalweg trace`.")],
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Also write the result as an HTML page: one file that needs no network.",
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Show how each process or rank of a traced program spent its time, and what slows down its I/O.

    The exit code is 1 if the trace lacks calls of some process: the result may then be incomplete.
    """
    from thalweg._explain.verdict import explain

    verdict = explain(trace)
    if html is not None:
        from thalweg._explain.page import write_page

        write_page(verdict, html)
    if json:
        print_json(verdict.to_dict())
    else:
        answer(*verdict.lines())
    return 0 if verdict.is_complete else 1


def register(app: typer.Typer) -> None:
    app.command("explain", epilog=as_epilog(EXAMPLES))(explain)
