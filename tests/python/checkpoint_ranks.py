"""Ranks that are processes of this machine, and speak through pipes: with the methods of mpi4py's communicators."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

_CONTEXT = multiprocessing.get_context("fork")
_PATIENCE_S = 300


class PipeCommunicator:
    """Every rank has a pipe to rank 0, which hands on what is said."""

    def __init__(self, rank: int, pipes: list[Any]) -> None:
        self._rank = rank
        self._pipes = pipes  # of rank 0: to each other one; of the others: to rank 0, and it alone
        self._size = 0

    def Get_rank(self) -> int:  # noqa: N802 (as mpi4py has it)
        return self._rank

    def Get_size(self) -> int:  # noqa: N802
        return self._size

    def gather(self, own: Any, root: int = 0) -> list[Any] | None:
        assert root == 0
        if self._rank != 0:
            self._pipes[0].send(own)
            return None
        return [own, *(_receive(pipe) for pipe in self._pipes)]

    def bcast(self, of_rank_0: Any, root: int = 0) -> Any:
        assert root == 0
        if self._rank != 0:
            return _receive(self._pipes[0])
        for pipe in self._pipes:
            pipe.send(of_rank_0)
        return of_rank_0

    def exscan(self, own: int) -> int | None:
        said = self.bcast(self.gather(own))
        return sum(said[: self._rank]) if self._rank else None


def _receive(pipe: Any) -> Any:
    if not pipe.poll(_PATIENCE_S):
        raise TimeoutError("another rank says nothing")
    return pipe.recv()


class Ranks:
    """Processes that each call `job(comm, *arguments)`."""

    def __init__(self, count: int, job: Callable[..., Any], *arguments: Any) -> None:
        pairs = [_CONTEXT.Pipe() for _ in range(1, count)]
        self._answers = [_CONTEXT.Pipe() for _ in range(count)]
        self.processes = []
        for rank in range(count):
            comm = PipeCommunicator(rank, [mine for mine, _ in pairs] if rank == 0 else [pairs[rank - 1][1]])
            comm._size = count
            work = (comm, self._answers[rank][1], job, arguments)
            self.processes.append(_CONTEXT.Process(target=_run, args=work))
        for process in self.processes:
            process.start()

    def answers(self) -> list[Any]:
        """What each returned; the exception that it ended with, as text."""
        said = []
        for process, (mine, _) in zip(self.processes, self._answers, strict=True):
            said.append(mine.recv() if mine.poll(_PATIENCE_S) else "this rank never came back")
            process.join(_PATIENCE_S)
        return said

    def kill(self) -> None:
        for process in self.processes:
            os.kill(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.join(_PATIENCE_S)


def _run(comm: PipeCommunicator, answer: Any, job: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer.send(job(comm, *arguments))
    except Exception as error:
        traceback.print_exc()
        answer.send(f"{type(error).__name__}: {error}")


def on_ranks(count: int, job: Callable[..., Any], *arguments: Any) -> list[Any]:
    return Ranks(count, job, *arguments).answers()
