"""How commands speak: sentences and tables on stderr, JSON on stdout."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from thalweg._schema.left_out import LeftOut

_MOST_PROBLEMS = 20

JsonOption = Annotated[bool, typer.Option("--json", show_default=False, help="Write the result to stdout as JSON.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A complete file, or a run that is still open.")]


AllowMissingOption = Annotated[
    bool,
    typer.Option(
        "--allow-missing", show_default=False, help="Exit with code 0 even if part of the file cannot be read."
    ),
]


ExternalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--external",
        metavar="FOLDER",
        help="Folder from which external links and external data of an HDF5 file of another program may be read, "
        "besides the folder of the file. Can be repeated.",
    ),
]


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KNOB=VALUE",
        help="Tune how the file is written, for example flush_interval=500ms. Can be repeated. `thalweg knobs` lists "
        "all knobs.",
    ),
]


def people() -> Console:
    """Returns the console on stderr. If stderr is not a terminal, lines are not wrapped."""
    width = None if sys.stderr.isatty() else 200
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=width is not None, width=width)


def say(*what: RenderableType) -> None:
    console = people()
    for each in what:
        console.print(each)


def say_problems(file: str, problems: Sequence[LeftOut]) -> None:
    """Prints what cannot be read of a file of another program."""
    for problem in problems[:_MOST_PROBLEMS]:
        say(f"thalweg: {file}: {problem}")
    if (hidden := len(problems) - _MOST_PROBLEMS) > 0:
        say(f"thalweg: {file}: {hidden:,} more are left out; `thalweg inspect --json {file}` lists all of them")


def as_json(problems: Sequence[LeftOut]) -> list[dict[str, str]]:
    return [asdict(problem) for problem in problems]


def exit_code(problems: Sequence[LeftOut], allow_missing: bool) -> int:
    return 1 if problems and not allow_missing else 0


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def as_epilog(examples: list[str]) -> str:
    return "\n\n".join([f"Example{'s'[: len(examples) != 1]}:", *examples])
