"""Runs that the ranks of an MPI communicator write together. MPI is used only to begin and to end the run."""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self

from thalweg._base.errors import SystemError, UsageError, text_of  # noqa: A004
from thalweg._schema.schema import Schema
from thalweg._schema.schema import schema as schema_of
from thalweg._writing.attached import Attached, attach
from thalweg._writing.producer import Producer
from thalweg._writing.reports import RunReport
from thalweg._writing.work_unit import Key, WorkUnit

if TYPE_CHECKING:
    from thalweg._base.paths import Path
    from thalweg._writing.writer import Writer


_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0002, 0.02


class Communicator(Protocol):
    """The methods of a communicator that are used; communicators of mpi4py have them."""

    def Get_rank(self) -> int: ...  # noqa: N802
    def Get_size(self) -> int: ...  # noqa: N802
    def Ibarrier(self) -> Any: ...  # noqa: N802
    def Split_type(self, split_type: int) -> Any: ...  # noqa: N802
    def allgather(self, sendobj: Any) -> list[Any]: ...
    def bcast(self, obj: Any) -> Any: ...


class Shared:
    """A run that all ranks of a communicator write, as one rank sees it.

    When its `with` block ends, the run is closed, on all ranks together. If the block of one rank ends with an
    exception, the run is abandoned on all ranks: the others raise an error when they close, and `recover` can complete
    the file.
    """

    def __init__(self, comm: Communicator, out: Writer | Attached) -> None:
        self._comm = comm
        self._out = out
        self.schema = out.schema
        self.path = out.path
        # The others wait for this rank when they close. MPI is finalised only behind what is registered here.
        atexit.register(self._end_with_the_program)

    def _end_with_the_program(self) -> None:
        self.abandon("the program ended before it had closed the run")

    def producer(self, table: str) -> Producer:
        """Returns a producer for a table; each thread needs its own."""
        return self._out.producer(table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """Begins a work unit, as `Writer.work_unit` does. A key belongs to its machine, unless machines share keys."""
        return self._out.work_unit(key, summary)

    def take_keys(self, key: Key) -> bool:
        """Takes keys for this machine, as `Writer.take_keys` does."""
        return self._out.take_keys(key)

    def close(self) -> RunReport:
        """Completes the file; all ranks call it, and have the whole report.

        Raises SystemError that names the first rank which failed, and why, on all of them.
        """
        report = None
        atexit.unregister(self._end_with_the_program)
        try:
            self._agree(None)  # nobody has ended on an exception
            self._together(self._finish)
            report = self._together(self._close)
        except BaseException as error:
            self._out.abandon(text_of(error))
            raise
        whole: RunReport = self._comm.bcast(report)
        return whole

    def abandon(self, reason: str = "the run was abandoned") -> None:
        """Ends the run for all ranks without completing the file. The other ranks raise an error when they close."""
        atexit.unregister(self._end_with_the_program)
        self._out.abandon(reason)
        _told(self._comm, reason)

    def _finish(self) -> None:
        if isinstance(self._out, Attached):
            self._out.finish()

    def _close(self) -> RunReport | None:
        return None if isinstance(self._out, Attached) else self._out.close()

    def _together(self, work: Any) -> Any:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:
            failure = text_of(error)
        self._agree(failure)
        return result

    def _agree(self, failure: str | None) -> None:
        _agree(self._comm, self.path, failure)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon(text_of(error))

    def __repr__(self) -> str:
        return f"<Shared of {self.path}, rank {self._comm.Get_rank()} of {self._comm.Get_size()}>"


def create_over(
    comm: Communicator, path: Path, schema: Schema | Mapping[str, Any] | None, options: Mapping[str, Any]
) -> Shared:
    """What `create` does where it is given a communicator."""
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    out: Writer | Attached | None = None
    failure = wanted = None
    try:
        wanted = _wanted(path, schema, options)
    except Exception as error:
        failure = text_of(error)
    said = comm.allgather((here.Get_rank() == 0, wanted))
    is_first = [first for first, _ in said]
    try:
        wants = [wanted for _, wanted in said if wanted is not None]
        if len(wants) == len(said):
            _check(wants)
        if here.Get_rank() == 0 and len(wants) == len(said):
            out = _begin(path, schema, 1 + sum(is_first[: comm.Get_rank()]), sum(is_first), options)
    except Exception as error:
        failure = text_of(error)
    try:
        _agree(comm, str(path), failure)
        handle = here.bcast(out.handle if out is not None and not isinstance(out, Attached) else None)
        try:
            out = out or attach(handle)
        except Exception as error:
            failure = text_of(error)
        _agree(comm, str(path), failure)
    except BaseException as error:
        if out is not None:
            out.abandon(text_of(error))
        raise
    finally:
        here.Free()
    assert out is not None
    return Shared(comm, out)


def _wanted(path: Path, schema: Schema | Mapping[str, Any] | None, options: Mapping[str, Any]) -> tuple[str, bytes]:
    """What has to be the same on all ranks: the path, and a digest of the schema."""
    if schema is None:
        if not options["resume"]:
            raise UsageError(f"{os.fspath(path)} cannot be created without a schema: give one, or resume=True")
        return os.fspath(path), b""
    given = schema if isinstance(schema, Schema) else schema_of(schema)
    return os.fspath(path), hashlib.sha256(given.to_json().encode()).digest()


def _check(wanted: list[tuple[str, bytes]]) -> None:
    """Before anything is created."""
    first_path, first_schema = wanted[0]
    for rank, (path, schema) in enumerate(wanted):
        if path != first_path:
            raise UsageError(
                f"ranks 0 and {rank} do not write the same file ({first_path} and {path}): "
                "give the same path on all ranks"
            )
        if schema != first_schema:
            raise UsageError(f"rank {rank} gives another schema than rank 0: give the same one on all ranks")


def _begin(
    path: Path, schema: Schema | Mapping[str, Any] | None, node: int, nodes: int, options: Mapping[str, Any]
) -> Writer:
    from thalweg._writing.create import create, join

    if node == 1:
        first: Writer = create(path, schema, nodes=nodes, **options)
        return first
    timeout, resume = options["node_timeout"], options["resume"]
    return join(path, node=node, nodes=nodes, schema=schema, node_timeout=timeout, resume=resume)


# Others may still compute for long: an MPI that waits for them in a call of its own keeps a core busy.
def _told(comm: Communicator, failure: str | None) -> list[str | None]:
    """What each rank says, in their order."""
    all_are_here = comm.Ibarrier()
    pause = _SHORTEST_PAUSE
    while not all_are_here.Test():
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return comm.allgather(failure)


def _agree(comm: Communicator, path: str, failure: str | None) -> None:
    failed = [(rank, text) for rank, text in enumerate(_told(comm, failure)) if text is not None]
    if failed:
        rank, text = failed[0]
        raise SystemError(errno.ECANCELED, f"{path} cannot be written by all ranks (rank {rank}: {text})")
