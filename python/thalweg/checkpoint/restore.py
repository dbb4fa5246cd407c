"""Restoring, on any number of ranks and in any blocks."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg import _core
from thalweg._attributes import Attributes
from thalweg._errors import UnknownNameError, UsageError
from thalweg.checkpoint.ranks import ranks_of


class State:
    """A checkpoint that has been found. Each rank reads what it wants of it, when it wants."""

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
        """The elements of an array from the index `start` on, in that shape; all of it where both are left out.

        out: a C-contiguous array of the type and shape, which is filled and returned. Raises DataError where what is
        read is damaged.
        """
        kind, whole = self._array(name)
        first = tuple(map(int, start)) if start is not None else (0,) * len(whole)
        extents = tuple(map(int, shape)) if shape is not None else whole
        if shape is None and start is not None and len(first) == len(whole):
            extents = tuple(extent - index for extent, index in zip(whole, first, strict=True))
        if any(number < 0 for number in (*first, *extents)):
            raise UsageError(f"'{name}' of {self.path} has no elements from {first} on in the shape {extents}")
        if out is None:
            out = np.empty(extents, kind)
        elif out.dtype != kind or out.shape != extents or not out.flags.c_contiguous:
            raise UsageError(
                f"'{name}' cannot be read into an array of {out.dtype} and shape {out.shape}: "
                f"give a C-contiguous one of {kind} and shape {extents}"
            )
        self._state.read_into(name, first, extents, out)
        return out

    def shape(self, name: str) -> tuple[int, ...]:
        return self._array(name)[1]

    def dtype(self, name: str) -> np.dtype[Any]:
        return self._array(name)[0]

    def _array(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        if name not in self._arrays:
            raise UnknownNameError(f"{self.path} has no array '{name}'; it has {', '.join(self) or 'none'}")
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the arrays."""
        return iter(self._arrays)

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        arrays: Mapping[str, str] = {name: f"{kind}{list(shape)}" for name, (kind, shape) in self._arrays.items()}
        return f"<State of {self.path}: {', '.join(f'{name} {text}' for name, text in arrays.items())}>"


def restore(path: str | os.PathLike[str], comm: Any = None, *, verify: bool = True, threads: int = 4) -> State:
    """The newest checkpoint of `path`, `path.1`, ... that is whole. All ranks of `comm` call it.

    verify: all of a file is read and compared with its checksums before it is chosen, each rank a share. Where a newer
    one is damaged, a warning on rank 0 says so, and `problems` of the state on all ranks. Without it damage is found
    where it is read. threads: that read, on each rank.

    Raises SystemError (ENOENT) where there is none, DataError where all are damaged, UsageError where the file is
    no checkpoint.
    """
    ranks = ranks_of(comm)
    state = State(_core.restore_checkpoint(os.fspath(path), ranks, verify, threads))
    if state.problems and ranks.rank == 0:
        warnings.warn(f"{state.path} is restored instead of {path}: {'; '.join(state.problems)}", stacklevel=2)
    return state
