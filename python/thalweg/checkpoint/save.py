"""Saving, at once or in a thread."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._attributes import Attributes
from thalweg._errors import UsageError
from thalweg.checkpoint.blocks import Blocks, declare
from thalweg.checkpoint.ranks import Over, Ranks, duplicate, ranks_of

Path = str | os.PathLike[str]

_NO_LIMIT = 2**64 - 1
_waited_for: dict[str, SavingInBackground] = {}
_kept_memory: list[_core.AlignedBuffer] = []  # touching memory for the first time costs more than the copy


@dataclass(frozen=True)
class SaveReport:
    """Of a checkpoint that is durable. `bytes`: of all arrays; `engine`: how rank 0 wrote."""

    path: str
    id: str
    engine: str
    bytes: int
    file_bytes: int


def save(
    path: Path,
    blocks: Blocks,
    comm: Any = None,
    *,
    attributes: Mapping[str, Any] | None = None,
    keep: int = 2,
    codec: str | Mapping[str, str] = "none",
) -> SaveReport:
    """Saves arrays that are spread over the ranks of `comm`, of mpi4py; without it this is the only rank.

    All ranks call it, with the same names and their own blocks: `save("psi.h5", {"psi": Block(...)}, comm)`. It returns
    when the file is durable. The one before becomes `psi.h5.1`, and `keep` of them stay.

    attributes: numbers and texts that belong to it (those of rank 0 count). codec: "bitshuffle+lz4" for all arrays, or
    one for each name; lossless.

    Raises on all ranks what fails on any, naming that rank; the checkpoint before is untouched then. What a
    `save_async` to the same path failed with, and nobody has heard, is raised here.
    """
    _hear(path)
    ranks = ranks_of(comm)
    saving = _begin(path, blocks, ranks, attributes, keep, codec, _NO_LIMIT)
    saving.encode()
    saving.place(ranks)
    saving.write()
    return _report(saving.finish(ranks))


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
    """As `save`, but returns when the blocks are copied: a thread writes them, and the arrays may change.

    What ranks disagree about is raised here, everything else by `wait` or by the next save to that path, which waits
    for this one. So there is never more than one copy for a path; it is used again. memory: bytes that a rank's copy
    may have; where one would have more, all ranks save at once.

    MPI has to allow threads (MPI_THREAD_MULTIPLE, as mpi4py asks for); otherwise the file is complete when all have
    called `wait`, and not before.
    """
    _hear(path)
    ranks = ranks_of(comm)
    saving = _begin(path, blocks, ranks, attributes, keep, codec, _NO_LIMIT if memory is None else memory)
    handle = SavingInBackground(os.path.abspath(path), saving, comm, ranks)
    _waited_for[handle.path] = handle
    return handle


class SavingInBackground:
    """A save that a thread goes on with."""

    def __init__(self, path: str, saving: _core.Saving, comm: Any, ranks: Ranks) -> None:
        self.path = path
        self._saving: _core.Saving | None = saving
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
        except RuntimeError:  # the machine has no thread left, and the other ranks count on this one
            self._run(saving, own_ranks)
        else:
            self._thread = thread

    def wait(self) -> SaveReport:
        """Returns when the checkpoint is durable, or raises what failed. All ranks call it."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._saving is not None:
            saving, self._saving = self._saving, None
            self._finish(saving)
        if self._error is not None:
            raise self._error
        assert self._report is not None
        return self._report

    @property
    def unheard(self) -> str:
        """Why there is no such checkpoint, where nobody has called `wait` to hear of it; else empty."""
        if self._error is not None:
            return str(self._error)
        return "" if self._report is not None else "not all ranks have called wait(), which completes it"

    @property
    def is_done(self) -> bool:
        """`wait` would not wait for the thread."""
        return self._thread is None or not self._thread.is_alive()

    def _run(self, saving: _core.Saving, own_ranks: Ranks | None) -> None:
        try:
            if own_ranks is not None:
                saving.encode()
                saving.place(own_ranks)
            saving.write()
            saving.end_writes()  # here: they are this thread's
            if own_ranks is not None:
                self._report = _report(saving.finish(own_ranks))
        except BaseException as error:
            self._error = error

    def _finish(self, saving: _core.Saving) -> None:
        _waited_for.pop(self.path, None)
        try:
            if self._report is None and self._error is None:
                self._report = _report(saving.finish(self._ranks))
        except BaseException as error:
            self._error = error
        if self._memory is not None and not _kept_memory:
            _kept_memory.append(self._memory)
        self._memory = None
        if self._own_comm is not None:
            self._own_comm.Free()

    def __repr__(self) -> str:
        return f"<SavingInBackground to {self.path}, {'done' if self.is_done else 'at work'}>"


def _report(report: _core.SaveReport) -> SaveReport:
    return SaveReport(report.path, report.id, report.engine, report.bytes, report.file_bytes)


@atexit.register  # threads have ended by then
def _tell_what_nobody_heard() -> None:
    for handle in _waited_for.values():
        if why := handle.unheard:
            sys.stderr.write(f"thalweg: {handle.path} is not saved ({why}): call wait() of what save_async returns\n")


def _hear(path: Path) -> None:
    handle = _waited_for.get(os.path.abspath(path))
    if handle is not None:
        handle.wait()


def _begin(
    path: Path,
    blocks: Blocks,
    ranks: Ranks,
    attributes: Mapping[str, Any] | None,
    keep: int,
    codec: str | Mapping[str, str],
    most_copy_bytes: int,
) -> _core.Saving:
    declared, schema, refusal = [], "", ""
    try:
        given = attributes if isinstance(attributes, Attributes) else Attributes(attributes, of=str(path))
        schema = json.dumps({"tables": [], "attributes": given.to_json()})
        declared = declare(blocks, codec)
    except UsageError as error:
        refusal = str(error)
    except Exception as error:  # the other ranks are told of it, whatever it is
        refusal = f"{type(error).__name__}: {error}"
    return _core.Saving(os.fspath(path), declared, ranks, schema, keep, most_copy_bytes, refusal)
