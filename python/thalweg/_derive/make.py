"""`tw.derive`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._derive.derivation import Derivation
from thalweg._derive.job import DerivationJob
from thalweg._derive.unit import Loop
from thalweg._write import Path


def derive(
    inputs: Path | Iterable[Path],
    train: Sequence[Derivation],
    *,
    loop: Loop | None = None,
    workers: int | None = None,
    executor: Any = None,
    order: str = "any",
    resume: bool = False,
    force: bool = False,
    on_error: str = "retry",
    attempts: int = 3,
    timeout: float | None = None,
    start: str = "fork",
    ranges_per_group: int | None = None,
    range_bytes: int | None = None,
    nodes: int | None = None,
    node_timeout: float = 60,
) -> DerivationJob:
    """A job that reads events once and writes all outputs of a train: `tw.derive(...).run()` does it.

    Workers, which are processes, each do ranges of the input, and write the outputs together. A range counts when it is
    committed, in each output once, whoever dies: functions have to be deterministic, since it may be done again.

    inputs: a file, "file:Table", a pattern such as "data/*.root:Events", or several of these: RNTuples, HDF5 files and,
        where uproot is installed, TTrees, with columns of the same types. Columns that one of them lacks, or that
        cannot be read, are not there.
    train: one derivation for each output.
    loop: for what is not Awkward: called as `loop(job, range)` with each range of events, of which it makes rows by
        `with job.unit(range) as unit: unit["muons.root"].append(...); unit.fill("cutflow", {"two muons": n})`. The
        derivations have a schema then, and nothing else. What it appends to an output that has the range already is
        not stored again.
    workers: None: as many as there are usable cores. More than there are ranges are not started.
    executor: whose workers do it instead: of `concurrent.futures`, or like it (a `Client` of Dask, `MPIPoolExecutor` of
        mpi4py). What one has of a range is written when the range is done, so let ranges be large. A range that the
        executor loses is given to it again, as if it had failed.
    order: "input": rows stand in the input's order, with the same bytes of pages for any number of workers. In RNTuple
        alone.
    resume: go on, in the same files, with a job that has ended before its end; begin where there is nothing yet. Input,
        functions and options are compared with what it began with.
    force: replace outputs that are there.
    on_error: what is done where a function raises, or its process dies or hangs. "retry": it is tried again, `attempts`
        times in all, and then the job stops; "skip": then its events are left out of all outputs, and the report names
        them; "stop": the job stops at once. What is done by then is kept, for `resume`.
    timeout: seconds that a range may take, before its worker is killed.
    start: "fork": workers share the memory that is there when the job begins; "spawn": they begin empty, and functions
        have to be importable.
    ranges_per_group: in the input's order, so many consecutive ranges are committed together, as clusters of their own.
    range_bytes: clusters of the input that together have less, decoded, are one range.
    nodes: on so many machines workers of the executor write the outputs, this one among them, whether it has workers or
        not. All see the folders of inputs and outputs by the same paths. None: Dask is asked, and others have 1.
    node_timeout: seconds in which all machines have to come, and after which one is taken for dead that gives no sign.
        The job goes on without it, and does again what it had not made durable; each range counts once. A job of
        several machines cannot be resumed.

    Raises UsageError where inputs, outputs or options are wrong.
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
    )
