"""Merges ROOT files without decompressing pages."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.given import path_of
from thalweg._base.paths import Path
from thalweg._base.report import Report
from thalweg._schema.left_out import LeftOut


@dataclass(frozen=True)
class MergedTable(Report):
    """The counts of one table of a merged file."""

    table: str
    rows: int
    clusters: int
    pages: int


@dataclass(frozen=True)
class MergeReport(Report):
    """The counts of a merged file. `print` shows them as sentences."""

    path: str
    inputs: tuple[str, ...]
    tables: tuple[MergedTable, ...]
    units: int
    """The number of work units, those of all inputs."""
    copied_bytes: int
    """The size of all pages with their checksums."""
    file_bytes: int
    problems: tuple[LeftOut, ...]
    """The parts of the inputs that the result does not have, each with the reason."""

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"rows": self.rows}

    def __str__(self) -> str:
        tables = f"{len(self.tables)} table{'s'[: len(self.tables) != 1]}"
        files = f"{len(self.inputs)} file{'s'[: len(self.inputs) != 1]}"
        lines = [f"{self.path} has {self.rows} rows in {tables}, from {files}: {self.file_bytes} bytes"]
        return "\n".join([*lines, *map(str, self.problems)])


def merge(inputs: Iterable[Path], out: Path, *, force: bool = False) -> MergeReport:
    """Merges the RNTuples of several files into one file, in the order in which the files are given.

    Pages are copied as they are stored, and their checksums are verified; page lists and footers are new. The files may
    come from Thalweg or ROOT. They must have the same tables with the same fields, stored in columns of the same types.
    From files of Thalweg, the result keeps the schema and attributes of the first, the work units of all, and the
    metadata that are the same in all; the metadata entry 'merge' says what each file had. `out` gets its name only once
    it is complete and durable.

    force: replace `out` if it exists.

    Objects that are not RNTuples are left out, and `problems` of the report lists them. Raises UsageError if files
    differ (and names table and field), are given twice, are copies of one run or are still being written, or if `out`
    exists; DataError if a page is damaged, and names file, table and row. There is no `out` then.
    """
    if isinstance(inputs, str | os.PathLike):
        raise UsageError(f"inputs cannot be {os.fspath(inputs)!r} (it is one file): give a list of files")
    names = [path_of(each) for each in inputs]
    merged = _core.merge(names, path_of(out), bool(force))
    return MergeReport.of(merged, inputs=tuple(names))
