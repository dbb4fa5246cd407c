"""Begins a run: `tw.create` and `tw.join`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.given import integer_of, nanoseconds_of, path_of, text_of_user
from thalweg._base.launcher import node_of_launcher
from thalweg._base.paths import Path
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema
from thalweg._schema.schema import schema as schema_of
from thalweg._schema.tuning import Value, with_codec
from thalweg._writing.writer import Writer

if TYPE_CHECKING:
    from thalweg._writing.over_mpi import Communicator, Shared

_MOST_NODES = 2**16


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
    force: replace a file, or an unfinished run, that exists.
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
    if comm is not None:
        given_options = {
            "force": force,
            "resume": resume,
            "codec": codec,
            "metadata": metadata,
            "attrs": attrs,
            "order": order,
            "keys_per_group": keys_per_group,
            "tuning": tuning,
            "node_timeout": node_timeout,
            "on_node_death": on_node_death,
            "keys_taken_together": keys_taken_together,
        }
        if nodes != 1:
            raise UsageError("nodes= and comm= are given (the ranks of comm set the number of nodes): leave nodes out")
        from thalweg._writing.over_mpi import create_over

        return create_over(comm, path, schema, given_options)
    if attrs is not None and resume:
        raise UsageError("attrs= and resume=True are given (a run has attributes from its creation): leave attrs out")
    name = path_of(path)
    if schema is None and not resume:
        raise UsageError(f"{name} cannot be created without a schema: give one, or resume=True")
    given = schema if schema is None or isinstance(schema, Schema) else schema_of(schema)
    options = _core.CreateOptions()
    options.force = bool(force)
    options.keys_per_group = _checked_group(order, keys_per_group)
    node_count = integer_of(nodes, "nodes", 1, _MOST_NODES)
    goes_on, keys_together = _checked_rules(node_count, on_node_death, keys_taken_together)
    options.set_nodes(node_count, nanoseconds_of(node_timeout, "node_timeout"), goes_on, keys_together)
    with_codec(tuning, codec).apply(options)
    texts = dict(metadata or {})
    for key, value in texts.items():
        text_of_user(value, f"the metadata {text_of_user(key, 'the key of metadata')!r}")
    if resume:
        core = _core.resume(name, given.to_json() if given else None, options)
        return Writer(core, core.metadata)
    assert given is not None
    if attrs is not None:
        given = replace(given, attrs=Attributes({**given.attrs, **attrs}, of="the run"))
    return Writer(_core.create(name, given.to_json(), options, texts), texts)


def join(
    path: Path,
    *,
    node: int | None = None,
    nodes: int | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    node_timeout: float = 60,
    resume: bool = False,
) -> Writer:
    """Joins a run of several nodes that the first node begins with `tw.create(path, ..., nodes=...)`.

    node: the number of this node, from 2 to the number of nodes. The default is taken from the launcher: SLURM_NODEID,
        JOB_COMPLETION_INDEX (Kubernetes) or GROUP_RANK (torchrun), which count from 0.
    nodes, schema: if they are given, they must be those of the run.
    node_timeout: the same as in `create`.
    resume: return to a run that the first node resumes with `tw.create(path, ..., resume=True)`. This must be the
        machine that was this node before, since rows in its memory are kept.

    The result is used like that of `create`; the knobs are those of the run. Raises UsageError if nodes are missing
    when the time is over (and names them), if this node has joined already, if nodes do not agree, or if this node
    cannot return.
    """
    name = path_of(path)
    number = node_of_launcher() if node is None else integer_of(node, "node", 0, _MOST_NODES)
    if number < 2:
        raise UsageError(f"{name} cannot be joined as node {number} (node 1 creates it): use tw.create on node 1")
    count = 0 if nodes is None else integer_of(nodes, "nodes", 1, _MOST_NODES)
    given = schema if schema is None or isinstance(schema, Schema) else schema_of(schema)
    timeout_ns = nanoseconds_of(node_timeout, "node_timeout")
    core = _core.join(name, number - 1, count, given.to_json() if given else None, timeout_ns, bool(resume))
    return Writer(core, core.metadata)


def _checked_rules(nodes: int, on_node_death: str, keys_taken_together: int | None) -> tuple[bool, int]:
    if on_node_death not in ("end", "continue"):
        raise UsageError(f"on_node_death is {on_node_death!r}: give 'end' or 'continue'")
    if keys_taken_together is None:
        return on_node_death == "continue", 0
    count = integer_of(keys_taken_together, "keys_taken_together", 1)
    return on_node_death == "continue", count if nodes > 1 else 0  # a single node shares keys with no other


def _checked_group(order: str | None, keys_per_group: int | None) -> int:
    if order not in (None, "key"):
        raise UsageError(f"order cannot be {order!r}: give order='key', or leave it out")
    if order is None and keys_per_group is not None:
        raise UsageError("keys_per_group= is given, and the run has no order: give order='key', or leave it out")
    count = 1 if keys_per_group is None else integer_of(keys_per_group, "keys_per_group", 1)
    return 0 if order is None else count
