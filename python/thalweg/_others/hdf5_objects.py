"""Objects of HDF5 files of other programs, as h5py shows them: found by path, and never in another place than allowed.

A file names other files in links, external storage and virtual datasets, and h5py opens whatever is named. A file of
somebody else must not choose what is read: links into other files are not followed, and values lie beside the file, or
in a folder that the caller has named.
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
_MOST_SOURCES = 8  # virtual datasets that show each other


class NotFoundError(Exception):
    """There is no such object, or the way to it leads out of the file."""


def open_file(path: str) -> h5py.File:
    """While a program writes it in the mode of a single writer and many readers, as one of these: libhdf5 refuses such
    a file to others. It also wants all who open a file in one process to agree on locks."""
    refusal: OSError | None = None
    for swmr in (False, True):
        for options in ({"locking": False}, {}):
            try:
                return h5py.File(path, "r", swmr=swmr, **options)
            except OSError as error:
                refusal = refusal or error
    raise refusal or OSError(f"{path} cannot be opened")


class Source:
    """A file that is open while somebody reads it, and no longer: a user of h5py in this process may want it, too."""

    def __init__(self, path: str, external: Iterable[str] = ()) -> None:
        """`external`: folders in which its values may lie, beside its own."""
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


def find(file: h5py.File, path: str) -> Any:
    """A group or dataset, by hard and soft links alone. Raises NotFoundError."""
    group, name = find_link(file, path)
    return group[name] if name else group


def find_link(file: h5py.File, path: str) -> tuple[h5py.Group, str]:
    """The group with the hard link that leads to an object, and the name of that link; of the root no name."""
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
    """h5py.Group, Dataset or Datatype. Raises NotFoundError."""
    group, name = find_link(file, path)
    found: type = group.get(name, getclass=True) if name else h5py.Group
    return found


def open_dataset(file: h5py.File, path: str, cache_bytes: int = 0, *, is_external: bool = False) -> h5py.Dataset:
    """`cache_bytes`: of chunks. `is_external`: its files are beside the file, wherever this process was started.

    A dataset that is open already keeps the cache, and refuses the other place, with which it was opened: so nobody
    keeps one.
    """
    group, name = find_link(file, path)
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    if is_external:
        access.set_efile_prefix(b"${ORIGIN}")
    if cache_bytes:
        access.set_chunk_cache(12_421, cache_bytes, 1.0)
    return h5py.Dataset(h5py.h5d.open(group.id, name.encode("utf-8", "surrogateescape"), access))


def check_places(file: h5py.File, dataset: h5py.Dataset, folders: list[str], depth: int = 0) -> None:
    """Raises NoTypeError where values lie outside of these folders, or are not there."""
    folder = os.path.dirname(os.path.abspath(file.filename))
    for name, _, _ in dataset.external or ():
        _check_inside(name, folder, folders)
        _check_found_there(name, "HDF5_EXTFILE_PREFIX")
        if depth and not os.path.isabs(name):
            # Only of the dataset that it is asked for does libhdf5 look for it beside the file.
            raise NoTypeError(
                f"it shows values of {name}, by way of {os.path.basename(file.filename)}, and libhdf5 looks for such a "
                f"name wherever the process was started: open {file.filename} itself"
            )
    if not dataset.is_virtual:
        return
    if depth > _MOST_SOURCES:
        raise NoTypeError("the virtual datasets that it shows are nested too deeply")
    for _, file_name, path, _ in dataset.virtual_sources():
        if "%" in file_name or "%" in path:
            raise NoTypeError(f"it shows as many datasets as there are, by the pattern {file_name} {path}")
        if file_name == ".":
            _check_source(file, path, folders, depth)
        else:
            _check_found_there(file_name, "HDF5_VDS_PREFIX")
            with open_file(_check_inside(file_name, folder, folders)) as other:
                _check_source(other, path, folders, depth)


def _check_source(file: h5py.File, path: str, folders: list[str], depth: int) -> None:
    try:
        source = find(file, path)
    except NotFoundError:
        raise NoTypeError(f"it shows {path} of {os.path.basename(file.filename)}, which is not there") from None
    check_places(file, source, folders, depth + 1)


def _check_found_there(name: str, variable: str) -> None:
    """libhdf5 looks where a variable of the environment says first, which may be anywhere."""
    elsewhere = os.environ.get(variable, "")
    if elsewhere not in ("", "${ORIGIN}") and not os.path.isabs(name):
        raise NoTypeError(
            f"its values lie in {name}, and the environment variable {variable} says to look for that in {elsewhere}: "
            "unset the variable"
        )


def _check_inside(name: str, folder: str, folders: list[str]) -> str:
    """The place of what is called so by a file of `folder`, with all symbolic links and `..` resolved."""
    place = os.path.realpath(os.path.join(folder, name))
    if not any(os.path.commonpath([place, each]) == each for each in folders):
        there = os.path.dirname(place)
        raise NoTypeError(
            f"its values lie in {name}, outside of the folder of the file: move that file into it, or allow "
            f"{there} (in Python external=[{there!r}], of commands --external {shlex.quote(there)})"
        )
    if not os.path.isfile(place):
        raise NoTypeError(f"its values lie in the file {name}, which is not there")
    return place


def attribute_in(text: str) -> tuple[str | None, str] | None:
    """Name and owner, where an object that is left out is an attribute; no name where it is all that an object has."""
    if found := re.fullmatch(r"the attribute '(.*)' of (/.*)", text, re.DOTALL):
        return found[1], found[2]
    found = re.fullmatch(r"the attributes of (/.*)", text, re.DOTALL)
    return (None, found[1]) if found else None
