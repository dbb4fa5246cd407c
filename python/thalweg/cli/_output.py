"""How commands speak: sentences and tables on stderr, JSON on stdout."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

JsonOption = Annotated[
    bool, typer.Option("--json", show_default=False, help="Write the answer to stdout as JSON, for programs.")
]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A closed file, or a run that is still open.")]


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KNOB=VALUE",
        help="Set a knob of the writing, such as flush_interval=500ms. Can be repeated; `thalweg knobs` lists them.",
    ),
]


def people() -> Console:
    """Where it is no terminal, lines are as long as they are."""
    width = None if sys.stderr.isatty() else 200
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=width is not None, width=width)


def say(*what: RenderableType) -> None:
    console = people()
    for each in what:
        console.print(each)


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def as_epilog(examples: list[str]) -> str:
    return "\n\n".join([f"Example{'s'[: len(examples) != 1]}:", *examples])
