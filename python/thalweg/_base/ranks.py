"""Communication of ranks: by a communicator of mpi4py, or by any object with the same few methods."""

from __future__ import annotations

import time
from typing import Any, Protocol

_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.0002, 0.02


class Ranks(Protocol):
    """The interface that the C++ core uses."""

    rank: int
    size: int

    def gather(self, own: bytes) -> list[bytes] | None: ...
    def broadcast(self, of_rank_0: bytes) -> bytes: ...
    def exclusive_sum(self, own: int) -> int: ...


class Alone:
    """The communicator of a program with a single rank."""

    rank = 0
    size = 1

    def gather(self, own: bytes) -> list[bytes]:
        return [own]

    def broadcast(self, of_rank_0: bytes) -> bytes:
        return of_rank_0

    def exclusive_sum(self, own: int) -> int:  # noqa: ARG002 (there is no rank before this one)
        return 0


class Over:
    """A communicator with the methods `Get_rank`, `Get_size`, `gather`, `bcast` and `exscan` of mpi4py.

    With `sleeps`, waiting for other ranks leaves the processor to others: a thread beside a simulation needs this.
    """

    def __init__(self, comm: Any, *, sleeps: bool = False) -> None:
        self._comm = comm
        self._sleeps = sleeps and hasattr(comm, "Ibarrier")
        self.rank = int(comm.Get_rank())
        self.size = int(comm.Get_size())

    def gather(self, own: bytes) -> list[bytes] | None:
        self._meet()
        all_said: list[bytes] | None = self._comm.gather(own, root=0)
        return all_said

    def broadcast(self, of_rank_0: bytes) -> bytes:
        self._meet()
        return bytes(self._comm.bcast(of_rank_0, root=0))

    def exclusive_sum(self, own: int) -> int:
        self._meet()
        return self._comm.exscan(own) or 0

    def first_rank_here(self) -> int:
        """Returns the lowest rank on the machine of this one. All ranks must call it."""
        from mpi4py import MPI

        here = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        try:
            return int(here.bcast(self.rank, root=0))
        finally:
            here.Free()

    def _meet(self) -> None:
        if self._sleeps:
            all_are_here = self._comm.Ibarrier()
            pause = _SHORTEST_PAUSE_S
            while not all_are_here.Test():
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)


def ranks_of(comm: Any) -> Ranks:
    return Alone() if comm is None else Over(comm)


def duplicate(comm: Any) -> Any:
    """Returns a communicator for another thread, or None if MPI does not allow threads. All ranks must call it."""
    if not hasattr(comm, "Dup") or not _threads_may_speak():
        return None
    return comm.Dup()


def _threads_may_speak() -> bool:
    from mpi4py import MPI

    return bool(MPI.Query_thread() == MPI.THREAD_MULTIPLE)
