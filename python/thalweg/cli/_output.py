"""How commands speak: the result goes to stdout, as text for people or as JSON, and all other sentences to stderr."""

import errno
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._schema.left_out import LeftOut

_MOST_PROBLEMS = 20
_PLAIN_WIDTH = 200  # of tables that are not shown by a terminal
_READER_IS_GONE = (errno.EPIPE, errno.EIO)  # a pipe whose reader has ended, and a terminal that was closed

JsonOption = Annotated[bool, typer.Option("--json", show_default=False, help="Write the result to stdout as JSON.")]
FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="A complete file, or a run that is still open. Several files, or a pattern in quotes, are one run.",
    ),
]


NextFilesOption = Annotated[
    bool,
    typer.Option(
        "--next-files", show_default=False, help="Take the files in which the run goes on, too, as parts of one run."
    ),
]


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


QuietOption = Annotated[bool, typer.Option("--quiet", show_default=False, help="Show no progress on stderr.")]
IntervalOption = Annotated[
    str,
    typer.Option(
        "--interval",
        metavar="TIME",
        help="Time between two lines of progress if stderr is no terminal. Each begins with the time. The default is "
        "1s.",
    ),
]


def people() -> Console:
    """Returns the console on stderr. If stderr is not a terminal, lines are not wrapped."""
    width = None if sys.stderr.isatty() else _PLAIN_WIDTH
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=width is not None, width=width)


def say(*what: RenderableType) -> None:
    """Says what is no result: progress, warnings and problems."""
    console = people()
    for each in what:
        console.print(each)


def answer(*what: RenderableType) -> None:
    """Writes the result for people. A reader that has ended, such as `head`, changes neither the exit code nor
    anything else.

    Raises SystemError if stdout cannot be written for another reason, such as a full disk."""
    text = io.StringIO()
    is_terminal = sys.stdout.isatty()
    width = None if is_terminal else _PLAIN_WIDTH
    console = Console(
        file=text, force_terminal=is_terminal, highlight=False, markup=False, soft_wrap=width is not None, width=width
    )
    for each in what:
        console.print(each)
    try:
        sys.stdout.write(text.getvalue())
        sys.stdout.flush()
    except OSError as error:
        forget_stdout()
        if error.errno not in _READER_IS_GONE:
            raise SystemError(error.errno or 0, f"cannot write the result to stdout ({error.strerror})") from None


def forget_stdout() -> None:
    """Leads stdout to the null device, so that what could not be written is not tried again when the program ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


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
