"""thalweg trace"""

from typing import Annotated

import typer

from thalweg._errors import UsageError
from thalweg._recording.units import as_bytes
from thalweg.cli._output import JsonOption, as_epilog, print_json, say

EXAMPLES = [
    "thalweg trace --out trace.root -- python3 -c 'print(open(\"/etc/hostname\").read())'",
    "thalweg trace export trace.root --out trace.json",
]


def trace(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command, with its arguments.")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The trace: .root or .h5.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    resolution: Annotated[
        int, typer.Option("--resolution", metavar="NS", help="Keep times in units of 1, 10, 100 or 1000 ns.")
    ] = 10,
    ring: Annotated[
        int, typer.Option("--ring", metavar="RECORDS", help="Calls that a thread can be ahead of the tracer.")
    ] = 1 << 16,
    level: Annotated[
        list[str] | None,
        typer.Option("--level", metavar="NAME", help="Only posix, stdio, mpi, hdf5 or work. Can be repeated."),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Run a command and write down its I/O: calls of POSIX, stdio, MPI-IO and HDF5, of all its processes and threads.

    The command has stdin, stdout and stderr for itself, and its exit code is that of this command; the report is the
    last on stderr. With --json it follows the output of the command on stdout. A trace that cannot be written is an
    error, 1, once the command has ended.

    `thalweg trace export TRACE --out FILE.json` (or .pftrace) writes a trace for viewers of timelines: Chrome's JSON,
    or Perfetto's protobuf.
    """
    from thalweg._explain.export import SUFFIXES, export
    from thalweg._explain.tracer import TraceOptions, trace

    if command[0] == "export" and out.endswith(SUFFIXES):
        if len(command) != 2:
            raise UsageError("one trace is exported at a time: `thalweg trace export trace.root --out trace.json`")
        count = export(command[1], out, force=force)
        say(f"thalweg: {out} has {count:,} calls")
        return 0
    options = TraceOptions(out, command, force, resolution, ring, level or [])
    report, ended = trace(options)
    if json:
        print_json(report.to_dict())
    else:
        say(f"thalweg: {report.first_line()}", *(f"thalweg: {line}" for line in report.other_lines()))
        if not report.problem:
            say(f"thalweg: {out} is complete, {as_bytes(report.bytes)}; `thalweg explain {out}` says what it means")
    if report.problem:
        say(f"thalweg: there is no trace: {report.problem}")
    code = ended.end_likewise()
    return code or (1 if report.problem else 0)


def register(app: typer.Typer) -> None:
    app.command("trace", epilog=as_epilog(EXAMPLES))(trace)
