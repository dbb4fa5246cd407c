"""Finds objects of HDF5 files of other programs through h5py, and refuses places that are not allowed.

A file may name other files in links, external storage and virtual datasets, and h5py opens them all. A file from
elsewhere must not choose what is read. Links into other files are therefore not followed, and values must be in the
folder of the file or in a folder that the caller has allowed.
"""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import h5py

from thalweg._others.tree_types import NoTypeError

_MOST_SOFT_LINKS = 64
_MOST_SOURCES = 8  # the depth of virtual datasets that refer to virtual datasets


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

    def __init__(self, path: str, external: Iterable[str] = ()) -> None:
        """Takes the path of the file, and the folders that may hold its values besides its own folder."""
        self.path = path
        self.external = tuple(external)
        self.folders = [os.path.realpath(each) for each in (os.path.dirname(os.path.abspath(path)), *self.external)]
        self._lock = threading.Lock()
        self._file: h5py.File = None
        self._users = 0

    @contextmanager
    def opened(self) -> Iterator[h5py.File]:
        with self._lock:
            if not self._users:
                self._file = open_file(self.path)
            self._users += 1
        try:
            yield self._file
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._file.close()


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


def check_places(file: h5py.File, dataset: h5py.Dataset, folders: list[str], depth: int = 0) -> None:
    """Raises NoTypeError if values are outside these folders, or do not exist."""
    folder = os.path.dirname(os.path.abspath(file.filename))
    for name, _, _ in dataset.external or ():
        _check_inside(name, folder, folders)
        _check_found_there(name, "HDF5_EXTFILE_PREFIX")
        if depth and not os.path.isabs(name):
            # libhdf5 uses the folder of the file only for the dataset that is read, not for those that it refers to.
            raise NoTypeError(
                f"it refers to values in {name} through {os.path.basename(file.filename)}, and libhdf5 would look for "
                f"that name in the working directory: open {file.filename} itself"
            )
    if not dataset.is_virtual:
        return
    if depth > _MOST_SOURCES:
        raise NoTypeError("the virtual datasets that it refers to are nested too deeply")
    for _, file_name, path, _ in dataset.virtual_sources():
        if "%" in file_name or "%" in path:
            raise NoTypeError(f"it refers to an open number of datasets, by the pattern {file_name} {path}")
        if file_name == ".":
            _check_source(file, path, folders, depth)
        else:
            _check_found_there(file_name, "HDF5_VDS_PREFIX")
            with open_file(_check_inside(file_name, folder, folders)) as other:
                _check_source(other, path, folders, depth)


def _check_source(file: h5py.File, path: str, folders: list[str], depth: int) -> None:
    try:
        source = find_object(file, path)
    except NotFoundError:
        raise NoTypeError(f"it refers to {path} of {os.path.basename(file.filename)}, which does not exist") from None
    check_places(file, source, folders, depth + 1)


def _check_found_there(name: str, variable: str) -> None:
    """Raises NoTypeError if a variable of the environment makes libhdf5 look in another folder first."""
    elsewhere = os.environ.get(variable, "")
    if elsewhere not in ("", "${ORIGIN}") and not os.path.isabs(name):
        raise NoTypeError(
            f"its values are in {name}, and the environment variable {variable} makes libhdf5 look for it in "
            f"{elsewhere}: unset the variable"
        )


def _check_inside(name: str, folder: str, folders: list[str]) -> str:
    """Returns the real path of a name in a file of `folder`. Raises NoTypeError if it is not inside `folders`."""
    place = os.path.realpath(os.path.join(folder, name))
    if not any(os.path.commonpath([place, each]) == each for each in folders):
        there = os.path.dirname(place)
        raise NoTypeError(
            f"its values are in {name}, outside the folder of the file: move that file into it, or allow {there} (in "
            f"Python: external=[{there!r}], on the command line: --external {shlex.quote(there)})"
        )
    if not os.path.isfile(place):
        raise NoTypeError(f"its values are in the file {name}, which does not exist")
    return place


def attribute_in(text: str) -> tuple[str | None, str] | None:
    """Returns the name and the owner if an object that is left out is an attribute, or None.

    The name is None if all attributes of the owner are left out."""
    if found := re.fullmatch(r"the attribute '(.*)' of (/.*)", text, re.DOTALL):
        return found[1], found[2]
    found = re.fullmatch(r"the attributes of (/.*)", text, re.DOTALL)
    return (None, found[1]) if found else None
