"""A run begins: `tw.create` and `tw.join`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.launcher import node_of_launcher
from thalweg._base.paths import Path
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema
from thalweg._schema.schema import schema as schema_of
from thalweg._schema.tuning import Value, with_codec
from thalweg._writing.writer import Writer

if TYPE_CHECKING:
    from thalweg._writing.over_mpi import Communicator, Shared


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
    """A new file (HDF5: .h5, .hdf5 or .lh5; ROOT RNTuple: .root), with its journal beside it until it is closed.

    schema: of `tw.schema`, or the dictionary that it takes.
    force: replace a file, or an unfinished run, that is there already.
    resume: go on with an unfinished run, in the same file, after everybody who wrote it has died: its rows stay, and
        `committed_keys` of the result tells which work units need not be done again. No schema is needed; metadata and
        knobs are those of the run, but for knobs that are given, of which codecs and sizes of pages cannot change.
        A run of several nodes goes on with as many, each on its machine: the others `tw.join` it with `resume=True`.
    codec: in HDF5 "none", "lz4", "bitshuffle+lz4", "shuffle+deflate-1", "bitshuffle+zstd-3", ...; the default is
        bitshuffle+lz4. Stock h5py reads deflate and none, and everything once hdf5plugin is imported. In RNTuple
        "none", "zstd-5", "lz4", "deflate-1" of split and delta encoded values, or "plain+zstd-5" and the like of
        values as they are; the default is zstd-1.
    metadata: texts that are kept with the run; `Writer.set_metadata` adds to them.
    attrs: attributes of the run, as those of an HDF5 file: names with numbers, strings, bools, and arrays of these.
        `tw.schema(..., attrs=...)` gives those of tables and columns.
    order: "key": rows stand in the order of the keys of their work units, which are integers, with the same values and
        the same bytes of pages for any number of workers. RNTuple alone.
    keys_per_group: in such a run so many consecutive keys are one `work_group`, which is committed, and done again,
        whole; it has clusters of its own. 1: each `work_unit` is a group. Choose it so that a group has some MiB.
    tuning: `tw.Tuning(...)`, or a dictionary of the same: memory, page sizes, intervals, threads, the way to the disk.
    nodes: so many machines, which see one folder, write the file; this one is the first, and the others `tw.join` it.
        The call returns when all are there. Each of them closes; then the file is complete.
    node_timeout: seconds in which all nodes have to come, and after which one is taken for dead that gives no sign.
    on_node_death: "end": the run ends for all, with an error, and `recover` completes it. "continue": the others go on,
        and complete the file with what the dead one had made durable; the report names it.
    keys_taken_together: of several nodes: work units of one key may be done on any of them, and count once. A node
        takes so many consecutive keys at once, through the folder of the run (1, and texts: one by one).
        None: a key belongs to the node that it is given to.
    comm: a communicator of mpi4py, all of whose ranks call this function and write the file. The first rank of each
        machine creates the run or joins it, and the others attach to that one; the number of nodes is not given then.
        An error of any rank is raised on all of them: the first rank that failed is named.

    Raises UsageError where something is there already or an option is wrong, where there is nothing to resume, where it
    is a copy, still being written, or has another schema; SystemError where the place cannot be
    written.
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
            raise UsageError("the ranks of comm tell how many nodes there are: leave nodes out")
        from thalweg._writing.over_mpi import create_over

        return create_over(comm, path, schema, given_options)
    if attrs is not None and resume:
        raise UsageError("attributes are given when a run is created; leave attrs out with resume=True")
    if schema is None and not resume:
        raise UsageError(f"{os.fspath(path)} cannot be created without a schema: give one, or resume=True")
    given = schema if schema is None or isinstance(schema, Schema) else schema_of(schema)
    options = _core.CreateOptions()
    options.force = force
    options.keys_per_group = _checked_group(order, keys_per_group)
    if nodes < 1:
        raise UsageError(f"{os.fspath(path)} cannot be written from {nodes} nodes: give at least 1")
    goes_on, keys_together = _checked_rules(nodes, on_node_death, keys_taken_together)
    options.set_nodes(nodes, int(node_timeout * 1e9), goes_on, keys_together)
    with_codec(tuning, codec).apply(options)
    texts = dict(metadata or {})
    for key, value in texts.items():
        if not isinstance(value, str):
            raise UsageError(f"the metadata '{key}' is {value!r}; give a string")
    if resume:
        core = _core.resume(os.fspath(path), given.to_json() if given else None, options)
        return Writer(core, core.metadata)
    assert given is not None
    if attrs is not None:
        given = replace(given, attrs=Attributes({**given.attrs, **attrs}, of="the run"))
    return Writer(_core.create(os.fspath(path), given.to_json(), options, texts), texts)


def join(
    path: Path,
    *,
    node: int | None = None,
    nodes: int | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    node_timeout: float = 60,
    resume: bool = False,
) -> Writer:
    """One of the nodes, but the first, of a run that `tw.create(path, ..., nodes=...)` begins on that one.

    node: from 2 to the number of nodes; None: as the launcher says, by SLURM_NODEID, JOB_COMPLETION_INDEX (Kubernetes)
        or GROUP_RANK (torchrun), which count from 0.
    nodes, schema: where they are given they have to be those of the run.
    node_timeout: as in `create`.
    resume: this node returns to a run that `tw.create(path, ..., resume=True)` resumes on the first one. It has to be
        the machine on which it was this node before: what killed processes have left in its memory is kept.

    The result is used as that of `create`; knobs are those of the run. Raises UsageError naming who is missing when the
    time is over, where the node is there already, where nodes do not agree, or where this node cannot return.
    """
    number = node_of_launcher() if node is None else node
    if number < 2:
        raise UsageError(f"{os.fspath(path)} cannot be joined as node {number}: node 1 creates it, with tw.create")
    given = schema if schema is None or isinstance(schema, Schema) else schema_of(schema)
    core = _core.join(
        os.fspath(path), number - 1, nodes or 0, given.to_json() if given else None, int(node_timeout * 1e9), resume
    )
    return Writer(core, core.metadata)


def _checked_rules(nodes: int, on_node_death: str, keys_taken_together: int | None) -> tuple[bool, int]:
    if on_node_death not in ("end", "continue"):
        raise UsageError(f"on_node_death is {on_node_death!r}: give 'end' or 'continue'")
    if keys_taken_together is None:
        return on_node_death == "continue", 0
    if keys_taken_together < 1:
        raise UsageError(f"{keys_taken_together} keys cannot be taken together: give at least 1")
    # One node alone shares them with nobody.
    return on_node_death == "continue", keys_taken_together if nodes > 1 else 0


def _checked_group(order: str | None, keys_per_group: int | None) -> int:
    if order not in (None, "key"):
        raise UsageError(f"rows cannot be ordered by {order!r}: give order='key', or none")
    if order is None and keys_per_group is not None:
        raise UsageError("keys_per_group is given for a run in no order: give order='key', too")
    if keys_per_group is not None and keys_per_group < 1:
        raise UsageError(f"a group cannot have {keys_per_group} keys: give at least 1")
    return 0 if order is None else keys_per_group or 1
