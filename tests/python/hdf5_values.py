"""Whether tables of ours have what h5py reads of a file: value by value, whatever the type."""

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

import thalweg as tw
from thalweg._others.hdf5_types import hdf5_name_of


def equal(mine: Any, theirs: Any) -> bool:
    """Values of a table, as they were read, and what h5py gives for the same dataset."""
    theirs = np.asarray(theirs)
    if isinstance(mine, tw.Rows):
        if theirs.dtype.names is None:
            return False
        shown = {name: name if name in mine else hdf5_name_of(name) for name in theirs.dtype.names}  # notes tell it
        return all(mine_ in mine and equal(mine.members[mine_], theirs[name]) for name, mine_ in shown.items())
    if isinstance(mine, tw.Ragged):
        if mine.shape != theirs.shape or not all(hasattr(each, "__len__") for each in theirs.reshape(-1)):
            return False
        rows, flat = mine.packed(), theirs.reshape(-1)
        ends = rows.offsets
        if all(isinstance(each, bytes) for each in flat):
            content = np.asarray(rows.content, np.uint8).tobytes()
            return all(content[a:b] == each for a, b, each in zip(ends[:-1], ends[1:], flat, strict=True))
        filled = [each for each in flat if len(each)]
        lengths = [len(each) for each in flat]
        same = np.diff(ends).tolist() == lengths
        return same and (not filled or equal(rows.content, np.concatenate(filled)))
    if theirs.dtype.kind in "mM":
        theirs = theirs.view("i8")
    if theirs.dtype.kind == "V":
        theirs = np.frombuffer(theirs.tobytes(), np.uint8).reshape(*theirs.shape, theirs.dtype.itemsize)
    is_number = theirs.dtype.kind in "fc"
    return mine.shape == theirs.shape and bool(np.array_equal(mine, theirs, equal_nan=is_number))


def columns(run: tw.Run) -> Iterator[tuple[str, Any]]:
    """All values, by a path that ends as that of their dataset does. A table is a compound, too."""

    def of(path: str, value: Any) -> Iterator[tuple[str, Any]]:
        yield path, value
        if isinstance(value, tw.Ragged):
            yield f"{path}/cumulative_length", value.offsets[1:]
            yield from of(f"{path}/flattened_data", value.content)
        elif isinstance(value, tw.Rows):
            for name, member in value.members.items():
                yield from of(f"{path}/{name}", member)

    for name, table in run.items():
        yield from of(f"/{name}", table.read())


def attributes(run: tw.Run) -> Iterator[tuple[str, Any]]:
    owners = [run.attrs, *run.group_attrs.values(), *(table.attrs for table in run.values())]
    owners += [table[path].attrs for table in run.values() for path in table.columns if "*" not in path]
    return ((name, value) for attrs in owners for name, value in attrs.items())


def datasets(file: h5py.File) -> list[tuple[str, h5py.Dataset]]:
    found: list[tuple[str, h5py.Dataset]] = []
    file.visititems(lambda name, each: found.append((f"/{name}", each)) if isinstance(each, h5py.Dataset) else None)
    return found


def without_rows(dataset: h5py.Dataset) -> Any:
    """As an attribute."""
    value = dataset[()]
    if isinstance(value, h5py.Empty):
        return "" if value.dtype.kind in "SO" else np.empty(0, value.dtype)
    return value.decode() if isinstance(value, bytes) else value
