"""Merges ROOT files without decompressing pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._base.quantities import counted
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
    """The parts of the inputs that the result does not have, each with the reason; what several files have is named
    once, with the first of them."""

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"rows": self.rows}

    def __str__(self) -> str:
        tables = counted(len(self.tables), "table")
        files = counted(len(self.inputs), "file")
        lines = [f"{self.path} has {counted(self.rows, 'row')} in {tables}, from {files}: {self.file_bytes:,} bytes"]
        return "\n".join([*lines, *map(str, self.problems)])


def merge_files(names: list[str], out: str, force: bool, metadata: dict[str, str], beside: str) -> MergeReport:
    """Merges files of RNTuples. Entries of `metadata` replace those that the inputs share, and the result also has the
    tables of the file `beside`, if one is given."""
    return MergeReport.of(_core.merge(names, out, force, metadata, beside), inputs=tuple(names))
