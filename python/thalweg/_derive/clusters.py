"""Finds the rows at which pages of a table end: ranges that end there are the cheapest to read."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._reading.table import Table

_MOST_COLUMNS = 64  # columns whose page ends are looked up


def page_ends(table: Table) -> list[int]:
    """Returns ascending row numbers; the last one is the number of rows.

    A range may end at any row. If it ends at one of these, no page is decoded twice.
    """
    rows = len(table)
    if rows == 0:
        return []
    return _common(table.page_ends(_MOST_COLUMNS), rows) or [rows]


def _common(columns: Iterable[list[int]], rows: int) -> list[int]:
    """Returns the ends that all columns share, or, if there are none inside, those of the column with the fewest pages.

    Columns with a single page do not count.
    """
    several = sorted((ends for ends in columns if len(ends) > 1), key=len)
    if not several:
        return [rows]
    common = sorted(set(several[0]).intersection(*several[1:]))
    return common if len(common) > 1 else several[0]
