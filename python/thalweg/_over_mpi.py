"""A run that the ranks of an MPI communicator write together. MPI is asked when it begins and ends, and not between."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any, Self

from thalweg._attach import Attached, Producer, attach, text_of
from thalweg._errors import SystemError  # noqa: A004
from thalweg._reports import RunReport
from thalweg._schema import Schema
from thalweg._work_unit import Key, WorkUnit
from thalweg._write import Path, Writer, create, join


class Shared:
    """What one rank has of a run that all ranks of a communicator write.

    Leaving its `with` block closes the run, on all ranks together. A rank that leaves it on an exception abandons the
    run for all: the others hear of it when they close, and `recover` completes the file.
    """

    def __init__(self, comm: Any, out: Writer | Attached) -> None:
        self._comm = comm
        self._out = out
        self.schema = out.schema
        self.path = out.path

    def producer(self, table: str) -> Producer:
        """One for each thread."""
        return self._out.producer(table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """As `Writer.work_unit`. A key belongs to the machine that it was given to."""
        return self._out.work_unit(key, summary)

    def close(self) -> RunReport:
        """Completes the file; all ranks call it, and have the whole report.

        Raises SystemError that names the first rank which failed, and why, on all of them.
        """
        report = None
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
        """Ends the run for all ranks without completing the file; the others hear of it when they close."""
        self._out.abandon(reason)
        self._comm.allgather(reason)

    def _finish(self) -> None:
        if isinstance(self._out, Attached):
            self._out.finish()

    def _close(self) -> RunReport | None:
        return self._out.close() if isinstance(self._out, Writer) else None

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


def create_over(comm: Any, path: Path, schema: Schema | Mapping[str, Any], **options: Any) -> Shared:
    """A new file that all ranks of `comm`, of mpi4py, write: `tw.create_over(MPI.COMM_WORLD, "run.h5", schema)`.

    All ranks call it. The first rank of each machine creates the run or joins it, and the others attach to that one.
    options: of `create`.

    Raises SystemError that names the first rank which failed, and why, on all of them.
    """
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    is_first = comm.allgather(here.Get_rank() == 0)
    out: Writer | Attached | None = None
    failure = None
    try:
        if here.Get_rank() == 0:
            out = _begin(path, schema, 1 + sum(is_first[: comm.Get_rank()]), sum(is_first), options)
    except Exception as error:
        failure = text_of(error)
    try:
        _agree(comm, path, failure)
        handle = here.bcast(out.handle if isinstance(out, Writer) else None)
        try:
            out = out or attach(handle)
        except Exception as error:
            failure = text_of(error)
        _agree(comm, path, failure)
    except BaseException as error:
        if out is not None:
            out.abandon(text_of(error))
        raise
    finally:
        here.Free()
    assert out is not None
    return Shared(comm, out)


def _begin(path: Path, schema: Schema | Mapping[str, Any], node: int, nodes: int, options: Mapping[str, Any]) -> Writer:
    if node == 1:
        return create(path, schema, nodes=nodes, **options)
    return join(path, node=node, nodes=nodes, schema=schema, node_timeout=options.get("node_timeout", 60))


def _agree(comm: Any, path: Path, failure: str | None) -> None:
    said = comm.allgather(failure)
    failed = [(rank, text) for rank, text in enumerate(said) if text is not None]
    if failed:
        rank, text = failed[0]
        raise SystemError(errno.ECANCELED, f"{path} cannot be written by all ranks (rank {rank}: {text})")
