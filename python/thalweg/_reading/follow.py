"""Follows runs that are being written to their end."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from thalweg import _core
from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._base.paths import is_file
from thalweg._reading.protocol import ReadsRows
from thalweg._reading.status import RunStatus, run_status_of
from thalweg._values.row_groups import NewRows

LEAST_PAUSES = 10
"""Pauses are at least this many times as long as looks at the run that all take long."""


Tables = Callable[[_core.Reader], Mapping[str, ReadsRows]]
"""Returns all tables of what is open, by name."""


@dataclass(frozen=True)
class NewPiece:
    """New consecutive rows of one producer, of which nothing is read yet. The members are those of `NewRows`."""

    rows: ReadsRows
    node: int | None
    producer: int | None
    first_row: int | None
    path: str


def followed(
    tables: Tables,
    path: str,
    id_: str,
    chosen: Collection[str] | None,
    columns: str | Iterable[str] | None,
    interval: float,
    timeout: float | None,
    memory_bytes: int,
    next_files: bool,
) -> Iterator[NewRows]:
    """Returns the iterator of `Run.follow` and `Table.follow`. Raises UsageError at once if the request is wrong.

    chosen: the names of the tables that are followed; None: all.
    """
    if not id_:
        raise UsageError(f"{path} cannot be followed (it is not a run of Thalweg): read it again for newer rows")
    if interval < 0 or (timeout is not None and timeout < 0) or memory_bytes < 1:
        raise UsageError(
            f"{path} cannot be followed with interval={interval}, timeout={timeout} and memory_bytes={memory_bytes}: "
            "give times from 0 on and a memory from 1 on"
        )
    names = columns if columns is None or isinstance(columns, str) else list(columns)
    # The file is opened by the call itself, so that its errors are.
    return _through_files(Following(tables, path, id_, chosen), names, memory_bytes, interval, timeout, next_files)


def _through_files(
    following: Following | None,
    columns: str | list[str] | None,
    memory_bytes: int,
    interval: float,
    timeout: float | None,
    next_files: bool,
) -> Iterator[NewRows]:
    while following is not None:
        yield from _to_the_end(following, columns, memory_bytes, interval, timeout)
        following = following.in_next_file() if next_files else None


def _to_the_end(
    following: Following, columns: str | list[str] | None, memory_bytes: int, interval: float, timeout: float | None
) -> Iterator[NewRows]:
    last_news, pauses = time.monotonic(), Pauses(interval)
    while True:
        begin = time.monotonic()
        new = following.look()
        pause = pauses.after(time.monotonic() - begin)
        for each in _rows_of(new, columns, memory_bytes):
            last_news = time.monotonic()
            yield each
            last_news = time.monotonic()  # the time that the caller takes does not count as waiting
        if following.is_over:
            return
        waited = time.monotonic() - last_news
        if timeout is not None and waited >= timeout and not following.has_news:
            raise SystemError(
                errno.ETIMEDOUT,
                f"{following.path} had no new rows for {waited:.1f} s and is not closed (its writers may have ended): "
                "see `thalweg inspect`, and recover it if no process writes it",
            )
        time.sleep(pause if timeout is None else min(pause, max(0.001, timeout - waited)))


def _rows_of(new: list[NewPiece], columns: str | list[str] | None, memory_bytes: int) -> Iterator[NewRows]:
    for each in new:
        done = 0
        for rows in each.rows.batches(columns, rows=len(each.rows), memory_bytes=memory_bytes):
            first = None if each.first_row is None else each.first_row + done
            yield NewRows(each.rows.name, rows, each.node, each.producer, first, each.path)
            done += len(rows)


class Pauses:
    """Between looks, so that looks take little of the time if one after the other takes long."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._before_s = 0.0

    def after(self, look_s: float) -> float:
        """Returns the pause after a look that took so long. One look alone may take long: the first one reads all that
        was written so far, and the next one only what has come since then."""
        usual_s, self._before_s = min(look_s, self._before_s), look_s
        return max(self._interval_s, LEAST_PAUSES * usual_s)


class Following:
    """Looks at one file of a run again and again."""

    def __init__(self, tables: Tables, path: str, id_: str, chosen: Collection[str] | None) -> None:
        self._tables = tables
        self._follower = _core.Follower(path)
        self.path = path
        self._id = id_
        self._chosen = chosen
        self._has_looked = False
        self.has_news = False
        """Whether the last look has found new rows, also of tables that are not chosen."""

    @property
    def is_over(self) -> bool:
        """Whether the file is complete, and `look` has returned all its rows."""
        return self._follower.is_over

    def status(self) -> RunStatus | None:
        """Returns who writes the run that the last look has read, or None if there was no look. Raises as `Run.status`
        does."""
        if not self._has_looked:
            return None
        reader = self._follower.reader
        return run_status_of(reader, list(self._tables(reader)))

    def look(self) -> list[NewPiece]:
        """Returns what is new since the last look. Raises UsageError if the path leads to another run now."""
        new = self._follower.look()
        self._has_looked = True
        self.has_news = bool(new)
        reader = self._follower.reader
        if reader.id != self._id:
            raise UsageError(f"{reader.path} is another run now: open it again")
        tables = self._tables(reader)
        names = list(tables)
        return [self._piece(tables[names[each.table]], each) for each in new if self._is_chosen(names[each.table])]

    def _is_chosen(self, name: str) -> bool:
        return self._chosen is None or name in self._chosen

    def _piece(self, table: ReadsRows, new: _core.NewRows) -> NewPiece:
        rows, source = table[new.first_row : new.first_row + new.rows], new.source
        if source is None:
            return NewPiece(rows, None, None, None, self.path)
        return NewPiece(rows, source.node + 1, source.producer, source.first_row, self.path)

    def in_next_file(self) -> Following | None:
        """Returns the follower of the next file of the run, or None. Raises UsageError if the next file is missing."""
        metadata = self._follower.reader.metadata
        if "next_file" not in metadata:
            return None
        path = os.path.join(os.path.dirname(self.path), metadata["next_file"])
        if not is_file(path):
            raise UsageError(
                f"{self.path} was followed to its end, but the run continues in {path}, which does not exist: put it "
                "beside the first file, or give next_files=False"
            )
        id_ = metadata.get("next_file_id", "")
        return Following(self._tables, path, id_, self._chosen)
