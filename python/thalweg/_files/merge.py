"""Several ROOT files become one, without a page being decompressed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.paths import Path
from thalweg._base.report import Report
from thalweg._schema.left_out import LeftOut


@dataclass(frozen=True)
class MergedTable(Report):
    """What a merged file holds of one table."""

    table: str
    rows: int
    clusters: int
    pages: int


@dataclass(frozen=True)
class MergeReport(Report):
    """What a merged file holds. `print` shows it as plain sentences."""

    path: str
    inputs: tuple[str, ...]
    tables: tuple[MergedTable, ...]
    units: int
    """Work units of the inputs, which are those of the result."""
    copied_bytes: int
    """Of pages, with their checksums."""
    file_bytes: int
    problems: tuple[LeftOut, ...]
    """What the inputs have and the result has not."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"rows": self.rows}

    def __str__(self) -> str:
        tables = f"{len(self.tables)} table{'s'[: len(self.tables) != 1]}"
        files = f"{len(self.inputs)} file{'s'[: len(self.inputs) != 1]}"
        lines = [f"{self.path} has {self.rows} rows in {tables}, from {files}: {self.file_bytes} bytes"]
        return "\n".join([*lines, *map(str, self.problems)])


def merge(inputs: Iterable[Path], out: Path, *, force: bool = False) -> MergeReport:
    """Writes the RNTuples of several files into one, in the order in which the files are named.

    Pages are copied as they are stored, with their checksums verified; page lists and footers are new. The files may
    be Thalweg's or ROOT's, and must have the same tables with the same fields, stored in columns of the same types.
    Of Thalweg's files the result keeps schema and attributes (of the first), the work units of all, and the metadata
    that is the same in all; under 'merge' in the metadata it says what each file had. `out` has its name only when it
    is complete and durable.

    force: replace a file that is there already.

    Raises UsageError where files differ (naming table and field), are given twice, are copies of one run or are still
    being written, or where `out` exists; DataError naming file, table and row where a page is damaged. There is no
    `out` then. Objects that are no RNTuples are left out, and listed in `problems`.
    """
    if isinstance(inputs, str | os.PathLike):
        raise UsageError(f"{os.fspath(inputs)} is one file, and several are merged; give a list of files")
    names = [os.fspath(each) for each in inputs]
    merged = _core.merge(names, os.fspath(out), force)
    return MergeReport.of(merged, inputs=tuple(names))
