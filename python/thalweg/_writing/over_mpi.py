"""Runs that the ranks of an MPI communicator write together. MPI is used only to begin and to end the run."""

from __future__ import annotations

import atexit
import errno
from typing import Any, Protocol, Self

from thalweg import _core
from thalweg._base.errors import Error, SystemError, text_of  # noqa: A004
from thalweg._base.ranks import Over
from thalweg._schema.schema import Schema
from thalweg._writing.begin import Beginning
from thalweg._writing.producer import Producer, Producers
from thalweg._writing.reports import RunReport, report_of
from thalweg._writing.work_unit import Key, UnitTables, WorkUnit, begin, stored_key


class Communicator(Protocol):
    """The methods of a communicator that are used; communicators of mpi4py have them."""

    def Get_rank(self) -> int: ...  # noqa: N802
    def Get_size(self) -> int: ...  # noqa: N802
    def Ibarrier(self) -> Any: ...  # noqa: N802
    def Split_type(self, split_type: int) -> Any: ...  # noqa: N802
    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None: ...
    def bcast(self, obj: Any, root: int = 0) -> Any: ...


class Shared:
    """A run that all ranks of a communicator write, as one rank sees it.

    When its `with` block ends, the run is closed, on all ranks together. If the block of one rank ends with an
    exception, the run is abandoned on all ranks: the others raise an error when they close, and `recover` can complete
    the file.
    """

    def __init__(self, comm: Communicator, core: _core.SharedRun) -> None:
        self._comm = comm
        self._core = core
        self.schema = Schema.from_json(core.schema)
        self.path = core.path
        self._producers = Producers(self.schema)
        self._unit_tables = UnitTables(self.schema)
        # The others wait for this rank when they close. MPI is finalised only behind what is registered here.
        atexit.register(self._end_with_the_program)

    def _end_with_the_program(self) -> None:
        self.abandon("the program ended before it had closed the run")

    def producer(self, table: str) -> Producer:
        """Returns a producer for a table; each thread needs its own."""
        return self._producers.make(self._core, table)

    def work_unit(self, key: Key, summary: bytes | str = b"") -> WorkUnit:
        """Begins a work unit, as `Writer.work_unit` does. A key belongs to its machine, unless machines share keys."""
        return begin(self._core.work_units(), self._unit_tables, key, summary)

    def take_keys(self, key: Key) -> bool:
        """Takes keys for this machine, as `Writer.take_keys` does."""
        return self._core.work_units().take(stored_key(key))

    def close(self) -> RunReport:
        """Completes the file; all ranks must call it, and all return the whole report.

        If it fails on one rank, it raises the same error on all of them, and names that rank.
        """
        atexit.unregister(self._end_with_the_program)
        try:
            self._producers.finish()
        except BaseException as error:
            self._abandon(error)
            raise
        result = self._core.close()
        own = report_of(result) if result is not None and self._comm.Get_rank() == 0 else None
        whole: RunReport = self._comm.bcast(own, root=0)
        return whole

    def abandon(self, reason: str = "the run was abandoned") -> None:
        """Ends the run for all ranks without completing the file. The other ranks raise an error when they close."""
        self._abandon(SystemError(errno.ECANCELED, reason))

    def _abandon(self, error: BaseException) -> None:
        atexit.unregister(self._end_with_the_program)
        self._producers.abandon(text_of(error) if not isinstance(error, Error) else str(error))
        self._core.abandon(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            self.close()
        else:
            self._abandon(error)

    def __repr__(self) -> str:
        return f"<Shared of {self.path}, rank {self._comm.Get_rank()} of {self._comm.Get_size()}>"


def begin_over(comm: Communicator, wanted: Beginning) -> Shared:
    """All ranks call it. If one of them fails, all raise the error of the first that did."""
    ranks = Over(comm, sleeps=True)
    try:
        checked = wanted.checked()
    except Exception as error:
        _core.refuse_over(ranks, str(wanted.path), error)
        raise
    core = _core.create_over(ranks, checked.path, checked.schema, checked.options, checked.metadata, checked.resume)
    return Shared(comm, core)
