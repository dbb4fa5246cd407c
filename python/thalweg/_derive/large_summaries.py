"""Summaries that are too large for a work unit. They are rows of a table of their own, which count with the unit."""

from __future__ import annotations

import numpy as np

from thalweg._base.errors import DataError
from thalweg._derive.summaries import MOST_BYTES
from thalweg._reading.run import Run
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import list_, uint8
from thalweg._values.row_groups import Unit
from thalweg._writing.work_unit import UnitOfGroup, WorkUnit

TABLE = "derive_summaries"
"""The table; also the name under which a worker tells with the fields of an output that the output needs the table."""
PART = list_(uint8)
LARGE_BYTES = MOST_BYTES // 4
"""If the summary of the first events is larger than this without compression, or can grow, the output has the table."""
_FIELD = "summary"
_IN_TABLE = b"t"  # the summary of a unit whose row of the table has it; no other summary begins with this byte


def table_of_summaries() -> TableSchema:
    return TableSchema(TABLE, ((_FIELD, PART),), "summaries of ranges that are larger than 64 KiB")


def in_unit(text: bytes) -> bytes:
    """Returns what the unit has as its summary."""
    return text if len(text) <= MOST_BYTES else _IN_TABLE


def append_large(unit: WorkUnit | UnitOfGroup, text: bytes) -> None:
    """Appends a summary to the table if it is too large for the unit."""
    if len(text) > MOST_BYTES:
        unit[TABLE].append({_FIELD: np.frombuffer(text, np.uint8)})


def summary_of(run: Run, unit: Unit) -> bytes:
    """Returns the summary of a unit, wherever it is. Raises DataError if its row is not there."""
    if unit.summary != _IN_TABLE:
        return unit.summary
    places = [each for each in unit.rows if each.table == TABLE and each.rows == 1]
    if len(places) != 1:
        raise DataError(f"{run.path}: the summary of range {unit.key!r} is not in table '{TABLE}'")
    row = places[0].first
    summary = run[TABLE].read(_FIELD, rows=slice(row, row + 1))[_FIELD]
    return np.asarray(summary[0], np.uint8).tobytes()
