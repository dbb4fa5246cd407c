"""thalweg trace"""

from typing import Annotated

import typer

from thalweg._base.errors import UsageError
from thalweg._base.quantities import as_bytes
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = [
    "thalweg trace --out trace.root -- python3 -c 'print(open(\"/etc/hostname\").read())'",
    "thalweg trace export trace.root --out trace.json",
]


def trace(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The command to trace, with its arguments.")
    ],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The trace file to write: .root or .h5.")],
    force: Annotated[bool, typer.Option("--force", show_default=False, help="Replace FILE if it exists.")] = False,
    resolution: Annotated[
        int, typer.Option("--resolution", metavar="NS", help="Time resolution in ns: 1, 10, 100 or 1000.")
    ] = 10,
    ring: Annotated[
        int | None,
        typer.Option(
            "--ring",
            metavar="RECORDS",
            help="Number of calls that each thread can buffer before the tracer must have read them. Default: as many "
            "as there is memory for, up to 1 GiB in all.",
        ),
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            "--level",
            metavar="NAME",
            help="Record only calls of this level: posix, stdio, mpi, hdf5 or work. Can be repeated. Default: all.",
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Run a command and record its I/O: POSIX, stdio, MPI-IO and HDF5 calls of all its processes and threads.

    COMMAND keeps stdin, stdout and stderr. The report follows on stderr, or on stdout with --json. `thalweg trace`
    exits with COMMAND's exit code, or with 1 if COMMAND succeeds and the trace cannot be written.

    `thalweg trace export TRACE --out FILE.json` (or .pftrace) converts a trace for timeline viewers: to Chrome's JSON,
    or to Perfetto's protobuf.
    """
    from thalweg._trace.export import SUFFIXES, export
    from thalweg._trace.tracer import TraceOptions, trace

    if command[0] == "export" and out.endswith(SUFFIXES):
        if len(command) != 2:
            raise UsageError(
                f"{len(command) - 1} traces are given to export (one is exported at a time): "
                "write `thalweg trace export trace.root --out trace.json`"
            )
        count = export(command[1], out, force=force, tell=lambda text: say(f"thalweg: {out}: {text}"))
        answer(f"thalweg: {out} has {count:,} calls")
        return 0
    options = TraceOptions(out, command, force, resolution, ring, level or [])
    report, ended = trace(options)
    if json:
        print_json(report.to_dict())
    else:
        say(f"thalweg: {report.first_line()}", *(f"thalweg: {line}" for line in report.other_lines()))
        if not report.problem:
            say(f"thalweg: {out} is complete ({as_bytes(report.bytes)}); `thalweg explain {out}` evaluates it")
    if report.problem:
        say(f"thalweg: no trace was written: {report.problem}")
    code = ended.end_likewise()
    return code or (1 if report.problem else 0)


def register(app: typer.Typer) -> None:
    app.command("trace", epilog=as_epilog(EXAMPLES))(trace)
