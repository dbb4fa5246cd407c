"""Saves checkpoints, at once or in the background."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._base.paths import Path
from thalweg._base.ranks import Over, Ranks, duplicate, ranks_of
from thalweg._base.report import Report
from thalweg._schema.attributes import Attributes
from thalweg.checkpoint.agreed import agreed, number, path_text
from thalweg.checkpoint.blocks import Blocks, declare

_NO_LIMIT = 2**64 - 1
_MOST_KEPT = 2**31 - 1
_waited_for: dict[str, SavingInBackground] = {}
_kept_memory: list[_core.AlignedBuffer] = []  # touching memory for the first time costs more than the copy


@dataclass(frozen=True)
class SaveReport(Report):
    """The report of a durable checkpoint. `bytes` is the size of all arrays, `engine` the I/O engine of rank 0.

    `problems` says what was found damaged and is replaced.
    """

    path: str
    id: str
    engine: str
    bytes: int
    file_bytes: int
    problems: tuple[str, ...] = ()


def save(
    path: Path,
    blocks: Blocks,
    comm: Any = None,
    *,
    attributes: Mapping[str, Any] | None = None,
    keep: int = 2,
    codec: str | Mapping[str, str] = "none",
) -> SaveReport:
    """Saves arrays that are distributed over the ranks of `comm`, a communicator of mpi4py. None: there is one rank.

    All ranks must call it with the same names and their own blocks: `save("psi.h5", {"psi": Block(...)}, comm)`. It
    returns when the file is durable. The previous checkpoint becomes `psi.h5.1`. If `psi.h5` is a symbolic link, the
    file that it leads to is replaced. The mode of the file stays.

    attributes: numbers and texts to keep with the checkpoint: the same on all ranks, or on rank 0 alone.
    keep: the number of checkpoints that stay, this one included. Only what saves to this path have made is removed.
    codec: the lossless compression, such as "bitshuffle+lz4", of all arrays, or a dictionary with one for each name.

    If it fails on one rank, it raises the same error on all ranks and names that rank; previous checkpoints then stay
    as they are. An error of an earlier `save_async` to the same path that `wait` has not reported is raised here.
    """
    ranks = ranks_of(comm)
    with _begun(path, blocks, comm, ranks, attributes, keep, codec, _NO_LIMIT) as saving:
        saving.encode()
        saving.place(ranks)
        saving.write()
        report = SaveReport.of(saving.finish(ranks))
    return _told(report, ranks)


def save_async(
    path: Path,
    blocks: Blocks,
    comm: Any = None,
    *,
    attributes: Mapping[str, Any] | None = None,
    keep: int = 2,
    codec: str | Mapping[str, str] = "none",
    memory: int | None = None,
) -> SavingInBackground:
    """Saves like `save`, but returns once the blocks are copied. A thread writes the copy, so the arrays may change.

    Errors that are known before anything is written (a wrong request, a disk without room for the arrays) are raised
    here; all other errors are raised by `wait`, or by the next save to that path, which waits for this one. There is
    never more than one copy for a path, and its memory is reused.

    memory: the most bytes that the copy of a rank may have. If a rank needs more, all ranks save at once.

    If MPI does not allow threads (MPI_THREAD_MULTIPLE, which mpi4py requests), the file is complete only when all ranks
    have called `wait`.
    """
    ranks = ranks_of(comm)
    begun = _begin(path, blocks, comm, ranks, attributes, keep, codec, memory)
    try:
        handle = SavingInBackground(os.path.abspath(path), begun, comm, ranks)
    except BaseException:
        begun.close()
        raise
    _waited_for[handle.path] = handle
    return handle


class SavingInBackground:
    """A save that a thread continues in the background."""

    def __init__(self, path: str, saving: _core.Saving, comm: Any, ranks: Ranks) -> None:
        self.path = path
        self._saving: _core.Saving | None = saving
        self._comm = comm
        self._ranks = ranks
        self._report: SaveReport | None = None
        self._error: BaseException | None = None
        self._own_comm = None
        self._memory: _core.AlignedBuffer | None = None
        self._thread: threading.Thread | None = None
        if not saving.may_copy:
            saving.encode()
            saving.place(ranks)
            saving.write()
            return
        self._memory = _kept_memory.pop() if _kept_memory else _core.AlignedBuffer()
        saving.copy_blocks(self._memory)
        self._own_comm = duplicate(comm)
        own_ranks = ranks if comm is None else None
        if self._own_comm is not None:
            own_ranks = Over(self._own_comm, sleeps=True)
        if own_ranks is None:
            saving.encode()
            saving.place(ranks)
        thread = threading.Thread(target=self._run, args=(saving, own_ranks), name="thalweg checkpoint")
        try:
            thread.start()
        except RuntimeError:  # no thread can be started, but the other ranks wait for this one
            self._run(saving, own_ranks)
        else:
            self._thread = thread

    def wait(self) -> SaveReport:
        """Waits until the checkpoint is durable and returns its report. All ranks must call it. Raises what failed."""
        self.complete()
        if self._error is not None:
            self._forget()
            raise self._error
        assert self._report is not None
        return self._report

    def complete(self) -> None:
        """Does what `wait` does, but keeps an error for it."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._saving is not None:
            saving, self._saving = self._saving, None
            self._finish(saving)
            if self._error is None:
                self._forget()

    def needs_all_ranks(self, path: str, comm: Any) -> bool:
        """Returns whether a save to `path` over `comm` must first let all ranks complete this one together."""
        has_ended = self._own_comm is not None or self._ranks.size == 1 or self._saving is None
        return not has_ended and (self.path == path or self._comm == comm)

    @property
    def unheard(self) -> str:
        """Why the checkpoint was not saved, if `wait` was not called to report it; otherwise empty."""
        if self._error is not None:
            return str(self._error)
        return "" if self._report is not None else "not all ranks have called wait(), which completes it"

    @property
    def is_done(self) -> bool:
        """Whether the thread is done, so that `wait` returns without waiting for it."""
        return self._thread is None or not self._thread.is_alive()

    def _run(self, saving: _core.Saving, own_ranks: Ranks | None) -> None:
        try:
            if own_ranks is not None:
                saving.encode()
                saving.place(own_ranks)
            saving.write()
            saving.end_writes()  # called here, since the writes belong to this thread
            if own_ranks is not None:
                self._report = SaveReport.of(saving.finish(own_ranks))
        except BaseException as error:
            self._error = error
            saving.close()  # the error refers to this frame: code that keeps the error must keep no file locked

    def _forget(self) -> None:
        """Lets neither the next save to this path nor the end of the program ask for this one."""
        if _waited_for.get(self.path) is self:
            del _waited_for[self.path]

    def _finish(self, saving: _core.Saving) -> None:
        try:
            if self._report is None and self._error is None:
                self._report = SaveReport.of(saving.finish(self._ranks))
        except BaseException as error:
            self._error = error
        saving.close()
        if self._memory is not None and not _kept_memory:
            _kept_memory.append(self._memory)
        self._memory = None
        if self._own_comm is not None:
            self._own_comm.Free()
        if self._report is not None:
            _told(self._report, self._ranks, stacklevel=5)

    def __repr__(self) -> str:
        return f"<SavingInBackground to {self.path}, {'done' if self.is_done else 'at work'}>"


@atexit.register  # all threads have ended when it runs
def _tell_what_was_not_heard() -> None:
    for handle in _waited_for.values():
        if why := handle.unheard:
            sys.stderr.write(
                f"thalweg: {handle.path} is not saved ({why}): call wait() of the object that save_async returns\n"
            )


def _hear(path: str) -> None:
    handle = _waited_for.get(os.path.abspath(path))
    if handle is not None:
        handle.wait()


def _complete_earlier(path: Any, comm: Any) -> None:
    """Completes saves that need this thread, in their order, before ranks compare what they give. Errors wait."""
    try:
        whole = os.path.abspath(path)
    except Exception:  # of which all ranks are told when they compare what they give
        whole = ""
    for handle in list(_waited_for.values()):
        if handle.needs_all_ranks(whole, comm):
            handle.complete()


def _told(report: SaveReport, ranks: Ranks, stacklevel: int = 3) -> SaveReport:
    if report.problems and ranks.rank == 0:
        warnings.warn("; ".join(report.problems), stacklevel=stacklevel)
    return report


def _begin(
    path: Path,
    blocks: Blocks,
    comm: Any,
    ranks: Ranks,
    attributes: Mapping[str, Any] | None,
    keep: int,
    codec: str | Mapping[str, str],
    memory: int | None,
) -> _core.Saving:
    def request() -> _core.SaveRequest:
        text = path_text(path)
        _hear(text)
        given = attributes if isinstance(attributes, Attributes) else Attributes(attributes, of=text)
        schema = json.dumps({"tables": [], "attributes": given.to_json()})
        most_copied = _NO_LIMIT if memory is None else number("memory", memory, 0, _NO_LIMIT)
        most_kept = number("keep", keep, 1, _MOST_KEPT)
        try:
            return _core.SaveRequest(text, declare(blocks, codec), schema, most_kept, most_copied)
        except DataError as error:  # what was given has no form in the file; no file was read
            raise UsageError(str(error)) from None

    _complete_earlier(path, comm)
    return _core.Saving(agreed(ranks, path, _core.refuse_save, request), ranks)


@contextmanager
def _begun(*arguments: Any) -> Iterator[_core.Saving]:
    """Lets a save go when it ends: an exception that the caller keeps refers to it."""
    saving = _begin(*arguments)
    try:
        yield saving
    finally:
        saving.close()
