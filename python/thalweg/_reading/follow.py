"""Follows runs that are being written to their end."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from thalweg import _core
from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._base.paths import is_file
from thalweg._reading.protocol import ReadsRows
from thalweg._values.row_groups import NewRows

_LEAST_PAUSES = 10  # pauses are at least this many times as long as the looks at the run


Tables = Callable[[_core.Reader], Mapping[str, ReadsRows]]
"""Returns all tables of what is open, by name."""


def followed(
    tables: Tables,
    path: str,
    id_: str,
    table: str | None,
    columns: str | Iterable[str] | None,
    interval: float,
    timeout: float | None,
    memory_bytes: int,
    next_files: bool,
) -> Iterator[NewRows]:
    """Returns the iterator of `Run.follow` and `Table.follow`. Raises UsageError at once if the request is wrong."""
    if not id_:
        raise UsageError(f"{path} cannot be followed (it is not a run of Thalweg): read it again for newer rows")
    if interval < 0 or (timeout is not None and timeout < 0) or memory_bytes < 1:
        raise UsageError(
            f"{path} cannot be followed with interval={interval}, timeout={timeout} and memory_bytes={memory_bytes}: "
            "give times from 0 on and a memory from 1 on"
        )
    names = columns if columns is None or isinstance(columns, str) else list(columns)
    return _through_files(_Following(tables, path, id_, table, names, memory_bytes), interval, timeout, next_files)


def _through_files(
    following: _Following | None, interval: float, timeout: float | None, next_files: bool
) -> Iterator[NewRows]:
    while following is not None:
        yield from following.to_the_end(interval, timeout)
        following = following.in_next_file() if next_files else None


class _Following:
    def __init__(
        self,
        tables: Tables,
        path: str,
        id_: str,
        table: str | None,
        columns: str | list[str] | None,
        memory_bytes: int,
    ) -> None:
        self._tables = tables
        self._follower = _core.Follower(path)
        self._path = path
        self._id = id_
        self._table = table
        self._columns = columns
        self._memory_bytes = memory_bytes

    def to_the_end(self, interval: float, timeout: float | None) -> Iterator[NewRows]:
        last_news = time.monotonic()
        while True:
            begin = time.monotonic()
            new = self._follower.look()
            pause = max(interval, _LEAST_PAUSES * (time.monotonic() - begin))
            for each in self._rows_of(new):
                last_news = time.monotonic()
                yield each
                last_news = time.monotonic()  # the time that the caller takes does not count as waiting
            if self._follower.is_over:
                return
            waited = time.monotonic() - last_news
            if timeout is not None and waited >= timeout and not new:
                path = self._follower.reader.path
                raise SystemError(
                    errno.ETIMEDOUT,
                    f"{path} had no new rows for {waited:.1f} s and is not closed (its writers may have ended): see "
                    "`thalweg inspect`, and recover it if no process writes it",
                )
            time.sleep(pause if timeout is None else min(pause, max(0.001, timeout - waited)))

    def in_next_file(self) -> _Following | None:
        """Returns the follower of the next file of the run, or None. Raises UsageError if the next file is missing."""
        metadata = self._follower.reader.metadata
        if "next_file" not in metadata:
            return None
        path = os.path.join(os.path.dirname(self._path), metadata["next_file"])
        if not is_file(path):
            raise UsageError(
                f"{self._path} was followed to its end, but the run continues in {path}, which does not exist: put it "
                "beside the first file, or give next_files=False"
            )
        id_ = metadata.get("next_file_id", "")
        return _Following(self._tables, path, id_, self._table, self._columns, self._memory_bytes)

    def _rows_of(self, new: list[_core.NewRows]) -> Iterator[NewRows]:
        reader = self._follower.reader
        if reader.id != self._id:
            raise UsageError(f"{reader.path} is another run now: open it again")
        tables = self._tables(reader)
        names = list(tables)
        for each in new:
            if self._table not in (None, names[each.table]):
                continue
            table = tables[names[each.table]]
            first, source = each.first_row, each.source
            done = 0
            for rows in table[first : first + each.rows].batches(
                self._columns, rows=each.rows, memory_bytes=self._memory_bytes
            ):
                if source is None:
                    yield NewRows(table.name, rows, None, None, None, self._path)
                else:
                    first_of_producer = source.first_row + done
                    yield NewRows(table.name, rows, source.node + 1, source.producer, first_of_producer, self._path)
                done += len(rows)
