"""Runs that are being written, followed to their end."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterable, Iterator

from thalweg import _core
from thalweg._errors import SystemError, UsageError  # noqa: A004
from thalweg._read import Run
from thalweg._rows import NewRows

_LEAST_PAUSES = 10  # looking at a run takes no more than one part in so many of the time


def followed(
    path: str,
    id_: str,
    table: str | None,
    columns: str | Iterable[str] | None,
    interval: float,
    timeout: float | None,
    memory_bytes: int,
) -> Iterator[NewRows]:
    """What `Run.follow` and `Table.follow` give. What is wrong with the request is said at once."""
    if not id_:
        raise UsageError(f"{path} cannot be followed (it is no run of Thalweg's); read it again for newer rows")
    if interval < 0 or (timeout is not None and timeout < 0) or memory_bytes < 1:
        raise UsageError(f"{path} cannot be followed with an interval, a timeout or a memory below 0")
    names = columns if columns is None or isinstance(columns, str) else list(columns)
    follower = _core.Follower(path)
    return _Following(follower, id_, table, names, memory_bytes).to_the_end(interval, timeout)


class _Following:
    def __init__(
        self, follower: _core.Follower, id_: str, table: str | None, columns: str | list[str] | None, memory_bytes: int
    ) -> None:
        self._follower = follower
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
                last_news = time.monotonic()  # what the caller does with them is no waiting
            if self._follower.is_over:
                return
            waited = time.monotonic() - last_news
            if timeout is not None and waited >= timeout and not new:
                path = self._follower.reader.path
                raise SystemError(
                    errno.ETIMEDOUT,
                    f"{path}: no new rows for {waited:.1f} s, and the run is not closed (nobody may be writing it any "
                    "more): look at `thalweg inspect`, and recover it where that says so",
                )
            time.sleep(pause if timeout is None else min(pause, max(0.001, timeout - waited)))

    def _rows_of(self, new: list[_core.NewRows]) -> Iterator[NewRows]:
        run = Run(self._follower.reader)
        if run.id != self._id:
            raise UsageError(f"{run.path} is another run now; open it again")
        names = list(run)
        for each in new:
            if self._table not in (None, names[each.table]):
                continue
            table = run[names[each.table]]
            first, source = each.first_row, each.source
            done = 0
            for rows in table[first : first + each.rows].batches(
                self._columns, rows=each.rows, memory_bytes=self._memory_bytes
            ):
                if source is None:
                    yield NewRows(table.name, rows, None, None, None)
                else:
                    yield NewRows(table.name, rows, source.node + 1, source.producer, source.first_row + done)
                done += len(rows)
