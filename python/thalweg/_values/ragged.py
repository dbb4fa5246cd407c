"""Lists of different lengths: one array with all elements, and the offsets at which lists begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError

Offsets = npt.NDArray[np.int64]


class Ragged(Sequence[Any]):
    """Lists of different lengths: list `i` is `content[offsets[i]:offsets[i + 1]]`.

    `content` is a NumPy array, another `Ragged`, or a mapping of these (for lists of structs). Lists in a fixed-size
    array have a `shape` with several dimensions and are numbered in C order. Raises UsageError if offsets are wrong.
    """

    def __init__(self, offsets: npt.ArrayLike, content: Any, shape: tuple[int, ...] | None = None) -> None:
        array = np.asarray(offsets)
        if array.ndim != 1 or array.size == 0 or not np.can_cast(array.dtype, np.int64, "same_kind"):
            raise UsageError("the offsets of a Ragged are wrong: give integers, one more than there are lists")
        self.offsets: Offsets = array.astype(np.int64, copy=False)
        self.content = content
        self.shape = (len(self.offsets) - 1,) if shape is None else shape

    @classmethod
    def from_lengths(cls, lengths: npt.ArrayLike, content: Any) -> Self:
        """Returns lists of these lengths that follow each other in `content`; `lengths` may have several dimensions."""
        array = np.asarray(lengths)
        if array.dtype == np.uint64:
            array = array.view(np.int64)  # NumPy is fifteen times slower if it has to convert
        offsets = np.zeros(array.size + 1, np.int64)
        np.cumsum(array, out=offsets[1:])
        return cls(offsets, content, array.shape)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The length of each list, as an array of shape `shape`."""
        return np.diff(self.offsets).reshape(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Ragged: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Returns one list, or a slice of the lists, in the same memory.

        Raises IndexError if there is no such list, UsageError for slices with a step."""
        stride = int(np.prod(self.shape[1:], dtype=np.int64))
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise UsageError(f"a Ragged takes slices with step 1 only (the step is {step})")
            stop = max(start, stop)
            offsets = self.offsets[start * stride : stop * stride + 1]
            return type(self)(offsets, self.content, (stop - start, *self.shape[1:]))
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no list {index} (there are {len(self)})")
        index %= len(self)
        offsets = self.offsets[index * stride : (index + 1) * stride + 1]
        if len(self.shape) > 1:
            return type(self)(offsets, self.content, self.shape[1:])
        return self._list(int(offsets[0]), int(offsets[1]))

    def _list(self, start: int, stop: int) -> Any:
        part = part_of(self.content, start, stop)
        return part.decoded() if isinstance(part, Text) else part

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<Ragged: {' x '.join(map(str, self.shape))} lists of {self.offsets[-1] - self.offsets[0]} elements>"

    def packed(self) -> Ragged:
        """Returns the same lists with offsets from 0 and a content that holds nothing else.

        Raises UsageError if the offsets fall or lie outside the content."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if not (0 <= first <= last <= length_of(self.content)) or np.any(np.diff(self.offsets) < 0):
            raise UsageError("the offsets of a Ragged are wrong: they must not fall, and must lie within its content")
        return type(self)(self.offsets - first, part_of(self.content, first, last), self.shape)


class Text(Ragged):
    """Strings, as offsets into UTF-8 bytes."""

    def _list(self, start: int, stop: int) -> str:
        return bytes(self.content[start:stop]).decode()

    def decoded(self) -> npt.NDArray[np.object_]:
        """Returns the strings as an array of str with the same shape."""
        text = self.packed()
        data = text.content.tobytes()
        offsets = text.offsets.tolist()
        array = np.empty(len(offsets) - 1, object)
        for index in range(len(array)):
            array[index] = data[offsets[index] : offsets[index + 1]].decode()
        return array.reshape(self.shape)


class Optional(Ragged):
    """Values of which some are missing, as `tw.optional` stores them: lists of one value or none."""

    @classmethod
    def from_mask(cls, is_there: npt.ArrayLike, content: Any) -> Self:
        """Returns values that are there where `is_there` says so; `content` has only these, in C order."""
        return cls.from_lengths(np.asarray(is_there).astype(np.int64), content)

    def _list(self, start: int, stop: int) -> Any:
        part = super()._list(start, stop)
        return part[0] if stop > start else None


def length_of(content: Any) -> int:
    """Returns the number of items of an array, or of a mapping of arrays."""
    while isinstance(content, Mapping) and not hasattr(content, "row_count"):
        content = next(iter(content.values()))
    return len(content)


def part_of(content: Any, start: int, stop: int) -> Any:
    """Returns items [start, stop) of an array, or of a mapping of arrays."""
    if hasattr(content, "part"):
        return content.part(start, stop)
    if isinstance(content, Mapping):
        return {name: part_of(member, start, stop) for name, member in content.items()}
    return content[start:stop]


def in_shape(content: Any, shape: tuple[int, ...]) -> Any:
    """Returns the items of an array, or of a mapping of arrays, in fixed-size arrays of that shape."""
    content = part_of(content, 0, int(np.prod(shape, dtype=np.int64)))
    if isinstance(content, Mapping):
        return {name: in_shape(member, shape) for name, member in content.items()}
    if isinstance(content, Ragged):
        return type(content)(content.offsets, content.content, (*shape, *content.shape[1:]))
    return content.reshape(*shape, *content.shape[1:])


def named(columns: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Returns columns by name. Raises UsageError if two have the same name, or a name is not a string."""
    by_name: dict[str, Any] = {}
    for name, column in columns:
        if not isinstance(name, str):
            raise UsageError(f"the name of a column is {name!r}, not a string: rename it, as by rename(columns=str)")
        if name in by_name:
            raise UsageError(f"two columns are named '{name}': rename or drop one of them")
        by_name[name] = column
    return by_name
