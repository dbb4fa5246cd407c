"""Finds objects of HDF5 files of other programs through h5py. Links into other files are not followed."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import h5py

from thalweg._base.file_state import FileState

_MOST_SOFT_LINKS = 64


class NotFoundError(Exception):
    """Raised if there is no such object, or if a link to it leads out of the file."""


def open_file(path: str) -> h5py.File:
    """Opens a file for reading. Raises OSError if h5py cannot open it.

    A file that is being written in SWMR mode must be opened in SWMR mode. All users of a file in one process must use
    the same setting for locks."""
    refusal: OSError | None = None
    for swmr in (False, True):
        for options in ({"locking": False}, {}):
            try:
                return h5py.File(path, "r", swmr=swmr, **options)
            except OSError as error:
                refusal = refusal or error
    raise refusal or OSError(f"{path} cannot be opened")


class H5Source:
    """A file that is open only while it is read, since other code of this process may use it with h5py, too."""

    def __init__(
        self, path: str, external: Iterable[str] = (), state: FileState | None = None, *, may_grow: bool = False
    ) -> None:
        """Takes the path of the file, and the folders that may hold its values besides its own folder.

        state: that of the file when it was opened first; None: its state now. may_grow: another program keeps the file
        readable while it writes it."""
        self.path = path
        self.external = tuple(external)
        self._place = os.path.abspath(path)
        self._state = state or FileState.of(os.stat(self._place))
        self._may_grow = may_grow
        self.folders = [os.path.realpath(each) for each in (os.path.dirname(self._place), *self.external)]
        self._lock = threading.Lock()
        self._file: h5py.File = None
        self._users = 0

    @contextmanager
    def opened(self) -> Iterator[h5py.File]:
        """Raises DataError if it is not the file that was opened first, or if it has changed when the block ends."""
        with self._lock:
            if not self._users:
                self._file = open_file(self._place)
            self._users += 1
        try:
            self._check()
            yield self._file
            self._check()
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._file.close()

    def _check(self) -> None:
        self._state.check(state_of(self._file), self.path, may_grow=self._may_grow)


def state_of(file: h5py.File) -> FileState:
    """Returns the state of the file that h5py has open, whatever its name is by now."""
    return FileState.of(os.fstat(file.id.get_vfd_handle()))


def find_object(file: h5py.File, path: str) -> Any:
    """Returns a group or dataset, following hard and soft links only. Raises NotFoundError."""
    group, name = find_link(file, path)
    return group[name] if name else group


def find_link(file: h5py.File, path: str) -> tuple[h5py.Group, str]:
    """Returns the group with the hard link to an object, and the name of the link; the root has no name.

    Raises NotFoundError."""
    at: Any = file["/"]
    names = [name for name in path.split("/") if name not in ("", ".")]
    last: tuple[h5py.Group, str] = at, ""
    hops = 0
    while names:
        name = names.pop(0)
        link = at.get(name, getlink=True) if isinstance(at, h5py.Group) else None
        if isinstance(link, h5py.SoftLink):
            hops += 1
            names[:0] = [part for part in link.path.split("/") if part not in ("", ".")]
            at = file["/"] if link.path.startswith("/") else at
        elif isinstance(link, h5py.HardLink):
            last = at, name
            at = at[name]
        if hops > _MOST_SOFT_LINKS or not isinstance(link, h5py.SoftLink | h5py.HardLink):
            raise NotFoundError(path)
    return last


def class_of(file: h5py.File, path: str) -> type:
    """Returns h5py.Group, Dataset or Datatype. Raises NotFoundError."""
    group, name = find_link(file, path)
    found: type = group.get(name, getclass=True) if name else h5py.Group
    return found


def open_dataset(file: h5py.File, path: str, cache_bytes: int = 0, *, is_external: bool = False) -> h5py.Dataset:
    """Opens a dataset with a chunk cache of that size.

    With `is_external`, its external files are looked for beside the file, whatever the working directory is. A dataset
    that is open already keeps its old settings, so no dataset is kept open.
    """
    group, name = find_link(file, path)
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    if is_external:
        access.set_efile_prefix(b"${ORIGIN}")
    if cache_bytes:
        access.set_chunk_cache(12_421, cache_bytes, 1.0)
    return h5py.Dataset(h5py.h5d.open(group.id, name.encode("utf-8", "surrogateescape"), access))


def attribute_in(text: str) -> tuple[str | None, str] | None:
    """Returns the name and the owner if an object that is left out is an attribute, or None.

    The name is None if all attributes of the owner are left out."""
    if found := re.fullmatch(r"the attribute '(.*)' of (/.*)", text, re.DOTALL):
        return found[1], found[2]
    found = re.fullmatch(r"the attributes of (/.*)", text, re.DOTALL)
    return (None, found[1]) if found else None


def axes_of_histogram(file: h5py.File, path: str) -> list[str] | None:
    """Returns the paths of the axes of a histogram, in their order, if the dataset is their list as `uhi.io.hdf5` makes
    it: references to groups of the same file. None if it is another dataset."""
    group, _, name = path.rpartition("/")
    if name != "axes" or "uhi_schema" not in find_object(file, group or "/").attrs:
        return None
    dataset = open_dataset(file, path)
    if h5py.check_ref_dtype(dataset.dtype) is not h5py.Reference or not all(dataset[()]):
        return None
    return [str(file[each].name) for each in dataset[()]]
