"""thalweg derive"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

import thalweg
from thalweg._derive.report import DerivationError, DerivationReport
from thalweg._errors import UsageError
from thalweg._recording.units import duration_ns
from thalweg.cli._derive_progress import DerivationProgress
from thalweg.cli._output import AllowMissingOption, JsonOption, as_epilog, print_json, say

EXAMPLES = [
    "thalweg derive train.py --input run.h5:ch0 --workers 8",
    "thalweg derive train.py --input run.h5:ch0 --resume --on-error skip --json",
]


def derive(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py", help="Defines `train`, a list of tw.Derivation, and `inputs` and `loop` if it likes."
        ),
    ],
    input_: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="FILE[:TABLE]", help="A file or pattern. Can be repeated; they are one chain."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Worker processes. The default is one for each core.")
    ] = None,
    order: Annotated[
        str, typer.Option(metavar="any|input", help="input: rows in the input's order, in .root files alone.")
    ] = "any",
    resume: Annotated[
        bool, typer.Option("--resume", show_default=False, help="Go on with a job that was stopped.")
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace outputs that are already there.", show_default=False)] = False,
    on_error: Annotated[
        str, typer.Option(metavar="retry|skip|stop", help="What to do where events fail again and again.")
    ] = "retry",
    attempts: Annotated[int, typer.Option(metavar="N", help="How often a range of events is tried.")] = 3,
    timeout: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="What a range may take, such as 60s, before its worker is killed."),
    ] = None,
    start: Annotated[str, typer.Option(metavar="fork|spawn", help="How workers are started.")] = "fork",
    quiet: Annotated[bool, typer.Option(help="Show no progress.", show_default=False)] = False,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Skim, slim and compute: workers process events and write all outputs of a train together.

    Exit code 1 where the job stopped, events are left out because their functions failed, or columns that are to be
    kept cannot be read. Ctrl-C stops when the ranges being done are done, twice at once; --resume goes on.
    """
    module = _loaded(Path(file))
    train = getattr(module, "train", None)
    if not isinstance(train, list | tuple):
        raise UsageError(f"{file} defines no train: write train = [tw.Derivation(...), ...] at its top")
    inputs = input_ or getattr(module, "inputs", None)
    if inputs is None:
        raise UsageError(f"there is no input: give --input, or define inputs in {file}")
    job = thalweg.derive(
        inputs,
        train,
        loop=getattr(module, "loop", None),
        workers=workers,
        order=order,
        resume=resume,
        force=force,
        on_error=on_error,
        attempts=attempts,
        timeout=duration_ns(timeout) / 1e9 if timeout else None,
        start=start,
    )
    try:
        with DerivationProgress(quiet, job.inputs.rows) as progress:
            job.run(progress.show)
    except DerivationError as error:
        _print(error.report, json)
        raise
    _print(job.report, json)
    return 0 if job.report.is_whole or (allow_missing and job.report.has_all_events) else 1


def _print(report: DerivationReport, json: bool) -> None:
    for failure in report.failures:
        say(failure.text.rstrip() or failure.reason)
    if json:
        print_json(report.to_dict())
    else:
        say(str(report))


def _loaded(path: Path) -> ModuleType:
    """As a module of its name, so that workers that are spawned can import it, too."""
    if not path.is_file() or path.suffix != ".py":
        raise UsageError(f"{path} cannot be read (it is no file of Python): give the file that defines the train")
    if path.stem in sys.modules:
        raise UsageError(f"{path} has the name of a module that is loaded: give it another one")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return importlib.import_module(path.stem)
    except thalweg.Error:
        raise
    except Exception as error:
        raise UsageError(f"{path} cannot be imported ({_where(error)}{type(error).__name__}: {error})") from error


def _where(error: Exception) -> str:
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"line {trace.tb_lineno}: " if trace is not None else ""


def register(app: typer.Typer) -> None:
    app.command("derive", epilog=as_epilog(EXAMPLES))(derive)
