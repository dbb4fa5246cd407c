"""Whether two outputs hold the same data. HDF5 files are compared as h5py reads them: what differs in their bytes, such
as times, alignment and free space, is no data."""

from __future__ import annotations

import contextlib
import filecmp
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thalweg._base.errors import DataError, UsageError
from thalweg._tune.outputs import Outputs

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_BLOCK_BYTES = 64 << 20
_OF_THALWEG = "/thalweg/run"  # what Thalweg notes of a run: among others its identity, and the knobs in effect
MOST_SAID = 5


def differences(one: Outputs, other: Outputs, *, values: bool = True) -> list[str]:
    """Returns what is other in `other`, in words. values: also compare values, not only shapes and types."""
    found = [f"{name} is missing" for name in sorted({*map(str, one.files)} - {*map(str, other.files)})]
    found += [f"{name} is there, too" for name in sorted({*map(str, other.files)} - {*map(str, one.files)})]
    for name in sorted({*one.files} & {*other.files}):
        left, right = one.folder / name, other.folder / name
        found += [f"{name}{each}" for each in _of_file(left, right, values=values)]
        if len(found) >= MOST_SAID:
            break
    return found[:MOST_SAID]


def check_comparable(outputs: Outputs) -> None:
    """Raises UsageError if what would compare these outputs is not installed. What a trial that goes on has put back
    already is not compared any more."""
    places = (outputs.folder / name for name in outputs.files)
    if any(is_hdf5(place) for place in places if place.is_file()):
        _import_h5py()


def _of_file(left: Path, right: Path, *, values: bool) -> Iterator[str]:
    if is_hdf5(left) and is_hdf5(right):
        yield from _of_hdf5(left, right, values=values)
    elif values and not filecmp.cmp(left, right, shallow=False):
        yield " has other bytes"


def is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SIGNATURE)) == _SIGNATURE


def _import_h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise UsageError(
            "outputs cannot be compared (HDF5 files are compared by h5py, which is not installed): run "
            "`pip install 'thalweg[h5py]'`"
        ) from None
    return h5py


def _of_hdf5(left: Path, right: Path, *, values: bool) -> Iterator[str]:
    h5py = _import_h5py()
    with contextlib.suppress(ImportError):
        import hdf5plugin  # noqa: F401 - registers filters
    try:
        with h5py.File(left) as one, h5py.File(right) as other:
            yield from _of_group(one, other, "", set(), values=values)
    except (OSError, RuntimeError, KeyError) as error:  # damaged, or a filter that is not installed
        raise DataError(
            f"outputs cannot be compared ({left.name}, read by h5py: {error}): compare them by hand"
        ) from None


def _of_group(one: Any, other: Any, path: str, seen: set[Any], *, values: bool) -> Iterator[str]:
    if one.id in seen:  # a hard link to a group around it
        return
    seen.add(one.id)
    yield from _of_attributes(one, other, path or "/", values=values)
    for name in sorted({*one} ^ {*other}):
        yield f"{path}/{name} is {'missing' if name in one else 'there, too'}"
    for name in sorted({*one} & {*other}):
        if f"{path}/{name}" == _OF_THALWEG:
            continue
        links = [each.get(name, getlink=True) for each in (one, other)]
        if any(type(each).__name__ in ("SoftLink", "ExternalLink") for each in links):
            if vars(links[0]) != vars(links[1]):
                yield f"{path}/{name} is another link"
            continue
        left, right = one[name], other[name]
        if type(left) is not type(right):
            yield f"{path}/{name} is another kind of object"
        elif hasattr(left, "keys"):
            yield from _of_group(left, right, f"{path}/{name}", seen, values=values)
        elif hasattr(left, "shape"):
            yield from _of_dataset(left, right, f"{path}/{name}", values=values)
        elif left.dtype != right.dtype:
            yield f"{path}/{name} is another type"


def _of_dataset(one: Any, other: Any, path: str, *, values: bool) -> Iterator[str]:
    yield from _of_attributes(one, other, path, values=values)
    if one.dtype != other.dtype or one.shape != other.shape:
        yield f"{path} is {other.dtype} {other.shape}, not {one.dtype} {one.shape}"
    elif values and one.shape == ():
        if not _equal(one[()], other[()], (one.file, other.file)):
            yield f"{path} has other values"
    elif values and one.shape is not None:
        rows = max(1, _BLOCK_BYTES // max(1, one.dtype.itemsize * int(np.prod(one.shape[1:]))))
        for first in range(0, one.shape[0], rows):
            if not _equal(one[first : first + rows], other[first : first + rows], (one.file, other.file)):
                yield f"{path} has other values from row {first} on"
                return


def _of_attributes(one: Any, other: Any, path: str, *, values: bool) -> Iterator[str]:
    for name in sorted({*one.attrs} | {*other.attrs}):
        if name not in one.attrs or name not in other.attrs:
            yield f"{path} {'lacks' if name in one.attrs else 'has'} the attribute {name}"
        elif values and not _equal(one.attrs[name], other.attrs[name], (one.file, other.file)):
            yield f"{path} has another value of the attribute {name}"


def _equal(one: Any, other: Any, files: tuple[Any, Any]) -> bool:
    left, right = np.asarray(one), np.asarray(other)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.hasobject:
        return bool(_plain(left, files[0]) == _plain(right, files[1]))
    return left.tobytes() == right.tobytes()  # also NaN, and structures with NaN


def _plain(value: Any, file: Any) -> Any:
    """Returns strings, lists and structures as Python has them, and the name of an object that is referred to."""
    if isinstance(value, np.ndarray):
        return [_plain(each, file) for each in value.reshape(-1)] if value.dtype.hasobject else value.tobytes()
    if isinstance(value, np.void):
        return [_plain(value[name], file) for name in value.dtype.names or ()]
    if type(value).__name__ in ("Reference", "RegionReference"):
        return file[value].name if value else None
    return value.tobytes() if isinstance(value, np.generic) else value
