"""Restores checkpoints on any number of ranks and in any blocks."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg import _core
from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._base.paths import Path
from thalweg._base.ranks import ranks_of
from thalweg._base.suggestion import likely
from thalweg._schema.attributes import Attributes
from thalweg.checkpoint.agreed import agreed, number, path_text

_MOST_THREADS = 2**16


class State:
    """An open checkpoint. Each rank reads the parts that it needs, independently of the others.

    `path` and `id` identify the checkpoint, `attributes` has its attributes, and `problems` says why newer checkpoints
    were not used.
    """

    def __init__(self, state: _core.CheckpointState) -> None:
        self._state = state
        self._arrays = {name: (np.dtype(kind), tuple(shape)) for name, kind, shape, _ in state.arrays}
        self.path: str = state.path
        self.id: str = state.id
        self.problems: list[str] = state.problems
        self.attributes = Attributes.from_json(json.loads(state.schema).get("attributes", {}))

    def read(
        self,
        name: str,
        start: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        *,
        out: np.ndarray[Any, Any] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Returns the elements of an array from the index `start` on, with the given shape; by default, all of it.

        out: a C-contiguous array of that type and shape, which is filled and returned. Raises UnknownNameError if there
        is no such array, UsageError if the region or `out` does not fit, DataError if the region is damaged.
        """
        kind, whole = self._array(name)
        first = tuple(map(int, start)) if start is not None else (0,) * len(whole)
        extents = tuple(map(int, shape)) if shape is not None else whole
        if shape is None and start is not None and len(first) == len(whole):
            extents = tuple(extent - index for extent, index in zip(whole, first, strict=True))
        if any(number < 0 for number in (*first, *extents)):
            raise UsageError(
                f"'{name}' of {self.path} has no region with start {first} and shape {extents}: give 0 or more"
            )
        if out is None:
            out = np.empty(extents, kind)
        elif out.dtype != kind or out.shape != extents or not out.flags.c_contiguous:
            raise UsageError(
                f"'{name}' cannot be read into an array of type {out.dtype} and shape {out.shape}: "
                f"give a C-contiguous array of type {kind} and shape {extents}"
            )
        self._state.read_into(name, first, extents, out)
        return out

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of an array. Raises UnknownNameError if there is no such array."""
        return self._array(name)[1]

    def dtype(self, name: str) -> np.dtype[Any]:
        """Returns the element type of an array. Raises UnknownNameError if there is no such array."""
        return self._array(name)[0]

    def _array(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        if name not in self._arrays:
            arrays = ", ".join(self) or "none"
            raise UnknownNameError(f"{self.path} has no array '{name}'{likely(name, self)}; its arrays are {arrays}")
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the arrays."""
        return iter(self._arrays)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        arrays: Mapping[str, str] = {name: f"{kind}{list(shape)}" for name, (kind, shape) in self._arrays.items()}
        return f"<State of {self.path}: {', '.join(f'{name} {text}' for name, text in arrays.items())}>"


def restore(path: Path, comm: Any = None, *, verify: bool = True, threads: int = 4) -> State:
    """Returns the newest undamaged checkpoint that was saved to `path`. All ranks of `comm` must call it.

    verify: compare a whole file with its checksums before it is chosen, including what HDF5 needs to read it; each rank
        reads a part. If a newer checkpoint is damaged or missing, rank 0 warns, and `problems` of the state says so on
        all ranks. Without `verify`, damage is found only when the damaged part is read.
    threads: the number of threads that read on each rank.

    Raises SystemError (ENOENT) if there is no checkpoint, DataError if all of them are damaged, UsageError if the file
    is not a checkpoint. If it fails on one rank, it raises the same error on all ranks.
    """
    ranks = ranks_of(comm)
    given = agreed(
        ranks,
        path,
        _core.refuse_restore,
        lambda: (path_text(path), bool(verify), number("threads", threads, 0, _MOST_THREADS)),
    )
    state = State(_core.restore_checkpoint(given[0], ranks, *given[1:]))
    if state.problems and ranks.rank == 0:
        instead = "" if state.path == given[0] else f"{state.path} is restored instead of {path}: "
        warnings.warn(f"{instead}{'; '.join(state.problems)}", stacklevel=2)
    return state
