"""The parts of an array that a rank holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError

_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
_TYPES = frozenset(_NAMES.split())


@dataclass(frozen=True)
class Block:
    """A part of a distributed array: `array` begins at the index `start` of an array with shape `global_shape`.

    It may be a view, for example of the inner part of an array with a halo. It is not copied before it is written.
    """

    array: Any
    global_shape: Sequence[int]
    start: Sequence[int]


Blocks = Mapping[str, Block | Sequence[Block]]
# The form for the C++ core: name, type, shape, codec, blocks.
Declared = tuple[str, str, list[int], str, list[tuple[list[int], list[int], list[int], np.ndarray[Any, Any]]]]


def declare(blocks: Blocks, codec: str | Mapping[str, str]) -> list[Declared]:
    """Returns the arrays in the form for the core. Raises UsageError for errors that one rank alone can find."""
    if isinstance(codec, Mapping) and (unknown := set(codec) - set(blocks)):
        raise UsageError(f"codec names arrays that are not saved ({', '.join(sorted(unknown))}): leave them out")
    return [_declare(name, blocks[name], codec) for name in sorted(blocks)]


def _declare(name: str, given: Block | Sequence[Block], codec: str | Mapping[str, str]) -> Declared:
    all_blocks = [given] if isinstance(given, Block) else list(given)
    own_codec = codec if isinstance(codec, str) else codec.get(name, "none")
    if not all_blocks:
        return name, "complex128", [], own_codec, []  # other ranks know the type and shape
    for each in all_blocks:
        if not isinstance(each, Block):
            raise UsageError(f"the array '{name}' is {type(each).__name__}: give a Block, or a list of blocks")
    arrays = [_native(name, each.array) for each in all_blocks]
    shapes = {tuple(int(extent) for extent in each.global_shape) for each in all_blocks}
    kinds = {array.dtype.name for array in arrays}
    if len(shapes) > 1 or len(kinds) > 1:
        different = shapes if len(shapes) > 1 else kinds
        raise UsageError(
            f"the blocks of '{name}' differ ({' and '.join(map(str, sorted(different)))}): give all of them the same "
            f"{'global_shape' if len(shapes) > 1 else 'type'}"
        )
    (shape,) = shapes
    for extent in (*shape, *(index for each in all_blocks for index in each.start)):
        if int(extent) < 0:
            raise UsageError(f"the array '{name}' has a negative shape or start ({extent}): give 0 or more")
    parts = [
        ([int(index) for index in each.start], list(array.shape), list(array.strides), array)
        for each, array in zip(all_blocks, arrays, strict=True)
    ]
    return name, arrays[0].dtype.name, list(shape), own_codec, parts


def _native(name: str, given: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(given)
    if array.dtype.name not in _TYPES:
        raise UsageError(
            f"the array '{name}' cannot be saved (its elements are {array.dtype}): "
            "give bool, integers, float32, float64, complex64 or complex128"
        )
    if array.dtype.byteorder not in "=|" and array.dtype.byteorder != {"little": "<", "big": ">"}[sys.byteorder]:
        array = array.astype(array.dtype.newbyteorder("="))
    return array
