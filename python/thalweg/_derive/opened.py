"""Keeps inputs open: forked workers inherit the files that the process of the job has opened."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from thalweg import _core
from thalweg._reading.origin import Origin
from thalweg._reading.run import Run
from thalweg._reading.table import Table

_MOST_KEPT = 16  # number of files that stay open in the process of a job
_MOST_COLUMNS = 60_000  # of all kept files that another library reads: each column takes about 8 kB
_MOST_OPEN = 4  # number of other files that stay open in a worker


class PlannedFile(Protocol):
    """The part of an input file that opening it needs."""

    @property
    def origin(self) -> Origin: ...
    @property
    def table(self) -> str: ...


@dataclass(frozen=True)
class OpenInput:
    run: Run
    table: Table
    stored: _core.StoredClusters | None
    """The places of its pages; None if they cannot be copied."""


def opened_input(run: Run, name: str) -> OpenInput:
    table = run[name]
    reader_and_index = table.stored_in()
    return OpenInput(run, table, _core.stored_clusters(*reader_and_index) if reader_and_index else None)


@dataclass
class OpenInputs:
    """The inputs that stay open in the process of a job, by path and table name. A pickle of it is empty."""

    _kept: dict[tuple[str, str], OpenInput] = field(default_factory=dict)
    _columns: int = 0

    def keep_or_close(self, path: str, each: OpenInput) -> None:
        """Keeps an input if forked workers can read it. Those that take long to open are kept by their columns."""
        columns = 0 if each.table.stored_in() is not None else len(each.table.schema)
        count = sum(1 for kept in self._kept.values() if (kept.table.stored_in() is None) == bool(columns))
        most = 4 * _MOST_KEPT if columns else _MOST_KEPT
        if each.table.survives_fork and count < most and self._columns + columns <= _MOST_COLUMNS:
            self._kept[path, each.table.name] = each
            self._columns += columns
        else:
            each.run.close()

    def kept(self, file: PlannedFile) -> OpenInput | None:
        return self._kept.get((file.origin.path, file.table))

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}, "_columns": 0}


class FewOpenInputs:
    """The inputs of a worker: those that it has inherited, and the last few of all others. Any other one is closed."""

    def __init__(self, files: Sequence[PlannedFile], kept: OpenInputs, closing: Callable[[int], None]) -> None:
        """closing: called with the number of a file before it is closed."""
        self._files = files
        self._kept = kept
        self._closing = closing
        self._last: OrderedDict[int, OpenInput] = OrderedDict()

    def open(self, number: int) -> OpenInput:
        """Raises DataError if the file is not the one that the job was planned with."""
        file = self._files[number]
        if kept := self._kept.kept(file):
            return kept
        if number not in self._last:
            while len(self._last) >= _MOST_OPEN:
                self._close_oldest()
            self._last[number] = reopened(file)
        self._last.move_to_end(number)
        return self._last[number]

    def _close_oldest(self) -> None:
        oldest = next(iter(self._last))
        self._closing(oldest)
        self._last.pop(oldest).run.close()


def reopened(file: PlannedFile) -> OpenInput:
    """Raises DataError if the file is not the one that the job was planned with."""
    return opened_input(cast(Run, file.origin.reopened()), file.table)
