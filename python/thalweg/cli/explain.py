"""thalweg explain"""

from typing import Annotated

import typer

from thalweg.cli._output import JsonOption, as_epilog, print_json, say

EXAMPLES = ["thalweg explain trace.root", "thalweg explain trace.root --html trace.html"]


def explain(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A file that `thalweg trace` has written.")],
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="Write a page that shows it, too: one file, no network."),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Say where the time of each process or rank of a traced program went, and what slows its I/O down.

    The exit code is 1 where the trace does not have all calls of all processes: then what is said may not be all.
    """
    from thalweg._explain.verdict import explain

    verdict = explain(trace)
    if html is not None:
        from thalweg._explain.page import write_page

        write_page(verdict, html)
    if json:
        print_json(verdict.to_dict())
    else:
        say(*verdict.lines())
    return 0 if verdict.is_complete else 1


def register(app: typer.Typer) -> None:
    app.command("explain", epilog=as_epilog(EXAMPLES))(explain)
