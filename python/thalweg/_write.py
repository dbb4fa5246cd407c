"""Runs open for writing: in the process that creates them, and in others that attach."""

from __future__ import annotations

import errno
import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

from thalweg import _core
from thalweg._attach import Producer, Producers, text_of
from thalweg._attributes import Attributes
from thalweg._errors import SystemError, UsageError  # noqa: A004
from thalweg._launcher import node_of_launcher
from thalweg._schema import Schema
from thalweg._schema import schema as schema_of
from thalweg._tuning import Value, in_effect, with_codec
from thalweg._work_unit import Key, WorkGroup, WorkUnit, begin, begin_group, stored_key

if TYPE_CHECKING:  # and imported where they are needed, so that `import thalweg` takes less time
    from thalweg._over_mpi import Communicator, Shared
    from thalweg._reports import RunReport, Snapshot, Status

Path: TypeAlias = "str | os.PathLike[str]"


class Writer:
    """A run open for writing, in the process that created it.

    Leaving its `with` block closes the run; leaving it on an exception abandons it, and `recover` completes it then.
    """

    def __init__(self, core: _core.Writer, metadata: Mapping[str, str]) -> None:
        self._core: _core.Writer | None = core
        self._units: _core.WorkUnits | None = core.work_units()
        self._metadata = dict(metadata)
        self.schema = Schema.from_json(core.schema)
        self._producers = Producers(self.schema)
        self._pid = os.getpid()
        self._end = ""
        self.path = core.path
        self.engine = core.engine
        """How bytes reach the file, and why so: "io_uring, O_DIRECT", "posix (...)"."""
        self.knobs = in_effect(core.knobs)
        """The knobs in effect, by name: sizes in bytes, times in seconds."""
        self.handle = core.handle
        """What `tw.attach` takes in another process of this machine: a plain string."""
        self.node = core.node + 1
        """Which of the `nodes` this is, from 1."""
        self.nodes = core.nodes

    @property
    def metadata(self) -> dict[str, str]:
        """What is kept with the run, as `create` and `set_metadata` gave it."""
        return dict(self._metadata)

    def set_metadata(self, key: str, value: str) -> None:
        """Adds to the metadata of the file, or changes it. `close` writes it: a run that was not closed is without it.

        Raises UsageError where the key is empty, key or value are no UTF-8 text or hold a NUL character, the key is one
        of those that files which continue each other have (next_file, previous_file), or the run is closed.
        """
        self._open_core().set_metadata(key, value)
        self._metadata[key] = value

    def producer(self, table: str) -> Producer:
        """One for each thread; `close` finishes those that are not. Raises UsageError where there is no such table."""
        return self._producers.make(self._open_core(), table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """Rows, of any tables, that count together or not at all.

        `with out.work_unit(17) as unit: unit["events"].append(...)` commits them at its end, or drops them.

        key: an integer, or text of at most 64 bytes (str is kept as UTF-8). Of units with the same key the first that
            is committed counts.
        summary: at most 64 KiB, kept with the run and read as `run.units`.

        One thread has one open unit; several threads and processes have as many. Raises UsageError where key or summary
        are too long or the run is closed.
        """
        return begin(self._open_units(), self.schema, key, summary)

    def work_group(self, number: int) -> WorkGroup:
        """Work units of consecutive keys that are committed together, in a run that is ordered by key.

        Group n has the keys from n * keys_per_group on: `for key in group.keys: with group.work_unit(key) as unit:` ...
        Raises UsageError where the run is not ordered, or closed.
        """
        return begin_group(self._open_units(), self.schema, number)

    def is_group_committed(self, number: int) -> bool:
        """Whether the number of a group is taken."""
        return self._open_units().is_group_committed(number)

    def is_committed(self, key: Key) -> bool:
        """Whether the key of a work unit is taken. (A power cut may still undo the unit; `status` tells.)"""
        return self._open_units().is_committed(stored_key(key))

    def take_keys(self, key: Key) -> bool:
        """Of several nodes that share keys: takes `key` for this node, with those that are taken together with it.

        False where another node has them; then none of them can be committed here. True always where keys are not
        shared.
        """
        return self._open_units().take(stored_key(key))

    def committed_keys(self) -> list[int | bytes]:
        """All keys of work units that are taken, in no order: in all files of the run, where it has several."""
        return self._open_units().committed_keys()

    def status(self) -> Status:
        from thalweg._reports import status_of

        core = self._open_core()
        return status_of(core.status(), self.schema, core.file_problem())

    def dead_nodes(self) -> dict[int, str]:
        """Nodes, from 1, without which the others go on (`on_node_death="continue"`), and why they count as dead."""
        return {node + 1: why for node, why in self._open_core().dead_nodes().items()}

    def close(self, timeout: float = math.inf) -> RunReport:
        """Finishes the producers of this process, waits for those of others, and completes the file.

        `timeout` is in seconds. Raises SystemError (ETIMEDOUT) naming the producers that did not finish in time: the
        run stays open then. Raises UsageError where the run is closed already, or this thread has a work unit open.
        """
        from thalweg._reports import report_of

        core = self._open_core()
        self._producers.finish()
        end = time.monotonic() + timeout
        while True:  # in short waits, between which Python sees a Ctrl-C
            wait = min(0.2, max(0.0, end - time.monotonic()))
            try:
                report = report_of(core.close(int(wait * 1e9)))
            except SystemError as error:
                if error.errno != errno.ETIMEDOUT or time.monotonic() >= end:
                    raise
            else:
                self._core, self._units, self._end = None, None, "closed"
                return report

    def abandon(self, reason: str = "the run was abandoned") -> None:
        """Ends the run without completing the file: `tw.recover` does that. Does nothing in a forked child.

        `reason` is what its report will say of the producers of this process that were not finished.
        """
        if os.getpid() != self._pid or self._core is None:
            return
        self._producers.abandon(reason)
        self._core.abandon()
        self._core, self._units, self._end = None, None, "abandoned"  # which gives up the lock, for `recover`

    def _open_units(self) -> _core.WorkUnits:
        self._open_core()
        assert self._units is not None
        return self._units

    def _open_core(self) -> _core.Writer:
        if os.getpid() != self._pid:
            raise UsageError(
                f"{self.path} belongs to the parent process (it was inherited through fork): "
                "use tw.attach(handle) in the child"
            )
        if self._core is None:
            raise UsageError(f"{self.path} is {self._end}")
        return self._core

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is not None:
            self.abandon(text_of(error))
        elif self._core is not None:
            self.close()

    def __repr__(self) -> str:
        return f"<Writer of {self.path}{f' ({self._end})' if self._end else ''}>"


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
        from thalweg._over_mpi import create_over

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


def recover(path: Path, *, all_nodes_are_down: bool = False) -> RunReport:
    """Completes a run whose processes have died, or that was abandoned, and says what is lost.

    all_nodes_are_down: of a run of several nodes, that nobody writes it any more: this machine cannot know of others.

    It can be repeated after any interruption. Ctrl-C is heard when it is over.

    Raises UsageError where there is nothing to recover or the run is, or may be, still being written, DataError where
    file and journal do not belong together.
    """
    from thalweg._reports import report_of

    return report_of(_core.recover(os.fspath(path), all_nodes_are_down))


def snapshot(path: Path, out: Path, *, force: bool = False) -> Snapshot:
    """Writes what a running recording has so far into `out`, an ordinary, complete file, and says what it left out.

    The recording is not disturbed. `out` has its name only when it is complete. Rows are counted as `recover` counts
    them; what came in since the last flush may be missing. Raises UsageError where nobody writes a run at `path`, or
    where `out` exists (unless `force`).
    """
    from thalweg._reports import snapshot_of

    return snapshot_of(os.fspath(path), _core.snapshot(os.fspath(path), os.fspath(out), force))
