"""Defines `tw.derive`, which makes a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thalweg._base.paths import Path
from thalweg._derive.derivation import Derivation
from thalweg._derive.job import DerivationJob
from thalweg._derive.outputs import Resume
from thalweg._derive.unit import EventLoop


def derive(
    inputs: Path | Iterable[Path],
    train: Sequence[Derivation],
    *,
    loop: EventLoop | None = None,
    workers: int | None = None,
    executor: Any = None,
    order: str = "any",
    resume: Resume = False,
    force: bool = False,
    on_error: str = "retry",
    attempts: int = 3,
    timeout: float | None = None,
    start: str | None = None,
    ranges_per_group: int | None = None,
    range_bytes: int | None = None,
    nodes: int | None = None,
    node_timeout: float = 60,
    missing: Mapping[str, Any] | None = None,
    carry: str | Iterable[str] = (),
) -> DerivationJob:
    """Returns a job that reads events once and writes all outputs of a train. `tw.derive(...).run()` runs it.

    Worker processes each do ranges of the input and write the outputs together. A range counts once in each output,
    when it is committed, whichever process dies. Functions must be deterministic, since a range may be done again;
    random generators of Python and NumPy are set anew for each range in worker processes.

    inputs: a file, "file:Table", a pattern such as "data/*.root:Events", or several of these. Files are RNTuples, HDF5
        files and, if uproot is installed, TTrees; their columns must have the same types. Columns that one of the files
        lacks, or that cannot be read, are left out, and the report names the files. Functions find file, table and
        first event in `events.attrs` ("file", "dataset", "first_event").
    train: one derivation for each output.
    loop: an event loop for code that does not use Awkward arrays, called as `loop(job, range)` for each range of
        events. It makes rows by `with job.unit(range) as unit: unit["muons.root"].append(...)` and sums by
        `unit.fill("cutflow", {"two muons": n})`. The derivations then have only a schema. Rows for an output that
        already has the range are not stored again.
    workers: the number of worker processes. The default is the number of usable cores. At most one worker is started
        for each range.
    executor: an executor whose workers do the work: of `concurrent.futures`, or with its interface (a `Client` of Dask,
        `MPIPoolExecutor` of mpi4py). Rows of a range are written when the range is done, so choose large ranges. A
        range that the executor loses counts as failed and is submitted again.
    order: "input" keeps the order of the input, and the bytes of the pages are the same for any number of workers. Only
        RNTuple files can. With "any", the order of ranges is unspecified.
    resume: continue a job that ended early, in the same files. An output that does not exist yet is begun. Raises
        UsageError if inputs, functions or options have changed, or if functions use values that cannot be compared.
        "trust": take functions as those of the beginning; a note of the report names what differs.
    force: replace outputs that exist, once all outputs can be created.
    on_error: what to do if a function raises, or its process dies or hangs. "retry" tries the range up to `attempts`
        times and then stops the job. "skip" then leaves its events out of all outputs, and the report names them.
        "stop" stops the job at once. Ranges that are done are kept for `resume`.
    timeout: the time in seconds after which a worker is killed if its range is not done, or if the functions are not
        done with the first events. The default is no limit.
    start: how workers are started. "fork": workers share the memory of this process when the job begins. "spawn":
        workers begin empty, and functions must be importable. The default is "fork", or threads of this process if it
        cannot be forked, as in Jupyter; the report says so.
    ranges_per_group: with order="input", the number of consecutive ranges that are committed together in clusters of
        their own.
    range_bytes: the decoded size in bytes up to which clusters of the input are put into one range.
    nodes: the number of machines on which workers of the executor write the outputs. This machine counts, even if it
        has no workers. All machines must see inputs and outputs by the same paths. The default is the number that Dask
        reports, and 1 for other executors.
    node_timeout: the time in seconds within which all machines must join, and after which a machine that gives no sign
        counts as failed. The job then goes on without it and repeats the ranges that it had not made durable; each
        range counts once. A job of several machines cannot be resumed.
    missing: the values of columns that a file lacks, by name or pattern, such as `{"HLT_*": False}`. They stand for
        numbers only.
    carry: other tables of the input that all outputs get with all their rows, by name or pattern, such as `["Runs",
        "LuminosityBlocks"]`. The rows of one file follow those of the file before it, whatever events are selected. All
        files must have these tables, with the same columns. The report has a note about what is not carried along.

    Raises UsageError if inputs, outputs or options are wrong.
    """
    return DerivationJob(
        inputs,
        train,
        loop=loop,
        workers=workers,
        executor=executor,
        order=order,
        resume=resume,
        force=force,
        on_error=on_error,
        attempts=attempts,
        timeout=timeout,
        start=start,
        ranges_per_group=ranges_per_group,
        range_bytes=range_bytes,
        nodes=nodes,
        node_timeout=node_timeout,
        missing=missing,
        carry=carry,
    )
