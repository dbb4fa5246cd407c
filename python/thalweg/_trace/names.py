"""Reads the text records: they say which file a number stands for, which hints were given, and which MPI it is."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thalweg._trace.records import (
    BECOMES,
    CALL,
    DATASET,
    ENVIRONMENT,
    FILE,
    HINT_ASKED,
    HINT_OF_FILE,
    HINT_REPORTED,
    LIBRARY,
    LIMITED,
    MODULES,
    OPENED,
    PATH,
    PROPERTY,
    RECORD,
    TEXT,
    TOPOLOGY,
    WHY_NOT,
)
from thalweg._trace.rings import Records

TEXT_BYTES = 40
_ORIGINS = {
    HINT_ASKED: "asked",
    HINT_OF_FILE: "hints file",
    HINT_REPORTED: "reported",
    ENVIRONMENT: "environment",
    PROPERTY: "property",
    DATASET: "dataset",
    MODULES: "modules",
    TOPOLOGY: "topology",
}
_IS_ROW = np.uint32(1 << 31)
"""The bit in the number of a file that marks it as the row of a file already."""
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "disk",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


@dataclass
class Setting:
    process: int
    file: int
    origin: str
    name: str
    value: str


@dataclass
class Names:
    """The files of the whole trace by path, and other texts. Row 0 stands for no file."""

    paths: dict[str, int] = field(default_factory=lambda: {"": 0})
    kinds: list[str] = field(default_factory=lambda: [""])
    settings: list[Setting] = field(default_factory=list)
    libraries: set[str] = field(default_factory=set)
    became: dict[int, tuple[int, str]] = field(default_factory=dict)
    """The programs that processes have become, by pid: the number of the process that reported it, and the program."""
    why_not: dict[int, str] = field(default_factory=dict)
    """Why the programs that processes have become were started without the library, by pid."""
    limited: list[tuple[int, str]] = field(default_factory=list)
    """The processes of which only a part is recorded, by number, each with the reason."""
    _rows: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(1024, np.uint32))
    _pieces: dict[int, list[bytes]] = field(default_factory=dict)
    """The pieces of unfinished texts by thread: a text and its call may be read at different times."""
    _paths_of_next: dict[int, int] = field(default_factory=dict)
    _true: set[tuple[str, int]] = field(default_factory=set)
    """The paths, each with the identity of its file, that contain no links."""

    def row_of(self, path: str, kind: str = "") -> int:
        row = self.paths.setdefault(path, len(self.paths))
        if row == len(self.kinds):
            self.kinds.append(kind)
        elif kind and not self.kinds[row]:
            self.kinds[row] = kind
        return row

    def learn(self, records: Records, process: int, thread: int) -> Records:
        """Takes the texts out of the records of one thread and returns the calls.

        A path that belongs to the next call becomes a file, whose row is put into `file` of that call.
        """
        is_text = records["kind"] == TEXT
        if (row := self._paths_of_next.pop(thread, None)) is not None:
            self._name_call(records, 0, row, thread)
        if not is_text.any():
            return records
        pieces = self._pieces.setdefault(thread, [])
        raw = records.view(np.uint8).reshape(len(records), RECORD.itemsize)
        for index in np.flatnonzero(is_text):
            record = records[index]
            pieces.append(raw[index, : min(int(record["error"]), TEXT_BYTES)].tobytes())
            if record["extra"]:
                # A file is looked for under the name that it has, which need not be UTF-8.
                errors = "surrogateescape" if record["operation"] == OPENED else "replace"
                text = b"".join(pieces).decode(errors=errors)
                pieces.clear()
                self._say(records, int(index), text, process, thread)
        calls: Records = records[~is_text]
        return calls

    def _name_call(self, records: Records, index: int, row: int, thread: int) -> None:
        if index >= len(records):
            self._paths_of_next[thread] = row
        elif records["kind"][index] == CALL and records["file"][index] == 0:
            records["file"][index] = _IS_ROW | row

    def _say(self, records: Records, index: int, text: str, process: int, thread: int) -> None:
        record = records[index]
        kind, number = int(record["operation"]), int(record["file"])
        if kind == FILE:
            mode = int(record["handle"])
            self._set_row(number, self.row_of(text, _KINDS.get(stat.S_IFMT(mode), "") if mode else ""))
        elif kind == OPENED:
            identity = int(record["handle"])
            found = os.fsencode(self._found(text, identity >> 16)).decode(errors="replace")
            self._set_row(number, self.row_of(found, _KINDS.get(stat.S_IFMT(identity & 0xFFFF), "")))
        elif kind == PATH:
            self._name_call(records, index + 1, self.row_of(text), thread)
        elif kind in _ORIGINS:
            # The name of a dataset may contain "=".
            name, _, value = text.partition("=layout=" if kind == DATASET else "=")
            self.settings.append(Setting(process, self.rows(np.array([number]))[0], _ORIGINS[kind], name, value))
        elif kind == BECOMES:
            self.became[int(record["handle"])] = (process, text)
        elif kind == WHY_NOT:
            self.why_not[int(record["handle"])] = text
        elif kind == LIMITED:
            self.limited.append((process, text))
        elif kind == LIBRARY:
            self.libraries.add(text.strip())

    def _found(self, path: str, identity: int) -> str:
        """Returns the true path of a file that was opened. A path that has no links is looked up once."""
        if (path, identity) in self._true:
            return path
        found = _true_path(path, identity)
        if found == path:
            self._true.add((path, identity))
        return found

    def _set_row(self, number: int, row: int) -> None:
        if number >= len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(max(len(self._rows), number), np.uint32)])
        self._rows[number] = row

    def rows(self, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.uint32]:
        """Returns the rows of `files` for the numbers of openings."""
        numbers = numbers.astype(np.uint32, copy=False)
        if numbers.size and (last := int(np.where(numbers & _IS_ROW, 0, numbers).max())) >= len(self._rows):
            self._set_row(last, 0)  # the record that names this file was lost
        found = self._rows[np.where(numbers & _IS_ROW, 0, numbers)]
        return np.where(numbers & _IS_ROW, numbers & 0x7FFFFFFF, found).astype(np.uint32, copy=False)


def _true_path(path: str, identity: int) -> str:
    """Returns where the file is that was opened with this path, without symbolic links. If another file is there by
    now, or none, links in the path to its folder are still followed."""
    found = os.path.realpath(path)
    try:
        status = os.stat(found)
        if status.st_ino & 0xFFFFFFFF | (status.st_dev & 0xFFFF) << 32 == identity:
            return found
    except (OSError, ValueError):
        pass
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name) if name not in ("", ".", "..") else found
