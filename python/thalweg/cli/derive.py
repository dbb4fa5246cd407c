"""thalweg derive"""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

import thalweg
from thalweg._base.errors import UsageError
from thalweg._base.quantities import duration_ns, of_option, size_bytes
from thalweg._base.signals import ignore_interrupts
from thalweg._derive.report import DerivationError, DerivationReport
from thalweg.cli._derive_progress import DerivationProgress
from thalweg.cli._output import AllowMissingOption, JsonOption, SetOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg derive train.py --input run.h5:ch0 --workers 8",
    "thalweg derive train.py --input run.h5:ch0 --resume --on-error skip --json",
    "thalweg derive train.py --input run.h5:ch0 --force --range-bytes 16MiB",
]


def derive(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py",
            help="A Python file that defines `train` (a list of tw.Derivation) and, optionally, `inputs`, `loop`, "
            "`missing` and `carry`.",
        ),
    ],
    trust: Annotated[
        str | None, typer.Argument(hidden=True, metavar="trust", help="The word `trust` after --resume.")
    ] = None,
    input_: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="FILE[:TABLE]",
            help="Input file or glob pattern. Can be repeated: all inputs form one chain of events.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of worker processes. The default is one for each core.")
    ] = None,
    order: Annotated[
        str,
        typer.Option(
            metavar="any|input",
            help="Order of the output rows. `input` keeps the order of the input; only .root outputs can.",
        ),
    ] = "any",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            show_default=False,
            help="Continue a job that was stopped, if functions and options are the same. `--resume trust` takes "
            "functions that have changed, or that cannot be compared, as those of the beginning.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace outputs that exist.", show_default=False)] = False,
    on_error: Annotated[
        str,
        typer.Option(
            metavar="retry|skip|stop",
            help="What to do if a range of events fails. retry: try it up to --attempts times, then stop the job. "
            "skip: try it as often, then leave its events out of all outputs. stop: stop the job at once.",
        ),
    ] = "retry",
    attempts: Annotated[int, typer.Option(metavar="N", help="How many times a range of events is tried.")] = 3,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Longest time for one range, for example 60s; a worker that takes longer is killed. The default is "
            "no limit.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="fork|spawn",
            help="Start method of the worker processes, as in multiprocessing. The default is fork.",
        ),
    ] = None,
    range_bytes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Decoded size up to which clusters of the input are put into one range, for example 16MiB.",
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(metavar="CODEC", help="Compression of the outputs whose derivation has no codec, as in record."),
    ] = None,
    carry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Another table of the input that all outputs get with all its rows, such as Runs: a name or a "
            "pattern. Can be repeated.",
        ),
    ] = None,
    set_: SetOption = None,
    quiet: Annotated[bool, typer.Option(help="Show no progress.", show_default=False)] = False,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Skim, slim and compute: worker processes read events once and write all outputs of a train.

    Ctrl-C finishes the current ranges and stops; a second Ctrl-C stops immediately. --resume continues the job. The
    exit code is 1 if the job stopped, if events are left out because a function failed, or if a column to keep cannot
    be read.
    """
    if file == "trust" and resume and trust is not None:  # --resume trust FILE.py
        file, trust = trust, file
    if trust is not None and (trust != "trust" or not resume):
        raise UsageError(f"'{trust}' is one argument too many: give one FILE.py")
    module = _loaded(Path(file))
    train = getattr(module, "train", None)
    if not isinstance(train, list | tuple):
        raise UsageError(f"{file} does not define `train`: add train = [tw.Derivation(...), ...] at module level")
    inputs = input_ or getattr(module, "inputs", None)
    if inputs is None:
        raise UsageError(f"{file} has no input: give --input FILE, or define `inputs` in {file}")
    knobs = thalweg.Tuning.parse(set_ or ())
    job = thalweg.derive(
        inputs,
        [_with(each, codec, knobs) for each in train],
        loop=getattr(module, "loop", None),
        workers=workers,
        order=order,
        resume="trust" if trust else resume,
        force=force,
        on_error=on_error,
        attempts=attempts,
        timeout=of_option("--timeout", timeout, duration_ns) / 1e9 if timeout is not None else None,
        start=start,
        range_bytes=of_option("--range-bytes", range_bytes, size_bytes) if range_bytes is not None else None,
        missing=getattr(module, "missing", None),
        carry=carry if carry else getattr(module, "carry", ()),
    )
    try:
        with DerivationProgress(quiet, job.inputs.rows) as progress:
            job.run(progress.show)
    except DerivationError as error:
        _print(error.report, json)
        raise
    except KeyboardInterrupt as interrupt:
        if not str(interrupt):  # it came before the outputs were there, and nothing is left of the job
            raise
        ignore_interrupts()  # one more must not keep the report and the way to go on from the user
        _print(job.report, json)
        raise thalweg.Error(str(interrupt)) from interrupt
    _print(job.report, json)
    return 0 if job.report.is_whole or (allow_missing and job.report.has_all_events) else 1


def _with(derivation: Any, codec: str | None, knobs: thalweg.Tuning) -> Any:
    """Returns a derivation with the options of the command line: a codec if it has none, and knobs, which win."""
    if not isinstance(derivation, thalweg.Derivation):
        raise UsageError(f"`train` holds {derivation!r}: give a list of tw.Derivation(...)")
    tuning = {**(derivation.tuning or {}), **knobs} if knobs else derivation.tuning
    return replace(derivation, codec=derivation.codec or codec, tuning=tuning)


def _print(report: DerivationReport, json: bool) -> None:
    for failure in report.failures:
        say(failure.text.rstrip() or failure.reason)
    if json:
        print_json(report.to_dict())
    else:
        answer(str(report))


def _loaded(path: Path) -> ModuleType:
    """Imports the file as a module of its name, so that spawned workers can import it, too."""
    if not path.is_file() or path.suffix != ".py":
        raise UsageError(f"{path} cannot be read ({_why_unreadable(path)}): give the Python file that defines `train`")
    if path.stem in sys.modules:
        raise UsageError(f"{path} cannot be imported (a module '{path.stem}' is loaded already): rename the file")
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return importlib.import_module(path.stem)
    except thalweg.Error:
        raise
    except Exception as error:
        raise UsageError(f"{path} cannot be imported ({_where(error)}{type(error).__name__}: {error})") from error


def _why_unreadable(path: Path) -> str:
    if not path.exists():
        return "there is no such file"
    return "it is not a file" if not path.is_file() else "its name does not end in .py"


def _where(error: Exception) -> str:
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"line {trace.tb_lineno}: " if trace is not None else ""


def register(app: typer.Typer) -> None:
    app.command("derive", epilog=as_epilog(EXAMPLES))(derive)
