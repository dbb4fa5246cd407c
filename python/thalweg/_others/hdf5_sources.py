"""Other files that hold values of a dataset: sources of virtual datasets, and external storage.

A file may name other files, and h5py opens them all. A file from elsewhere must not choose what is read, so values must
be in the folder of the file or in a folder that the caller has allowed.

If libhdf5 cannot open a source of a virtual dataset, it gives fill values instead, without an error. All files that
rows need are therefore opened before these rows are read, compared with what they were, and held until the rows are
read.
"""

from __future__ import annotations

import os
import resource
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import h5py

from thalweg._base.errors import DataError
from thalweg._base.file_state import FileState, HeldFile
from thalweg._base.paths import is_file
from thalweg._others.hdf5_objects import NotFoundError, find_object, open_file, state_of
from thalweg._others.tree_types import NoTypeError

_MOST_DEPTH = 8  # of virtual datasets that refer to virtual datasets
_MOST_HELD = 256  # files that are open at once, if each row needs no more of them
_SPARE = 8  # descriptors that must be free while libhdf5 opens the files again


@dataclass
class Sources:
    """The files in which values of a dataset are, besides its own file."""

    hdf5: dict[str, FileState] = field(default_factory=dict)
    external: dict[str, FileState] = field(default_factory=dict)
    _rows: list[tuple[int, int, frozenset[str]]] = field(default_factory=list)
    """First row, end, and the files that these rows need."""

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Returns the rows in pieces that do not need too many files at once."""
        most = min(_MOST_HELD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
        if stop - start > 1 and len(self._needed(start, stop)) > most:
            middle = (start + stop) // 2
            yield from self.pieces(start, middle)
            yield from self.pieces(middle, stop)
        else:
            yield start, stop

    @contextmanager
    def held(self, file: h5py.File, start: int = 0, stop: int = sys.maxsize) -> Iterator[None]:
        """Keeps the files that these rows need open. Raises DataError, when the block begins or ends, if one of them is
        not the file that it was; OSError if one cannot be opened."""
        needed = sorted(self._needed(start, stop))
        with ExitStack() as stack:
            checks: list[tuple[str, FileState, Callable[[], FileState]]] = []
            for path in needed:
                if path in self.hdf5:
                    other = stack.enter_context(_opened_alike(path, file))
                    checks.append((path, self.hdf5[path], partial(state_of, other)))
                else:
                    held = HeldFile(path)
                    stack.callback(held.close)
                    checks.append((path, self.external[path], held.state_now))
            if needed:
                _expect_spare_descriptors(needed[-1])
            for path, state, now in checks:
                state.check(now(), path, may_grow=file.swmr_mode)
            yield
            if needed:
                _expect_spare_descriptors(needed[-1])
            for path, state, now in checks:
                state.check(now(), path, may_grow=file.swmr_mode)

    def _needed(self, start: int, stop: int) -> set[str]:
        return {path for first, end, files in self._rows if first < stop and end > start for path in files}

    def add(self, other: Sources, first: int, end: int) -> None:
        """Adds the files that rows of one mapping need."""
        self.hdf5 |= other.hdf5
        self.external |= other.external
        self._rows.append((first, end, frozenset([*other.hdf5, *other.external])))


def _opened_alike(path: str, file: h5py.File) -> h5py.File:
    """Opens a source as libhdf5 does for the file that refers to it: it can share one that is open already."""
    for options in ({"locking": False}, {}):
        try:
            return h5py.File(path, "r", swmr=file.swmr_mode, **options)
        except OSError as error:
            refusal = error
    raise DataError(f"its source {path} cannot be opened ({refusal})") from refusal


def _expect_spare_descriptors(path: str) -> None:
    """Raises DataError if libhdf5 could not open these files once more."""
    with ExitStack() as stack:
        try:
            for _ in range(_SPARE):
                stack.callback(os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            raise DataError(
                f"its source {path} cannot be opened ({error.strerror}): allow more open files (`ulimit -n`)"
            ) from error


def sources_of(file: h5py.File, dataset: h5py.Dataset, folders: list[str], depth: int = 0) -> Sources:
    """Returns the files that hold values. Raises NoTypeError if values are outside these folders, or do not exist."""
    folder = os.path.dirname(os.path.abspath(file.filename))
    found = Sources()
    for name, _, _ in dataset.external or ():
        place = _place_inside(name, folder, folders)
        _check_found_there(name, "HDF5_EXTFILE_PREFIX")
        if depth and not os.path.isabs(name):
            # libhdf5 uses the folder of the file only for the dataset that is read, not for those that it refers to.
            raise NoTypeError(
                f"it refers to values in {name} through {os.path.basename(file.filename)}, and libhdf5 would look for "
                f"that name in the working directory: open {file.filename} itself"
            )
        found.add(Sources(external={place: FileState.of(os.stat(place))}), 0, sys.maxsize)
    if not dataset.is_virtual:
        return found
    if depth > _MOST_DEPTH:
        raise NoTypeError("the virtual datasets that it refers to are nested too deeply")
    for virtual_space, file_name, path, _ in dataset.virtual_sources():
        if "%" in file_name or "%" in path:
            raise NoTypeError(f"it refers to an open number of datasets, by the pattern {file_name} {path}")
        if file_name == ".":
            source = _sources_of_source(file, path, folders, depth)
        else:
            _check_found_there(file_name, "HDF5_VDS_PREFIX")
            place = _place_inside(file_name, folder, folders)
            with open_file(place) as other:
                source = _sources_of_source(other, path, folders, depth)
                source.hdf5[place] = state_of(other)
        found.add(source, *_rows_of(virtual_space))
    return found


def _rows_of(space: h5py.h5s.SpaceID) -> tuple[int, int]:
    """Returns the first row and the end of a selection."""
    try:
        first, last = space.get_select_bounds()
        return int(first[0]), int(last[0]) + 1
    except Exception:  # it has no end, or no axes
        return 0, sys.maxsize


def _sources_of_source(file: h5py.File, path: str, folders: list[str], depth: int) -> Sources:
    try:
        source = find_object(file, path)
    except NotFoundError:
        raise NoTypeError(f"it refers to {path} of {os.path.basename(file.filename)}, which does not exist") from None
    return sources_of(file, source, folders, depth + 1)


def _check_found_there(name: str, variable: str) -> None:
    """Raises NoTypeError if a variable of the environment makes libhdf5 look in another folder first."""
    elsewhere = os.environ.get(variable, "")
    if elsewhere not in ("", "${ORIGIN}") and not os.path.isabs(name):
        raise NoTypeError(
            f"its values are in {name}, and the environment variable {variable} makes libhdf5 look for it in "
            f"{elsewhere}: unset the variable"
        )


def _place_inside(name: str, folder: str, folders: list[str]) -> str:
    """Returns the real path of a name in a file of `folder`. Raises NoTypeError if it is not inside `folders`."""
    place = os.path.realpath(os.path.join(folder, name))
    if not any(os.path.commonpath([place, each]) == each for each in folders):
        there = os.path.dirname(place)
        raise NoTypeError(
            f"its values are in {name}, outside the folder of the file: move that file into it, or allow {there} (in "
            f"Python: external=[{there!r}], on the command line: --external {shlex.quote(there)})"
        )
    if not is_file(place):
        raise NoTypeError(f"its values are in the file {name}, which does not exist")
    return place
