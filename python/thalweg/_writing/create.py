"""`tw.create`: a run of one process, of several nodes, or of the ranks of a communicator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

from thalweg._base.errors import UsageError
from thalweg._base.paths import Path
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value
from thalweg._writing.begin import Beginning, begin_alone
from thalweg._writing.over_mpi import Communicator, Shared, begin_over
from thalweg._writing.writer import Writer


@overload
def create(
    path: Path,
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    force: bool = ...,
    resume: bool = ...,
    codec: str | None = ...,
    metadata: Mapping[str, str] | None = ...,
    attrs: Mapping[str, Any] | None = ...,
    tuning: Mapping[str, Value] | None = ...,
    node_timeout: float = ...,
    on_node_death: str = ...,
    keys_taken_together: int | None = ...,
    comm: Communicator,
) -> Shared: ...


@overload
def create(
    path: Path,
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    force: bool = ...,
    resume: bool = ...,
    codec: str | None = ...,
    metadata: Mapping[str, str] | None = ...,
    attrs: Mapping[str, Any] | None = ...,
    order: str | None = ...,
    keys_per_group: int | None = ...,
    tuning: Mapping[str, Value] | None = ...,
    nodes: int = ...,
    node_timeout: float = ...,
    on_node_death: str = ...,
    keys_taken_together: int | None = ...,
    comm: None = ...,
) -> Writer: ...


def create(
    path: Path,
    schema: Schema | Mapping[str, Any] | None = None,
    *,
    force: bool = False,
    resume: bool = False,
    codec: str | None = None,
    metadata: Mapping[str, str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    order: str | None = None,
    keys_per_group: int | None = None,
    tuning: Mapping[str, Value] | None = None,
    nodes: int = 1,
    node_timeout: float = 60,
    on_node_death: str = "end",
    keys_taken_together: int | None = None,
    comm: Communicator | None = None,
) -> Writer | Shared:
    """Creates a new file and opens it for writing: HDF5 (.h5, .hdf5 or .lh5) or ROOT RNTuple (.root).

    A journal lies beside the file until it is closed.

    schema: the result of `tw.schema`, or the dictionary that it takes.
    force: replace a file, or an unfinished run, that exists. It is removed once the new run has begun, and stays as it
        was if that fails.
    resume: continue an unfinished run in the same file, once all its writers have died. Its rows stay, and
        `committed_keys` of the result says which work units need not be done again. No schema is needed. Metadata and
        knobs of the run stay; given knobs replace them, except codecs and page sizes. A run of several nodes continues
        with the same number of nodes, each on its machine; the others `tw.join` it with `resume=True`.
    codec: the compression. HDF5: "none", "lz4", "bitshuffle+lz4" (the default), "shuffle+deflate-1",
        "bitshuffle+zstd-3" and similar; h5py reads "none" and deflate, and all others once hdf5plugin is imported.
        RNTuple: "none", "lz4", "zstd-1" (the default), "deflate-1" with split and delta encoding, or "plain+zstd-5" and
        similar without encoding.
    metadata: texts by name that are kept with the run. `Writer.set_metadata` adds to them.
    attrs: attributes of the run, as in an HDF5 file: numbers, strings, bools, or arrays of these, by name.
        `tw.schema(..., attrs=...)` sets those of tables and columns.
    order: "key" orders the rows by the keys of their work units, which must be integers. The values and the bytes of
        the pages are then the same for any number of workers. Only RNTuple files can.
    keys_per_group: with order="key", the number of consecutive keys that form one `work_group`. A group is committed,
        or done again, as a whole, and has its own clusters. The default is 1: each `work_unit` is a group. A group
        should have some MiB.
    tuning: `tw.Tuning(...)`, or a dictionary of knobs: memory, page sizes, intervals, threads, I/O engine.
    nodes: the number of machines that write the file in a shared folder. This one is the first; the others `tw.join`
        the run. The call returns when all have joined. Each node must close; then the file is complete.
    node_timeout: the time in seconds within which all nodes must join, and after which a node that gives no sign counts
        as failed.
    on_node_death: what happens if a node fails. "end": the run ends on all nodes with an error, and `recover` completes
        it. "continue": the other nodes go on and complete the file with what the failed node had made durable; the
        report names it.
    keys_taken_together: lets any node do the work unit of a key, which counts once. A node takes this number of
        consecutive keys at a time in the folder of the run (text keys are taken one by one). By default, a key belongs
        to the node that uses it.
    comm: a communicator of mpi4py. All its ranks must call this function, and all write the file. The first rank of
        each machine creates or joins the run, and the others attach to it; `nodes` must not be given. If a rank fails,
        all ranks raise its error.

    Raises UsageError if the file exists, if an option is wrong, or if there is nothing to resume (or it is a copy, is
    still being written, or has another schema); SystemError if the file cannot be written.
    """
    wanted = Beginning(
        path=path,
        schema=schema,
        force=force,
        resume=resume,
        codec=codec,
        metadata=metadata,
        attrs=attrs,
        order=order,
        keys_per_group=keys_per_group,
        tuning=tuning,
        nodes=nodes,
        node_timeout=node_timeout,
        on_node_death=on_node_death,
        keys_taken_together=keys_taken_together,
    )
    if comm is None:
        return begin_alone(wanted.checked())
    if nodes != 1:
        raise UsageError("nodes= and comm= are given (the ranks of comm set the number of nodes): leave nodes out")
    return begin_over(comm, wanted)
