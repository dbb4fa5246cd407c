"""What a folder shows: its runs, complete or not, and images of them."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.paths import is_file, is_folder
from thalweg._schema.schema import Schema

_SUFFIXES = (".h5", ".hdf5", ".lh5", ".root")


@dataclass(frozen=True)
class ShownRun:
    name: str  # with the folders below the one that is shown
    state: str  # open, unfinished (no process writes it any more), complete or unreadable (`problem` says why)
    rows: dict[str, int]  # by table; empty where they are not known
    size_bytes: int
    image: str  # empty: there is none
    problem: str = ""


@dataclass(frozen=True)
class _Rows:
    rows: dict[str, int]
    problem: str = ""
    state: str = "complete"


class NotThereError(Exception):
    """Raised with the reason if an address names nothing."""


class ShownFolder:
    """Thread-safe. No name of a request leads out of the folder: neither `..` nor a link does."""

    def __init__(self, folder: Path) -> None:
        self.path = Path(os.path.realpath(folder))
        if not self.path.is_dir():
            raise UsageError(f"{folder} cannot be shown (it is not a folder): name the folder of the runs")
        # Images of an earlier server must not be taken for ours: viewers and their caches remember addresses.
        self._series = secrets.token_hex(4)
        self._images = _core.NumberedImages()
        self._rows: dict[int, _Rows] = {}  # of complete files, by their images
        self._listing = threading.Lock()

    def runs(self) -> list[ShownRun]:
        """Returns all runs, and the folders that cannot be listed, ordered by name. Takes a while if they are many."""
        with self._listing:
            unlisted: list[OSError] = []
            runs = [self._shown(name) for name in self._files(unlisted.append)]
            runs += [self._not_listed(error) for error in unlisted]
            runs.sort(key=lambda run: run.name)
            current = {run.image for run in runs}
            self._rows = {number: rows for number, rows in self._rows.items() if self._image_of(number) in current}
            return runs

    def newest(self, name: str) -> str:
        """Returns the newest image of a run. It is open now, and stays if the file is removed.

        Raises NotThereError if the folder has no such run, and Error."""
        image = self._newest(name)[0]
        self.image(image, name)
        return image

    def image(self, image: str, name: str) -> _core.FileImage:
        """Raises NotThereError if there is no such image of this run, or if it is kept no more, and Error."""
        series, _, number = image.rpartition("-")
        is_ours = series == self._series and number.isascii() and number.isdigit() and len(number) < 19
        return self.numbered(int(number) if is_ours else 0, name)

    def numbered(self, number: int, name: str) -> _core.FileImage:
        """Raises NotThereError if there is no such image of this run, or if it is kept no more, and Error."""
        found = self._images.find(number, self._place(name))
        if found is None:
            raise NotThereError(f"{name} has no such image, or it is kept no more: take a newer one from /")
        return found

    def newest_at(self, name: str) -> tuple[_core.NewestImage, int]:
        """Returns the newest image of a run, and when the run was last changed, in ns since 1970."""
        newest = self._images.newest(self._checked(name))
        return newest, os.stat(self._place(name)).st_mtime_ns

    def has_folder(self, name: str) -> bool:
        """Raises SystemError if the machine does not say so."""
        path = self._place(name)
        return _is_plain(name) and is_folder(path) and not os.path.islink(path)

    def entries(self, name: str) -> list[tuple[str, bool]]:
        """Returns the names of what a folder in this one has, ordered, and whether each is a folder. Raises OSError if
        it cannot be listed."""
        found = []
        with os.scandir(self._place(name)) as entries:
            for entry in entries:
                path = os.path.join(name, entry.name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if path.isprintable() and (is_folder or entry.name.endswith(_SUFFIXES)):
                    found.append((path, is_folder))
        return sorted(found)

    def _newest(self, name: str) -> tuple[str, _core.NewestImage]:
        newest = self._images.newest(self._checked(name))
        return self._image_of(newest.number), newest

    def _image_of(self, number: int) -> str:
        return f"{self._series}-{number}"

    def _place(self, name: str) -> str:
        return str(self.path / name)

    def _checked(self, name: str) -> str:
        """Returns the path of a run. Raises NotThereError if the folder has none of this name, and SystemError if the
        machine does not say so."""
        if _is_plain(name) and name.endswith(_SUFFIXES):
            path = Path(os.path.realpath(self._place(name)))
            if path.is_relative_to(self.path) and is_file(path):
                return self._place(name)
        raise NotThereError(f"there is no run {name!r}: / lists all runs")

    def _files(self, not_listed: Callable[[OSError], None]) -> Iterator[str]:
        """Yields the names of all files that may be runs. Folders behind links are not entered."""
        for folder, _, names in os.walk(self.path, onerror=not_listed):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.path)
                if name.endswith(_SUFFIXES) and path.isprintable():  # what is not UTF-8 is not printable
                    yield path

    def _not_listed(self, error: OSError) -> ShownRun:
        name = os.path.relpath(error.filename, self.path)
        return ShownRun(name, "unreadable", {}, 0, "", f"the folder cannot be listed ({error.strerror})")

    def _shown(self, name: str) -> ShownRun:
        try:
            image, newest = self._newest(name)
            found = newest.unfinished
            if found is None:
                of_file = self._rows_of(newest.number, name)
                return ShownRun(name, of_file.state, of_file.rows, newest.size_bytes, image, of_file.problem)
            rows = {table.table: table.rows for table in found.report.tables} if found.report else {}
            return ShownRun(name, "open" if found.is_written else "unfinished", rows, newest.size_bytes, image)
        except (Error, NotThereError) as error:
            return ShownRun(name, "unreadable", {}, 0, "", str(error))

    def _rows_of(self, number: int, name: str) -> _Rows:
        if number not in self._rows:
            self._rows[number] = _rows_in(self._checked(name))
        return self._rows[number]


def _is_plain(name: str) -> bool:
    return name == os.path.normpath(name) and name.isprintable() and not name.startswith(("/", ".."))


def _rows_in(path: str) -> _Rows:
    try:
        reader = _core.Reader.open(path, even_without_tables=True)
        names = list(Schema.from_json(reader.schema))
        rows = {name: reader.rows(index) for index, name in enumerate(names)}
        if reader.is_open_run:  # it says itself that it is not complete
            return _Rows(rows, "its journal is not here: rows may be missing", "unfinished")
        return _Rows(rows)
    except Error as error:
        return _Rows({}, str(error), "unreadable")
