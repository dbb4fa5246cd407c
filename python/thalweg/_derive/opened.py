"""Keeps inputs open: forked workers inherit the files that the process of the job has opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from thalweg import _core
from thalweg._reading.origin import Origin
from thalweg._reading.table import Table

_MOST = 16  # number of files that stay open in the process of a job


@dataclass(frozen=True)
class OpenInput:
    table: Table
    stored: _core.StoredClusters | None
    """The places of its pages; None if they cannot be copied."""


def opened_input(table: Table) -> OpenInput:
    reader_and_index = table.stored_in()
    return OpenInput(table, _core.stored_clusters(*reader_and_index) if reader_and_index else None)


@dataclass
class OpenInputs:
    """Open inputs by path and table name. A pickle of it is empty: only forked workers inherit open files."""

    _kept: dict[tuple[str, str], OpenInput] = field(default_factory=dict)

    def keep(self, path: str, each: OpenInput) -> None:
        """Keeps an input, if the core reads it: file positions and threads of other readers do not survive a fork."""
        if each.table.stored_in() is not None and len(self._kept) < _MOST:
            self._kept[path, each.table.name] = each

    def open(self, origin: Origin, table: str) -> OpenInput:
        """Raises DataError if the file is not the one that the job was planned with."""
        return self._kept.get((origin.path, table)) or opened_input(origin.reopened()[table])

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}}
