"""Every value of a recording follows from column, writer and row, so writers and judges compute the same."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
U64 = npt.NDArray[np.uint64]
Values = tuple[U64 | None, Array]  # the lengths of lists and texts, and all items one after the other

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SCALARS = ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]
COMMON = ["uint16", "int32", "float32", "float64", "uint64"]


@dataclass(frozen=True)
class Column:
    name: str
    kind: str  # scalar, array, list or text
    dtype: str
    shape: tuple[int, ...]  # of an array
    longest: int  # of a list or text
    seed: int
    is_calm: bool  # neighbours are alike, as in real data

    @property
    def items(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def row_bytes(self) -> int:
        items = self.longest // 2 + 8 if self.kind in ("list", "text") else self.items
        return items * np.dtype(self.dtype).itemsize


def random_column(chance: random.Random, index: int, is_wide: bool) -> Column:
    kind = chance.choices(["scalar", "array", "list", "text"], [12, 2, 4, 2])[0]
    dtype = "uint8" if kind == "text" else chance.choice(chance.choice([SCALARS, COMMON]))
    sizes = [2, 3, 7] if is_wide else [2, 5, 33, 200]
    shape = tuple(chance.choice(sizes) for _ in range(chance.choice([1, 1, 2]))) if kind == "array" else ()
    longest = chance.choice([0, 3, 12] if is_wide else [0, 3, 12, 100])
    return Column(f"c{index}", kind, dtype, shape, longest, chance.getrandbits(63), chance.random() < 0.5)


def mixed(numbers: U64) -> U64:
    """SplitMix64: every bit of the result depends on every bit of the number."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def values(column: Column, who: U64, row: U64) -> Values:
    """Returns the values of these rows of these writers, in their order."""
    if column.kind in ("scalar", "array"):
        index = np.arange(column.items, dtype=np.uint64)
        return None, _items(column, who[:, None], row[:, None], index).ravel()
    lengths = mixed(who * np.uint64(31) + row * np.uint64(1009) + np.uint64(column.seed)) % np.uint64(
        column.longest + 1
    )
    ends = np.cumsum(lengths, dtype=np.uint64)
    index = np.arange(int(lengths.sum()), dtype=np.uint64) - np.repeat(ends - lengths, lengths.astype(np.int64))
    repeats = lengths.astype(np.int64)
    return lengths, _items(column, np.repeat(who, repeats), np.repeat(row, repeats), index)


def _items(column: Column, who: U64, row: U64, index: U64) -> Array:
    seed = np.uint64(column.seed)
    if column.is_calm:
        raw = seed % np.uint64(1000) + who % np.uint64(97) + (row >> np.uint64(2)) + index % np.uint64(5)
    else:
        raw = mixed(mixed(who * np.uint64(0x10001) + row) ^ (index + seed))
    return _as_type(column, raw)


def _as_type(column: Column, raw: U64) -> Array:
    """Floats have 20 bits, so that they are exact; texts are letters."""
    if column.kind == "text":
        return (raw % np.uint64(26) + np.uint64(97)).astype(np.uint8)
    if column.dtype == "bool":
        return (raw & np.uint64(1)).astype(np.bool_)
    if column.dtype.startswith("complex"):
        return (_small(raw) + 1j * _small(raw >> np.uint64(20))).astype(column.dtype)
    return (_small(raw) if column.dtype.startswith("float") else raw).astype(column.dtype)


def _small(raw: U64) -> npt.NDArray[np.float64]:
    return ((raw & np.uint64(0xFFFFF)).astype(np.float64) - 2**19) / 16
